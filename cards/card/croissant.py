"""The Croissant file: in, a bank's manifest and what its files hold; out, JSON-LD that Croissant's tools read.

Every parquet file with its hash, every config as a record set with a field a column, and the fields for responsible
use. Croissant 1.1 (mlcommons.org/croissant/1.1), its RAI vocabulary 1.0, the fields that NeurIPS asks for in
2026; `mlcroissant` validates it in the tests. The date of publication is the one that the makers state, if they do.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pairbank.cards.bank.redistribution import licence_of
from pairbank.cards.card.citations import hub_licence
from pairbank.cards.card.contents import BIASES, IMPACT, INTENDED, LIMITATIONS, SENSITIVE, SUMMARY, UNSUITABLE
from pairbank.cards.card.tables import languages_of
from pairbank.errors import spelt_out
from pairbank.markdown import shown

if TYPE_CHECKING:
    from pairbank.cards.card.contents import Contents, Entry

HUB = "https://huggingface.co/datasets/"
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
HUB_SHA256 = "https://github.com/mlcommons/croissant/issues/80"
"""Croissant wants a hash of a repository, which has none; this address says so, as on the Hub's own files."""
DATA_TYPES = {"bool": "sc:Boolean", "float32": "sc:Float", "float64": "sc:Float"}
"""Type on the card -> Croissant's; integers and texts go by their names' beginnings."""
SPDX = {"apache-2.0": "Apache-2.0", "mit": "MIT", "odc-by": "ODC-By-1.0"}
FILE, SPLIT = "file", "split"
_VOCABULARY = (
    "citeAs column containedIn data equivalentProperty extract field fileObject fileProperty fileSet format includes",
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate",
    "separator source subField transform",
)
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    **{name: f"cr:{name}" for names in _VOCABULARY for name in names.split()},
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What the Croissant file is made from."""

    manifest: Mapping[str, Any]
    contents: Mapping[str, Contents]
    configs: Sequence[Mapping[str, Any]]
    """As in the card's head: name, and a path a split."""
    columns: Mapping[str, Mapping[str, str]]
    """Config -> column -> type."""
    entries: Mapping[str, Entry]
    """Column -> what is known of it."""
    hashes: Mapping[str, str]
    """Path -> sha256."""
    title: str
    keywords: Sequence[str]
    citation: str
    on_hub: str = ""
    """ORG/NAME where the bank is published; else paths are relative to the file."""


def croissant_text(bank: Described) -> str:
    """Return croissant.json."""
    corpora = bank.manifest["corpora"]
    languages = sorted({tag for name, facts in corpora.items() for tag in languages_of(name, facts, bank.contents)})
    results: dict[str, Any] = {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": shown(bank.title, limit=200),
        "description": _description(bank),
        **_creators(bank.manifest.get("authors", [])),
        "keywords": list(bank.keywords),
        "inLanguage": [shown(tag, limit=40) for tag in languages],
        "license": sorted({_licence(name, facts) for name, facts in corpora.items()}),
        "citeAs": "\n".join(spelt_out(line) for line in bank.citation.splitlines()),
        "version": f"{max(1, len(bank.manifest.get('history', [])))}.0.0",
        **({"datePublished": date} if (date := bank.manifest.get("published", "")) else {}),
        **({"url": f"{HUB}{bank.on_hub}"} if bank.on_hub else {}),
        **_provenance(bank),
        **_responsible_use(bank),
        "distribution": _distribution(bank),
        "recordSet": [_record_set(bank, config) for config in bank.configs],
    }
    return json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _creators(authors: Sequence[str]) -> dict[str, Any]:
    """Return who made the bank, where it says so; whether a name is a person's or a group's is not known."""
    makers = [{"@type": "sc:Person", "name": shown(name, limit=200)} for name in authors]
    return {"creator": makers} if makers else {}


def _description(bank: Described) -> str:
    n_models = len({slug for models in bank.manifest["scores"].values() for slug in models})
    n_items = sum(facts["n_items"] for facts in bank.manifest["corpora"].values())
    return (
        f"{n_items:,} linguistic judgment items of {len(bank.contents)} corpora in one schema, and the scores that "
        f"{n_models} language models give them, directly (log-probabilities of the strings) and when asked. "
        "Made with pairbank; README.md says how."
    )


def _licence(corpus: str, facts: Mapping[str, Any]) -> str:
    """Return the address of a licence where it has one, else what its source says."""
    stated = licence_of(corpus, facts).split(". ")[0]
    known = hub_licence(stated)
    if known in ("other", "unknown"):
        return shown(f"{stated} ({corpus})", limit=200)
    return f"https://spdx.org/licenses/{SPDX.get(known, known.upper())}.html"


def _responsible_use(bank: Described) -> dict[str, Any]:
    """Return the fields of Croissant's vocabulary for responsible AI."""
    corpora, scores = bank.manifest["corpora"], bank.manifest["scores"]
    judged = [
        f"{shown(corpus)}: {entry.n_items:,} items judged{f' on {shown(entry.scale)}' if entry.scale else ''}"
        + (f", {entry.raters} people an item" if entry.raters else "")
        for corpus, held in bank.contents.items()
        for entry in held.judged
    ]
    models = sorted(
        {
            f"{shown(str(s['model']['model_id']))}@{shown(str(s['model']['revision']))}, pairbank {s['pairbank']}"
            for slugs in scores.values()
            for s in slugs.values()
        }
    )
    human = [f"{shown(name)}: {shown(str(facts['human']))}" for name, facts in corpora.items() if facts.get("human")]
    return {
        "rai:dataCollection": "Rows of published corpora, read from their own files into one schema; the manifest "
        "names each file and its hash. No text was written or collected for the bank, but for the corpus starter.",
        "rai:dataCollectionType": ["Secondary Data analysis", *(["Experiments"] if judged else [])],
        "rai:dataPreprocessingProtocol": [
            "Texts are as the source has them; documented defects are repaired, flagged, and kept beside the repair."
        ],
        "rai:dataAnnotationProtocol": ["Which side is better is the source's own label.", *human],
        **({"rai:annotationsPerItem": "; ".join(judged)} if judged else {}),
        **({"rai:machineAnnotationTools": models} if models else {}),
        "rai:dataUseCases": [*INTENDED, *(f"Not for: {text}" for text in UNSUITABLE)],
        "rai:dataLimitations": list(LIMITATIONS),
        "rai:dataBiases": list(BIASES),
        "rai:dataSocialImpact": " ".join(IMPACT),
        "rai:hasSyntheticData": bool(models),
        "rai:personalSensitiveInformation": list(SENSITIVE),
        "rai:dataReleaseMaintenancePlan": "The bank is extended in versions, each listed on its card; scores are "
        "recomputed where a signature changes, and never altered in place.",
    }


def _provenance(bank: Described) -> dict[str, Any]:
    """Return what the bank was made from and how, in the words of PROV: its corpora, and a step per stage."""
    sources = [
        {
            "@type": "sc:Dataset",
            "name": shown(str(facts.get("title") or name), limit=200),
            **(
                {"url": shown(home, limit=400)}
                if (home := str((facts.get("source") or {}).get("homepage") or ""))
                else {}
            ),
        }
        for name, facts in bank.manifest["corpora"].items()
    ]
    steps = {"Collection": "Read the corpora's own files into one schema; manifest.json names each file and its hash."}
    if bank.manifest["scores"]:
        steps["Scoring"] = (
            "Language models scored every item, by log-probability and when asked: the columns of methods are made by "
            "models, not by people."
        )
    versions = bank.manifest.get("written_with", {})
    agent = {
        "@type": "prov:SoftwareAgent",
        "@id": f"pairbank-{versions.get('pairbank', bank.manifest.get('pairbank', ''))}",
    }
    created = [
        {"@type": "prov:Activity", "prov:label": label, "sc:description": text, "prov:wasAssociatedWith": agent}
        for label, text in steps.items()
    ]
    return {"prov:wasDerivedFrom": sources, "prov:wasGeneratedBy": created}


def _distribution(bank: Described) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    if bank.on_hub:
        repository = {"@type": "cr:FileObject", "@id": "repo", "name": "repo", "description": "The repository."}
        results.append(
            repository | {"contentUrl": f"{HUB}{bank.on_hub}", "encodingFormat": "git+https", "sha256": HUB_SHA256}
        )
    base = f"{HUB}{bank.on_hub}/resolve/main/" if bank.on_hub else ""
    results += [
        {
            "@type": "cr:FileObject",
            "@id": quote(path),
            "name": path,
            "contentUrl": f"{base}{quote(path)}" if base else path,
            "encodingFormat": "application/x-parquet",
            "sha256": bank.hashes[path],
        }
        for path in sorted(bank.hashes)
    ]
    for config in bank.configs:
        if len(files := _paths(config)) > 1:
            folders = {posixpath.dirname(path) for path in files}
            results.append(
                {
                    "@type": "cr:FileSet",
                    "@id": f"files/{quote(config['config_name'])}",
                    "name": f"files of {config['config_name']}",
                    **({"containedIn": {"@id": "repo"}} if bank.on_hub else {}),
                    "encodingFormat": "application/x-parquet",
                    "includes": [f"{folder}/*.parquet" for folder in sorted(folders)],
                }
            )
    return results


def _paths(config: Mapping[str, Any]) -> list[str]:
    return [str(file["path"]) for file in config["data_files"]]


def _record_set(bank: Described, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config as a record set: of one file, or of all its splits with the split's name in a field."""
    name, paths = str(config["config_name"]), _paths(config)
    root = quote(name)
    where: dict[str, Any] = (
        {"fileObject": {"@id": quote(paths[0])}} if len(paths) == 1 else {"fileSet": {"@id": f"files/{root}"}}
    )
    fields = [_field(bank, root, column, kind, where) for column, kind in bank.columns[name].items()]
    if len(paths) > 1:
        source = where | {"extract": {"fileProperty": "filename"}, "transform": {"regex": r"^(.*)\.parquet$"}}
        split = {"@type": "cr:Field", "@id": f"{root}/{SPLIT}", "name": SPLIT, "dataType": "sc:Text"}
        fields.insert(0, split | {"description": "The split: a model's name, as the file has it.", "source": source})
    splits = ", ".join(str(file["split"]) for file in config["data_files"][:20])
    more = f" and {len(paths) - 20} more" if len(paths) > 20 else ""
    described = f"Config {name} of the bank; splits: {splits}{more}."
    return {"@type": "cr:RecordSet", "@id": root, "name": name, "description": described, "field": fields}


def _field(bank: Described, root: str, column: str, kind: str, where: Mapping[str, Any]) -> dict[str, Any]:
    inner = kind.removeprefix("list<").removesuffix(">")
    data_type = DATA_TYPES.get(inner, "sc:Integer" if inner.startswith(("int", "uint")) else "sc:Text")
    known = bank.entries.get(column)
    reported = f"{known.meaning}{f' ({known.unit})' if known.unit else ''}" if known else ""
    if root == "summary":
        reported = SUMMARY.get(column, "")
    return {
        "@type": "cr:Field",
        "@id": f"{root}/{quote(column, safe='')}",
        "name": column,
        **({"description": reported} if reported else {}),
        "dataType": data_type,
        **({"repeated": True} if inner != kind else {}),
        "source": {**where, "extract": {"column": column}},
    }
