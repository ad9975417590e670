"""What machines read of a card: the Croissant file and BibTeX entries. In, a manifest and what its files hold.

Croissant 1.1 (mlcommons.org/croissant/1.1), its RAI vocabulary 1.0, the fields that NeurIPS asks for in 2026;
`mlcroissant` validates it in the tests. The date of publication is the one that the makers state, if they do.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any
from urllib.parse import quote

from pairbank.builders.sources.source import entries as entries_in
from pairbank.builders.sources.source import references
from pairbank.cards.bank.layout import signatures
from pairbank.cards.card import contents
from pairbank.cards.card.tables import languages_of, licence_id
from pairbank.errors import spelt_out
from pairbank.files import sha256_of_text
from pairbank.markdown import shown
from pairbank.scoring.methods.registry import cites_of

HUB = "https://huggingface.co/datasets/"
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
HUB_SHA256 = "https://github.com/mlcommons/croissant/issues/80"
"""Croissant wants a hash of a repository, which has none; this address says so, as on the Hub's own files."""
DATA_TYPES = {"bool": "sc:Boolean", "float32": "sc:Float", "float64": "sc:Float"}
"""Type on the card -> Croissant's; integers and texts go by their names' beginnings."""
SPDX = {"apache-2.0": "Apache-2.0", "mit": "MIT", "odc-by": "ODC-By-1.0"}
SPLIT = "split"
CROISSANT: Mapping[str, str] = contents.WORDS["croissant"]
CONTEXT: Mapping[str, Any] = json.loads(
    (resources.files("pairbank.cards.card") / "templates" / "croissant_context.json").read_text(encoding="utf-8")
)

PLL_CITES = {"original": "salazar2020masked", "within_word_l2r": "kauf2023better"}
"""Work to cite for each way of scoring with a masked model."""

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
_CREATIVE_COMMONS = ("cc0-1.0", "cc-by-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0")
LICENCES = frozenset([*_CREATIVE_COMMONS, "cc-by-nc-sa-4.0", "apache-2.0", "mit", "odc-by", "other", "unknown"])
"""Licence ids that the Hub takes; another one is `other` in the head and stands in full on the page."""
TASK_IDS = {"word_prediction": "language-modeling", "continuation_pair": "language-modeling"}
"""The Hub's task id of a task; every other one is a judgment of acceptability."""
SINGLE = ("sentence",)
"""Tasks with a label a text; the others compare or continue texts."""
_HUB_DATASET = re.compile(r"https://huggingface\.co/datasets/([\w.-]+/[\w.-]+)/?")


def croissant_of(bank: contents.Bank, hashes: Mapping[str, str], *, name: str = contents.THIS_BANK) -> str:
    """Return croissant.json; `name` is that of the bank on the Hub, and `hashes` are of its data files, by path."""
    manifest, corpora = bank.manifest, bank.manifest["corpora"]
    on_hub, entries_by_name = "" if name == contents.THIS_BANK else name, contents.described(manifest, bank.contents)
    configs = contents.configs_of(manifest, hashes)
    citation = "\n\n".join(bibtex_of(manifest, on_hub=on_hub))
    makers = [{"@type": "sc:Person", "name": shown(author, limit=200)} for author in manifest.get("authors", [])]
    n_models = len({slug for models in manifest["scores"].values() for slug in models})
    n_items = sum(facts["n_items"] for facts in corpora.values())
    languages = sorted({tag for name, facts in corpora.items() for tag in languages_of(name, facts, bank.contents)})
    results: dict[str, Any] = {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": shown(contents.pretty_name(manifest), limit=200),
        "description": CROISSANT["description"].format(n_items=n_items, n_corpora=len(corpora), n_models=n_models),
        **({"creator": makers} if makers else {}),
        "keywords": list(contents.TAGS),
        "inLanguage": [shown(tag, limit=40) for tag in languages],
        "license": sorted({_licence(name, facts) for name, facts in corpora.items()}),
        "citeAs": "\n".join(spelt_out(line) for line in citation.splitlines()),
        "version": f"{max(1, len(manifest.get('history', [])))}.0.0",
        **({"datePublished": date} if (date := manifest.get("published", "")) else {}),
        **({"url": f"{HUB}{on_hub}"} if on_hub else {}),
        **_provenance(bank),
        **_responsible_use(bank),
        "distribution": _distribution(configs, hashes, on_hub),
        "recordSet": [_record_set(config, bank.columns[config["config_name"]], entries_by_name) for config in configs],
    }
    return json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _licence(corpus: str, facts: Mapping[str, Any]) -> str:
    stated = licence_id(corpus, facts)
    known = hub_licence(stated)
    if known in ("other", "unknown"):
        return shown(f"{stated} ({corpus})", limit=200)
    return f"https://spdx.org/licenses/{SPDX.get(known, known.upper())}.html"


def _responsible_use(bank: contents.Bank) -> dict[str, Any]:
    corpora = bank.manifest["corpora"]
    judged = [
        f"{shown(corpus)}: {judged.n_items:,} items judged{f' on {shown(judged.scale)}' if judged.scale else ''}"
        + (f", {judged.raters} people an item" if judged.raters else "")
        for corpus, held in bank.contents.items()
        for judged in held.judged
    ]
    signed = [(signature["model"], signature["pairbank"]) for signature in signatures(bank.manifest)]
    models = sorted(
        {f"{shown(str(m['model_id']))}@{shown(str(m['revision']))}, pairbank {version}" for m, version in signed}
    )
    human = [f"{shown(name)}: {shown(str(facts['human']))}" for name, facts in corpora.items() if facts.get("human")]
    unsuitable = [f"Not for: {text}" for text in contents.WORDS["unsuitable"]]
    return {
        "rai:dataCollection": CROISSANT["collection"],
        "rai:dataCollectionType": ["Secondary Data analysis", *(["Experiments"] if judged else [])],
        "rai:dataPreprocessingProtocol": [CROISSANT["preprocessing"]],
        "rai:dataAnnotationProtocol": [CROISSANT["annotation"], *human],
        **({"rai:annotationsPerItem": "; ".join(judged)} if judged else {}),
        **({"rai:machineAnnotationTools": models} if models else {}),
        "rai:dataUseCases": [*contents.WORDS["intended"], *unsuitable],
        "rai:dataLimitations": contents.WORDS["limitations"],
        "rai:dataBiases": contents.WORDS["biases"],
        "rai:dataSocialImpact": " ".join(contents.WORDS["impact"]),
        "rai:hasSyntheticData": bool(models),
        "rai:personalSensitiveInformation": contents.WORDS["sensitive"],
        "rai:dataReleaseMaintenancePlan": CROISSANT["maintenance"],
    }


def _provenance(bank: contents.Bank) -> dict[str, Any]:
    """Return what the bank was made from and how, in the words of PROV: its corpora, and a step per stage."""
    sources = []
    for name, facts in bank.manifest["corpora"].items():
        sources.append({"@type": "sc:Dataset", "name": shown(str(facts.get("title") or name), limit=200)})
        if home := (facts.get("source") or {}).get("homepage"):
            sources[-1]["url"] = shown(str(home), limit=400)
    steps = {"Collection": CROISSANT["step_collection"]}
    if bank.manifest["scores"]:
        steps["Scoring"] = CROISSANT["step_scoring"]
    versions = bank.manifest.get("written_with", {})
    version = versions.get("pairbank", bank.manifest.get("pairbank", ""))
    agent = {"@type": "prov:SoftwareAgent", "@id": f"pairbank-{version}"}
    created = [
        {"@type": "prov:Activity", "prov:label": label, "sc:description": text, "prov:wasAssociatedWith": agent}
        for label, text in steps.items()
    ]
    return {"prov:wasDerivedFrom": sources, "prov:wasGeneratedBy": created}


def _distribution(configs: Sequence[Mapping[str, Any]], hashes: Mapping[str, str], on_hub: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    if on_hub:
        repository = {"@type": "cr:FileObject", "@id": "repo", "name": "repo", "description": "The repository."}
        results.append(
            repository | {"contentUrl": f"{HUB}{on_hub}", "encodingFormat": "git+https", "sha256": HUB_SHA256}
        )
    base = f"{HUB}{on_hub}/resolve/main/" if on_hub else ""
    results += [
        {
            "@type": "cr:FileObject",
            "@id": quote(path),
            "name": path,
            "contentUrl": f"{base}{quote(path)}" if base else path,
            "encodingFormat": "application/x-parquet",
            "sha256": hashes[path],
        }
        for path in sorted(hashes)
    ]
    for config in configs:
        if len(files := _paths(config)) > 1:
            folders = {posixpath.dirname(path) for path in files}
            results.append(
                {
                    "@type": "cr:FileSet",
                    "@id": f"files/{quote(config['config_name'])}",
                    "name": f"files of {config['config_name']}",
                    **({"containedIn": {"@id": "repo"}} if on_hub else {}),
                    "encodingFormat": "application/x-parquet",
                    "includes": [f"{folder}/*.parquet" for folder in sorted(folders)],
                }
            )
    return results


def _paths(config: Mapping[str, Any]) -> list[str]:
    return [str(file["path"]) for file in config["data_files"]]


def _record_set(
    config: Mapping[str, Any], columns: Mapping[str, str], known: Mapping[str, contents.Entry]
) -> dict[str, Any]:
    """Return a config as a record set: of one file, or of all its splits with the split's name in a field."""
    name, paths = str(config["config_name"]), _paths(config)
    root = quote(name)
    where: dict[str, Any] = (
        {"fileObject": {"@id": quote(paths[0])}} if len(paths) == 1 else {"fileSet": {"@id": f"files/{root}"}}
    )
    fields = [_field(root, column, kind, where, known.get(column)) for column, kind in columns.items()]
    if len(paths) > 1:
        source = where | {"extract": {"fileProperty": "filename"}, "transform": {"regex": r"^(.*)\.parquet$"}}
        split = {"@type": "cr:Field", "@id": f"{root}/{SPLIT}", "name": SPLIT, "dataType": "sc:Text"}
        fields.insert(0, split | {"description": "The split: a model's name, as the file has it.", "source": source})
    splits = ", ".join(str(file["split"]) for file in config["data_files"][:20])
    more = f" and {len(paths) - 20} more" if len(paths) > 20 else ""
    config_text = f"Config {name} of the bank; splits: {splits}{more}."
    return {"@type": "cr:RecordSet", "@id": root, "name": name, "description": config_text, "field": fields}


def _field(root: str, column: str, kind: str, where: Mapping[str, Any], known: contents.Entry | None) -> dict[str, Any]:
    inner = kind.removeprefix("list<").removesuffix(">")
    data_type = DATA_TYPES.get(inner, "sc:Integer" if inner.startswith(("int", "uint")) else "sc:Text")
    reported = f"{known.meaning}{f' ({known.unit})' if known.unit else ''}" if known else ""
    if root == "summary":
        reported = contents.SUMMARY.get(column, "")
    return {
        "@type": "cr:Field",
        "@id": f"{root}/{quote(column, safe='')}",
        "name": column,
        **({"description": reported} if reported else {}),
        "dataType": data_type,
        **({"repeated": True} if inner != kind else {}),
        "source": {**where, "extract": {"column": column}},
    }


def bibtex_of(manifest: Mapping[str, Any], *, on_hub: str = "") -> list[str]:
    """Return the BibTeX entries of a bank with an author, of pairbank, every corpus and method, each key once."""
    cited = [(facts.get("source") or {}).get("citation", "") for facts in manifest["corpora"].values()]
    known = references()
    keys = {key for signature in signatures(manifest) for key in _keys(signature)}
    papers = [paper for key, paper in known.items() if key in keys]  # a manifest's own order is not kept on disk
    by_key: dict[str, str] = {}
    of_pairbank = known["pairbank"]
    if stated := manifest.get("pairbank"):
        of_pairbank = of_pairbank.removesuffix("}").rstrip() + f",\n  version = {{{stated}}}\n}}"
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
    """Return the entries of a BibTeX text by key; a text that is no BibTeX is one entry under its hash."""
    by_key = dict(entries_in(text))
    return by_key or ({sha256_of_text(text)[:8]: text.strip()} if text.strip() else {})


def size_category(n_items: int) -> str:
    """Return the Hub's size category.

    >>> size_category(792), size_category(67000), size_category(1_200_000)
    ('n<1K', '10K<n<100K', '1M<n<10M')
    """
    n_digits = len(str(n_items))
    return SIZES[min(max(0, n_digits - 3), len(SIZES) - 1)]


def hub_licence(licence: str) -> str:
    """Return the id under which the Hub knows a licence.

    >>> hub_licence("CC-BY-4.0"), hub_licence("ask me")
    ('cc-by-4.0', 'other')
    """
    return licence.lower() if licence.lower() in LICENCES else "other"


def task_ids(tasks: set[str]) -> list[str]:
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
    """Return who made what stands beside the texts: labels and people's judgments as found, models' scores.

    The sources say in words only whether a crowd or experts rated, so people's judgments count as found too.
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
        if on_hub := _HUB_DATASET.fullmatch(homepage):
            results.add(f"extended|{on_hub[1]}")
        elif homepage and name != "starter":
            results.add(f"extended|other-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'corpus'}")
        else:
            results.add("original")
    return sorted(results)
