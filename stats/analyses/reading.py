"""Do reading times follow surprisal? Linear mixed models of what `pairbank words … --join` wrote.

Log reading times have random participants, words and texts; the baseline has length, frequency and place of the word,
and length and frequency of the words before, the full model their surprisal as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.scoring.api.names import PARTICIPANT_COLUMNS
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, analysis
from pairbank.stats.figures.scatters import scatter
from pairbank.stats.measures.families import crossed_mean
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.measures.random_slopes import Grouping, MixedFit, fit_slopes
from pairbank.stats.scored_table.method_scores import ScoredFrame

TIME = re.compile(r"rts?|reading[ _]?times?([ _]?ms)?|rt_?ms", re.IGNORECASE)
SURPRISAL, LAG = "surprisal_bits", re.compile(r"surprisal_bits_lag(\d+)")
LEAST_TEXTS, MOST_FOLDS, LEAST_TIMES = 5, 10, 50
ALPHA = 0.05
FIRST_PAGE = (
    "model", "mean_surprisal", "delta_ll", "low", "high", "effect_ms", "effect_low", "effect_high", "p_holm", "reason",
)  # fmt: skip
LEFT_OUT = (
    "no reading time",
    "faster than the limit",
    "slower than the limit",
    "another word than the text's",
    "no surprisal of the word or the words before",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observations:
    """Reading times of all participants, and what is random; the rows that every model has."""

    log_times: FloatArray
    baseline: FloatArray
    """Predictors without surprisal, shape (n, predictors), centred and scaled."""
    names: list[str]
    terms: dict[str, IntArray]
    """Level of each observation: `participant`, `word`, `text`; those that have several and repeat."""
    texts: IntArray
    surprisal: dict[str, FloatArray]
    """By model, in bits: of the word and those before, shape (n, 1 + lags)."""
    words: IntArray
    """Number of the word, shape (n,)."""
    left_out: dict[str, int]

    @property
    def n_texts(self) -> int:
        return int(self.texts.max()) + 1

    @property
    def n_participants(self) -> int:
        """1 where they are not random."""
        return int(self.terms.get("participant", np.zeros(1, dtype=int)).max()) + 1

    def random(self, slopes: FloatArray | None = None, *, rows: BoolArray | None = None) -> list[Grouping]:
        """Return the random terms, participants with slopes where some are given; of some rows alone on request."""
        made = []
        for name, levels in (self.terms or {"text": self.texts}).items():
            codes = levels if rows is None else np.unique(levels[rows], return_inverse=True)[1]
            columns = np.ones((len(codes), 1))
            if slopes is not None and name == "participant":
                columns = np.column_stack([columns, slopes])
            terms = ("1", *(f"{SURPRISAL}_{nth}" for nth in range(1, columns.shape[1])))
            made.append(Grouping(name=name, codes=codes, columns=columns, terms=terms, correlated=False))
        return made


@analysis(title="Do reading times follow surprisal?")
def reading(
    tables: Sequence[ScoredFrame],
    _context: Context,
    *,
    time: str = "",
    participant: str = "",
    text: str = "text_id",
    frequency: str = "",
    fastest: float = 100.0,
    slowest: float = 3000.0,
) -> Result:
    """Return the effect of surprisal on log reading times, and Δ log-likelihood, by model.

    Args:
        tables: One model's rows each, with columns of `words` and of the reading times.
        time: Column of the reading time in ms; found by its name where empty.
        participant: Column of the participant; found by its name where empty.
        text: Column whose texts belong together (an item with its conditions).
        frequency: Column of the word's log frequency; empty = log of how often it occurs in the texts.
        fastest: Shorter times are left out, in ms.
        slowest: Longer times are left out, in ms.
    """
    frames = {table.model: table.frame.reset_index(drop=True) for table in tables}
    data = _observations(
        frames, _columns(next(iter(frames.values())), time, participant, text), frequency, limits=(fastest, slowest)
    )
    base = fit_slopes(data.log_times, data.baseline, data.random(), reml=False)
    held_out = _held_out(data, data.baseline, base)
    models, effects = zip(*(_of_model(model, data, base, held_out) for model in data.surprisal), strict=True)
    shown = pd.DataFrame(models).sort_values("mean_surprisal", kind="stable", ignore_index=True)
    shown["p_holm"] = corrected(shown["p"]).holm
    left_out = pd.DataFrame([{"reason": why, "n": n} for why, n in data.left_out.items() if n], columns=["reason", "n"])
    quality = shown[shown["delta_ll"].notna()]
    labels: dict[str, Any] = {
        "x_label": "mean surprisal (bits per word)",
        "y_label": "Δ log-likelihood per 1,000 words read",
    }
    draw = partial(scatter, quality, x="mean_surprisal", y="delta_ll", series="model", zero=True, **labels)
    facts = {
        "n": len(data.log_times),
        "n_all": len(data.log_times) + sum(data.left_out.values()),
        "n_texts": data.n_texts,
        "n_words": int(np.unique(data.words).size),
        "n_participants": data.n_participants,
        "n_lags": next(iter(data.surprisal.values())).shape[1] - 1,
        "random": list(data.terms),
        "baseline": data.names[1:],
    } | {"fastest": fastest, "slowest": slowest, "frequency": frequency}
    return Result(
        tables={"models": shown, "effects": pd.concat(effects, ignore_index=True), "left_out": left_out},
        columns=FIRST_PAGE,
        values=facts,
        charts=[Chart(name="quality", caption="quality", values=facts, draw=draw)] if len(quality) else (),
    )


def _columns(frame: pd.DataFrame, time: str, participant: str, text: str) -> tuple[str, str, str]:
    """Return the columns of time, participant ("" = none) and text."""
    if SURPRISAL not in frame or "word_number" not in frame:
        raise BankError(
            "no surprisal beside reading times; make the table first: pairbank words TEXTS --word WORD --id ITEM "
            "--join TIMES --by ITEM,NUMBER --out joined.parquet, then pairbank report joined.parquet"
        )
    names = [str(name) for name in frame.columns]
    found = {}
    asked = ("time", time, TIME.fullmatch), ("participant", participant, PARTICIPANT_COLUMNS.search)
    for what, stated, pattern in asked:
        fitting = [stated] if stated else [name for name in names if pattern(name)]
        if stated not in ("", *names) or len(fitting) > 1 or (what == "time" and not fitting):
            raise BankError(
                f"which column is the {what}? Type --set reading.{what}=COLUMN; the columns are {', '.join(names)}"
            )
        found[what] = fitting[0] if fitting else ""
    if text not in names:
        raise BankError(f"no column {text!r}; type --set reading.text=COLUMN; the columns are {', '.join(names)}")
    return found["time"], found["participant"], text


def _observations(
    frames: dict[str, pd.DataFrame], columns: tuple[str, str, str], frequency: str, *, limits: tuple[float, float]
) -> _Observations:
    """Return the rows that can be fitted, the same for all models."""
    time, participant, text = columns
    first = next(iter(frames.values()))
    keys = ["text_id", "word_number", *([participant] if participant else [])]
    for model, frame in frames.items():
        if not frame[keys].equals(first[keys]):
            raise BankError(f"{model} has other rows than {next(iter(frames))}; join the same reading times with both")
    times = pd.to_numeric(first[time], errors="coerce").to_numpy(dtype=np.float64)
    if np.nanmedian(times) < 10:
        raise BankError(
            f"the median of {time} is {round(float(np.nanmedian(times)), 3)}; expected reading times in milliseconds"
        )
    lags = ["", *sorted(name.removeprefix(SURPRISAL) for name in map(str, first.columns) if LAG.fullmatch(name))]
    predictors = _predictors(first, lags, frequency)
    surprisal = {m: x[[SURPRISAL + lag for lag in lags]].to_numpy(dtype=np.float64) for m, x in frames.items()}
    known = np.isfinite(np.column_stack([predictors, *surprisal.values()])).all(axis=1)
    flagged = [frame["flags"].eq("other_word") for frame in frames.values() if "flags" in frame]
    others = np.any(flagged, axis=0) if flagged else ~known & False
    used, left_out = np.ones(len(first), dtype=bool), {}
    refused = (~(times > 0), times < limits[0], times > limits[1], others, ~known)
    for why, mask in zip(LEFT_OUT, refused, strict=True):
        left_out[why] = int((used & mask).sum())
        used &= ~mask
    if used.sum() < LEAST_TIMES:
        raise BankError(f"{used.sum()} of {len(first)} reading times can be used ({left_out}); expected {LEAST_TIMES}")
    rows, kept = first[used], predictors[used].loc[:, predictors[used].std() > 0]
    words: IntArray = np.asarray(rows.groupby(["text_id", "word_number"], sort=False).ngroup(), dtype=np.int64)
    levels: dict[str, IntArray] = {"word": words, "text": np.asarray(pd.factorize(rows[text])[0], dtype=np.int64)}
    if participant:
        levels = {"participant": np.asarray(pd.factorize(rows[participant])[0], dtype=np.int64), **levels}
    if not participant and np.bincount(words).max() > 1:
        raise BankError("a word has several reading times; name the column of participants: --set reading.participant=")
    return _Observations(
        log_times=np.log(times[used]),
        baseline=np.column_stack([np.ones(len(rows)), (kept - kept.mean()) / kept.std()]),
        names=["(intercept)", *kept.columns],
        terms={name: x for name, x in levels.items() if 1 < x.max() + 1 < len(rows)},
        texts=levels["text"],
        surprisal={m: x[used] for m, x in surprisal.items()},
        words=words,
        left_out=left_out,
    )


def _predictors(words: pd.DataFrame, lags: Sequence[str], frequency: str) -> pd.DataFrame:
    """Return place, length and frequency of words, and of those before; a stated frequency is that of the word."""
    if frequency and frequency not in words:
        raise BankError(f"no column {frequency!r}, which is to be the frequency; there are {', '.join(words.columns)}")
    made = pd.DataFrame({"word_number": words["word_number"]})
    for lag in lags:
        made[f"n_characters{lag}"] = words[f"n_characters{lag}"]
        if not frequency:
            made[f"log_frequency{lag}"] = np.log(words[f"n_occurrences{lag}"])
    return made.assign(log_frequency=pd.to_numeric(words[frequency], errors="coerce")) if frequency else made


def _of_model(
    model: str, data: _Observations, base: MixedFit, held_out: FloatArray
) -> tuple[dict[str, Any], pd.DataFrame]:
    from scipy.stats import t

    surprisal = data.surprisal[model]
    x = np.column_stack([data.baseline, surprisal])
    full = fit_slopes(data.log_times, x, data.random(), reml=False)
    gained = _held_out(data, x, full) - held_out
    sloped = fit_slopes(data.log_times, x, data.random(surprisal - surprisal.mean(axis=0)))
    names = [*data.names, SURPRISAL, *(f"{SURPRISAL}_lag{n}" for n in range(1, surprisal.shape[1]))]
    total = np.r_[np.zeros(len(data.names)), np.ones(surprisal.shape[1])]
    degrees = data.n_participants - 1 if "participant" in data.terms else len(data.log_times) - x.shape[1]
    typical = float(np.exp(data.log_times.mean()))
    effect, error = float(total @ sloped.effects), float(np.sqrt(total @ sloped.covariance @ total))
    reach = float(t.isf(ALPHA / 2, degrees)) * error
    first = np.unique(data.words, return_index=True)[1]
    ms = (typical * x for x in (effect, effect - reach, effect + reach))
    row = {"model": model, "mean_surprisal": float(surprisal[first, 0].mean())} | _gain(gained, data)
    row |= {"delta_ll_in_sample": (base.deviance - full.deviance) / 2}
    row |= dict(zip(("effect_ms", "effect_low", "effect_high"), ms, strict=True))
    p = float(2 * t.sf(abs(effect) / error, degrees))
    row |= {"effect_log": effect, "df": degrees, "p": p, "n": len(data.log_times)}
    errors = np.sqrt(np.diag(sloped.covariance))
    effects = {"model": model, "term": names, "estimate": sloped.effects, "standard_error": errors}
    return row, pd.DataFrame(effects | {"t": sloped.effects / errors})


def _gain(gained: FloatArray, data: _Observations) -> dict[str, Any]:
    """Return Δ log-likelihood per 1,000 observations, with its interval over texts and any participants."""
    if data.n_texts < LEAST_TEXTS:
        reason = f"{data.n_texts} texts; Δ on held-out texts needs {LEAST_TEXTS}"
        return {"delta_ll": np.nan, "low": np.nan, "high": np.nan, "reason": reason}
    participants = data.terms.get("participant")
    over = [data.texts] if participants is None else [data.texts, participants]
    mean = crossed_mean(1000 * gained, *over).estimate
    return {"delta_ll": mean.value, "low": mean.low, "high": mean.high, "reason": mean.reason or ""}


def _held_out(data: _Observations, x: FloatArray, whole: MixedFit) -> FloatArray:
    """Return each observation's log density by the model of the other texts; ratios of variances are the whole's."""
    density = np.zeros(len(data.log_times))
    if data.n_texts < LEAST_TEXTS:
        return density
    folds = data.texts % min(data.n_texts, MOST_FOLDS)
    for test in (folds == fold for fold in np.unique(folds)):
        terms = data.random(rows=~test)
        fit = fit_slopes(data.log_times[~test], x[~test], terms, reml=False, factors=whole.factors)
        expected = x[test] @ fit.effects
        variance = np.full(test.sum(), fit.scale)
        for name, levels in data.terms.items():
            known = np.unique(levels[~test])
            at = np.searchsorted(known, levels[test]).clip(max=len(known) - 1)
            is_known = known[at] == levels[test]
            expected += np.where(is_known, fit.random_effects[name][at, 0], 0.0)
            variance += np.where(is_known, 0.0, fit.covariance_of(name)[0, 0])
        density[test] = -0.5 * (np.log(2 * np.pi * variance) + (data.log_times[test] - expected) ** 2 / variance)
    return density
