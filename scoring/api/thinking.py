"""Thinking: what a model writes for itself before its answer, in marked blocks.

In: a rendered prompt or a written text. Out: whether it ends inside a block, and where the answer begins. Log
probabilities of options mean nothing inside a block, and what is thought is no answer (DESIGN.md, rule 11).
"""

from __future__ import annotations

from typing import Literal

Thinking = Literal["auto", "off", "on"]
"""`auto`: off, where the chat template has a switch or opens a block."""
BLOCKS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
"""How a block begins and ends: Qwen, DeepSeek R1 and most others; Magistral; Seed-OSS; gpt-oss."""
HARMONY = "<|start|>assistant"
"""How a prompt of gpt-oss ends: the model writes which channel follows."""
SWITCH = "enable_thinking"
"""The argument of chat templates that turns thinking on or off."""


def open_block(prompt: str) -> tuple[str, str] | None:
    r"""Return the block that a prompt ends inside of, before anything is thought; None where it ends in none.

    >>> open_block("<|assistant|><think>\n"), open_block("<think>\n\n</think>\n\n")
    (('<think>', '</think>'), None)
    """
    end = prompt.rstrip()
    return next((block for block in BLOCKS if end.endswith(block[0])), None)


def without_thinking(prompt: str) -> str:
    r"""Return a prompt after which the answer comes at once: a block that it opens is closed, empty.

    >>> without_thinking("<|assistant|><think>\n"), without_thinking("<|start|>assistant")
    ('<|assistant|><think>\n\n</think>\n\n', '<|start|>assistant<|channel|>final<|message|>')
    """
    if prompt.endswith(HARMONY):
        return prompt + BLOCKS[-1][1]
    block = open_block(prompt)
    return prompt if block is None else f"{prompt.rstrip()}\n\n{block[1]}\n\n"


def thinking_characters(text: str, *, prompt: str = "") -> int | None:
    """Return how many characters of a text are thinking, before the answer; None where it ends before the answer.

    >>> thinking_characters("<think>1 or 2?</think>2"), thinking_characters("2"), thinking_characters("<think>1 or")
    (22, 0, None)
    >>> thinking_characters("1 or 2?</think>2", prompt="...<think>"), thinking_characters("1 or", prompt="...<think>")
    (15, None)
    """
    opened = open_block(prompt)
    for start, end in BLOCKS:
        if (place := text.rfind(end)) >= 0:
            return place + len(end)
        if text.lstrip().startswith(start) or opened == (start, end):
            return None
    return 0
