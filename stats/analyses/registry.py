"""An analysis as somebody asks for it: name, tables and options in, its section out, or a note why there is none.

Names and options are checked before anything is computed; options may be text, as the command line has them. Tables
that an analysis cannot use make a section that says so: no hours of scoring are lost to one question.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, cast, get_args, get_type_hints

from pairbank.errors import BankError, unknown_name
from pairbank.plugins import package_names, plugins
from pairbank.stats.analyses.base import Analysis, Context, Fact, Section, facts_read
from pairbank.stats.scored_table.method_scores import ScoredFrame

ANALYSES: dict[str, str] = {
    "agreement_summary": "pairbank.stats.analyses.agreement_summary",
    "associations": "pairbank.stats.analyses.associations",
    "audit": "pairbank.stats.analyses.audit.section",
    "base_instruct": "pairbank.stats.analyses.base_instruct",
    "choice_likert": "pairbank.stats.analyses.choice_likert",
    "comparisons": "pairbank.stats.analyses.comparisons",
    "context": "pairbank.stats.analyses.context",
    "design": "pairbank.stats.analyses.design",
    "grammaticality": "pairbank.stats.analyses.grammaticality.section",
    "introspection": "pairbank.stats.analyses.introspection.section",
    "items": "pairbank.stats.analyses.items",
    "language_view": "pairbank.stats.analyses.language_view",
    "languages": "pairbank.stats.analyses.languages.section",
    "linking": "pairbank.stats.analyses.linking",
    "mixed": "pairbank.stats.analyses.mixed",
    "multiverse": "pairbank.stats.analyses.multiverse.section",
    "neuro": "pairbank.stats.analyses.neuro",
    "null_models": "pairbank.stats.analyses.baselines",
    "paradigms": "pairbank.stats.analyses.paradigms",
    "participants": "pairbank.stats.analyses.participants",
    "people": "pairbank.stats.analyses.people",
    "prompting": "pairbank.stats.analyses.prompting.section",
    "prediction": "pairbank.stats.analyses.prediction",
    "reading": "pairbank.stats.analyses.reading",
    "represented": "pairbank.stats.analyses.represented",
    "raters": "pairbank.stats.analyses.raters.section",
    "self_agreement": "pairbank.stats.analyses.self_agreement",
    "self_prediction": "pairbank.stats.analyses.self_prediction",
    "suites": "pairbank.stats.analyses.suites.section",
    "trajectories": "pairbank.stats.analyses.trajectories",
}
"""Name -> module with a function of this name."""

_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SPELLED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def analysis_named(name: str) -> Analysis:
    """Return an analysis."""
    if name in ANALYSES:
        return cast("Analysis", getattr(import_module(ANALYSES[name]), name))
    offered = plugins("analyses", taken=ANALYSES)
    if name not in offered:
        raise unknown_name("analysis", name, [*ANALYSES, *offered], whose=package_names("analyses"))
    section = offered[name].load()
    if not callable(section):
        raise offered[name].problem(f"which is {section!r:.80}; expected a function that makes a section")
    return cast("Analysis", section)


def checked_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an analysis, those given as text as what the analysis takes.

    >>> checked_options("comparisons", {})
    {}
    """
    analysis = analysis_named(name)
    parameters = inspect.signature(analysis).parameters.values()
    facts = facts_read(analysis)
    known = [*facts, *(x.name for x in parameters if x.kind is x.KEYWORD_ONLY)]
    takes_any = any(x.kind is x.VAR_KEYWORD for x in parameters)
    for option in options:
        if option not in known and not takes_any:
            raise unknown_name(f"option of {name}", option, known)
    texts = [option for option, value in options.items() if isinstance(value, str) and option in known]
    hints: dict[str, Any] = {}
    if texts:  # the types of the options alone: other types of an analysis may be imported for type checking only
        annotations = {x.name: x.annotation for x in parameters if x.kind is x.KEYWORD_ONLY}
        declared = type("Options", (), {"__annotations__": annotations})
        hints = get_type_hints(declared, globalns=vars(sys.modules[inspect.unwrap(analysis).__module__]))
        hints |= dict.fromkeys(("ratings", "mean_ratings"), tuple[str, ...])
    read = {option: _read(options[option], hints.get(option), f"{name}.{option}") for option in texts}
    return dict(options) | read


def reads_fact(name: str, fact: Fact) -> bool:
    """Return whether an analysis reads a fact of the context.

    >>> reads_fact("introspection", "features"), reads_fact("paradigms", "features")
    (True, False)
    """
    return fact in facts_read(analysis_named(name))


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
    name: str, tables: Sequence[ScoredFrame], context: Context, *, options: Mapping[str, Any]
) -> Section:
    """Return the section of an analysis, or one that says why these tables allow none."""
    analysis = analysis_named(name)
    facts: dict[str, Any] = {fact: options[fact] for fact in facts_read(analysis) if fact in options}
    others = {option: value for option, value in options.items() if option not in facts}
    try:
        return analysis(tables, replace(context, **facts), **others)
    except BankError as error:
        message = f"`{name}` could not be computed: {error}."
        return Section(id=name, title=name.replace("_", " ").capitalize(), text=message, reason=str(error))
