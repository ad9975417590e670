"""Adding a model to a bank changes nothing else: scores, probes and features stay; test_tiny_five has every study."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest

import pairbank
from bank_fixtures import bank_of
from command_line import completed
from pairbank.cards.bank.beside_tables import probes_in
from pairbank.errors import BankError, StudyError
from pairbank.stats.report.report import Report
from pairbank.stats.scored_table.model_features import ModelFeatures
from tiny_models import ARCHITECTURES, saved_model

PROBED = """
title = "Probed"
methods = ["direct"]
n_resamples = 20
probe = ["corpus"]
[[corpora]]
name = "starter"
subset = "minimal-pairs"
limit = 1
"""


def _entry(folder: Path, name: str, size: float) -> str:
    return (
        f'[[models]]\nid = "{folder / name}"\nname = "Tiny {name}"\nfamily = "Tiny"\ngeneration = "1"\n'
        f'size_billions = {size}\ntype = "base"\n'
    )


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a list of two models, and one of a third, smaller than both, so that it stands before them."""
    root = tmp_path_factory.mktemp("lists")
    for name in ("gpt2", "llama", "qwen2"):
        saved_model(ARCHITECTURES[name], root / name)
    texts = {"two": _entry(root, "gpt2", 0.002) + _entry(root, "qwen2", 0.003), "third": _entry(root, "llama", 0.001)}
    for name, text in texts.items():
        (root / f"{name}.toml").write_text(text, encoding="utf-8")
    return {name: str(root / f"{name}.toml") for name in texts}


def _run(study: str, models: str, out: Path, more: Sequence[str] = ()) -> None:
    completed(["run", study, "--models", models, "--out", out, *more])


@pytest.fixture(scope="module")
def probed(lists: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("probed")
    (root / "probed.toml").write_text(PROBED, encoding="utf-8")
    with mock.patch.object(Report, "_save_figures"):  # they follow from the tables
        for name in ("two", "third"):
            _run(str(root / "probed.toml"), lists[name], root / name)
    return root


def _f1(bank: Path) -> dict[str, float]:
    return {one.model: float(one.summary.query("metric == 'f1'")["value"].iloc[0]) for one in probes_in(bank)}


@pytest.mark.ci
def test_probes_of_a_bank_survive_a_model_a_merge_and_a_copy_without_texts(
    probed: Path, lists: dict[str, str], tmp_path: Path
) -> None:
    two = _f1(probed / "two")
    assert set(two) == {"Tiny gpt2", "Tiny qwen2"}
    assert all(0 <= value <= 1 for value in two.values())
    added = Path(shutil.copytree(probed / "two", tmp_path / "added"))
    _run(str(probed / "probed.toml"), lists["third"], added)
    merged = pairbank.merge_banks(probed / "two", probed / "third", out=tmp_path / "merged")
    stripped = pairbank.strip_texts(merged, tmp_path / "stripped")
    everything = two | _f1(probed / "third")
    for bank in (added, merged, stripped):
        pairbank.check_bank(bank)
        assert _f1(bank) == everything, bank
    f1 = pd.read_csv(added / "reports" / "probed" / "neuro_models.csv").set_index("model")["f1"]
    assert f1.to_dict() == pytest.approx(everything)
    completed(["report", merged, "--out", tmp_path / "report"])  # in the order that was declared
    table = pd.read_csv(tmp_path / "report" / "neuro_models.csv")
    assert list(table["model"]) == ["Tiny llama", "Tiny gpt2", "Tiny qwen2"]
    assert "from small to large" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")


def test_other_probes_of_the_same_model_are_no_bank_to_merge(probed: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(probed / "two", tmp_path / "other"))
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    manifest["probes"]["starter"]["Tiny_gpt2"]["seed"] = 7
    (other / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(BankError, match=r"probes of 'Tiny_gpt2': seed is 0 in .*, 7 in "):
        pairbank.merge_banks(probed / "two", other, out=tmp_path / "merged")


def test_a_damaged_file_of_probes_is_found(probed: Path, tmp_path: Path) -> None:
    bank = Path(shutil.copytree(probed / "two", tmp_path / "bank"))
    path = bank / "probes" / "starter" / "layers" / "Tiny_gpt2.parquet"
    pd.read_parquet(path).assign(value=0.5).to_parquet(path)
    with pytest.raises(BankError, match=r"probes/starter/layers/Tiny_gpt2\.parquet: changed"):
        pairbank.check_bank(bank)
    path.unlink()
    with pytest.raises(BankError, match=r"probes/starter/layers/Tiny_gpt2\.parquet: missing"):
        pairbank.check_bank(bank)


def _features(**other: object) -> ModelFeatures:
    values = {"family": "A", "generation": "1", "size_billions": 1.0, "type": "base"} | other
    return ModelFeatures(**values)  # type: ignore[arg-type]


def _bank(folder: Path, *names: str, **features: ModelFeatures) -> Path:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    return bank_of(folder, items, *names, features=features)


def _declared(bank: Path) -> dict[str, object]:
    features = json.loads((bank / "manifest.json").read_text(encoding="utf-8")).get("features", {})
    return {name: entry["size_billions"] for name, entry in features.items()}


def test_what_is_declared_of_models_stays_in_the_bank_and_travels(tmp_path: Path) -> None:
    first = _bank(tmp_path / "first", "fake-1", "fake-2", **{"fake-1": _features(), "nobody": _features()})
    assert _declared(first) == {"fake-1": 1.0}
    _bank(first, "fake-3", **{"fake-3": _features(size_billions=3)})
    assert _declared(first) == {"fake-1": 1.0, "fake-3": 3}
    second = _bank(tmp_path / "second", "fake-2", **{"fake-2": _features(size_billions=2)})
    merged = pairbank.merge_banks(first, second, out=tmp_path / "merged")
    assert _declared(merged) == {"fake-1": 1.0, "fake-2": 2, "fake-3": 3}
    assert _declared(pairbank.strip_texts(merged, tmp_path / "stripped")) == _declared(merged)


def test_banks_that_contradict_each_other_about_a_model_are_not_merged(tmp_path: Path) -> None:
    one = _bank(tmp_path / "one", "fake-1", **{"fake-1": _features()})
    two = _bank(tmp_path / "two", "fake-1", **{"fake-1": _features(type="instruct")})
    with pytest.raises(BankError, match=r"model 'fake-1': type is 'base' and 'instruct'"):
        pairbank.merge_banks(one, two, out=tmp_path / "merged")
    known = _bank(tmp_path / "known", "fake-1", **{"fake-1": _features(training_tokens=1e9)})
    merged = pairbank.merge_banks(one, known, out=tmp_path / "both")
    manifest = json.loads((merged / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["features"]["fake-1"]["training_tokens"] == 1e9


@pytest.mark.ci
def test_a_run_that_contradicts_its_bank_is_refused_until_the_bank_says_otherwise(
    probed: Path, lists: dict[str, str], tmp_path: Path
) -> None:
    bank = Path(shutil.copytree(probed / "two", tmp_path / "bank"))
    other = tmp_path / "other.toml"
    other.write_text(Path(lists["two"]).read_text(encoding="utf-8").replace("0.002", "7"), encoding="utf-8")
    with pytest.raises(StudyError, match=r"size_billions is 0\.002 and 7"):
        _run(str(probed / "probed.toml"), str(other), bank)
    completed(["bank", "--out", bank, "--models", other])
    assert _declared(bank) == {"Tiny gpt2": 7, "Tiny qwen2": 0.003}
    _run(str(probed / "probed.toml"), str(other), bank)
    assert _f1(bank) == _f1(probed / "two")
