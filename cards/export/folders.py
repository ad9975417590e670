"""Banks and scored tables for other programs: copies of tables, PsychLing-101's studies, tidy CSV files for R, DOIs.

In a copy, a list is JSON in a cell; beside a .csv or .tsv file, `FILE-metadata.json` describes its columns as CSV on
the Web (W3C 2015). Zenodo reads `.zenodo.json` of a deposited folder, other archives the fields of DataCite 4.5: what a
bank does not state is left out. `analysis.R` fits mixed models with lme4 (Bates et al. 2015) and brms (Buerkner 2017).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pairbank.builders.schema.columns import COLUMNS as ITEM_COLUMNS
from pairbank.builders.schema.language_tags import separator
from pairbank.cards.bank.layout import LONG, MANIFEST, RATINGS, data_files, items_path, ratings_path, read_manifest
from pairbank.cards.bank.redistribution import licence_of
from pairbank.cards.card.contents import TAGS, pretty_name
from pairbank.cards.card.croissant import hub_licence
from pairbank.cards.card.tables import licence_id
from pairbank.errors import BankError, OutputError, unknown_name
from pairbank.files import read_parquet, replaced_atomically, write_bytes, write_json, written_together
from pairbank.scoring.api.layout import columns_of
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import COPIES, METADATA_KEY, PARQUET, design_of, write_scored
from pairbank.stats.report.frames import scored_frame
from pairbank.stats.scored_table.method_scores import MethodScores, choices_of, credits_of
from pairbank.stats.scored_table.model_features import find_features
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table

_DELIMITERS = {"csv": ",", "tsv": "\t"}
KINDS = tuple(suffix.removeprefix(".") for suffix in COPIES)

ZENODO, DATACITE = ".zenodo.json", "datacite.json"

SCORES, PEOPLE, DESIGNS, SCRIPT = "scores.csv", "ratings.csv", "designs.csv", "analysis.R"
OF_ITEMS = ("subset", "paradigm", "phenomenon", "language", "task", "label", "human_good", "human_bad")
"""Columns of items that go along; empty where a table has none."""
COLUMNS = (
    *("corpus", "item_id", *OF_ITEMS, "human_delta"),
    *("model", "method", "kind", "presentation", "score", "delta", "correct", "credit", "credit_all"),
    *("family", "size_billions"),
)
PSYCHLING_COLUMNS = {
    "participant_id": "Number of the participant within the study.",
    "trial_id": "The item that was judged.",
    "trial_order": "Presentation order within the session, from 0. Empty: the bank does not hold it.",
    "condition": "good = the acceptable side of a pair, or a single sentence; bad = the other side.",
    "stimulus": "The sentence; of a forced choice both sentences, the acceptable one first, separated by ' | '.",
    "response": "The participant's rating; of a forced choice the sentence that was chosen.",
    "rt": "Response time in milliseconds. Empty: the bank does not hold it.",
    "scale": "Scale of the response: likert7 = 1 to 7, binary = 0 or 1, forced-choice.",
}
"""Of the table of trials, and what `CODEBOOK.csv` says of them."""


def export_copies(
    sources: Sequence[str | Path], out: str | Path, *, kind: str = "csv", bom: bool = False
) -> list[Path]:
    """Write each table as a file of another kind; return the files."""
    if kind not in KINDS:
        raise unknown_name("format", kind, KINDS)
    places: dict[Path, Path] = {}
    for table, place in _tables(map(Path, sources)):
        target = Path(out) / place.with_suffix(f".{kind}")
        if target in places:
            raise OutputError(f"{table} and {places[target]} would both be {target}; give each a folder of its own")
        places[target] = table
    with written_together(Path(out)) as staged:
        for target, path in places.items():
            table = read_parquet(path)
            signature = (table.schema.metadata or {}).get(METADATA_KEY)
            copy = staged / target.relative_to(out)
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_scored(copy, table, json.loads(signature) if signature else None, bom=bom)
            if kind in _DELIMITERS:
                write_json(copy.with_name(f"{copy.name}-metadata.json"), _csvw(copy, table, bom=bom))
    return list(places)


def _csvw(path: Path, table: pa.Table, *, bom: bool) -> dict[str, Any]:
    t = pa.types
    kinds = {"json": t.is_nested, "boolean": t.is_boolean, "integer": t.is_integer, "double": t.is_floating}
    types = {x.name: next((name for name, is_kind in kinds.items() if is_kind(x.type)), "string") for x in table.schema}
    has_ids = "item_id" in table.column_names and len(table["item_id"].unique()) == len(table)
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": path.name,
        "dialect": {"delimiter": _DELIMITERS[path.suffix.lstrip(".")], "encoding": "utf-8-sig" if bom else "utf-8"},
        "tableSchema": {
            "columns": [{"name": name, "titles": name, "datatype": datatype} for name, datatype in types.items()],
            **({"primaryKey": "item_id"} if has_ids else {}),
        },
    }


def _tables(sources: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    for source in sources:
        if (source / MANIFEST).is_file():
            paths = (path for path in data_files(read_manifest(source)) if not path.startswith(f"{LONG}/"))
            yield from ((source / path, Path(path)) for path in paths)
        elif source.is_dir():
            read_manifest(source)
        else:
            yield source, Path(source.name if source.suffix == PARQUET else f"{source.name}{PARQUET}")


def export_deposit(bank: str | Path, out: str | Path, *, publisher: str = "") -> list[Path]:
    root = Path(bank)
    manifest = read_manifest(root)
    if lacking := [name for name in ("title", "authors", "published") if not manifest.get(name)]:
        raise BankError(
            f"{root}: the bank does not state {', '.join(lacking)}, which a citation needs; pairbank bank --out {root} "
            '--title "…" --author "Family, Given" --published YYYY-MM-DD'
        )
    records = _records(manifest, publisher)
    with written_together(Path(out)) as staged:
        for name, value in records.items():
            write_json(staged / name, value)
    return [Path(out) / name for name in records]


def _records(manifest: Mapping[str, Any], publisher: str) -> dict[str, dict[str, Any]]:
    """Return what Zenodo and DataCite ask of a bank, by the names of their files."""
    corpora, creators = manifest["corpora"], [{"name": str(name)} for name in manifest["authors"]]
    names = ", ".join(str(facts.get("title") or name) for name, facts in corpora.items())
    n_items = sum(facts["n_items"] for facts in corpora.values())
    n_models = len({slug for scored in manifest["scores"].values() for slug in scored})
    text = (
        f"{n_items:,} linguistic judgment items ({names}) and the scores of {n_models} language models, "
        "by log-probability and when prompted. Made with pairbank; README.md describes every column."
    )
    version = str(max(1, len(manifest.get("history", []))))
    licences = sorted({licence_id(name, facts) for name, facts in corpora.items()})
    known = hub_licence(licences[0]) if len(licences) == 1 else "other"
    homes = {str((facts.get("source") or {}).get("homepage") or "") for facts in corpora.values()}
    homes_on_web = sorted(home for home in homes if home.startswith(("http://", "https://")))
    zenodo = {
        "upload_type": "dataset",
        "title": pretty_name(manifest),
        "creators": creators,
        "description": text,
        "publication_date": manifest["published"],
        "version": version,
        "keywords": list(TAGS),
        **({} if known in ("other", "unknown") else {"license": known}),
        "notes": f"Licences of the corpora: {'; '.join(licences)}",
        "related_identifiers": [{"relation": "isDerivedFrom", "identifier": home} for home in homes_on_web],
    }
    datacite = {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Bank of judgment items and scores"},
        "titles": [{"title": pretty_name(manifest)}],
        "creators": creators,
        "publicationYear": manifest["published"][:4],
        "dates": [{"date": manifest["published"], "dateType": "Issued"}],
        **({"publisher": {"name": publisher}} if publisher else {}),
        "version": version,
        "subjects": [{"subject": tag} for tag in TAGS],
        "descriptions": [{"description": text, "descriptionType": "Abstract"}],
        "rightsList": [{"rights": licence} for licence in licences],
        "relatedIdentifiers": [
            {"relatedIdentifier": home, "relatedIdentifierType": "URL", "relationType": "IsDerivedFrom"}
            for home in homes_on_web
        ],
    }
    return {ZENODO: zenodo, DATACITE: datacite}


def export_psychling(banks: Iterable[str | Path], out: str | Path) -> list[Path]:
    """Write banks' individual ratings as PsychLing-101 stores studies, one folder per corpus; return the files."""
    with written_together(Path(out)) as folder:
        for root in map(Path, banks):
            manifest = read_manifest(root)
            for corpus in manifest.get(RATINGS, {}):
                study = folder / corpus
                if study.exists():
                    raise OutputError(f"{Path(out) / corpus}: two banks have ratings of {corpus!r}; export them apart")
                (study / "processed_data").mkdir(parents=True)
                trials = _trials(root, corpus)
                trials.to_csv(study / "processed_data" / "exp1.csv", index=False, lineterminator="\n")
                codebook = pd.DataFrame(PSYCHLING_COLUMNS.items(), columns=["Recommended Column Name", "Description"])
                codebook.to_csv(study / "CODEBOOK.csv", index=False, lineterminator="\n")
                facts = manifest["corpora"][corpus]
                about = f"# {facts.get('title') or corpus}\n\n{facts.get('description') or ''}\n\n"
                about += f"{len(trials):,} judgments by {trials['participant_id'].nunique():,} participants. "
                about += (
                    f"Licence: {licence_of(corpus, facts)}\n\n{(facts.get('source') or {}).get('citation') or ''}\n"
                )
                write_bytes(study / "README.md", about.encode())
        paths = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
        if not paths:
            raise OutputError("no individual ratings to export; psychling takes banks that hold some (--ratings)")
    return [Path(out) / path for path in paths]


def _trials(root: Path, corpus: str) -> pd.DataFrame:
    ratings = read_parquet(root / ratings_path(corpus)).to_pandas()
    items = read_parquet(root / items_path(corpus)).to_pandas().set_index("item_id")
    if "target_good" not in items.columns:
        raise BankError(f"{root}: the texts of {corpus!r} were left out, and stimuli are texts; export the whole bank")
    texts = {}
    for side in ("good", "bad"):
        context, target = (items[f"{part}_{side}"].fillna("") for part in ("context", "target"))
        texts[side] = context + items["language"].map(separator).where(context != "", "") + target
    shown = [texts[side][item_id] for side, item_id in zip(ratings["side"], ratings["item_id"], strict=True)]
    other = texts["bad"].reindex(ratings["item_id"]).to_numpy()
    is_choice = (ratings["scale"] == "forced-choice").to_numpy()
    chosen = np.where(ratings["value"] == 1, shown, other)
    trials = ratings.rename(columns={"rater": "participant_id", "item_id": "trial_id", "side": "condition"})
    trials["stimulus"] = np.where(is_choice, [f"{a} | {b}" for a, b in zip(shown, other, strict=True)], shown)
    trials["response"] = np.where(is_choice, chosen, [f"{value:g}" for value in ratings["value"]])
    in_order: pd.DataFrame = trials.sort_values(["participant_id"], kind="stable")
    return in_order.reindex(columns=list(PSYCHLING_COLUMNS))


def export_for_r(tables: Sequence[Scored], banks: Sequence[str | Path], out: str | Path) -> list[Path]:
    """Write tables for mixed models, and the script that fits them; return the files."""
    with written_together(Path(out)) as folder:
        n_rows = 0
        scores = folder / SCORES
        with replaced_atomically(scores) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            own = dict.fromkeys(name for table in tables for name in _own_columns(table))
            for part in (rows for table in tables for rows in _rows(table)):
                part.reindex(columns=[*COLUMNS, *own]).to_csv(
                    file, index=False, header=n_rows == 0, lineterminator="\n"
                )
                n_rows += len(part)
        if not n_rows:
            raise OutputError(f"{Path(out) / SCORES}: no table has a score; nothing to export")
        if people := [
            read_parquet(Path(bank) / ratings_path(corpus)).to_pandas().assign(corpus=corpus)
            for bank in banks
            for corpus in read_manifest(Path(bank)).get(RATINGS, {})
        ]:
            with replaced_atomically(folder / PEOPLE) as temporary:
                pd.concat(people, ignore_index=True).to_csv(temporary, index=False, lineterminator="\n")
        if designs := [row for table in tables for row in _design_rows(table)]:
            with replaced_atomically(folder / DESIGNS) as temporary:
                pd.DataFrame(designs).drop_duplicates().to_csv(temporary, index=False, lineterminator="\n")
        write_bytes(folder / SCRIPT, (files(__package__) / "templates" / SCRIPT).read_bytes())
    return [
        Path(out) / name for name in (SCORES, *([PEOPLE] if people else []), *([DESIGNS] if designs else []), SCRIPT)
    ]


def _own_columns(scored: Scored) -> list[str]:
    of_methods = itertools.chain.from_iterable(columns_of(scored.methods, scored.column_names).values())
    known = {*(column.name for column in ITEM_COLUMNS), *of_methods, *COLUMNS, "flags"}
    return [name for name in scored.column_names if name not in known]


def _design_rows(scored: Scored) -> Iterator[dict[str, str]]:
    """Yield the columns of a corpus's design: corpus, role, column, and levels or values joined by `|`."""
    facts = design_of(scored.signature)
    roles = [("factor", factor["column"], factor["levels"]) for factor in facts.get("factors", ())]
    roles += [("item_set", facts["item_set"], ())] if facts else []
    roles += [("by", name, ()) for name in facts.get("by", ())]
    roles += [("filler", name, values) for name, values in facts.get("fillers", {}).items()]
    for role, column, values in roles:
        yield {"corpus": scored.corpus, "role": role, "column": column, "values": "|".join(values)}


def _rows(scored: Scored) -> Iterator[pd.DataFrame]:
    table = read_table(scored_frame(scored, for_analyses=False)).choices
    features = find_features(table.model, corpus=table.corpus)
    items = table.frame.reindex(columns=["item_id", *OF_ITEMS]).assign(
        corpus=table.corpus,
        human_delta=table.human_delta,
        model=table.model,
        family=None if features is None else features.family,
        size_billions=None if features is None else features.size_billions,
    )
    own = scored.arrow(["item_id", *_own_columns(scored)]).to_pandas()
    items = items.merge(own, on="item_id", how="left").set_index(items.index)
    for scores in table.methods:
        parts = [pd.concat([items.loc[columns.index], columns], axis=1) for columns in _columns(table, scores)]
        rows = pd.concat(parts, ignore_index=True).dropna(subset=["score", "delta", "correct", "credit"], how="all")
        yield rows.assign(method=scores.layout.method, kind=scores.layout.kind)


def _columns(table: ScoredTable, scores: MethodScores) -> Iterator[pd.DataFrame]:
    """Yield `presentation`, `score`, `delta` and `correct` of the items, of each presentation of pairs.

    `credit` is what an item earns in accuracies that reports compare; with position bias there is none. `credit_all`
    also has pooled presentations with position bias.
    """
    layout, choices, index = scores.layout, choices_of(scores), table.frame.index
    label = table.labels
    right = np.where(label == 1, scores.says_yes, 1 - scores.says_yes) + 0 * label  # unknown without a label
    columns = {"score": scores.sentence_score, "delta": scores.delta_nats, "correct": right}
    earned = credits_of(scores)
    columns["credit"] = np.where(table.has_truth & ~scores.rates, np.nan if earned.is_biased else earned.credit, right)
    is_biased = (layout.accuracy == "pooled" and earned.is_biased) & table.has_truth & ~scores.rates
    columns["credit_all"] = np.where(is_biased, earned.credit, columns["credit"])
    if choices is None:
        columns["correct"] = columns["credit"]
    else:
        columns["delta"] = np.full(len(index), np.nan)
        for place, (presentation, correct) in enumerate(zip(layout.presentations, layout.correct, strict=True)):
            of_pairs = {"delta": np.full(len(index), np.nan), "correct": choices[:, place, correct]}
            of_pairs["correct"][~table.has_truth] = np.nan
            if scores.logprobs_nats.shape[-1] == 2:
                logprobs = scores.logprobs_nats[:, place]
                of_pairs["delta"] = logprobs[:, correct] - logprobs[:, 1 - correct]
            yield pd.DataFrame({"presentation": presentation, **of_pairs}, index=index)[~scores.rates]
    yield pd.DataFrame({"presentation": "", **columns}, index=index)
