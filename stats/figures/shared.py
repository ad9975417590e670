"""What the figures of several analyses share: in, tidy tables; out, figures, file names and words for their captions.

One model is drawn with its intervals; several models are lines of their own, never their mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from pairbank.files import sha256_of_text
from pairbank.stats.figures.charts import MOST_BANDS, curve_panels, curves
from pairbank.stats.figures.style import Figure

T = TypeVar("T")
MOST_SERIES = 8
"""Colours that can be told apart."""
MOST_LINES = 24
"""Lines of an interval plot that fit a page."""
MOST_CELLS = 30
"""Rows or columns of a heat map whose numbers can be read."""
LONGEST_NAME = 80


def file_name(*parts: object) -> str:
    """Return a file name without ending from labels that may hold anything.

    A hash keeps apart what would be alike once letters that are not ASCII, or a long end, are gone.

    >>> file_name("people", "li: adger", "a/b")
    'people_li_adger_a_b'
    >>> file_name("accuracy", "\u4e2d"), file_name("accuracy", "\u6587")
    ('accuracy_83016d78', 'accuracy_af86c534')
    """
    text = " ".join(str(part) for part in parts)
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-._") else " " for c in text)
    name = "_".join(kept.split()).strip(".")
    if text.isascii() and len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9].strip('.')}_{sha256_of_text(text)[:8]}"


def bin_figures(binned: pd.DataFrame, *, section: str, y_label: str) -> Iterator[Figure]:
    """Yield the curve of r over bins of minimalness, for each corpus and distance: of several models each has a line.

    Args:
        binned: Long table with the columns of the summary and `subset`, `bin`.
        section: Prefix of the file names.
        y_label: What r is between.
    """
    for (corpus, subset, distance), part in binned.groupby(["corpus", "subset", "group_by"], sort=False):
        methods = list(dict.fromkeys(part["method"]))[:MOST_SERIES]
        selected = part[part["method"].isin(methods)]
        if not selected["value"].notna().any():
            continue
        description, where, n_models = (
            str(distance).replace("_", " "),
            place_text(corpus, subset),
            selected["model"].nunique(),
        )
        style: dict[str, Any] = {"x": "bin_median", "x_label": f"{description} (median of bin)", "y_label": y_label}
        if n_models == 1:
            draw = partial(curves, selected, series="method", title=where, chance=0, **style)
        else:
            draw = partial(curve_panels, selected, panel="method", series="model", zero=True, **style)
        lines = "" if n_models == 1 else f" A line is one of {n_models} models."
        bands = (
            f" {'Bands' if n_models == 1 else 'Vertical lines'} are 95% intervals." if n_models <= MOST_BANDS else ""
        )
        yield Figure(
            name=file_name(section, "bins", where, distance),
            caption=(
                f"{y_label} within bins of equal size by the {description} of the two sides, at each bin's median "
                f"({where}, {n_text(selected['n'])} a bin).{lines}{bands}"
            ),
            draw=draw,
        )


def pages(models: Sequence[T], most: int) -> Iterator[tuple[int, list[T]]]:
    """Yield models in groups of about the same size, with the number of each: so many stand in one figure.

    >>> list(pages("abcde", 4))
    [(1, ['a', 'b']), (2, ['c', 'd', 'e'])]
    """
    n_pages = -(-len(models) // most)
    for nth in range(n_pages):
        yield nth + 1, list(models[nth * len(models) // n_pages : (nth + 1) * len(models) // n_pages])


def place_text(corpus: object, subset: object) -> str:
    """Return the name of a corpus, or of one of its subsets."""
    return f"{corpus}: {subset}" if subset else str(corpus)


def first_cells(matrix: pd.DataFrame) -> pd.DataFrame:
    """Return as many of the first rows and columns as a heat map can show with numbers that can be read."""
    return matrix.iloc[:MOST_CELLS, :MOST_CELLS]


def n_text(n: pd.Series[int]) -> str:
    """Return how many items some numbers rest on.

    >>> n_text(pd.Series([1000, 900]))
    'n = 900 to 1,000'
    """
    least, most = int(n.min()), int(n.max())
    return f"n = {least:,}" if least == most else f"n = {least:,} to {most:,}"
