"""What is raised over a study or a list of models."""

from __future__ import annotations

from pairbank.errors import PairbankError


class StudyError(PairbankError, ValueError):
    """A study file that breaks the rules, or a study that cannot be run, with file, key and remedy."""
