"""SyntaxGym's pairs: derived as published, from suites in the upstream format and from the upstream suites."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import pairbank
from corpus_files import table, write_tar, write_tree
from pairbank.builders.corpora.syntaxgym import SUITES
from pairbank.errors import CorpusError

HEADER = ("item_number", "condition_name", "region_number", "region_name", "content")
N_ITEMS = 20


def suite(name: str, *, leave_out: str = "") -> str:
    """Return a suite of our own: 20 items, all its conditions and one that no pair uses, a region empty."""
    conditions = [c for contrast in SUITES[name][1] for c in contrast] + ["unused"]
    regions = [
        (item, condition, number, f"region{number}", content)
        for item in range(1, N_ITEMS + 1)
        for condition in conditions
        if condition != leave_out
        for number, content in enumerate((f"Baker {name}", "", f"{condition} , so", f"they say {item}"), 1)
    ]
    return table(HEADER, regions)


def suites(**changed: str) -> dict[str, str]:
    texts = {f"test_suites/csv/{name}.csv": suite(name) for name in SUITES}
    texts["test_suites/csv/npi_own.csv"] = table(HEADER, [])
    texts["test_suites/json/cleft.json"] = "{}"
    return texts | {f"test_suites/csv/{name}.csv": text for name, text in changed.items()}


def test_an_item_gives_one_pair_a_contrast_of_joined_regions(tmp_path: Path) -> None:
    write_tar(tmp_path / "test_suites.tar.gz", suites())
    items = pairbank.load_corpus("syntaxgym", data_dir=tmp_path)
    assert len(items) == N_ITEMS * sum(len(contrasts) for _, contrasts in SUITES.values())
    row = items.filter(lambda r: r["item_id"] == "syntaxgym/cleft/4")[0]
    assert row["target_good"] == "Baker cleft vp_match, so they say 2."
    assert row["target_bad"] == "Baker cleft vp_mismatch, so they say 2."
    assert (row["pair_id"], row["phenomenon"], row["paradigm"]) == ("2", "long_distance_dependencies", "cleft")
    assert items["hu_levy_id"][:] == list(range(1, len(items) + 1))
    sampled = Counter(s for s, chosen in zip(items["subset"], items["in_hu_levy_sample"], strict=True) if chosen)
    assert sampled == dict.fromkeys(SUITES, 15)


def test_one_suite_keeps_the_numbers_it_has_in_the_whole(tmp_path: Path) -> None:
    write_tree(tmp_path, suites())
    whole = pairbank.load_corpus("syntaxgym", data_dir=tmp_path)
    part = pairbank.load_corpus("syntaxgym", data_dir=tmp_path, subset="fgd_pp")
    assert part.to_list() == [row for row in whole if row["subset"] == "fgd_pp"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"cleft": suite("cleft", leave_out="vp_match")},
            r"cleft\.csv: item 1 has no condition vp_match; found np_match",
        ),
        ({"cleft": table(HEADER, [("one", "np_match", 1, "a", "Ann")])}, r"cleft\.csv, row 2: item_number is 'one'"),
    ],
)
def test_a_malformed_suite_is_one_clear_error(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    write_tar(tmp_path / "test_suites.tar.gz", suites(**changed))
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("syntaxgym", data_dir=tmp_path)


def test_missing_suites_are_named(tmp_path: Path) -> None:
    texts = {name: text for name, text in suites().items() if "number_" not in name}
    write_tar(tmp_path / "test_suites.tar.gz", texts)
    with pytest.raises(CorpusError, match="lacks the suites number_orc, number_prep, number_src; get all of"):
        pairbank.load_corpus("syntaxgym", data_dir=tmp_path)


@pytest.mark.upstream
def test_the_upstream_suites_give_the_published_pairs_and_sample_exactly(shared: Path) -> None:
    items = pairbank.load_corpus("syntaxgym", data_dir=shared / "corpora")
    ours = pd.DataFrame(
        {
            "good_sentence": items["target_good"][:],
            "bad_sentence": items["target_bad"][:],
            "suite": items["subset"][:],
            "good_cond": items["good_condition"][:],
            "bad_cond": items["bad_condition"][:],
            "syntaxgym_id": [int(value) for value in items["pair_id"][:]],
            "item_id": items["hu_levy_id"][:],
        }
    )
    # Hu & Levy's own files: all 1,018 pairs in their order, and the 345 drawn with random_state=1111
    published = pd.read_csv(shared / "corpora" / "syntaxgym" / "full_corpus.csv")
    pd.testing.assert_frame_equal(ours, published, check_dtype=False)
    sample = pd.read_csv(shared / "corpora" / "syntaxgym" / "corpus.csv").drop(columns="item_id")
    drawn = ours[items["in_hu_levy_sample"][:]].drop(columns="item_id")
    assert len(drawn) == 345
    keys = ["suite", "syntaxgym_id", "good_cond"]
    pd.testing.assert_frame_equal(
        drawn.sort_values(keys, ignore_index=True), sample.sort_values(keys, ignore_index=True), check_dtype=False
    )
