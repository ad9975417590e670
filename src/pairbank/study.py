"""Studies: a TOML file that names corpora, methods and settings, and the run that makes a bank of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pairbank.errors import PairbankError, unknown_name

if TYPE_CHECKING:
    from pairbank.scoring.backend import Scorer
    from pairbank.scoring.linking_methods import UnigramTables
    from pairbank.scoring.score import Progress, Scored
    from pairbank.stats.report import Report


class StudyError(PairbankError, ValueError):
    """A study file that breaks the rules, with file, key and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusChoice:
    """One corpus of a study, and how much of it."""

    name: str
    subset: str | None = None
    language: str | None = None
    limit: int | None = None
    """At most this many items a paradigm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What `pairbank run` does."""

    name: str
    title: str
    corpora: tuple[CorpusChoice, ...]
    methods: tuple[str, ...]
    description: str = ""
    seed: int = 0
    n_resamples: int = 1000
    notes: tuple[str, ...] = field(default=())


def study_names() -> list[str]:
    """Return the studies that ship with pairbank."""
    folder = resources.files("pairbank") / "studies"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def load_study(name: str) -> Study:
    """Return a study: a shipped one by name, or a TOML file by path.

    Raises:
        UnknownNameError: no such study.
        StudyError: a file that breaks the rules; unknown keys are errors.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise StudyError(f"no study file {path}; expected a TOML file, or one of {', '.join(study_names())}")
        return _parsed(path.read_text(encoding="utf-8"), path.name, path.stem)
    if name not in study_names():
        raise unknown_name("study", name, study_names())
    text = (resources.files("pairbank") / "studies" / f"{name}.toml").read_text(encoding="utf-8")
    return _parsed(text, f"{name}.toml", name)


def _parsed(text: str, where: str, name: str) -> Study:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{where}: not TOML ({error})") from error
    choices = table.pop("corpora", None)
    if not isinstance(choices, list) or not choices:
        raise StudyError(f"{where}: no [[corpora]]; expected at least one, each with a name")
    values: dict[str, Any] = {"name": name} | {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    values["corpora"] = tuple(cast("CorpusChoice", _record(CorpusChoice, c, f"{where}, corpora")) for c in choices)
    return cast("Study", _record(Study, values, where))


def _record(cls: type[Study | CorpusChoice], values: Mapping[str, Any], where: str) -> Study | CorpusChoice:
    known = {f.name for f in fields(cls)}
    if extra := sorted(values.keys() - known):
        raise StudyError(f"{where}: unknown key(s) {', '.join(extra)}; known: {', '.join(sorted(known))}")
    try:
        return cls(**values)
    except TypeError as error:
        raise StudyError(f"{where}: {error}") from error


def limited(study: Study, limit: int) -> Study:
    """Return the study with one limit on all its corpora, and a note that says so."""
    note = f"Limited by the user to {limit} items a paradigm."
    corpora = tuple(replace(choice, limit=limit) for choice in study.corpora)
    return replace(study, corpora=corpora, notes=(*study.notes, note))


def run_study(
    study: Study,
    models: Sequence[Scorer],
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    command: str = "",
    progress: Callable[[str, str], Progress | None] = lambda _corpus, _model: None,
) -> tuple[Path, Report]:
    """Build, score, report and write the bank of a study; return its folder and report.

    Args:
        study: what to do.
        models: the scorers.
        out: folder of the bank; one that is there already is extended.
        data_dir: where upstream files are; None downloads them.
        unigrams: token counts for the methods that need them, one table a tokenizer.
        command: how to run this again, for the card.
        progress: called with corpus and model before each is scored; gives the callback of `score`.
    """
    from pairbank.builders.load import load_corpus
    from pairbank.cards.bank import write_bank
    from pairbank.scoring.score import score
    from pairbank.stats.report import report

    corpora = [
        load_corpus(c.name, data_dir=data_dir, subset=c.subset, language=c.language, limit=c.limit)
        for c in study.corpora
    ]
    scored: list[Scored] = []
    for model in models:
        for choice, items in zip(study.corpora, corpora, strict=True):
            tell = progress(choice.name, model.info.name)
            done = score(items, model, methods=study.methods, unigrams=unigrams, seed=study.seed, progress=tell)
            scored.append(done)
    made = report(scored, title=study.title, seed=study.seed, n_resamples=study.n_resamples, notes=study.notes)
    folder = write_bank(out, corpora=corpora, scored=scored, reports={study.name: made}, command=command)
    return folder, made
