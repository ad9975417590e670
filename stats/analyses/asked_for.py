"""An analysis as somebody asks for it: name, tables and options in, its section out, or a note why there is none.

Names and options are checked before anything is computed; options may be text, as the command line has them. Tables
that an analysis cannot use make a section that says so: no hours of scoring are lost to one question.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_type_hints

from pairbank.errors import BankError, unknown_name
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.registry import analysis_named
from pairbank.stats.scored_table.frame import ScoredFrame

_OF_EVERY_ANALYSIS = ("seed", "n_resamples")
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SPELLED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def checked_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an analysis, those given as text as what the analysis takes.

    Args:
        name: The analysis.
        options: Its own options by name; text is read as a number, true or false, or a list with commas.

    Raises:
        UnknownNameError: No such analysis, or it has no such option; the message has the nearest ones.
        BankError: A text that is no value of the option.

    >>> checked_options("comparisons", {})
    {}
    """
    analysis = analysis_named(name)
    parameters = inspect.signature(analysis).parameters.values()
    known = [x.name for x in parameters if x.kind is x.KEYWORD_ONLY and x.name not in _OF_EVERY_ANALYSIS]
    takes_any = any(x.kind is x.VAR_KEYWORD for x in parameters)
    for option in options:
        if option not in known and not takes_any:
            raise unknown_name(f"option of {name}", option, known)
    texts = [option for option, value in options.items() if isinstance(value, str) and option in known]
    hints = get_type_hints(analysis) if texts else {}
    return dict(options) | {option: _read(options[option], hints[option], f"{name}.{option}") for option in texts}


def takes(name: str, option: str) -> bool:
    """Return whether an analysis has an option.

    >>> takes("introspection", "features"), takes("paradigms", "features")
    (True, False)
    """
    return option in inspect.signature(analysis_named(name)).parameters


def _read(text: str, kind: Any, where: str) -> Any:  # noqa: ANN401 - an annotation in, a value of it out
    """Return a text as a value of a type.

    >>> _read("1e-3", float, "mixed.margin"), _read("a, b", tuple[str, ...], "mixed.methods"), _read("no", bool, "x.y")
    (0.001, ('a', 'b'), False)
    """
    if tuple[str, ...] in (kind, *get_args(kind)):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind not in _SPELLED:
        raise BankError(f"{where} cannot be given as text; give it from Python: pairbank.report(…, options=…)")
    try:
        return _TRUTHS[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        raise BankError(f"{where} is {text!r}; expected {_SPELLED[kind]}") from None


def section_or_note(
    name: str, tables: Sequence[ScoredFrame], *, seed: int, n_resamples: int, options: Mapping[str, Any]
) -> Section:
    """Return the section of an analysis, or one that says why these tables allow none.

    Args:
        name: The analysis.
        tables: Scored tables.
        seed: Of the bootstrap.
        n_resamples: Bootstrap resamples.
        options: The analysis's own, as `checked_options` gives them.
    """
    try:
        return analysis_named(name)(tables, seed=seed, n_resamples=n_resamples, **options)
    except BankError as error:
        said = f"`{name}` could not be computed: {error}."
        return Section(id=name, title=name.replace("_", " ").capitalize(), text=said, reason=str(error))
