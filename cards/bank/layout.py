"""Where things are in a bank: in, names of corpora and models; out, paths and config names.

Any file system, `load_dataset` and the Hub accept them, whatever the names.

README.md                              the dataset card; its `configs:` are what `load_dataset` reads
data/<corpus>/items.parquet            config `<corpus>`, split `items`
scores/<corpus>/<model>.parquet        config `<corpus>_scored`, one split a model
long/<corpus>/<model>.parquet          config `<corpus>_long`, one split a model: a row per item and method
probes/<corpus>/{layers,groups}/<model>.parquet   what probes found in hidden states; not among the configs
prompts/<id>.toml                      what a method asks, word for word
prompts/rendered.jsonl                 each prompt as each model reads it, chat template and special tokens included
ratings/<corpus>.parquet               config `<corpus>_ratings`, split `ratings`: individual ratings of its items
results/summary.parquet                config `summary`, split `results`
reports/<study>/                       report.md, CSV tables, figures and captions.json beside them
croissant.json                         the same described for Croissant's tools
manifest.json                          signatures, counts and file hashes; written last

A manifest may have come from anybody. What `read_manifest` returns can be read by the card, the site and the Hub's
code. Other keys are of other versions of pairbank, and are not read.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt

from pairbank.declarations import StoredRecord, problems_of
from pairbank.errors import BankError
from pairbank.files import read_json, sha256_of_text
from pairbank.scoring.signature import SHARED, Signature, shared
from pairbank.stats.scored_table.model_features import features_from_entries
from pairbank.stats.version import STATISTICS_VERSION

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
RENDERED = f"{PROMPTS}/rendered.jsonl"
FOLDERS = ("data", "scores", LONG, RATINGS, PROBES, PROMPTS, "results", REPORTS)
SUBMISSIONS = "submissions"
INDEX = f"{SUBMISSIONS}/index.json"
"""What became of each submission to a shared bank; it is no part of the bank, and is published with it."""
DISPUTED = "disputed"
"""Key of a shared bank's manifest: folder of a model's submissions -> those that differ by more than rounding."""
NAME_BYTES = 96
LEFT_OUT = "left out"
"""Value of `texts` in a corpus's facts where the bank holds its ids and scores only."""
FORMAT_VERSION = 2
"""Of a bank's files: raise it when a file, a column or a key of the manifest comes, goes or means something else."""
PARTS = "parts"
"""Key of a large manifest: the methods and corpora of its signatures, each once."""
_PART = "part:"
MANY_TABLES = 100
"""Manifests of more scored tables have parts; those of fewer are read as they are."""


def config_name(corpus: str) -> str:
    """Return the config and folder of a corpus: its name, or a safe form of it that no other corpus has."""
    safe = "_".join(part for part in re.split(r"[^\w.-]+", corpus) if part).strip("._-")
    safe = safe.encode()[:NAME_BYTES].decode(errors="ignore")
    is_free = safe not in ("summary", "default", "data") and not safe.endswith(("_scored", "_ratings"))
    if safe == corpus and is_free:
        return corpus
    return f"{safe or 'corpus'}_{sha256_of_text(corpus)[:8]}"


def file_twin(name: str, others: Iterable[str]) -> str:
    """Return which of other names is one file with a name where case or composed letters do not count; "" = none."""
    folded = unicodedata.normalize("NFC", name).casefold()
    return next((o for o in others if o != name and unicodedata.normalize("NFC", o).casefold() == folded), "")


def items_path(corpus: str) -> str:
    return f"data/{config_name(corpus)}/items.parquet"


def scores_path(corpus: str, slug: str) -> str:
    if not is_slug(slug):
        raise BankError(f"corpus {corpus[:80]!r}: {slug[:80]!r} cannot name a split; this is no manifest of pairbank's")
    return f"scores/{config_name(corpus)}/{slug}.parquet"


def long_path(corpus: str, slug: str) -> str:
    return f"{LONG}/{scores_path(corpus, slug).partition('/')[2]}"


def ratings_path(corpus: str) -> str:
    return f"{RATINGS}/{config_name(corpus)}.parquet"


def probe_paths(corpus: str, slug: str) -> tuple[str, str]:
    """Return the paths of the probes of a model on a corpus: the table of layers, and that of groups."""
    name = scores_path(corpus, slug).rpartition("/")[2]
    return f"{PROBES}/{config_name(corpus)}/layers/{name}", f"{PROBES}/{config_name(corpus)}/groups/{name}"


def probe_files(manifest: Mapping[str, Any]) -> list[str]:
    held = manifest.get(PROBES, {})
    return sorted(path for corpus, models in held.items() for slug in models for path in probe_paths(corpus, slug))


def signatures(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return itertools.chain.from_iterable(models.values() for models in manifest["scores"].values())


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
    """Return the paths of all files in a bank's own folders, and its card, without the manifest and links."""
    results = [path for path, mode in _entries(root) if stat.S_ISREG(mode)]
    return sorted(path for path in results if path not in (MANIFEST, RECORD) and not Path(path).name.startswith("."))


def foreign_entries(root: Path) -> list[str]:
    """Return what is neither a folder nor a file: links (what they lead to would be published), devices, pipes."""
    return sorted(path for path, mode in _entries(root) if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode))


def _entries(root: Path) -> Iterator[tuple[str, int]]:
    """Yield path and mode of everything in a bank's own folders, and of its own files; no link is followed."""
    for top in (root / name for name in (CARD, CROISSANT, MANIFEST, RECORD, *FOLDERS) if os.path.lexists(root / name)):
        inner = top.rglob("*") if top.is_dir() and not top.is_symlink() else ()
        for path in (top, *inner):
            status = path.stat() if is_from_hub(root, path) else path.lstat()
            yield path.relative_to(root).as_posix(), status.st_mode


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
    models = [signature["model"] for signature in signatures(manifest)]
    nulls = {str(model["name"]) for model in models if model.get("weights")}
    return nulls if any(model["name"] not in nulls for model in models) else set()


def read_manifest(root: Path) -> dict[str, Any]:
    path = root / MANIFEST
    if (path.is_symlink() and not is_from_hub(root, path)) or not path.is_file():
        raise BankError(f"{root}: not a bank (no {MANIFEST}); expected a folder that pairbank.write_bank wrote")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or not {"corpora", "scores"} <= manifest.keys():
        raise BankError(f"{path}: lacks corpora or scores; expected what pairbank.write_bank wrote")
    expand(manifest)
    if problems := manifest_problems(manifest):
        more = f" … and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise BankError(f"{path}: no manifest of pairbank's: {'; '.join(problems[:5])}{more}. Write the bank again")
    return manifest


def refuse_newer(root: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse to write a bank that a newer version wrote: this one would lose or misread what it does not know."""
    for name, current in (("statistics", STATISTICS_VERSION), ("format", FORMAT_VERSION)):
        if (version := manifest.get(name, 1)) > current:
            raise BankError(
                f"{root}: it has version {version} of the {name}, this pairbank has {current}: it is read, but not "
                f"extended. It needs pairbank >= {manifest['pairbank']}: pip install -U pairbank"
            )


def compact(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a manifest as its file has it: what thousands of signatures repeat stands there once.

    Else a bank of 8,000 tables has one of 50 MB, and whoever reads one table of it on the Hub downloads that first.
    """
    if sum(map(len, manifest["scores"].values())) <= MANY_TABLES:
        return manifest
    parts: dict[str, Any] = {}
    names: dict[int, str] = {}
    scores: dict[str, dict[str, Any]] = {}
    for corpus, models in manifest["scores"].items():
        scores[corpus] = {}
        for slug, signature in models.items():
            short = scores[corpus][slug] = dict(signature)
            for name in SHARED:
                part = signature[name]
                if id(part) not in names:
                    digest = sha256_of_text(json.dumps(part, sort_keys=True))[:16]
                    names[id(part)], parts[digest] = f"{_PART}{digest}", part
                short[name] = names[id(part)]
    return {**manifest, "scores": scores, PARTS: parts}


def expand(manifest: dict[str, Any]) -> None:
    """Put the parts of a manifest where its signatures name them; equal ones become one object."""
    parts = manifest.pop(PARTS, {})
    known = {f"{_PART}{digest}": part for digest, part in parts.items()} if isinstance(parts, dict) else {}
    seen: dict[str, Any] = {}
    for models in manifest["scores"].values() if isinstance(manifest["scores"], dict) else ():
        for signature in models.values() if isinstance(models, dict) else ():
            if isinstance(signature, dict):
                named = {name: signature[name] for name in SHARED if isinstance(signature.get(name), str)}
                signature |= {name: known.get(part, part) for name, part in named.items()}
                if not named:
                    shared(signature, seen)


def _sha256(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{64}", value):
        raise ValueError("expected a sha256")
    return value


class _Source(StoredRecord):
    homepage: str | None = None
    revision: str | None = None
    licence: str | None = None
    licence_note: str | None = None
    citation: str | None = None
    redistributable: bool = False


class _Corpus(StoredRecord):
    n_items: NonNegativeInt
    n_rows: NonNegativeInt = 0
    n_usable: NonNegativeInt = 0
    title: str | None = None
    description: str | None = None
    version: str | None = None
    subset: str | None = None
    human: str | None = None
    texts: str | None = None
    corpus: str | None = None
    languages: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    source: _Source | None = None


class _Alpha(StoredRecord):
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class _Ratings(StoredRecord):
    n_ratings: NonNegativeInt
    n_raters: NonNegativeInt
    n_items: NonNegativeInt
    least_a_side: NonNegativeInt
    most_a_side: NonNegativeInt
    scale: str
    normalisation: str
    alpha: _Alpha


class _Version(StoredRecord):
    pairbank: str
    changes: tuple[str, ...]


class _Probe(StoredRecord):
    class Model(StoredRecord):
        name: str
        slug: str

    class Corpus(StoredRecord):
        name: str
        items_sha256: str

    model: Model
    corpus: Corpus


def _slug(name: str) -> str:
    if not is_slug(name):
        raise ValueError(f"{name[:80]!r} cannot name a split")
    return name


_Slug = Annotated[str, AfterValidator(_slug)]


class _Manifest(StoredRecord):
    """A manifest, as every reader can use it."""

    pairbank: str = ""
    statistics: int = Field(default=1, ge=1)
    format: int = Field(default=1, ge=1)
    command: str = ""
    contact: str = ""
    published: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    long: Literal[True] = True
    written_with: dict[str, str] = Field(default_factory=dict)
    corpora: dict[str, _Corpus]
    scores: dict[str, dict[_Slug, Signature]]
    ratings: dict[str, _Ratings] = Field(default_factory=dict)
    probes: dict[str, dict[_Slug, _Probe]] = Field(default_factory=dict)
    features: dict[str, dict[str, Any]] = Field(default_factory=dict)
    files: dict[str, Annotated[str, BeforeValidator(_sha256)]] = Field(default_factory=dict)
    history: tuple[_Version, ...] = ()
    disputed: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def is_slug(name: str) -> bool:
    """Return whether a name can be that of a split, and so of a file.

    >>> is_slug("SmolLM2_135M"), is_slug("../SmolLM2"), is_slug("all")
    (True, False, False)
    """
    return re.fullmatch(r"\w+(\.\w+)*", name) is not None and name != "all"


def manifest_problems(manifest: Mapping[str, Any]) -> list[str]:
    """Return what is missing or of another type in a manifest; if nothing is, what contradicts another part of it.

    >>> manifest_problems({"corpora": {"a": {"n_items": "2"}}, "scores": {"b": {}}, "pairbank": "0.1.0", "files": {}})
    ["corpora.a.n_items is '2'; expected a whole number"]
    >>> manifest_problems({"corpora": {"a": {"n_items": 2}}, "scores": {"b": {}}})
    ["scores of 'b', which is none of the corpora"]
    """
    if problems_of(_Manifest, _with_methods_once(manifest)):
        return problems_of(_Manifest, manifest)
    return [*_contradictions(manifest)]


def _with_methods_once(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a manifest whose signatures have but the first of methods that are those of a signature before."""
    seen: set[int] = set()
    scores: dict[str, dict[str, Any]] = {}
    try:
        for corpus, models in manifest["scores"].items():
            scores[corpus] = {}
            for slug, signature in models.items():
                methods = signature["methods"]
                is_new = id(methods) not in seen
                scores[corpus][slug] = signature if is_new else {**signature, "methods": dict([*methods.items()][:1])}
                seen.add(id(methods))
    except (AttributeError, KeyError, TypeError):  # of another form, which the check will name
        return manifest
    return {**manifest, "scores": scores}


def _contradictions(manifest: Mapping[str, Any]) -> Iterator[str]:
    corpora = manifest["corpora"]
    for name, facts in corpora.items():
        if facts.get("corpus", name) != name:
            yield f"corpora.{name[:80]}: its facts are of {facts['corpus']!r:.80}"
    for kind in ("scores", "ratings"):
        others = [name for name in manifest.get(kind, {}) if name not in corpora]
        yield from (f"{kind} of {name[:80]!r}, which is none of the corpora" for name in others)
    for kind in ("scores", "probes"):
        for corpus, models in manifest.get(kind, {}).items():
            for slug, signature in models.items():
                model, of, where = signature["model"]["slug"], signature["corpus"]["name"], f"{kind}.{corpus[:80]}"
                if (model, of) != (slug, corpus):
                    yield f"{where}: the signature of {slug[:80]!r} is that of {model[:80]!r} on {of[:80]!r}"
    for name, entry in manifest.get("features", {}).items():
        try:
            features_from_entries([{**entry, "name": name}])
        except (BankError, TypeError) as error:
            yield f"features.{name[:80]}: {error}"
