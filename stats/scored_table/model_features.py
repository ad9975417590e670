"""What each model is: declared features (family, generation, size, type), shipped lists of them, and orders by them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from pairbank.errors import BankError, unknown_name
from pairbank.markdown import html_as_text
from pairbank.stats.wording import names

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

ModelType = Literal["base", "instruct"]

SELF = "self"
SEED_VARIANT = "seed variant"
BASE_INSTRUCT = "base/instruct"
SAME_FAMILY = "same family"
OTHER = "other"
UNDECLARED = "undeclared"
MATCH_TYPES = (SELF, SEED_VARIANT, BASE_INSTRUCT, SAME_FAMILY, OTHER, UNDECLARED)
"""From the most to the least similar as published; `undeclared` is ours."""
_LEAP = 2.5
"""A model this many times as big as the one before it begins a new bin of sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFeatures:
    """What is declared about one model.

    >>> ModelFeatures(family="Llama", generation="3.1", size_billions=8, type="base").seed
    0
    """

    family: str
    generation: str
    size_billions: float
    """Nominal number of parameters in billions, as the model's name has it."""
    type: ModelType
    seed: int = 0
    """Of weights or data order, where variants exist; it tells names apart and changes no match type."""
    training_tokens: float | None = None
    """Tokens of the text that it was trained on, such as 15e12; None = not said."""
    step: float | None = None
    """Of a checkpoint: the optimiser's steps so far; None = not said."""
    date: str = ""
    """Of its release, as far as it is said: 2024, 2024-07, 2024-07-23."""

    def __post_init__(self) -> None:
        if self.type not in get_args(ModelType):
            raise BankError(f"{self.family}: type is {self.type!r}; expected one of {', '.join(get_args(ModelType))}")
        if isinstance(self.size_billions, bool) or not isinstance(self.size_billions, int | float):
            raise BankError(f"{self.family}: size_billions is {self.size_billions!r}; expected a number, such as 1.7")
        tokens: Any = self.training_tokens
        if isinstance(tokens, bool) or not (tokens is None or (isinstance(tokens, int | float) and 0 < tokens < 1e18)):
            raise BankError(f"{self.family}: training_tokens is {tokens!r}; expected a number of tokens, such as 15e12")
        step: Any = self.step
        if isinstance(step, bool) or not (step is None or (isinstance(step, int | float) and 0 <= step < 1e15)):
            raise BankError(f"{self.family}: step is {step!r}; expected a number of steps, such as 1000")
        if not re.fullmatch(r"(\d{4}(-\d\d(-\d\d)?)?)?", self.date):
            raise BankError(f"{self.family}: date is {self.date!r}; expected 2024, 2024-07 or 2024-07-23")
        if not 0 < self.size_billions < 1e6:
            raise BankError(
                f"{self.family}: size_billions is {self.size_billions!r}; expected billions of parameters, such as 1.7"
            )


def match_type(direct_model: str, direct: ModelFeatures | None, meta_model: str, meta: ModelFeatures | None) -> str:
    """Return the match type of a pair of models, one of `MATCH_TYPES`.

    Source: Song, Hu & Mahowald 2025, section 2; the authors' analysis.R for the order of the tests.
    """
    if direct_model == meta_model:
        return SELF
    if direct is None or meta is None:
        return UNDECLARED
    if direct.family != meta.family:
        return OTHER
    if (direct.generation, direct.size_billions) != (meta.generation, meta.size_billions):
        return SAME_FAMILY
    return SEED_VARIANT if direct.type == meta.type else BASE_INSTRUCT


def find_features(
    name: str,
    *,
    model_id: str = "",
    corpus: str = "",
    given: Mapping[str, ModelFeatures] | None = None,
    beside: Collection[str] = (),
) -> ModelFeatures | None:
    """Return what is declared about a model, by the user first, then in the shipped lists; None where nothing is."""
    of_corpus = [name for name, entry in papers().items() if corpus in entry["corpora"]][:1]
    for declared in (given or {}, *map(features_in_paper, of_corpus), shipped_features(), _short_names()):
        for key in (name, model_id):
            if key in declared:
                return declared[key]
    return _published(name, beside)


def declared_of(
    tables: Sequence[Any], given: Mapping[str, ModelFeatures], *, beside: Collection[str] = ()
) -> dict[str, ModelFeatures | None]:
    models = beside or {table.model for table in tables}
    features: dict[str, ModelFeatures | None] = {}
    for table in tables:
        if features.get(table.model) is None:
            model_id = str(table.signature.get("model", {}).get("model_id", ""))
            features[table.model] = find_features(
                table.model, model_id=model_id, corpus=table.corpus, given=given, beside=models
            )
    return features


def _published(name: str, beside: Collection[str]) -> ModelFeatures | None:
    """Return the features of a model by the name that papers give it; None where two papers mean two models."""
    n_beside = {
        paper: len(names.keys() & set(beside)) for paper in papers() if name in (names := features_in_paper(paper))
    }
    meant = {paper for paper, n in n_beside.items() if n == max(n_beside.values())}
    results = {features_in_paper(paper)[name] for paper in meant}
    return results.pop() if len(results) == 1 else None


def features_from_entries(entries: Sequence[Mapping[str, Any]]) -> dict[str, ModelFeatures]:
    """Return features by name from tables such as the `[[models]]` of a study file."""
    required, known = {"name", "family", "generation", "size_billions", "type"}, {*ModelFeatures.__slots__, "name"}
    results: dict[str, ModelFeatures] = {}
    for entry in entries:
        if wrong := sorted((entry.keys() - known) | (required - entry.keys())):
            expected = f"{', '.join(sorted(required))}; {', '.join(sorted(known - required))} where they are known"
            raise BankError(f"model {entry.get('name')!r}: unknown or missing {', '.join(wrong)}; expected {expected}")
        name = str(entry["name"])
        if name in results:
            raise BankError(f"model {name!r} is declared twice; declare it once")
        values = {key: value for key, value in entry.items() if key != "name"}
        texts = {key: str(value) for key, value in values.items() if key in ("generation", "date")}
        results[name] = ModelFeatures(**{**values, **texts})
    return results


@cache
def shipped_features() -> Mapping[str, ModelFeatures]:
    """Return the features that pairbank ships, by Hub id (`id@revision` where a revision is meant)."""
    results: dict[str, ModelFeatures] = {}
    for series in _data("models.toml")["series"]:
        seeds, tokens = series.get("seeds", {}), series.get("training_tokens", {})
        for kind in get_args(ModelType):
            for model_id, size in series.get(kind, {}).items():
                results[model_id] = ModelFeatures(
                    family=series["family"],
                    generation=series["generation"],
                    size_billions=size,
                    type=kind,
                    seed=seeds.get(model_id, 0),
                    training_tokens=tokens.get(model_id),
                )
    return MappingProxyType(results)


@cache
def papers() -> dict[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in _data("model_names.toml")["papers"]}


def models_in_paper(paper: str) -> Mapping[str, Any]:
    """Return what ships of a paper's models: `source`, `names` (name -> Hub id), `options` by name, `closed` names."""
    if paper not in papers():
        raise unknown_name("list of models", paper, papers())
    return papers()[paper]


@cache
def features_in_paper(paper: str) -> Mapping[str, ModelFeatures]:
    """Return the features of a paper's models by the names that it gives them: `song-2025` or `hu-frank-2024`."""
    names = models_in_paper(paper)["names"]
    return MappingProxyType({name: shipped_features()[model_id] for name, model_id in names.items()})


@cache
def _short_names() -> Mapping[str, ModelFeatures]:
    """Return the shipped features by the last part of the Hub id, where that is one model's alone."""
    short = {model_id: model_id.rsplit("/", 1)[-1] for model_id in shipped_features()}
    n_of = Counter(short.values())
    return {name: shipped_features()[model_id] for model_id, name in short.items() if n_of[name] == 1}


def _data(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files("pairbank.stats.scored_table") / "data" / name).read_text(encoding="utf-8"))


def by_size(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> list[str]:
    """Return models from small to large, checkpoints by training; those of which nothing is declared stand last."""
    runs = {run: nth for nth, run in enumerate(dict.fromkeys(model.partition("@")[0] for model in models))}

    def place(model: str) -> tuple[float, str, str, str, int, int, list[int]]:
        result, (run, _, checkpoint) = features.get(model), model.partition("@")
        own_place = runs[run], [int(digits) for digits in re.findall(r"\d+", checkpoint)]
        if result is None:
            return (np.inf, "", "", "", 0, *own_place)
        return (result.size_billions, result.family, result.generation, result.type, result.seed, *own_place)

    return sorted(models, key=place)


def from_small_to_large(
    tables: Sequence[Scored], given: Mapping[str, ModelFeatures] | None = None
) -> tuple[list[Scored], str]:
    """Return tables by model, from small to large, and a sentence that says so; empty where no size is declared."""
    features = declared_of(tables, given or {})
    models = by_size(list(features), features)
    corpora = list(dict.fromkeys(table.corpus for table in tables))
    place = {model: nth for nth, model in enumerate(models)}
    ordered = sorted(tables, key=lambda table: (place[table.model], corpora.index(table.corpus)))
    unknown = [model for model in models if features[model] is None]
    if len(models) < 2 or len(unknown) == len(models):
        return ordered, ""
    text = "In tables and figures, models are ordered from small to large, by their declared numbers of parameters"
    return ordered, html_as_text(f"{text}; nothing is declared of {names(unknown)}: last.") if unknown else f"{text}."


def names_by_size(models: Sequence[str], given: Mapping[str, ModelFeatures]) -> list[str]:
    """Return models' names from small to large, where there is no more to find them by.

    >>> names_by_size(["mine", "Llama3.1 405B", "Qwen 1.5B"], {})
    ['Qwen 1.5B', 'Llama3.1 405B', 'mine']
    """
    return by_size(models, {model: find_features(model, given=given, beside=models) for model in models})


def by_family(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> list[str]:
    """Return models by family and, within it, by size; families in the order of their smallest models.

    >>> by_family(["x", "y"], {})
    ['x', 'y']
    """
    ordered = by_size(models, features)
    families = [result.family if (result := features.get(model)) else model for model in ordered]
    first = {family: nth for nth, family in reversed(list(enumerate(families)))}
    return [model for _, model in sorted(zip(families, ordered, strict=True), key=lambda pair: first[pair[0]])]


def size_breaks(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> list[float]:
    """Return after how many models a new bin of sizes begins: where a model is far bigger than the one before it."""
    sizes = [result.size_billions if (result := features.get(model)) else np.nan for model in models]
    return [
        nth + 0.0
        for nth in range(1, len(sizes))
        if sizes[nth] > _LEAP * sizes[nth - 1] or np.isnan(sizes[nth]) != np.isnan(sizes[nth - 1])
    ]


class TunedPair(NamedTuple):
    """The base and the instruction-tuned models of one family, generation and size; several seeds are averaged."""

    family: str
    generation: str
    size_billions: float
    base: tuple[str, ...]
    instruct: tuple[str, ...]


def tuned_pairs(features: Mapping[str, ModelFeatures | None]) -> list[TunedPair]:
    kinds: dict[tuple[str, str, float], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for model, of in features.items():
        if of is not None:
            kinds[of.family, of.generation, of.size_billions][of.type].append(model)
    return [TunedPair(*key, tuple(of["base"]), tuple(of["instruct"])) for key, of in kinds.items() if len(of) > 1]
