"""A chat template tried with limits of time, memory and length, for it is a program of whoever made the model.

jinja2's sandbox keeps a template from files and from Python's internals, not from loops and long texts; so it first
renders in a process of its own: this file's.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TIME_LIMIT_S = 10
"""Of processor time, for all trials of a template; those of real models take a hundredth of a second."""
MEMORY_LIMIT_BYTES = 1 << 30
LENGTH_LIMIT = 200_000
"""Characters that a template may add to a prompt; those of real models add some thousands."""
PROMPT = "The keys to the cabinet are on the table. " * 50
_TOO_MUCH = "takes too much time or memory for a prompt"


def limits_problem(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return which limit a tokenizer's chat template exceeds; empty if it exceeds none, or fails in another way."""
    variables = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    trial = json.dumps({"template": tokenizer.get_chat_template(), "variables": variables, "seconds": TIME_LIMIT_S})
    argv, limit_s = [sys.executable, "-P", __file__], 6 * TIME_LIMIT_S
    try:
        done = subprocess.run(argv, input=trial, capture_output=True, text=True, check=False, timeout=limit_s)  # noqa: S603
    except subprocess.TimeoutExpired:
        return _TOO_MUCH
    if done.returncode > 0:
        return f"cannot be tried ({done.stderr.strip()[-300:]})"
    return _TOO_MUCH if done.returncode else done.stdout.strip()  # below 0: a limit ended it by a signal


def _trial(template: str, variables: dict[str, Any]) -> str:
    import jinja2
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    template = re.sub(r"\{%-?\s*(end)?generation\s*-?%\}", "", template)  # a tag that only training needs
    try:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        environment.globals |= {"raise_exception": refuse, "strftime_now": lambda _format: "24 Nov 2026"}
        compiled = environment.from_string(template)
    except (jinja2.TemplateError, RecursionError):
        return ""  # transformers will say it
    for roles in (("user",), ("system", "user"), ("user", "assistant"), ("user", "assistant") * 4 + ("user",)):
        messages = [{"role": role, "content": PROMPT} for role in roles]
        try:
            is_asked = roles[-1] == "user"
            text = compiled.render(messages=messages, add_generation_prompt=is_asked, tools=None, **variables)
        except MemoryError:
            return _TOO_MUCH
        except Exception:  # noqa: BLE001, S112 - whatever else a template raises, rendering it raises again
            continue
        if len(text) > len(PROMPT) * len(messages) * 2 + LENGTH_LIMIT:
            return f"makes {len(text):,} characters of a prompt of {len(PROMPT) * len(messages):,}"
    return ""


if __name__ == "__main__":
    trial = json.loads(sys.stdin.read())
    with contextlib.suppress(ImportError):  # no such limits on Windows; the time limit of whoever waits holds there
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (trial["seconds"], trial["seconds"]))
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    sys.stdout.write(_trial(trial["template"], trial["variables"]))
