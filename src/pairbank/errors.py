"""The errors pairbank raises. Each also fits the standard tree, so that `except ValueError` keeps working.

A message says which item or file, what was found, what was expected, and what to do about it.

What is raised over a study or a list of models.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


class PairbankError(Exception):
    """Base of all errors that pairbank raises on purpose. The command line prints them without a traceback."""


class CorpusError(PairbankError, ValueError):
    """A corpus file or row that cannot be accepted, with file, row and remedy."""


class CorpusFileNotFoundError(PairbankError, FileNotFoundError):
    """A corpus file that is neither on disk nor reachable, with where to get it."""


class OutputError(PairbankError, OSError):
    """A place that cannot be written to, with what stands there and what was expected."""


class UnknownNameError(PairbankError, ValueError):
    """A corpus, method, study or model name that does not exist, with the nearest known names."""


class ScoringError(PairbankError, ValueError):
    """An item that cannot be scored with this model: over-long, empty target, NaN log-probability."""


class ModelChangedError(ScoringError):
    """A server that answers with another model than the one that was loaded."""


class ModelLoadError(PairbankError, OSError):
    """A model that cannot be loaded, with what to do."""


class BankError(PairbankError, ValueError):
    """Tables that cannot stand in one bank, or a folder that is not a bank."""


class PluginError(PairbankError, ImportError):
    """A package that offers something to pairbank which cannot be had."""


class CheckoutError(PairbankError, ImportError):
    """A source tree in which the links to the four folders of the code are not links."""


class PublishError(PairbankError, RuntimeError):
    """A bank that the Hub did not take: refused, unreachable, or others have changed what would be replaced."""


MOST_KNOWN = 60
"""Names that an error about an unknown one lists; of more than these it lists the first dozen."""


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
    shown = [f"{entry} (of {packages[entry]})" if entry in packages else entry for entry in names]
    more = f" and {len(names) - 12} more" if len(names) > MOST_KNOWN else ""
    shown = shown[:12] if more else shown
    return UnknownNameError(f"no {kind} {name!r}{hint} Known: {', '.join(shown) or 'none'}{more}")


class StudyError(PairbankError, ValueError):
    """A study file that breaks the rules, or a study that cannot be run, with file, key and remedy."""
