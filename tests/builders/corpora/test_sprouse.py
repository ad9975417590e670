"""Sprouse et al. 2016: its workbooks and results are read, and its island effects are those of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter

import pairbank
from corpus_files import known_manifest
from pairbank.errors import PairbankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.design import design
from pairbank.stats.report.frames import scored_frame

CELLS = [(structure, distance) for structure in ("non", "isl") for distance in ("sh", "lg")]


def english(folder: Path) -> None:
    """Write the files of the English experiment in the form of its authors, with sentences of our own."""
    with xlsxwriter.Workbook(folder / "Experiment 1 materials - English.xlsx") as book:
        for survey in "1234":
            sheet = book.add_worksheet(f"Exp {survey} Materials")
            sheet.write_row(0, 0, ["wh-movement"])
            if survey == "1":
                for row, (structure, distance) in enumerate(CELLS):
                    sheet.write_row(row + 4, 0, [f"WH.whe.{structure}.{distance}.01", f"Who {structure} {distance}? "])
                    sheet.write_row(row + 4, 5, [f"WH.whe.{structure}.{distance}.02", f"What {structure} {distance}?"])
            fillers = book.add_worksheet(f"Fillers {survey}")
            fillers.write_row(0, 0, ["item", "code", "sentence"])
            fillers.write_row(1, 0, ["x.1", "F.1.UG", f"Sleeps cat {survey}."])
    codes = [f"WH.whe.{structure}.{distance}.0{number}" for structure, distance in CELLS for number in (1, 2)]
    rows = [f"s{who},{survey}.1,{order},{order % 7 + 1},{code}" for who, survey in ((1, 1), (2, 1), (3, 2))
            for order, code in enumerate(["F.1.UG", *(codes if survey == 1 else [])])]  # fmt: skip
    rows.append("s2,1.1,99,NA,WH.whe.non.sh.01")
    header = "subject,survey,order,judgment,item"
    (folder / "Experiment 1 results - English.csv").write_text("\n".join([header, *rows]), encoding="utf-8")


def test_codes_in_the_cells_of_a_workbook_are_joined_with_the_ratings(tmp_path: Path) -> None:
    (tmp_path / "sprouse-2016").mkdir()
    english(tmp_path / "sprouse-2016")
    items = pairbank.load_corpus("sprouse-2016", subset="english", data_dir=tmp_path)
    rows = {row["item_id"].removeprefix("sprouse-2016/english/"): row for row in items}
    assert set(rows) >= {"1.F.1.UG", "2.F.1.UG", "WH.whe.isl.lg.02"}
    first = rows["WH.whe.non.sh.01"]
    assert (first["target_good"], first["flags"], first["human_n"]) == ("Who non sh?", ["repaired:spaces"], 2)
    assert (first["structure"], first["distance"], first["item_set"]) == ("non-island", "short", "01")
    assert rows["2.F.1.UG"]["target_good"] == "Sleeps cat 2."
    manifest = known_manifest(items)
    assert manifest["facts"]["design"]["by"] == ["language", "dependency", "island"]
    results = tmp_path / "sprouse-2016" / "Experiment 1 results - English.csv"
    results.write_text(results.read_text(encoding="utf-8") + "\ns9,1.1,1,3,WH.np.non.sh.01", encoding="utf-8")
    with pytest.raises(PairbankError, match=r"row 22: .* has no sentence 'WH\.np\.non\.sh\.01'"):
        pairbank.load_corpus("sprouse-2016", subset="english", data_dir=tmp_path)


PUBLISHED = {
    "en, WH, whether": 1.15, "en, WH, complex NP": 1.05, "en, WH, subject": 0.56, "en, WH, adjunct": 0.71,
    "en, RC, adjunct": 0.01, "it, RC, subject": -0.07, "it, RC, adjunct": 1.04,
}  # fmt: skip
"""Differences of differences of the mean z-scores in the published results."""
LME4 = {"en, RC, adjunct": (-0.00104, 0.15420, 7.0992), "en, WH, whether": (1.14383, 0.11514, 11.9581)}
"""Estimate, standard error and degrees of freedom of lmer with lmerTest 3.1-3, `z ~ s * d + (1 + s * d | subject) +
(1 + s * d | item)`, bobyqa."""


@pytest.mark.ci
@pytest.mark.upstream
def test_island_effects_of_the_real_files_are_those_of_the_paper_and_of_lme4(shared: Path) -> None:
    from scipy.stats import t

    items = pairbank.load_corpus("sprouse-2016", data_dir=shared / "corpora")
    assert len(items) == 384 + 288
    ratings = pairbank.load_ratings("sprouse-2016", data_dir=shared / "corpora").to_pandas()
    scored = pairbank.score(items, FakeScorer(name="a"), methods=["direct"])
    effects = design([scored_frame(scored, for_analyses=True)], Context(ratings=(ratings,))).tables["effects"]
    people = effects[(effects["model"] == "human") & (effects["term"] == "structure:distance")].set_index("design")
    assert len(people) == 16
    for name, expected in PUBLISHED.items():
        assert people.loc[name, "value"] == pytest.approx(expected, abs=0.03), name
    for name, (value, error, degrees) in LME4.items():
        row = people.loc[name]
        reach = t.isf(0.025, degrees) * error
        assert (row["value"], row["df"]) == (pytest.approx(value, abs=2e-4), pytest.approx(degrees, rel=2e-3))
        assert (row["low"], row["high"]) == pytest.approx((value - reach, value + reach), abs=1e-3)
    significant = people.index[people["p_holm"] < 0.05]
    assert {"en, RC, adjunct", "it, RC, subject"}.isdisjoint(significant)
    assert {name for name in PUBLISHED if PUBLISHED[name] > 0.6} <= set(significant)
