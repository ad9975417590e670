"""A study from corpora to bank in one call, as the command `run` does it in two: a plan, then the run.

And what a bank lost or changed since it was copied, as a model is added to it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pairbank.builders.sources.downloads import DownloadProgress
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.stats.report.report import Report
from pairbank.study.declaration import CorpusChoice, Study
from pairbank.study.one_model import ProgressOf, silent
from pairbank.study.preflight import Asked, planned
from pairbank.study.run import run_plan

SMALL = CorpusChoice(name="starter", subset="minimal-pairs", limit=1)


def small_study(**more: Any) -> Study:  # noqa: ANN401 - fields of a study
    fields = {"name": "mine", "title": "Mine", "corpora": (SMALL,), "methods": ("direct",), "n_resamples": 20}
    return Study(**{**fields, **more})


def run_study(
    study: Study,
    models: Sequence[Asked],
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    command: str = "",
    progress: ProgressOf = silent,
    downloads: Callable[[DownloadProgress], None] | None = None,
) -> tuple[Path, Report]:
    plan = planned(study, models, out, data_dir=data_dir, unigrams=unigrams, downloads=downloads)
    return run_plan(plan, command=command, progress=progress)


OVER_MODELS = (
    *("agreement_summary", "comparisons", "introspection", "languages_varies", "language_view", "self_contrast"),
    *("prompting_kappa_range", "prompting_mean_consistency", "mixed", "multiverse", "paradigms", "raters_beside"),
)
"""Tables whose rows are of several models at a time: means, ranges, ranks and regressions change with a model.

`raters_beside` has ranges where many models would make it long; each one's rows stand in `raters_test`."""


def hashes(bank: Path) -> dict[str, str]:
    folders = ("data", "scores", "ratings", "probes")
    paths = sorted(path for name in folders for path in (bank / name).rglob("*.parquet"))
    return {path.relative_to(bank).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def changes_of_earlier_rows(before: Path, after: Path, study: str) -> list[str]:
    """Return what a bank had and has no more: files whose bytes differ, rows of summary and tables of the report."""
    now = hashes(after)
    gone = [name for name, value in hashes(before).items() if now.get(name) != value]
    gone += [f"summary: {row}" for row in sorted(_summary(before) - _summary(after))]
    for path in sorted((before / "reports" / study).rglob("*.csv")):
        new = after / path.relative_to(before)
        if not new.is_file():
            gone.append(path.name)
        elif not path.name.startswith(OVER_MODELS):
            gone += [f"{path.name}: {row}" for row in _lost_rows(path, new)]
    return gone


def _summary(bank: Path) -> set[tuple[str, ...]]:
    frame = pd.read_parquet(bank / "results" / "summary.parquet")
    return {tuple(map(repr, row)) for row in frame.itertuples(index=False)}


def _lost_rows(path: Path, new: Path) -> list[tuple[str, ...]]:
    """Return the rows, as they are written, that the new table lacks; a wide table has one more column per model.

    From five models on, a wide table of a page has no intervals (the summary has them, and is compared as well).
    """
    old, now = (pd.read_csv(table, dtype=str, keep_default_na=False) for table in (path, new))
    if missing := set(old.columns) - set(now.columns):
        return [tuple(sorted(missing))]
    rows = set(map(tuple, now[old.columns].to_numpy()))
    others = [row for row in map(tuple, old.to_numpy()) if row not in rows]
    return [row for row in others if not any(all(map(_is_kept, row, new)) for new in rows)]


def _is_kept(cell: str, new: str) -> bool:
    return new in (cell, re.sub(r"(?<=\d) \[[^\]]*\]", "", cell))
