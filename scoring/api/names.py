"""Names that all rooms of scoring share, and statistics with them: methods, how they are asked, and flags.

A flag stands in a method's `flags` column of an item, and is counted in the table's signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DIRECT, DIRECT_WB, PMI, REGIONS = "direct", "direct_wb", "pmi", "regions"
PROBE_GRAMMAR, PROBE_GRAMMAR_NULL = "probe_grammar", "probe_grammar_null"
PROBES = (PROBE_GRAMMAR, PROBE_GRAMMAR_NULL)
"""Methods that other rooms treat in a way of their own."""
SENTENCE: Final = "sentence"
"""The task of a single labelled or rated sentence: it is scored and asked about as the better side of a pair is."""
MOST_SHOTS = 8
BOUNDARY_MERGE = "boundary_merge"
"""Flag: a token spans the join of context and target; it is scored with the target. Or the target's first characters
are in no token of their own: the tokenizer composed them with the context, or dropped them."""
FIRST_TOKEN_UNSCORED = "first_token_unscored"  # noqa: S105 - not a password
"""Flag: no BOS, so the first token has no probability and is left out."""
IDENTICAL_TOKENS = "identical_tokens"
"""Flag: both sides have the same token ids; their difference is 0 by construction."""
OVER_LENGTH = "over_length"
"""Flag: longer than the model's context; the scores are NaN, as the user asked."""
UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - not a password
"""Flag: the tokenizer has no token for some of the target; its unknown token is scored in that place."""
SPECIAL_TOKEN = "special_token"  # noqa: S105 - not a password
"""Flag: the text holds characters (`<s>`, say) that the tokenizer reads as one of its special tokens."""
NO_WORD_BOUNDARY = "no_word_boundary"
"""Flag: the target does not begin where a word does (or nothing stands before it, without BOS); the score is NaN."""
NO_UNIGRAMS = "no_unigrams"
"""Flag: no unigram counts of the item's language with the model's tokenizer; there is no score."""
PMI_TOKENS_DIFFER = "pmi_tokens_differ"
"""Flag: alone, the target is cut into other tokens than after its context."""
REGION_TOKENS_DIFFER = "region_tokens_differ"
"""Flag: a token reaches over the end of a region, and counts where it begins."""
UNPARSED = "unparsed"
"""Flag: no valid answer in what the model wrote, in one presentation or more."""
TRUNCATED = "truncated"
"""Flag: what the model wrote ended before its thinking did, most often for want of tokens; it has no answer."""
NEAR_TIE = "near_tie"
"""Flag: some token was written that led the second by less than `NEAR_TIE_NATS`."""
TOP_LOGPROBS = "top_logprobs"
"""Flag: read from the most probable first tokens that a chat API tells, not from the whole option's probability."""
OUTSIDE_TOP = "outside_top"
"""Flag: an option is not among the tokens that a chat API tells; its log-probability is an upper bound, and NaN where
that holds of all options of a question."""
UNREPORTED = "unreported"
"""Flag: a server reported no log-probability of a token (null, minus infinity or -9999); the score is NaN."""
HALF_EMPTY = "half_empty"
"""Flag: an imported file has some of the numbers that the method needs of the item, not all; the scores are null."""
TIE = 1e-9
"""Scores of two sides that differ by no more (in nats, or points of a rating) are a tie;
`stats/estimates/shares.py` says why this much."""
TIE_ANSWER = "tie"
MOST_SAMPLES = 1_000
_SCORED_ELSEWHERE = re.compile(r"(direct|logprob)_.+")
_NAME = re.compile(
    rf"(?P<id>[^@]+)(?P<chat>@chat)?(@(?P<shots>[1-{MOST_SHOTS}])shot)?"
    r"(@(?P<samples>[1-9][0-9]{0,3})samples(@t(?P<temperature>[0-9]{1,2}(\.[0-9]{1,4})?))?)?"
)

PARTICIPANT_COLUMNS = re.compile(
    r"subj|particip|ppt|reader|worker|rater|user|session|person|(?<!sentence )md5|hash", re.IGNORECASE
)


def is_string_logprob(name: str) -> bool:
    """Return whether a method is log P of the strings: `direct`, or as another tool scores them.

    What another tool scores has an id of its own that begins with `direct_` or `logprob_`; no other method has one.

    >>> [name for name in ("direct", "direct_space", "logprob_minicons", "direct_wb") if is_string_logprob(name)]
    ['direct', 'direct_space', 'logprob_minicons']
    """
    return name == DIRECT or (name != DIRECT_WB and _SCORED_ELSEWHERE.fullmatch(name) is not None)


def reference_of(names: Iterable[str]) -> str | None:
    """Return the method that a table's others are compared with by probability; None where it has none.

    >>> reference_of(["slor", "logprob_minicons", "direct"]), reference_of(["slor", "logprob_minicons"])
    ('direct', 'logprob_minicons')
    """
    known = [name for name in names if is_string_logprob(name)]
    return DIRECT if DIRECT in known else next(iter(known), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodName:
    """A method's name in parts: the prompt, and how it is asked."""

    id: str
    in_chat: bool = False
    """Sent through the model's chat template although the prompt is plain text."""
    n_shots: int = 0
    """Answered examples before the question."""
    n_samples: int = 0
    """Answers that are drawn to each prompt; 0 = one, greedily."""
    temperature: float = 1.0

    @classmethod
    def parsed(cls, name: str) -> MethodName:
        """Return the parts of a name.

        >>> MethodName.parsed("meta_question_simple@4shot").n_shots
        4
        >>> str(MethodName.parsed("rating_7_free@10samples@t0.70")), str(MethodName.parsed("rating_7_free@5samples"))
        ('rating_7_free@10samples@t0.7', 'rating_7_free@5samples')
        """
        result = _NAME.fullmatch(name)
        if result is None:
            return cls(id=name)
        return cls(
            id=result["id"],
            in_chat=bool(result["chat"]),
            n_shots=int(result["shots"] or 0),
            n_samples=int(result["samples"] or 0),
            temperature=float(result["temperature"] or 1),
        )

    def __str__(self) -> str:
        shots = f"@{self.n_shots}shot" if self.n_shots else ""
        samples = f"@{self.n_samples}samples" if self.n_samples else ""
        heat = f"@t{self.temperature:g}" if self.n_samples and self.temperature != 1 else ""
        return f"{self.id}{'@chat' if self.in_chat else ''}{shots}{samples}{heat}"
