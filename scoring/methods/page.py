"""The methods as people read about them: the page docs/methods.md, the table of all methods, and what would be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from itertools import takewhile
from pathlib import Path
from typing import Any

from pairbank.builders.schema.columns import COLUMNS, Task
from pairbank.errors import ScoringError
from pairbank.markdown import rendered, table_of
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method, Row, WritingMethod
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import DIRECT, DIRECT_WB, PMI, REGIONS
from pairbank.scoring.methods.linking_functions import IN_TEMPLATE
from pairbank.scoring.methods.prompted import plain_prompt
from pairbank.scoring.methods.registry import FAMILIES, method_named
from pairbank.scoring.prompts.prompt import ANY, Presentation, Prompt, in_language, primary
from pairbank.scoring.prompts.registry import prompt_files, prompts

OPEN, CLOSE = "⟦", "⟧"
"""What is scored, or how much is written, stands between these."""
_TASKS = {PMI: "all with a context", **dict.fromkeys(IN_TEMPLATE, "sentence_pair, sentence")}


def shown(method: Method, row: Row, scorer: Scorer) -> str:
    """Return all that a method sends for an item: each context once, and behind it every text that is scored."""
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
    """Return an item made up from one or two texts, better first, in the shared schema."""
    if not 1 <= len(texts) <= 2 or len(contexts) > 2:
        raise ScoringError(f"{len(texts)} texts and {len(contexts)} contexts; expected one or two texts, better first")
    known: dict[str, Any] = dict.fromkeys(column.name for column in COLUMNS)
    found_task = task or (prompt.tasks[0] if prompt else "sentence_pair")
    one_sided = found_task == "word_prediction" or (len(texts) == 1 and len(contexts) < 2)
    return {
        **known,
        **dict.fromkeys(("item_id", "corpus", "subset"), "(shown)"),
        "task": found_task,
        "language": language or (prompt.languages[0] if prompt else "en"),
        "context_good": contexts[0] if contexts else "",
        "context_bad": None if one_sided else contexts[-1] if contexts else "",
        "target_good": texts[0],
        "target_bad": None if one_sided else texts[-1],
        **(columns or {}),
    }


def methods_markdown(known: Mapping[str, Prompt] | None = None) -> str:
    known = prompts() if known is None else known
    return rendered(
        Path(__file__).with_name("methods.md.j2"),
        (delta_in_words, first_presentation),
        files={file.name: _comment(file) for file in prompt_files()},
        overview=table_of(row | {"id": f"[{row['id']}](#{row['id']})"} for row in method_rows(known)),
        families={name: method_named(name).definition for name in FAMILIES},
        prompts=known.values(),
        open=OPEN,
        close=CLOSE,
    )


def _comment(file: Traversable) -> str:
    lines = takewhile(lambda line: line.startswith("#"), file.read_text(encoding="utf-8").splitlines())
    return " ".join(line.removeprefix("#").strip() for line in lines)


def delta_in_words(prompt: Prompt) -> str:
    """Return how Δ is made of the options' log-probabilities, read from the weights that compute it.

    >>> delta_in_words(prompts()["meta_question_simple"])
    '`½ [log P(1) − log P(2)] in good_first + ½ [log P(2) − log P(1)] in bad_first`'
    """
    if prompt.kind == "prediction":
        return "none: one side only; `m_good` is the log-probability of the word"
    written = prompt.readout == "generation"
    if prompt.kind == "rating":
        description = "mean rating written" if written else "expected rating (P renormalised over the options)"
        return f"{description} for the better side − that for the worse one, in points of the scale"
    if written:
        return "share of presentations whose written answer picks the better side − share that pick the worse one"
    terms = [_term(p, prompt.option_labels) for p in prompt.presentations]
    if prompt.is_fixed_order:
        result = "`, or `".join(_signed(sign, term, first=True) for sign, term in terms)
    else:
        result = " ".join(_signed(sign, term, first=not place) for place, (sign, term) in enumerate(terms))
    each = "; each log P divided by its number of tokens" if prompt.normalise == "tokens" else ""
    return f"`{result}`{each}"


def _term(p: Presentation, options: Sequence[str]) -> tuple[str, str]:
    weights = [good - bad for good, bad in zip(p.good, p.bad, strict=True)]
    sign = "+" if max(weights) > 0 else "−"
    if sign == "−":
        weights = [-weight for weight in weights]
    factor = max(weights)
    shares = sorted(((w / factor, option) for w, option in zip(weights, options, strict=True) if w), reverse=True)
    logs = [f"{_number(abs(share))}log P({option})" for share, option in shares]
    joined = [f"{' + ' if share > 0 else ' − '}{log}" for (share, _), log in zip(shares[1:], logs[1:], strict=True)]
    body = logs[0] + "".join(joined)
    return sign, f"{_number(factor)}{f'[{body}]' if joined else body} in {p.name}"


def _number(weight: float) -> str:
    return {1.0: "", 0.5: "½ ", 0.25: "¼ "}.get(weight, f"{weight:g} ")


def _signed(sign: str, term: str, *, first: bool) -> str:
    if first:
        return term if sign == "+" else f"−{term}"
    return f"{sign} {term}"


def first_presentation(prompt: Prompt) -> str:
    """Return the first presentation as plain text, in English where there is English."""
    language = "en" if "en" in prompt.languages else prompt.languages[0]
    shown = prompt.presentations[0]
    question = plain_prompt(prompt, user=in_language(shown.template, language), stem=in_language(shown.stem, language))
    if prompt.readout == "generation":
        text = f"{question}{OPEN}…{CLOSE}"
    else:
        text = (
            question + f"{prompt.separator}{OPEN}{f'{CLOSE} or {OPEN}'.join(prompt.written_options(language))}{CLOSE}"
        )
    several = ANY not in shown.template and len(prompt.languages) > 1
    others = f" (here in {language}; each language has its own wording)" if several else ""
    return f"`{shown.name}`{others}:\n\n```text\n{text}\n```"


def method_rows(
    prompts: Mapping[str, Prompt],
    *,
    task: str | None = None,
    language: str | None = None,
    packages: Mapping[str, str] | None = None,
) -> list[dict[str, str]]:
    """Return one row per method, perhaps only those for a task or language; `packages` says whose a prompt is."""
    n_requests = {DIRECT_WB: "6", PMI: "4", REGIONS: "1 a region", "in_template": "10"}
    papers = {DIRECT: "Hu & Levy 2023, section 2"}
    rows = [
        {
            "id": name,
            "kind": "direct",
            "tasks": _TASKS.get(name, "all"),
            "languages": "all with spaces" if name == DIRECT_WB else "all",
            "requests": n_requests.get(name, "2"),
            "counterbalanced": "yes",
            "paper": papers.get(name) or method_named(name).definition["paper"].split(";")[0],
        }
        for name in FAMILIES
    ]
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
    return [row | {"package": packages.get(row["id"], "")} for row in rows] if packages else rows
