"""What would be sent: the exact strings of a method for one item, the scored part marked.

Also the table of all methods, which the command line and the documentation print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairbank.builders.schema import COLUMNS, Task
from pairbank.errors import ScoringError
from pairbank.scoring.backend import Scorer
from pairbank.scoring.contract import Method, Row
from pairbank.scoring.linking_methods import PMI
from pairbank.scoring.methods import FAMILIES, method_named
from pairbank.scoring.prompt import Prompt, primary
from pairbank.scoring.prompted import Prompted
from pairbank.scoring.registry import DIRECT
from pairbank.scoring.word_probability import DIRECT_WB

OPEN, CLOSE = "⟦", "⟧"
"""What is scored stands between these."""


def shown(method: Method, row: Row, scorer: Scorer) -> str:
    """Return all that a method sends for an item: each context once, and behind it every text that is scored.

    Raises:
        ScoringError: the method is not asked of this item.
    """
    requests = method.requests(row, scorer) if method.applies_to(row) else []
    if not requests:
        lacks = method.missing(row) if isinstance(method, Prompted) and method.applies_to(row) else []
        why = f"it lacks {', '.join(lacks)}" if lacks else f"task {row['task']!r}, language {row['language']!r}"
        raise ScoringError(f"{row['item_id']}: {method.name} is not asked of this item ({why}); show it for another")
    texts: dict[str, list[str]] = {}
    for request in requests:
        targets = texts.setdefault(request.context, [])
        if request.target not in targets or isinstance(method, Prompted):
            targets.append(request.target)
    blocks = []
    for number, (context, targets) in enumerate(texts.items(), 1):
        others = "".join(f"\n  or {OPEN}{target}{CLOSE}" for target in targets[1:])
        blocks.append(f"--- {method.name}, string {number} of {len(texts)}\n{context}{OPEN}{targets[0]}{CLOSE}{others}")
    return "\n\n".join(blocks)


def item_for(
    prompt: Prompt | None,
    texts: Sequence[str],
    *,
    contexts: Sequence[str] = (),
    task: Task | None = None,
    language: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an item made up from one or two texts, better first, in the shared schema.

    Args:
        prompt: its first task and language are the defaults; None = a sentence pair in English.
        texts: targets; one where both sides share it, or where there is one side.
        contexts: none, one for both sides, or two.
        task: the item's task.
        language: the item's language.
        columns: more columns, such as property, concept_good, concept_bad, target_number.

    Raises:
        ScoringError: no or too many texts.
    """
    if not 1 <= len(texts) <= 2 or len(contexts) > 2:
        raise ScoringError(f"{len(texts)} texts and {len(contexts)} contexts; expected one or two texts, better first")
    known: dict[str, Any] = dict.fromkeys(column.name for column in COLUMNS)
    found_task = task or (prompt.tasks[0] if prompt else "sentence_pair")
    one_sided = found_task == "word_prediction" or (len(texts) == 1 and len(contexts) < 2)
    return {
        **known,
        "item_id": "(shown)",
        "corpus": "(shown)",
        "subset": "(shown)",
        "task": found_task,
        "language": language or (prompt.languages[0] if prompt else "en"),
        "context_good": contexts[0] if contexts else "",
        "context_bad": None if one_sided else contexts[-1] if contexts else "",
        "target_good": texts[0],
        "target_bad": None if one_sided else texts[-1],
        **(columns or {}),
    }


def method_rows(
    prompts: Mapping[str, Prompt], *, task: str | None = None, language: str | None = None
) -> list[dict[str, str]]:
    """Return one row a method: `direct` and its kin, then the prompts, perhaps only those for a task or language."""
    rows = [_direct_row(name) for name in FAMILIES]
    for prompt in prompts.values():
        if (task and task not in prompt.tasks) or (language and primary(language) not in prompt.languages):
            continue
        fixed = ": one order" if prompt.is_fixed_order else ""
        dropped = " (dropped by its authors)" if prompt.status == "dropped" else ""
        n_asked = 1 if prompt.is_fixed_order else len(prompt.presentations)
        n_options = 1 if prompt.readout == "generation" else len(prompt.options)
        kind = f"{prompt.kind}, generated" if prompt.readout == "generation" else prompt.kind
        languages = ", ".join(prompt.languages) if len(prompt.languages) < 4 else f"{len(prompt.languages)} languages"
        rows.append(
            {
                "id": prompt.id,
                "kind": kind,
                "tasks": ", ".join(prompt.tasks),
                "languages": languages,
                "requests": str(n_asked * n_options),
                "counterbalanced": "yes" if prompt.counterbalanced else f"no{fixed}",
                "paper": prompt.paper.split(";")[0] + dropped,
            }
        )
    return rows


def _direct_row(name: str) -> dict[str, str]:
    """Return the row of a method that asks no question."""
    return {
        "id": name,
        "kind": "direct",
        "tasks": "all with a context" if name == PMI else "all",
        "languages": "all with spaces" if name == DIRECT_WB else "all",
        "requests": {DIRECT_WB: "6", PMI: "4"}.get(name, "2"),
        "counterbalanced": "yes",
        "paper": "Hu & Levy 2023, section 2"
        if name == DIRECT
        else method_named(name).definition["paper"].split(";")[0],
    }
