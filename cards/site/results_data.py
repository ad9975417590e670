"""The summary as files of a site: in, a bank's table of all estimates; out, the columns that the leaderboards read.

`results/<part>/<k>-<m>`: the k-th grouping by the m-th method; the part is `board` (accuracy, with ranks) or `people`
(correlations). So the first view reads one small file, however many methods and groupings there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pairbank.cards.site.columns import SUFFIX, encoded, numbers, write_chunk
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.measures.rank_intervals import RankIntervals, mean_rank_intervals, pair_counts, rank_intervals
from pairbank.stats.report.overview import own_accuracies
from pairbank.stats.scored_table.scored_table import PARADIGM, PARADIGM_DTYPES

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.cards.site.corpus_data import CorpusWritten
    from pairbank.scoring.api.layout import MethodLayout

PARTS = {
    "board": ("accuracy", "human_accuracy", "accuracy_pooled", "position_bias"),
    "people": ("pearson_human", "spearman_human", "pearson_human_sentence", "spearman_human_sentence"),
}
"""Part -> the metrics it shows."""
_TEXTS = ("model", "corpus", "group", "metric", "ci_method", "reason")


def write_results(
    root: Path, summary: pd.DataFrame | None, corpora: Mapping[str, CorpusWritten], slugs: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Write the results; return where what is, for the site's manifest.

    Args:
        root: the site's folder.
        summary: the bank's, or None where it has no scores.
        corpora: what was written of each corpus.
        slugs: model's name -> its slugs; a model that is not in it (a null) has no rank.
    """
    if summary is None:
        return {"groupings": ["all"], "methods": [], "board": {}, "people": {}, "nested": False}
    groupings = ["all", *(str(x) for x in summary["group_by"].unique() if x != "all")]
    methods = _in_order([str(x) for x in summary["method"].unique()], corpora)
    nested = bool(summary["n_paradigms"].any())
    results: dict[str, Any] = {"groupings": groupings, "methods": methods, "nested": nested}
    layouts = {name: layout for corpus in corpora.values() for name, layout in corpus.layouts.items()}
    for part, metrics in PARTS.items():
        wanted = summary[summary["metric"].isin(metrics)]
        if part == "board":
            wanted = _by_paper(wanted, layouts)
        results[part] = {}
        for (by, method), rows in wanted.groupby(["group_by", "method"], sort=True):
            path = f"results/{part}/{groupings.index(str(by))}-{methods.index(str(method))}{SUFFIX}"
            frame = _of_people(rows) if method == HUMAN else rows
            more = _ranks(frame, str(by), str(method), corpora, slugs) if part == "board" else {}
            _write_rows(root / "data" / path, frame, more)
            results[part].setdefault(str(by), {})[str(method)] = path
    return results


def _by_paper(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> pd.DataFrame:
    """Return the rows with the accuracy that each method's paper defines, or of answers where these are by position."""
    own_values = own_accuracies(summary, layouts)
    own_values["metric"] = own_values["metric"].replace("accuracy_pooled", "accuracy")
    return pd.concat(
        [own_values, summary[summary["metric"].isin(("accuracy_pooled", "position_bias"))]], ignore_index=True
    )


def _in_order(methods: list[str], corpora: Mapping[str, CorpusWritten]) -> list[str]:
    """Return methods in the order of the tables, people last."""
    known = dict.fromkeys(name for corpus in corpora.values() for name in corpus.deltas)
    rest = sorted(name for name in methods if name not in known and name != HUMAN)
    return [*(name for name in known if name in methods), *rest, *([HUMAN] if HUMAN in methods else [])]


def _of_people(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row of people's for each group, that of the most items: whatever model stands beside it."""
    ordered = rows.sort_values("n", ascending=False, kind="stable")
    return ordered.drop_duplicates(["corpus", "group", "metric"]).sort_index().assign(model="")


def _write_rows(path: Path, rows: pd.DataFrame, more: Mapping[str, Any]) -> None:
    columns = {name: encoded(pa.array(rows[name], pa.string(), from_pandas=True)) for name in _TEXTS}
    columns |= {name: numbers(rows[name].to_numpy(dtype=np.float64)) for name in ("value", "low", "high")}
    columns |= {name: numbers(rows[name].to_numpy(dtype=np.int64)) for name in ("n", "n_excluded")}
    if rows["n_paradigms"].any():
        columns |= {name: numbers(rows[name].to_numpy(dtype=np.dtype(kind))) for name, kind in PARADIGM_DTYPES.items()}
    if "first_option" in rows.columns:
        columns["biased"] = numbers(rows["first_option"].notna().to_numpy(dtype=np.int64))
    ranks = more.get("ranks", {})
    keys = list(zip(*(rows[name].tolist() for name in ("model", "corpus", "group", "metric")), strict=True))
    for place in ("best", "worst"):
        results = [ranks.get(key[:3], {}).get(place, 0) if key[3] == "accuracy" else 0 for key in keys]
        columns[place] = numbers(np.array(results, dtype=np.int64))
    write_chunk(path, columns, overall=more.get("overall", {}))


def _ranks(
    rows: pd.DataFrame,
    by: str,
    method: str,
    corpora: Mapping[str, CorpusWritten],
    slugs: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return rank intervals by (model, corpus, group), and overall by model where a mean can be taken.

    Models with position bias have none: their accuracy is near one half whatever they know. Nor have null models.
    """
    ranks: dict[tuple[str, str, str], dict[str, int]] = {}
    parts = []
    keep = rows[(rows["metric"] == "accuracy") & rows["first_option"].isna() & rows["model"].isin(list(slugs))]
    everywhere = _models_everywhere(keep) if by == "all" else []
    for (corpus, group), cell in keep.groupby(["corpus", "group"], sort=True):
        models = [str(name) for name in cell["model"].unique()]
        known = [(name, slugs.get(name, ())) for name in models]
        earned = _credits(corpora.get(str(corpus)), by, str(group), method, known)
        if earned is None or len(models) < 2:
            continue
        credit, clusters = earned
        counts = pair_counts(credit, clusters=clusters)
        result = rank_intervals(counts)
        ranks |= {(name, str(corpus), str(group)): _cell(result, k) for k, name in enumerate(models)}
        if len(everywhere) > 1:
            parts.append(pair_counts(credit[[models.index(name) for name in everywhere]], clusters=clusters))
    overall = {}
    n_corpora = keep["corpus"].nunique()
    if len(everywhere) > 1 and n_corpora > 1 and len(parts) == n_corpora:
        mean = mean_rank_intervals(parts)
        overall = {name: _cell(mean, k) for k, name in enumerate(everywhere)}
    return {"ranks": ranks, "overall": overall}


def _cell(found: RankIntervals, k: int) -> dict[str, int]:
    return {"best": int(found.best[k]), "worst": int(found.worst[k])}


def _models_everywhere(rows: pd.DataFrame) -> list[str]:
    """Return the models that have a result of every corpus."""
    counted = rows.groupby("model")["corpus"].nunique()
    return sorted(str(name) for name in counted[counted == rows["corpus"].nunique()].index)


def _credits(
    corpus: CorpusWritten | None, by: str, group: str, method: str, models: Sequence[tuple[str, Sequence[str]]]
) -> tuple[FloatArray, IntArray | None] | None:
    """Return what all models earn on the items of a group, and these items' paradigms; None without the tables."""
    if corpus is None or (by != "all" and by not in corpus.groups):
        return None
    keep = corpus.choice.copy()
    if by != "all":
        keep &= corpus.groups[by] == group
    results = []
    for _, named in models:
        values = [corpus.credits.get(method, {}).get(slug) for slug in named]
        table = next((value for value in values if value is not None), None)
        if table is None:
            return None
        results.append(table[keep])
    paradigms = corpus.groups.get(PARADIGM)
    clusters = None if paradigms is None else np.asarray(pd.factorize(paradigms[keep])[0], dtype=np.int64)
    return np.stack(results), clusters
