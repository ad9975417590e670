"""The Hub's benchmark metadata: `eval.yaml` of a bank, and `.eval_results` entries for the models that it scored.

In: a bank's manifest and summary. Out: YAML. A task is one corpus under one method; its value is accuracy in per cent.
Format: https://huggingface.co/docs/hub/eval-results and `huggingface_hub.EvalResultEntry`. The Hub takes an
`eval.yaml` only if it knows the framework that it names, so that it is published on request alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pairbank.cards.bank.layout import config_name
from pairbank.cards.bank.redistribution import may_publish
from pairbank.cards.card.foreign_text import shown
from pairbank.cards.card.render import pretty_name
from pairbank.scoring.signature import signature_line
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import pandas as pd

FRAMEWORK = "pairbank"


def task_id(corpus: str, method: str) -> str:
    """Return the id of a task.

    >>> task_id("hu-levy-blimp", "direct")
    'hu-levy-blimp_direct'
    """
    return f"{config_name(corpus)}_{method}"


def eval_yaml(manifest: Mapping[str, Any]) -> str:
    """Return `eval.yaml`: a task a corpus and method, for corpora whose texts may be published; "" = there is none."""
    import yaml

    tasks = [
        {"id": task_id(corpus, method), "config": config_name(corpus), "split": "items"}
        for corpus, method in _open_tasks(manifest)
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


def _open_tasks(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for corpus, facts in manifest["corpora"].items():
        if may_publish(corpus, facts):
            models = manifest["scores"].get(corpus, {}).values()
            for method in dict.fromkeys(method for signature in models for method in signature["methods"]):
                yield corpus, method


def eval_results(
    manifest: Mapping[str, Any], summary: pd.DataFrame | None, *, repo_id: str, revision: str, url: str
) -> dict[str, str]:
    """Return Hub id -> YAML of its results, for every model that was scored from a commit of the Hub.

    Args:
        manifest: the bank's.
        summary: the bank's results.
        repo_id: the bank's dataset on the Hub.
        revision: its commit.
        url: its page.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    if summary is None:
        return {}
    whole = summary[(summary["group_by"] == "all") & (summary["metric"] == "accuracy")].dropna(subset="value")
    found: dict[str, list[Any]] = {}
    for corpus, method in _open_tasks(manifest):
        for signature in manifest["scores"][corpus].values():
            model = signature["model"]
            rows = whole[(whole["corpus"] == corpus) & (whole["model"] == model["name"]) & (whole["method"] == method)]
            if not is_on_hub(signature) or not len(rows):
                continue
            [row] = rows.to_dict("records")
            entry = EvalResultEntry(
                dataset_id=repo_id,
                task_id=task_id(corpus, method),
                value=round(100 * row["value"], 2),
                dataset_revision=revision or None,
                source_url=url,
                source_name="pairbank",
                notes=_notes(row, signature),
            )
            found.setdefault(model["model_id"], []).append(entry)
    return {
        model_id: yaml.safe_dump(eval_result_entries_to_yaml(entries), allow_unicode=True, sort_keys=False)
        for model_id, entries in found.items()
    }


def is_on_hub(signature: Mapping[str, Any]) -> bool:
    """Return whether a model was read from a commit of the Hub, so that its page can have results."""
    model = signature["model"]
    named = re.fullmatch(r"[\w.-]+/[\w.-]+", str(model["model_id"]))
    return bool(named and re.fullmatch(r"[0-9a-f]{40}", str(model["revision"]))) and "imported" not in signature


def _notes(row: Mapping[Any, Any], signature: Mapping[str, Any]) -> str:
    low, high = (100 * row[name] for name in ("low", "high"))
    interval = "" if math.isnan(low) else f", 95% interval {number(low)} to {number(high)}"
    return f"accuracy in per cent, n = {row['n']}{interval}; {shown(signature_line(signature), limit=600)}"


def results_path(repo_id: str) -> str:
    """Return where a bank's results stand in a model's repository.

    >>> results_path("acme/pairs")
    '.eval_results/acme_pairs.yaml'
    """
    return f".eval_results/{repo_id.replace('/', '_')}.yaml"
