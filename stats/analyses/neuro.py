"""The report's section on probes: what `probe` found in, tables and curves over layers out (He et al. 2025)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.files import replaced_atomically, write_json
from pairbank.markdown import html_as_text
from pairbank.stats.analyses.base import Section
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.figures.charts import curves, file_name
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.probes import chosen_by_other_folds, fold_mean
from pairbank.stats.scored_table.scored_table import SummaryRow
from pairbank.stats.wording import number, span

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

ALL = "all"
METRICS = ("f1", "accuracy")
LAYER_DTYPES = {
    "model": "string",
    "corpus": "string",
    "group_by": "string",
    "group": "string",
    "layer": "int64",
    "metric": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "fold_sd": "float64",
    "n": "int64",
    "control": "bool",
    "ci_method": "string",
    "reason": "string",
}
"""Columns of the table of layers and their pandas types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeScores:
    """Scores of a group's probes, shape (layers, folds) each, by metric."""

    real: Mapping[str, FloatArray]
    control: Mapping[str, FloatArray]


def layer_rows(
    scores: ProbeScores | str, current: SummaryRow, *, n_layers: int, n_pairs: int
) -> Iterator[dict[str, Any]]:
    """Yield a group's rows in the table of layers: real labels and control task, every metric."""
    names = {name: getattr(current, name) for name in ("model", "corpus", "group_by", "group")}
    for layer in range(n_layers):
        for metric in METRICS:
            for control in (False, True):
                if isinstance(scores, str):
                    sd, estimate = np.nan, undefined(scores, n=n_pairs, method="")
                else:
                    values = (scores.control if control else scores.real)[metric][layer]
                    sd, estimate = float(values.std(ddof=1)), fold_mean(values, n=n_pairs)
                yield names | {
                    "layer": layer,
                    "metric": metric,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "fold_sd": sd,
                    "n": n_pairs,
                    "control": control,
                    "ci_method": estimate.method,
                    "reason": estimate.reason,
                }


def summary_rows(
    scores: ProbeScores | str, current: SummaryRow, *, n_pairs: int, n_rows: int
) -> Iterator[dict[str, Any]]:
    """Yield what is said of all layers together; the embedding is not one of them."""
    for metric in METRICS:
        for name, estimate in _over_layers(metric, scores, n_pairs).items():
            yield replace(current, metric=name).row(estimate, n_rows=n_rows)


def _over_layers(metric: str, scores: ProbeScores | str, n: int) -> dict[str, Estimate]:
    names = (metric, f"{metric}_layer", f"{metric}_chosen", f"{metric}_control", f"{metric}_selectivity")
    if isinstance(scores, str):
        return {name: undefined(scores, n=n, method="") for name in names}
    real, control = scores.real[metric][1:], scores.control[metric][1:]
    best, control_best = _best(real), _best(control)
    estimates = (
        _marked(fold_mean(real[best], n=n), len(real)),
        without_interval(best + 1.0, "the number of a layer", n=n, method=""),
        fold_mean(chosen_by_other_folds(real), n=n),
        _marked(fold_mean(control[control_best], n=n), len(real)),
        without_interval(float(real[best].mean() - control[best].mean()), "a difference of two probes", n=n, method=""),
    )
    return dict(zip(names, estimates, strict=True))


def _best(scores: FloatArray) -> int:
    """Return the layer with the highest mean over folds, the lowest such layer in a tie."""
    return int(np.argmax(np.round(scores.mean(axis=1), 12)))


def _marked(estimate: Estimate, n_layers: int) -> Estimate:
    """Say that an interval is that of the best of many layers, as if it had been chosen beforehand."""
    return replace(estimate, method=f"{estimate.method}, best of {n_layers} layers")


def mean_rows(summary: pd.DataFrame, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield the unweighted mean over groups of what has one (not of layer numbers)."""
    for metric, rows in summary.groupby("metric", sort=False):
        if str(metric).endswith("_layer"):
            continue
        n, n_rows = int(rows["n"].sum()), int((rows["n"] + rows["n_excluded"]).sum())
        used = rows["value"].dropna()
        reason = f"mean of {len(used)} probes of {len(rows)} groups; no interval"
        method = "unweighted mean over groups"
        mean = float(used.mean()) if len(used) else np.nan
        estimate = without_interval(mean, reason, n=n, method=method)
        yield replace(place, group_by=ALL, group="", metric=str(metric)).row(estimate, n_rows=n_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What probes found in a model's hidden states."""

    layers: pd.DataFrame
    """A row a group, layer, metric, and real labels or control task; `LAYER_DTYPES`. Values are means over folds,
    `fold_sd` their spread, `low` and `high` a corrected-t interval; `n` counts pairs."""
    summary: pd.DataFrame
    """Rows like those of `summarise` (`pairbank.stats.scored_table.scored_table.DTYPES`), method `neuro`. Metrics: `f1`
    and `accuracy`, the maximum over layers (the paper's, optimistic); `..._layer`, the layer that has it;
    `..._chosen`, at the layer that the other folds choose (not optimistic); `..._control`, the control task's maximum;
    `..._selectivity`, `f1` or `accuracy` minus the control at the same layer. For several groups also the mean over
    them (group_by `all`)."""
    signature: Mapping[str, Any]
    """Model, corpus, method and seed."""

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.signature["model"]["name"])

    @property
    def corpus(self) -> str:
        """The corpus's name."""
        return str(self.signature["corpus"]["name"])

    def save(self, folder: str | Path) -> Path:
        """Write `neuro_layers.parquet`, `neuro_summary.csv` and `neuro.json` (the signature); return the folder."""
        root = Path(folder)
        with replaced_atomically(root / "neuro_layers.parquet") as temporary:
            self.layers.to_parquet(temporary, index=False)
        with replaced_atomically(root / "neuro_summary.csv") as temporary:
            self.summary.to_csv(temporary, index=False, lineterminator="\n")
        write_json(root / "neuro.json", self.signature)
        return root


CONTROL_NAMES = {False: "real labels", True: "control task"}


def neuro_section(probed: Sequence[Probed]) -> Section:
    """Return the section of some probes, one a corpus and model."""
    if not probed:
        raise BankError("no probes to report; give at least one result of pairbank.probe")
    layers = pd.concat([member.layers for member in probed], ignore_index=True)
    summary = pd.concat([entry.summary for entry in probed], ignore_index=True)
    models = _a_line_a_model(probed)
    return Section(
        id="neuro",
        title="Neuro: probes of hidden states",
        text="\n\n".join(_wording(value.summary) for value in probed),
        answer=_answer(models) or _why_none(summary),
        main_table="models" if models["f1"].notna().any() else "",
        definitions=DEFINITIONS,
        tables={"models": models, "summary": summary, "layers": layers},
        figures=_figures(layers),
        references=(
            "He et al. 2025 (XCOMPS): section 4.1",
            "Hewitt & Liang 2019, EMNLP: control tasks",
        ),
    )


def _a_line_a_model(probed: Sequence[Probed]) -> pd.DataFrame:
    """Return the means over groups of every corpus and model, as the summary has them."""
    names = ("f1", "f1_chosen", "f1_control", "f1_selectivity", "accuracy")
    rows = []
    for entry in probed:
        place, result = entry.summary.iloc[0], _wholes(entry.summary)
        n = int(entry.summary.loc[entry.summary["metric"] == "f1", "n"].max())
        row = {"model": place["model"], "corpus": place["corpus"], "pairs": n}
        rows.append(row | result.reindex(list(names)).to_dict())
    return pd.DataFrame(rows)


def _wholes(summary: pd.DataFrame) -> pd.Series[float]:
    """Return the numbers of all groups together by metric; a single group is all of them."""
    wholes = summary[summary["group_by"] == "all"]
    return (wholes if len(wholes) else summary).groupby("metric", sort=False)["value"].mean()


def _answer(models: pd.DataFrame) -> str:
    """Return what probes find at best, at a layer chosen elsewhere, and by chance; of many models the range."""
    known = models[models["f1"].notna()]
    if known.empty:
        return ""
    shown = {name: span(known[name]) for name in ("f1", "f1_chosen", "f1_control")}
    n_models = known["model"].nunique()
    who = str(known["model"].iloc[0]) if n_models == 1 else f"{n_models} models"
    return html_as_text(
        f"A probe of {who} tells the better sentence with F1 {shown['f1']} at its best layer ({_corpora(known)}), "
        f"{shown['f1_chosen']} at the layer that the other folds choose. With exchanged labels the best layer reaches "
        f"{shown['f1_control']}, the chance level of a maximum over layers."
    )


def _why_none(summary: pd.DataFrame) -> str:
    """Say of which models and corpora there is no probe, and the reason of their groups."""
    groups = summary[(summary["metric"] == "f1") & summary["reason"].notna()]
    own_values = groups[groups["group_by"] != "all"] if (groups["group_by"] != "all").any() else groups
    reasons = " or ".join(dict.fromkeys(own_values["reason"])) or "no pairs"
    who = list(dict.fromkeys(summary["model"]))
    models = who[0] if len(who) == 1 else f"{len(who)} models"
    where = ", ".join(dict.fromkeys(summary["corpus"]))
    n_groups = f"{len(own_values):,} groups" if len(own_values) > 1 else "1 group"
    return html_as_text(f"No probe of {models} could be fitted on {where} ({n_groups}): {reasons}.")


def _corpora(models: pd.DataFrame) -> str:
    counts = models.drop_duplicates("corpus")
    return ", ".join(f"{row['corpus']}: {row['pairs']:,} pairs" for row in counts.to_dict("records"))


def _wording(summary: pd.DataFrame) -> str:
    place = summary.iloc[0]
    result = _wholes(summary)
    means = result.reindex(["f1", "f1_chosen", "f1_control"])
    if math.isnan(means["f1"]):
        reason = summary["reason"].dropna()
        return f"{place['corpus']} by {place['model']}: no probe ({reason.iloc[0] if len(reason) else 'no pairs'})."
    return (
        f"{place['corpus']} by {place['model']}: a probe's F1 at its best layer is "
        f"{number(means['f1'])} ({number(means['f1_chosen'])} at the layer that the other folds choose). With "
        f"exchanged labels, the best layer reaches {number(means['f1_control'])}, the chance level of a maximum over "
        "layers."
    )


def _figures(layers: pd.DataFrame) -> tuple[Figure, ...]:
    chosen = layers[(layers["metric"] == "f1") & layers["value"].notna()]
    results = []
    for (corpus, model), part in chosen.groupby(["corpus", "model"], sort=False):
        by_layer = part.groupby(["control", "layer"], sort=True)["value"].mean().reset_index()
        by_layer["labels"] = by_layer["control"].map(CONTROL_NAMES)
        by_layer["low"] = by_layer["high"] = float("nan")
        n_groups = part["group"].nunique()
        results.append(
            Figure(
                name=file_name("neuro", corpus, model),
                caption=(
                    f"{corpus} by {model}: F1 of a linear probe of the last token's hidden state at each layer "
                    f"(0 = embedding), mean over {n_groups} groups, against the same probe with exchanged labels."
                ),
                draw=partial(curves, by_layer, x="layer", series="labels", x_label="layer", y_label="F1"),
            )
        )
    return tuple(results)


DEFINITIONS = """\
- **Probe**: logistic regression (L2, C = 1) on the hidden states of each sentence's last token, standardised or as
  they are, of the whole sentence or without its final mark. The better sentence of a pair is the positive class. Five
  folds; pairs with a sentence in common stay in one fold, unless plain folds were asked for. The signature says which.
  Layer 0, the embedding, is never chosen.
- **Chance** of F1 is not 0.50: it is what the control task reaches.
- **f1**, **accuracy**: the greatest mean over folds among layers 1 and up (He et al. 2025; a maximum, so optimistic).
  `…_chosen`: at the layer that the other folds choose. `…_control`: the maximum with each pair's labels exchanged by a
  fair coin. `…_selectivity`: f1 minus the control at the same layer.
- Intervals: corrected resampled t over folds (Nadeau & Bengio 2003)."""
