"""SCaMP: two halves of tab-separated pairs without a header."""

from pathlib import Path

import pytest

import pairbank
from corpus_files import write_tar, write_tree
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
