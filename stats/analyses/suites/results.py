"""What a model makes of the suites' predictions: in, a scored table of sentences by condition; out, rows of tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import REGION_TOKENS_DIFFER, REGIONS
from pairbank.stats.analyses.suites.formulas import Comparison, Formula, comparisons_of, parsed
from pairbank.stats.estimates.shares import mean_of_items, share_of_items
from pairbank.stats.scored_table.method_scores import ScoredFrame, flagged

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.stats.estimates.estimate import Estimate

NEEDED = ("subset", "phenomenon", "item_number", "condition", "formulas")
COLUMNS = ScoreColumns(REGIONS)
NATS_A_BIT = float(np.log(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The items of one suite, scored by one model."""

    corpus: str
    model: str
    name: str
    phenomenon: str
    formulas: tuple[Formula, ...]
    items: tuple[int, ...]
    bits: dict[str, FloatArray]
    """Condition -> surprisal of each region, shape (items, regions); NaN where the item lacks the condition."""
    n_flagged: int
    """Sentences whose tokens by region are not those of the whole sentence."""

    def surprisal(self, region: int, condition: str) -> FloatArray:
        """Return the surprisals of a region, 0 = the whole sentence, in bits, one an item.

        They are NaN where the table has no sentence in the condition, as in a run with a limit.

        Raises:
            BankError: the suite has no such region.
        """
        known = self.bits.get(condition)
        if known is None:
            return np.full(len(self.items), np.nan)
        if region > known.shape[1]:
            raise BankError(
                f"suite {self.name!r} has no region {region}, which its formula names of {condition!r}; it has "
                f"{known.shape[1]}"
            )
        return np.asarray(known.sum(axis=1) if region == 0 else known[:, region - 1])

    @property
    def predictions(self) -> tuple[Formula, ...]:
        """The formulas that say more than that two numbers are equal, which are controls."""
        said = [one for one in self.formulas if any(part.sign != "=" for part in comparisons_of(one))]
        return tuple(said or self.formulas)


def suites_of(table: ScoredFrame) -> Iterator[Suite]:
    """Yield the suites of a table, in its order.

    Raises:
        BankError: the table has no regions, or no columns of suites.
    """
    frame = table.frame
    if missing := [name for name in (*NEEDED, COLUMNS.by_region) if name not in frame.columns]:
        raise BankError(
            f"{table.corpus} by {table.model} lacks the column(s) {', '.join(missing)}; score a corpus of suites "
            "(syntaxgym-suites) with the method regions"
        )
    scored = frame[frame[COLUMNS.by_region].notna()]
    differ = flagged(scored, COLUMNS.flags, REGION_TOKENS_DIFFER)
    for name, part in scored.groupby("subset", sort=False):
        first = part.iloc[0]
        items = tuple(dict.fromkeys(part["item_number"].to_list()))
        yield Suite(
            corpus=table.corpus,
            model=table.model,
            name=str(name),
            phenomenon="" if first["phenomenon"] is None else str(first["phenomenon"]),
            formulas=tuple(parsed(text) for text in json.loads(first["formulas"])),
            items=items,
            bits=_bits(part, items),
            n_flagged=int(differ[(scored["subset"] == name).to_numpy()].sum()),
        )


def _bits(part: pd.DataFrame, items: tuple[int, ...]) -> dict[str, FloatArray]:
    place = {item: number for number, item in enumerate(items)}
    n_regions = {len(cells) for cells in part[COLUMNS.by_region]}
    if len(n_regions) != 1:
        raise BankError(
            f"{part['item_id'].iloc[0]}: sentences of its suite have {sorted(n_regions)} regions; expected one"
        )
    found = {str(name): np.full((len(items), *n_regions), np.nan) for name in dict.fromkeys(part["condition"])}
    for item, condition, nats in zip(part["item_number"], part["condition"], part[COLUMNS.by_region], strict=True):
        found[str(condition)][place[item]] = -np.asarray(nats, dtype=np.float64) / NATS_A_BIT
    return found


def suite_row(suite: Suite) -> dict[str, Any]:
    """Return in how many items of a suite all its predictions hold."""
    held = np.asarray(np.stack([one.holds(suite.surprisal) for one in suite.predictions]).all(axis=0))
    known = _known(suite, [part for one in suite.predictions for part in comparisons_of(one)])
    estimate = share_of_items(held[known].astype(float))
    shares = [float(part.holds(suite.surprisal)[known].mean()) if known.any() else np.nan for part in _parts(suite)]
    return {
        "model": suite.model,
        "corpus": suite.corpus,
        "suite": suite.name,
        "phenomenon": suite.phenomenon,
        "comparisons": len(shares),
        **_cells(estimate),
        "each_alone": float(np.mean(shares)) if shares else np.nan,
        "left_out": int((~known).sum()),
        "other_tokens": suite.n_flagged,
    }


def comparison_rows(suite: Suite) -> Iterator[dict[str, Any]]:
    """Yield each comparison of a suite: in how many items it holds, and its margin in bits with its interval."""
    predicted = set(map(id, _parts(suite)))
    for formula in suite.formulas:
        for part in comparisons_of(formula):
            known = _known(suite, [part])
            margin = mean_of_items(part.margin_bits(suite.surprisal)[known])
            held = share_of_items(part.holds(suite.surprisal)[known].astype(float))
            yield {
                "model": suite.model,
                "corpus": suite.corpus,
                "suite": suite.name,
                "comparison": part.text.replace("%", ""),
                "kind": kind_of(part) if id(part) in predicted else "control",
                **_cells(margin),
                "holds": held.value,
                "holds_low": held.low,
                "holds_high": held.high,
                "reason": margin.reason or "",
            }


def kind_of(comparison: Comparison) -> str:
    """Return whether two conditions are compared, or a difference with another difference.

    >>> kind_of(comparisons_of(parsed("[(1;%a%) - (1;%b%)] + [(2;%c%) - (2;%d%)] > 0"))[0])
    'difference of differences'
    """
    return "difference of differences" if len(comparison.conditions) > 2 else "difference"


def _parts(suite: Suite) -> list[Comparison]:
    return [part for one in suite.predictions for part in comparisons_of(one)]


def _known(suite: Suite, parts: list[Comparison]) -> BoolArray:
    """Return which items have every number that these comparisons read."""
    numbers = [suite.surprisal(*region) for part in parts for region in part.regions]
    return np.asarray(~np.isnan(np.stack(numbers)).any(axis=0))


def _cells(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
