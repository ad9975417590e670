"""The gallery of figures is what the code draws."""

import re
import struct

import pytest

import gallery
from pairbank.stats.figures.style import named


@pytest.mark.ci
def test_the_page_is_what_is_made_today() -> None:
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(), "make gallery"


def test_each_figure_has_a_small_image_of_its_size() -> None:
    """Bytes differ between releases of matplotlib; a figure's size does not."""
    figures = {figure.name: figure for made in gallery.sections().values() for figure in made}
    assert {path.stem for path in gallery.IMAGES.iterdir()} == set(figures)
    assert set(re.findall(r"\(gallery/(.+?)\.png\)", gallery.page())) == set(figures)
    for name, figure in figures.items():
        image = (gallery.IMAGES / f"{name}.png").read_bytes()
        assert len(image) < 60_000, name
        width, height = struct.unpack(">II", image[16:24])
        with named(gallery.labels()):
            inches = figure.draw().get_size_inches()
        assert (width, height) == tuple(int(side * gallery.DPI + 1e-6) for side in inches), name
