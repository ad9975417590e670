"""A leaderboard: accuracy of each model by each method, and the ranks that tests leave it (`rank_intervals`).

P-values are corrected over all pairs of models. A model with position bias has an accuracy and no rank.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.errors import BankError
from pairbank.files import read_json, reading
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.shares import share_of_items
from pairbank.stats.measures.rank_intervals import pair_counts, rank_intervals
from pairbank.stats.report.frames import scored_frames
from pairbank.stats.report.item_sets import ids_by_text
from pairbank.stats.scored_table.method_scores import credits_of
from pairbank.stats.scored_table.scored_table import PARADIGM, read_table

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

COLUMNS = ("corpus", "method", "ranks", "model", "accuracy", "low", "high", "n", "note")


def aggregates(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows of aggregate files of Every Eval Ever (0.2.1, 0.3.0), without ranks; shares of 100 as shares.

    EuroEval writes one per line of `euroeval_benchmark_results.jsonl`; what it states as samples are repetitions.
    """
    rows = []
    for path, whole in [(file, record) for file in paths for record in _records(file)]:
        if not isinstance(whole, dict) or not {"model_info", "evaluation_results"} <= whole.keys():
            raise BankError(f"{path}: expected scored tables (.parquet), or an aggregate file of Every Eval Ever")
        for result in whole["evaluation_results"]:
            metric, details = result.get("metric_config") or {}, result.get("score_details") or {}
            uncertainty = details.get("uncertainty") or {}
            interval = uncertainty.get("confidence_interval") or {}
            n, of = uncertainty.get("num_samples"), 100 if metric.get("max_score") == 100 else 1
            repeated = n if (whole.get("source_metadata") or {}).get("source_name") == "EuroEval" else None
            lacks = ["items (no paired test, no rank)"]
            lacks += [] if interval else ["an interval"]
            lacks += [f"n ({repeated} repetitions)"] if repeated else [] if n else ["n"]
            rows.append(
                {
                    "corpus": (result.get("source_data") or {}).get("dataset_name") or result["evaluation_name"],
                    "method": metric.get("metric_name") or metric.get("metric_id") or result["evaluation_name"],
                    "ranks": "–",
                    "model": str(whole["model_info"].get("name") or whole["model_info"].get("id")),
                    "accuracy": float(details["score"]) / of,
                    "low": interval["lower"] / of if interval else None,
                    "high": interval["upper"] / of if interval else None,
                    "n": None if repeated else n,
                    "note": f"aggregate, lacks {', '.join(lacks)}",
                }
            )
    return rows


def _records(path: Path) -> list[Any]:
    if path.suffix != ".jsonl":
        return [read_json(path)]
    with reading(path, BankError, saying="not JSON lines", remedy="give the file as its tool wrote it"):
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def leaderboard(tables: Sequence[Scored], aggregate_files: Sequence[Path] = ()) -> pd.DataFrame:
    """Return one row per corpus, method and model, by rank: accuracy, its wider interval, n, and the ranks."""
    ids, _ = ids_by_text(tables)
    frames = [read_table(frame).choices for frame in scored_frames(tables, ids, for_analyses=False)]
    rows: list[dict[str, Any]] = aggregates(aggregate_files)
    for corpus in dict.fromkeys(frame.corpus for frame in frames):
        of_corpus = [frame for frame in frames if frame.corpus == corpus]
        by_item = [frame.frame.set_index("item_id").reindex(columns=[PARADIGM]) for frame in of_corpus]
        paradigms = pd.concat(by_item)[PARADIGM]
        paradigms = paradigms[~paradigms.index.duplicated()]
        codes = pd.Series(pd.factorize(paradigms)[0], index=paradigms.index)
        for method in dict.fromkeys(scores.layout.method for frame in of_corpus for scores in frame.methods):
            earned = {
                frame.model: (credits_of(scores), pd.Index(frame.item_ids))
                for frame in of_corpus
                for scores in frame.methods
                if scores.layout.method == method
            }
            place = {"corpus": corpus, "method": method}
            rows += [place | row for row in _rows(earned, codes)]
    return wider(pd.DataFrame(rows)).reindex(columns=list(COLUMNS))


def _rows(earned: dict[str, tuple[Any, pd.Index[str]]], codes: pd.Series[int]) -> list[dict[str, Any]]:
    credit = pd.DataFrame({model: pd.Series(c.credit, index=ids) for model, (c, ids) in earned.items()})
    credit = credit.dropna(axis="columns", how="all").dropna(how="all")
    clusters = codes.reindex(credit.index, fill_value=-1).to_numpy()
    ranked = [model for model in credit.columns if not earned[model][0].is_biased]
    result = rank_intervals(pair_counts(credit[ranked].to_numpy().T, clusters=clusters)) if len(ranked) > 1 else None
    rows = []
    for model in credit.columns:
        has = credit[model].notna().to_numpy()
        share = share_of_items(credit[model].to_numpy()[has], clusters=clusters[has])
        best, worst = (len(earned) + 1,) * 2
        if result is not None and model in ranked:
            best, worst = (int(end[ranked.index(model)]) for end in (result.best, result.worst))
        ranks = "–" if best > len(earned) else f"{best}" if best == worst else f"{best}-{worst}"
        numbers = {name: getattr(share, name) for name in ("low", "high", "low_paradigms", "high_paradigms", "n")}
        note = "position bias: picks one option throughout" if earned[model][0].is_biased else ""
        order = (best, worst, -share.value)
        rows.append({"ranks": ranks, "model": model, "accuracy": share.value, **numbers, "note": note, "order": order})
    return sorted(rows, key=lambda row: row["order"])
