"""`pairbank build all` over the upstream files: the counts of `golden_rows.json`."""

from pathlib import Path

import pytest

from pairbank.builders.catalogue import build_all, total
from pairbank.builders.corpora.registry import CORPORA
from pairbank.errors import CorpusError
from pairbank.files import read_json

NOT_OBTAINABLE = {
    *("hll", "ewok", "comps", "social-relations", "xcomps"),
    *("lm-syneval", "mega-veridicality", "mega-negraising", "mela"),
    *("dgl", "syntaxgym-mandarin", "nocola-zero", "shades-of-zero"),
}


@pytest.mark.slow  # a minute and more; test_golden_rows has the rows of every corpus in CI
@pytest.mark.upstream
def test_one_table_holds_the_counts_of_every_corpus(shared: Path) -> None:
    golden = read_json(Path(__file__).with_name("golden_rows.json"))
    rows = build_all(shared / "corpora")
    # the 18 languages of the starter, and those of the other corpora that are there (fr-CA is one of its own)
    assert total(rows).startswith("41 of 54 corpora, 30 languages, ")
    assert {row["corpus"] for row in rows} == {*CORPORA}
    for row in rows:
        name = row["corpus"]
        if name in NOT_OBTAINABLE:
            assert row["note"].startswith(f"not built: corpus '{name}': no "), name
        else:
            n = golden[name]["n_rows"]
            assert (row["rows"], row["expected"], row["note"]) == (f"{n:,}", f"{n:,}", ""), name
            assert row["usable"] == f"{n - CORPORA[name].n_identical:,}", name


def test_a_corpus_that_is_there_and_broken_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "li").mkdir()
    (tmp_path / "li" / "LI_Large_pairs.csv").write_text("wrong,header\n1,2\n")
    with pytest.raises(CorpusError, match=r"LI_Large_pairs\.csv, row 1: missing column"):
        build_all(tmp_path)
