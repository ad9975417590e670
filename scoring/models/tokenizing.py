"""What tokenizers are asked: their vocabulary, special tokens and templates; and how they are left as they were."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pairbank.errors import ModelLoadError, ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.model import BLOCKS, SWITCH

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from pairbank.scoring.api.model import BosPolicy
    from pairbank.scoring.models.options import LoadOptions

logger = logging.getLogger(__name__)
PROBE = (
    "The children's 1,234 cats weren't un-believable -- \u201creally?\u201d\n\n\tSee http://a.b/c_d?e=f (50%).  "
    "Fran\u00e7ois m\u00f6chte \u00e9t\u00e9 \u0141\u00f3d\u017a. "
    "\u041e\u043d\u0438 \u0447\u0438\u0442\u0430\u044e\u0442. "
    "\u8fd9\u672c\u4e66\u5f88\u6709\u610f\u601d\u3002 \u0643\u062a\u0628 \u0627\u0644\u0637\u0627\u0644\u0628."
)
"""Two tokenizers with the same vocabulary that cut this text alike are taken for the same."""
TEMPLATE_FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a chat template raises beside jinja2's own errors: it calls methods of what it is given."""


class Vocabulary(Protocol):
    @property
    def n_tokens(self) -> int:
        """Number of tokens, special and added ones included: |Σ| of the Bayes factor against the uniform model."""

    @property
    def n_ids(self) -> int:
        """One more than the largest token id."""

    @property
    def fingerprint(self) -> str:
        """The same for two tokenizers if and only if they give the same ids (as far as a probe text tells)."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """Return each text's token ids: no special token added, none read out of the text."""


@dataclass(frozen=True, slots=True)
class TokenizerVocabulary:
    tokenizer: PreTrainedTokenizerBase

    @property
    def n_tokens(self) -> int:
        """Number of tokens: 50,257 for gpt2, 128,256 for Llama 3, as Hu et al. 2026 count them."""
        return len(self.tokenizer)

    @property
    def n_ids(self) -> int:
        return max(self.tokenizer.get_vocab().values()) + 1

    @property
    def fingerprint(self) -> str:
        tokens = sorted(self.tokenizer.get_vocab().items(), key=lambda item: (item[1], item[0]))
        [probe] = self.ids([PROBE])
        return sha256_of_text(*(f"{token_id} {token}" for token, token_id in tokens), repr(list(probe)))

    @property
    def name(self) -> str:
        return Path(str(self.tokenizer.name_or_path)).name or type(self.tokenizer).__name__

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            encoded: Any = self.tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)
            return list(encoded["input_ids"])
        with left_as_it_was(self.tokenizer):
            backend.no_truncation()
            backend.no_padding()
            backend.encode_special_tokens = True
            return [encoding.ids for encoding in backend.encode_batch_fast(list(texts), add_special_tokens=False)]


def vocabulary_of(model: object) -> Vocabulary:
    """Return the vocabulary of a loaded model, of a tokenizer, or of a model by name (only its tokenizer is loaded)."""
    if isinstance(model, str | Path):
        from pairbank.scoring.models.loaded_tokenizer import tokenizer_named

        return TokenizerVocabulary(tokenizer_named(model).tokenizer)
    if (vocabulary := getattr(model, "vocabulary", None)) is not None:
        result: Vocabulary = vocabulary
        return result
    tokenizer: Any = getattr(model, "tokenizer", model)
    if not hasattr(tokenizer, "get_vocab"):
        raise ScoringError(
            f"{type(model).__name__} has no tokenizer; expected a loaded model, a tokenizer, or a model's name"
        )
    return TokenizerVocabulary(tokenizer)


def text_specials(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Return the special tokens that no text should hold: all but an unknown token that is nothing else."""
    ends = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id}
    return frozenset(tokenizer.all_special_ids) - ({tokenizer.unk_token_id} - ends)


def base_prompt(*, user: str, stem: str) -> str:
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


def own_prefix(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...] | None:
    """Return the tokens that the tokenizer itself writes before a text; None = not the same before every text."""
    possible: list[set[tuple[int, ...]]] = []
    with left_as_it_was(tokenizer):
        for text in ("a", PROBE):
            bare = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            whole = tokenizer(text, verbose=False)["input_ids"]
            places = range(len(whole) - len(bare) + 1)
            possible.append({tuple(whole[:n]) for n in places if whole[n : n + len(bare)] == bare})
    return min(set.intersection(*possible), key=len, default=None)


def word_ends(text: str, offsets: Sequence[tuple[int, int]], word_ids: Sequence[int | None]) -> tuple[int, ...]:
    """Return, for each token, one past the last token of its word, which the pre-tokenizer ends, or whitespace does."""
    ends, end = [], len(offsets)
    for i in range(len(offsets) - 1, -1, -1):
        ends.append(end)
        begun, before_end = offsets[i - 1]
        # whitespace parts two tokens, be it between them or the first thing the second covers
        is_apart = any(map(str.isspace, text[before_end : offsets[i][0] + 1])) and not text[begun:before_end].isspace()
        if word_ids[i] != word_ids[i - 1] or is_apart:
            end = i
    return tuple(reversed(ends))


def prefix_facts(bos: BosPolicy, tokenizer: PreTrainedTokenizerBase, name: str) -> dict[str, Any]:
    """Return which tokens stand before a text; `auto`: what the tokenizer writes there, else its BOS, else its EOS."""
    declared, own = tokenizer.bos_token_id, own_prefix(tokenizer)
    if own is None and bos == "auto":
        raise ModelLoadError(
            f"{name}: what its tokenizer writes before a text depends on the text; expected the same tokens before "
            "all: load it with bos='bos' or 'eos-as-bos' (--bos), or bos='none'"
        )
    usual = next((token for token in (declared, tokenizer.eos_token_id) if token is not None), None)
    choices = {
        "auto": own or (usual,),
        "bos": (declared,),
        "eos-as-bos": (tokenizer.eos_token_id,),
        "cls": (tokenizer.cls_token_id,),
        "none": (),
    }
    prefix = choices[bos]
    if None in prefix:
        with_cls = "bos='cls', where the model was trained with [CLS] before texts, or "
        others = "" if tokenizer.cls_token_id is None else with_cls
        raise ModelLoadError(f"{name}: the tokenizer has no token for bos={bos!r}; load it with {others}bos='none'")
    is_usual = own in (None, (), (declared,))
    if bos == "auto" and not is_usual:
        logger.warning(
            "%s: scores are given %s, which its tokenizer writes before a text%s",
            name,
            " ".join(tokenizer.convert_ids_to_tokens([*prefix])),
            "" if declared is None else f", and not its bos_token {tokenizer.bos_token} (bos='bos', --bos bos)",
        )
    return {"bos_id": prefix[0] if prefix else None, "prefix_ids": () if is_usual else prefix}


def text_facts(tokenizer: PreTrainedTokenizerBase, name: str, options: LoadOptions) -> dict[str, Any]:
    """Return how a causal model reads prompts, and what stands before a text, as `ModelInfo` has it."""
    format_ = prompt_format_for(options["prompt_format"], tokenizer, name)
    template = getattr(tokenizer, "chat_template", None) if format_ == "chat" else None
    texts = [*template.values()] if isinstance(template, dict) else [template or ""]
    can_think = any(SWITCH in text or any(start in text for start, _ in BLOCKS) for text in texts)
    thinks = options["thinking"] == "on"
    if thinks and not can_think:
        raise ModelLoadError(f"{name}: its chat template has no thinking mode; leave thinking at 'auto'")
    return {
        "prompt_format": format_,
        "thinking": "on" if thinks else "off" if can_think else "",
        "thinking_tokens": options["thinking_tokens"] if thinks else 0,
        **prefix_facts(options["bos"], tokenizer, name),
    }


def prompt_format_for(
    option: Literal["auto", "base", "chat"], tokenizer: PreTrainedTokenizerBase, name: str
) -> Literal["base", "chat"]:
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if option == "chat" and not has_template:
        raise ModelLoadError(f"{name}: the tokenizer has no chat template; load it with prompt_format='base'")
    if option == "auto":
        return "chat" if has_template else "base"
    return option
