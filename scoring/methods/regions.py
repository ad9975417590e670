"""`regions`: the log-probability of each region of a sentence, given what stands before it. Hu, Gauthier et al. 2020.

Items with a column `region_spans` (a JSON list: first character and end of each region) are scored so, one sentence
each. Gives regions_good, the sum, which is that of `direct`, and regions_by_region: one number a region in nats, 0
where the region is empty. A region's surprisal is minus its number; the space before a region is scored with it. A
token that reaches over a region's end counts where it begins; a region without a token has NaN.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, flags_of, side_columns
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import REGION_TOKENS_DIFFER, REGIONS
from pairbank.scoring.api.requests import Request, owners_of

SPANS = "region_spans"
COLUMNS = ScoreColumns(REGIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions(OfSides):
    """log P(region | all before it) of every region of a sentence, for models that read from left to right."""

    name: str = REGIONS
    key_columns: ClassVar[tuple[str, ...]] = (SPANS,)

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, formula, hash and (empty) layout."""
        formula = "log P(region | BOS and all before it), a sum over the region's tokens"
        return {
            "paper": "Hu, Gauthier et al. 2020, section 2 (surprisal of a region)",
            "cites": ["hu2020systematic", "gauthier2020syntaxgym"],
            "formula": formula,
            "sha256": sha256_of_text(REGIONS, formula, "2"),
            "layout": direct_layout(REGIONS, "Regions"),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """The sum, the number of tokens, the regions one by one, flags; columns of a second side are null."""
        return side_columns(REGIONS) | COLUMNS.kinds(COLUMNS.by_region)

    def applies_to(self, row: Row) -> bool:
        """Every sentence whose regions are known."""
        return bool(row.get(SPANS)) and row["target_bad"] is None

    def reader(self, scorer: Scorer) -> Scorer:
        """Return the scorer, which must read from left to right.

        Raises:
            ScoringError: a masked model, or one with an encoder.
        """
        if scorer.info.pll or scorer.info.seq2seq_mode:
            raise ScoringError(
                f"{REGIONS} needs a causal model, whose surprisal of a region depends on the preceding text alone. "
                f"{scorer.info.name} ({scorer.info.architecture}) reads the text on both sides; "
                "score it with direct, or choose a causal model"
            )
        return scorer

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        """Return one request, for the sentence."""
        _spans(row)
        return [Request(context="", target=row["target_good"], where=str(row["item_id"]))]

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return the sum, the regions one by one, the number of tokens, and flags."""
        (answer,), spans = answers, _spans(row)
        by_region = np.where([end > first for first, end in spans], np.nan, 0.0)
        offsets = answer.request.offsets or ()
        if answer.logprobs_nats is not None:
            owners = np.array(owners_of(row["target_good"], spans, offsets))
            for region in np.unique(owners):
                by_region[region] = answer.logprobs_nats[owners == region].sum()
        is_apart = {end for _, end in spans} <= {0, *offsets}
        return dict.fromkeys(self.columns) | {
            COLUMNS.good: answer.total_nats,
            COLUMNS.good_n: answer.request.n_scored,
            COLUMNS.by_region: by_region.tolist(),
            COLUMNS.flags: [*flags_of(answers), *([] if is_apart else [REGION_TOKENS_DIFFER])],
        }


def _spans(row: Row) -> list[tuple[int, int]]:
    """Return where the regions stand in the sentence.

    Raises:
        ScoringError: the column holds something else, or the regions do not cover the sentence in order.
    """
    text, expected = (
        row["target_good"],
        "a JSON list of [first, end], in order, which cover the sentence but for spaces",
    )
    try:
        spans = [(int(first), int(end)) for first, end in json.loads(row[SPANS])]
    except (ValueError, TypeError) as error:
        raise ScoringError(f"{row['item_id']}: {SPANS} is {row[SPANS]!r:.80}; expected {expected}") from error
    at = [0, *(place for span in spans for place in span), len(text)]
    gaps = "".join(text[a:b] for a, b in zip(at[::2], at[1::2], strict=True))
    if at != sorted(at) or gaps.strip():
        raise ScoringError(f"{row['item_id']}: {SPANS} is {row[SPANS]!r:.80}; expected {expected}")
    return spans
