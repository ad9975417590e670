"""The columns of a method: their names, and what the numbers in its `logprobs` column mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray
from pairbank.builders.ratings import FORCED_CHOICE
from pairbank.declarations import STRICT, record_of
from pairbank.errors import BankError
from pairbank.scoring.api.requests import Edge

Side = Literal["good", "bad"]
SIDES: tuple[Side, ...] = ("good", "bad")
ColumnKind = Literal["float64", "int32", "list<float64>", "list<int32>", "list<string>"]
Kind = Literal["direct", "forced_choice", "judgment", "rating", "prediction"]
JUDGED = ("forced_choice", "judgment")
"""Kinds with a correct option in each presentation."""
NATS = "nats"
UNITS: Mapping[str, str] = {
    "mean_logprob": "nats per token",
    "slor": "nats per token",
    "slln_lp": "nats per square root of tokens",
}
"""Units of the linking functions that divide by a number of tokens; the others of ours are in nats."""


class _Column:
    """A method's column, whose suffix is the name of the attribute."""

    def __init__(self, kind: ColumnKind) -> None:
        self.kind = kind

    def __set_name__(self, _owner: type, name: str) -> None:
        self._suffix = name

    def __get__(self, columns: ScoreColumns, _owner: type) -> str:
        return f"{columns.method}_{self._suffix}"


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """The names of a method's columns; which of them it has, and in which order, the method says."""

    method: str

    good = _Column("float64")
    """Score of the better side, in nats unless the method says otherwise."""
    bad = _Column("float64")
    """Score of the worse side; null where there is none."""
    delta = _Column("float64")
    """Score of the better side - that of the worse one; null where there is one side."""
    good_n = _Column("int32")
    """Number of tokens scored of the better side."""
    bad_n = _Column("int32")
    """Number of tokens scored of the worse side."""
    good_tokens, bad_tokens = _Column("list<float64>"), _Column("list<float64>")
    good_offsets, bad_offsets = _Column("list<int32>"), _Column("list<int32>")
    good_ranks, bad_ranks = _Column("list<int32>"), _Column("list<int32>")
    good_before, bad_before = _Column("float64"), _Column("float64")
    good_after, bad_after = _Column("float64"), _Column("float64")
    by_region = _Column("list<float64>")
    """Log-probability of each region of a sentence, in nats."""
    logprobs = _Column("list<float64>")
    """Log-probabilities of all options, a flat list: presentations x options, row-major."""
    argmax_good, argmax_bad = _Column("float64"), _Column("float64")
    first_choice = _Column("float64")
    """Share of presentations in which the option shown first is the more probable."""
    answers = _Column("list<string>")
    """The option found in what the model wrote, a presentation."""
    draws = _Column("list<float64>")
    """Each sampled answer as a number, presentations x draws: 1 (yes, the better side), 0, or points; else NaN."""
    texts = _Column("list<string>")
    """What the model wrote, a presentation."""
    unparsed = _Column("int32")
    """Number of presentations that were answered without a valid answer."""
    flags = _Column("list<string>")
    """What to know of the item's scores."""

    def of(self, side: Side) -> str:
        """Return the column of a side's score."""
        return f"{self.method}_{side}"

    def tokens(self, side: Side) -> str:
        """Return the column of the log-probability of each token that is scored of a side."""
        return f"{self.method}_{side}_tokens"

    def offsets(self, side: Side) -> str:
        """Return the column of the characters of a side between which its tokens stand: one more than tokens."""
        return f"{self.method}_{side}_offsets"

    def ranks(self, side: Side) -> str:
        """Return the column of the rank of each token that is scored of a side, 1 for the most probable."""
        return f"{self.method}_{side}_ranks"

    def edge(self, side: Side, edge: Edge) -> str:
        """Return the column of the log-probability of a word's edge, before or after a side's target."""
        return f"{self.method}_{side}_{edge}"

    def argmax(self, side: Side) -> str:
        """Return the column of the most probable rating of a side."""
        return f"{self.method}_argmax_{side}"

    @property
    def all(self) -> tuple[str, ...]:
        """All columns that a method of ours may have."""
        return tuple(f"{self.method}_{suffix}" for suffix in _KINDS)

    def kinds(self, *columns: str) -> dict[str, ColumnKind]:
        """Return the types of some of these columns, in the order given."""
        return {column: _KINDS[column.removeprefix(f"{self.method}_")] for column in columns}


_KINDS = {name: column.kind for name, column in vars(ScoreColumns).items() if isinstance(column, _Column)}


def columns_of(
    methods: Iterable[str], columns: Iterable[str], *, declared: Mapping[str, Iterable[str]] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return which columns of a table are each method's, in its order: ours, and those that a signature declares."""
    names, by_method = tuple(columns), {}
    for method in methods:
        of_method = {*ScoreColumns(method).all, *(declared or {}).get(method, ())}
        by_method[method] = tuple(name for name in names if name in of_method)
    return by_method


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodLayout:
    """The presentations and answer options of one method, and which option is correct in each presentation.

    For a judgment the "yes" option is correct for the good sentence and the "no" option for the bad one, so
    that accuracy pooled over presentations is balanced accuracy.

    Raises:
        BankError: If the parts contradict each other.

    >>> layout = MethodLayout(method="meta", kind="forced_choice", presentations=("good first", "bad first"),
    ...                       options=("1", "2"), correct=(0, 1))
    >>> layout.reshape([[-1.0, -2.0, -3.0, -4.0]]).shape
    (1, 2, 2)
    """

    __pydantic_config__ = STRICT

    method: str
    """Name of the method, the prefix of its columns: `direct`, `meta_question_simple`."""
    kind: Kind
    """`direct` has no presentations; `forced_choice` shows both sides at once; `judgment` one at a time, and so does
    `rating`, on a scale; `prediction` asks for the one word of a one-sided item."""
    presentations: tuple[str, ...]
    """The ways one item is put to the model, in the column's order, e.g. `("good first", "bad first")`."""
    options: tuple[str, ...]
    """The answers compared in every presentation, in the order shown, e.g. `("1", "2")`, `("Yes", "No")`."""
    correct: tuple[int, ...]
    """For each presentation, the index of the option that counts as correct; empty for ratings and predictions."""
    first: tuple[int, ...] = ()
    """For each presentation, the index of the option that the prompt shows first; empty = always the first one."""
    sides: tuple[str, ...] = ()
    """For each presentation of a rating, the side that is rated: `good` or `bad`; also of judgments that are of single
    sentences alone."""
    accuracy: Literal["averaged", "pooled"] = "averaged"
    """The definition that the method's paper uses: of the averaged delta, or of all presentations pooled."""
    counterbalanced: bool = True
    """Whether exchanging good and bad flips the sign of delta, so that a position bias cancels."""
    asked: Literal["all", "one"] = "all"
    """Whether every item is asked in all presentations, or in one that the item decides (the others are NaN)."""
    readout: Literal["options", "generation", "decision"] = "options"
    """Whether the options' log-probabilities are read, the model writes its answer, or only its decision is known."""
    orders: Literal["known", "unknown"] = "known"
    """Whether it is known which option a presentation shows first; if not, there is no position bias to measure."""
    samples: Annotated[int, Ge(0)] = 0
    """Answers drawn to each presentation, which stand one after the other in the columns of answers and texts; 0 = one
    answer, greedily."""
    unit: str = ""
    """What scores and differences are measured in, where that does not follow from name, kind and readout."""
    label: str = ""
    """What people call the method, in tables and figures: `MetaQuestionSimple`; empty = its name."""
    of_probability: bool = False
    """Whether a decision is the side of higher probability, and not an answer to a prompt."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise BankError(f"{self.method}: kind is {self.kind!r}; expected one of {get_args(Kind)}")
        if self.kind == "direct":
            if self.presentations or self.options or self.correct:
                raise BankError(f"{self.method}: a direct method has no presentations, options or correct answers")
            return
        least_options = 1 if self.kind == "prediction" else 2
        for name, labels, least in (("presentations", self.presentations, 1), ("options", self.options, least_options)):
            if len(set(labels)) != len(labels) or len(labels) < least:
                raise BankError(f"{self.method}: {name} are {labels}; expected at least {least}, all different")
        self._check_indices("correct", self.correct, needed=self.is_judged)
        self._check_indices("first", self.first, needed=bool(self.first))
        known_sides = ({"good", "bad"}, {"good"})
        if self.kind == "rating" and (len(self.sides) != len(self.presentations) or set(self.sides) not in known_sides):
            raise BankError(f"{self.method}: sides are {self.sides}; expected good or bad for each presentation")

    def _check_indices(self, name: str, stated: tuple[int, ...], *, needed: bool) -> None:
        indices = range(len(self.options))
        if len(stated) != (len(self.presentations) if needed else 0) or any(i not in indices for i in stated):
            expected = f"one index below {len(self.options)} for each of the {len(self.presentations)} presentations"
            raise BankError(f"{self.method}: {name} is {stated}; expected {expected if needed else 'none'}")

    @property
    def columns(self) -> ScoreColumns:
        return ScoreColumns(self.method)

    @property
    def is_judged(self) -> bool:
        """Whether every presentation has a correct option."""
        return self.kind in JUDGED

    @property
    def n_of_a_sentence(self) -> int:
        """How many presentations a single sentence is asked in: those of the better side, one half where both are."""
        return self.sides.count("good") if self.sides else len(self.presentations) // 2

    @property
    def sides_shown(self) -> tuple[str, ...]:
        """The side that each presentation shows; of a forced choice the better one, as in the table of ratings."""
        if self.sides or self.kind not in ("judgment", "rating"):
            return self.sides or ("good",) * len(self.presentations)
        half = len(self.presentations) // 2
        return ("good",) * (len(self.presentations) - half) + ("bad",) * half

    @property
    def scale_of_draws(self) -> str:
        """The scale of sampled answers as numbers, named as in the table of ratings.

        >>> scale = MethodLayout(method="m", kind="rating", presentations=("a",), options=("1", "2", "3"), correct=(),
        ...                      sides=("good",))
        >>> scale.scale_of_draws
        'likert3'
        """
        if self.kind == "forced_choice":
            return FORCED_CHOICE
        if self.kind == "judgment":
            return "binary"
        is_likert = self.options == tuple(str(point) for point in range(1, len(self.options) + 1))
        return f"likert{len(self.options)}" if is_likert else f"{self.options[0]} to {self.options[-1]}"

    @property
    def has_logprobs(self) -> bool:
        return self.is_prompted and self.readout == "options"

    @property
    def has_decisions(self) -> bool:
        """Whether the method has an `_answers` column of decisions among its options, and no log-probabilities."""
        return self.is_judged and self.readout == "decision"

    @property
    def unit_in_words(self) -> str:
        """What the scores of the sides and their difference are measured in: the one table of units for all pages.

        >>> judge = MethodLayout(method="judge", kind="forced_choice", presentations=("a",), options=("1", "2"),
        ...                      correct=(0,), readout="decision")
        >>> judge.unit_in_words, judge.is_of_probability
        ('share of answers', False)
        """
        if self.unit:
            return self.unit
        if self.kind == "rating":
            return "points"
        if self.is_prompted and self.readout != "options":
            return "share of answers"
        return UNITS.get(self.method, NATS)

    @property
    def is_of_probability(self) -> bool:
        """Whether its scores are log-probabilities, or made of them: in nats, or nats per something."""
        return self.of_probability or self.unit_in_words.startswith(NATS)

    @property
    def is_answer(self) -> bool:
        return self.is_prompted and not self.of_probability

    @property
    def shown_first(self) -> tuple[int, ...]:
        """For each presentation, the index of the option that the prompt shows first."""
        return self.first or (0,) * len(self.presentations)

    @property
    def is_prompted(self) -> bool:
        return self.kind != "direct"

    def reshape(self, flat: ArrayLike) -> FloatArray:
        """Return the flat, row-major list column as an array of shape (items, presentations, options)."""
        shape = (len(self.presentations), len(self.options))
        width = shape[0] * shape[1]
        try:
            cells = np.asarray(flat)
            numbers = np.asarray(cells.tolist() if cells.dtype == object else cells, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BankError(f"{self.columns.logprobs}: expected lists of {width} numbers each") from error
        if numbers.shape == (0,):
            return np.empty((0, *shape))
        if numbers.ndim != 2 or numbers.shape[1] != width:
            raise BankError(
                f"{self.columns.logprobs} has shape {numbers.shape}; expected lists of {width} numbers each: "
                f"{shape[0]} presentations x {shape[1]} options"
            )
        return numbers.reshape(len(numbers), *shape)

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain JSON values (tuples become lists); what is as usual is left out."""
        usual = {field.name: field.default for field in fields(self) if field.default is not MISSING}
        values = {key: x for key, x in asdict(self).items() if key not in usual or x != usual[key]}
        return {key: list(x) if isinstance(x, tuple) else x for key, x in values.items()}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        return record_of(cls, table, where=f"method layout {table.get('method')!r}", error=BankError)
