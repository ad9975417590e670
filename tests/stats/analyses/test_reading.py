"""The section on reading times: numbers are lme4's, what cannot be used is counted, what is missing is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from in_r import in_r
from nulls.reading import joined_times, reading_tables
from pairbank.cli import app
from pairbank.errors import BankError
from pairbank.stats.analyses.reading import reading

PREDICTORS = ["word_number"] + [f"{name}{lag}" for lag in ("", "_lag1", "_lag2") for name in ("n_characters", "freq")]
SPOKEN = ["surprisal_bits", "surprisal_bits_lag1", "surprisal_bits_lag2"]


@pytest.fixture(scope="module")
def strong() -> pd.DataFrame:
    return joined_times(seed=3, effect=4.0, models=3)


@pytest.mark.ci
def test_models_are_sorted_by_quality_and_the_better_one_predicts_better(strong: pd.DataFrame) -> None:
    section = reading(reading_tables(strong))
    models = section.tables["models"].set_index("model")
    assert models["mean_surprisal"].is_monotonic_increasing
    assert models["delta_ll"].idxmax() == "m0"  # the others are the same and noise
    assert models["effect_log"]["m0"] == pytest.approx(4 * 0.018, abs=0.02)
    assert "reading slows down with surprisal" in section.answer
    assert section.figures[0].name.startswith("reading")
    section.figures[0].draw()


@pytest.mark.ci
def test_effect_and_log_likelihood_are_those_of_lme4(strong: pd.DataFrame, tmp_path: Path) -> None:
    data = strong[strong["model"] == "m0"]
    section = reading(reading_tables(data))
    used = data.dropna(subset=SPOKEN).query("100 <= RT <= 3000")
    used.assign(place=used["text_id"] + "/" + used["word_number"].astype(str)).to_csv(tmp_path / "d.csv", index=False)
    base, full = " + ".join(PREDICTORS), " + ".join(PREDICTORS + SPOKEN)
    slopes = " + ".join(SPOKEN)
    script = f"""suppressMessages(library(lme4)); options(digits = 12)
        d <- read.csv("{tmp_path / "d.csv"}"); r <- "+ (1|place) + (1|text_id)"
        for (lag in c("", "_lag1", "_lag2")) d[[paste0("freq", lag)]] <- log(d[[paste0("n_occurrences", lag)]])
        for (s in c("{slopes.replace(" + ", '","')}")) d[[s]] <- d[[s]] - mean(d[[s]])
        f <- function(x, p, reml) suppressWarnings(lmer(as.formula(paste("log(RT) ~", x, p, r)), d, REML = reml))
        m0 <- f("{base}", "+ (1|WorkerId)", FALSE); m1 <- f("{full}", "+ (1|WorkerId)", FALSE)
        m2 <- f("{full}", "+ (1 + {slopes} || WorkerId)", TRUE)
        k <- c("{slopes.replace(" + ", '","')}")
        cat(logLik(m1) - logLik(m0), sum(fixef(m2)[k]), sqrt(sum(as.matrix(vcov(m2))[k, k])))"""
    gained, effect, error = map(float, in_r("-e", script).split())
    row = section.tables["models"].iloc[0]
    typical = np.exp(np.log(used["RT"]).mean())
    assert row["delta_ll_in_sample"] == pytest.approx(gained, abs=0.02)
    assert row["effect_log"] == pytest.approx(effect, rel=5e-3)
    assert row["effect_ms"] == pytest.approx(typical * effect, rel=5e-3)
    from scipy.stats import t

    half = t.isf(0.025, row["df"]) * error * typical
    assert row["effect_high"] - row["effect_ms"] == pytest.approx(half, rel=0.02)


@pytest.mark.ci
def test_what_is_left_out_is_counted_and_models_share_their_rows(strong: pd.DataFrame) -> None:
    table = strong[strong["model"] != "m2"].copy()
    n = len(table) // 2
    for model in ("m0", "m1"):
        rows = table.index[table["model"] == model]
        table.loc[rows[50:53], "RT"] = [np.nan, 20, 9000]
    table.loc[table.index[table["model"] == "m1"][60], "flags"] = "other_word"
    table.loc[table.index[table["model"] == "m1"][70], "surprisal_bits"] = np.nan
    section = reading(reading_tables(table))
    counts = section.tables["left_out"].set_index("reason")["n"]
    assert counts["no reading time"] == 1
    assert counts["another word than the text's"] == 1
    assert section.tables["models"]["n"].tolist() == [n - counts.sum()] * 2
    assert f"{counts.sum()} of {n:,} reading times are left out" in " ".join(section.footnotes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.drop(columns="surprisal_bits"), "pairbank words TEXTS --word WORD"),
        (lambda d: d.rename(columns={"RT": "lat"}), r"which column is the time\? Type --set reading.time=COLUMN"),
        (lambda d: d.assign(subject="s"), r"which column is the participant\?"),
        (lambda d: d.drop(columns="WorkerId"), "name the column of participants"),
        (lambda d: d.assign(RT=d["RT"] / 1000), "expected reading times in milliseconds"),
        (lambda d: d.assign(RT=5000), "0 of .* reading times can be used"),
    ],
)
def test_what_is_missing_is_named(change: object, message: str, strong: pd.DataFrame) -> None:
    with pytest.raises(BankError, match=message):
        reading(reading_tables(change(strong[strong["model"] == "m0"])))  # type: ignore[operator]


def test_few_texts_have_no_held_out_gain_and_say_so() -> None:
    table = joined_times(seed=1, n_texts=3)
    section = reading(reading_tables(table))
    assert "3 texts; Δ on held-out texts needs 5" in section.text
    assert section.tables["models"]["delta_ll"].isna().all()


@pytest.mark.ci
def test_the_command_writes_a_report_of_a_joined_file(strong: pd.DataFrame, tmp_path: Path) -> None:
    strong.rename(columns={"RT": "ms"}).to_csv(tmp_path / "stories.csv", index=False)
    command = ["report", str(tmp_path / "stories.csv"), "--set", "reading.time=ms", "--out", str(tmp_path / "r")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r" / "report.md").read_text()
    assert page.startswith("# stories: Do reading times follow surprisal?")
    assert "accuracy" not in page.lower()
    assert len(pd.read_csv(tmp_path / "r" / "summary.csv")) == 3
    assert (tmp_path / "r" / "figures" / "reading_quality.png").is_file()
    assert CliRunner().invoke(app, command).exit_code == 0  # it is a report of pairbank, and is written again
