"""The values of a manifest: in, what was read from JSON; out, in words, every value that is not of a manifest's type.

A manifest may have come from anybody. What passes here can be read by the card, the site and the Hub's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.errors import BankError
from pairbank.scoring.signature import signature_problems
from pairbank.stats.analyses.introspection.model_features import features_from_entries

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("title", "description", "version", "subset", "human", "texts", "corpus")
RATING_COUNTS = ("n_ratings", "n_raters", "n_items", "least_a_side", "most_a_side")
"""Numbers of what a bank says of a corpus's ratings."""
_SOURCE_TEXTS = ("homepage", "revision", "licence", "licence_note", "citation")


def is_slug(name: str) -> bool:
    """Return whether a name can be that of a split, and so of a file.

    >>> is_slug("SmolLM2_135M"), is_slug("../SmolLM2"), is_slug("all")
    (True, False, False)
    """
    return re.fullmatch(r"\w+(\.\w+)*", name) is not None and name != "all"


def manifest_problems(manifest: Mapping[str, Any]) -> list[str]:
    """Return every value of a manifest that is missing or of another type.

    >>> manifest_problems({"corpora": {"a": {"n_items": "2"}}, "scores": {"b": {}}, "pairbank": "0.1.0", "files": {}})
    ["corpus 'a': n_items is '2'; expected a whole number", "scores of 'b', which is none of the corpora"]
    """
    corpora, scores, files = manifest["corpora"], manifest["scores"], manifest.get("files", {})
    ratings = manifest.get("ratings", {})
    tables = {"corpora": corpora, "scores": scores, "files": files, "written_with": manifest.get("written_with", {})}
    tables |= {"ratings": ratings, "probes": manifest.get("probes", {}), "features": manifest.get("features", {})}
    wrong = [f"{name} is {_short(x)}; expected a table" for name, x in tables.items() if not isinstance(x, dict)]
    if wrong:
        return wrong
    results = [f"{name} is {_short(x)}; expected a text" for name, x in _texts(manifest) if not isinstance(x, str)]
    results += [f"long is {_short(x)}; expected true" for x in [manifest.get("long", True)] if x is not True]
    for name, facts in corpora.items():
        results += [f"corpus {name[:80]!r}: {problem}" for problem in _corpus_problems(name, facts)]
    for name, models in scores.items():
        if name not in corpora:
            results.append(f"scores of {name[:80]!r}, which is none of the corpora")
        elif not isinstance(models, dict):
            results.append(f"scores of {name[:80]!r} are {_short(models)}; expected a table")
        else:
            results += _score_problems(name, models)
    results += _history_problems(manifest.get("history", []))
    for name, facts in ratings.items():
        if name not in corpora:
            results.append(f"ratings of {name[:80]!r}, which is none of the corpora")
        results += [f"ratings of {name[:80]!r}: {problem}" for problem in _rating_problems(facts)]
    results += [*_probe_problems(manifest.get("probes", {})), *_feature_problems(manifest.get("features", {}))]
    for path, digest in files.items():
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            results.append(f"files: {path[:80]!r} has {_short(digest)}; expected a sha256")
    return results


def _texts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "pairbank", manifest.get("pairbank", "")
    yield "command", manifest.get("command", "")
    yield "contact", manifest.get("contact", "")
    yield "published", manifest.get("published", "")
    yield "title", manifest.get("title", "")
    authors = manifest.get("authors", [])
    yield from (("authors", name) for name in (authors if isinstance(authors, list) else [authors, None]))
    yield from ((f"written_with.{name}", text) for name, text in manifest.get("written_with", {}).items())


def _history_problems(history: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is any
    if not isinstance(history, list):
        yield f"history is {_short(history)}; expected a list of versions"
        return
    for version in history:
        changes = version.get("changes") if isinstance(version, dict) else None
        is_whole = isinstance(changes, list) and all(isinstance(line, str) for line in changes)
        if not is_whole or not isinstance(version.get("pairbank"), str):
            yield f"history has {_short(version)}; expected a version of pairbank and a list of changes"


def _corpus_problems(corpus: str, facts: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is any
    if not isinstance(facts, dict):
        yield f"{_short(facts)}; expected a table of facts"
        return
    for name in ("n_items", "n_rows", "n_usable"):
        number = facts.get(name, None if name == "n_items" else 0)
        if type(number) is not int or number < 0:
            yield f"{name} is {_short(number)}; expected a whole number"
    for name in _TEXTS:
        if not isinstance(facts.get(name) or "", str):
            yield f"{name} is {_short(facts[name])}; expected a text"
    if facts.get("corpus", corpus) != corpus:
        yield f"its facts are of {_short(facts['corpus'])}"
    for name in ("languages", "tasks"):
        values = facts.get(name) or []
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            yield f"{name} is {_short(values)}; expected a list of texts"
    yield from _source_problems(facts.get("source") or {})


def _source_problems(source: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is any
    if not isinstance(source, dict):
        yield f"source is {_short(source)}; expected a table"
        return
    for name in _SOURCE_TEXTS:
        if not isinstance(source.get(name) or "", str):
            yield f"source.{name} is {_short(source[name])}; expected a text"
    if not isinstance(source.get("redistributable", False), bool):
        yield f"source.redistributable is {_short(source['redistributable'])}; expected true or false"


def _score_problems(corpus: str, models: Mapping[str, Any]) -> Iterator[str]:
    for slug, signature in models.items():
        if not is_slug(slug):
            yield f"{slug[:80]!r} cannot name a split"
            continue
        where = f"signature of {slug[:80]!r} on {corpus[:80]!r}"
        if problems := signature_problems(signature):
            yield from (f"{where}: {problem}" for problem in problems)
        elif signature["model"]["slug"] != slug:
            yield f"{where}: it is that of {signature['model']['slug'][:80]!r}"
        elif signature["corpus"]["name"] != corpus:
            yield f"{where}: it is of scores of {signature['corpus']['name'][:80]!r}"


def _rating_problems(facts: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is any
    if not isinstance(facts, dict):
        yield f"{_short(facts)}; expected a table of facts"
        return
    for name in RATING_COUNTS:
        if type(facts.get(name)) is not int or facts[name] < 0:
            yield f"{name} is {_short(facts.get(name))}; expected a whole number"
    for name in ("scale", "normalisation"):
        if not isinstance(facts.get(name), str):
            yield f"{name} is {_short(facts.get(name))}; expected a text"
    alpha = facts.get("alpha")
    if not isinstance(alpha, dict) or not all(
        alpha.get(name) is None or isinstance(alpha[name], float | int) for name in ("value", "low", "high")
    ):
        yield f"alpha is {_short(alpha)}; expected value, low and high"
    elif not isinstance(alpha.get("reason", ""), str):
        yield f"alpha.reason is {_short(alpha['reason'])}; expected a text"


def _probe_problems(probes: Mapping[str, Any]) -> Iterator[str]:
    for corpus, models in probes.items():
        if not isinstance(models, dict):
            yield f"probes of {corpus[:80]!r} are {_short(models)}; expected a table"
            continue
        for slug, signature in models.items():
            try:
                named = (signature["corpus"]["name"], signature["model"]["slug"])
                texts = (signature["corpus"]["items_sha256"], signature["model"]["name"])
            except (KeyError, TypeError):
                yield f"probes of {slug[:80]!r} on {corpus[:80]!r}: {_short(signature)} is no signature"
                continue
            if not is_slug(slug) or named != (corpus, slug) or not all(isinstance(text, str) for text in texts):
                yield f"probes of {slug[:80]!r} on {corpus[:80]!r}: the signature is of another model or corpus"


def _feature_problems(features: Mapping[str, Any]) -> Iterator[str]:
    for name, entry in features.items():
        if not isinstance(entry, dict):
            yield f"features of {name[:80]!r} are {_short(entry)}; expected a table"
            continue
        try:
            features_from_entries([{**entry, "name": name}])
        except (BankError, TypeError) as error:
            yield f"features of {name[:80]!r}: {error}"


def _short(value: Any) -> str:  # noqa: ANN401 - JSON is any
    return repr(value)[:60]
