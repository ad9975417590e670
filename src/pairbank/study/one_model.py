"""One model of a run: load it, score and probe every corpus, let it go. In, a plan; out, tables and what failed.

What fails is told and kept as text: an exception would keep the model in memory.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pairbank.errors import PairbankError
from pairbank.markdown import html_as_text
from pairbank.scoring.api.model import Scorer
from pairbank.study.model_list import ModelChoice

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.scoring.methods.unigrams import Unigrams
    from pairbank.scoring.run.work import Progress, ScoreOptions
    from pairbank.scoring.score import StoredParts
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.study.corpora import ChosenItems
    from pairbank.study.declaration import Study
    from pairbank.study.preflight import Asked, Plan
    from pairbank.study.raters import People

ProgressOf = Callable[[str, str], "Progress"]
"""Task and model -> what is told how far it is."""
Load = Callable[[ModelChoice], "Scorer | StoredParts"]
FAILURES = (PairbankError, RuntimeError, MemoryError, OSError)
"""What ends one model and not the run: errors of ours, and what torch, drivers and full disks raise."""
_FOLDERS = re.compile(r"(?<![\w:/.~])(?:~|\.{0,2})/(?:[^\s/'\"]+/)*([^\s/'\"]+)/?")
MOST_CHARACTERS = 600
"""Of a reason in a report."""
ONLY_SCORES = "parts hold scores alone; run it without --join"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    model: str
    corpus: str
    """Empty where it was not loaded at all."""
    reason: str

    def __str__(self) -> str:
        description = f"not scored on {self.corpus}" if self.corpus else "not loaded"
        return f"{self.model} was {description}: {self.reason}"

    @property
    def note(self) -> str:
        """The sentence for the report, which is published: of paths only the last part.

        >>> Failure(model="m", corpus="", reason="cannot load '/home/me/models/m': no file").note
        "Failed: m was not loaded: cannot load 'm': no file"
        """
        text = _FOLDERS.sub(lambda match: match[1], str(self))
        return html_as_text(f"Failed: {text[:MOST_CHARACTERS]}{' …' if len(text) > MOST_CHARACTERS else ''}")


class Note(NamedTuple):
    """What was left out of a model's part, for the report: "WHAT by MODEL: WHY"."""

    what: str
    why: str


@dataclass(slots=True, kw_only=True)
class OfModel:
    name: str
    scored: list[Scored] = field(default_factory=list)
    probed: list[Probed] = field(default_factory=list)
    responses: pd.DataFrame | None = None
    """Of participants, with their log-likelihood."""
    failures: list[Failure] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def fail(self, reason: str, corpus: str = "") -> None:
        self.failures.append(Failure(model=self.name, corpus=corpus, reason=reason))


def silent(_task: str, _model: str) -> Progress:
    return lambda _n_done, _n_total: None


def loaded(choice: ModelChoice) -> Scorer:
    from pairbank.scoring.models.load import load_model

    scorer: Scorer = load_model(choice.id, **choice.options)
    return scorer


def of_model(asked: Asked, plan: Plan, *, load: Load, progress: ProgressOf, taken: Callable[[str], bool]) -> OfModel:
    """Return the tables of one model, which is let go before this returns."""
    from pairbank.study.preflight import name_of, scored_by

    model = OfModel(name=name_of(asked))
    corpora = scored_by(asked, plan.corpora)
    if left_out := [corpus.name for corpus in plan.corpora if corpus not in corpora]:
        model.notes.append(Note("Not scored", f"{', '.join(left_out)}; the model list leaves them out."))
    if not corpora or _stored(model, asked, plan, taken, progress):
        return model
    try:
        scorer = load(asked) if isinstance(asked, ModelChoice) else asked
    except FAILURES as error:
        model.fail(_reason(error))
        return model
    try:
        model.name = scorer.info.name
        if taken(scorer.info.slug):
            model.fail('another model of this run has this name; give one of them another (name = "…" in a list)')
            return model
        for corpus in corpora:
            _score(model, corpus, plan, scorer, progress)
        for corpus in corpora if plan.study.probe else ():
            _probe(model, corpus, plan, scorer, progress)
        if plan.people is not None:
            _predict(model, plan.people, scorer, progress)
        return model
    finally:
        del scorer
        _free()


def _stored(model: OfModel, asked: Asked, plan: Plan, taken: Callable[[str], bool], progress: ProgressOf) -> bool:
    """Take a model's tables from the store where it has every number, so that the model need not be loaded."""
    from pairbank.scoring.models.load import remembered
    from pairbank.scoring.score import score_stored
    from pairbank.study.preflight import scored_by

    if not isinstance(asked, ModelChoice) or plan.study.probe or plan.study.unigram_text or plan.people:
        return False
    tables: list[Scored] = []
    info = remembered(asked.id, **asked.options)
    if info is None or taken(info.slug):
        return False
    for corpus in scored_by(asked, plan.corpora):
        try:
            table = score_stored(corpus.items, info, options_of(plan.study, None))
        except FAILURES:  # said when the model is loaded
            return False
        if table is None:
            return False
        tables.append(table)
    model.name, model.scored = info.name, tables
    for table in tables:
        progress(f"scoring {table.corpus}", info.name)(len(table), len(table))
    return True


def options_of(study: Study, counts: Sequence[Unigrams] | None) -> ScoreOptions:
    from pairbank.scoring.run.work import ScoreOptions

    return ScoreOptions(
        methods=study.methods, prompts=study.prompts, unigrams=counts, probe_text=study.probe_text, seed=study.seed
    )


def _score(model: OfModel, corpus: ChosenItems, plan: Plan, scorer: Scorer | StoredParts, progress: ProgressOf) -> None:
    from pairbank.scoring.score import counts_lacking, score_as

    study = plan.study
    try:
        counts = plan.counts.of(study, corpus, scorer, progress=_counting(progress, model.name, study))
        notify = progress(f"scoring {corpus.name}", model.name)
        table = score_as(corpus.items, scorer, options_of(study, counts), progress=notify)
    except FAILURES as error:
        model.fail(_reason(error), corpus.name)
        return
    model.scored.append(table)
    model.notes += [Note(f"Left out: {corpus.name}", f"{lacking}.") for lacking in counts_lacking(table.signature)]


def _counting(progress: ProgressOf, model: str, study: Study) -> Callable[[int], None]:
    """Return what is told of every batch of documents that is counted: none before the first, none of stored counts."""
    text, n_done = study.unigram_text, 0
    progress_of = functools.cache(lambda: progress(f"counting tokens of {text.folder if text else ''}", model))

    def on_progress(n_documents: int) -> None:
        nonlocal n_done
        n_done += n_documents
        if text is not None:
            progress_of()(min(n_done, text.documents), text.documents)

    return on_progress


def _probe(model: OfModel, corpus: ChosenItems, plan: Plan, scorer: Scorer | StoredParts, progress: ProgressOf) -> None:
    from pairbank.probing import probe
    from pairbank.scoring.score import StoredParts

    study = plan.study
    if not set(study.probe) <= set(corpus.items.column_names):
        return
    if isinstance(scorer, StoredParts):
        model.notes.append(Note(f"Not probed: {corpus.name}", ONLY_SCORES))
        return
    progress_of = functools.cache(lambda task: progress(f"{task} of {corpus.name}", model.name))
    try:
        model.probed.append(
            probe(
                corpus.items,
                scorer,
                groups=study.probe,
                folds=study.probe_folds,
                cut_stop=study.probe_cut_stop,
                standardise=study.probe_standardise,
                precision=study.probe_precision,
                seed=study.seed,
                progress=lambda task, n_done, n_total: progress_of(task)(n_done, n_total),
            )
        )
    except FAILURES as error:
        model.notes.append(Note(f"Not probed: {corpus.name}", _reason(error)))


def _predict(model: OfModel, people: People, scorer: Scorer | StoredParts, progress: ProgressOf) -> None:
    from pairbank.scoring.participants import participants
    from pairbank.scoring.score import StoredParts

    what = f"Participants of {people.corpus} not predicted"
    if isinstance(scorer, StoredParts):
        model.notes.append(Note(what, ONLY_SCORES))
        return
    notify = progress(f"participants of {people.corpus}", model.name)
    try:
        model.responses = participants(people.items, people.ratings, scorer, most=people.most, progress=notify)
    except FAILURES as error:
        model.notes.append(Note(what, _reason(error)))


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no reason given"
    return text if isinstance(error, PairbankError) else f"{type(error).__name__}: {text}"


def _free() -> None:
    """Give back what a model that nobody holds any more had of memory."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
