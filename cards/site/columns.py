"""Columns as a page reads them: in, arrays of Arrow; out, gzipped JSON whose numbers are typed and exact.

A number column is base64 of little-endian numbers, 32 bits where that holds every value exactly, else 64; null is NaN.
Texts are a list, or a list of different values with the place of each row's in it. Equal columns give equal bytes.

The summary is written as `results/<part>/<k>-<m>`: the k-th grouping by the m-th method; the part is `board` (accuracy,
with ranks) or `people` (correlations). So the first view reads one small file, however many methods and groupings.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.files import write_bytes
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.measures.rank_intervals import RankIntervals, mean_rank_intervals, pair_counts, rank_intervals
from pairbank.stats.report.overview import own_accuracies
from pairbank.stats.scored_table.scored_table import PARADIGM, PARADIGM_DTYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pairbank.arrays import FloatArray, IntArray
    from pairbank.cards.site.corpus_data import CorpusWritten


SUFFIX = ".json.gz"
_MOST_EXACT = 2**53  # from here on a float64, which is all the numbers that a page has, skips integers
_TEXTS_A_PART = 16_384
_GZIP = 31  # as zlib counts its formats
_FEW = 2  # texts are listed once where there are this many rows a text, or more
PARTS = {
    "board": ("accuracy", "human_accuracy", "accuracy_pooled", "position_bias"),
    "people": ("pearson_human", "spearman_human", "pearson_human_sentence", "spearman_human_sentence"),
}
"""Part -> the metrics it shows."""
_TEXTS = ("model", "corpus", "group", "metric", "ci_method", "reason")


def encoded(column: pa.Array | pa.ChunkedArray) -> dict[str, Any]:
    """Return a column as JSON values; `t` says how they are to be read."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_floating(kind):
        return numbers(column.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind):
        largest = max((abs(x) for x in pc.min_max(column).as_py().values() if x is not None), default=0)
        if largest >= _MOST_EXACT:
            return _values([plain(value) for value in column.to_pylist()])
        exact = column.cast(pa.float64()) if column.null_count else column
        return numbers(exact.to_numpy(zero_copy_only=False))
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if is_list and (pa.types.is_floating(kind.value_type) or pa.types.is_int32(kind.value_type)):
        lengths = pc.fill_null(pc.list_value_length(column), -1)
        flat = pc.list_flatten(column)
        return {"t": "lists", "n": numbers(lengths.to_numpy(zero_copy_only=False)), "d": encoded(flat)}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        coded = column.dictionary_encode(null_encoding="encode")
        return _listed(coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False))
    return _values([plain(value) for value in column.to_pylist()])


def numbers(values: NDArray[Any]) -> dict[str, Any]:
    """Return numbers in the smallest type that holds them all exactly.

    >>> numbers(np.array([0, 300])), numbers(np.array([0.5]))["t"], numbers(np.array([0.1]))["t"]
    ({'t': 'u2', 'd': 'AAAsAQ=='}, 'f4', 'f8')
    """
    if np.issubdtype(values.dtype, np.integer):
        low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
        sizes = (("u1", 0, 2**8), ("u2", 0, 2**16), ("i4", -(2**31), 2**31))
        kind = next((name for name, least, end in sizes if least <= low and high < end), "f8")
    else:
        with np.errstate(over="ignore"):
            is_short = np.array_equal(values.astype(np.float32).astype(np.float64), values, equal_nan=True)
        kind = "f4" if is_short else "f8"
    return {"t": kind, "d": base64.b64encode(values.astype(f"<{kind}").tobytes()).decode()}


def _values(values: list[Any]) -> dict[str, Any]:
    keys = [value if isinstance(value, str) else (repr(value),) for value in values]
    different = dict(zip(keys, values, strict=True))
    places = {key: place for place, key in enumerate(different)}
    return _listed([*different.values()], np.array([places[key] for key in keys], dtype=np.int64))


def _listed(different: list[Any], codes: NDArray[Any]) -> dict[str, Any]:
    if len(codes) < _FEW * len(different):
        return {"t": "list", "v": [different[code] for code in codes]}
    return {"t": "codes", "v": different, "d": numbers(codes.astype(np.int64))}


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a value of a cell as JSON knows it; what JSON has no form for becomes text.

    >>> plain([1.5, float("nan"), 2**60, b"a"])
    [1.5, None, '1152921504606846976', "b'a'"]
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < _MOST_EXACT else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return str(value)


def write_chunk(path: Path, columns: Mapping[str, Any], **more: Any) -> None:  # noqa: ANN401 - JSON is any
    write_packed(path, {"columns": dict(columns), **more})


def write_list(path: Path, name: str, values: pa.Array) -> None:
    """Write a file of one column of texts, as `write_chunk` would, without making a list of them all."""

    def parts() -> Iterator[str]:
        yield f'{{"columns":{{{_json(name)}:{{"t":"list","v":['
        for start in range(0, len(values), _TEXTS_A_PART):
            texts = _json(values.slice(start, _TEXTS_A_PART).to_pylist())[1:-1]
            yield texts if start == 0 else f",{texts}"
        yield "]}}}"

    write_packed_parts(path, parts())


def write_packed(path: Path, value: Any) -> None:  # noqa: ANN401 - JSON is any
    write_packed_parts(path, (_json(value),))


def _json(value: Any) -> str:  # noqa: ANN401 - JSON is any
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_packed_parts(path: Path, parts: Iterable[str]) -> None:
    """Write JSON that comes as text, in parts, gzipped without a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    press = zlib.compressobj(6, wbits=_GZIP)
    packed = [press.compress(part.encode("utf-8", "surrogatepass")) for part in parts]
    write_bytes(path, b"".join([*packed, press.flush()]))


def write_results(
    root: Path, summary: pd.DataFrame | None, corpora: Mapping[str, CorpusWritten], slugs: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Write the results; return where what is, for the site's manifest."""
    if summary is None:
        return {"groupings": ["all"], "methods": [], "board": {}, "people": {}, "nested": False}
    groupings = ["all", *(str(x) for x in summary["group_by"].unique() if x != "all")]
    methods = _in_order([str(x) for x in summary["method"].unique()], corpora)
    nested = bool(summary["n_paradigms"].any())
    results: dict[str, Any] = {"groupings": groupings, "methods": methods, "nested": nested}
    n_models = summary[summary["method"] != HUMAN].groupby("method")["model"].nunique()
    results["widest"] = max(methods, key=lambda name: n_models.get(name, 0), default="")
    layouts = {name: layout for corpus in corpora.values() for name, layout in corpus.layouts.items()}
    for part, metrics in PARTS.items():
        shown = summary[summary["metric"].isin(metrics)]
        if part == "board":  # the accuracy that each method's paper defines, or of answers where these are by position
            own = own_accuracies(shown, layouts).replace({"metric": {"accuracy_pooled": "accuracy"}})
            others = shown[shown["metric"].isin(("accuracy_pooled", "position_bias"))]
            shown = pd.concat([own, others], ignore_index=True)
        results[part] = {}
        for (by, method), rows in shown.groupby(["group_by", "method"], sort=True):
            path = f"results/{part}/{groupings.index(str(by))}-{methods.index(str(method))}{SUFFIX}"
            frame = _of_people(rows) if method == HUMAN else rows
            more = _ranks(frame, str(by), str(method), corpora, slugs) if part == "board" else {}
            _write_rows(root / "data" / path, frame, more)
            results[part].setdefault(str(by), {})[str(method)] = path
    return results


def _in_order(methods: list[str], corpora: Mapping[str, CorpusWritten]) -> list[str]:
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
    rows: pd.DataFrame, by: str, method: str, corpora: Mapping[str, CorpusWritten], slugs: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return rank intervals by (model, corpus, group), and overall; none of null models or with position bias."""
    ranks: dict[tuple[str, str, str], dict[str, int]] = {}
    parts = []
    keep = rows[(rows["metric"] == "accuracy") & rows["first_option"].isna() & rows["model"].isin(list(slugs))]
    n_corpora = keep["corpus"].nunique()
    in_corpora = keep.groupby("model")["corpus"].nunique()
    everywhere = sorted(map(str, in_corpora.index[in_corpora == n_corpora])) if by == "all" else []
    for (corpus, group), cell in keep.groupby(["corpus", "group"], sort=True):
        models = [str(name) for name in cell["model"].unique()]
        if len(models) < 2:
            continue
        known = [(name, slugs.get(name, ())) for name in models]
        earned = _credits(corpora.get(str(corpus)), by, str(group), method, known)
        if earned is None:
            continue
        credit, clusters = earned
        counts = pair_counts(credit, clusters=clusters)
        result = rank_intervals(counts)
        ranks |= {(name, str(corpus), str(group)): _cell(result, k) for k, name in enumerate(models)}
        if len(everywhere) > 1:
            parts.append(pair_counts(credit[[models.index(name) for name in everywhere]], clusters=clusters))
    overall = {}
    if len(everywhere) > 1 and n_corpora > 1 and len(parts) == n_corpora:
        mean = mean_rank_intervals(parts)
        overall = {name: _cell(mean, k) for k, name in enumerate(everywhere)}
    return {"ranks": ranks, "overall": overall}


def _cell(result: RankIntervals, k: int) -> dict[str, int]:
    return {"best": int(result.best[k]), "worst": int(result.worst[k])}


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
