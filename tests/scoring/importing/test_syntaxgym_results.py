"""SyntaxGym's item-level results: an item of several sentences is one row; the repository's own figures come out."""

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.scores import import_logs
from pairbank.scoring.scored import Scored

PROFILE = "hu-2020-syntaxgym"
SENTENCES = {
    "match_sing": ["The goose", "near the hens", "is loud", "."],
    "mismatch_sing": ["The goose", "near the hens", "are loud", "."],
    "match_plural": ["The geese", "near the hen", "are loud", "."],
    "mismatch_plural": ["The geese", "near the hen", "is loud", "."],
}


def suite(n_items: int, conditions: Sequence[str]) -> str:
    """Return a suite in the repository's form, of sentences of our own."""
    items = [
        {
            "item_number": n + 1,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [{"region_number": k + 1, "content": text} for k, text in enumerate(SENTENCES[name])],
                }
                for name in conditions
            ],
        }
        for n in range(n_items)
    ]
    return json.dumps({"items": items})


def results(folder: Path, name: str, runs: dict[str, str], suite_name: str = "number_prep") -> None:
    """Write results as the repository has them: a run -> `+` or `-` an item."""
    rows = [
        {"model": run, "suite": suite_name, "item": item, "correct": sign == "+"}
        for run, signs in runs.items()
        for item, sign in enumerate(signs)
    ]
    pd.DataFrame(rows).to_csv(folder / f"syntaxgym_results_{name}.csv", index=False)


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Results of three systems on one suite, and one that the paper leaves out."""
    folder = tmp_path / PROFILE
    for name in ("json", "sg_results"):
        (folder / name).mkdir(parents=True)
    (folder / "json" / "number_prep.json").write_text(suite(3, list(SENTENCES)), encoding="utf-8")
    (folder / "json" / "fgd-embed3.json").write_text(suite(1, list(SENTENCES)), encoding="utf-8")
    runs = folder / "sg_results"
    results(runs, "ngram_bllip-sm", {"ngram_bllip-sm_1": "+--", "ngram_bllip-sm_2": "++-", "ngram_bllip-sm_3": "+--"})
    results(runs, "rnng_bllip-lg", {"rnng_bllip-lg_7": "++-", "rnng_bllip-lg_8": "+-+"})
    results(runs, "gpt-2-xl-pretrained_", {"gpt-2-xl-pretrained__0": "+++"})
    results(runs, "grnn_", {"grnn__0": "-"}, "fgd-embed3")
    return folder


def held(table: Scored) -> list[float]:
    return [float(value) for value in table.dataset["predictions_hold_good"][:]]


def test_an_item_is_one_row_and_seeds_are_systems_but_those_of_ties(copies: Path) -> None:
    result = import_logs([copies], PROFILE)
    by_model = {table.model: table for table in result.tables}
    assert {name: held(table) for name, table in by_model.items()} == {
        "GPT-2-XL (pretrained)": [1, 1, 1],
        "RNNG BLLIP-LG #7": [1, 1, 0],
        "RNNG BLLIP-LG #8": [1, 0, 1],
        "n-gram BLLIP-SM": [1, 0, 0],  # the second item: one run of three
    }
    row = by_model["RNNG BLLIP-LG #7"].dataset[0]
    assert row["target_good"] == "The goose near the hens is loud. / The geese near the hen are loud."
    assert row["target_bad"] == "The goose near the hens are loud. / The geese near the hen is loud."
    assert (row["paradigm"], row["phenomenon"], row["pair_id"]) == ("number_prep", "agreement", "1")
    definition = by_model["RNNG BLLIP-LG #7"].signature["methods"]["predictions_hold"]
    assert definition["layout"]["of_probability"]
    assert "all predictions of the item's suite hold" in definition["imported"]["label"]
    (left_out,) = result.left_out
    assert str(left_out) == (
        "syntaxgym_results_grnn_.csv: 1 row(s) not imported: of the suites fgd-embed3, fgd-embed4, nn-nv-rpl, which "
        "the paper leaves out"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rnng_bllip-lg_7,number_prep,0,True", "rnng_bllip-lg_7,number_prep,0,yes", "row 2: correct is 'yes'"),
        ("rnng_bllip-lg_7,number_prep,1,", "rnng_bllip-lg_7,number_prep,0,", "once per model and item"),
        ("rnng_bllip-lg_7,number_prep,2,", "rnng_bllip-lg_7,number_prep,9,", "models have different items"),
        ("rnng_bllip-lg_", "tree_bllip-lg_", "model is 'tree_bllip-lg_7'"),
        ("correct", "is_right", "expected model, suite, item, correct"),
        ("number_prep", "number_src", "number_src has no item 0"),
    ],
)
def test_results_of_another_form_are_refused(copies: Path, old: str, new: str, message: str) -> None:
    path = copies / "sg_results" / "syntaxgym_results_rnng_bllip-lg.csv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ScoreImportError, match=message):
        import_logs([copies], PROFILE)


@pytest.mark.ci
@pytest.mark.upstream
def test_the_repositorys_own_figures_come_out(shared: Path) -> None:
    folder = shared / "published" / PROFILE
    if not folder.is_dir():
        pytest.skip(f"no copies in {folder}")
    scores = {}
    for table in import_logs([folder], PROFILE).tables:
        frame = pd.DataFrame({name: table.dataset[name][:] for name in ("subset", "phenomenon")})
        by_suite = frame.assign(held=held(table)).groupby(["phenomenon", "subset"])["held"].mean()
        scores[table.model] = by_suite
    assert (len(scores), {len(by_suite) for by_suite in scores.values()}) == (46, {31})
    # notebooks/main.ipynb, cell 17: SG score a circuit of GPT-2 trained on BLLIP-LG
    circuits = scores["GPT-2 BLLIP-LG #1581955288"].groupby("phenomenon").mean().round(6)
    assert circuits.drop("long_distance_dependencies").to_dict() == {
        "agreement": 0.701754,
        "center_embedding": 0.910714,
        "garden_path_effects": 0.855159,
        "gross_syntactic_state": 0.967391,
        "licensing": 0.586842,
    }
    # cell 18: the same model's suites
    suites = scores["GPT-2 BLLIP-LG #1581955288"].droplevel("phenomenon").round(6)
    assert suites[["center_embed", "center_embed_mod", "cleft", "cleft_modifier", "mvrr"]].to_list() == [
        0.892857,
        0.928571,
        1.0,
        0.775,
        0.714286,
    ]
    # section 4.1: the best model, GPT-2-XL, scores over twice as high as the worst, the LSTM
    overall = {name: by_suite.mean() for name, by_suite in scores.items()}
    kinds = pd.Series(overall).groupby([name.split(" ")[0] for name in overall]).mean()
    neural = kinds.drop("n-gram")
    assert (neural.idxmax(), neural.idxmin()) == ("GPT-2-XL", "LSTM")
    assert neural.max() > 2 * neural.min()
