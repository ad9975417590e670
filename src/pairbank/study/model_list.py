"""Lists of models: a TOML file with a `[[models]]` table for each: what is loaded and how, what is declared of it."""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast, get_type_hints
from urllib.parse import urlsplit

from pydantic import create_model

from pairbank.declarations import STRICT, record_of
from pairbank.errors import ModelLoadError, StudyError, UnknownNameError
from pairbank.files import reading
from pairbank.scoring.api.model import slug
from pairbank.scoring.models.checkpoints import DEMO, DEMO_NAME
from pairbank.scoring.models.options import (
    ADDRESS,
    BACKEND_NAME,
    DEFAULTS,
    RANDOM,
    TRAINED,
    LoadOptions,
    completed,
    name_at,
    name_of_weights,
    random_seed,
    reference_of,
    with_reference,
)
from pairbank.scoring.models.placement import Quantisation
from pairbank.stats.scored_table.model_features import (
    ModelFeatures,
    features_from_entries,
    features_in_paper,
    models_in_paper,
    papers,
)

_FEATURES = tuple(f.name for f in fields(ModelFeatures))
SCOPE = ("corpora", "languages")
"""Keys of a list that say what a model is scored on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedList:
    name: str
    source: str
    """Where the paper says which they are."""
    choices: list[ModelChoice]
    closed: tuple[str, ...]
    """Models of the paper that nobody can download."""

    def toml(self) -> str:
        head = [f"# {self.source}.", "# Made by `pairbank models`; see docs/models.md."]
        if self.closed:
            head.append(f"# Not among them, for they cannot be downloaded: {', '.join(self.closed)}.")
        return "\n".join([*head, *(line for choice in self.choices for line in _lines(choice))]) + "\n"


def shipped_list(name: str) -> ShippedList:
    facts = models_in_paper(name)
    features, options = features_in_paper(name), facts["options"]
    languages: Mapping[str, list[str]] = facts.get("languages", {})
    choices = []
    for shown, model_id in facts["names"].items():
        choice = choice_of(model_id, cast("LoadOptions", {"name": shown, **options.get(shown, {})}))
        choices.append(replace(choice, features=features[shown], languages=tuple(languages.get(shown, ()))))
    return ShippedList(name=name, source=facts["source"], choices=choices, closed=tuple(facts["closed"]))


def list_rows() -> list[dict[str, str]]:
    rows = []
    for name in papers():
        models = shipped_list(name)
        families = sorted({choice.features.family for choice in models.choices if choice.features})
        rows.append(
            {"list": name, "models": str(len(models.choices)), "families": ", ".join(families), "source": models.source}
        )
    return rows


def _lines(choice: ModelChoice) -> Iterator[str]:
    yield "\n[[models]]"
    yield f"id = {json.dumps(choice.id)}"
    for option, value in choice.options.items():
        yield f"{option} = {_value(value)}"
    for key in SCOPE:
        if values := getattr(choice, key):
            yield f"{key} = {_value(list(values))}"
    for feature in fields(ModelFeatures) if choice.features else ():
        value = getattr(choice.features, feature.name)
        if value != feature.default:
            yield f"{feature.name} = {_value(value)}"


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int | list) else repr(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    id: str
    """`demo`, a folder, a GGUF file, a Hub id, a server's address, or what a back end loads, `BACKEND:rest`."""
    options: LoadOptions = field(default_factory=LoadOptions)
    """What `load_model` is given, where it is not as usual."""
    features: ModelFeatures | None = None
    """What is declared about it."""
    corpora: tuple[str, ...] = ()
    """The corpora that it is scored on; none = those of its languages."""
    languages: tuple[str, ...] = ()
    """The languages that it is scored on (`zh` covers `zh-Hant`): corpora with items of others are left out; none =
    all."""

    def is_for(self, corpus: str, languages: Iterable[str]) -> bool:
        """Return whether it is scored on a corpus whose items are in some languages."""
        if self.corpora and corpus not in self.corpora:
            return False
        return not self.languages or all(
            any(tag == own_tag or tag.startswith(f"{own_tag}-") for own_tag in self.languages) for tag in languages
        )

    @property
    def reference(self) -> str:
        """What loads it, with its revision: `ID@REVISION`."""
        revision = self.options.get("revision")
        named = self.id if revision is None else f"{self.id}@{revision}"
        return named if random_seed(self.options.get("weights", TRAINED)) is None else f"{RANDOM}:{named}"

    @property
    def name(self) -> str:
        """What it will be called in tables, as far as that is known before it is loaded."""
        if provided := self.options.get("name"):
            return provided
        if ADDRESS.match(self.id):
            return name_at(self._served, self.options.get("revision"))
        if backend := BACKEND_NAME.fullmatch(self.id):
            return backend["rest"] or backend["name"]
        path = Path(self.id).expanduser()
        if self.id == DEMO:
            name = DEMO_NAME
        elif path.is_dir():
            name = path.resolve().name
        elif path.suffix == ".gguf" and path.is_file():
            name = path.stem
        else:
            name = name_at(self.id.rsplit("/", 1)[-1], self.options.get("revision"))
        return name_of_weights(name, self.options.get("weights", TRAINED))

    @property
    def _served(self) -> str:
        """The model's name at its server; the server's own where that is to say which."""
        if served := self.options.get("served_model"):
            return served.rstrip("/").rsplit("/", 1)[-1]
        return urlsplit(self.id).netloc.rpartition("@")[2]

    def problem(self) -> str | None:
        """Return why it cannot be loaded, as far as that can be seen from its name; None = nothing is seen."""
        is_path = self.id.startswith((".", "/", "~")) or self.id.count("/") > 1 or self.id.endswith(".gguf")
        is_named = BACKEND_NAME.fullmatch(self.id) or ADDRESS.match(self.id)
        if not is_named and is_path and not Path(self.id).expanduser().exists():
            return f"no folder {self.id}; expected 'demo', a folder with a model, a .gguf file, or a Hub id 'org/name'"
        try:
            completed(self.options)
        except ModelLoadError as error:
            return str(error)
        return None


def choice_of(model: str, options: LoadOptions | None = None) -> ModelChoice:
    reference = reference_of(model)
    return ModelChoice(id=reference.id, options=with_reference(options or {}, reference))


def with_defaults(choice: ModelChoice, options: LoadOptions) -> ModelChoice:
    return replace(choice, options=cast("LoadOptions", {**options, **choice.options}))


def load_list(name: str) -> list[ModelChoice]:
    if not name.endswith(".toml"):
        return shipped_list(name).choices
    path = Path(name)
    if not path.is_file():
        raise StudyError(f"no file {path}; expected a TOML file with [[models]], or a list of `pairbank models`")
    with reading(path, StudyError, saying="not TOML", remedy="write it as docs/models.md shows"):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    if extra := sorted(table.keys() - {"models"}):
        raise StudyError(f"{path.name}: unknown key(s) {', '.join(extra)}; expected [[models]] alone")
    models = table.get("models")
    if not isinstance(models, list) or not models or not all(isinstance(model, dict) for model in models):
        raise StudyError(f"{path.name}: no [[models]]; expected at least one, each with an id")
    if without_id := [model for model in models if "id" not in model]:
        name = without_id[0].get("name")
        raise StudyError(f"{path.name}: model {name!r} has no id; expected id = a folder or a Hub id")
    return choices_of(models, where=path.name)


def listed(names: Iterable[str] | None) -> list[ModelChoice]:
    return [choice for name in names or () for choice in load_list(name)]


def choices_of(models: Sequence[Mapping[str, Any]], *, where: str) -> list[ModelChoice]:
    """Return the models of `[[models]]` that say what to load: those with an `id`."""
    choices = [
        _choice(model, where=f"{where}, model {model.get('name', model['id'])!r}") for model in models if "id" in model
    ]
    with reading(where, StudyError, saying="the id of a model cannot be looked up", remedy="correct it"):
        names = [choice.name for choice in choices]
    refuse_twins(names, where=where)
    return choices


def declared_features(models: Sequence[Mapping[str, Any]]) -> dict[str, ModelFeatures]:
    """Return what `[[models]]` declare about models that they do not load: by name, of those without an `id`."""
    return features_from_entries([model for model in models if "id" not in model])


def all_features(models: Sequence[Mapping[str, Any]], choices: Iterable[ModelChoice]) -> dict[str, ModelFeatures]:
    """Return what is declared of models, by name: by `[[models]]` of a study, and by choices, which come first."""
    loaded = [*choices_of(models, where="the study"), *choices]
    return declared_features(models) | {choice.name: choice.features for choice in loaded if choice.features}


def refuse_twins(names: Iterable[str], *, where: str) -> None:
    """Refuse two models of one name: tables and files are kept by it."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.get(slug(name))) is not None:
            both = repr(name) if other == name else f"{other!r} and {name!r} (in file names {slug(name)!r})"
            raise StudyError(
                f'{where}: two models would be called {both}; give one of them another: name = "…" in a list'
            )
        seen[slug(name)] = name


def _choice(model: Mapping[str, Any], *, where: str) -> ModelChoice:
    from pairbank.builders.schema.language_tags import language_tag

    hints = {name: hint for name, hint in get_type_hints(LoadOptions).items() if name in DEFAULTS}
    feature_hints = get_type_hints(ModelFeatures) | {"generation": str | int | float, "date": str | dt.date | int}
    if not ADDRESS.match(str(model["id"])):  # what is done here; a server's model may be quantised in other ways
        hints["quantisation"] = Quantisation | None
    kinds = {"id": str, "backend": str, **dict.fromkeys(SCOPE, tuple[str, ...]), **hints, **feature_hints}
    keys: dict[str, Any] = {name: (hint, None) for name, hint in kinds.items()}
    record = record_of(create_model("Model", __config__=STRICT, **keys), model, where=where, error=StudyError)
    values = {name: getattr(record, name) for name in record.model_fields_set}
    options = cast("LoadOptions", {name: values[name] for name in hints if name in values})
    provided = {name: values[name] for name in _FEATURES if name in values}
    features = features_from_entries([{"name": where, **provided}])[where] if provided else None
    named = f"{values['backend']}:{values['id']}" if "backend" in values else values["id"]
    try:
        languages = tuple(language_tag(tag) for tag in values.get("languages", ()))
        corpora = tuple(values.get("corpora", ()))
        return replace(choice_of(named, options), features=features, corpora=corpora, languages=languages)
    except UnknownNameError as error:
        raise StudyError(f"{where}: languages: {error}") from error
    except ModelLoadError as error:
        raise StudyError(f"{where}: {error}") from error
