"""The report's section on probes: what `probe` found in, tables and curves over layers out (He et al. 2025)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.stats.analyses.base import Section
from pairbank.stats.figures.charts import curves
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import file_name
from pairbank.stats.wording import number, span

if TYPE_CHECKING:
    from pairbank.stats.analyses.neuro.probed import Probed

CONTROL_NAMES = {False: "real labels", True: "control task"}


def neuro_section(probed: Sequence[Probed]) -> Section:
    """Return the section of some probes, one a corpus and model.

    Raises:
        BankError: There is no probe.
    """
    if not probed:
        raise BankError("no probes to report; give at least one result of pairbank.probe")
    layers = pd.concat([one.layers for one in probed], ignore_index=True)
    summary = pd.concat([one.summary for one in probed], ignore_index=True)
    models = _a_line_a_model(probed)
    return Section(
        id="neuro",
        title="Neuro: probes of hidden states",
        text="\n\n".join(_said(one.summary) for one in probed),
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
    for one in probed:
        place, found = one.summary.iloc[0], _wholes(one.summary)
        n = int(one.summary.loc[one.summary["metric"] == "f1", "n"].max())
        row = {"model": place["model"], "corpus": place["corpus"], "pairs": n}
        rows.append(row | found.reindex(list(names)).to_dict())
    return pd.DataFrame(rows)


def _wholes(summary: pd.DataFrame) -> pd.Series[float]:
    """Return the numbers of all groups together by metric; a single group is all of them."""
    wholes = summary[summary["group_by"] == "all"]
    return (wholes if len(wholes) else summary).groupby("metric", sort=False)["value"].mean()


def _answer(models: pd.DataFrame) -> str:
    """Return what probes find at best, at a layer chosen elsewhere, and for nothing; of many models the range."""
    known = models[models["f1"].notna()]
    if known.empty:
        return ""
    shown = {name: span(known[name]) for name in ("f1", "f1_chosen", "f1_control")}
    n_models = known["model"].nunique()
    who = str(known["model"].iloc[0]) if n_models == 1 else f"{n_models} models"
    return html_as_text(
        f"A probe of {who} tells the better sentence with F1 {shown['f1']} at its best layer ({_corpora(known)}), "
        f"{shown['f1_chosen']} at the layer that the other folds choose. With exchanged labels the best layer reaches "
        f"{shown['f1_control']}, which is what a maximum over layers gives for nothing."
    )


def _why_none(summary: pd.DataFrame) -> str:
    """Say of which models and corpora there is no probe, and the reason of their groups."""
    groups = summary[(summary["metric"] == "f1") & summary["reason"].notna()]
    own = groups[groups["group_by"] != "all"] if (groups["group_by"] != "all").any() else groups
    reasons = " or ".join(dict.fromkeys(own["reason"])) or "no pairs"
    who = list(dict.fromkeys(summary["model"]))
    models = who[0] if len(who) == 1 else f"{len(who)} models"
    where = ", ".join(dict.fromkeys(summary["corpus"]))
    n_groups = f"{len(own):,} groups" if len(own) > 1 else "1 group"
    return html_as_text(f"No probe of {models} could be fitted on {where} ({n_groups}): {reasons}.")


def _corpora(models: pd.DataFrame) -> str:
    counts = models.drop_duplicates("corpus")
    return ", ".join(f"{row['corpus']}: {row['pairs']:,} pairs" for row in counts.to_dict("records"))


def _said(summary: pd.DataFrame) -> str:
    place = summary.iloc[0]
    found = _wholes(summary)
    means = found.reindex(["f1", "f1_chosen", "f1_control"])
    if math.isnan(means["f1"]):
        reason = summary["reason"].dropna()
        return f"{place['corpus']} by {place['model']}: no probe ({reason.iloc[0] if len(reason) else 'no pairs'})."
    return (
        f"{place['corpus']} by {place['model']}: a probe's F1 at its best layer is "
        f"{number(means['f1'])} ({number(means['f1_chosen'])} at the layer that the other folds choose); with "
        "exchanged "
        f"labels the best layer reaches {number(means['f1_control'])}, which is what a maximum over layers gives for "
        "nothing."
    )


def _figures(layers: pd.DataFrame) -> tuple[Figure, ...]:
    chosen = layers[(layers["metric"] == "f1") & layers["value"].notna()]
    found = []
    for (corpus, model), part in chosen.groupby(["corpus", "model"], sort=False):
        by_layer = part.groupby(["control", "layer"], sort=True)["value"].mean().reset_index()
        by_layer["labels"] = by_layer["control"].map(CONTROL_NAMES)
        by_layer["low"] = by_layer["high"] = float("nan")
        n_groups = part["group"].nunique()
        found.append(
            Figure(
                name=file_name("neuro", corpus, model),
                caption=(
                    f"{corpus} by {model}: F1 of a linear probe of the last token's hidden state at each layer "
                    f"(0 = embedding), mean over {n_groups} groups, against the same probe with exchanged labels."
                ),
                draw=partial(curves, by_layer, x="layer", series="labels", x_label="layer", y_label="F1", chance=0.5),
            )
        )
    return tuple(found)


DEFINITIONS = """\
- **Probe**: logistic regression (L2, C = 1) on standardised hidden states of each sentence's last token; the better
  sentence of a pair is the positive class. Five folds; pairs with a sentence in common stay in one fold, unless plain
  folds were asked for (the signature says which). Layer 0, the embedding, is never chosen.
- **f1**, **accuracy**: the greatest mean over folds among layers 1 and up (He et al. 2025; a maximum, so optimistic);
  `…_chosen`: at the layer that the other folds choose; `…_control`: the maximum with each pair's labels exchanged by a
  fair coin; `…_selectivity`: f1 minus the control at the same layer.
- Intervals: corrected resampled t over folds (Nadeau & Bengio 2003)."""
