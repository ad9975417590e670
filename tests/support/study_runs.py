"""A study from corpora to bank in one call, as the command `run` does it in two: a plan, then the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pairbank.builders.sources.downloads import DownloadProgress
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.stats.report.report import Report
from pairbank.study.declaration import Study
from pairbank.study.one_model import Tellers
from pairbank.study.preflight import Asked, planned
from pairbank.study.run import carried_out


def run_study(
    study: Study,
    models: Sequence[Asked],
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    command: str = "",
    progress: Tellers = lambda _task, _model: None,
    downloads: Callable[[DownloadProgress], None] | None = None,
) -> tuple[Path, Report]:
    """Build, score, report and write the bank of a study; return its folder and report."""
    plan = planned(study, models, out, data_dir=data_dir, unigrams=unigrams, downloads=downloads)
    return carried_out(plan, command=command, progress=progress)
