"""One look for all figures: in, what to draw; out, matplotlib figures and their PNG, SVG and PDF files.

Colours are Okabe and Ito's (safe for the colour-blind), on an opaque white ground, so that a figure reads the same
on a dark page. No global state of matplotlib is changed, and the same figure gives the same bytes.
"""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.errors import BankError
from pairbank.files import write_bytes
from pairbank.stats.figures.letters import fit_letters, warn_of_letters

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from pairbank.arrays import FloatArray

CAPTIONS = "captions.json"
"""Stands beside the files of figures: file name -> caption, for whoever shows them elsewhere."""

_NAMES: ContextVar[Mapping[str, str]] = ContextVar("_NAMES", default=MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of a report: drawn when it is saved."""

    name: str
    """File name without ending: `introspection_scatter`."""
    caption: str
    """A sentence or two that a reader can quote: what is shown, n, interval."""
    draw: Callable[[], Drawing] = field(repr=False)
    """Returns it as a figure of matplotlib."""


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D5D5D", "#8C6D1F")
INK, FAINT, CHANCE = "#222222", "#D9D9D9", "#8A8A8A"
DIVERGING = "RdBu"
"""Blue is high, red is low; white is the middle."""
SEQUENTIAL = "cividis"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LONGEST_LABEL = 44
MOST_TITLE_LINES = 4
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
    "axes.titleweight": "normal",  # a second weight doubles the time that fonts of PDF files take
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
    import matplotlib as mpl

    settings: Any = STYLE
    return mpl.rc_context(settings)


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

    Of long names of models the organisations go first, then the middle: names differ at the end.

    >>> label("two\nlines"), label("openai-community/gpt2 - EleutherAI/pythia-160m-deduped")
    ('two lines', 'gpt2 - pythia-160m-deduped')
    >>> label("x" * 60 + "-1b")[-5:], len(label("x" * 60))
    ('xx-1b', 44)
    """
    kept = _cleaned(str(text))
    if len(kept) > LONGEST_LABEL:
        kept = re.sub(r"[\w.-]+/(?=\w)", "", kept)
    half = LONGEST_LABEL // 2
    return kept if len(kept) <= LONGEST_LABEL else f"{kept[:half]}…{kept[half + 1 - LONGEST_LABEL :]}"


def heading(text: object, width: int = 40) -> str:
    r"""Return the title of a figure or panel, wrapped: a long one is not cut, nor runs into the next panel.

    >>> heading("a corpus with a very long name: one of its subsets", 24)
    'a corpus with a very\nlong name: one of its\nsubsets'
    """
    lines = [
        line
        for part in str(text).split("\n")
        for line in wrap(_cleaned(part), width, break_long_words=True, break_on_hyphens=True)
    ]
    return "\n".join(lines if len(lines) <= MOST_TITLE_LINES else [*lines[: MOST_TITLE_LINES - 1], "…"])


def _cleaned(text: str) -> str:
    shown = _NAMES.get().get(text, text)
    return "".join(" " if unicodedata.category(c)[0] == "C" else c for c in shown)


def reference(
    axes: Axes, *, x: float | None = None, y: float | None = None, diagonal: bool = False, dashed: bool = False
) -> None:
    """Draw where nothing is the case (no difference, chance, both the same): a dark line behind the data."""
    style: dict[str, Any] = {"color": INK, "linewidth": 1.1, "linestyle": "--" if dashed else "-", "zorder": 1.5}
    if x is not None:
        axes.axvline(x, **style)
    if y is not None:
        axes.axhline(y, **style)
    if diagonal:
        axes.axline((0, 0), slope=1, **style)


def line_looks(names: Sequence[Any]) -> dict[Any, dict[str, Any]]:
    """Return colour and marker by name: of few, colours that differ most; of many, one scale in their order."""
    if len(names) <= len(COLOURS):
        return {name: series_style(nth) | {"markersize": 4} for nth, name in enumerate(names)}
    from matplotlib import colormaps

    scale = colormaps["turbo"]
    colours = [scale(0.05 + 0.9 * nth / (len(names) - 1)) for nth in range(len(names))]
    return {
        name: {"color": colour, "marker": MARKERS[nth % len(MARKERS)], "markersize": 3, "linewidth": 1}
        for nth, (name, colour) in enumerate(zip(names, colours, strict=True))
    }


def grid(axes: Axes, *, axis: str) -> None:
    axes.set_axisbelow(True)
    getattr(axes, f"{axis}axis").grid(visible=True, color=FAINT, linewidth=0.7)


def levels(table: pd.DataFrame, column: str) -> list[Any]:
    if table.empty:
        raise BankError(f"no row to draw by {column}")
    return list(dict.fromkeys(table[column]))


def with_error(part: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return values, and how far their intervals reach below and above them, 0 where there is none."""
    value, low, high = (part[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
    return value, np.nan_to_num(np.clip(np.vstack([value - low, high - value]), 0, None))


def series_style(nth: int) -> dict[str, Any]:
    return {"color": COLOURS[nth % len(COLOURS)], "marker": MARKERS[nth % len(MARKERS)]}


def legend(made: Drawing, axes: Axes, n_series: int, *, title: str = "", least: int = 2) -> None:
    """Draw a legend below, of as many series at least, in as many columns as fit the width; its marks are opaque."""
    handles, names = axes.get_legend_handles_labels()
    if not handles or n_series < least:
        return
    longest = max(len(str(name)) for name in names)
    n_columns = max(1, int(made.get_figwidth() / (0.45 + 0.072 * longest)))
    drawn = made.legend(
        handles,
        names,
        loc="outside lower left",
        ncols=min(n_columns, n_series),
        fontsize=9 if n_series <= len(COLOURS) else 7.5,
        title=title or None,
        alignment="left",
    )
    for handle in drawn.legend_handles:
        if handle is not None:
            handle.set_alpha(1)


def save_figure(made: Drawing, path: Path, *, on_undrawn: Callable[[str], None] = warn_of_letters) -> list[Path]:
    """Write a figure as `path.png`, `path.svg` and `path.pdf`; return the paths. Equal figures give equal bytes.

    `on_undrawn` gets the letters that no installed font has.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with styled(), warnings.catch_warnings():
        # Letters that no font has are boxes in PNG and PDF (`on_undrawn` says so); SVG uses the reader's fonts.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        on_undrawn(fit_letters(made))
        # Places are found once, for all files: that takes longer than the drawing.
        made.set_dpi(DPI)
        if (engine := made.get_layout_engine()) is not None:
            engine.execute(made)
            made.set_layout_engine("none")
        # The canvases themselves, for savefig draws each file twice, the first time to find places.
        files: dict[str, tuple[Any, dict[str, Any]]] = {
            "png": (FigureCanvasAgg, {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": PNG_EFFORT}}),
            "svg": (FigureCanvasSVG, {"metadata": {"Date": None, "Creator": None}}),
            "pdf": (FigureCanvasPdf, {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}}),
        }
        paths = [path.with_name(f"{path.name}.{kind}") for kind in files]
        for target, (kind, (canvas, options)) in zip(paths, files.items(), strict=True):
            write, out = getattr(canvas(made), f"print_{kind}"), io.BytesIO()
            made.set_dpi(DPI)  # the canvases of vectors leave their own
            write(out, **options)
            write_bytes(target, out.getvalue())
        return paths


def save_bytes(made: Drawing, out: io.BytesIO) -> None:
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        fit_letters(made)
        made.savefig(out, format="png", dpi=SCREEN_DPI)
