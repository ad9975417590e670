"""What linking functions and word boundaries need to know of a tokenizer: its size, its fingerprint, its ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROBE = (
    "The children's 1,234 cats weren't un-believable -- \u201creally?\u201d\n\n\tSee http://a.b/c_d?e=f (50%).  "
    "Fran\u00e7ois m\u00f6chte \u00e9t\u00e9 \u0141\u00f3d\u017a. "
    "\u041e\u043d\u0438 \u0447\u0438\u0442\u0430\u044e\u0442. "
    "\u8fd9\u672c\u4e66\u5f88\u6709\u610f\u601d\u3002 \u0643\u062a\u0628 \u0627\u0644\u0637\u0627\u0644\u0628."
)
"""Two tokenizers with the same vocabulary that cut this text alike are taken for the same."""


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
        from pairbank.scoring.models.tokenizing import left_as_it_was

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
