"""What tokenizers are asked beside ids, and how they are left as they were.

In: a tokenizer, a text or its tokens. Out: special and unknown tokens in it, where its words end, whether a chat
template takes a system turn, and what stands before a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import BLOCKS, SWITCH, Thinking
from pairbank.scoring.api.names import UNKNOWN_TOKEN
from pairbank.scoring.api.requests import EncodedRequest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from pairbank.scoring.api.model import BosPolicy


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
    """Refuse a text that has special tokens in it, which would be read as more than characters, or even scored."""
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


TEMPLATE_FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a chat template raises beside jinja2's own errors: it calls methods of what it is given."""


def accepts_system(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the chat template takes a system turn (Gemma's, for one, refuses it)."""
    import jinja2

    try:
        tokenizer.apply_chat_template(
            [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], tokenize=False
        )
    except (jinja2.TemplateError, *TEMPLATE_FAULTS):
        return False
    return True


def adds_bos(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the tokenizer itself puts a BOS before a text."""
    ids = tokenizer("a")["input_ids"]
    return tokenizer.bos_token_id is not None and ids[:1] == [tokenizer.bos_token_id]


def word_ends(text: str, offsets: Sequence[tuple[int, int]], word_ids: Sequence[int | None]) -> tuple[int, ...]:
    """Return, for each token, one past the last token of its word.

    A word ends where the pre-tokenizer's word does, and at whitespace (some pre-tokenizers do not cut there).

    >>> word_ends("un like ly", [(0, 2), (2, 4), (4, 7), (8, 10)], [0, 0, 0, 0])
    (1, 3, 3, 4)
    """
    new = [
        i > 0 and (word_ids[i] != word_ids[i - 1] or _space_before(text, offsets[i - 1], offsets[i]))
        for i in range(len(offsets))
    ]
    ends, end = [], len(offsets)
    for i in range(len(offsets) - 1, -1, -1):
        ends.append(end)
        if new[i]:
            end = i
    return tuple(reversed(ends))


def _space_before(text: str, previous: tuple[int, int], this: tuple[int, int]) -> bool:
    """Return whether whitespace parts two tokens, be it between them or the first thing the second covers."""
    between = text[previous[1] : this[0] + 1]
    return any(c.isspace() for c in between) and not text[slice(*previous)].isspace()


def bos_id_for(bos: BosPolicy, tokenizer: PreTrainedTokenizerBase, name: str) -> int | None:
    """Return the token that stands before a text by this policy."""
    own_values, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    choices: dict[str, Any] = {
        "auto": end if own_values is None else own_values,
        "bos": own_values,
        "eos-as-bos": end,
        "cls": tokenizer.cls_token_id,
        "none": None,
    }
    if bos != "none" and choices[bos] is None:
        others = "" if choices["cls"] is None else "bos='cls', where the model was trained with [CLS] before texts, or "
        raise ModelLoadError(f"{name}: the tokenizer has no token for bos={bos!r}; load it with {others}bos='none'")
    return cast("int | None", choices[bos])


def thinking_for(
    requested: Thinking, tokenizer: PreTrainedTokenizerBase, name: str, *, prompt_format: Literal["base", "chat"]
) -> Literal["", "off", "on"]:
    """Return whether a chat model thinks before it answers; empty where it has no such mode.

    It has one where its template has the switch, or where the prompt for an answer opens a block.
    """
    template = getattr(tokenizer, "chat_template", None) if prompt_format == "chat" else None
    texts = [*template.values()] if isinstance(template, dict) else [template or ""]
    can_think = any(SWITCH in text or any(start in text for start, _ in BLOCKS) for text in texts)
    if can_think:
        return "on" if requested == "on" else "off"
    if requested == "on":
        raise ModelLoadError(f"{name}: its chat template has no thinking mode; leave thinking at 'auto'")
    return ""


def prompt_format_for(
    requested: Literal["auto", "base", "chat"], tokenizer: PreTrainedTokenizerBase, name: str
) -> Literal["base", "chat"]:
    """Return how prompts are sent: through the chat template where there is one, unless plain text is asked for."""
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if requested == "chat" and not has_template:
        raise ModelLoadError(f"{name}: the tokenizer has no chat template; load it with prompt_format='base'")
    if requested == "auto":
        return "chat" if has_template else "base"
    return requested
