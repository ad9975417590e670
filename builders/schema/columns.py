"""The shared schema: a row is one choice between a better and a worse side, scored by log P(target | context).

The columns of `COLUMNS` are followed by one more, `flags`: why a row needs care.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

IDENTICAL_SIDES = "identical_sides"
"""Flag: both sides are the same string; no choice can be scored."""
DUPLICATE_PAIR = "duplicate_pair"
"""Flag: an earlier row of the corpus has the same two strings."""
NOT_NFC = "not_nfc"
"""Flag: a text is not in Unicode normal form C (reported, never changed)."""
KNOWN_ERROR = "known_error"
"""Flag: a public list says that this pair is faulty (`data/errata.toml`); it is kept, and counts as any other."""
DESIGN = "design"
"""Among the facts of a manifest: factors with their levels, and the columns of item sets, designs and fillers."""
NO_TRUTH = "no_truth"
"""Flag: `good` is a label and neither side is right, so accuracy means nothing here."""
Task = Literal["sentence_pair", "continuation_pair", "concept_pair", "context_pair", "word_prediction", "sentence"]
Scalar = str | float | int | bool | None
ColumnType = Literal["string", "int32", "float32", "float64", "bool"]
TASKS: tuple[Task, ...] = get_args(Task)
ONE_SIDED_TASKS: tuple[Task, ...] = ("word_prediction", "sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its name, its type, whether null is allowed, and what it means."""

    name: str
    type: ColumnType
    nullable: bool
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column(name="item_id", type="string", nullable=False, meaning="unique and stable: corpus/subset/n"),
    Column(name="corpus", type="string", nullable=False, meaning="the corpus"),
    Column(name="subset", type="string", nullable=False, meaning="the part of the corpus"),
    Column(name="language", type="string", nullable=False, meaning="BCP-47 language tag"),
    Column(name="task", type="string", nullable=False, meaning=", ".join(TASKS)),
    Column(name="phenomenon", type="string", nullable=True, meaning="coarse linguistic class"),
    Column(name="paradigm", type="string", nullable=True, meaning="fine linguistic class"),
    Column(
        name="context_good", type="string", nullable=False, meaning="context of the better side; '' = all is scored"
    ),
    Column(name="target_good", type="string", nullable=False, meaning="scored text of the better side"),
    Column(name="context_bad", type="string", nullable=True, meaning="context of the worse side"),
    Column(name="target_bad", type="string", nullable=True, meaning="scored text of the worse side"),
    Column(name="human_good", type="float32", nullable=True, meaning="mean human judgment, better side"),
    Column(name="human_bad", type="float32", nullable=True, meaning="mean human judgment, worse side"),
    Column(name="human_scale", type="string", nullable=True, meaning="scale of the human judgments"),
    Column(name="human_n", type="int32", nullable=True, meaning="number of raters"),
    Column(name="pair_id", type="string", nullable=True, meaning="id in the source"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row in the shared schema; `extra` holds the corpus's own declared columns."""

    item_id: str
    corpus: str
    subset: str
    language: str
    task: Task
    target_good: str
    target_bad: str | None = None
    context_good: str = ""
    context_bad: str | None = None
    phenomenon: str | None = None
    paradigm: str | None = None
    human_good: float | None = None
    human_bad: float | None = None
    human_scale: str | None = None
    human_n: int | None = None
    pair_id: str | None = None
    flags: tuple[str, ...] = ()
    extra: Mapping[str, Scalar] = field(default_factory=dict)

    def row(self) -> dict[str, Scalar | list[str]]:
        """Return the row as `datasets` takes it: shared columns, then flags, then the corpus's own."""
        shared: dict[str, Scalar | list[str]] = {column.name: getattr(self, column.name) for column in COLUMNS}
        return shared | {"flags": list(self.flags)} | dict(self.extra)
