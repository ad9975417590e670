"""The section of a report on agreement over many models: in, scored tables; out, means of r and ranges of kappa."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.agreement import cohens_kappa, pearson
from pairbank.stats.agreement_summary import ALL_METHODS, ALL_MODELS, agreement_ranges, mean_agreement
from pairbank.stats.columns import read_table
from pairbank.stats.deltas import DIRECT
from pairbank.stats.sections import ScoredFrame, Section

if TYPE_CHECKING:
    from pairbank.stats.results import Estimate

DEFINITIONS = """\
- **Mean r**: Pearson's r over items between the direct and the prompted difference (good - bad) of a model, for each
  corpus and method; then the unweighted mean over corpora, then over models (Hu & Levy 2023, figures 3 and 6).
- **Kappa**: Cohen's kappa between the signs of the two differences, ties left out; mean, lowest and highest over models
  and corpora (Song, Hu & Mahowald 2025, figure 5).
- Undefined numbers are left out of means and counted. Items with identical sides are left out. Nothing is drawn at
  random; intervals of single r and kappa stand under Agreement.
"""
REFERENCES = (
    "Hu & Levy 2023: Prompting is not a substitute for probability measurements in large language models. EMNLP.",
    "Song, Hu & Mahowald 2025: Language Models Fail to Introspect About Their Knowledge of Language. COLM.",
)


def section(tables: Sequence[ScoredFrame], *, seed: int = 0, n_resamples: int = 1000) -> Section:  # noqa: ARG001
    """Return means and ranges of the agreement between direct and prompted scores.

    Args:
        tables: Scored tables, one a corpus and model.
        seed: Not used: nothing is drawn.
        n_resamples: Not used either.

    Raises:
        BankError: If no table has a direct and a prompted method.
    """
    cells = pd.DataFrame([row for table in tables for row in _cells(table)])
    if cells.empty:
        raise BankError("no table is scored both directly and with a prompt; agreement needs both")
    means, kappas = mean_agreement(cells), agreement_ranges(cells)
    return Section(
        id="agreement_summary",
        title="Agreement between direct and prompted scores, over models",
        text=_text(means, kappas),
        definitions=DEFINITIONS,
        tables={"mean_r": means, "kappa_range": kappas},
        references=REFERENCES,
    )


def _cells(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    """Yield r and kappa of each prompted method, as rows of a summary."""
    read = read_table(table.frame, table.layouts)
    direct = next((scores for scores in read.methods if scores.layout.method == DIRECT), None)
    for scores in read.methods:
        if direct is None or not scores.layout.is_prompted:
            continue
        used = direct.applies & scores.applies & read.is_choice
        x, y = direct.delta_nats[used], scores.delta_nats[used]
        found: dict[str, Estimate] = {"pearson": pearson(x, y), "kappa": cohens_kappa(x, y)}
        for metric, estimate in found.items():
            yield {
                "model": table.model,
                "corpus": table.corpus,
                "group_by": "all",
                "method": scores.layout.method,
                "versus": DIRECT,
                "metric": metric,
                "value": estimate.value,
            }


def _text(means: pd.DataFrame, kappas: pd.DataFrame) -> str:
    overall = means[(means["model"] == ALL_MODELS) & (means["n_models"] > 0)].to_dict("records")
    lines = [
        f"- {row['method']}: mean r = {row['value']:.2f} over {row['n_models']} model(s) and {row['n_corpora']} corpora"
        for row in overall
    ]
    total = kappas[kappas["method"] == ALL_METHODS].iloc[0]
    if total["n_cells"]:
        lines.append(
            f"- Cohen's kappa is {total['mean']:.2f} on average and lies between {total['lowest']:.2f} and "
            f"{total['highest']:.2f} (n = {total['n_cells']} model x corpus x method)"
        )
    return "\n".join(lines) if lines else "No correlation is defined for these tables; the tables below say why."
