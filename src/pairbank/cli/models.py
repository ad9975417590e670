"""`pairbank models`, and the models of a run: from what is typed to choices, loaded one after the other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

import typer

from pairbank.cli.cluster import Cluster
from pairbank.cli.display.console import Downloads, fresh_stats, show, stats_of
from pairbank.cli.display.output import answer, note, output, say
from pairbank.scoring.models.options import DEFAULTS, LoadOptions

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.api.model import Scorer, ScoringStats
    from pairbank.study.declaration import Study
    from pairbank.study.model_list import ModelChoice
    from pairbank.study.preflight import Plan


def models(
    name: Annotated[str | None, typer.Argument(help="Name of a list to print.")] = None,
    out: Annotated[Path | None, typer.Option(help="TOML file to write.")] = None,
) -> None:
    """List the papers' model lists, or print one as TOML for `run --models`.

    Example: pairbank models song-2025 --out song.toml
    """
    from pairbank.files import write_text
    from pairbank.study.model_list import SCOPE, list_rows, shipped_list

    if name is not None:
        result = shipped_list(name)
        scopes = [{key: values for key in SCOPE if (values := getattr(choice, key))} for choice in result.choices]
        shown = zip(result.choices, scopes, strict=True)
        answer(
            list=name, models=[{"id": entry.id, "name": entry.name, **entry.options, **scope} for entry, scope in shown]
        )
        if out is None:
            if not output().as_json:
                sys.stdout.write(result.toml())
            return
        answer(out=out)
        write_text(out, result.toml())
        say(f"{out}: {len(result.choices)} models; pairbank run STUDY --models {out} --out BANK")
        return
    if out is not None:
        raise typer.BadParameter("--out is for one list: say which")
    import pandas as pd

    show(pd.DataFrame(list_rows()), name="lists", whole=["list"])


def chosen_models(study: Study, named: Sequence[str], lists: Sequence[str], options: LoadOptions) -> list[ModelChoice]:
    """Return the models of a run: those named and listed, else the study's own, else the demo model."""
    from pairbank.scoring.models.checkpoints import DEMO
    from pairbank.study.model_list import choice_of, choices_of, load_list, with_defaults

    provided = cast("dict[str, Any]", options)
    usual = cast("dict[str, Any]", DEFAULTS)
    typed = cast("LoadOptions", {name: value for name, value in provided.items() if value != usual[name]})
    results = [choice_of(name, typed) for name in named]
    results += [with_defaults(choice, typed) for name in lists for choice in load_list(name)]
    if not results:
        results = [with_defaults(choice, typed) for choice in choices_of(study.models, where=study.name)]
    results = results or [choice_of(DEMO, typed)]
    if "name" in typed and len(results) > 1:
        raise typer.BadParameter(
            f"--name {typed['name']!r} is for one model, and there are {len(results)}; names of several stand in a "
            f"list "
            "(--models FILE.toml)"
        )
    return results


@dataclass(slots=True, kw_only=True)
class Loader:
    """Loads models, and keeps what they count of their work when they are gone.

    Where workers score, those of one model are let go before the next model's begin, and the last in the end.
    """

    work: dict[str, ScoringStats | None] = field(default_factory=dict)
    cluster: Cluster | None = None
    """Starts workers; None = models are loaded here."""
    _workers: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._workers.close()

    def load(self, choice: ModelChoice) -> Scorer:
        """Load a model, with a line in place of the library's progress bar."""
        from transformers.utils import logging as transformers_logging

        import pairbank

        if self.cluster is not None:
            self._workers.close()
            shared = self._workers.enter_context(self.cluster(choice.id, choice.options))
            self.work[shared.info.name] = stats_of(shared)
            return shared
        note(f"loading model {choice.name}")
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        scorer: Scorer = pairbank.load_model(
            choice.id, progress=Downloads(doing="reading").on_progress, **choice.options
        )
        self.work[scorer.info.name] = fresh_stats(scorer)
        return scorer


def say_plan(plan: Plan) -> None:
    """Print what a run would do: corpora x models x methods, items, what is stored already, where to."""
    import pandas as pd

    from pairbank.scoring.api.model import slug
    from pairbank.study.preflight import name_of, scored_by

    names = [name_of(model) for model in plan.models]
    fitting = {member.name: _applying(plan.study, member.items) for member in plan.corpora}
    rows = [
        {
            "corpus": entry.name,
            "items": f"{len(entry.items):,}",
            "languages": ", ".join(sorted(set(entry.items["language"][:]))),
            "methods": f"{len(fitting[entry.name])} of {len(plan.study.methods)}",
            "model": name,
            "in the bank": "yes" if slug(name) in plan.stored.get(entry.name, ()) else "no",
        }
        for entry in plan.corpora
        for name, model in zip(names, plan.models, strict=True)
        if entry in scored_by(model, plan)
    ]
    show(pd.DataFrame(rows), name="planned", whole=["corpus"])
    study = plan.study
    answer(
        study=study.name,
        methods=study.methods,
        methods_of=fitting,
        analyses=study.analyses,
        notes=plan.notes,
        out=plan.out,
    )
    say(f"\n{study.title}")
    say(f"methods ({len(study.methods)}): {', '.join(study.methods)}")
    for corpus, own_values in fitting.items():
        if missing := [name for name in study.methods if name not in own_values]:
            say(f"not asked of {corpus}, to none of whose items they apply: {', '.join(missing)}")
    say(f"analyses: {', '.join(study.analyses) or 'none'}; probes by: {', '.join(study.probe) or 'nothing'}")
    n_items = sum(len(element.items) for element in plan.corpora)
    n_scores = sum(
        len(value.items) * len(fitting[value.name]) for model in plan.models for value in scored_by(model, plan)
    )
    say(
        f"{n_items:,} items of {len(plan.corpora)} corpora, {len(names)} models, {len(study.methods)} methods: "
        f"at most {n_scores:,} scores of items"
    )
    others = sorted({x for result in plan.stored.values() for x in result} - {slug(name) for name in names})
    say(f"to {plan.out}" + (f", which has {', '.join(others)} too: the report is of all" if others else ""))
    for text in plan.notes:
        say(text)
    say("what is in the store of scores, and not in the bank yet, is found when its model is loaded")
    say("dry run: nothing was scored or written")


def _applying(study: Study, items: datasets.Dataset) -> list[str]:
    """Return the methods of a study that apply to some of a corpus's items."""
    from pairbank.scoring.applicability import why_not_asked

    missing = why_not_asked(items, study.methods, prompts=study.prompts)
    return [name for name in study.methods if name not in missing]
