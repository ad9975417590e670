"""Text and numbers for the page: in, anything a corpus may hold; out, HTML that shows it and does nothing else.

Every string that comes from a file or a link passes through `esc` or a function that calls it.
"""

from __future__ import annotations

import difflib
import html
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

LONGEST_DIFFED = 600
"""Characters; longer texts are shown without marking what differs."""
MOST_COMPARED = 60
"""Words, or characters of scripts without spaces: of longer texts the fewest edits are marked, which takes no longer
where everything repeats; of shorter ones the longest pieces in common are kept, which reads better."""
_CONTROL = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_PIECES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|\w+|\s+|[^\w\s]")


def esc(text: object) -> str:
    """Return text as HTML, in elements and in quoted attributes; control characters become visible pictures.

    >>> esc('<b onclick="x">&' + chr(0))
    '&lt;b onclick=&quot;x&quot;&gt;&amp;␀'
    """
    return html.escape(str(text).translate(_CONTROL), quote=True)


def identifier(name: str) -> str:
    """Return a name in code as HTML that may be broken after an underscore.

    >>> identifier("meta_question")
    '<code>meta_<wbr>question</code>'
    """
    return f"<code>{esc(name).replace('_', '_<wbr>')}</code>"


def clipped(text: str, limit: int) -> str:
    """Return at most `limit` characters, an ellipsis included.

    >>> clipped("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def isolated(text: str, language: str = "") -> str:
    """Return text in an element of its own direction, so that right-to-left text and overrides end with it.

    >>> isolated("a < b", "en")
    '<bdi lang="en">a &lt; b</bdi>'
    """
    lang = f' lang="{esc(language)}"' if language else ""
    return f"<bdi{lang}>{esc(text)}</bdi>"


def both_marked(good: str, bad: str, language: str = "") -> list[str]:
    """Return the good and the bad text as HTML with the words that differ marked.

    >>> both_marked("The cat sleeps.", "The cat sleep.")[1]
    '<bdi>The cat <mark>sleep</mark>.</bdi>'
    """
    if max(len(good), len(bad)) > LONGEST_DIFFED:
        return [isolated(good, language), isolated(bad, language)]
    lang = f' lang="{esc(language)}"' if language else ""
    a, b = _PIECES.findall(good), _PIECES.findall(bad)
    left, right = [], []
    for kind, i0, i1, j0, j1 in _edits(a, b):
        left.append(_piece("".join(a[i0:i1]), same=kind == "equal"))
        right.append(_piece("".join(b[j0:j1]), same=kind == "equal"))
    return [f"<bdi{lang}>{''.join(parts)}</bdi>" for parts in (left, right)]


def _edits(a: list[str], b: list[str]) -> Iterable[tuple[str, int, int, int, int]]:
    """Return what turns a into b, as difflib has it: kind, start and end in a, start and end in b."""
    if max(len(a), len(b)) <= MOST_COMPARED:
        return difflib.SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes()
    return (
        (edit.tag, edit.src_start, edit.src_end, edit.dest_start, edit.dest_end) for edit in Levenshtein.opcodes(a, b)
    )


def _piece(text: str, *, same: bool) -> str:
    inner = text.strip()
    if same or not inner:
        return esc(text)
    before, _, after = text.partition(inner)
    return f"{esc(before)}<mark>{esc(inner)}</mark>{esc(after)}"


def share(value: float, digits: int = 2) -> str:
    """Return a share or a correlation without its leading zero, with a true minus.

    >>> share(0.716), share(-0.1), share(1.0), share(float("nan"))
    ('.72', '−.10', '1.00', '–')
    """
    if math.isnan(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0") else text)


def interval(low: float, high: float) -> str:
    """Return an interval in brackets; empty where there is none.

    >>> interval(0.7, 0.741), interval(float("nan"), float("nan"))
    ('[.70, .74]', '')
    """
    return "" if math.isnan(low) else f"[{share(low)}, {share(high)}]"


def nats(value: float) -> str:
    """Return a difference in nats with its sign.

    >>> nats(6.398), nats(-0.01), nats(6.7e-05), nats(0.0), nats(float("nan"))
    ('+6.40', '−0.01', '+7e−05', '0.00', '–')
    """
    if math.isnan(value):
        return "–"
    if value == 0:
        return "0.00"
    text = f"{value:+.1g}" if abs(value) < 0.005 else f"{value:+.2f}"
    return text.replace("-", "−")


def logprob(value: float) -> str:
    """Return a log-probability or a score in nats.

    >>> logprob(-64.6708)
    '−64.67'
    """
    return "–" if math.isnan(value) else f"{value:.2f}".replace("-", "−")


def count(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "model"), count(1048, "item")
    ('1 model', '1,048 items')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def words(name: str) -> str:
    """Return a column's or a value's name for people.

    >>> words("negative_type")
    'negative type'
    """
    return name.replace("_", " ")


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers within a range, at most about `most`.

    >>> nice_ticks(-3.2, 11.0)
    [0.0, 5.0, 10.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * k for k in (1, 2, 5, 10, 20) if span / (power * k) <= most)
    first = math.ceil(low / step)
    return [k * step + 0.0 for k in range(first, math.floor(high / step) + 1)]


def tick_text(value: float, ticks: Sequence[float]) -> str:
    """Return a tick's label with as many decimals as its neighbours need.

    >>> tick_text(-0.5, [-0.5, 0.0, 0.5]), tick_text(10.0, [0.0, 10.0])
    ('−0.5', '10')
    """
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, -math.floor(math.log10(step))) if step > 0 else 0
    return f"{value:.{digits}f}".replace("-", "−")
