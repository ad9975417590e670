"""Forged tables: cells, counts, flags, signatures and sizes that no scoring gives are refused, and with a reason."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from pairbank.errors import BankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import METADATA_KEY
from store_submissions import edited, put, submission

ASKED, RATED = "meta_question_simple", "acceptability_likert_5"
NAN = float("nan")


def scored(name: str) -> Scored:
    """Return a table with tokens, a mean, a prompt with two orders and a rating."""
    from pairbank.scoring.prompts.registry import prompts

    rating = next(
        p.id for p in prompts().values()
        if p.kind == "rating" and p.readout == "options" and p.applies_to(task="sentence_pair", language="en")
    )  # fmt: skip
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=2)
    methods = ("direct", "mean_logprob", ASKED, rating)
    return pairbank.score(items, FakeScorer(name=name), methods=methods, per_token=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    rated = scored("fake-1")
    pairbank.write_bank(folder / "store", scored=[rated])
    scored("m").save(folder / "m.parquet")
    return folder


def cell(column: str, value: Callable[[Any], Any]) -> dict[str, Any]:
    return {"column": column, "value": value}


def sign(change: Callable[[Any], None]) -> dict[str, Any]:
    return {"sign": change}


def of_model(**facts: object) -> dict[str, Any]:
    return sign(lambda s: s["model"].update(facts))


def of_direct(**facts: object) -> dict[str, Any]:
    return sign(lambda s: s["methods"]["direct"].update(facts))


CELLS: dict[str, tuple[dict[str, Any], str]] = {
    "human_good": (cell("human_good", lambda _: 99.0), "column human_good is not that of the items"),
    "human_bad": (cell("human_bad", lambda _: -1.0), "column human_bad is not that of the items"),
    "human_scale": (cell("human_scale", lambda _: "likert9"), "column human_scale is not that of the items"),
    "human_n": (cell("human_n", lambda _: 1_000_000), "column human_n is not that of the items"),
    "phenomenon": (cell("phenomenon", lambda _: "agreement!"), "column phenomenon is not that of the items"),
    "item flags": (cell("flags", lambda _: ["identical"]), "column flags is not that of the items"),
    "pair_id": (cell("pair_id", lambda _: "other"), "column pair_id is not that of the items"),
    "a column of the corpus": (cell("target_number", lambda _: 9), "column target_number is not that of"),
    "text": (cell("target_good", lambda x: f"{x}!"), "column target_good is not that of the items"),
    "good NaN": (cell("direct_good", lambda _: NAN), "direct_delta has a number in 1 row(s) without direct_good"),
    "bad null": (cell("direct_bad", lambda _: None), "direct_delta has a number in 1 row(s) without direct_good"),
    "delta NaN": (cell("direct_delta", lambda _: NAN), "direct_delta is not good - bad"),
    "delta moved": (cell("direct_delta", lambda x: x + 1), "direct_delta is not good - bad"),
    "infinite": (cell("direct_good", lambda _: -np.inf), "direct_good is infinite"),
    "-1e30": (cell("direct_good", lambda _: -1e30), "direct_good is further from 0"),
    "-1e6": (cell("direct_good", lambda _: -1e6), "direct_good is below -10,000 nats per token"),
    "above 0": (cell("direct_bad", lambda _: 0.5), "direct_bad is above 0"),
    "no tokens": (cell("direct_good_n", lambda _: 0), "direct_good_n is no number of tokens"),
    "negative tokens": (cell("direct_bad_n", lambda _: -3), "direct_bad_n is no number of tokens"),
    "a million tokens": (cell("direct_good_n", lambda _: 10**6), "direct_good_n is no number of tokens"),
    "one token more": (cell("direct_good_n", lambda x: x + 1), "another number of tokens than direct_good_n"),
    "tokens moved": (cell("direct_good_tokens", lambda x: [x[0] - 1, *x[1:]]), "the sum of direct_good_tokens"),
    "mean moved": (cell("mean_logprob_good", lambda x: x - 3), "mean_logprob_good is not what direct_good gives"),
    "first choice": (cell(f"{ASKED}_first_choice", lambda _: 0.97), "_first_choice is not what"),
    "first choice 7": (cell(f"{ASKED}_first_choice", lambda _: 7.0), "_first_choice is outside 0 to 1"),
    "an answer": (cell(f"{ASKED}_good", lambda x: x + 2), f"{ASKED}_good is not what {ASKED}_logprobs gives"),
    "log-probability": (cell(f"{ASKED}_logprobs", lambda x: [0.1, *x[1:]]), "_logprobs is above 0"),
    "too few options": (cell(f"{ASKED}_logprobs", lambda _: [-1.0]), "_logprobs has rows of 1 values; expected 4"),
    "unknown flag": (cell("direct_flags", lambda _: ["<script>"]), "direct_flags has '<script>', which is no flag"),
    "a flag": (cell("direct_flags", lambda _: ["over_length"]), "direct_flags has other numbers of flags"),
    "rating": (cell("RATING_good", lambda _: 50.0), "_good is outside"),
    "rating moved": (cell("RATING_good", lambda x: x / 2 + 1.1), "_good is not what"),
    "most probable": (cell("RATING_argmax_good", lambda x: 1.0 if x > 2 else 3.0), "_argmax_good is not what"),
}
SIGNATURES: dict[str, tuple[dict[str, Any], str]] = {
    "paper": (of_direct(paper="<script>alert(1)</script>"), "paper is '<script>alert(1)</script>'"),
    "cites": (of_direct(cites=["me2026"]), "method direct: cites is ['me2026']"),
    "no columns": (of_direct(columns=[]), "method direct: columns is []"),
    "columns": (of_direct(columns=["item_id"]), "method direct: columns is ['item_id']"),
    "an extra key": (of_direct(note="x" * 600), "has 600 characters"),
    "dtype": (of_model(dtype="float7<script>"), "model.dtype is 'float7<script>'"),
    "dtype float7": (of_model(dtype="float7"), "model.dtype is 'float7'"),
    "backend": (of_model(backend="my back end"), "model.backend is"),
    "device": (of_model(device="<b>cpu</b>"), "model.device is"),
    "revision": (of_model(revision="a b\nc"), "model.revision is"),
    "model_id": (of_model(model_id="javascript:alert"), "model.model_id is"),
    "prompt_format": (of_model(prompt_format="chatty"), "model.prompt_format is"),
    "bos_policy": (of_model(bos_policy="all"), "model.bos_policy is"),
    "key of the model": (of_model(owner="me"), "unknown key model.'owner'"),
    "key": (sign(lambda s: s.update(verified=True)), "unknown key 'verified'"),
    "bidi": (of_model(architecture="Gpt\u202e2"), "model.architecture is"),
    "version of pairbank": (sign(lambda s: s.update(pairbank="best")), "pairbank is 'best'; expected a version"),
    "over_length": (sign(lambda s: s.update(over_length="cut")), "over_length is 'cut'"),
    "version of the corpus": (sign(lambda s: s["corpus"].update(version="9.9")), "the store has"),
    "hash of items": (sign(lambda s: s["corpus"].update(items_sha256="0" * 64)), "are not those that its signature"),
    "flags counted": (sign(lambda s: s["n_by_flag"].update(direct={"over_length": 3})), "other numbers of flags"),
}


@pytest.mark.parametrize(("change", "reason"), [*CELLS.values(), *SIGNATURES.values()], ids=[*CELLS, *SIGNATURES])
def test_a_forged_table_is_refused_by_the_check_with_its_reason(
    change: dict[str, Any], reason: str, store: Path, tmp_path: Path
) -> None:
    problems = pairbank.check_submission(forged(store, tmp_path / "forged.parquet", change), store / "store").problems
    assert any(reason in problem for problem in problems), problems


def forged(store: Path, out: Path, change: dict[str, Any]) -> Path:
    """Write a table with one change; RATING is the method of ratings."""
    rating = next(x["method"] for x in pairbank.read_scored(store / "m.parquet").layouts if x["kind"] == "rating")
    named = {**change, "column": change.get("column", "").replace("RATING", rating)}
    return edited(store / "m.parquet", out, **named)


def test_the_build_refuses_what_the_check_refuses_and_shows_the_honest(store: Path, tmp_path: Path) -> None:
    import shutil

    folder = shutil.copytree(store / "store", tmp_path / "store")
    changes = [change for change, _ in (*CELLS.values(), *SIGNATURES.values())]
    for number, change in enumerate(changes):
        put(folder, submission(forged(store, tmp_path / f"{number}.parquet", change), f"forger-{number}"))
    put(folder, submission(scored("honest").save(tmp_path / "honest.parquet"), "zoe"))
    states = {state.submitter: state for state in pairbank.build_store(folder)}
    assert len(changes) >= 50
    assert {state.state for who, state in states.items() if who != "zoe"} == {"refused"}
    assert all(state.reason for who, state in states.items() if who != "zoe")
    assert states["zoe"].state == "shown"
    assert pairbank.check_bank(folder)["scores"]["starter"].keys() == {"fake_1", "honest"}


def test_an_honest_table_of_each_kind_of_method_is_accepted(store: Path) -> None:
    assert pairbank.check_submission(store / "m.parquet", store / "store").problems == ()


def bombs(folder: Path, file: Path) -> Iterator[tuple[Path, str]]:
    """Yield files of some kilobytes that stand for gigabytes, and others that are too large, with the reason."""
    table = pq.read_table(file)
    rows = pa.table(
        {n: pa.DictionaryArray.from_arrays(pa.array(np.zeros(6_000_000, np.int8)), table[n][:1].combine_chunks())
         for n in ("item_id", "target_good")},
    ).replace_schema_metadata(table.schema.metadata)  # fmt: skip
    pq.write_table(rows, folder / "rows.parquet", store_schema=False)
    yield folder / "rows.parquet", "6,000,000 rows; the corpus has"
    wide = table
    for number in range(2_001):
        wide = wide.append_column(f"c{number}", pa.nulls(len(table), pa.int8()))
    pq.write_table(wide, folder / "wide.parquet")
    yield folder / "wide.parquet", "columns; a table has at most 2,000"
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(table), np.int8)), pa.array(["x" * 10**7]))
    at = table.schema.get_field_index("target_good")
    texts = table.set_column(at, "target_good", long)
    pq.write_table(texts, folder / "texts.parquet", compression="zstd", store_schema=False)
    yield folder / "texts.parquet", "texts of more than 30,000,000 bytes"
    signature = json.loads(table.schema.metadata[METADATA_KEY]) | {"seed": "x" * 3_000_000}
    metadata = {**table.schema.metadata, METADATA_KEY: json.dumps(signature).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), folder / "signature.parquet")
    yield folder / "signature.parquet", "a signature of 3,"
    nested = {**table.schema.metadata, METADATA_KEY: b"[" * 10**5 + b"]" * 10**5}
    pq.write_table(table.replace_schema_metadata(nested), folder / "nested.parquet")
    yield folder / "nested.parquet", "its signature is not JSON"


def test_a_table_is_judged_by_its_footer_before_it_is_read(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairbank.cards.acceptance.MOST_MEMORY_BYTES", 3 * 10**7)
    for file, reason in bombs(tmp_path, store / "m.parquet"):
        before = pa.total_allocated_bytes()
        with pytest.raises(BankError, match=reason):
            pairbank.check_submission(file, store / "store")
        assert pa.total_allocated_bytes() - before < 10**8
    monkeypatch.setattr("pairbank.cards.acceptance.MOST_TABLE_BYTES", 10)
    with pytest.raises(BankError, match="a table has at most 10"):
        pairbank.check_submission(store / "m.parquet", store / "store")


def test_a_large_record_is_refused(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.parquet"
    file.write_bytes((store / "m.parquet").read_bytes())
    file.with_suffix(".json").write_text(json.dumps({"submitter": "x" * 5_000_000}))
    [problem] = pairbank.check_submission(file, store / "store").problems
    assert "a record has at most 4,000,000" in problem


def test_judgments_of_people_that_are_not_the_banks_are_refused_by_bank_check_and_merge(
    store: Path, tmp_path: Path
) -> None:
    """Also where hashes and results are made anew: the results follow the table's own column."""
    forgery = pairbank.read_scored(forged(store, tmp_path / "f.parquet", CELLS["human_good"][0]))
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored("fake-1")])
    with pytest.raises(BankError, match=r"column\(s\) human_good in the table of m are not those of the bank's items"):
        pairbank.write_bank(bank, scored=[forgery])
    alone = pairbank.write_bank(tmp_path / "alone", scored=[forgery])
    items = pq.read_table(bank / "data/starter/items.parquet")
    pq.write_table(items, alone / "data/starter/items.parquet")
    manifest = json.loads((alone / "manifest.json").read_bytes())
    from pairbank.files import sha256_of_file

    manifest["files"]["data/starter/items.parquet"] = sha256_of_file(alone / "data/starter/items.parquet")
    (alone / "manifest.json").write_text(json.dumps(manifest))
    for verb in (pairbank.check_bank, lambda folder: pairbank.merge_banks(bank, folder, out=tmp_path / "merged")):
        with pytest.raises(BankError, match="column human_good is not that of the items"):
            verb(alone)


def test_a_table_that_was_cut_like_the_banks_is_accepted(tmp_path: Path) -> None:
    """As are its tables: `cut` says in the signature what it was cut from."""
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=2)
    whole = [pairbank.score(items, FakeScorer(name=name), methods=("direct", ASKED)) for name in ("fake-1", "m")]
    other = pairbank.score(items, FakeScorer(name="fake-2"), methods=("direct",))
    first, second, third = pairbank.cut_alike([whole[0], other, whole[1]])
    store = pairbank.write_bank(tmp_path / "store", scored=[first, second])
    assert pairbank.check_submission(third.save(tmp_path / "m.parquet"), store).problems == ()
