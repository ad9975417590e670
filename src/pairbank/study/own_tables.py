"""What a user's own table adds to its scores: individual ratings beside them, a note where its sides seem exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.files import write_parquet
from pairbank.study.scored_files import ratings_file

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.scored import Scored


def save_ratings_beside(ratings: datasets.Dataset, scored: Sequence[Path]) -> list[Path]:
    """Write individual ratings beside the files of scored tables; return where."""
    beside = list(dict.fromkeys(ratings_file(path) for path in scored))
    for path in beside:
        write_parquet(path, ratings.with_format("arrow")[:])
    return beside


def exchanged_sides(corpus: str, scored: Scored, summary: pd.DataFrame) -> str:
    """Return what to type where direct accuracy is below one half, interval and all; "" = it is not."""
    from pairbank.builders.corpora.cells import line_to_type
    from pairbank.builders.corpora.registry import is_own
    from pairbank.builders.corpora.tabular import READ_AS

    of_all = summary[(summary["group_by"] == "all") & (summary["method"] == "direct")]
    if of_all[(of_all["metric"] == "accuracy") & (of_all["high"] < 0.5)].empty or not is_own(corpus):
        return ""
    facts = (scored.signature["corpus"].get("manifest") or {}).get("facts") or {}
    sides = [facts.get(READ_AS, {}).get(name) for name in ("target_bad", "target_good")]
    type_this = f": type {line_to_type(*map(str, sides))}" if all(sides) else ""
    return (
        f"note: by direct, {scored.model} prefers the worse sentence in most pairs. If your file has better and worse "
        f"the other way round, score it again{type_this}"
    )
