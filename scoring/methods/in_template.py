"""In-template LP: log P of a sentence behind a text that says it is grammatical. Ide et al. 2025 (NAACL), section 3.

The templates are the five of the authors' code for one sentence (github.com/Yusuke196/llm-acceptability, templates_ll,
template_blimp_single_1 to 5); a blank line parts them from the sentence. `in_template_1` to `in_template_5` are one of
them each; `in_template` is the mean over the five, a score of every sentence. The paper's ensemble, a vote on pairs of
several templates and yes/no questions, is a table of the analysis `linking`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import SIDES, ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, flags_of, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import SENTENCE
from pairbank.scoring.api.requests import Request
from pairbank.scoring.prompts.prompt import primary

TEMPLATES = (
    "The following sentence is grammatically acceptable.\n\n",
    "Linguists would consider the sentence below to be grammatically correct.\n\n",
    "Here is a grammatically correct sentence.\n\n",
    "Here is an English sentence that would be considered as linguistically acceptable.\n\n",
    "This is a correct English sentence.\n\n",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InTemplate(OfSides):
    """log P(sentence | template), of one template or the mean over several; English sentences without a context."""

    name: str
    templates: tuple[str, ...]

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, formula, templates, hash and (empty) layout."""
        entry = len(self.templates) == 1
        formula = "log P(sentence | template)" + ("" if entry else f", mean over {len(self.templates)} templates")
        label = f"In-template LP {self.name.rpartition('_')[2]}" if entry else "In-template LP (mean)"
        return {
            "paper": "Ide et al. 2025 (NAACL), in-template LP; templates of their released code",
            "cites": ["ide2025make"],
            "formula": formula,
            "templates": list(self.templates),
            "sha256": sha256_of_text(self.name, formula, *self.templates),
            "layout": direct_layout(self.name, label),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores, numbers of tokens of the sentence, flags."""
        return side_columns(self.name)

    def applies_to(self, row: Row) -> bool:
        """English sentences, alone or in pairs."""
        alone = not row["context_good"] and not row["context_bad"]
        return alone and row["task"] in (SENTENCE, "sentence_pair") and primary(row["language"]) == "en"

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        """Return, a side, the sentence behind each template."""
        return [
            Request(context=template, target=row[f"target_{side}"], where=f"{row['item_id']} ({self.name}, {side})")
            for side in SIDES
            if row[f"target_{side}"] is not None
            for template in self.templates
        ]

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return both sides' mean scores, their difference, token counts and flags."""
        n = len(self.templates)
        sides = [answers[start : start + n] for start in range(0, len(answers), n)]
        scores = [float(np.mean([entry.total_nats for entry in side])) for side in sides]
        values, flags = side_values(self.name, scores, [side[0] for side in sides]), ScoreColumns(self.name).flags
        return values | {flags: list(dict.fromkeys([*flags_of(answers), *values[flags]]))}


IN_TEMPLATE: Mapping[str, tuple[str, ...]] = {
    "in_template": TEMPLATES,
    **{f"in_template_{number}": (template,) for number, template in enumerate(TEMPLATES, 1)},
}
"""Method -> its templates, in the order of tables."""
