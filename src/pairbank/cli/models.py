"""`pairbank models`, and the models of a run: from what is typed to choices."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pairbank.cli.display.console import show
from pairbank.cli.display.output import answer, output, say
from pairbank.cli.options import StudyOptions
from pairbank.files import write_text
from pairbank.scoring.models.options import DEFAULTS, LoadOptions

if TYPE_CHECKING:
    from pairbank.study.declaration import Study
    from pairbank.study.model_list import ModelChoice
    from pairbank.study.preflight import Plan


def models(
    name: Annotated[str | None, "Name of a list to print."] = None,
    *,
    out: Annotated[Path | None, "TOML file to write."] = None,
) -> None:
    """List the papers' model lists, or print one as TOML for `run --models`.

    Example: pairbank models song-2025 --out song.toml
    """
    from pairbank.study.model_list import SCOPE, list_rows, shipped_list

    if name is not None:
        listed = shipped_list(name)
        answer(
            list=name,
            models=[
                {"id": choice.id, "name": choice.name, **choice.options}
                | {key: values for key in SCOPE if (values := getattr(choice, key))}
                for choice in listed.choices
            ],
        )
        if out is None:
            if not output().as_json:
                sys.stdout.write(listed.toml())
            return
        answer(out=out)
        write_text(out, listed.toml())
        say(f"{out}: {len(listed.choices)} models; pairbank run STUDY --models {out} --out BANK")
        return
    if out is not None:
        raise typer.BadParameter("--out is for one list: say which")
    import pandas as pd

    show(pd.DataFrame(list_rows()), name="lists", whole=["list"])


def chosen_study(study: Study, what: StudyOptions) -> Study:
    from pairbank.study.declaration import limited, with_corpora

    study = with_corpora(study, what.corpus) if what.corpus else study
    return study if what.limit is None else limited(study, what.limit)


def chosen_models(study: Study, what: StudyOptions, options: LoadOptions) -> list[ModelChoice]:
    """Return the models of a run: those named and listed, else the study's own, else the demo model."""
    from pairbank.scoring.models.checkpoints import DEMO
    from pairbank.study.model_list import choice_of, choices_of, listed, with_defaults

    usual: Mapping[str, Any] = DEFAULTS
    typed = cast("LoadOptions", {name: value for name, value in options.items() if value != usual[name]})
    models = [choice_of(name, typed) for name in what.model or ()]
    models += [with_defaults(choice, typed) for choice in listed(what.models)]
    if not models:
        models = [with_defaults(choice, typed) for choice in choices_of(study.models, where=study.name)]
    models = models or [choice_of(DEMO, typed)]
    if "name" in typed and len(models) > 1:
        raise typer.BadParameter(
            f"--name {typed['name']!r} is for one model, and there are {len(models)}; names of several are for a list "
            "(--models FILE.toml)"
        )
    return models


def say_plan(plan: Plan) -> None:
    """Print what a run would do: corpora x models x methods, items, what is stored already, where to."""
    import pandas as pd

    from pairbank.scoring.api.model import slug
    from pairbank.scoring.applicability import why_not_asked
    from pairbank.study.preflight import name_of, scored_by

    corpora_of = {name_of(model): scored_by(model, plan.corpora) for model in plan.models}
    study, fitting = plan.study, dict[str, list[str]]()
    for corpus in plan.corpora:
        why_not = why_not_asked(corpus.items, study.methods, prompts=study.prompts)
        fitting[corpus.name] = [name for name in study.methods if name not in why_not]
    rows = [
        {
            "corpus": corpus.name,
            "items": f"{len(corpus.items):,}",
            "languages": ", ".join(sorted(corpus.languages)),
            "methods": f"{len(fitting[corpus.name])} of {len(plan.study.methods)}",
            "model": name,
            "in the bank": "yes" if slug(name) in plan.stored.get(corpus.name, ()) else "no",
        }
        for corpus in plan.corpora
        for name, corpora in corpora_of.items()
        if corpus in corpora
    ]
    show(pd.DataFrame(rows), name="planned", whole=["corpus"])
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
    for corpus_name, methods in fitting.items():
        if missing := [name for name in study.methods if name not in methods]:
            say(f"not asked of {corpus_name}, to none of whose items they apply: {', '.join(missing)}")
    say(f"analyses: {', '.join(study.analyses) or 'none'}")
    if study.probe:
        say(f"probes of: {', '.join(study.probe)}")
    if plan.people:
        say(f"participants of {plan.people.corpus} whose responses are predicted: {plan.people.most}")
    n_items = sum(len(corpus.items) for corpus in plan.corpora)
    n_scores = sum(len(corpus.items) * len(fitting[corpus.name]) for some in corpora_of.values() for corpus in some)
    say(
        f"{n_items:,} items of {len(plan.corpora)} corpora, {len(corpora_of)} models, {len(study.methods)} methods: "
        f"at most {n_scores:,} scores of items"
    )
    others = sorted(
        {model for models in plan.stored.values() for model in models} - {slug(name) for name in corpora_of}
    )
    say(f"to {plan.out}" + (f", which has {', '.join(others)} too: the report is of all" if others else ""))
    for text in plan.notes:
        say(text)
    say("what is in the store of scores, and not in the bank yet, is found when its model is loaded")
    say("dry run: nothing was scored or written")
