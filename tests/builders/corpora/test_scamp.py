"""SCaMP: two halves of tab-separated pairs without a header."""

from collections import Counter
from pathlib import Path

import pytest

import pairbank
from corpus_files import write_tar, write_tree
from pairbank.builders.dataset import manifest_of
from pairbank.errors import CorpusError

TEXTS = {
    "scamp_plausible/left_branch.tsv": 'the cook \'s here .\tthe cook \'re here .\nann sees "us" .\tann see "us" .\n',
    "scamp_plausible/adv_order.tsv": "who runs ?\trun who ?\n",
    "scamp_implausible/left_branch_implausible.tsv": "the soup is wise .\tthe soup are wise .\n",
}


@pytest.mark.parametrize("packed", [True, False])
def test_the_two_halves_are_subsets_and_files_are_paradigms(tmp_path: Path, packed: bool) -> None:
    if packed:
        write_tar(tmp_path / "scamp.tar.gz", TEXTS)
    else:
        write_tree(tmp_path, TEXTS)
    items = pairbank.load_corpus("scamp", data_dir=tmp_path)
    assert items["item_id"][:] == [
        "scamp/plausible/adv_order-1",
        "scamp/plausible/left_branch-1",
        "scamp/plausible/left_branch-2",
        "scamp/implausible/left_branch-1",
    ]
    assert items["paradigm"][:] == ["adv_order", "left_branch", "left_branch", "left_branch"]
    assert items[2]["target_good"] == 'ann sees "us" .'
    half = pairbank.load_corpus("scamp", data_dir=tmp_path, subset="implausible")
    assert half["target_bad"][:] == ["the soup are wise ."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a .\tb .\nonly one .\n", r"adv_order\.tsv, row 2: 1 cells, expected 2"),
        ("a .\tb .\tc .\n", r"adv_order\.tsv, row 1: 3 cells"),
        ("a .\t\n", r"adv_order\.tsv, row 1: column 'target_bad' is empty"),
    ],
)
def test_a_malformed_line_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    write_tar(tmp_path / "scamp.tar.gz", TEXTS | {"scamp_plausible/adv_order.tsv": text})
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("scamp", data_dir=tmp_path)


def test_a_missing_half_is_named(tmp_path: Path) -> None:
    write_tar(tmp_path / "scamp.tar.gz", {name: text for name, text in TEXTS.items() if "implausible" not in name})
    with pytest.raises(CorpusError, match=r"holds no file like scamp_implausible/\*_implausible\.tsv"):
        pairbank.load_corpus("scamp", data_dir=tmp_path)


@pytest.mark.slow
@pytest.mark.upstream
def test_scamp_counts_are_the_verified_ones(shared: Path) -> None:
    items = pairbank.load_corpus("scamp", data_dir=shared / "corpora")
    manifest = manifest_of(items)
    assert manifest is not None
    assert manifest["files"]["scamp.tar.gz"]["verified"]
    # CORPORA.md 1.15: 67 x 1000 a half, no identical pair, and no duplicate within a half. Across the halves twelve
    # pairs of recursion_pp_*_short are the same (sort -u over all 134 files: 133,988 lines).
    assert (manifest["n_rows"], manifest["n_usable"]) == (134_000, 134_000)
    assert manifest["n_by_subset"] == {"plausible": 67_000, "implausible": 67_000}
    assert manifest["n_by_flag"] == {"duplicate_pair": 12}
    assert set(Counter(zip(items["subset"], items["paradigm"], strict=True)).values()) == {1000}
    assert len(set(items["paradigm"][:])) == 67
    # CORPORA.md 1.15: 7.3 % (plausible) and 2.3 % (implausible) of the better sentences start with a capital
    for subset, share in (("plausible", 0.073), ("implausible", 0.023)):
        upper = [t[0].isupper() for s, t in zip(items["subset"], items["target_good"], strict=True) if s == subset]
        assert sum(upper) / len(upper) == pytest.approx(share, abs=5e-4)
