"""How to read a file of scores computed elsewhere: in, a TOML profile or a column map; out, `ImportProfile`.

A name of ours (a schema column, `model`, `direct_good`, `direct_bad`, or `prompt:presentation:option`) maps to the
file's column, or to several, of which the first non-empty cell counts. A long file, one number a row, has `value`
and `score`: the column or columns whose cells, joined by ":", say which number it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.tabular import MAPPABLE, SYNONYMS
from pairbank.builders.schema.columns import TASKS, Task
from pairbank.builders.sources.references import references
from pairbank.errors import PairbankError, unknown_name
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.prompts.toml import parse_prompts

DIRECT_SCORES = (ScoreColumns(DIRECT).good, ScoreColumns(DIRECT).bad)
ITEM_NAMES = ("item_id", *MAPPABLE)
LONG_NAMES = ("score", "value")


class ScoreImportError(PairbankError, ValueError):
    """A file of scores, or the description of one, that cannot be accepted, with row and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProfile:
    """What a file of scores holds, and what its source is."""

    corpus: str = ""
    """Name of the corpus; "" = the file's name."""
    title: str = ""
    description: str = ""
    paper: str = ""
    """Where the numbers were published."""
    cites: tuple[str, ...] = ()
    """Keys of that work, and of others to cite with the numbers, in `builders/data/references.bib`."""
    homepage: str = ""
    licence: str = "unknown"
    licence_note: str = ""
    citation: str = ""
    language: str = "en"
    task: Task = "sentence_pair"
    model: str = ""
    """The model of all rows, where no column says it."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prompts: tuple[Prompt, ...] = ()
    """Prompts that the registry does not have (in TOML: the name of a file in the registry's format)."""

    @property
    def methods(self) -> dict[str, Method]:
        """All methods that a score may belong to, by name; the profile's own prompts go first."""
        known = (*prompts().values(), *self.prompts)
        return {DIRECT: Direct()} | {p.id: Prompted(p) for p in known if p.readout == "options"}


def profile_names() -> list[str]:
    """Return the profiles that ship with pairbank."""
    folder = resources.files("pairbank.scoring.importing") / "profiles"
    names = (f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    return sorted(name for name in names if not name.endswith("-prompts"))


def load_profile(name: str) -> ImportProfile:
    """Return a profile: a shipped one by name, or a TOML file by path.

    Raises:
        UnknownNameError: no such profile.
        ScoreImportError: a file that breaks the rules.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ScoreImportError(f"no profile {path}; shipped ones are {', '.join(profile_names())}")
    else:
        if name not in profile_names():
            raise unknown_name("profile", name, profile_names())
        path = Path(str(resources.files("pairbank.scoring.importing") / "profiles" / f"{name}.toml"))
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScoreImportError(f"{path}: not TOML ({error})") from error
    return _profile(table, path)


def _profile(table: Mapping[str, Any], path: Path) -> ImportProfile:
    known = {f.name for f in fields(ImportProfile)}
    if extra := sorted(table.keys() - known):
        raise ScoreImportError(f"{path}: unknown key(s) {extra}; known: {', '.join(sorted(known))}")
    texts = {key: value for key, value in table.items() if key not in ("columns", "prompts", "cites")}
    if bad := [key for key, value in texts.items() if not isinstance(value, str)]:
        raise ScoreImportError(f"{path}: {bad[0]} is {texts[bad[0]]!r}, expected a text")
    if table.get("task", "sentence_pair") not in TASKS:
        raise ScoreImportError(f"{path}: task is {table['task']!r}, expected one of {', '.join(TASKS)}")
    cites = table.get("cites", [])
    if not isinstance(cites, list) or not references().keys() >= set(map(str, cites)):
        raise ScoreImportError(f"{path}: cites is {cites!r}; expected a list of keys of {', '.join(references())}")
    own: tuple[Prompt, ...] = ()
    if file := table.get("prompts"):
        beside = path.parent / str(file)
        if not beside.is_file():
            raise ScoreImportError(f"{path}: no file {beside} of prompts")
        own = tuple(parse_prompts(beside.read_text(encoding="utf-8"), beside))
    profile = ImportProfile(**texts, cites=tuple(cites), prompts=own)
    return with_columns_mapped(profile, table.get("columns", {}), where=str(path))


def with_columns_mapped(
    profile: ImportProfile, columns: Mapping[str, str | Sequence[str]], *, where: str
) -> ImportProfile:
    """Return the profile with more columns mapped; they take the place of those that it has.

    Raises:
        ScoreImportError: a name that means nothing, or a column that is not a text.
    """
    more: dict[str, tuple[str, ...]] = {}
    for name, column in columns.items():
        check_name(profile, name, where)
        more[name] = (column,) if isinstance(column, str) else tuple(column)
        if not more[name] or not all(isinstance(part, str) for part in more[name]):
            raise ScoreImportError(f"{where}: column of {name} is {column!r}, expected a name or a list of names")
    return replace(profile, columns={**profile.columns, **more})


def check_name(profile: ImportProfile, name: str, where: str) -> None:
    """Raise unless a name is a schema column, `model`, a score of `direct` or of a prompt, or of a long file."""
    plain = (*ITEM_NAMES, "model", *DIRECT_SCORES, *LONG_NAMES)
    method = profile.methods.get(name.split(":", maxsplit=1)[0]) if ":" in name else None
    scores = score_names(method) if method else ()
    if name not in plain and name not in scores:
        prompted = [f"{m}:…" for m in profile.methods if m != DIRECT]
        raise ScoreImportError(f"{where}: {unknown_name('name', name, scores or [*plain, *prompted])}")


def score_names(method: Method) -> tuple[str, ...]:
    """Return the names of a method's numbers: `direct_good`, or `prompt:presentation:option`, row-major."""
    if isinstance(method, Prompted):
        prompt = method.prompt
        return tuple(f"{prompt.id}:{p.name}:{option}" for p in prompt.presentations for option in prompt.option_labels)
    return DIRECT_SCORES


def completed(profile: ImportProfile, header: Iterable[str]) -> ImportProfile:
    """Return the profile with every free column mapped whose name in the file is ours or a common synonym."""
    names = set(header) - {column for found in profile.columns.values() for column in found}
    lowered = {name.lower(): name for name in sorted(names)}
    scores = [name for method in profile.methods.values() for name in score_names(method)]
    found = {name: (name,) for name in ("model", *scores, *LONG_NAMES) if name in names}
    for name in ITEM_NAMES:
        if alike := [lowered[c.lower()] for c in (name, *SYNONYMS.get(name, ())) if c.lower() in lowered]:
            found[name] = (alike[0],)
    return replace(profile, columns={**found, **profile.columns})
