"""The dataset card: the YAML head that `load_dataset` reads, and the page that people read.

In: a bank's manifest, summary and figures. Out: README.md as text. Every estimate on the page comes from the summary
(`pairbank.cards.check` reads them back); every foreign text passes `pairbank.markdown`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment

from pairbank import markdown
from pairbank.cards.bank import layout
from pairbank.cards.bank.beside_tables import prompts_in, question
from pairbank.cards.bank.redistribution import is_left_out, licence_of, locked
from pairbank.cards.card import contents, croissant, tables
from pairbank.cards.card.add_model import commands_for
from pairbank.cards.card.croissant import bibtex_of
from pairbank.errors import BankError
from pairbank.files import read_json
from pairbank.markdown import code, inline
from pairbank.scoring.signature import signature_line
from pairbank.stats.figures.style import CAPTIONS
from pairbank.stats.report.wide_tables import accuracy_table, agreement_table, headline

Signature = Mapping[str, Any]

MOST_ROWS = 60
"""Results of more rows than this are shown for whole corpora only."""
MOST_WHOLE = 2_000
"""Results of more rows than this, and more signatures, are read from the bank's files and not from a page."""
MOST_FILES = 8
"""Upstream files named that were not the pinned ones."""


def models_in_words(signed: Sequence[Signature]) -> list[str]:
    lines: dict[str, list[str]] = {}
    for signature in signed:
        if "imported" not in signature:
            lines.setdefault(_model(signature), []).append(inline(str(signature["corpus"]["name"])))
    return [f"{line} Corpora: {', '.join(dict.fromkeys(corpora))}." for line, corpora in lines.items()]


def _model(signature: Signature) -> str:
    model = signature["model"]
    seen = [
        *(["random weights, a null model"] if model.get("weights") else []),
        f"{inline(str(model['architecture']))} in {inline(str(model['dtype']))}",
        f"quantised: {inline(str(model['quantisation']))}" if model["quantisation"] else "not quantised",
        contents.WORDS["formats"].get(model["prompt_format"], inline(str(model["prompt_format"]))),
    ]
    if model.get("pll"):
        seen.append(contents.WORDS["pll"].get(model["pll"], inline(str(model["pll"]))))
    elif model.get("seq2seq_mode"):
        seen.append(f"encoder-decoder framing: {inline(str(model['seq2seq_mode']))}")
    else:
        ids = [str(token) for token in model.get("prefix_ids") or [model["bos_id"]] if token is not None]
        token = f" (id {', '.join(ids)})" if ids else ""
        policy = "own" if model.get("prefix_ids") and model["bos_policy"] == "auto" else model["bos_policy"]
        seen.append(f"{contents.WORDS['bos'].get(policy, inline(str(policy)))}{token}")
    if signature["over_length"] == "nan":
        seen.append("items longer than its context are NaN and flagged")
    return (
        f"**{inline(str(model['name']))}** ({code(str(model['model_id']))} at {code(str(model['revision']))}): "
        f"{'; '.join(seen)}. Seed {signature['seed']}, pairbank {inline(str(signature['pairbank']))}."
    )


def imported_in_words(signed: Sequence[Signature]) -> list[str]:
    lines: dict[str, list[str]] = {}
    for signature in signed:
        if "imported" in signature:
            origin = signature["imported"]
            paper = next(iter(signature["methods"].values()))["paper"].removeprefix("imported: ")
            file, digest = code(str(origin["file"])), code(str(origin["sha256"])[:12])
            corpus = inline(str(signature["corpus"]["name"]))
            key = f"{file} (sha256 {digest}; {inline(str(paper))}), corpus {corpus}"
            lines.setdefault(key, []).append(inline(str(signature["model"]["name"])))
    return [f"{key}: {', '.join(dict.fromkeys(models))}." for key, models in lines.items()]


def bank_in(root: Path, manifest: Mapping[str, Any], summary: pd.DataFrame | None) -> contents.Bank:
    """Return what the card of a bank on disk is made from; its tables are there already."""
    configs = contents.configs_of(manifest, dict.fromkeys(layout.data_files(manifest), "0" * 64))
    return contents.Bank(
        manifest=manifest,
        summary=summary,
        figures=figures_in(root),
        contents=contents.contents_of(root, manifest),
        columns={c["config_name"]: contents.columns_in(root / c["data_files"][0]["path"]) for c in configs},
        has_rendered=(root / layout.RENDERED).is_file(),
    )


def figures_in(root: Path) -> dict[str, str]:
    """Return path -> caption of the PNG figures of a bank's reports: what stands beside them, else their names."""
    captions: dict[Path, str] = {}
    for path in sorted((root / layout.REPORTS).rglob(CAPTIONS)):
        stated = read_json(path)
        if not isinstance(stated, dict) or not all(isinstance(text, str) for text in stated.values()):
            raise BankError(f"{path}: expected a caption (a text) for each file name; write the report again")
        captions |= {path.parent / name: text for name, text in stated.items()}
    figures = sorted((root / layout.REPORTS).rglob("*.png"))
    return {path.relative_to(root).as_posix(): captions.get(path, path.stem.replace("_", " ")) for path in figures}


def card_text(bank: contents.Bank, file_hashes: Mapping[str, str], *, name: str = contents.THIS_BANK) -> str:
    from huggingface_hub import DatasetCard, DatasetCardData

    corpora: Mapping[str, Any] = bank.manifest["corpora"]
    tags = {tag for name, facts in corpora.items() for tag in tables.languages_of(name, facts, bank.contents)}
    regional = sorted(tag for tag in tags if re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})+", tag))
    tasks = {task for facts in corpora.values() for task in facts.get("tasks", [])}
    head = DatasetCardData(
        language=sorted({tag.split("-")[0] for tag in tags if re.match(r"[a-z]{2,3}(-|$)", tag)}),
        license=licences_of(bank.manifest),
        pretty_name=contents.pretty_name(bank.manifest),
        size_categories=[croissant.size_category(sum(facts["n_items"] for facts in corpora.values()))],
        annotations_creators=croissant.annotations_creators(bank.manifest),
        multilinguality=croissant.multilinguality(tags),
        source_datasets=croissant.source_datasets(bank.manifest),
        tags=list(contents.TAGS),
        task_categories=croissant.task_categories(tasks),
        task_ids=croissant.task_ids(tasks),
        configs=contents.configs_of(bank.manifest, file_hashes),
    )
    if regional:
        head["language_bcp47"] = regional
    template = (resources.files("pairbank.cards.card") / "templates" / "dataset.md.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=False, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - Markdown
    filters = (markdown.inline, markdown.code, markdown.fenced, markdown.alternative, markdown.table)
    environment.filters |= {f.__name__: f for f in (*filters, contents.pretty_name, layout.config_name, signature_line)}
    of_corpora = (tables.corpus_table, tables.sizes_table, tables.ratings_table, tables.columns_table)
    words = (models_in_words, imported_in_words, *of_corpora)
    environment.globals |= {f.__name__: f for f in (*words, accuracy_table, agreement_table)}
    body = environment.from_string(template).render(**_facts(bank, name))
    return str(DatasetCard(f"---\n{head.to_yaml()}\n---\n\n{body}"))


def licences_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the Hub's ids of the corpora's licences, for the YAML head."""
    return sorted({croissant.hub_licence(tables.licence_id(n, facts)) for n, facts in manifest["corpora"].items()})


def results_shown(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the summary whose numbers stand on the card; of very many none."""
    rows = headline(summary)
    lines = rows[rows["versus"] == ""][["model", "corpus", "group_by", "group", "method"]].drop_duplicates()
    if len(lines) <= MOST_ROWS:
        return rows
    whole = rows[rows["group_by"] == "all"]
    return whole if (lines["group_by"] == "all").sum() <= MOST_WHOLE else whole.head(0)


def _facts(bank: contents.Bank, name: str) -> dict[str, Any]:
    manifest, corpora = bank.manifest, bank.manifest["corpora"]
    scores: Mapping[str, Mapping[str, Any]] = manifest["scores"]
    signed = list(layout.signatures(manifest))
    shown = None if bank.summary is None else results_shown(bank.summary)
    has_too_many = shown is not None and shown.empty and bank.summary is not None and len(bank.summary) > MOST_WHOLE
    of_nulls = None
    if shown is not None and (nulls := layout.null_models(manifest)):
        is_null = shown["model"].isin(list(nulls))
        shown, of_nulls = shown[~is_null], shown[is_null]
    example = next((n for n, models in scores.items() if models), next(iter(corpora)))
    add, is_scored = commands_for(manifest, name), bool(scores.get(example))
    languages = [tag for corpus, facts in corpora.items() for tag in tables.languages_of(corpus, facts, bank.contents)]
    return {
        "bank": bank,
        "name": name,
        "is_placeholder": name == contents.THIS_BANK,
        "singles": [n for n, held in bank.contents.items() if held.characters and not held.edits],
        "locked": locked(corpora),
        "left_out": [n for n, facts in corpora.items() if is_left_out(facts)],
        "has_too_many_results": has_too_many,
        "shown": shown,
        "of_nulls": of_nulls,
        "signatures": signed,
        "most_signatures": MOST_WHOLE,
        "methods": {m: d for signature in signed for m, d in signature["methods"].items()},
        "answers": tables.prompts_table(signed),
        "prompts": {path: question(prompt, languages) for path, prompt in prompts_in(manifest).items()},
        "sources": {n: _source(n, facts) for n, facts in corpora.items() if facts.get("source")},
        "citations": "\n\n".join(bibtex_of(manifest, on_hub="" if name == contents.THIS_BANK else name)),
        "cited_models": sorted({str(signature["model"]["model_id"]) for signature in signed}),
        "examples": {
            corpus: json.dumps(held.example, ensure_ascii=False, indent=1)
            for corpus, held in bank.contents.items()
            if held.example
        },
        "flags": contents.flags_in(manifest),
        "judged": tables.judged_table(corpora, bank.contents),
        "summary_columns": pd.DataFrame([*contents.SUMMARY.items()], columns=["column", "meaning"]),
        "uses": contents.WORDS,
        "example": example,
        "example_items": layout.items_path(example),
        "example_scores": layout.scores_path(example, min(scores[example])) if is_scored else "",
        "example_slug": min(scores.get(example, {}), default=""),
        "example_long": contents.long_config(manifest, example) if manifest.get(layout.LONG) and is_scored else "",
        "example_ratings": next((layout.config_name(n) for n in manifest.get(layout.RATINGS, {})), ""),
        "add": "\n".join([*add.fetch, *add.score, *add.bank, *add.merge]),
        "own_copy": add.own_copy,
    }


def _source(corpus: str, facts: Mapping[str, Any]) -> dict[str, str]:
    source = facts["source"]
    homepage = str(source.get("homepage") or "")
    is_link = re.fullmatch(r"https?://[\w./%#?=&+~:-]+", homepage)
    where = f"<{homepage}>" if is_link else markdown.inline(homepage) if homepage else "no address"
    revision, files = str(source.get("revision") or ""), facts.get("files")
    stated = [(name, file) for name, file in files.items() if isinstance(file, dict)] if isinstance(files, dict) else []
    altered = sorted(str(name) for name, file in stated if file.get("verified") is False)
    more = f" and {len(altered) - MOST_FILES} more" if len(altered) > MOST_FILES else ""
    return {
        "where": "written for pairbank" if corpus == "starter" else where,
        "revision": f" at {markdown.code(revision)}" if revision else "",
        "altered": ", ".join(map(markdown.code, altered[:MOST_FILES])) + more,
        "licence": licence_of(corpus, facts),
    }
