"""What a corpus is: a name, a source, its columns and a pure function from files to items."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pairbank.builders.ratings import ConstantRater, Rated, constant_raters, judged
from pairbank.builders.schema.columns import Column, Item, Task
from pairbank.builders.sources.source import LocatedFile, Source

RatedRows = Callable[[Mapping[str, LocatedFile], "BuildOptions"], Iterator[Rated]]
Rows = Callable[[Mapping[str, LocatedFile], "BuildOptions"], Iterator[Item]]
Metadata = Callable[[Mapping[str, LocatedFile]], Mapping[str, object]]
RATERS = "raters"
"""Among the facts of a manifest: how many people rated, and who was excluded and why; "" without individual ratings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """What a user may ask of any builder."""

    subset: str | None = None
    """Only this subset; None = all."""
    repair: bool = True
    """Whether documented defects of the source text are repaired (a column then has the original)."""


def no_metadata(_files: Mapping[str, LocatedFile]) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One corpus: facts about it, and `rows(files, options) -> Iterator[Item]`, which is pure."""

    name: str
    title: str
    description: str
    version: str
    """Raised when rows, columns or facts move: prepared rows are kept under it, and every signature names it."""
    languages: tuple[str, ...]
    tasks: tuple[Task, ...]
    n_items: int
    """Rows of the whole corpus, as pinned."""
    n_identical: int = 0
    """Rows whose two sides are the same string: no choice can be scored."""
    human: str
    """The human judgments it carries, in words; '' = none."""
    subsets: tuple[str, ...]
    source: Source
    rows: Rows
    extra_columns: tuple[Column, ...] = ()
    embedded: tuple[str, ...] = ()
    """Files that the package itself carries, by path under its folder `data` (ours: `builders/data`)."""
    package: str = "pairbank.builders"
    """The package that carries them."""
    metadata: Metadata = no_metadata
    """Facts about the corpus as a whole that go into its manifest (human agreement a paradigm …)."""
    folder: str = ""
    """Folder of its files under a root of corpora, where it does not have the corpus's name."""
    counted: bool = True
    """Whether `n_items` was counted in the pinned files; else it is the paper's number."""
    subset_files: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Subset -> the upstream files that hold it, so that one subset needs no other file."""
    n_by_subset: Mapping[str, int] = field(default_factory=dict)
    """Rows of each subset, where that is known: a part of the files gives the rows of its subsets."""
    own: bool = False
    """Whether it is a user's own table, so that what a reader does not see is flagged while it can be repaired."""
    rated: RatedRows | None = None
    """The items with every rating of theirs, where the source has individual raters."""

    @property
    def n_usable(self) -> int:
        """Rows that can be scored as a choice: all but those with identical sides."""
        return self.n_items - self.n_identical


def is_requested(subset: str, options: BuildOptions) -> bool:
    return options.subset is None or options.subset == subset


def item_of(path: tuple[str, str, object], good: str, bad: str | None = None, **cells: Any) -> Item:  # noqa: ANN401
    """Return a sentence, or a pair of them, as an item: in English, without context, unless `cells` say otherwise.

    >>> item_of(("mine", "all", 3), "A cat sleeps.", "A cat sleep.").item_id
    'mine/all/3'
    """
    usual = {"language": "en", "task": "sentence" if bad is None else "sentence_pair"}
    usual |= {} if bad is None else {"context_bad": ""}
    corpus, subset, number = path
    item_id = f"{corpus}/{subset}/{number}"
    return Item(item_id=item_id, corpus=corpus, subset=subset, target_good=good, target_bad=bad, **{**usual, **cells})


def items_of(rated: RatedRows) -> Rows:
    """Return the rows of a corpus of which a function yields items with their ratings: the items alone."""

    def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
        return (result.item for result in rated(files, options))

    return rows


def judged_items_of(
    rated: RatedRows, tell: Callable[[tuple[ConstantRater, ...]], object] = lambda _constant: None
) -> Rows:
    """Return the rows of a corpus whose source has individual ratings; constant raters are in no human judgment."""

    def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
        units, raters, scales = list[tuple[str, str]](), array("q"), list[str]()
        values, corpus = array("d"), ""
        for result in rated(files, options):
            corpus = result.item.corpus
            for rating in result.ratings:
                units.append((rating.item_id, rating.side))
                raters.append(rating.rater)
                values.append(rating.value)
                scales.append(rating.scale)
        constant = constant_raters(corpus, units, raters, values, scales)
        tell(constant)
        left_out = {rater.rater for rater in constant}
        for result in rated(files, options):
            kept = [rating for rating in result.ratings if rating.rater not in left_out]
            if len(kept) == len(result.ratings):
                yield result.item
            else:
                unjudged = replace(result.item, human_good=None, human_bad=None, human_scale=None, human_n=None)
                yield judged(unjudged, kept).item

    return rows
