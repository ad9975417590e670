"""Where things stand in a bank: in, names of corpora and models; out, paths and config names.

Any file system, `load_dataset` and the Hub accept them, whatever the names.

README.md                              the dataset card; its `configs:` are what `load_dataset` reads
data/<corpus>/items.parquet            config `<corpus>`, split `items`
scores/<corpus>/<model>.parquet        config `<corpus>_scored`, one split a model
long/<corpus>/<model>.parquet          config `<corpus>_long`, one split a model: a row per item and method
probes/<corpus>/{layers,groups}/<model>.parquet   what probes found in hidden states; not among the configs
prompts/<id>.toml                      what a method asks, word for word
ratings/<corpus>.parquet               config `<corpus>_ratings`, split `ratings`: individual ratings of its items
results/summary.parquet                config `summary`, split `results`
reports/<study>/                       report.md, CSV tables, figures and captions.json beside them
croissant.json                         the same described for Croissant's tools
manifest.json                          signatures, counts and file hashes; written last

The values of a manifest: in, what was read from JSON; out, in words, every value that is not of a manifest's type.

A manifest may have come from anybody. What passes here can be read by the card, the site and the Hub's code.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pairbank.errors import BankError
from pairbank.files import read_json, sha256_of_text
from pairbank.scoring.signature import signature_problems
from pairbank.stats.analyses.introspection.model_features import features_from_entries

CARD = "README.md"
CROISSANT = "croissant.json"
MANIFEST = "manifest.json"
SUMMARY = "results/summary.parquet"
REPORTS = "reports"
RECORD = ".published.json"
"""What was published last, and where; stays on this machine."""
RATINGS = "ratings"
LONG = "long"
"""Folder, and key of the manifest: whether each scored table has its long view, which banks of before lack."""
PROBES = "probes"
PROMPTS = "prompts"
FOLDERS = ("data", "scores", LONG, RATINGS, PROBES, PROMPTS, "results", REPORTS)
SUBMISSIONS = "submissions"
INDEX = f"{SUBMISSIONS}/index.json"
"""What became of each submission to a shared bank; it is no part of the bank, and is published with it."""
NAME_BYTES = 96
LEFT_OUT = "left out"
"""Value of `texts` in a corpus's facts where the bank holds its ids and scores only."""


def config_name(corpus: str) -> str:
    r"""Return the config and folder of a corpus: its name, or a safe form of it that no other corpus has.

    >>> config_name("hu-levy-blimp"), config_name("summary"), config_name("../my <pairs>")
    ('hu-levy-blimp', 'summary_80b8fd96', 'my_pairs_11459350')
    """
    safe = "_".join(part for part in re.split(r"[^\w.-]+", corpus) if part).strip("._-")
    safe = safe.encode()[:NAME_BYTES].decode(errors="ignore")
    is_free = safe not in ("summary", "default", "data") and not safe.endswith(("_scored", "_ratings"))
    if safe == corpus and is_free:
        return corpus
    return f"{safe or 'corpus'}_{sha256_of_text(corpus)[:8]}"


def items_path(corpus: str) -> str:
    """Return where a corpus's items stand."""
    return f"data/{config_name(corpus)}/items.parquet"


def scores_path(corpus: str, slug: str) -> str:
    """Return where a model's scores of a corpus stand.

    Raises:
        BankError: the slug, which may come from somebody else's manifest, cannot name a split.
    """
    if not is_slug(slug):
        raise BankError(f"corpus {corpus[:80]!r}: {slug[:80]!r} cannot name a split; this is no manifest of pairbank's")
    return f"scores/{config_name(corpus)}/{slug}.parquet"


def long_path(corpus: str, slug: str) -> str:
    """Return where the long view of a model's scores of a corpus stands."""
    return f"{LONG}/{scores_path(corpus, slug).partition('/')[2]}"


def ratings_path(corpus: str) -> str:
    """Return where the ratings of a corpus's items stand."""
    return f"{RATINGS}/{config_name(corpus)}.parquet"


def probe_paths(corpus: str, slug: str) -> tuple[str, str]:
    """Return where the probes of a model on a corpus stand: the table of layers, and that of groups."""
    name = scores_path(corpus, slug).rpartition("/")[2]
    return f"{PROBES}/{config_name(corpus)}/layers/{name}", f"{PROBES}/{config_name(corpus)}/groups/{name}"


def probe_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return the paths of all files of probes that the manifest says the bank has."""
    held = manifest.get(PROBES, {})
    return sorted(path for corpus, models in held.items() for slug in models for path in probe_paths(corpus, slug))


def tables(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (corpus, model slug) of every scored table, sorted."""
    for corpus, models in sorted(manifest["scores"].items()):
        for slug in sorted(models):
            yield corpus, slug


def data_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return the paths of all parquet files that the manifest says the bank has."""
    files = [items_path(name) for name in manifest["corpora"]]
    files += [scores_path(corpus, slug) for corpus, slug in tables(manifest)]
    files += [long_path(corpus, slug) for corpus, slug in tables(manifest) if manifest.get(LONG)]
    files += [ratings_path(name) for name in manifest.get(RATINGS, {})]
    return sorted([*files, *([SUMMARY] if manifest["scores"] else [])])


def bank_files(root: Path) -> list[str]:
    """Return the paths of all files in a bank's own folders, and its card; the manifest is not among them.

    Links and what is no file are left out: `foreign_entries` names them.
    """
    results = [path for path, mode in _entries(root) if stat.S_ISREG(mode)]
    return sorted(path for path in results if path not in (MANIFEST, RECORD) and not Path(path).name.startswith("."))


def foreign_entries(root: Path) -> list[str]:
    """Return what stands in a bank and is neither a folder nor a file of its own: links, devices, pipes.

    A link could lead out of the bank, and what it leads to would be copied or published with it.
    """
    return sorted(path for path, mode in _entries(root) if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode))


def _entries(root: Path) -> Iterator[tuple[str, int]]:
    """Yield path and mode of everything in a bank's own folders, and of its own files; no link is followed."""
    for name in (CARD, CROISSANT, MANIFEST, RECORD, *FOLDERS):
        if not os.path.lexists(root / name):
            continue
        mode = _mode(root, root / name)
        yield name, mode
        if stat.S_ISDIR(mode):
            for folder, folders, files in os.walk(root / name):
                for inner in (*folders, *files):
                    path = Path(folder, inner)
                    yield path.relative_to(root).as_posix(), _mode(root, path)


def _mode(root: Path, path: Path) -> int:
    return (path.stat() if is_from_hub(root, path) else path.lstat()).st_mode


def is_from_hub(root: Path, path: Path) -> bool:
    """Return whether a link is the Hub client's own: from a snapshot in its cache to a file of the same repository."""
    snapshot = root.resolve()
    return snapshot.parent.name == "snapshots" and path.resolve().parent == snapshot.parent.parent / "blobs"


def null_models(manifest: Mapping[str, Any]) -> set[str]:
    """Return the names of the models with random weights; none where no other model is there.

    >>> null, model = {"name": "a", "weights": "random:0"}, {"name": "b"}
    >>> null_models({"scores": {"corpus": {"a": {"model": null}, "b": {"model": model}}}})
    {'a'}
    """
    models = [signature["model"] for slugs in manifest["scores"].values() for signature in slugs.values()]
    nulls = {str(model["name"]) for model in models if model.get("weights")}
    return nulls if any(model["name"] not in nulls for model in models) else set()


def read_manifest(root: Path) -> dict[str, Any]:
    """Return a bank's manifest.

    Raises:
        BankError: the folder has none, or not one of a bank; names every value that is not what a bank has there.
    """
    path = root / MANIFEST
    if (path.is_symlink() and not is_from_hub(root, path)) or not path.is_file():
        raise BankError(f"{root}: not a bank (no {MANIFEST}); expected a folder that pairbank.write_bank wrote")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or not {"corpora", "scores"} <= manifest.keys():
        raise BankError(f"{path}: lacks corpora or scores; expected what pairbank.write_bank wrote")
    if problems := manifest_problems(manifest):
        more = f" … and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise BankError(f"{path}: no manifest of pairbank's: {'; '.join(problems[:5])}{more}. Write the bank again")
    return manifest


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
