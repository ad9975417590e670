"""Flags of the shared schema's column `flags`: why a row needs care."""

from __future__ import annotations

IDENTICAL_SIDES = "identical_sides"
"""Flag: both sides are the same string; no choice can be scored."""
DUPLICATE_PAIR = "duplicate_pair"
"""Flag: the same two strings stand in an earlier row of the corpus."""
NOT_NFC = "not_nfc"
"""Flag: a text is not in Unicode normal form C (reported, never changed)."""
NO_TRUTH = "no_truth"
"""Flag: `good` is a label and neither side is right, so accuracy means nothing here."""
