"""What tokenizers are asked beside ids: special tokens in a text, unknown ones, chat templates, their settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pairbank.errors import ScoringError
from pairbank.scoring.api.names import UNKNOWN_TOKEN
from pairbank.scoring.api.requests import EncodedRequest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def with_unknown_flag(request: EncodedRequest, unknown_id: int | None) -> EncodedRequest:
    """Return the request, flagged where the unknown token is among those scored."""
    if unknown_id is None or unknown_id not in request.ids[request.start :]:
        return request
    return replace(request, flags=(*request.flags, UNKNOWN_TOKEN))


def text_specials(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Return the special tokens that no text should hold: all but an unknown token that is nothing else."""
    ends = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id}
    return frozenset(tokenizer.all_special_ids) - ({tokenizer.unk_token_id} - ends)


def base_prompt(*, user: str, stem: str) -> str:
    """Return a prompt as a model without chat template reads it: one line after the other."""
    return f"{user}\n{stem}" if stem else user


@contextmanager
def left_as_it_was(tokenizer: PreTrainedTokenizerBase) -> Iterator[None]:
    """Undo what a tokenizer's call sets on its Rust side: truncation, padding, how special tokens are read."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        yield
        return
    truncation, padding, reads_as_text = backend.truncation, backend.padding, backend.encode_special_tokens
    try:
        yield
    finally:
        backend.encode_special_tokens = reads_as_text
        backend.no_truncation() if truncation is None else backend.enable_truncation(**truncation)
        backend.no_padding() if padding is None else backend.enable_padding(**padding)


def refuse_special_tokens(
    ids: Sequence[int],
    special: Sequence[int],
    tokenizer: PreTrainedTokenizerBase,
    *,
    where: str,
    allowed: Sequence[int] = (),
) -> None:
    """Refuse a text that has special tokens in it, which would be read as more than characters, or even scored.

    Args:
        ids: token ids of the text.
        special: 1 for each token that the tokenizer put around the text by itself.
        tokenizer: it knows the special tokens; the unknown token is not one of them here, unless it ends or begins
            texts too, as GPT-2's does.
        where: the item, for the error.
        allowed: special tokens that were put into the text on purpose, each as often as it may occur.

    Raises:
        ScoringError: there is one more.
    """
    left, known = list(allowed), text_specials(tokenizer).union(allowed)
    for token, is_around in zip(ids, special, strict=True):
        if is_around or token not in known:
            continue
        if token not in left:
            raise ScoringError(
                f"{where or 'request'}: the text has the special token {tokenizer.convert_ids_to_tokens(token)!r} in "
                "it; expected none with this model: change the item or leave it out"
            )
        left.remove(token)


def accepts_system(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the chat template takes a system turn (Gemma's, for one, refuses it)."""
    import jinja2

    try:
        tokenizer.apply_chat_template(
            [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], tokenize=False
        )
    except jinja2.TemplateError:
        return False
    return True


def adds_bos(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the tokenizer itself puts a BOS before a text."""
    ids = tokenizer("a")["input_ids"]
    return tokenizer.bos_token_id is not None and ids[:1] == [tokenizer.bos_token_id]
