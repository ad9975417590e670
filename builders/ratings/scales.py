"""Scales of ratings that are read as more than numbers."""

FORCED_CHOICE = "forced-choice"
"""Scale: whether the better side was chosen."""
