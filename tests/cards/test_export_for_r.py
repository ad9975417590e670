"""`pairbank export --to r`: tidy tables that agree with the report's numbers, and a script that runs."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import pairbank
from bank_fixtures import bank_of
from command_line import completed
from in_r import in_r
from island_designs import judgments, write
from pairbank.cards.export.folders import PEOPLE, SCORES, SCRIPT
from single_sentences import labelled, rated
from three_models import MODELS, rated_items, ratings_of

METHODS = ("direct", "meta_question_simple", "acceptable_sentence")


def exported(source: Path, out: Path) -> pd.DataFrame:
    completed(["export", str(source), "--to", "r", "--out", str(out)])
    return pd.read_csv(out / SCORES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of scored tables: three models, pairs and sentences with and without ratings, two languages."""
    root = tmp_path_factory.mktemp("scored")
    for items in (rated_items(), labelled(8, language="de"), rated(), pairbank.load_corpus("starter", limit=3)):
        for name in MODELS:
            scored = pairbank.score(items, f"fake:{name}", methods=list(METHODS))
            scored.save(root / f"{scored.corpus}-{name}.parquet")
    return root


def test_what_is_exported_has_the_accuracies_and_correlations_of_the_report(folder: Path, tmp_path: Path) -> None:
    rows = exported(folder, tmp_path)
    assert not (tmp_path / PEOPLE).exists()
    summary = pairbank.report([pairbank.read_scored(path) for path in sorted(folder.iterdir())]).summary
    whole = summary[(summary["group_by"] == "all") & (summary["group"] == "")]
    n_compared = 0
    for (corpus, model, method), part in rows.groupby(["corpus", "model", "method"]):
        cells = whole[(whole["corpus"] == corpus) & (whole["model"] == model) & (whole["method"] == method)]
        known = cells.set_index("metric")["value"]
        pairs = part[part["task"] != "sentence"].dropna(subset=["correct"])
        if len(pairs):
            name = "accuracy" if method == "direct" else "accuracy_pooled"
            assert pairs["correct"].mean() == pytest.approx(known[name], abs=1e-12)
            n_compared += 1
        of_sentences = part[part["task"] == "sentence"].dropna(subset=["correct"])
        if len(of_sentences) and "answer_accuracy" in known:
            assert of_sentences["correct"].mean() == pytest.approx(known["answer_accuracy"], abs=1e-12)
            n_compared += 1
        if method == "direct" and corpus == "rated":
            r = np.corrcoef(part["delta"], part["human_delta"])[0, 1]
            assert r == pytest.approx(known["pearson_human"], abs=1e-12)
            n_compared += 1
    assert n_compared >= 18
    texts = {text for name in ("target_good", "target_bad") for text in rated_items()[name]}
    assert not texts & set((tmp_path / SCORES).read_text(encoding="utf-8").replace("\n", ",").split(","))


def test_individual_ratings_go_along_from_a_bank(tmp_path: Path) -> None:
    items = rated_items()
    given = ratings_of(items)
    bank = bank_of(tmp_path / "bank", items, *MODELS, ratings=[given])
    exported(bank, tmp_path / "out")
    people = pd.read_csv(tmp_path / "out" / PEOPLE)
    assert len(people) == len(given)
    assert set(people["corpus"]) == {"rated"}
    assert people["value"].sum() == given["value"].sum()


@pytest.mark.ci  # R and lme4 start, and fit
def test_the_script_fits_and_its_estimates_are_those_of_the_tables(folder: Path, tmp_path: Path) -> None:
    rows = exported(folder, tmp_path)
    printed = in_r(SCRIPT, cwd=tmp_path)
    parts = dict(re.findall(r"## ([^\n]+?) \n(.*?)(?=\n## |\Z)", printed, re.DOTALL))
    assert {"Accuracy, rated", "Accuracy, labelled", "Accuracy, starter"} <= parts.keys()
    assert {"Deltas and people's ratings, rated", "Deltas and people's ratings, rated-sentences"} <= parts.keys()
    # accuracies by the model of the report, ties one half, with its standard errors
    reported = pairbank.report([pairbank.read_scored(path) for path in sorted(folder.iterdir())], analyses=["mixed"])
    [mixed] = [section for section in reported.sections if section.id == "mixed"]
    effects = mixed.tables["effects"]
    n_compared = 0
    for row in effects[(effects["outcome"] == "accuracy") & effects["low"].notna()].to_dict("records"):
        if row["term"] in ("method", "model"):
            error = (row["high"] - row["value"]) / student.isf(0.025, row["df"])
            shown = numbers(parts[f"Accuracy, {row['corpus']}"], f"{row['term']}{row['level']}")
            assert shown[:2] == pytest.approx([row["value"], error], abs=2e-3), row
            n_compared += 1
    assert n_compared >= 4
    # ratings vary over items alone, and the design is balanced: the slope is the mean of the models' r
    of_direct = rows[(rows["corpus"] == "rated") & (rows["method"] == "direct")]
    r = [np.corrcoef(part["delta"], part["human_delta"])[0, 1] for _, part in of_direct.groupby("model")]
    result = estimate(parts["Deltas and people's ratings, rated"], "people_z")
    assert result == pytest.approx(np.mean(r), abs=0.002)


def estimate(text: str, term: str) -> float:
    return numbers(text, term)[0]


def numbers(text: str, term: str) -> list[float]:
    """Return the numbers of a coefficient: its estimate, standard error and what follows."""
    [values] = re.findall(rf"^{re.escape(term)}((?:[ \t]+-?[\d.e+-]+)+)", text, re.MULTILINE)
    return [float(value) for value in values.split()]


@pytest.mark.ci
def test_a_design_goes_along_with_its_columns_and_its_model_is_that_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = write(tmp_path, list(judgments(n_sets=10)))
    for line in (
        f"score {table.name} --model fake:a -m direct --out scored.parquet",
        "bank scored.parquet --out bank",
        "export bank --to r --out r",
        "report bank --analysis design --out report",
    ):
        completed(line.split())
    rows = pd.read_csv("r/scores.csv")
    assert {"structure", "distance", "item", "type", "ItemType"} <= set(rows.columns)
    assert rows["structure"].value_counts().to_dict() == {"non-island": 20, "island": 20}
    roles = pd.read_csv("r/designs.csv").set_index("column")
    assert roles.loc["distance", "values"] == "short|long"
    assert roles.loc["type", "role"] == "filler"
    printed = in_r(SCRIPT, cwd=Path("r"))
    (path,) = Path("report").rglob("*effects*.csv")
    effects = pd.read_csv(path)
    by_model = (
        effects[effects["term"] == "structure:distance"].set_index("model")[["value", "df", "p"]].T.to_dict("list")
    )
    of_people, of_model = (printed.split(f"\n## {who}")[1] for who in ("People, islands", "a direct islands"))
    people, model = (
        [float(number) for number in re.search(r"structure.*:distance.*\)\s+(.*)", text)[1].split()[:5]]  # type: ignore[index]
        for text in (of_people.split("Fixed effects:")[1], of_model)
    )
    assert people[0] == pytest.approx(-by_model["human"][0], abs=1e-3)
    estimate, _, df, _, p = model
    assert [-estimate, df, p] == pytest.approx(by_model["a"], abs=1e-3)
