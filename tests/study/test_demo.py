"""What `make demo` scores: little enough for a first look, of every kind and in several languages."""

from collections import Counter
from pathlib import Path

import pytest

from pairbank.errors import StudyError
from pairbank.study.corpora import corpora_of
from pairbank.study.declaration import load_study

STUDY = """
title = "t"
methods = ["direct"]
[[corpora]]
name = "starter"
where = { language = WANTED }
"""


def test_the_demo_has_a_hundred_items_of_every_kind_in_three_languages() -> None:
    [chosen], _ = corpora_of(load_study("demo"), None)
    kinds = Counter(zip(chosen.items["subset"][:], chosen.items["language"][:], strict=True))
    assert kinds == {
        ("minimal-pairs", "en"): 56,
        ("plausibility", "en"): 8,
        ("contexts", "en"): 20,
        ("concepts", "en"): 8,
        ("concepts", "de"): 8,
        ("concepts", "zh"): 8,
    }


def test_the_full_demo_has_all_eighteen_languages() -> None:
    [chosen], _ = corpora_of(load_study("demo-full"), None)
    assert len(chosen.items) == 570
    assert len(chosen.items.unique("language")) == 18


@pytest.mark.parametrize(("requested", "languages"), [('"de"', {"de"}), ('["ja", "de"]', {"de", "ja"})])
def test_a_condition_names_one_value_or_several(tmp_path: Path, requested: str, languages: set[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.replace("WANTED", requested))
    [chosen], _ = corpora_of(load_study(str(path)), None)
    assert set(chosen.items["language"][:]) == languages


def test_a_condition_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.replace("WANTED", "[1, 2]"))
    with pytest.raises(StudyError, match=r"where\.\w+.* is "):
        load_study(str(path))
