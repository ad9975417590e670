"""Figures have their letters: fonts are found for them, or the scripts that none has are named."""

import io
import logging
from pathlib import Path

import pandas as pd
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

from pairbank.stats.figures import letters
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.style import save_bytes, save_figure, styled

SCRIPTS = {"CJK": "一致", "HANGUL": "일치", "THAI": "ความ", "DEVANAGARI": "सहमति", "ETHIOPIC": "ስምምነት"}


def font_of(text: str, path: Path) -> Path:
    """Write a font that has the letters of a text, each of them a square."""
    pen = TTGlyphPen(None)
    for at, point in enumerate(((0, 0), (0, 500), (500, 500), (500, 0))):
        pen.lineTo(point) if at else pen.moveTo(point)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *(f"u{ord(letter):04X}" for letter in sorted(set(text)))]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({int(name[1:], 16): name for name in names[1:]})
    builder.setupGlyf(dict.fromkeys(names, square))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


@pytest.fixture
def only_dejavu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has matplotlib's own fonts alone."""
    own = [font for font in font_manager.fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    letters.fonts_with.cache_clear()


def chart(name: str) -> Figure:
    table = pd.DataFrame({"model": [name, "two"], "method": "m", "value": 0.5, "low": 0.4, "high": 0.6, "n": 8})
    with styled():
        return intervals(table, rows="model", series="method", x_label="accuracy", title=f"{name} and a title")


@pytest.mark.usefixtures("only_dejavu")
@pytest.mark.parametrize("script", SCRIPTS)
def test_letters_that_no_font_has_are_named_once_with_the_package_to_install(
    script: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        save_figure(chart(SCRIPTS[script]), tmp_path / "figure")
    [record] = caplog.records
    package = "fonts-noto-cjk" if script in {"CJK", "HANGUL"} else "fonts-noto-core"
    assert f"letters of {script.capitalize()} (" in record.getMessage()
    assert record.getMessage().count("(") == 2  # one script; the package
    assert f"apt-get install {package})" in record.getMessage()


@pytest.mark.usefixtures("only_dejavu")
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_font_that_is_installed_draws_them(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    font = font_of(SCRIPTS[script], tmp_path / f"Letters of {script}.ttf")
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(font)])
    drawn = chart(SCRIPTS[script])
    save_figure(drawn, tmp_path / "figure")
    assert not caplog.records
    assert all(text.get_fontfamily()[-1] == font.stem for text in drawn.findobj(Text))


@pytest.mark.usefixtures("only_dejavu")
def test_a_figure_in_letters_of_the_usual_font_is_left_as_it_is() -> None:
    drawn = chart("Größe, naïve, Ελληνικά, العربية")
    save_bytes(drawn, io.BytesIO())
    assert {tuple(text.get_fontfamily()) for text in drawn.findobj(Text)} == {("sans-serif",)}
