"""The study `published`: real results in one bank; what their papers print comes out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.cli import app
from pairbank.errors import BankError, StudyError
from pairbank.scoring.cut import filled_alike
from pairbank.scoring.scored import Scored
from pairbank.study.declaration import load_study
from pairbank.study.imports import Sources, imported

SENTENCES = ["The hen clucks", "The hen cluck", "I fed an old goose", "I fed old an goose"]
STUDY = """title = "Two sources"
analyses = ["raters"]
[[imports]]
profile = "kauf-2023"
[[imports]]
profile = "hu-2024-dgl-sentences"
"""


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Two sources in the form in which they are published, of sentences of our own."""
    dgl = tmp_path / "copies" / "hu-2024-dgl"
    dgl.mkdir(parents=True)
    rows = [
        {"phenomenon": "Order", "test_item": f"TS {n}", "condition": condition, "sentence": text}
        for n, (text, condition) in enumerate(zip(SENTENCES, ["grammatical", "ungrammatical"] * 2, strict=True))
    ]
    stimuli = pd.DataFrame(rows)
    stimuli.to_csv(dgl / "stimuli.csv", index=False)
    chat = {"original_prompt_gpt3.5_turbo": list("CCCN"), "original_prompt_gpt4": list("CNCN")}
    stimuli.assign(**chat).to_csv(dgl / "prompting_gpt-3.5-turbo_gpt-4.csv", index=False)
    sampled = [{**row, "model": "chatGPT", "repetition": n, "accuracy": int(n < 7)} for n in range(10) for row in rows]
    pd.DataFrame(sampled).to_csv(dgl / "dgl_models.csv", index=False)
    judged = [
        {**row, "participant": f"x{n}", "accuracy": int((n + k) % 4 > 0)}
        for n in range(6)
        for k, row in enumerate(rows)
    ]
    pd.DataFrame(judged).to_csv(dgl / "dgl_people.csv", index=False)
    kauf = tmp_path / "copies" / "kauf-2023"
    for name, systems in (("Big", ["gpt-x.sentence-LL", "bert-y.sentence-PLL"]), ("Small", ["gpt-x.sentence-LL"])):
        (kauf / name).mkdir(parents=True)
        pairs = [(f"The {one} saw the {other} {name}.", f"The {other} saw the {one} {name}.") for one, other in ANIMALS]
        items = [
            {"ItemNum": n, "Sentence": text, "Plausibility": side, "Voice": "active", "TrialType": "AI"}
            for n, pair in enumerate(pairs)
            for text, side in zip(pair, ("Plausible", "Implausible"), strict=True)
        ]
        pd.DataFrame(items).to_csv(kauf / f"{name}_SentenceSet.csv", index=False)
        texts = [text for pair in pairs for text in pair]
        said = [
            {"rater": n, "Sentence": text, "Score": 6 - 3 * (k % 2)} for n in range(4) for k, text in enumerate(texts)
        ]
        pd.DataFrame(said).to_csv(kauf / f"{name}_ratings.csv", index=False)
        for system in systems:
            lines = [f"{k}\t{text}\t{-20.0 - k % 2 - k / 10}" for k, text in enumerate(texts)]
            (kauf / name / f"{name.lower()}.{system}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "copies"


ANIMALS = [("cat", "mouse"), ("owl", "vole"), ("fox", "hen"), ("dog", "bone"), ("cow", "hay"), ("bee", "rose")]


@pytest.mark.ci
def test_systems_of_unlike_methods_and_items_stand_in_one_bank(copies: Path, tmp_path: Path) -> None:
    study = tmp_path / "two.toml"
    study.write_text(STUDY, encoding="utf-8")
    bank = tmp_path / "bank"
    completed(["run", str(study), "--data-dir", str(copies), "--out", str(bank), "--quiet"])
    pairbank.check_bank(bank)
    gpt, bert = (
        pairbank.read_scored(bank / "scores" / "kauf-2023" / f"{name}.parquet") for name in ("gpt_x", "bert_y")
    )
    assert gpt.methods == bert.methods
    assert set(gpt.methods) == {"sentence_ll", "sentence_pll"}
    assert len(gpt) == len(bert) == 12
    frame = bert.to_pandas()
    assert frame["sentence_ll_delta"].isna().all()
    assert frame["sentence_pll_delta"].notna().sum() == 6  # of the set that it was run on
    assert bert.signature["n_by_flag"]["sentence_ll"] == {"not_imported": 12}
    assert bert.signature["filled_from"] == {"n_items": 6, "methods": ["sentence_pll"]}
    text = (bank / "reports" / "two" / "report.md").read_text(encoding="utf-8")
    assert "bert-y" in text
    assert "in another form" in text  # the copies are not the published files, and the report says so
    ratings = pd.read_parquet(bank / "ratings" / "hu-2024-dgl-sentences.parquet")
    assert not ratings["rater"].astype(str).str.contains("x").any()
    dry = CliRunner().invoke(app, ["run", str(study), "--data-dir", str(copies), "--out", str(bank), "--dry-run"])
    assert "kauf-2023: read from the given folder" in " ".join(dry.output.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('title = "x"\n', "no .*corpora.*imports"),
        (STUDY + '[[corpora]]\nname = "starter"\n', "both .*corpora.* and .*imports"),
        (STUDY.replace("kauf-2023", "hu-2024-dgl-sentences"), "'hu-2024-dgl-sentences' is imported twice"),
        (STUDY.replace('profile = "kauf-2023"', 'profil = "kauf-2023"'), "did you mean 'profile'"),
    ],
)
def test_a_study_that_cannot_be_imported_is_refused(copies: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=message):
        imported(load_study(str(path)), data_dir=copies)


def test_models_and_limits_mean_nothing_to_published_results(tmp_path: Path) -> None:
    made = CliRunner().invoke(
        app, ["run", "published", "--model", "demo", "--limit", "3", "--out", str(tmp_path / "b")]
    )
    assert made.exit_code == 2
    assert "leave out --model, --limit" in " ".join(made.output.replace("│", " ").split())


def test_one_name_for_two_wordings_or_other_texts_is_refused(copies: Path) -> None:
    result = pairbank.import_logs(copies / "kauf-2023", "kauf-2023").tables
    one, other = sorted(result, key=len, reverse=True)
    methods = {"sentence_ll": {**one.signature["methods"]["sentence_ll"], "sha256": "0" * 64}}
    renamed = other.dataset.rename_columns(
        {name: name.replace("_pll_", "_ll_") for name in other.column_names if "_pll_" in name}
    )
    wrong = Scored.of(renamed, {**other.signature, "methods": methods})
    with pytest.raises(BankError, match="sentence_ll is not the same method in all tables"):
        filled_alike([one, wrong])
    changed = other.dataset.map(lambda row: {"target_good": row["target_good"] + "!"})
    with pytest.raises(BankError, match="has other texts there"):
        filled_alike([one, Scored.of(changed, other.signature)])


@pytest.fixture(scope="module")
def real(shared: Path) -> Sources:
    if not (shared / "published").is_dir():
        pytest.skip("the published files are not here")
    return imported(load_study("published"), data_dir=shared / "published")


def of(real: Sources, corpus: str, model: str) -> pd.DataFrame:
    (table,) = (one for one in real.tables if (one.corpus, one.model) == (corpus, model))
    return table.to_pandas()


@pytest.mark.slow
def test_the_published_numbers_come_out(real: Sources) -> None:
    """One test, so that the sources are read once."""
    n_by_corpus = pd.Series([table.corpus for table in real.tables]).value_counts().to_dict()
    assert n_by_corpus.pop("hu-2020-syntaxgym", 46) == 46  # where its files are at hand
    assert n_by_corpus == {
        "qfrblimp": 85,
        "hu-frank-2024-lambada": 22,
        "hu-frank-2024-syntax": 13,
        "multiblimp": 13,
        "kauf-2023": 7,
        "hu-2024-dgl-sentences": 5,
        "hu-2024-dgl": 2,
    }
    _training_time_of_hu_and_frank(real)
    _accuracies_of_qfrblimp(real)
    _accuracies_of_multiblimp(real)


def _training_time_of_hu_and_frank(real: Sources) -> None:
    """Hu & Frank 2024, lambada_lmer_training_time.txt: lm(logprob ~ log10(step) * evalMethod)."""
    rows = []
    for table in real.tables:
        if table.corpus == "hu-frank-2024-lambada" and "step" in table.signature["model"]:
            frame = table.to_pandas()
            step = np.log10(table.signature["model"]["step"])
            rows += [(step, 0.0, value) for value in frame["logprob_minicons_good"]]
            rows += [(step, 1.0, value) for value in frame["hf24_lambada_good"]]
    step, meta, value = np.array(rows).T
    assert value.size == 103_060
    design = np.column_stack([np.ones_like(step), step, meta, step * meta])
    result, *_ = np.linalg.lstsq(design, value, rcond=None)
    assert result == pytest.approx([-7.02057, 0.99472, -7.63640, 0.68270], abs=5e-6)
    residual = value - design @ result
    assert np.sqrt(residual @ residual / (value.size - 4)) == pytest.approx(2.474, abs=5e-4)
    assert 1 - residual.var() / value.var() == pytest.approx(0.436, abs=5e-4)


def _accuracies_of_qfrblimp(real: Sources) -> None:
    """Beauchemin et al. 2025, analysis/results/comparaison_intersection_clean.csv, in percent."""
    printed = {
        "almanach/camembert-base": 57.07,
        "almanach/camembert-large": 53.89,
        "dbmdz/bert-base-french-europeana-cased": 61.56,
        "FacebookAI/xlm-roberta-base": 50.94,
    }
    for model, percent in printed.items():
        share = (of(real, "qfrblimp", model)["preferred_delta"] > 0).mean()
        assert round(100 * share, 2) == percent, model


def _accuracies_of_multiblimp(real: Sources) -> None:
    """multiblimp_results.csv of the repository: accuracies of xiulinyang/GPT-EN-50k by step."""
    printed = {0: 0.6311688311688312, 100: 0.6779220779220779, 200: 0.7467532467532467}
    for step, share in printed.items():
        delta = of(real, "multiblimp", f"EN_50k@step-{step}")["logprob_minicons_delta"]
        assert (delta > 0).mean() == pytest.approx(share, abs=1e-12)
