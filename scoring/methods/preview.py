"""What would be sent: the exact strings of a method for one item, the scored part marked.

Also the table of all methods, which the command line and the documentation print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairbank.builders.schema.columns import COLUMNS, Task
from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method, Row, WritingMethod
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.prompts.prompt import Prompt

OPEN, CLOSE = "⟦", "⟧"
"""What is scored, or how much is written, stands between these."""


def shown(method: Method, row: Row, scorer: Scorer) -> str:
    """Return all that a method sends for an item: each context once, and behind it every text that is scored.

    Raises:
        ScoringError: the method is not asked of this item.
    """
    if isinstance(method, WritingMethod):
        texts = {ask.text: [method.sought] for ask in (method.asks(row, scorer) if method.applies_to(row) else [])}
    else:
        texts = {}
        for request in method.requests(row, scorer) if method.applies_to(row) else []:
            targets = texts.setdefault(request.context, [])
            if request.target not in targets:
                targets.append(request.target)
    if not texts:
        lacks = method.unasked(row)[ScoreColumns(method.name).flags]
        why = f"it lacks {', '.join(lacks)}" if lacks else f"task {row['task']!r}, language {row['language']!r}"
        raise ScoringError(f"{row['item_id']}: {method.name} is not asked of this item ({why}); show it for another")
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
