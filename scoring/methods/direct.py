"""Log-probabilities of the texts as they stand, no chat template: `direct`, `regions` and `direct_wb`.

`regions`: the log-probability of each region of a sentence, given what stands before it (Hu, Gauthier et al. 2020), for
items with a column `region_spans` (a JSON list: first character and end of each region). An empty region has 0; the
space before a region is scored with it; a token that reaches over a region's end counts where it begins; a region
without a token has NaN. Their sum is that of `direct`.

`direct_wb`: `direct` with the word-boundary correction of Pimentel & Meister 2024 (`word_boundaries`), for each side

    direct_wb_good = Σ log p(tokens) − direct_wb_good_before + direct_wb_good_after

in nats: `…_before` that a word can begin where the target does, `…_after` that the target's last word is over. Items in
languages without spaces have no score, null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pairbank.builders.schema.columns import ONE_SIDED_TASKS
from pairbank.builders.schema.language_tags import separator
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import SIDES, ColumnKind, ScoreColumns, Side
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, flags_of, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import DIRECT, DIRECT_WB, NO_WORD_BOUNDARY, REGION_TOKENS_DIFFER, REGIONS
from pairbank.scoring.api.requests import EDGES, EdgeRequest, Request, owners_of

SPANS = "region_spans"


@dataclass(frozen=True, slots=True)
class Direct(OfSides):
    """log P(target | context) of each side; sums of conditional log-probabilities, no chat template."""

    name: str = DIRECT
    per_token: bool = False
    """Whether each token's log-probability (`direct_good_tokens`), place (`_offsets`) and rank (`_ranks`) are kept."""

    @property
    def definition(self) -> dict[str, Any]:
        return {
            "paper": "log P(target | context), summed over the target's tokens (Hu & Levy 2023, section 2)",
            "cites": ["hu2023prompting"],
            "sha256": sha256_of_text("direct", "1", *(["per token", "offsets", "ranks"] if self.per_token else [])),
            "layout": direct_layout(DIRECT, "Direct"),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        c = ScoreColumns(DIRECT)
        of_tokens = [of(side) for of in (c.tokens, c.offsets, c.ranks) for side in SIDES]
        return side_columns(DIRECT) | (c.kinds(*of_tokens) if self.per_token else {})

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        results = []
        for side in SIDES[:1] if row["task"] in ONE_SIDED_TASKS and row["target_bad"] is None else SIDES:
            target, where = _joint(row, side) + row[f"target_{side}"], f"{row['item_id']} ({side})"
            results.append(Request(context=row[f"context_{side}"], target=target, where=where, ranks=self.per_token))
        return results

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        result = side_values(DIRECT, [answer.total_nats for answer in answers], answers)
        if not self.per_token:
            return result
        c = ScoreColumns(DIRECT)
        result |= dict.fromkeys([of(side) for of in (c.tokens, c.offsets, c.ranks) for side in SIDES])
        for side, answer in zip(SIDES, answers, strict=False):
            result[c.tokens(side)] = answer.tokens_nats
            result[c.ranks(side)] = None if answer.ranks is None else answer.ranks.tolist()
            if answer.tokens_nats is not None and (offsets := answer.request.offsets) is not None:
                n_join = len(_joint(row, side))
                result[c.offsets(side)] = [max(0, place - n_join) for place in offsets]
        return result


def _joint(row: Row, side: Side) -> str:
    """Return what stands between context and target."""
    return separator(row["language"]) if row[f"context_{side}"] else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions(OfSides):
    """log P(region | all before it) of every region of a sentence, for models that read from left to right."""

    name: str = REGIONS
    key_columns: ClassVar[tuple[str, ...]] = (SPANS,)

    @property
    def definition(self) -> dict[str, Any]:
        return self.defined(
            "Regions",
            paper="Hu, Gauthier et al. 2020, section 2 (surprisal of a region)",
            cites=["hu2020systematic", "gauthier2020syntaxgym"],
            formula="log P(region | BOS and all before it), a sum over the region's tokens",
            version="2",
        )

    @property
    def columns(self) -> dict[str, ColumnKind]:
        c = ScoreColumns(REGIONS)
        return side_columns(REGIONS) | c.kinds(c.by_region)

    def applies_to(self, row: Row) -> bool:
        return bool(row.get(SPANS)) and row["target_bad"] is None

    def reader(self, scorer: Scorer) -> Scorer:
        if scorer.info.pll or scorer.info.seq2seq_mode:
            raise ScoringError(
                f"{REGIONS} needs a causal model, whose surprisal of a region depends on the preceding text alone. "
                f"{scorer.info.name} ({scorer.info.architecture}) reads the text on both sides; "
                "score it with direct, or choose a causal model"
            )
        return scorer

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        _spans(row)
        return [Request(context="", target=row["target_good"], where=str(row["item_id"]))]

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        (answer,), spans, c = answers, _spans(row), ScoreColumns(REGIONS)
        by_region = np.where([end > first for first, end in spans], np.nan, 0.0)
        offsets = answer.request.offsets or ()
        if answer.logprobs_nats is not None:
            owners = np.array(owners_of(row["target_good"], spans, offsets))
            for region in np.unique(owners):
                by_region[region] = answer.logprobs_nats[owners == region].sum()
        is_apart = {end for _, end in spans} <= {0, *offsets}
        return dict.fromkeys(self.columns) | {
            c.good: answer.total_nats,
            c.good_n: answer.request.n_scored,
            c.by_region: by_region.tolist(),
            c.flags: [*flags_of(answers), *([] if is_apart else [REGION_TOKENS_DIFFER])],
        }


def _spans(row: Row) -> list[tuple[int, int]]:
    text, problem = row["target_good"], f"{row['item_id']}: {SPANS} is {row[SPANS]!r:.80}; expected a JSON list of "
    problem += "[first, end], in order, which cover the sentence but for spaces"
    try:
        spans = [(int(first), int(end)) for first, end in json.loads(row[SPANS])]
    except (ValueError, TypeError) as error:
        raise ScoringError(problem) from error
    at = [0, *(place for span in spans for place in span), len(text)]
    if at != sorted(at) or any(text[a:b].strip() for a, b in zip(at[::2], at[1::2], strict=True)):
        raise ScoringError(problem)
    return spans


@dataclass(frozen=True, slots=True, kw_only=True)
class WordProbability(OfSides):
    """log P(words of the target | words of the context), of tokenizers that mark words and languages with spaces."""

    name: str = DIRECT_WB

    @property
    def definition(self) -> dict[str, Any]:
        return self.defined(
            "Direct (whole words)",
            paper="Pimentel & Meister 2024 (How to compute the probability of a word); Oh & Schuler 2024",
            cites=["pimentel2024probability", "oh2024leading"],
            formula="log P(target | context) − log B(context) + log B(context∘target), B = Σ p(s), s in S_bow ∪ EOS",
        )

    @property
    def columns(self) -> dict[str, ColumnKind]:
        c = ScoreColumns(DIRECT_WB)
        return side_columns(DIRECT_WB) | c.kinds(*(c.edge(side, edge) for side in SIDES for edge in EDGES))

    def applies_to(self, row: Row) -> bool:
        return separator(row["language"]) == " "

    def reader(self, scorer: Scorer) -> Scorer:
        from pairbank.scoring.models.word_boundaries import word_edge_scorer

        return word_edge_scorer(scorer)

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        results: list[Request] = []
        for r in Direct().requests(row, scorer):
            edges = (EdgeRequest(context=r.context, target=r.target, where=r.where, edge=edge) for edge in EDGES)
            results += [r, *edges]
        return results

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        c, tokens, before, after = ScoreColumns(DIRECT_WB), answers[::3], answers[1::3], answers[2::3]
        scores = [t.total_nats - b.total_nats + a.total_nats for t, b, a in zip(tokens, before, after, strict=True)]
        lacks_edge = any(edge.logprobs_nats is not None and np.isnan(edge.total_nats) for edge in before)
        flags = [*flags_of(answers), *([NO_WORD_BOUNDARY] if lacks_edge else [])]
        values = dict.fromkeys(self.columns) | side_values(DIRECT_WB, scores, tokens, more_flags=flags)
        for side, at_start, at_end in zip(SIDES, before, after, strict=False):
            values[c.edge(side, "before")] = at_start.total_nats
            values[c.edge(side, "after")] = at_end.total_nats
        return values
