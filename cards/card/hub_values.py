"""The values of the card's YAML head for which the Hub has lists: in, a manifest; out, values of those lists.

The lists are those of `datasets` (`utils/resources/*.json`) and of `huggingface_hub.DatasetCardData`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
    (1_000_000_000, "100M<n<1B"),
)
_CREATIVE_COMMONS = ("cc0-1.0", "cc-by-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0")
LICENCES = frozenset([*_CREATIVE_COMMONS, "cc-by-nc-sa-4.0", "apache-2.0", "mit", "odc-by", "other", "unknown"])
"""Licence ids that the Hub takes; another one is `other` in the head and stands in full on the page."""
TASK_IDS = {"word_prediction": "language-modeling", "continuation_pair": "language-modeling"}
"""The Hub's task id of a task; every other one is a judgment of acceptability."""
SINGLE = ("sentence",)
"""Tasks with a label a text; the others compare or continue texts."""
_HUB_DATASET = re.compile(r"https://huggingface\.co/datasets/([\w.-]+/[\w.-]+)/?")


def size_category(n_items: int) -> str:
    """Return the Hub's size category.

    >>> size_category(792), size_category(67000), size_category(1_200_000)
    ('n<1K', '10K<n<100K', '1M<n<10M')
    """
    return next((name for limit, name in SIZES if n_items < limit), "1B<n<10B")


def hub_licence(licence: str) -> str:
    """Return the id under which the Hub knows a licence.

    >>> hub_licence("CC-BY-4.0"), hub_licence("ask me")
    ('cc-by-4.0', 'other')
    """
    return licence.lower() if licence.lower() in LICENCES else "other"


def task_ids(tasks: set[str]) -> list[str]:
    """Return the Hub's ids of some tasks."""
    return sorted({TASK_IDS.get(task, "acceptability-classification") for task in tasks})


def task_categories(tasks: set[str]) -> list[str]:
    """Return the Hub's categories of some tasks: a choice is a classification, and made by generating probabilities."""
    results = {
        "text-generation" if TASK_IDS.get(task) == "language-modeling" else "text-classification" for task in tasks
    }
    return sorted(results | ({"text-generation"} if tasks - set(SINGLE) else set())) or ["text-classification"]


def multilinguality(languages: set[str]) -> list[str]:
    """Return whether there is one language or more, whatever their scripts and regions.

    >>> multilinguality({"pt", "pt-BR"}), multilinguality({"de", "en"})
    (['monolingual'], ['multilingual'])
    """
    return ["multilingual" if len({tag.split("-")[0] for tag in languages}) > 1 else "monolingual"]


def annotations_creators(manifest: Mapping[str, Any]) -> list[str]:
    """Return who made what stands beside the texts: labels as found, people's judgments, models' scores.

    Which side is better was laid down by those who made the corpus; whether a crowd or experts rated the sentences
    the sources say in words only, so people's judgments count as found like the rest of the corpus.
    """
    is_ours = set(manifest["corpora"]) <= {"starter"}
    labels = "expert-generated" if is_ours else "found"
    return sorted({labels, *(["machine-generated"] if any(manifest["scores"].values()) else [])})


def source_datasets(manifest: Mapping[str, Any]) -> list[str]:
    """Return where the texts are from: "original", or the dataset that is extended.

    >>> source = {"homepage": "https://huggingface.co/datasets/acme/pairs", "redistributable": True}
    >>> source_datasets({"corpora": {"a": {"source": source}, "mine": {}}})
    ['extended|acme/pairs', 'original']
    """
    results = set()
    for name, facts in manifest["corpora"].items():
        homepage = str((facts.get("source") or {}).get("homepage") or "")
        on_hub = _HUB_DATASET.fullmatch(homepage)
        if on_hub:
            results.add(f"extended|{on_hub[1]}")
        elif homepage and name != "starter":
            results.add(f"extended|other-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'corpus'}")
        else:
            results.add("original")
    return sorted(results)
