"""The Hub's benchmark metadata: `eval.yaml` of a bank, and `.eval_results` entries for the models that it scored.

In: a bank's manifest and summary. Out: YAML. A task is the forced choice between the two sides of a corpus's items, as
Inspect runs it: the sides are the choices, shuffled. Its value is accuracy in per cent, of the first of the bank's
methods that is a forced choice; the notes name it. Log-probabilities are no task of a framework that the Hub knows.
Format: https://huggingface.co/docs/hub/eval-results, `huggingface_hub.EvalResultEntry` and Inspect's `HFTask`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from pairbank.cards.bank.layout import config_name
from pairbank.cards.bank.redistribution import may_publish
from pairbank.cards.card.contents import pretty_name
from pairbank.markdown import shown
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.signature import signature_line
from pairbank.stats.wording import number

FRAMEWORK = "inspect-ai"
"""One of the Hub's list (huggingface.js, packages/tasks/src/eval.ts)."""
QUESTION = "Which of the two is the better sentence, or the better continuation?"
TEMPLATE = (
    "Answer the question. The last line of your answer is 'ANSWER: $LETTER' (without quotes), where LETTER is one of "
    f"{{letters}}.\n\n{QUESTION}\n\n{{question}}\n\n{{choices}}"
)
_SIDES: Mapping[str, tuple[str, list[str]]] = {
    "sentence_pair": ("context_good", ["target_good", "target_bad"]),
    "continuation_pair": ("context_good", ["target_good", "target_bad"]),
    "context_pair": ("target_good", ["context_good", "context_bad"]),
    "concept_pair": ("target_good", ["context_good", "context_bad"]),
}
"""Task of items -> the column that both sides share, and those between which a model chooses."""


def task_id(corpus: str) -> str:
    return f"{config_name(corpus)}_forced_choice"


def eval_yaml(manifest: Mapping[str, Any]) -> str:
    """Return `eval.yaml`: a task per corpus of pairs whose texts may be published; "" = there is none."""
    import yaml

    tasks = [
        {
            "id": task_id(corpus),
            "config": config_name(corpus),
            "split": "items",
            "field_spec": {"input": shared, "target": "literal:A", "choices": choices, "metadata": ["item_id"]},
            "shuffle_choices": True,
            "solvers": [{"name": "multiple_choice", "args": {"template": TEMPLATE}}],
            "scorers": [{"name": "choice"}],
        }
        for corpus, shared, choices in _open_tasks(manifest)
    ]
    if not tasks:
        return ""
    head = {
        "name": pretty_name(manifest),
        "description": "Linguistic judgments by language models: choices between a better and a worse side.",
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(head, allow_unicode=True, sort_keys=False)


def _open_tasks(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the corpora that are a task: open, and all of their items are pairs that differ in the same columns."""
    for corpus, facts in manifest["corpora"].items():
        forms = [_SIDES.get(task) for task in facts.get("tasks") or ()]
        first = forms[0] if forms else None
        if may_publish(corpus, facts) and first is not None and forms.count(first) == len(forms):
            yield corpus, *first


def _forced_choice(signature: Mapping[str, Any]) -> str:
    """Return the first method of a table that is a forced choice with its orders known; "" = there is none."""
    layouts = (MethodLayout.from_dict(entry["layout"]) for entry in signature["methods"].values())
    return next((x.method for x in layouts if x.kind == "forced_choice" and x.orders == "known"), "")


def eval_results(
    manifest: Mapping[str, Any], summary: pd.DataFrame | None, repo_id: str, revision: str, url: str
) -> dict[str, str]:
    """Return Hub id -> YAML of its results, for every model that was scored from a commit of the Hub."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    if summary is None:
        return {}
    whole = summary[(summary["group_by"] == "all") & (summary["metric"] == "accuracy")].dropna(subset="value")
    results: dict[str, list[Any]] = {}
    for corpus, _, _ in _open_tasks(manifest):
        for signature in manifest["scores"].get(corpus, {}).values():
            model, method = signature["model"], _forced_choice(signature)
            rows = whole[(whole["corpus"] == corpus) & (whole["model"] == model["name"]) & (whole["method"] == method)]
            if not is_on_hub(signature) or not len(rows):
                continue
            [row] = rows.to_dict("records")
            ends = f"{number(100 * row['low'])} to {number(100 * row['high'])}"
            interval = "" if math.isnan(row["low"]) else f", 95% interval {ends}"
            how = shown(signature_line(signature), limit=600)
            entry = EvalResultEntry(
                dataset_id=repo_id,
                task_id=task_id(corpus),
                value=round(100 * row["value"], 2),
                dataset_revision=revision or None,
                source_url=url,
                source_name="pairbank",
                notes=f"accuracy in per cent of {method}, n = {row['n']}{interval}; {how}",
            )
            results.setdefault(model["model_id"], []).append(entry)
    return {
        model_id: yaml.safe_dump(eval_result_entries_to_yaml(entries), allow_unicode=True, sort_keys=False)
        for model_id, entries in results.items()
    }


def is_on_hub(signature: Mapping[str, Any]) -> bool:
    """Return whether a model was read from a commit of the Hub, so that its page can have results."""
    model = signature["model"]
    named = re.fullmatch(r"[\w.-]+/[\w.-]+", str(model["model_id"]))
    return bool(named and re.fullmatch(r"[0-9a-f]{40}", str(model["revision"]))) and "imported" not in signature


def results_path(repo_id: str) -> str:
    """Return where a bank's results stand in a model's repository."""
    return f".eval_results/{repo_id.replace('/', '_')}.yaml"
