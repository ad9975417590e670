"""One part of a run's scores: in, a plan and a model; out, scores in the store, which a later run puts together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairbank.study.model_list import ModelChoice
from pairbank.study.one_model import Load, Tellers, loaded

if TYPE_CHECKING:
    from pairbank.scoring.run.units import Part
    from pairbank.scoring.score import PartScored
    from pairbank.study.preflight import Asked, Plan


def score_study_part(
    plan: Plan,
    model: Asked,
    part: Part,
    *,
    load: Load = loaded,
    progress: Tellers = lambda _task, _model: None,
    n_before: int = 0,
) -> PartScored:
    """Score a part of all corpora of a run with one model; numbers are stored, nothing else is written.

    Args:
        plan: the run (`pairbank.study.preflight`).
        model: one of its models.
        part: which of how many.
        load: loads the model, if it is not loaded yet.
        progress: as `carried_out` has it.
        n_before: units of the models before this one.

    Returns:
        How many units the part had, and the run.

    Raises:
        PairbankError: what loading or scoring raises; what is scored is stored.
    """
    from pairbank.scoring.score import PartScored, score_part
    from pairbank.study.preflight import scored_by

    scorer = load(model) if isinstance(model, ModelChoice) else model
    study = plan.study
    n_units = n_units_of_all = 0
    for chosen in scored_by(model, plan):
        done = score_part(
            chosen.items,
            scorer,
            part,
            methods=study.methods,
            prompts=study.prompts,
            unigrams=plan.counts.of(study, chosen, scorer),
            seed=study.seed,
            n_before=n_before + n_units_of_all,
            progress=progress(f"scoring {chosen.name}", scorer.info.name),
        )
        n_units, n_units_of_all = n_units + done.n_units, n_units_of_all + done.n_units_of_all
    return PartScored(n_units=n_units, n_units_of_all=n_units_of_all)
