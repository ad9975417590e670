"""Tokens of models that write from left to right, wherever their weights are: in this process, or behind a server.

One BOS stands before a text, by DESIGN.md's correctness rules 1 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jinja2

from pairbank.errors import ScoringError
from pairbank.scoring.api.model import SWITCH, ExampleTurn, ModelInfo, open_block, without_thinking
from pairbank.scoring.api.names import SPECIAL_TOKEN, UNKNOWN_TOKEN
from pairbank.scoring.api.requests import EncodedRequest, Request, encoded
from pairbank.scoring.models.tokenizing import TEMPLATE_FAULTS, accepts_system, base_prompt, own_prefix, text_specials

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class CausalTokens:
    """A tokenizer, and what a loaded model's facts say of its use."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, info: ModelInfo) -> None:
        self.tokenizer = tokenizer
        self.info = info
        self._own_prefix = own_prefix(tokenizer) or ()
        added = tokenizer.added_tokens_decoder
        self._template_ids = frozenset(i for i, token in added.items() if token.special and token.rstrip)
        self._specials = text_specials(tokenizer)
        self._takes_system: bool | None = None
        """None before the first prompt with a system turn: only then has the template shown that it comes to an end."""

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        if self.info.prompt_format == "base":
            return base_prompt(user=user, stem=stem)
        turns = [("user", turn.user, "assistant", turn.assistant) for turn in examples]
        messages = [{"role": role, "content": text} for t in turns for role, text in (t[:2], t[2:])]
        messages.append({"role": "user", "content": user})
        if system and self._takes_system is None:
            self._takes_system = accepts_system(self.tokenizer)
        if system and self._takes_system:
            messages.insert(0, {"role": "system", "content": system})
        if stem:
            messages.append({"role": "assistant", "content": stem})
        try:
            switch: dict[str, Any] = {SWITCH: self.info.thinking == "on"} if self.info.thinking else {}
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, continue_final_message=bool(stem), add_generation_prompt=not stem, **switch
            )
        except (jinja2.TemplateError, *TEMPLATE_FAULTS) as error:
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise ScoringError(
                f"{self.info.name}: its chat template cannot render a prompt ({reason}); load the model with "
                "prompt_format='base' (--prompt-format base), or correct the template"
            ) from error
        return without_thinking(str(text)) if self.info.thinking == "off" else str(text)

    def as_read(self, text: str, *, chat: bool) -> str:
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        prefix = self._prefix(Request(context=text, target="", chat=chat), ids)
        return "".join([*self.tokenizer.convert_ids_to_tokens([*prefix]), text])

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        if not requests:
            return []
        for request in requests:
            if request.chat and (self.info.thinking == "on" or open_block(request.context)):
                raise ScoringError(
                    f"{request.where or 'request'}: {self.info.name} thinks before it answers, so that the "
                    "log-probability of an option is that of its first thought; load the model with thinking='off' "
                    "(--thinking off), or ask for written answers (methods that end in _free)"
                )
        texts = [request.context + request.target for request in requests]
        wanted = {"return_offsets_mapping": True, "return_attention_mask": False, "return_token_type_ids": False}
        encoding = self.tokenizer(texts, add_special_tokens=False, **wanted)
        tokens = zip(requests, encoding["input_ids"], encoding["offset_mapping"], strict=True)
        return [self._encoded(request, ids, offsets) for request, ids, offsets in tokens]

    def _encoded(self, request: Request, ids: Sequence[int], offsets: Sequence[tuple[int, int]]) -> EncodedRequest:
        *before, bos_id = self._prefix(request, ids) or (None,)
        result = encoded(ids, offsets, request, bos_id=bos_id, template_ids=self._template_ids)
        if before:
            result = replace(result, ids=(*before, *result.ids), start=len(before) + result.start)
        flags = [*result.flags]
        # a rendered chat is made of special tokens; in any other text they are read as what nobody wrote
        if not request.chat and not self._specials.isdisjoint(ids):
            flags.append(SPECIAL_TOKEN)
        if self.tokenizer.unk_token_id in result.ids[result.start :]:
            flags.append(UNKNOWN_TOKEN)
        return replace(result, flags=tuple(flags)) if len(flags) > len(result.flags) else result

    def prompt_ids(self, texts: Sequence[str], *, chat: bool = False) -> list[list[int]]:
        """Return the tokens of texts that nothing is scored in, with what stands before each as in `encode`."""
        encoding = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
        requests = [Request(context=text, target="", chat=chat) for text in texts]
        return [[*self._prefix(request, ids), *ids] for request, ids in zip(requests, encoding, strict=True)]

    def _prefix(self, request: Request, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the tokens to put before a text; a rendered chat that brings its own gets no second ones."""
        if not request.chat:
            return self.info.prefix
        own = self._own_prefix
        brings_own = tuple(ids[: len(own)]) == own or list(ids[:1]) == [self.tokenizer.bos_token_id]
        return () if brings_own else self.info.prefix
