"""Items for the golden reports: our own sentences, under the names of the corpora that studies ask for.

In: the starter corpus. Out: datasets that have the tasks, languages, columns and ratings of those corpora and none of
their texts, so that reports of all studies can be stored. Ratings are drawn, not measured.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import datasets
import numpy as np
import pandas as pd

import island_designs as islands
import pairbank
from made_items import made_item
from pairbank.builders.corpora.syntaxgym import joined_with_spans
from pairbank.builders.dataset import features
from pairbank.builders.schema.columns import Column, Item, Scalar


@cache
def starter(subset: str) -> tuple[dict[str, Any], ...]:
    return tuple(pairbank.load_corpus("starter", subset=subset))


def dataset(items: Sequence[Item]) -> datasets.Dataset:
    """Return items of one corpus as a dataset; the further columns are those of the first."""
    kinds: dict[type, Any] = {str: "string", float: "float32", int: "int32", bool: "bool"}
    extra = [
        Column(name=name, type=kinds[type(value)], nullable=True, meaning=name)
        for name, value in items[0].extra.items()
    ]
    return datasets.Dataset.from_list([item.row() for item in items], features=features(extra))


def sentences(
    corpus: str, n: int, *, start: int = 0, step: int = 3, rated: bool = False, subsets: Sequence[str] = ("all",)
) -> list[Item]:
    """Return English minimal pairs; `subsets` share them in turn, and people rated them where asked for."""
    rows = starter("minimal-pairs")
    rng = np.random.default_rng([len(corpus), start])
    items = []
    for number in range(n):
        row = rows[(start + step * number) % len(rows)]
        subset = subsets[number % len(subsets)]
        item = made_item(
            f"{corpus}/{subset}/{number}",
            row["target_good"],
            row["target_bad"],
            phenomenon=row["phenomenon"],
            paradigm=row["paradigm"],
        )
        good, bad = rng.normal([5.4, 3.1], 0.9)
        items.append(
            replace(item, human_good=float(good), human_bad=float(bad), human_scale="likert7", human_n=12)
            if rated
            else item
        )
    return items


def foreign(corpus: str, language: str, n: int) -> list[Item]:
    """Return pairs of whole sentences in another language: the concept pairs of the starter corpus."""
    rows = [row for row in starter("concepts") if row["language"] == language][:n]
    return [
        made_item(
            f"{corpus}/{language}/{number}",
            _joined(row, "good"),
            _joined(row, "bad"),
            subset="all" if number % 2 else "more",
            language=language,
            phenomenon="concepts",
            paradigm=row["negative_type"],
        )
        for number, row in enumerate(rows)
    ]


def _joined(row: dict[str, Any], side: str) -> str:
    gap = "" if row["language"] in ("zh", "ja") or not row[f"context_{side}"] else " "
    return f"{row[f'context_{side}']}{gap}{row[f'target_{side}']}"


def words(corpus: str, n: int, *, start: int) -> list[Item]:
    items = []
    for number, item in enumerate(sentences(corpus, n, start=start)):
        parts = item.target_good.removesuffix(".").split()
        items.append(
            made_item(f"{corpus}/{number}", parts[-1], task="word_prediction", context_good=" ".join(parts[:-1]))
        )
    return items


def continuations(corpus: str, n: int, *, start: int = 0) -> list[Item]:
    rows = starter("plausibility")
    return [
        made_item(
            f"{corpus}/{number}",
            row["target_good"].removesuffix("."),
            row["target_bad"].removesuffix("."),
            task="continuation_pair",
            phenomenon="plausibility",
            context_good=row["context_good"],
            context_bad=row["context_bad"],
        )
        for number, row in enumerate(rows[(start + 2 * place) % len(rows)] for place in range(n))
    ]


def contexts(corpus: str, n: int, *, rated: bool) -> list[Item]:
    """Return context pairs; of rated ones people chose the context and rated both."""
    rng, items = np.random.default_rng(4), []
    for number, row in enumerate(starter("contexts")[:n]):
        good, bad, chosen = rng.normal([4.2, 2.3, 0.85], [0.6, 0.6, 0.2])
        people: dict[str, Any] = {
            "human_good": float(good),
            "human_bad": float(bad),
            "human_scale": "likert5",
            "human_n": 10,
        }
        extra: dict[str, Scalar] = {"target_number": row["target_number"]}
        if rated:
            extra["human_choice"] = float(np.clip(round(chosen, 1), 0, 1))
        items.append(
            made_item(
                f"{corpus}/{number}",
                row["target_good"],
                row["target_bad"],
                task="context_pair",
                phenomenon=row["phenomenon"],
                paradigm=row["paradigm"],
                context_good=row["context_good"],
                context_bad=row["context_bad"],
                extra=extra,
                **people if rated else {},
            )
        )
    return items


def concepts(corpus: str, languages: Sequence[str], n: int) -> list[Item]:
    items = []
    for language in languages:
        rows = [row for row in starter("concepts") if row["language"] == language]
        for number, row in enumerate(rows[:: max(1, len(rows) // n)][:n]):
            names = ("negative_type", "property", "concept_good", "concept_bad")
            items.append(
                made_item(
                    f"{corpus}/{language}/{number}",
                    row["target_good"],
                    row["target_bad"],
                    language=language,
                    task="concept_pair",
                    phenomenon="concepts",
                    paradigm=row["negative_type"],
                    context_good=row["context_good"],
                    context_bad=row["context_bad"],
                    extra={name: row[name] for name in names},
                )
            )
    return items


def single_sentences(corpus: str, n: int, *, start: int, label: bool) -> list[Item]:
    rng, items = np.random.default_rng(start), []
    for number, pair in enumerate(sentences(corpus, n, start=start, step=5)):
        good = number % 2 == 0
        item = made_item(
            f"{corpus}/{number}",
            pair.target_good if good else str(pair.target_bad),
            phenomenon=None if label else pair.phenomenon,
            extra={"label": int(good)} if label else {},
        )
        rating = float(rng.normal(5.2 if good else 3.0, 1))
        items.append(item if label else replace(item, human_good=rating, human_scale="likert7", human_n=8))
    return items


def rated_contexts(corpus: str, n: int) -> list[Item]:
    """Return sentences that are rated alone and after two contexts, where ratings are compressed."""
    rng, items = np.random.default_rng(n), []
    for number, pair in enumerate(sentences(corpus, n, step=3)):
        merit = float(rng.normal(0, 0.8))
        for subset, context, slope in (
            ("none", "", 1.0),
            ("real", "It is early.", 0.8),
            ("random", "A ship sank.", 0.7),
        ):
            items.append(
                replace(
                    made_item(f"{corpus}/{subset}/{number}", pair.target_good if merit > 0 else str(pair.target_bad)),
                    subset=subset,
                    context_good=context,
                    pair_id=str(number),
                    human_good=2.5 + slope * merit + float(rng.normal(0, 0.1)),
                    human_scale="likert4",
                    human_n=15,
                )
            )
    return items


def island_sentences(corpus: str, *, n_sets: int) -> list[Item]:
    """Return rated sentences of two 2 x 2 designs."""
    rng, items = np.random.default_rng(n_sets), []
    for dependency in ("wh", "rc"):
        for number in range(n_sets):
            for nth, cell in enumerate(islands.CELLS):
                text = islands.sentence(number, *cell)
                item = Item(
                    item_id=f"{corpus}/{dependency}/{number}-{nth}",
                    corpus=corpus,
                    subset="all",
                    language="en",
                    task="sentence",
                    target_good=text if dependency == "wh" else f"She asked {text[0].lower()}{text[1:]}",
                    human_good=float(islands.ISLAND[cell] + rng.normal(0, 0.5)),
                    human_scale="likert7",
                    human_n=8,
                    extra={"dependency": dependency, "item": str(number), "structure": cell[0], "distance": cell[1]},
                )
                items.append(item)
    return items


def suites(corpus: str) -> list[Item]:
    """Return two test suites with regions: number agreement, and a garden path with a difference of differences."""
    agreement = [
        {
            "match": [f"The {noun}", "near the shop", right, "today."],
            "mismatch": [f"The {noun}", "near the shop", wrong, "today."],
        }
        for noun, right, wrong in (
            ("cook", "waits", "wait"),
            ("pilots", "sleep", "sleeps"),
            ("child", "laughs", "laugh"),
            ("painters", "sing", "sings"),
            ("clerk", "smiles", "smile"),
            ("guests", "dance", "dances"),
        )
    ]
    garden = [
        {
            f"{verb}_{comma}": [f"While the {noun} {text}", "," if comma == "comma" else "", other, "fell over."]
            for verb, text in (("ambiguous", ambiguous), ("plain", plain))
            for comma in ("no", "comma")
        }
        for noun, ambiguous, plain, other in (
            ("tailor", "sewed", "slept", "the lamp"),
            ("baker", "stirred", "sneezed", "the ladder"),
            ("farmer", "ploughed", "dozed", "the cart"),
            ("singer", "practised", "arrived", "the stand"),
            ("nurse", "wrote", "yawned", "the chair"),
        )
    ]
    twofold = (
        "[(4;%ambiguous_no%) > (4;%ambiguous_comma%)] & [[(4;%ambiguous_no%) - (4;%ambiguous_comma%)] > "
        "[(4;%plain_no%) - (4;%plain_comma%)]]"
    )
    return [
        *_suite(corpus, "number", "agreement", ["(3;%match%) < (3;%mismatch%)"], agreement),
        *_suite(corpus, "garden", "garden_path_effects", [twofold], garden),
    ]


def _suite(
    corpus: str, name: str, phenomenon: str, formulas: list[str], items: Sequence[dict[str, list[str]]]
) -> Iterator[Item]:
    for number, conditions in enumerate(items, 1):
        for condition, regions in conditions.items():
            sentence, spans = joined_with_spans(regions)
            yield made_item(
                f"{corpus}/{name}/{number}-{condition}",
                sentence,
                phenomenon=phenomenon,
                paradigm=name,
                extra={
                    "item_number": number,
                    "condition": condition,
                    "regions": json.dumps(regions),
                    "region_spans": json.dumps(spans),
                    "region_names": json.dumps([f"region {place}" for place in range(1, len(regions) + 1)]),
                    "formulas": json.dumps(formulas),
                },
            )


def ratings(items: Sequence[Item], *, kind: str, n_raters: int = 6, seed: int = 0) -> pd.DataFrame:
    """Return individual ratings: `choices` of the better side, ratings of `both` sides, or of `single` sentences."""
    rng, rows = np.random.default_rng(seed), []
    for item in items:
        for rater in range(n_raters):
            if kind == "choices":
                rows.append((item.item_id, "good", rater, float(rng.random() < 0.85), "forced-choice"))
                continue
            sides = ("good",) if kind == "single" else ("good", "bad")
            for side in sides:
                mean = getattr(item, f"human_{side}") or 4.0
                value = float(np.clip(round(mean + rng.normal()), 1, 7))
                rows.append((item.item_id, side, rater, value, "likert7"))
    return pd.DataFrame(rows, columns=["item_id", "side", "rater", "value", "scale"])
