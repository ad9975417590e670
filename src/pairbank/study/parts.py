"""One part of a study's scores: in, a study and a model; out, scores in the store, which a later run puts together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.study.run import Tellers, corpora_of, unigrams_of

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.methods.linking import UnigramTables
    from pairbank.scoring.run.units import Part
    from pairbank.scoring.score import PartScored
    from pairbank.study.declaration import Study


def score_study_part(
    study: Study,
    model: Scorer,
    part: Part,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    progress: Tellers = lambda _task, _model: None,
    n_before: int = 0,
) -> PartScored:
    """Score a part of all corpora of a study with one model; numbers are stored, nothing else is written.

    Args:
        study: what to do.
        model: with what.
        part: which of how many.
        data_dir: where upstream files are; None downloads them.
        unigrams: token counts for the methods that need them.
        progress: as `run_study` has it.
        n_before: units of the models before this one.

    Returns:
        How many units the part had, and the run.
    """
    from pairbank.scoring.score import PartScored, score_part

    counts = unigrams if unigrams is not None else unigrams_of(study, model, data_dir)
    n_units = n_units_of_all = 0
    for items in corpora_of(study, data_dir, None)[0]:
        done = score_part(
            items,
            model,
            part,
            methods=study.methods,
            prompts=study.prompts,
            unigrams=counts,
            seed=study.seed,
            n_before=n_before + n_units_of_all,
            progress=progress(f"scoring {items['corpus'][0]}", model.info.name),
        )
        n_units, n_units_of_all = n_units + done.n_units, n_units_of_all + done.n_units_of_all
    return PartScored(n_units=n_units, n_units_of_all=n_units_of_all)
