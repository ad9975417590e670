"""The studies of the five papers run end to end, small, with a tiny random model: build, score, report, bank."""

from dataclasses import replace
from pathlib import Path

import datasets
import pytest

import pairbank
from pairbank.scoring.models.causal import CausalScorer
from pairbank.study.declaration import limited, load_study, with_corpora, with_minimalness
from study_runs import run_study
from tiny_models import ARCHITECTURES, saved_model

STUDIES = {
    "hu-levy-2023": ((), {"prompting", "agreement_summary"}),
    "hu-levy-2023-mandarin": ((), {"prompting", "agreement_summary"}),
    "xcomps": (("starter:concepts",), {"languages", "neuro"}),
    "introspection": ((), {"introspection", "agreement_summary"}),
    "introspection-2": ((), {"introspection", "agreement_summary"}),
    "ivanova-2024": (("starter:contexts",), {"choice_likert"}),
    "ewok-plausibility": (("starter:contexts",), {"choice_likert"}),
    "grammaticality": (("scamp", "cola:in_domain_train", "li", "sling"), {"grammaticality", "people"}),
    "syntaxgym": (("syntaxgym-suites:cleft",), {"suites"}),
}

VARIANTS = ("hu-levy-2023-mandarin", "introspection-2", "ewok-plausibility")
"""Of a study that runs in CI, with other corpora or wordings."""
LIMITS = {"syntaxgym": 8}
"""An item of a suite has several sentences."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CausalScorer:
    folder = saved_model(ARCHITECTURES["llama"], tmp_path_factory.mktemp("model") / "tiny-llama")
    loaded = pairbank.load_model(str(folder))
    assert isinstance(loaded, CausalScorer)
    return loaded


@pytest.mark.ci
@pytest.mark.upstream
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in VARIANTS)) for name in STUDIES]
)
def test_a_study_runs_from_corpora_to_bank(name: str, model: CausalScorer, shared: Path, tmp_path: Path) -> None:
    corpora, sections = STUDIES[name]
    study = replace(limited(load_study(name), 1), n_resamples=20)
    if name == "grammaticality":  # the paper's embedding models are on the Hub
        study = with_minimalness(study, "default")
    if corpora:
        study = limited(with_corpora(study, corpora), LIMITS.get(name, 1))
    done: dict[str, tuple[float, int]] = {}
    folder, made = run_study(
        study,
        [model],
        tmp_path / "bank",
        data_dir=shared / "corpora",
        progress=lambda task, _model: lambda n_done, n_total: done.update({task: (n_done, n_total)}),
    )
    assert {task: counts for task, counts in done.items() if counts[0] != counts[1]} == {}
    kinds = {"scoring", "hidden", "probes"} if study.probe else {"scoring"}
    assert {task.split()[0] for task in done} == kinds
    assert {section.id for section in made.sections} == sections
    page = (folder / "reports" / name / "report.md").read_text()
    for note in made.notes:
        assert note in page
    for section in made.sections:
        assert f"## {section.title}" in page
    for figure in made.figures:
        assert (folder / "reports" / name / "figures" / f"{figure.name}.svg").is_file()
    assert set(made.summary["method"]) - {"human"} <= set(study.methods)
    for corpus in set(made.summary["corpus"]):
        rows = datasets.load_dataset(str(folder), f"{corpus}_scored", split=model.info.slug)
        assert all(f"{method}_flags" in rows.column_names for method in study.methods)
