"""What flags mean: in, a bank's manifest; out, a line for each flag that its items or scores have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FLAG_MEANINGS: Mapping[str, str] = {
    "identical_sides": "both sides are the same string, and no choice can be scored",
    "duplicate_pair": "the same two strings stand in an earlier row of the corpus",
    "not_nfc": "a text is not in Unicode's normal form C (said, never changed)",
    "no_truth": "good is a label and neither side is right: accuracy means nothing here",
    "boundary_merge": "a token spans the join of context and target, and is scored with the target",
    "first_token_unscored": "no BOS, so the first token has no probability and is left out",
    "identical_tokens": "both sides have the same tokens, so their difference is 0",
    "over_length": "longer than the model's context; the scores are NaN",
    "unknown_token": "the tokenizer has no token for some of the target, and its unknown token is scored",
    "special_token": "the text holds characters that the tokenizer reads as a special token",
    "no_word_boundary": "the target does not begin where a word does; the score is NaN",
    "no_unigrams": "no unigram counts of the item's language with the model's tokenizer; no score",
    "pmi_tokens_differ": "alone, the target is cut into other tokens than after its context",
    "region_tokens_differ": "the regions' tokens are not those of the sentence as a whole",
    "truncated": "what the model wrote ended before its thinking did, so that it has no answer",
    "unparsed": "no valid answer in what the model wrote, in one presentation or more",
    "near_tie": "a token was written that hardly led the second",
    "top_logprobs": "read from the most probable first tokens that an API tells, not from the whole option",
    "half_empty": "an imported file has some of the numbers of this item, not all; the scores are null",
}
"""Flag -> meaning; those of a corpus alone (what was mended in it, say) are not among them."""


def flags_in(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that a bank's items or scores have, as far as they are told, and what each means."""
    counts = [facts.get("n_by_flag") or {} for facts in manifest["corpora"].values()]
    for signatures in manifest["scores"].values():
        for signature in signatures.values():
            counts += list((signature.get("n_by_flag") or {}).values())
    found = {flag for one in counts if isinstance(one, Mapping) for flag, n in one.items() if n}
    return {flag: meaning for flag, meaning in FLAG_MEANINGS.items() if flag in found}
