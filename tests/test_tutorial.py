"""The tutorial is run as it stands: its file, its commands, its scripts."""

import re
import shlex
import shutil
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
from typer.testing import CliRunner

from command_line import printed_by
from pairbank.cli import app
from pairbank.scoring.models.fake import FakeScorer

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def loaded(_id: str, *, name: str | None = None, **_options: object) -> FakeScorer:
    return FakeScorer(name=name or "SmolLM2-135M-Instruct")


def words_of(text: str) -> list[list[str]]:
    """Return the cells of each line that are no numbers, which are the demo model's."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return [[cell for cell in of_line if not re.search(r"\d|^undefined$", cell)] for of_line in cells]


@pytest.mark.ci
def test_every_step_of_the_tutorial_runs_and_leaves_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("sentences.csv", "islands.csv"), blocks("csv"), strict=True):
        Path(name).write_text(table, encoding="utf-8")
    shown: dict[str, str] = {}
    for line in "".join(blocks("sh")).splitlines():
        program, verb, *rest = shlex.split(line)
        assert program == "pairbank"
        with mock.patch("pairbank.scoring.models.load.load_model", side_effect=loaded):
            done = CliRunner().invoke(app, [verb, *rest], catch_exceptions=False)
        assert done.exit_code == 0, (line, done.output)
        shown[verb] = shown.get(verb, "") + done.output
    assert '"n_items": 8' in shown["build"]
    assert "Welcher Satz ist der bessere deutsche Satz?" in shown["methods"]
    assert "8 items with direct, better_sentence, acceptable_sentence" in shown["score"]
    assert "Wrong by direct" in shown["score"]
    [printed] = [text for text in blocks("text") if text.startswith("Accuracy")]
    assert [line for line in words_of(printed) if line not in words_of(shown["score"])] == []
    for name in ("scored.csv.signature.json", "report/report.html", "report/figures/accuracy_sentences.pdf"):
        assert Path(name).is_file(), name
    assert pd.read_csv("scored.csv")["human_bad"].tolist()[0] == 2.1
    assert "whole" in shown["check"]
    [design] = blocks("toml")
    assert Path("islands.map.toml").read_text(encoding="utf-8").endswith(design)
    effects = pd.read_csv("islands-report/design_effects.csv").set_index(["model", "term"])
    people = effects.loc[[("human", "structure:distance")]].iloc[0]
    interval = f"{people['value']:.2f}, 95% CI [{people['low']:.2f}, {people['high']:.2f}]"
    assert f"DD = {interval}, *p* = .{1000 * people['p']:03.0f}" in PAGE
    assert Path("islands-report/figures/design_islands.pdf").is_file()
    assert {"structure", "distance"} <= set(pd.read_csv("islands-r/scores.csv").columns)
    [script] = blocks("python")
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile(script, "tutorial.md", "exec"), {})  # noqa: S102 - the page's own script
    assert Path("ratings.pdf").stat().st_size > 1_000
    if shutil.which("Rscript"):
        [other] = blocks("r")
        printed_by(["Rscript", "-e", other])
        assert Path("ratings-r.pdf").is_file()
