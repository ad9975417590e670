"""`export_results`: in, scored tables; out, the files of Every Eval Ever's schema 0.3.0, aggregates and samples.

A table becomes `data/CORPUS/DEVELOPER/MODEL/UUID.json` and `UUID_samples.jsonl`: a result a method (the share of items
with a positive difference, ties one half, its interval where it is a report's accuracy) and a record an item and method
that has a difference; items with identical sides have none. Items without a parsable answer have none either: the
aggregate counts them (`n_items_unparsed`) and its description says that they are left out.

A record's metadata hold item, numbers and unit under `pairbank.…`, so that `pairbank import --from every-eval-ever`
gives the same numbers back. Texts that may not be redistributed are left out: their records have ids and numbers. The
UUID is made from the records: the same tables have the same.

The paths are those by which the coalition's datastore addresses models: their ids, as they are spelt. `schemas/` is a
copy of every-eval-ever 0.3.0's (MIT).

EvalEval Coalition, Every Eval Ever, https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.schema.columns import IDENTICAL_SIDES
from pairbank.errors import BankError
from pairbank.files import sha256_of_file, write_text, written_together
from pairbank.scoring.api.layout import NATS, MethodLayout, ScoreColumns
from pairbank.scoring.api.model import slug
from pairbank.scoring.api.names import TIE
from pairbank.stats.report.report import table_summary

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

SCHEMA = "0.3.0"
DATASTORE = "evaleval/EEE_datastore"
_NO_OWNER = "unknown"
_ITEM = ("item_id", "corpus", "subset", "language", "task", "phenomenon", "paradigm", "pair_id")
_TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
OPTION_SCORES = "option_scores"
_WITHHELD = "[text not passed on]"


def export_results(
    tables: Sequence[Scored], out: str | Path, *, organisation: str = "not stated", at: int = 0
) -> list[Path]:
    """Write scored tables in the schema; return the paths of the aggregate files.

    Args:
        tables: scored tables, run or imported.
        out: a folder; files go below `data/` in it.
        organisation: who says so (`source_organization_name`).
        at: seconds since 1970 for `retrieved_timestamp`; default: 0, so that the same tables give the same bytes.

    Raises:
        BankError: a table without a difference of two sides.

    >>> export_results([scored], "eee", organisation="my group")  # doctest: +SKIP
    """
    with written_together(Path(out)) as staged:
        paths = [_export(table, staged, organisation=organisation, when=str(at)) for table in tables]
    return [Path(out) / path.relative_to(staged) for path in paths]


def _export(table: Scored, out: Path, *, organisation: str, when: str) -> Path:
    model = _model(table)
    evaluation_id = f"{table.corpus}/{model['id']}/{when}"
    rows = table.dataset.to_list()
    records = [
        record
        for layout in map(MethodLayout.from_dict, table.layouts)
        for record in _records(table, layout, rows, evaluation_id, str(model["id"]))
    ]
    if not records:
        raise BankError(f"{table.model} on {table.corpus}: no item has a difference of two sides; nothing to export")
    text = "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)
    plain = text.replace(evaluation_id, "")
    name = str(uuid.UUID(bytes=hashlib.sha256(plain.encode()).digest()[:16], version=4))
    developer, _, short = str(model["id"]).rpartition("/")
    owner, _, more = developer.partition("/")  # the datastore addresses `a/b/c` as c's b of a
    short = f"{more.replace('/', '_')}_{short}" if more else short
    folder = Path("data", slug(table.corpus), _folder(owner or _NO_OWNER), _folder(short))
    samples = out / folder / f"{name}_samples.jsonl"
    samples.parent.mkdir(parents=True, exist_ok=True)
    write_text(samples, text)
    version = str(table.signature["pairbank"])
    library: dict[str, Any] = {"name": "pairbank", "version": version}
    if tool := table.signature.get("imported", {}).get("tool"):
        library = {"name": str(tool["name"]), "version": str(tool["version"] or "unknown")}
        library["additional_details"] = {"imported_with": f"pairbank {version}"}
    whole = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "pairbank",
            "source_type": "evaluation_run",
            "source_organization_name": organisation,
            "evaluator_relationship": "other",
            "additional_details": {"signature": json.dumps(table.signature, ensure_ascii=False)},
        },
        "eval_library": library,
        "model_info": model,
        "evaluation_results": list(_results(table, records)),
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": (folder / samples.name).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": sha256_of_file(samples),
            "total_rows": len(records),
        },
    }
    path = samples.with_name(f"{name}.json")
    write_text(path, json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return path


def _folder(name: str) -> str:
    """Return a name that every file system takes, else one that a split could have.

    >>> _folder("SmolLM2-135M"), _folder("qwen3:8b"), _folder("a<b")
    ('SmolLM2-135M', 'qwen3_8b', 'a_b')
    """
    portable = name.replace(":", "_")
    return portable if re.fullmatch(r"[\w-]+([\w. +@-]*[\w+@-])?", portable, re.ASCII) else slug(name)


def schema_problems(path: Path) -> list[str]:
    """Return where an aggregate file or a file of samples breaks its schema, with the line of the samples."""
    if find_spec("jsonschema") is None:
        raise BankError(
            "the schema of Every Eval Ever is checked with jsonschema; pip install 'pairbank[every-eval-ever]'"
        )
    from jsonschema import Draft7Validator

    is_samples = path.suffix == ".jsonl"
    schema = "instance_level_eval" if is_samples else "eval"
    text = (resources.files("pairbank.cards.export") / "schemas" / f"{schema}.schema.json").read_text(encoding="utf-8")
    validator, content = Draft7Validator(json.loads(text)), path.read_text(encoding="utf-8")
    values = [json.loads(line) for line in content.splitlines()] if is_samples else [json.loads(content)]
    return [
        f"{path.name}{f' line {line}' if is_samples else ''}: {error.json_path}: {error.message[:200]}"
        for line, value in enumerate(values, 1)
        for error in validator.iter_errors(value)
    ]


def _model(table: Scored) -> dict[str, Any]:
    stated = table.signature["model"]
    was_run = "imported" not in table.signature
    return {
        "name": table.model,
        "id": str(stated["model_id"]),
        "additional_details": {
            "deployment_type": "self_deployed" if was_run else "unknown",
            "model_availability": "open_weights" if was_run else "unknown",
            "revision": str(stated["revision"]),
            "dtype": str(stated["dtype"]),
        },
    }


def _records(
    table: Scored, layout: MethodLayout, rows: Sequence[Mapping[str, Any]], evaluation_id: str, model: str
) -> Iterator[dict[str, Any]]:
    """Yield a record an item whose sides differ and that has a difference by the method."""
    columns = ScoreColumns(layout.method)
    # a corpus of the user's own is theirs to judge
    has_texts = table.corpus not in CORPORA or CORPORA[table.corpus].source.redistributable
    for row in rows:
        delta = row.get(columns.delta)
        if delta is None or math.isnan(delta) or IDENTICAL_SIDES in (row["flags"] or ()):
            continue
        score = 0.5 if abs(delta) <= TIE else float(delta > 0)
        raw, good, bad = _shown(row) if has_texts else (_WITHHELD, "good", "bad")
        chosen = "tie" if score == 0.5 else good if score else bad
        hashed = json.dumps({"raw": raw, "reference": [good]}, sort_keys=True, separators=(",", ":"))
        yield {
            "schema_version": SCHEMA,
            "evaluation_id": evaluation_id,
            "model_id": model,
            "evaluation_name": f"{table.corpus}/{layout.method}",
            "evaluation_result_id": f"{table.corpus}/{layout.method}",
            "sample_id": row["item_id"],
            "sample_hash": hashlib.sha256(hashed.encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": raw, "reference": [good], "choices": [good, bad]},
            "output": {"raw": [chosen]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": chosen,
                    "extraction_method": f"the side of the greater {layout.method}",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": score, "is_correct": score == 1.0},
            "performance": {"additional_details": {OPTION_SCORES: json.dumps(_option_scores(row, layout, columns))}},
            "metadata": _metadata(row, layout, columns, has_texts=has_texts),
        }


def _option_scores(row: Mapping[str, Any], layout: MethodLayout, columns: ScoreColumns) -> list[dict[str, Any]]:
    values = row.get(columns.logprobs) or ()
    kind = "log_probability" if layout.has_logprobs or layout.unit_in_words == NATS else "score"
    unit = NATS if kind == "log_probability" else layout.unit_in_words
    if not values:
        sides = enumerate((row.get(columns.good), row.get(columns.bad)))
        return [{"choice_idx": k, "quantity": kind, "value": v, "unit": unit} for k, v in sides if v is not None]
    right = layout.correct or (None,) * len(layout.presentations)
    asked = [
        (p, k, o, r) for p, r in zip(layout.presentations, right, strict=True) for k, o in enumerate(layout.options)
    ]
    return [
        {"quantity": kind, "value": value, "unit": unit, "presentation": presentation, "option": option}
        | ({} if place is None or len(layout.options) != 2 else {"choice_idx": int(k != place)})
        for (presentation, k, option, place), value in zip(asked, values, strict=False)
        if not math.isnan(value)
    ]


def _shown(row: Mapping[str, Any]) -> tuple[str, str, str]:
    context, other = row["context_good"], row["context_bad"]
    if context == other:
        return context, row["target_good"], row["target_bad"]
    return "", f"{context} {row['target_good']}", f"{other} {row['target_bad']}"


def _metadata(
    row: Mapping[str, Any], layout: MethodLayout, columns: ScoreColumns, *, has_texts: bool
) -> dict[str, str]:
    kept = [*_ITEM, *(_TEXTS if has_texts else ())]
    details = {f"pairbank.{name}": str(row[name]) for name in kept if row.get(name) is not None}
    details |= {"pairbank.method": layout.method, "pairbank.unit": layout.unit_in_words}
    for name in (columns.good, columns.bad, columns.delta):
        if row.get(name) is not None:
            details[f"pairbank.score.{name}"] = repr(row[name])
    values = row.get(columns.logprobs) or ()
    names = [f"{layout.method}:{p}:{option}" for p in layout.presentations for option in layout.options]
    details |= {f"pairbank.score.{n}": repr(v) for n, v in zip(names, values, strict=False) if not math.isnan(v)}
    return details


def _results(table: Scored, records: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    summary, homepage = table_summary(table), CORPORA[table.corpus].source.homepage if table.corpus in CORPORA else ""
    origin = {"source_type": "url", "url": [homepage]} if homepage else {"source_type": "other"}
    whole = summary[(summary["group_by"] == "all") & (summary["metric"] == "accuracy")]
    accuracies = {str(row["method"]): row for row in whole.to_dict("records")}
    for layout in map(MethodLayout.from_dict, table.layouts):
        name = f"{table.corpus}/{layout.method}"
        scores = [record["evaluation"]["score"] for record in records if record["evaluation_name"] == name]
        if not scores:
            continue
        value = sum(scores) / len(scores)
        columns, n_unparsed = ScoreColumns(layout.method), None
        if columns.unparsed in table.column_names:
            cells = table.arrow([columns.unparsed, columns.delta]).to_pylist()
            n_unparsed = sum(bool(row[columns.unparsed]) and row[columns.delta] is None for row in cells)
        text = f"Share of pairs whose better side has the greater {layout.method}; ties count one half."
        if n_unparsed:
            text += f" Of {len(scores) + n_unparsed} items, {n_unparsed} without a parsable answer are left out; "
            text += "counted as wrong, they would lower the score."
        details: dict[str, Any] = {"score": value, "details": {"n_items_of_table": str(len(table))}}
        details["details"] |= {} if n_unparsed is None else {"n_items_unparsed": str(n_unparsed)}
        result = accuracies.get(layout.method)
        if result is not None and abs(result["value"] - value) < 1e-9 and not math.isnan(result["low"]):
            interval = {"lower": result["low"], "upper": result["high"], "confidence_level": 0.95}
            details["uncertainty"] = {"confidence_interval": interval, "num_samples": len(scores)}
        yield {
            "evaluation_result_id": name,
            "evaluation_name": name,
            "source_data": {"dataset_name": table.corpus, **origin},
            "metric_config": {
                "evaluation_description": text,
                "metric_id": "accuracy",
                "metric_name": "Accuracy",
                "metric_kind": "accuracy",
                "metric_unit": "proportion",
                "lower_is_better": False,
                "score_type": "continuous",
                "min_score": 0.0,
                "max_score": 1.0,
            },
            "score_details": details,
        }
