"""What people are told: the errors that pairbank raises, and how texts of others are printed.

Each error also fits the standard tree, so that `except ValueError` keeps working. A message says which item or file,
what was found, what was expected, and what to do about it. A text that somebody else wrote is shown so that no
terminal, editor or page obeys it; tables keep every text byte for byte.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping

MOST_KNOWN = 60
"""Names that an error about an unknown one lists; of more than these it lists the first dozen."""

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
"""Zero-width joiners are letters' business in Persian and Hindi, and turn nothing."""
_LINES = "\n\t"
_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")


class PairbankError(Exception):
    """Base of all errors that pairbank raises on purpose. The command line prints them without a traceback."""


class CorpusError(PairbankError, ValueError):
    """A corpus file or row that cannot be accepted, with file, row and remedy."""


class CorpusFileNotFoundError(PairbankError, FileNotFoundError):
    """A corpus file that is neither on disk nor reachable, with where to get it."""


class OutputError(PairbankError, OSError):
    """A place that cannot be written to, with what is there and what was expected."""


class UnknownNameError(PairbankError, ValueError):
    """A corpus, method, study or model name that does not exist, with the nearest known names."""


class ScoringError(PairbankError, ValueError):
    """An item that cannot be scored with this model: over-long, empty target, NaN log-probability."""


class ModelChangedError(ScoringError):
    """A server that answers with another model than the one that was loaded."""


class ModelLoadError(PairbankError, OSError):
    """A model that cannot be loaded, with what to do."""


class BankError(PairbankError, ValueError):
    """Tables that cannot be in one bank, or a folder that is not a bank."""


class PluginError(PairbankError, ImportError):
    """A package that offers something to pairbank which cannot be had."""


class CheckoutError(PairbankError, ImportError):
    """A source tree in which the links to the four folders of the code are not links."""


class PublishError(PairbankError, RuntimeError):
    """A bank that the Hub did not take: refused, unreachable, or others have changed what would be replaced."""


def unknown_name(
    kind: str, name: str, known: Iterable[str], *, whose: Mapping[str, str] | None = None
) -> UnknownNameError:
    """Return an error that names the nearest known names, and the packages that those of other people come from.

    >>> print(unknown_name("corpus", "blmip", ["blimp", "li"]))
    no corpus 'blmip'; did you mean 'blimp'? Known: blimp, li
    >>> print(unknown_name("corpus", "x", ["li", "mine"], whose={"mine": "my-package"}))
    no corpus 'x'. Known: li, mine (of my-package)
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"; did you mean {' or '.join(repr(x) for x in near)}?" if near else "."
    packages = whose or {}
    shown = [
        f"{known_name} (of {packages[known_name]})" if known_name in packages else known_name for known_name in names
    ]
    more = f" and {len(names) - 12} more" if len(names) > MOST_KNOWN else ""
    shown = shown[:12] if more else shown
    return UnknownNameError(f"no {kind} {name!r}{hint} Known: {', '.join(shown) or 'none'}{more}")


class StudyError(PairbankError, ValueError):
    """A study file that breaks the rules, or a study that cannot be run, with file, key and remedy."""


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
