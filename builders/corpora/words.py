"""What needs care in a single word to be predicted: in, a prefix and its continuation; out, flags."""

from __future__ import annotations

NOT_ALPHANUMERIC = "continuation_not_alphanumeric"
"""Flag: the word carries punctuation (`more)`, `$100`), which the model has to predict too."""
UNTRIMMED_PREFIX = "untrimmed_prefix"
"""Flag: white space at an end of the prefix; with the space before the word there are two."""


def word_flags(prefix: str, *continuations: str) -> tuple[str, ...]:
    """Return what needs care in a prefix and the words that may follow it.

    >>> word_flags("It costs", "$100"), word_flags("It costs ", "ten", "eleven")
    (('continuation_not_alphanumeric',), ('untrimmed_prefix',))
    """
    flags = []
    if not all(word.isalnum() for word in continuations):
        flags.append(NOT_ALPHANUMERIC)
    if prefix != prefix.strip():
        flags.append(UNTRIMMED_PREFIX)
    return tuple(flags)
