"""Figures: drawn from tidy tables, with hostile labels, the same bytes each time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from pairbank.errors import BankError
from pairbank.stats.figures.charts import areas, curve_panels, curves, heat_map, intervals, roc_curves, roc_panels
from pairbank.stats.figures.models import EMPTY, FEW, grouped_map
from pairbank.stats.figures.scatters import scatter
from pairbank.stats.figures.style import INK, save_bytes, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = ["<script>x</script>", r"$\frac{1}{0$", "a" * 300, "two\nlines\x07", "模型", "\u202egpt2"]


def _table() -> pd.DataFrame:
    rows = [
        {"model": name, "method": method, "bin": nth, "value": 0.5 + nth / 20, "low": 0.4, "high": 0.9}
        for nth, name in enumerate(HOSTILE)
        for method in ("direct", "meta")
    ]
    rows[3]["value"] = rows[3]["low"] = rows[3]["high"] = np.nan
    return pd.DataFrame(rows)


def _drawn() -> dict[str, Figure]:
    table = _table()
    matrix = pd.DataFrame(np.linspace(-1, 1, 36).reshape(6, 6), index=HOSTILE, columns=HOSTILE)
    matrix.iloc[0, 1] = np.nan
    return {
        "intervals": intervals(table, rows="model", series="method", x_label="accuracy", title=HOSTILE[1], chance=0.5),
        "heat_map": heat_map(matrix, value_label="r", limits=(-1, 1)),
        "grouped_map": grouped_map(
            matrix.abs(), matrix * 0 + 20, row_groups=["a", "a", *HOSTILE[:4]], column_groups=HOSTILE, value_label="r"
        ),
        "scatter": scatter(table, x="value", y="bin", x_label="$x", y_label="y", series="model", signs=True),
        "curves": curves(table, x="bin", series="method", x_label="bin", y_label="r", chance=0.5),
        "roc": roc_curves({HOSTILE[0]: ([0, 0.2, 1], [0, 0.7, 1])}),
    }


@pytest.mark.ci
def test_every_kind_is_saved_as_png_svg_and_pdf_with_equal_bytes_each_time(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    for name in ("first", "second"):
        for kind, figure in _drawn().items():
            png, svg, pdf = save_figure(figure, tmp_path / name / kind)
            assert pdf.read_bytes().startswith(b"%PDF")
            assert png.read_bytes().startswith(b"\x89PNG")
            assert ET.parse(svg).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name
    assert dict(mpl.rcParams) == before


def test_the_axis_shows_names_and_values_of_the_table() -> None:
    axes = _drawn()["intervals"].axes[0]
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert shown[:3] == [HOSTILE[0], HOSTILE[1], "a" * 22 + "…" + "a" * 21]
    drawn = [np.asarray(line.get_xdata(), dtype=np.float64) for line in axes.lines if np.size(line.get_xdata()) > 2]
    np.testing.assert_allclose(drawn[0], 0.5 + np.arange(6) / 20)
    assert drawn[1].size == 5


def test_nothing_to_draw_is_an_error() -> None:
    empty = _table().iloc[:0]
    with pytest.raises(BankError, match="no row"):
        intervals(empty, rows="model", series="method", x_label="accuracy")
    with pytest.raises(BankError, match="no cell"):
        heat_map(pd.DataFrame(), value_label="r", limits=(-1, 1))
    with pytest.raises(BankError, match="no point"):
        scatter(empty, x="value", y="bin", x_label="x", y_label="y")
    with pytest.raises(BankError, match="no curve"):
        roc_curves({})


def test_a_pdf_has_its_fonts_as_true_type_and_an_svg_its_text_as_text(tmp_path: Path) -> None:
    png, svg, pdf = save_figure(_drawn()["intervals"], tmp_path / "figure")
    assert b"/CIDFontType2" in pdf.read_bytes()
    assert b"/Type3" not in pdf.read_bytes()
    assert ">accuracy</text>" in svg.read_text()
    image = mpl.image.imread(png)
    assert image.shape[1] == 2160  # 7.2 inches at 300 dpi


def test_a_long_title_is_wrapped_and_no_label_leaves_the_figure() -> None:
    title = "a corpus that has a long name: " + "one of its subsets, of which there are many; " * 2
    table = _table()
    names = [f"meta-llama/Llama-3.{nth}-70B-Instruct-with-a-long-name" for nth in range(6)]
    table["model"] = np.repeat(names, 2)
    drawn = [
        intervals(table, rows="model", series="method", x_label="accuracy", title=title, chance=0.5),
        curve_panels(
            table.assign(method=title), x="bin", panel="method", series="model", x_label="bin", y_label="r", zero=True
        ),
        areas(table.assign(corpus=table["model"]), x_label="area under the ROC curve"),
        roc_panels(
            pd.DataFrame({"model": names, "method": "m", "false_positive_rate": 0.5, "true_positive_rate": 0.7}),
            title=title,
        ),
    ]
    for figure in drawn:
        save_bytes(figure, io.BytesIO())
        box = figure.bbox
        legends = [figure.legends[0].get_window_extent()] if figure.legends else []
        labels = [axes.xaxis.label.get_window_extent() for axes in figure.axes if axes.get_xlabel()]
        texts = figure.findobj(Text)
        headings = [text.get_window_extent() for text in texts if title[:12] in text.get_text()]
        for extent in [*legends, *labels, *headings]:
            assert box.x0 - 1 <= extent.x0 <= extent.x1 <= box.x1 + 1
            assert box.y0 - 1 <= extent.y0 <= extent.y1 <= box.y1 + 1
        assert not any(legend.overlaps(one) for legend in legends for one in labels)


def test_a_difference_has_a_dark_line_at_zero_and_chance_a_dashed_one() -> None:
    table = _table()
    for at, style in ((0.0, "-"), (0.5, "--")):
        axes = intervals(table, rows="model", series="method", x_label="r", chance=at).axes[0]
        (line,) = [one for one in axes.lines if list(np.asarray(one.get_xdata())) == [at, at]]
        assert (line.get_color(), line.get_linestyle()) == (INK, style)
    axes = curves(table, x="bin", series="method", x_label="bin", y_label="r").axes[0]
    assert all(line.get_color() != INK for line in axes.lines)  # none where none is asked for


def test_a_cell_of_few_items_is_pale_one_without_is_grey_and_groups_are_named_once() -> None:
    matrix = pd.DataFrame([[0.9, 0.9], [np.nan, 0.1]], index=["de", "tr"], columns=["one", "two"])
    counts = pd.DataFrame([[FEW, FEW - 1], [0, FEW]])
    axes = grouped_map(matrix, counts, row_groups=["Germanic", "Turkic"], value_label="accuracy").get_axes()[0]
    (image,) = axes.get_images()
    cells = np.asarray(image.get_array())
    assert (cells[0, 1, :3] > cells[0, 0, :3]).all()
    assert tuple(cells[1, 0]) == EMPTY
    assert [text.get_text() for text in axes.texts] == ["0.90", "0.90", "0.10"]
    (right,) = axes.child_axes
    assert [text.get_text() for text in right.get_yticklabels()] == ["Germanic", "Turkic"]
    with pytest.raises(BankError, match="no cell to draw"):
        grouped_map(pd.DataFrame(), pd.DataFrame(), row_groups=[], value_label="accuracy")
