"""Means and ranges of agreement over corpora and models, against the published figures they stand for."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.agreement_summary import agreement_ranges, mean_agreement
from pairbank.stats.analyses.agreement_summary import agreement_summary as section
from scored_frames import scored_frame
from shared_files import present

METHODS = ("meta_question_simple", "meta_instruct", "meta_question_complex")
# Hu & Levy 2023, analysis.ipynb: Pearson r of each model and corpus, two digits, columns as METHODS. Where only the
# mean over the corpora is published (the OpenAI models in experiments 1, 2 and 3a), it stands for one corpus.
PER_CORPUS: dict[str, dict[tuple[str, str], tuple[float, float, float]]] = {
    "1": {
        ("SM", "p18"): (0.81, 0.82, 0.76),
        ("SM", "news"): (0.91, 0.92, 0.81),
        ("LG", "p18"): (0.48, 0.44, 0.59),
        ("LG", "news"): (0.71, 0.67, 0.58),
        ("XL", "p18"): (0.44, 0.34, 0.57),
        ("XL", "news"): (0.72, 0.66, 0.65),
        ("curie", "both"): (0.95, 0.95, 0.43),
        ("d002", "both"): (0.90, 0.89, 0.72),
        ("d003", "both"): (0.87, 0.88, 0.66),
    },
    "2": {
        ("SM", "dtfit"): (0.75, 0.78, 0.52),
        ("LG", "dtfit"): (0.45, 0.43, 0.21),
        ("XL", "dtfit"): (0.60, 0.62, 0.44),
        ("curie", "dtfit"): (0.40, 0.38, 0.06),
        ("d002", "dtfit"): (0.43, 0.44, 0.55),
        ("d003", "dtfit"): (0.39, 0.34, 0.50),
    },
    "3a": {
        ("SM", "syntaxgym"): (0.07, 0.17, 0.19),
        ("SM", "blimp"): (0.08, 0.00, -0.02),
        ("LG", "syntaxgym"): (0.38, 0.35, 0.28),
        ("LG", "blimp"): (0.10, 0.19, 0.22),
        ("XL", "syntaxgym"): (0.45, 0.42, 0.41),
        ("XL", "blimp"): (0.30, 0.31, 0.39),
        ("curie", "both"): (-0.02, -0.08, 0.04),
        ("d002", "both"): (0.30, 0.29, 0.23),
        ("d003", "both"): (0.25, 0.27, 0.19),
    },
    "3b": {
        ("SM", "syntaxgym"): (-0.44, -0.41, -0.47),
        ("SM", "blimp"): (-0.21, -0.05, -0.05),
        ("LG", "syntaxgym"): (0.53, 0.57, 0.56),
        ("LG", "blimp"): (0.37, 0.40, 0.42),
        ("XL", "syntaxgym"): (0.46, 0.47, 0.47),
        ("XL", "blimp"): (0.42, 0.42, 0.41),
        ("curie", "syntaxgym"): (0.02, -0.11, -0.27),
        ("curie", "blimp"): (-0.02, -0.01, -0.13),
        ("d002", "syntaxgym"): (0.52, 0.52, 0.52),
        ("d002", "blimp"): (0.30, 0.29, 0.32),
        ("d003", "syntaxgym"): (0.48, 0.45, 0.48),
        ("d003", "blimp"): (0.35, 0.33, 0.38),
    },
}
# Figure 6 (means over corpora) and figure 3 (then over models)
HEAT_MAPS = {
    "1": {"SM": (0.86, 0.87, 0.79), "LG": (0.59, 0.56, 0.58), "XL": (0.58, 0.50, 0.61)},
    "3a": {"SM": (0.08, 0.09, 0.09), "LG": (0.24, 0.27, 0.25), "XL": (0.38, 0.37, 0.40)},
    "3b": {
        "SM": (-0.32, -0.23, -0.26),
        "LG": (0.45, 0.48, 0.49),
        "XL": (0.44, 0.45, 0.44),
        "curie": (0.00, -0.06, -0.20),
        "d002": (0.41, 0.41, 0.42),
        "d003": (0.42, 0.39, 0.43),
    },
}
FIGURE_3 = {"1": (0.79, 0.78, 0.63), "2": (0.50, 0.50, 0.38), "3a": (0.20, 0.20, 0.20), "3b": (0.23, 0.24, 0.22)}


def long(rows: list[tuple[str, str, str, float]], metric: str = "pearson") -> pd.DataFrame:
    """A long summary with one row a model, corpus, method and value."""
    names = ["model", "corpus", "method", "value"]
    shared = {"group_by": "all", "group": "", "versus": "direct", "metric": metric}
    return pd.DataFrame(rows, columns=names).assign(**shared)


@pytest.mark.parametrize("experiment", PER_CORPUS)
def test_the_means_of_hu_and_levy_2023(experiment: str) -> None:
    rows = [
        (model, corpus, method, r)
        for (model, corpus), values in PER_CORPUS[experiment].items()
        for method, r in zip(METHODS, values, strict=True)
    ]
    means = mean_agreement(long(rows)).set_index(["model", "method"])["value"]
    # inputs and printed means are rounded to two digits each
    for model, values in HEAT_MAPS.get(experiment, {}).items():
        assert means[model][list(METHODS)].to_numpy() == pytest.approx(np.array(values), abs=0.0101), model
    assert means["all models"][list(METHODS)].to_numpy() == pytest.approx(np.array(FIGURE_3[experiment]), abs=0.0101)


def test_a_model_counts_once_however_many_corpora_it_has() -> None:
    rows = [("m", "a", "meta", 0.0), ("m", "b", "meta", 0.0), ("n", "a", "meta", 0.9)]
    total = mean_agreement(long(rows)).iloc[-1]
    assert (total["model"], total["value"], total["n_corpora"], total["n_models"]) == ("all models", 0.45, 2, 2)


def test_undefined_numbers_are_left_out_and_counted_and_give_a_reason() -> None:
    rows = [("m", "a", "meta", math.nan), ("m", "b", "meta", 0.4), ("n", "a", "meta", math.nan)]
    by_model = mean_agreement(long(rows)).set_index("model")
    assert by_model["value"]["m"] == by_model["value"]["all models"] == 0.4
    assert by_model["n_undefined"].to_dict() == {"m": 1, "n": 1, "all models": 2}
    assert math.isnan(by_model["value"]["n"])
    assert by_model["reason"]["n"] == "undefined on every corpus"
    nowhere = agreement_ranges(long([("n", "a", "meta", math.nan)], metric="kappa"))
    assert nowhere["mean"].isna().all()
    assert set(nowhere["reason"]) == {"kappa is undefined everywhere"}


def test_a_cell_that_stands_twice_is_refused() -> None:
    table = long([("m", "a", "meta", 0.5)])
    with pytest.raises(BankError, match="meta of m on a occurs twice"):
        mean_agreement(pd.concat([table, table]))


@pytest.mark.upstream
def test_the_kappas_of_song_2025_figure_5a(shared: Path) -> None:
    path = present(shared / "published" / "song_2025_fig5a_kappa.csv")
    cells = pd.read_csv(path).melt(id_vars="model", var_name="method").assign(corpus="exp1")
    rows = list(cells[["model", "corpus", "method", "value"]].itertuples(index=False, name=None))
    result = agreement_ranges(long(rows, metric="kappa")).set_index("method")
    assert len(result) == 8 + 1
    total = result.loc["all methods"]
    # mean kappa .2494 over 168 cells, between .076 and .380; "around 0.25" in section 3.2.1
    assert total["n"] == 168
    assert total["mean"] == pytest.approx(0.2494, abs=5e-5)
    assert (round(total["min"], 3), round(total["max"], 2)) == (0.076, 0.38)
    assert (result["n"].drop("all methods") == 21).all()


def test_the_section_has_the_means_and_ranges_of_its_tables() -> None:
    rng = np.random.default_rng(0)
    tables, expected = [], {}
    for model in ("m", "n"):
        for corpus in ("a", "b"):
            direct, asked = rng.normal(size=(2, 50))
            tables.append(scored_frame(model, direct, {"meta": asked + direct}, corpus=corpus))
            expected[model, corpus] = np.corrcoef(direct, asked + direct)[0, 1]
    result = section(tables)
    means = result.tables["mean_r"].set_index("model")["value"]
    assert means["m"] == pytest.approx((expected["m", "a"] + expected["m", "b"]) / 2)
    assert means["all models"] == pytest.approx(sum(expected.values()) / 4)
    kappas = result.tables["kappa_range"].iloc[-1]
    assert (kappas["method"], kappas["kappas"]) == ("all methods", 4)
    assert f"meta: mean r = {means['all models']:.2f} (2 models, 2 corpora)" in result.text
    (ranges,) = result.tables["ranges"].to_dict("records")
    ends = f"{min(expected.values()):.2f} to {max(expected.values()):.2f}"
    assert (ranges["Pearson's r"], ranges["n (r)"]) == (f"{means['all models']:.2f} ({ends})", "4 of 4")
    with pytest.raises(BankError, match="no table is scored both directly and with a prompt"):
        section([scored_frame("m", np.ones(3), {})])
    flat = section([scored_frame("m", np.ones(9), {"meta": np.ones(9)})])
    assert flat.tables["mean_r"]["value"].isna().all()
    assert flat.text.startswith("No correlation is defined")


def test_the_answer_says_how_many_intervals_exclude_0_beside_what_chance_gives() -> None:
    rng = np.random.default_rng(3)
    tables, n_models = [], 12
    for nth in range(n_models):
        answers = {name: rng.normal(size=90) for name in METHODS}
        tables.append(scored_frame(f"m{nth}", rng.normal(size=90), answers))
    said = section(tables).answer
    away = [int(result) for result in re.findall(r"(\d+) of 36 intervals exclude 0, 1\.8 expected by chance", said)]
    assert len(away) == 2, said
    assert all(count <= 6 for count in away), "answers that follow nothing"
    assert "1 corpus, n = 90; " in said

    followers = [scored_frame(f"m{nth}", x := rng.normal(size=90), {"meta": x + 1.0}) for nth in range(3)]
    assert "3 of 3 intervals exclude 0, 0.1 expected by chance" in section(followers).answer
