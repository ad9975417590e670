"""Forged tables: cells, counts, flags, signatures and sizes that no scoring gives are refused, and with a reason."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import rehashed
from forgeries import ASKED, KINDS, METHODS
from pairbank.cards.submissions import judged
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import METADATA_KEY
from single_sentences import labelled
from store_submissions import edited, put, submission


def scored(name: str) -> Scored:
    """Return a table with tokens, a mean, a prompt with two orders and a rating."""
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=2)
    return pairbank.score(items, f"fake:{name}", methods=METHODS, per_token=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    rated = scored("fake-1")
    pairbank.write_bank(folder / "store", scored=[rated])
    scored("m").save(folder / "m.parquet")
    return folder


def problems_of(change: dict[str, Any], store: Path, folder: Path) -> tuple[str, ...]:
    file = edited(store / "m.parquet", folder / "forged.parquet", **change)
    return judged(lambda: pairbank.check_submission(file, store / "store")).problems


@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_table_is_refused_by_the_check_with_its_reason(kind: str, store: Path, tmp_path: Path) -> None:
    change, reason = next(iter(KINDS[kind].values()))
    problems = problems_of(change, store, tmp_path)
    assert any(re.search(reason, problem) for problem in problems), problems


@pytest.mark.ci
def test_every_other_place_of_a_forgery_is_refused_by_the_check_with_its_reason(store: Path, tmp_path: Path) -> None:
    assert len(KINDS) >= 30
    others = [(kind, place) for kind, places in KINDS.items() for place in [*places][1:]]
    assert len(others) >= 120
    for kind, place in others:
        change, reason = KINDS[kind][place]
        assert any(re.search(reason, text) for text in problems_of(change, store, tmp_path)), (kind, place)


@pytest.mark.ci
def test_the_build_refuses_what_the_check_refuses_and_shows_the_honest(store: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(store / "store", tmp_path / "store")
    honest = submission(store / "m.parquet", "somebody")
    reasons = {}
    for number, (change, reason) in enumerate(next(iter(places.values())) for places in KINDS.values()):
        who, file = f"forger-{number}", edited(store / "m.parquet", tmp_path / "forged.parquet", **change)
        try:
            put(folder, submission(file, who))
        except (BankError, TypeError, KeyError):  # its signature is none; its path is that of the honest table
            path, record = honest
            put(folder, {path.replace("somebody", who): file.read_bytes()})
            stated = {**json.loads(honest[record]), "submitter": who}
            put(folder, {record.replace("somebody", who): json.dumps(stated).encode()})
        reasons[who] = reason
    put(folder, submission(scored("honest").save(tmp_path / "honest.parquet"), "zoe"))
    states = {state.submitter: state for state in pairbank.build_store(folder)}
    assert {state.state for who, state in states.items() if who != "zoe"} == {"refused"}
    assert [who for who, reason in reasons.items() if not re.search(reason, states[who].reason)] == []
    assert states["zoe"].state == "shown"
    assert pairbank.check_bank(folder)["scores"]["starter"].keys() == {"fake_1", "honest"}


def test_an_honest_table_of_each_kind_of_method_is_accepted(store: Path) -> None:
    assert pairbank.check_submission(store / "m.parquet", store / "store").problems == ()


def test_single_sentences_with_tokens_have_no_second_side_to_check(tmp_path: Path) -> None:
    tables = [pairbank.score(labelled(2), f"fake:{name}", methods=("direct",), per_token=True) for name in "ab"]
    store = pairbank.write_bank(tmp_path / "store", scored=tables[:1])
    assert pairbank.check_submission(tables[1].save(tmp_path / "b.parquet"), store).problems == ()


def test_imported_scores_are_accepted(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    numbers = {"item_id": items["item_id"][:], "direct_good": -9.0, "direct_bad": -10.0}
    pd.DataFrame(numbers).to_csv(file := tmp_path / "numbers.csv", index=False)
    first, second = (pairbank.import_scores(file, items=items, model=name)[0] for name in ("one", "two"))
    store = pairbank.write_bank(tmp_path / "store", scored=[first])
    assert pairbank.check_submission(second.save(tmp_path / "two.parquet"), store).problems == ()


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
    forgery = pairbank.read_scored(
        edited(store / "m.parquet", tmp_path / "f.parquet", column="human_good", value=lambda _: 99.0)
    )
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored("fake-1")])
    with pytest.raises(BankError, match=r"column\(s\) human_good in the table of m are not those of the bank's items"):
        pairbank.write_bank(bank, scored=[forgery])
    alone = pairbank.write_bank(tmp_path / "alone", scored=[forgery])
    items = pq.read_table(bank / "data/starter/items.parquet")
    pq.write_table(items, alone / "data/starter/items.parquet")
    rehashed(alone)
    for verb in (pairbank.check_bank, lambda folder: pairbank.merge_banks(bank, folder, out=tmp_path / "merged")):
        with pytest.raises(BankError, match="column human_good is not that of the items"):
            verb(alone)


def test_a_table_that_was_cut_like_the_banks_is_accepted(tmp_path: Path) -> None:
    """As are its tables: `cut` says in the signature what it was cut from."""
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=2)
    whole = [pairbank.score(items, f"fake:{name}", methods=("direct", ASKED)) for name in ("fake-1", "m")]
    other = pairbank.score(items, "fake:fake-2", methods=("direct",))
    first, second, third = pairbank.cut_alike([whole[0], other, whole[1]])
    store = pairbank.write_bank(tmp_path / "store", scored=[first, second])
    assert pairbank.check_submission(third.save(tmp_path / "m.parquet"), store).problems == ()
