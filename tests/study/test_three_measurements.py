"""The study `three-measurements` on base/instruct pairs of three families: killed once, it gives the same bytes."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pandas as pd
import pytest

from command_line import completed
from pairbank.stats.report.report import Report
from tiny_models import ARCHITECTURES, tiny_model
from tiny_tokenizers import TOKENIZERS

pytestmark = pytest.mark.ci

FAMILIES = ("gpt2", "llama", "qwen2")
CORPORA = """
[[corpora]]
name = "pairs.csv"
language = "de"

[[corpora]]
name = "mine.csv"
participants = 11
"""
NOUNS = ("Hahn", "Hund", "Wolf", "Fuchs", "Frosch", "Igel", "Esel", "Spatz", "Rabe", "Dachs", "Bär", "Otter")
SENTENCES = [f"{who} {what}." for who in ("The hens", "A hen", "No hen") for what in ("cluck", "clucks", "clucking")]


def write_study(folder: Path) -> list[str]:
    shipped = (resources.files("pairbank") / "studies" / "three-measurements.toml").read_text(encoding="utf-8")
    models = []
    for nth, family in enumerate(FAMILIES):
        tokenizer = TOKENIZERS[ARCHITECTURES[family].tokenizer]()
        for seed, kind in enumerate(("base", "instruct")):
            path = folder / f"{family}-{kind}"
            tiny_model(ARCHITECTURES[family], vocab_size=len(tokenizer), seed=seed).save_pretrained(path)
            tokenizer.save_pretrained(path)
            facts = {"id": f"./{path.name}", "family": f"F{nth}", "generation": "1", "type": kind}
            models += ["[[models]]", "size_billions = 1", *(f'{key} = "{value}"' for key, value in facts.items())]
    text = [f"{who} {verb} {when}." for who in ("The hens", "Hens") for verb in ("eat", "sleep") for when in NOUNS]
    (folder / "text.txt").write_text("\n".join(text), encoding="utf-8")
    pairs = [f"Der {noun} schläft.,Der {noun} schlafen." for noun in NOUNS]
    (folder / "pairs.csv").write_text("\n".join(["good,bad", *pairs]), encoding="utf-8")
    declared = shipped.partition("[[corpora]]")[0] + 'probe_text = "text.txt"\n' + CORPORA
    (folder / "study.toml").write_text(declared + "\n".join(models))
    rows = [f"p{p},{text},{1 + (p * n + p) % 5}" for p in range(12) for n, text in enumerate(SENTENCES)]
    (folder / "mine.csv").write_text("\n".join(["participant,sentence,rating", *rows]), encoding="utf-8")
    completed(["new", "map", "mine.csv"])
    return ["run", "study.toml", "--out"]


def test_killed_once_it_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command, bank, continued = write_study(tmp_path), tmp_path / "bank", tmp_path / "continued"
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "killed"))
    running = subprocess.Popen([sys.executable, "-m", "pairbank", *command, "bank"], stderr=subprocess.DEVNULL)
    while len([*(tmp_path / "killed" / "probes").rglob("*.npy")]) < 3:  # two of the first model, one of the second
        assert running.poll() is None
        time.sleep(0.01)
    running.kill()
    assert running.wait() < 0
    assert not bank.exists()
    monkeypatch.setattr(Report, "_save_figures", lambda _self, _folder: None)  # they follow from the tables
    completed([*command, "bank"])
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "undisturbed"))
    bank.rename(continued)
    completed([*command, "bank"])
    files = [
        {path.relative_to(f): path.read_bytes() for path in f.rglob("*.*") if path.is_file()} for f in (continued, bank)
    ]
    assert [name for name in files[0].keys() | files[1].keys() if files[0].get(name) != files[1].get(name)] == []

    report = bank / "reports" / "study"
    families = pd.read_csv(report / "participants_families.csv")
    assert families[["families", "pairs", "n"]].to_numpy().tolist() == [[3, 3, 11]]
    assert pd.read_csv(report / "participants_models.csv")["n"].tolist() == [11 * len(SENTENCES)] * 6
    assert "Models that predict responses better (of 6)" in (report / "appendix" / "participants.md").read_text()
