"""The tokens of an encoder-decoder that stand around a text: sentinels, and what its decoder begins with.

In: a model and its tokenizer. Out: token ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairbank.errors import ModelLoadError
from pairbank.scoring.models.tokens.tokenizing import left_as_it_was

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

GAP, AFTER = "<extra_id_0>", "<extra_id_1>"
"""In the place of what is left out, and behind it: T5's first two sentinels."""


def sentinel_ids(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int] | None:
    """Return the ids of `<extra_id_0>` and `<extra_id_1>`, or None if each is not one known token."""
    with left_as_it_was(tokenizer):
        results = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in (GAP, AFTER)]
    if any(len(ids) != 1 or ids[0] == tokenizer.unk_token_id for ids in results):
        return None
    return results[0][0], results[1][0]


def decoder_start_id(model: PreTrainedModel, name: str) -> int:
    """Return the token that every decoder input begins with; where none is stated, a separate decoder's BOS.

    Raises:
        ModelLoadError: the model states neither.
    """
    stated = [getattr(config, "decoder_start_token_id", None) for config in (model.generation_config, model.config)]
    for result in (*stated, getattr(getattr(model.config, "decoder", None), "bos_token_id", None)):
        if isinstance(result, int):
            return result
    raise ModelLoadError(
        f"{name}: the configuration states no decoder_start_token_id; set it in the model's config.json"
    )


def decoder_prefix(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, start_id: int) -> tuple[int, ...]:
    """Return what stands between the decoder's start token and a target: a forced BOS, else the tokenizer's own."""
    for stated in (model.generation_config, model.config):
        forced = getattr(stated, "forced_bos_token_id", None)
        if isinstance(forced, int):
            return (forced,)
    with left_as_it_was(tokenizer):
        encoding = tokenizer(text_target="a", return_special_tokens_mask=True, verbose=False)
    ids, special = encoding["input_ids"], encoding["special_tokens_mask"]
    n_leading = next((i for i, is_special in enumerate(special) if not is_special), len(ids))
    prefix = tuple(ids[:n_leading])
    return prefix[1:] if prefix[:1] == (start_id,) else prefix
