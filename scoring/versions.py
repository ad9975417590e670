"""Versions of the rooms that make numbers. Stored scores are kept under them: raise one, and its numbers are made anew.

Raise a version when numbers move, and only then: a comment, a rename or a new method costs nobody a stored score.
`tests/scoring/test_golden_scores.py` fails when numbers move and the version does not.
"""

from __future__ import annotations

ENGINE_VERSION = 2
"""Of `engine/`: packing, forward passes, log-probabilities."""
MODELS_VERSION = 2
"""Of `models/`: tokens, their places, what a masked model or an encoder-decoder is shown, what identifies a model."""
METHODS_VERSION = 1
"""Of `methods/` and `prompts/`: requests to columns. A prompt's own words are in its hash."""
HIDDEN_STATES_VERSION = 1
"""Of `models/hidden_states.py`."""
WORDS_VERSION = 1
"""Of `words`, for models whose rotary embeddings or attention change at a length (`packing_window`)."""
