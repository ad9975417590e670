"""One look for all figures: in, what to draw; out, matplotlib figures and their PNG, SVG and PDF files.

Colours are Okabe and Ito's (safe for the colour-blind), on an opaque white ground, so that a figure reads the same
on a dark page. No global state of matplotlib is changed, and the same figure gives the same bytes.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pairbank.errors import BankError
from pairbank.files import write_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D5D5D", "#8C6D1F")
INK, FAINT, CHANCE = "#222222", "#D9D9D9", "#8A8A8A"
DIVERGING = "RdBu"
"""Blue is high, red is low; white is the middle."""
SEQUENTIAL = "cividis"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LONGEST_LABEL = 44
_LEGEND_MARK, _LEGEND_LETTER = 0.62, 0.083
"""Widths in inches of a mark with its margins, and of a letter."""
DPI, SCREEN_DPI = 300, 110
ENDINGS = ("png", "svg", "pdf")
SINGLE, DOUBLE = 3.5, 7.2
"""Widths in inches of figures that fill one column of a journal's page, or both."""
PNG_EFFORT = 3
"""Of compression, 0 to 9: half the time of the usual 6, files a tenth larger."""
STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "pairbank",
}


def drawing(width_inches: float, height_inches: float) -> Drawing:
    """Return an empty figure; call it inside `styled()`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches), layout="constrained")


def styled() -> Any:  # noqa: ANN401 - a context manager of matplotlib's
    """Return a context in which new artists have our style."""
    import matplotlib as mpl

    settings: Any = STYLE
    return mpl.rc_context(settings)


_NAMES: ContextVar[Mapping[str, str]] = ContextVar("_NAMES", default=MappingProxyType({}))


@contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Let labels stand for names, in what is drawn inside: `{"meta_question_simple": "MetaQuestionSimple"}`."""
    before = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(before)


def label(text: object) -> str:
    r"""Return a text that is short enough for an axis, on one line, by the name that people call it.

    >>> label("x" * 60)[-3:], label("two\nlines")
    ('xx…', 'two lines')
    """
    shown = _NAMES.get().get(str(text), str(text))
    kept = "".join(" " if unicodedata.category(c)[0] == "C" else c for c in shown)
    return kept if len(kept) <= LONGEST_LABEL else kept[: LONGEST_LABEL - 1] + "…"


def grid(axes: Axes, *, axis: str) -> None:
    """Draw faint lines behind the data along one axis (`x` or `y`)."""
    axes.set_axisbelow(True)
    getattr(axes, f"{axis}axis").grid(visible=True, color=FAINT, linewidth=0.7)


def levels(table: pd.DataFrame, column: str) -> list[Any]:
    """Return the values of a column in order of appearance.

    Raises:
        BankError: The table is empty.
    """
    if table.empty:
        raise BankError(f"no row to draw by {column}")
    return list(dict.fromkeys(table[column]))


def series_look(nth: int) -> dict[str, Any]:
    """Return colour and marker of a series."""
    return {"color": COLOURS[nth % len(COLOURS)], "marker": MARKERS[nth % len(MARKERS)]}


def legend(made: Drawing, axes: Axes, n_series: int) -> None:
    """Draw a legend below, where there are two series or more; its marks are opaque."""
    if n_series > 1:
        handles, names = axes.get_legend_handles_labels()
        longest = max((len(str(name)) for name in names), default=0)
        n_that_fit = int(made.get_figwidth() / (_LEGEND_MARK + _LEGEND_LETTER * longest))
        drawn = made.legend(handles, names, loc="outside lower left", ncols=max(1, min(4, n_series, n_that_fit)))
        for handle in drawn.legend_handles:
            if handle is not None:
                handle.set_alpha(1)


def save_figure(made: Drawing, path: Path) -> list[Path]:
    """Write a figure as `path.png`, `path.svg` and `path.pdf`; return the paths. Equal figures give equal bytes."""
    written = []
    formats: tuple[tuple[str, dict[str, Any]], ...] = (
        ("png", {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": PNG_EFFORT}}),
        ("svg", {"metadata": {"Date": None, "Creator": None}}),
        ("pdf", {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}}),
    )
    with styled(), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes in the PNG; the SVG leaves it to the reader's fonts.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        # Places are found once, for both files: that takes longer than the drawing.
        if (engine := made.get_layout_engine()) is not None:
            made.set_dpi(DPI)
            engine.execute(made)
            made.set_layout_engine("none")
        for ending, options in formats:
            out = io.BytesIO()
            made.savefig(out, format=ending, dpi=DPI, **options)
            target = path.with_name(f"{path.name}.{ending}")
            write_bytes(target, out.getvalue())
            written.append(target)
    return written


def save_bytes(made: Drawing, out: io.BytesIO) -> None:
    """Write a figure as PNG for a screen."""
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        made.savefig(out, format="png", dpi=SCREEN_DPI)
