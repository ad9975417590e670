"""docs/contributing.md does what it says: its files are the example package's, and work as files of this repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pairbank
from checkouts import ROOT, checkout

PAGE = ROOT / "docs" / "contributing.md"
EXAMPLE = ROOT / "tests" / "plugins" / "example_package"
SOURCE = EXAMPLE / "src" / "pairbank_example"
STUDY = """
title = "A study"
methods = ["direct", "teacher"]
analyses = ["length"]
n_resamples = 10
[[corpora]]
name = "starter"
subset = "minimal-pairs"
limit = 1
"""


def blocks() -> dict[str, str]:
    """Return the page's files: what stands in the block behind each link to one of the package's."""
    result = re.findall(
        r"\]\(\.\./tests/plugins/example_package/([^)]+)\):\n\n```\w+\n(.*?)^```",
        PAGE.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    return dict(result)


def test_every_file_of_the_page_is_the_packages() -> None:
    shown = blocks()
    package = {path for path in EXAMPLE.rglob("*") if path.is_file() and path.suffix in (".py", ".toml", ".j2")}
    assert shown.keys() == {path.relative_to(EXAMPLE).as_posix() for path in package}
    for name, text in shown.items():
        assert text == (EXAMPLE / name).read_text(encoding="utf-8"), f"{name} differs: copy it into {PAGE.name}"


def test_every_door_is_on_the_page() -> None:
    groups = re.findall(r'entry-points\."(pairbank\.\w+)"', blocks()["pyproject.toml"])
    table = PAGE.read_text(encoding="utf-8").split("\n\n", 4)[2]
    assert re.findall(r"`(pairbank\.\w+)`", table) == groups


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Return a checkout in which the page's changes were made as its paragraphs "In this repository" say."""
    root = checkout(tmp_path / "pairbank")
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    lines = re.findall(r"a line in `(\w+)` of `([\w/]+\.py)`: `([^`]+)`", text)
    assert len(lines) == 2
    for name, file, line in lines:
        path = root / file
        old = path.read_text(encoding="utf-8")
        new = re.sub(rf"^({name}\b.*= {{)", "\\g<1>" + line, old, flags=re.MULTILINE)
        assert new != old
        path.write_text(new, encoding="utf-8")
    for name, folder in (
        ("length.py", "stats/analyses"),
        ("length.md.j2", "stats/analyses"),
        ("letters.py", "scoring/models"),
    ):
        (root / folder / name).write_bytes((SOURCE / name).read_bytes())
    (root / "scoring" / "prompts" / "example.toml").write_bytes((SOURCE / "prompts.toml").read_bytes())
    return root


@pytest.mark.ci
def test_a_prompt_an_analysis_and_a_back_end_work_in_this_repository(changed: Path, tmp_path: Path) -> None:
    (tmp_path / "forecast.txt").write_text("The clouds are grey and the rain is cold.\n")
    (tmp_path / "study.toml").write_text(STUDY)
    command = ("run", "study.toml", "--model", "letters:forecast.txt", "--out", "bank")
    done = subprocess.run(
        [sys.executable, "-m", "pairbank", *command],
        env=os.environ | {"PYTHONPATH": str(changed / "src")},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert pairbank.check_bank(tmp_path / "bank") is not None
    report = (tmp_path / "bank" / "reports" / "study" / "report.md").read_text()
    assert re.search(r"## Length of sentences\n\n- forecast, Direct: .*\n- forecast, `teacher`: ", report)
