"""Scores for R: in, scored tables and banks; out, a folder with tidy CSV files and a script of mixed models.

`scores.csv` has a row per item, model, method and presentation, `ratings.csv` a row per item, side and rater where a
bank holds individual ratings. `analysis.R` fits mixed models with lme4 (Bates et al. 2015) and brms (Buerkner 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.cards.bank.layout import RATINGS, ratings_path, read_manifest
from pairbank.errors import OutputError
from pairbank.files import read_parquet, replaced_atomically, write_bytes
from pairbank.stats.report.frames import scored_frame
from pairbank.stats.scored_table.method_scores import choices_of, credits_of
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored
    from pairbank.stats.scored_table.method_scores import MethodScores

SCORES, PEOPLE, SCRIPT = "scores.csv", "ratings.csv", "analysis.R"
OF_ITEMS = ("subset", "paradigm", "phenomenon", "language", "task", "label", "human_good", "human_bad")
"""Columns of items that go along; empty where a table has none."""
COLUMNS = (
    *("corpus", "item_id", *OF_ITEMS, "human_delta"),
    *("model", "method", "kind", "presentation", "score", "delta", "correct"),
)


def export_for_r(tables: Sequence[Scored], banks: Sequence[str | Path], out: str | Path) -> list[Path]:
    """Write tables for mixed models, and the script that fits them; return the files.

    Args:
        tables: scored tables, each of one corpus and model.
        banks: folders of banks, of which the individual ratings are taken.
        out: a folder. `scores.csv` has the columns `COLUMNS`: `score` of a single sentence, `delta` of two sides (good
            - bad, in the method's unit; of a presentation the correct option's minus the other's), `correct` from 0
            to 1 (0.5 is a tie). Identical sides are left out, as in reports.

    Raises:
        OutputError: no table has a score.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / SCORES]
    n_rows = 0
    with replaced_atomically(folder / SCORES) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        for part in (rows for table in tables for rows in _rows(table)):
            part.to_csv(file, index=False, header=n_rows == 0, lineterminator="\n")
            n_rows += len(part)
        if not n_rows:
            raise OutputError(f"{folder / SCORES}: no table has a score; nothing to export")
    if people := [
        read_parquet(Path(bank) / ratings_path(corpus)).to_pandas().assign(corpus=corpus)
        for bank in banks
        for corpus in read_manifest(Path(bank)).get(RATINGS, {})
    ]:
        written.append(folder / PEOPLE)
        with replaced_atomically(written[-1]) as temporary:
            pd.concat(people, ignore_index=True).to_csv(temporary, index=False, lineterminator="\n")
    written.append(folder / SCRIPT)
    write_bytes(written[-1], (files(__package__) / "templates" / SCRIPT).read_bytes())
    return written


def _rows(scored: Scored) -> Iterator[pd.DataFrame]:
    """Yield the rows of each method."""
    table = read_table(scored_frame(scored, for_analyses=False)).choices
    items = table.frame.reindex(columns=["item_id", *OF_ITEMS]).assign(
        corpus=table.corpus, human_delta=table.human_delta, model=table.model
    )
    for scores in table.methods:
        parts = [pd.concat([items.loc[columns.index], columns], axis=1) for columns in _columns(table, scores)]
        rows = pd.concat(parts, ignore_index=True).dropna(subset=["score", "delta", "correct"], how="all")
        yield rows.assign(method=scores.layout.method, kind=scores.layout.kind).reindex(columns=list(COLUMNS))


def _columns(table: ScoredTable, scores: MethodScores) -> Iterator[pd.DataFrame]:
    """Yield `presentation`, `score`, `delta` and `correct` of the items, of each presentation of pairs."""
    layout, choices, index = scores.layout, choices_of(scores), table.frame.index
    label = table.numbers("label")
    right = np.where(label == 1, scores.says_yes, 1 - scores.says_yes) + 0 * label  # unknown without a label
    columns = {"score": scores.sentence_score, "delta": scores.delta_nats, "correct": right}
    if choices is None:
        columns["correct"] = np.where(table.has_truth & ~scores.rates, credits_of(scores).credit, right)
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
