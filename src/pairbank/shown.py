"""Text that somebody else wrote, shown to a person: in, any string; out, one that no terminal, editor or page obeys.

Tables keep every text byte for byte; this is for what is printed, reported and named.
"""

from __future__ import annotations

import json
import re
import unicodedata

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
"""Zero-width joiners are letters' business in Persian and Hindi, and turn nothing."""
_LINES = "\n\t"
_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")


def spelt_out(text: str) -> str:
    r"""Return a text with controls, direction marks and the like spelt out; line ends and tabs stay.

    >>> spelt_out("red \x1b[31m, left \u202e\n")
    'red [U+001B][31m, left [U+202E]\n'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(f"[U+{ord(c):04X}]" if _is_invisible(c) else c for c in text)


def spelt_in_json(document: str) -> str:
    r"""Return a JSON document with controls, direction marks and the like as escapes; it means the same.

    >>> spelt_in_json('["left \u202e 左"]')
    '["left \\u202e 左"]'
    """
    if _PLAIN.fullmatch(document):
        return document
    return "".join(json.dumps(c)[1:-1] if _is_invisible(c) else c for c in document)


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE and character not in _JOINERS and character not in _LINES
