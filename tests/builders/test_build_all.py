"""`pairbank build all` over the upstream files: the counts of shared/CORPORA.md, section 1."""

from pathlib import Path

import pytest

from pairbank.builders.catalogue import build_all, total
from pairbank.errors import CorpusError

# CORPORA.md, table of section 1 and the item-count rule below it: rows of the source, rows with two different sides.
# LI-Adger's and the starter's usable rows are our own count.
COUNTS = {
    "starter": (892, 892),
    "blimp": (67_000, 66_993),
    "hu-levy-blimp": (390, 390),
    "syntaxgym": (1_018, 1_018),
    "scamp": (134_000, 134_000),
    "zhoblimp": (35_400, 35_400),
    "sling": (40_000, 39_976),
    "li": (2_379, 2_378),
    "li-adger": (2_393, 2_391),
    "blimp-li": (1_048, 1_048),
    "dtfit": (395, 395),
    "cola": (8_551 + 527 + 516, 8_551 + 527 + 516),
    "p18": (384, 384),
    "news-2023": (222, 222),
    "wikipedia": (1_000, 1_000),
    "news-2024": (1_000, 1_000),
    "nonsense": (1_000, 1_000),
    "randomseq": (1_000, 1_000),
    # SOURCE.txt of each corpus; usable rows, those with two different sides, are our own count
    "syntaxgym-suites": (3_304, 3_304),
    "turblimp": (18_416, 18_386),
    "multiblimp": (5_939, 5_939),
    "blimp-nl": (8_400, 8_390),
    "rublimp": (45_000, 45_000),
    "qfrblimp": (1_761, 1_743),
    "clams": (178_120, 178_120),
    "bhs": (22_000, 22_000),
    "climp": (16_000, 16_000),
    "jblimp": (331, 331),
    "lindsea": (850, 849),
    "xcopa": (6_600, 6_600),
    "morcela": (725, 724),
    "kauf-2024": (1_645, 1_645),
    "itacola": (9_722, 9_722),
    "nocola": (28_672, 28_672),
    "jcola": (8_469, 8_469),
    "rucola": (10_656, 10_656),
    "escola": (9_507, 9_507),
    "colac": (6_564, 6_564),
    "mega-acceptability": (128_104, 128_104),
    "lau-2020-context": (750, 750),
    "sprouse-2016": (672, 672),
}
NOT_OBTAINABLE = {
    *("hll", "ewok", "comps", "social-relations", "xcomps"),
    *("lm-syneval", "mega-veridicality", "mega-negraising", "mela"),
    *("dgl", "syntaxgym-mandarin", "nocola-zero", "shades-of-zero"),
}


@pytest.mark.slow  # a minute and more; test_golden_rows has the rows of every corpus in CI
@pytest.mark.upstream
def test_one_table_holds_the_verified_counts_of_every_corpus(shared: Path) -> None:
    rows = build_all(shared / "corpora")
    table = {row["corpus"]: row for row in rows}
    # the 18 languages of the starter, and those of the other corpora that are there (fr-CA is one of its own)
    assert total(rows).startswith("41 of 54 corpora, 30 languages, ")
    assert table.keys() == COUNTS.keys() | NOT_OBTAINABLE
    result = {name: (row["rows"], row["usable"]) for name, row in table.items() if name in COUNTS}
    assert result == {name: (f"{rows:,}", f"{usable:,}") for name, (rows, usable) in COUNTS.items()}
    for name, row in table.items():
        if name in COUNTS:
            assert row["expected"] == row["rows"], name
            assert row["note"] == "", name
        else:
            assert row["note"].startswith(f"not built: corpus '{name}': no "), name


def test_a_corpus_that_is_there_and_broken_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "li").mkdir()
    (tmp_path / "li" / "LI_Large_pairs.csv").write_text("wrong,header\n1,2\n")
    with pytest.raises(CorpusError, match=r"LI_Large_pairs\.csv, row 1: missing column"):
        build_all(tmp_path)
