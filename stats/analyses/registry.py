"""The analyses a report or a study can ask for by name: a name in, the function that makes the section out.

Ours, and those that installed packages offer (`pairbank.analyses`).
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from pairbank.errors import unknown_name
from pairbank.plugins import plugins, whose
from pairbank.stats.analyses.base import Analysis

ANALYSES: dict[str, str] = {
    "agreement_summary": "pairbank.stats.analyses.agreement_summary",
    "associations": "pairbank.stats.analyses.associations",
    "audit": "pairbank.stats.analyses.audit.section",
    "choice_likert": "pairbank.stats.analyses.choice_likert.section",
    "comparisons": "pairbank.stats.analyses.comparisons",
    "grammaticality": "pairbank.stats.analyses.grammaticality.section",
    "introspection": "pairbank.stats.analyses.introspection.section",
    "language_view": "pairbank.stats.analyses.language_view.section",
    "languages": "pairbank.stats.analyses.languages.section",
    "mixed": "pairbank.stats.analyses.mixed",
    "multiverse": "pairbank.stats.analyses.multiverse.section",
    "paradigms": "pairbank.stats.analyses.paradigms",
    "people": "pairbank.stats.analyses.people",
    "prompting": "pairbank.stats.analyses.prompting.section",
    "prediction": "pairbank.stats.analyses.prediction",
    "raters": "pairbank.stats.analyses.raters.section",
    "suites": "pairbank.stats.analyses.suites.section",
    "trajectories": "pairbank.stats.analyses.trajectories",
}
"""Name -> module with a function `section`."""


def analysis_named(name: str) -> Analysis:
    """Return an analysis.

    Raises:
        UnknownNameError: there is none of this name; the message has the nearest ones.
        PluginError: a package offers it, and it cannot be had.
    """
    if name in ANALYSES:
        return cast("Analysis", import_module(ANALYSES[name]).section)
    offered = plugins("analyses", taken=ANALYSES)
    if name not in offered:
        raise unknown_name("analysis", name, [*ANALYSES, *offered], whose=whose("analyses"))
    section = offered[name].load()
    if not callable(section):
        raise offered[name].problem(f"which is {section!r:.80}; expected a function that makes a section")
    return cast("Analysis", section)
