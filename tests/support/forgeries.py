"""Forged tables by kind: each kind changes several columns, rows or keys of an honest table, and has a reason.

In: the table of `METHODS`. Out: kind -> place -> (what `edited` changes, a pattern of the reason why it is refused).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ASKED, RATED = "meta_question_simple", "rating_7"
METHODS = ("direct", "mean_logprob", ASKED, RATED)
NAN = float("nan")
SCORES = [f"{method}_{side}" for method in METHODS for side in ("good", "bad")]
DELTAS = [f"{method}_delta" for method in METHODS]
COUNTS = [f"{method}_{side}_n" for method in ("direct", "mean_logprob") for side in ("good", "bad")]
TOKENS = [f"direct_{side}_tokens" for side in ("good", "bad")]
LOGPROBS = [f"{method}_logprobs" for method in (ASKED, RATED)]
FLAGS = [f"{method}_flags" for method in METHODS]
LABELS = ("subset", "language", "task", "phenomenon", "paradigm")
TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
PEOPLE = {"human_good": 9.0, "human_bad": 9.0, "human_scale": "likert7", "human_n": 40}
OTHERS = {"pair_id": "p", "negative_type": "random", "property": "red", "concept_good": "a", "target_number": 3}

COUNTED = r"column {} is no number of tokens|column mean_logprob_\w+ is not what direct"

Forgeries = Mapping[str, tuple[dict[str, Any], str]]


def cells(columns: Iterable[str], value: Callable[[Any], Any], reason: str) -> Forgeries:
    """Return one forgery per column: its first value is another."""
    return {column: ({"column": column, "value": value}, reason.replace("{}", column)) for column in columns}


def keys(values: Mapping[str, object], reason: str, *at: str) -> Forgeries:
    """Return one forgery per key of a signature, or of a table in it: its value is another."""

    def change(key: str, value: object) -> Callable[[dict[str, Any]], None]:
        def changed(signature: dict[str, Any]) -> None:
            for part in at:
                signature = signature[part]
            signature[key] = value

        return changed

    return {
        ".".join((*at, key)): ({"sign": change(key, value)}, reason.replace("{}", key)) for key, value in values.items()
    }


def missing(names: Iterable[str], reason: str, *at: str) -> Forgeries:
    """Return one forgery per key that a signature, or a table in it, no longer has."""

    def without(key: str) -> Callable[[dict[str, Any]], None]:
        def changed(signature: dict[str, Any]) -> None:
            for part in at:
                signature = signature[part]
            del signature[key]

        return changed

    return {".".join((*at, name)): ({"sign": without(name)}, reason.replace("{}", name)) for name in names}


def of_methods(values: Mapping[str, object], reason: str, *at: str) -> Forgeries:
    """Return one forgery per method and key of its definition; METHOD in the reason is the method."""
    made = [keys(values, reason.replace("METHOD", method), "methods", method, *at) for method in METHODS]
    return {place: forgery for forgeries in made for place, forgery in forgeries.items()}


def tables(changes: Mapping[str, Callable[[pa.Table], pa.Table]], reason: str) -> Forgeries:
    return {name: ({"table_as": change}, reason.replace("{}", name)) for name, change in changes.items()}


def dropped(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([column])


def put(column: str, made: Callable[[pa.Table], Any]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(column)
        values = made(table)
        return table.set_column(at, column, values) if at >= 0 else table.append_column(column, values)

    return change


def cast(column: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    return put(column, lambda table: table[column].cast(kind))


def exchanged(method: str) -> Callable[[pa.Table], pa.Table]:
    """Return a change that exchanges a method's sides, so that delta follows."""

    def change(table: pa.Table) -> pa.Table:
        good, bad = table[f"{method}_good"], table[f"{method}_bad"]
        table = put(f"{method}_bad", lambda _: good)(put(f"{method}_good", lambda _: bad)(table))
        return put(f"{method}_delta", lambda t: pc.negate(t[f"{method}_delta"]))(table)

    return change


def of_items() -> dict[str, Forgeries]:
    return {
        "a label of the items": cells(LABELS, lambda x: f"{x}s", "column {} is not that of the items"),
        "a text of the items": cells(TEXTS, lambda x: f"{x} ", "column {} is not that of the items"),
        "a text is null": cells(TEXTS, lambda _: None, "column {} is not that of the items"),
        "people's judgments": {
            name: ({"column": name, "value": lambda _, v=value: v}, f"column {name} is not that of the items")
            for name, value in PEOPLE.items()
        },
        "other columns of the items": {
            name: ({"column": name, "value": lambda _, v=value: v}, f"column {name} is not that of the items")
            for name, value in OTHERS.items()
        },
        "an item of another corpus": cells(["item_id"], lambda _: "blimp/x/1", "1 item.s. that the corpus does not"),
        "an item twice": tables({"twice": lambda t: pa.concat_tables([t[:-1], t[:1]])}, "occurs in several rows"),
        "an item without id": cells(["item_id"], lambda _: None, "an item_id is null"),
        "rows left out": tables(
            {"the first": lambda t: t[1:], "half": lambda t: t[: len(t) // 2], "all": lambda t: t[:0]},
            "rows, its signature says",
        ),
        "a column of the items left out": tables(
            {n: dropped(n) for n in ("item_id", "subset", "target_bad", "human_good", "flags")}, "lacks the column.*{}"
        ),
        "a column of scores left out": tables(
            {n: dropped(n) for n in ("direct_bad", "mean_logprob_delta", LOGPROBS[0], TOKENS[1], FLAGS[2])},
            "lacks the column.*{}",
        ),
        "a column more": tables(
            {n: put(n, lambda t: pa.nulls(len(t), pa.string())) for n in ("note", "direct_extra", "human_gold")},
            "column.s. {}: neither of the items",
        ),
        "a column of another type": tables(
            {n: cast(n, pa.float32()) for n in (*SCORES[:3], DELTAS[0])}
            | {n: cast(n, pa.string()) for n in (SCORES[4], COUNTS[0], "target_number")},
            "column {} is .* expected",
        ),
    }


def of_scores() -> dict[str, Forgeries]:
    return {
        "a score without flag is NaN": cells(SCORES, lambda _: NAN, "_delta has a number in 1 row.* without .*{}"),
        "a score is null": cells(SCORES, lambda _: None, "_delta has a number in 1 row.* without .*{}"),
        "infinite": cells([*SCORES, *DELTAS], lambda _: np.inf, "column {} is infinite"),
        "minus infinity": cells(SCORES, lambda _: -np.inf, "column {} is infinite"),
        "further than any score": cells([*SCORES, *DELTAS], lambda _: -1e9, "column {} is further from 0"),
        "a log-probability above 0": cells(SCORES[:4], lambda _: 1.5, "column {} is above 0|{} is not what direct"),
        "below any token": cells(SCORES[:2], lambda _: -1e6, "column {} is below -10,000 nats per token"),
        "a score moved": cells(SCORES, lambda x: x - 0.5, "is not good - bad"),
        "a difference moved": cells(DELTAS, lambda x: x + 1e-3, "column {} is not good - bad"),
        "a difference of the other sign": cells(DELTAS, lambda x: -x, "column {} is not good - bad"),
        "sides exchanged": tables({m: exchanged(m) for m in METHODS}, "is not|the sum of"),
        "no number of tokens": cells(COUNTS, lambda _: 0, COUNTED),
        "a negative number of tokens": cells(COUNTS, lambda _: -1, COUNTED),
        "too many tokens": cells(COUNTS, lambda _: 10**6, COUNTED),
    }


def of_parts() -> dict[str, Forgeries]:
    return {
        "a token more": cells(TOKENS, lambda x: [*x, -1.0], "column {} has another number of tokens"),
        "a token less": cells(TOKENS, lambda x: x[1:], "column {} has another number of tokens"),
        "a token's log-probability moved": cells(TOKENS, lambda x: [x[0] - 1, *x[1:]], "is not the sum of {}"),
        "a token's log-probability above 0": cells(TOKENS, lambda x: [x[0] - 9, x[1] + 9, *x[2:]], "{} is above 0"),
        "ranks below 1": cells(
            [f"direct_{s}_ranks" for s in ("good", "bad")], lambda x: [0, *x[1:]], "column {} has rows that"
        ),
        "offsets that go back": cells(
            [f"direct_{s}_offsets" for s in ("good", "bad")], lambda x: [x[-1], *x[1:]], "column {} has rows that"
        ),
        "an option's log-probability above 0": cells(LOGPROBS, lambda x: [0.5, *x[1:]], "column {} is above 0"),
        "an option's log-probability moved": cells(LOGPROBS, lambda x: [x[0] - 5, *x[1:]], "is not what {} gives"),
        "an option's log-probability missing": cells(
            LOGPROBS, lambda x: [NAN, *x[1:]], "has a number in 1 row.* that {} does not give"
        ),
        "the first half not asked": cells(
            LOGPROBS, lambda x: [NAN] * (len(x) // 2) + x[len(x) // 2 :], "(not what {} gives|that {} does not give)"
        ),
        "an option's log-probability infinite": cells(LOGPROBS, lambda x: [-np.inf, *x[1:]], "column {} is infinite"),
        "an option less": cells(LOGPROBS, lambda x: x[1:], "column {} has rows of"),
        "an option more": cells(LOGPROBS, lambda x: [*x, -1.0], "column {} has rows of"),
        "no options": cells(LOGPROBS, lambda _: [], "column {} has rows of 0"),
        "an invented position bias": cells(
            [f"{ASKED}_first_choice"], lambda x: abs(x - 0.5), "first_choice is not what"
        ),
        "a position bias of 7": cells([f"{ASKED}_first_choice"], lambda _: 7.0, "first_choice is outside 0 to 1"),
        "a score off its scale": cells(SCORES[-2:], lambda _: 50.0, "column {} is outside"),
        "a rating off its scale": cells(
            [f"{RATED}_argmax_good", f"{RATED}_argmax_bad"], lambda _: 8.0, "{} is outside"
        ),
        "another most probable rating": cells(
            [f"{RATED}_argmax_good", f"{RATED}_argmax_bad"], lambda x: x - 1 if x > 1 else 2.0, "{} is not what"
        ),
        "a flag that is none": cells(FLAGS, lambda _: ["<b>"], "column {} has '<b>'"),
        "a flag more than counted": cells(FLAGS, lambda _: ["over_length"], "column {} has other numbers of flags"),
        "flags counted otherwise": keys({name: {"near_tie": 2} for name in METHODS}, "{}_flags has other", "n_by_flag"),
    }


def of_signatures() -> dict[str, Forgeries]:
    return {
        "a fact of the model": keys(
            {
                "revision": "main branch",
                "architecture": "Llama <3",
                "dtype": "int3",
                "device": "<gpu>",
                "backend": "a back end",
                "prompt_format": "chatty",
                "bos_policy": "never",
                "model_id": "data:text/html",
                "weights": "shuffled",
            },
            "signature: model.{} is",
            "model",
        ),
        "a fact of the model of another kind": keys(
            {"name": 7, "model_id": None, "dtype": ["float32"], "slug": {}}, r"model\.{} is", "model"
        ),
        "a fact of the model left out": missing(
            ("name", "slug", "model_id", "revision", "dtype"), r"model\.{} is missing", "model"
        ),
        "a key of the model more": keys({"verified": True, "owner": "me", "__class__": "x"}, "unknown key", "model"),
        "a key more": keys({"note": "", "trusted": True, "schema": "x"}, "unknown key '{}'"),
        "a key left out": missing(("pairbank", "model", "methods", "corpus", "seed"), "{} is missing"),
        "another version": keys({"pairbank": "latest", "over_length": "cut"}, "{} is"),
        "another corpus": keys(
            {"version": "9.9", "items_sha256": "f" * 64, "n_items": 3}, "the store has|signature says", "corpus"
        ),
        "a corpus that the bank lacks": keys({"name": "blimp"}, "no corpus 'blimp'", "corpus"),
        "the paper of a method": of_methods({"paper": "<i>me</i>", "cites": ["me2026"]}, "method METHOD: {} is"),
        "a note on a method": of_methods({"note": "x" * 600}, r"methods\.METHOD\.{} has 600"),
        "the hash of a method": of_methods({"sha256": "0" * 64}, "method METHOD: {} is"),
        "the columns of a method": of_methods({"columns": ["item_id"]}, "method METHOD: {} is"),
        "the layout of a method": of_methods({"kind": "poem", "unit": "bits"}, "method.*METHOD.*layout", "layout"),
        "a method more": {
            "invented": (
                {"sign": lambda s: s["methods"].update(invented={**s["methods"]["direct"]})},
                "layout of method 'invented'",
            )
        },
        "a method left out": missing(METHODS, r"method.s. {}: missing", "methods"),
        "a method by another's name": {
            m: ({"sign": lambda s, m=m: s["methods"].update({"direct": s["methods"][m]})}, "layout of method 'direct'")
            for m in METHODS[1:]
        },
        "a claim to be imported": keys({"imported": {"tool": "minicons", "sha256": "0" * 64}}, "states an import"),
        "a text that a terminal obeys": keys(
            {"quantisation": "4bit\x1b[2J", "architecture": "Gpt\u202e2", "device": "cpu\x07"}, "{} is", "model"
        ),
        "a text that is too long": keys(
            {"quantisation": "x" * 501, "revision": "0" * 600}, r"model\.{} (is|has)", "model"
        ),
    }


KINDS = {**of_items(), **of_scores(), **of_parts(), **of_signatures()}
