"""How to read a file of scores computed elsewhere: in, a TOML profile or a column map; out, `ImportProfile`.

A name of ours (a schema column, `model`, `direct_good`, `prompt:presentation:option`, `slor_good`, `judge` …) maps to
the file's column, or to several, of which the first non-empty cell counts. A long file, one number a row, has `value`
and `score`: the columns whose cells, joined by ":", say which number it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from pairbank.builders.corpora.column_roles import MAPPABLE, SYNONYMS
from pairbank.builders.schema.columns import ONE_SIDED_TASKS, Task
from pairbank.builders.sources.source import references
from pairbank.declarations import Declaration, record_of, table_of
from pairbank.errors import unknown_name
from pairbank.files import reading
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.importing.decisions import decision_method, decision_numbers
from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError, ScoreTable, declared_score
from pairbank.scoring.importing.declared import Kind as ScoreKind
from pairbank.scoring.importing.method import ImportedMethod
from pairbank.scoring.importing.sides import DIRECT_LOGPROB, prompt_method, prompt_numbers, sides_method
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.prompts.toml import parse_prompts

ITEM_NAMES = ("item_id", *MAPPABLE)
LONG_NAMES = ("score", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProfile:
    """What a file of scores holds, and what its source is."""

    reader: str = "table"
    """What reads the files: `table` (columns), or a tool's own format (`pairbank.scoring.importing.scores`)."""
    corpus: str = ""
    """Name of the corpus; "" = the file's name."""
    title: str = ""
    description: str = ""
    paper: str = ""
    """Where the numbers were published."""
    cites: tuple[str, ...] = ()
    """Keys of that work, and of others to cite with the numbers, in `builders/data/references.bib`."""
    homepage: str = ""
    repository: str = ""
    """`OWNER/NAME` on GitHub, of which `NAME.tsv` beside the profile pins files."""
    revision: str = ""
    """Its commit."""
    folder: str = ""
    """Name of the source's folder in a folder of copies; default: the profile's name."""
    licence: str = "unknown"
    licence_note: str = ""
    citation: str = ""
    language: str = "en"
    task: Task = "sentence_pair"
    model: str = ""
    """The model of all rows, where no column says it."""
    models: Mapping[str, str] = field(default_factory=dict)
    """A model's name in the files -> its name in tables, where the two differ."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prompts: tuple[Prompt, ...] = ()
    """Prompts that the registry does not have (in TOML: the name of a file in the registry's format)."""
    scores: tuple[DeclaredScore, ...] = ()
    """Scores that are neither log-probabilities in nats nor answers to a prompt (in TOML: a table a score)."""

    @property
    def sides(self) -> dict[str, DeclaredScore]:
        return {DIRECT: DIRECT_LOGPROB} | {score.name: score for score in self.scores if score.kind != "decision"}

    @property
    def decisions(self) -> dict[str, DeclaredScore]:
        return {score.name: score for score in self.scores if score.kind == "decision"}

    @property
    def answers(self) -> dict[str, Prompt]:
        known = {prompt.id: prompt for prompt in (*prompts().values(), *self.prompts)}
        return {name: prompt for name, prompt in known.items() if prompt.readout == "options"}

    @property
    def numbers(self) -> dict[str, tuple[str, ...]]:
        sides = {name: (f"{name}_good", f"{name}_bad") for name in self.sides}
        answers = {name: prompt_numbers(prompt) for name, prompt in self.answers.items()}
        return sides | answers | {name: decision_numbers(score) for name, score in self.decisions.items()}


def profile_names() -> list[str]:
    folder = resources.files("pairbank.scoring.importing") / "profiles"
    names = (f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    return sorted(name for name in names if not name.endswith("-prompts"))


def load_profile(name: str) -> ImportProfile:
    """Return a profile: a shipped one by name, or a TOML file by path."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ScoreImportError(f"no profile {path}; shipped ones are {', '.join(profile_names())}")
    else:
        if name not in profile_names():
            raise unknown_name("profile", name, profile_names())
        path = Path(str(resources.files("pairbank.scoring.importing") / "profiles" / f"{name}.toml"))
    where = str(path)
    with reading(path, ScoreImportError, saying="not TOML", remedy="correct it"):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    stated = record_of(ProfileTable, table, where=where, error=ScoreImportError).model_dump(exclude_unset=True)
    if unknown := [key for key in stated.get("cites", ()) if key not in references()]:
        raise ScoreImportError(f"{where}: cites has {unknown_name('reference', unknown[0], references())}")
    columns, scores, file = stated.pop("columns", {}), stated.pop("scores", {}), stated.pop("prompts", "")
    beside = path.parent / file
    if file and not beside.is_file():
        raise ScoreImportError(f"{where}: no file {beside} of prompts")
    own_prompts = tuple(parse_prompts(beside.read_text(encoding="utf-8"), beside)) if file else ()
    profile = with_scores_declared(ImportProfile(**stated, prompts=own_prompts), scores, where=where)
    return with_columns_mapped(profile, columns, where=where)


class _OwnKeys(Declaration):
    columns: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Our name -> the file's column, or several."""
    prompts: str = ""
    """A file of prompts beside the profile."""
    scores: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    """What other scores of the file are: a kind, or a table."""


ProfileTable = table_of(ImportProfile, _OwnKeys)


def profile_schema() -> dict[str, Any]:
    model = create_model("Profile", __base__=ProfileTable, scores=(dict[str, ScoreKind | ScoreTable], {}))
    return model.model_json_schema()


def with_scores_declared(
    profile: ImportProfile, scores: Mapping[str, str | Mapping[str, Any]], *, where: str
) -> ImportProfile:
    """Return the profile with more scores declared; they take the place of those that it has."""
    if not isinstance(scores, Mapping):
        raise ScoreImportError(f"{where}: scores is {scores!r}, expected a table for each score")
    taken = (*ITEM_NAMES, "model", *LONG_NAMES, *profile.answers)
    more = {name: declared_score(name, text, where=where, taken=taken) for name, text in scores.items()}
    kept = [score for score in profile.scores if score.name not in more]
    return replace(profile, scores=(*kept, *more.values()))


def with_columns_mapped(
    profile: ImportProfile, columns: Mapping[str, str | Sequence[str]], *, where: str
) -> ImportProfile:
    """Return the profile with more columns mapped; they take the place of those that it has."""
    numbers, more = profile.numbers, dict[str, tuple[str, ...]]()
    plain = (*ITEM_NAMES, "model", *LONG_NAMES)
    for name, column in columns.items():
        if name not in plain and not any(name in names for names in numbers.values()):
            near = numbers.get(name.split(":", maxsplit=1)[0], ()) if ":" in name else ()
            prompted = [f"{prompt}:…" for prompt in profile.answers]
            others = [number for method, names in numbers.items() if method not in profile.answers for number in names]
            error = unknown_name("name", name, near or [*plain, *others, *prompted])
            raise ScoreImportError(f"{where}: {error}; a score of another kind is to be declared (scores)")
        more[name] = (column,) if isinstance(column, str) else tuple(column) if isinstance(column, list | tuple) else ()
        if not more[name] or not all(isinstance(part, str) for part in more[name]):
            raise ScoreImportError(f"{where}: column of {name} is {column!r}, expected a name or a list of names")
    return replace(profile, columns={**profile.columns, **more})


def imported_methods(
    profile: ImportProfile, names: frozenset[str], header: Iterable[str], where: str
) -> list[ImportedMethod]:
    """Return the methods that a file has numbers of, each with all that it needs."""
    chosen: list[ImportedMethod] = []
    sides, answers, decisions = profile.sides, profile.answers, profile.decisions
    declared = {score.name for score in profile.scores}
    for name, numbers in profile.numbers.items():
        missing = [number for number in numbers if number not in names]
        if profile.task in ONE_SIDED_TASKS and missing == [f"{name}_bad"]:
            missing = []
        if name in decisions:
            chosen.append(decision_method(decisions[name], names, where))
        elif len(missing) < len(numbers) or name in declared:
            if missing:
                raise ScoreImportError(f"{where}: {name} lacks {', '.join(missing)}; map them to columns")
            chosen.append(sides_method(sides[name]) if name in sides else prompt_method(answers[name]))
    if not chosen:
        raise ScoreImportError(
            f"{where}: no scores; map columns to direct_good and direct_bad (log-probabilities in nats), or to "
            "prompt:presentation:option, or declare what they are (scores). Columns in the "
            f"file: {', '.join(header)}"
        )
    return chosen


def completed(profile: ImportProfile, header: Iterable[str]) -> ImportProfile:
    """Return the profile with every free column mapped whose name in the file is ours or a common synonym."""
    names = set(header) - {column for result in profile.columns.values() for column in result}
    lowered = {name.lower(): name for name in sorted(names)}
    scores = [name for names in profile.numbers.values() for name in names]
    results = {name: (name,) for name in ("model", *scores, *LONG_NAMES) if name in names}
    for name in ITEM_NAMES:
        if alike := [lowered[c.lower()] for c in (name, *SYNONYMS.get(name, ())) if c.lower() in lowered]:
            results[name] = (alike[0],)
    return replace(profile, columns={**results, **profile.columns})
