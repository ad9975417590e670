"""What a bank holds beside items and scores: what is declared of its models, wordings of methods, probes, ratings.

Features of models that ship with pairbank are looked up by name and are not stored. `prompts/ID.toml` holds what was
asked word for word: a prompt of one's own is in the signatures of its scores, one that ships is known by hash. Ratings
say something of texts that a licence may keep back: a published bank has only those whose texts it holds.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pairbank.builders.load import rating_features
from pairbank.builders.ratings import FORCED_CHOICE, NORMALISATIONS, RATING_COLUMNS, Raters
from pairbank.cards.bank import layout
from pairbank.cards.bank.tables import read_table
from pairbank.cards.bank.writing import Draft
from pairbank.errors import BankError
from pairbank.files import read_parquet, write_parquet, write_text
from pairbank.scoring.api.layout import SIDES
from pairbank.scoring.api.names import MethodName
from pairbank.scoring.methods.prompted import prompt_of_definition
from pairbank.scoring.prompts.prompt import ANY, Prompt, primary
from pairbank.scoring.prompts.toml import prompt_toml
from pairbank.scoring.signature import prompts_of_table
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.measures.raters import Level, krippendorff_alpha
from pairbank.stats.scored_table.model_features import ModelFeatures, features_from_entries
from pairbank.stats.scored_table.scored_table import DTYPES

if TYPE_CHECKING:
    import datasets

    from pairbank.stats.analyses.neuro import Probed

FEATURES = "features"
"""Key of the manifest: model name -> what is declared of it."""

NAMES = [column.name for column in RATING_COLUMNS]


def declared_in(manifest: Mapping[str, Any]) -> dict[str, ModelFeatures]:
    return features_from_entries([{"name": name, **entry} for name, entry in manifest.get(FEATURES, {}).items()])


def declare(manifest: dict[str, Any], features: Mapping[str, ModelFeatures]) -> None:
    """Put what is declared of the models of a bank into its manifest, in place of what was declared of them before."""
    names = {signature["model"]["name"] for signature in layout.signatures(manifest)}
    known = manifest.get(FEATURES, {}) | {name: _entry(entry) for name, entry in features.items()}
    if kept := {name: known[name] for name in sorted(known.keys() & names)}:
        manifest[FEATURES] = kept
    else:
        manifest.pop(FEATURES, None)


def contradictions(ours: Mapping[str, ModelFeatures], theirs: Mapping[str, ModelFeatures]) -> Iterator[str]:
    """Yield where two declarations of one model differ; what only one of them says is no contradiction."""
    for name in sorted(ours.keys() & theirs.keys()):
        first, second = _entry(ours[name]), _entry(theirs[name])
        for key in (key for key in first if key in second and first[key] != second[key]):
            yield f"model {name!r}: {key} is {first[key]!r} and {second[key]!r}"


def united(ours: Mapping[str, ModelFeatures], theirs: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures]:
    both = {name: replace(theirs[name], **_entry(ours[name])) for name in ours if name in theirs}
    return {**ours, **theirs, **both}


def _entry(features: ModelFeatures) -> dict[str, Any]:
    return {key: value for key, value in asdict(features).items() if value not in (None, "")}


def prompts_in(manifest: Mapping[str, Any]) -> dict[str, Prompt]:
    """Return the prompts of a bank's methods by the paths of their files, as far as they are known here."""
    results: dict[str, Prompt] = {}
    methods = (method for signature in layout.signatures(manifest) for method in signature["methods"].items())
    for prompt in filter(None, itertools.starmap(prompt_of_definition, methods)):
        path = f"{layout.PROMPTS}/{prompt.id}.toml"
        if path in results and results[path].sha256 != prompt.sha256:
            path = f"{layout.PROMPTS}/{prompt.id}-{prompt.sha256[:8]}.toml"
        results[path] = prompt
    return results


def question(prompt: Prompt, languages: Collection[str]) -> str:
    """Return the first presentation's question and the start of its answer, in one of some languages."""
    shown = prompt.presentations[0]
    tags = [ANY, *map(primary, languages), *prompt.languages]
    parts = [next((texts[tag] for tag in tags if tag in texts), "") for texts in (shown.template, shown.stem)]
    return prompt.join.join(part for part in parts if part)


def write_prompts(root: Path, manifest: Mapping[str, Any]) -> None:
    """Write the prompts of a bank's methods; a file of one that is not known here any more stays as it is."""
    for path, prompt in prompts_in(manifest).items():
        write_text(root / path, prompt_toml(prompt))
    lines: dict[str, None] = {}
    for corpus, slug in layout.tables(manifest):
        table = root / layout.scores_path(corpus, slug)
        for shown in prompts_of_table(read_parquet(table, ()), table):
            line = {"model": manifest["scores"][corpus][slug]["model"]["name"], **shown.model_dump()}
            lines[json.dumps(line, ensure_ascii=False) + "\n"] = None
    (root / layout.RENDERED).unlink(missing_ok=True)
    if lines:
        write_text(root / layout.RENDERED, "".join(lines))
    ids = {MethodName.parsed(name).id for signature in layout.signatures(manifest) for name in signature["methods"]}
    for file in (root / layout.PROMPTS).glob("*.toml"):
        if not {file.stem, file.stem.rpartition("-")[0]} & ids:
            file.unlink()


def take_probes(root: Path, manifest: dict[str, Any], probed: Iterable[Probed]) -> None:
    """Write probes to a bank's folder and manifest; remove those of items that no score of the bank is of."""
    held: dict[str, dict[str, Any]] = manifest.setdefault(layout.PROBES, {})
    for probes in probed:
        corpus, slug = probes.signature["corpus"]["name"], probes.signature["model"]["slug"]
        if not _fits(manifest, corpus, slug, probes.signature):
            raise BankError(f"probes of {slug} on {corpus!r}: the bank has no scores of this model on these items")
        for path, frame in zip(layout.probe_paths(corpus, slug), (probes.layers, probes.summary), strict=True):
            table = pa.Table.from_pandas(frame, preserve_index=False)
            write_parquet(root / path, table.replace_schema_metadata(None))
        held.setdefault(corpus, {})[slug] = json.loads(json.dumps(probes.signature))
    for corpus, models in held.items():
        for slug in [slug for slug, signature in models.items() if not _fits(manifest, corpus, slug, signature)]:
            del models[slug]
            for path in layout.probe_paths(corpus, slug):
                (root / path).unlink()
    del manifest[layout.PROBES]
    if kept := {corpus: dict(sorted(models.items())) for corpus, models in sorted(held.items()) if models}:
        manifest[layout.PROBES] = kept


def probes_in(root: Path, *, corpora: Collection[str] | None = None) -> list[Probed]:
    """Return the probes that a bank holds, of some corpora or of all; a folder that is no bank has none."""
    if not (root / layout.MANIFEST).is_file():
        return []
    return [
        _read(root, corpus, slug, signature)
        for corpus, models in layout.read_manifest(root).get(layout.PROBES, {}).items()
        for slug, signature in models.items()
        if corpora is None or corpus in corpora
    ]


def probe_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for corpus, models in manifest.get(layout.PROBES, {}).items():
        for slug, signature in models.items():
            if not _fits(manifest, corpus, slug, signature):
                yield f"probes of {slug} on {corpus!r}: the bank has no scores of this model on these items"
            try:
                result = _read(root, corpus, slug, signature)
            except BankError as error:
                yield str(error)
                continue
            for path, frame in zip(layout.probe_paths(corpus, slug), (result.layers, result.summary), strict=True):
                if {*frame["model"]} - {signature["model"]["name"]} or {*frame["corpus"]} - {corpus}:
                    yield f"{path}: rows of another model or corpus"


def _read(root: Path, corpus: str, slug: str, signature: Mapping[str, Any]) -> Probed:
    from pairbank.stats.analyses.neuro import LAYER_DTYPES, Probed

    frames = []
    for path, types in zip(layout.probe_paths(corpus, slug), (LAYER_DTYPES, DTYPES), strict=True):
        frame: pd.DataFrame = read_parquet(root / path).to_pandas()
        if [*frame.columns] != [*types]:
            raise BankError(f"{root / path}: columns {', '.join(frame.columns)}; expected {', '.join(types)}")
        frames.append(frame.astype(types))
    return Probed(layers=frames[0], summary=frames[1], signature=signature)


def _fits(manifest: Mapping[str, Any], corpus: str, slug: str, signature: Mapping[str, Any]) -> bool:
    scored = manifest["scores"].get(corpus, {}).get(slug)
    return scored is not None and scored["corpus"]["items_sha256"] == signature["corpus"]["items_sha256"]


def take_ratings(draft: Draft, given: Sequence[datasets.Dataset | pd.DataFrame]) -> None:
    """Put ratings into the draft: those of items that the bank will hold, under the corpora of these items."""
    left = [_checked(table if isinstance(table, pd.DataFrame) else table.to_pandas()) for table in given]
    n_before = [len(frame) for frame in left]
    corpora = draft.manifest["corpora"]
    for corpus in sorted(corpora, key=lambda name: name not in draft.items):
        if not any(len(frame) for frame in left):
            break
        ids = set(draft.items_of(corpus)["item_id"][:])
        selected = [frame["item_id"].isin(ids) for frame in left]
        if any(rows.any() for rows in selected):
            parts = [frame[rows] for frame, rows in zip(left, selected, strict=True)]
            draft.ratings[corpus] = _numbered(pd.concat(parts, ignore_index=True))
            left = [frame[~rows] for frame, rows in zip(left, selected, strict=True)]
    for frame, n in zip(left, n_before, strict=True):
        if len(frame) == n:
            raise BankError(
                f"ratings of {frame['item_id'].iloc[0]!r:.80} and others, none of which is an item of this bank; give "
                "the items too (corpora=), with the same item_id"
            )


def settle_ratings(draft: Draft) -> None:
    """Keep of the bank's ratings those of its items, and say in the manifest how many there are."""
    held = draft.manifest.get(layout.RATINGS, {})
    for corpus in [name for name in held if name in draft.items and name not in draft.ratings]:
        table = read_table(draft.root / layout.ratings_path(corpus)).to_pandas()
        selected = table[table["item_id"].isin(set(draft.items_of(corpus)["item_id"][:]))]
        if len(selected):
            draft.ratings[corpus] = _as_table(selected)
        else:
            drop_ratings(draft, corpus)
    for corpus, table in draft.ratings.items():
        draft.manifest.setdefault(layout.RATINGS, {})[corpus] = rating_facts(table.to_pandas())


def drop_ratings(draft: Draft, corpus: str) -> None:
    draft.ratings.pop(corpus, None)
    if draft.manifest.get(layout.RATINGS, {}).pop(corpus, None) is not None:
        (draft.root / layout.ratings_path(corpus)).unlink(missing_ok=True)
    if not draft.manifest.get(layout.RATINGS, True):
        del draft.manifest[layout.RATINGS]


def rating_facts(frame: pd.DataFrame) -> dict[str, Any]:
    scales = sorted(set(frame["scale"]))
    a_side = frame.groupby(["item_id", "side"], sort=False).size()
    level: Level = "nominal" if scales == [FORCED_CHOICE] else "interval"
    alpha: dict[str, Any] = {"level": level, "value": None, "low": None, "high": None, "reason": ""}
    if len(scales) > 1:
        alpha["reason"] = f"{len(scales)} scales"
    else:
        try:
            result = krippendorff_alpha(ratings_given([frame]), scale=level)
        except BankError as error:
            alpha["reason"] = str(error)
        else:
            numbers = {name: getattr(result, name) for name in ("value", "low", "high")}
            alpha |= {name: None if math.isnan(x) else round(x, 6) for name, x in numbers.items()}
            alpha["reason"] = result.reason or ""
    return {
        "scale": ", ".join(scales),
        "normalisation": next((n for n in NORMALISATIONS if all(scale.endswith(f"-{n}") for scale in scales)), "none"),
        "n_ratings": len(frame),
        "n_raters": int(frame["rater"].nunique()),
        "n_items": int(frame["item_id"].nunique()),
        "least_a_side": int(a_side.min()),
        "most_a_side": int(a_side.max()),
        "alpha": alpha,
    }


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    if missing := [name for name in NAMES if name not in frame.columns]:
        raise BankError(f"a table of ratings lacks the column(s) {', '.join(missing)}; expected {', '.join(NAMES)}")
    values = pd.to_numeric(frame["value"], errors="coerce").astype(np.float64)
    wrong = frame["value"].notna() & ~np.isfinite(values)
    for name, problem in (("value", wrong), ("side", ~frame["side"].isin(SIDES))):
        if problem.any():
            place, expected = int(np.flatnonzero(problem)[0]), "a number" if name == "value" else "good or bad"
            cell, item = frame[name].iloc[place], frame["item_id"].iloc[place]
            raise BankError(
                f"ratings, row {place + 1} ({item!r:.80}): {name} is {str(cell)!r:.80}; expected {expected}"
            )
    kept: pd.DataFrame = frame.assign(value=values)[NAMES].dropna(subset=["value"])
    if kept.empty or kept.isna().any(axis=None):
        raise BankError("a table of ratings is empty, or has no item_id, rater or scale in a row; expected all of them")
    return kept


def _numbered(frame: pd.DataFrame) -> datasets.Dataset:
    if not pd.api.types.is_integer_dtype(frame["rater"]):
        raters = Raters()
        frame = frame.assign(rater=[raters.number(who) for who in frame["rater"]])
    return _as_table(frame)


def _as_table(frame: pd.DataFrame) -> datasets.Dataset:
    import datasets

    columns = {name: frame[name].tolist() for name in NAMES}
    return datasets.Dataset.from_dict(columns, features=rating_features())
