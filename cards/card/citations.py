"""Whom to cite: in, a bank's title, authors, corpora and methods; out, BibTeX entries, each once.

The values of the card's YAML head for which the Hub has lists: in, a manifest; out, values of those lists.

The lists are those of `datasets` (`utils/resources/*.json`) and of `huggingface_hub.DatasetCardData`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.sources.source import entries as entries_in
from pairbank.builders.sources.source import references
from pairbank.files import sha256_of_text
from pairbank.scoring.methods.registry import cites_of

PLL_CITES = {"original": "salazar2020masked", "within_word_l2r": "kauf2023better"}
"""Work to cite for each way of scoring with a masked model."""


def bibtex_of(manifest: Mapping[str, Any], *, on_hub: str = "") -> list[str]:
    """Return the BibTeX entries of a bank that says whose it is, of pairbank, every corpus and method, each key once.

    Args:
        manifest: a bank's.
        on_hub: ORG/NAME where it is published.
    """
    cited = [(facts.get("source") or {}).get("citation", "") for facts in manifest["corpora"].values()]
    signatures = [signature for models in manifest["scores"].values() for signature in models.values()]
    known = references()
    wanted = {key for signature in signatures for key in _keys(signature)}
    papers = [entry for key, entry in known.items() if key in wanted]  # a manifest's own order is not kept on disk
    by_key: dict[str, str] = {}
    stated = manifest.get("pairbank")
    of_pairbank = (
        known["pairbank"].removesuffix("}").rstrip() + f",\n  version = {{{stated}}}\n}}"
        if stated
        else known["pairbank"]
    )
    for text in [_own_entry(manifest, on_hub), of_pairbank, *cited, *papers]:
        for key, entry in entries(text).items():
            by_key.setdefault(key, entry)
    return list(by_key.values())


def _own_entry(manifest: Mapping[str, Any], on_hub: str) -> str:
    """Return the entry of the bank itself, or "" where it has neither title nor authors.

    >>> print(_own_entry({"title": "Verbs of {Zürich}", "authors": ["A. Roe", "Lab of Sound and Form"]}, "lab/verbs"))
    @dataset{this_bank,
      title = {Verbs of Zürich},
      author = {A. Roe and {Lab of Sound and Form}},
      url = {https://huggingface.co/datasets/lab/verbs},
      note = {A bank of pairbank}
    }
    """
    title, authors = (str(manifest.get("title", "")), [str(x) for x in manifest.get("authors", [])])
    if not title and not authors:
        return ""
    names = [_plain(name) for name in authors]
    fields = {
        "title": _plain(title),
        "author": " and ".join(f"{{{name}}}" if " and " in name else name for name in names),
        "year": str(manifest.get("published", ""))[:4],
        "url": f"https://huggingface.co/datasets/{on_hub}" if on_hub else "",
        "note": "A bank of pairbank",
    }
    lines = ",\n".join(f"  {key} = {{{text}}}" for key, text in fields.items() if text)
    return f"@dataset{{this_bank,\n{lines}\n}}"


def _plain(text: str) -> str:
    """Return a text on one line without what ends a field of BibTeX."""
    return " ".join(re.sub(r"[{}\\]", "", text).split())


def _keys(signature: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of what is to be cited for a table's methods.

    A table of a version that did not say so is cited by its methods' names. A newer version may know works that this
    one does not: they are left out.
    """
    for name, definition in signature["methods"].items():
        yield from definition["cites"] if "cites" in definition else cites_of(name)
    pll = signature["model"].get("pll", "")
    if pll in PLL_CITES:
        yield PLL_CITES[pll]


def entries(text: str) -> dict[str, str]:
    """Return the entries of a BibTeX text by key; a text that is no BibTeX is one entry under its hash.

    >>> list(entries("@book{a, title = {A {B}}} @booklet{c, year = {2020}}"))
    ['a', 'c']
    """
    by_key = dict(entries_in(text))
    return by_key or ({sha256_of_text(text)[:8]: text.strip()} if text.strip() else {})


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
