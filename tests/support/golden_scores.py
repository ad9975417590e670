"""Golden scores: what every kind of model and family of methods gives, as it was when a version was last raised.

In: the code as it is. Out: numbers, compared with those of `golden_scores.json`. Stored scores are found again under
the numbers of `pairbank.scoring.versions`, so that numbers must not move while the versions stay. To write the file
anew, once the version that `refusals` names is raised:

    python tests/support/golden_scores.py --write
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import pairbank
from golden_models import OPTIONS, golden_model
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.builders.schema.columns import Column, Item, Task
from pairbank.scoring import versions
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS

TOLERANCE_NATS = 2e-4
"""Less than a changed formula moves a number by, more than another processor or thread count does."""
DECIMALS = 6
PATH = Path(__file__).resolve().parent.parent / "scoring" / "golden_scores.json"
WRITE = "python tests/support/golden_scores.py --write"
VERSIONS = ("ENGINE_VERSION", "MODELS_VERSION", "METHODS_VERSION", "HIDDEN_STATES_VERSION")
HIDDEN_STATES, BACKEND = "hidden states", "back end"
N_DIRECTIONS = 3

_CHOICE, _WORD = "hl23_sent_comp_meta_question_simple", "hl23_word_pred_meta_question_simple"
_READ = (_CHOICE, _WORD, "hl23_sent_judge_meta_question_simple", "xcomps_meta_normalised")
_WRITTEN = ("social24_choice_free", "social24_likert_free")
_EVERYTHING = (
    "direct",
    "direct_wb",
    *LINKING_FUNCTIONS,
    "pmi",
    *_READ,
    *_WRITTEN,
    f"{_CHOICE}@2shot",
    f"{_CHOICE}@chat",
    "hl23_word_comp_meta_question_simple",
    "meta_question_simple",
    "grammaticality_judgment_i",
    "social24_choice",
    "social24_likert",
    "xcomps_meta",
)
METHODS: Mapping[str, Sequence[str]] = {
    "llama": _EVERYTHING,
    "gpt2": ("direct", "direct_wb", "pmi", *_READ, "social24_likert", *_WRITTEN),
    "bloom": ("direct", "direct_wb", "pmi", _CHOICE, "social24_choice_free"),
    "bert": ("direct", "mean_logprob", "pmi", *_READ),
    "bert-within-word": ("direct", *_READ),
    "t5": ("direct", "mean_logprob", _CHOICE, _WORD, "social24_likert", "social24_choice_free"),
    "bart": ("direct", "pmi", _CHOICE, _WORD, "social24_likert_free"),
}
"""Of each model: all of one, of the others what their back end does in its own way."""
TEXTS = ("A dog barks.", "The keys to the cabinet are on the table.", "The unbelievable story is believable.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    model: str
    column: str
    was: object
    now: object

    def __str__(self) -> str:
        return f"{self.model}, {self.column}: {self.was} in the file, {self.now} now"


def golden_scores(folder: Path, models: Sequence[str] = tuple(OPTIONS)) -> dict[str, Any]:
    return {name: _of_model(name, folder) for name in models}


def current_versions() -> dict[str, int]:
    return {name: getattr(versions, name) for name in VERSIONS}


def differences(file: Mapping[str, Any], now: Mapping[str, Any]) -> list[Moved]:
    return [
        Moved(model=model, column=column, was=was, now=is_)
        for model in file
        if model in now
        for column in file[model]
        if column in now[model]
        for was, is_ in _pairs(file[model][column], now[model][column])
        if not _same(was, is_)
    ]


def to_raise(moved: Sequence[Moved]) -> list[tuple[tuple[str, ...], list[Moved]]]:
    """Return the versions to raise, as the names of which one is right, and what moved that says so.

    Where `direct` moved, so did what rests on it; what moved alone was made in the methods, or written by the model.
    """
    states = [m for m in moved if m.column == HIDDEN_STATES]
    scores = [m for m in moved if m.column != HIDDEN_STATES]
    direct = [m for m in scores if m.column == BACKEND or m.column.startswith("direct_")]
    below = (("ENGINE_VERSION", "MODELS_VERSION"), direct)
    above = (("METHODS_VERSION", "MODELS_VERSION"), scores)
    result = [below if direct else above, (("HIDDEN_STATES_VERSION",), states)]
    return [(names, shown) for names, shown in result if shown]


def refusals(file: Mapping[str, Any], now: Mapping[str, Any], current: Mapping[str, int]) -> list[str]:
    """Return what is wrong with moved numbers: each version to raise that is still the file's, and what moved."""
    return [
        f"numbers moved and no version was raised: raise {' or '.join(names)} in scoring/versions.py (that of the "
        f"folder you changed), then run `{WRITE}`. {len(moved)} values moved, first: {moved[0]}"
        for names, moved in to_raise(differences(file["numbers"], now))
        if all(current[name] == file["versions"][name] for name in names)
    ]


def read_golden() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return result


def written_golden(numbers: Mapping[str, Any], current: Mapping[str, int]) -> str:
    models = [
        f"  {json.dumps(model)}: {{\n"
        + ",\n".join(f"   {json.dumps(c)}: {json.dumps(values)}" for c, values in columns.items())
        + "\n  }"
        for model, columns in numbers.items()
    ]
    return f'{{\n "versions": {json.dumps(current)},\n "numbers": {{\n' + ",\n".join(models) + "\n }\n}\n"


def items() -> Any:  # noqa: ANN401 - a Dataset
    import datasets

    extra = [
        Column(name=name, type="string", nullable=True, meaning=name)
        for name in ("property", "concept_good", "concept_bad", "target_number")
    ]
    rows = [item.row() for item in _items()]
    return datasets.Dataset.from_list(rows, features=features(extra))


def _items() -> Iterator[Item]:
    for good, bad in (
        ("The keys to the cabinet are here.", "The keys to the cabinet is here."),
        ("A dog barks.", "A dog bark."),
        ("The author said so.", "The author say so."),
        ("The unbelievable story doesn't end.", "The unbelievable story don't end."),
    ):
        yield _item("sentence_pair", good, bad)
    yield _item("sentence_pair", "这本书很有意思。", "这书本很有意思。", language="zh")
    for context, good, bad in (("The dogs", "bark again.", "barks again."), ("I like", "pizza.", "the is.")):
        yield _item("continuation_pair", good, bad, context_good=context, context_bad=context)
    for good, bad in (("eagle", "cow"), ("dog", "story")):
        concepts = {"property": "can fly", "concept_good": good, "concept_bad": bad}
        yield _item(
            "concept_pair", "can fly.", "can fly.", context_good=f"A {good}", context_bad=f"A {bad}", **concepts
        )
    for n, good in (("1", "on the table"), ("2", "in the library")):
        contexts = {"context_good": f"The keys are {good}.", "context_bad": "The keys end the stories."}
        yield _item("context_pair", "She found the keys.", "She found the keys.", target_number=n, **contexts)
    for context, word in (("The keys are on the", "table"), ("Good night and good", "morning")):
        yield _item("word_prediction", word, None, context_good=context)


def _item(task: Task, good: str, bad: str | None, *, language: str = "en", **more: str) -> Item:
    own = {name: more.pop(name, None) for name in ("property", "concept_good", "concept_bad", "target_number")}
    return made_item(
        f"golden/{task}/{more.get('context_good', '')}{good}",
        good,
        bad,
        language=language,
        task=task,
        context_good=more.get("context_good", ""),
        context_bad=None if bad is None else more.get("context_bad", ""),
        extra=own,
    )


def _of_model(name: str, folder: Path) -> dict[str, Any]:
    from pairbank.scoring.models.hidden_states import last_token_states

    path = golden_model(name, folder)
    model = pairbank.load_model(path, device="cpu", dtype="float32", **OPTIONS[name])
    methods = METHODS[name]
    # the texts are in several languages, and the counts are for the items of all
    counts = replace(pairbank.count_unigrams(list(TEXTS), model), languages=()) if "slor" in methods else None
    scored = pairbank.score(items(), model, methods=methods, per_token=True, unigrams=counts)
    columns = [column for facts in scored.signature["methods"].values() for column in facts["columns"]]
    states = last_token_states(TEXTS, model)
    waves = np.cos(np.outer(np.arange(states.n_hidden), 1 + np.arange(N_DIRECTIONS)))
    seen = [states.layer(layer, np.arange(len(TEXTS))) @ waves for layer in range(states.n_layers)]
    return {
        BACKEND: [model.info.backend],
        **{column: [_rounded(value) for value in scored[column][:]] for column in columns},
        HIDDEN_STATES: _rounded([text.tolist() for layer in seen for text in layer]),
    }


def _rounded(value: Any) -> Any:  # noqa: ANN401 - a cell of a table
    if isinstance(value, list):
        return [_rounded(member) for member in value]
    return round(value, DECIMALS) if isinstance(value, float) else value


def _pairs(was: Any, now: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - cells of a table
    """Yield the numbers and texts of two cells that stand in the same place."""
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for one, other in zip(was, now, strict=True):
            yield from _pairs(one, other)
    else:
        yield was, now


def _same(was: object, now: object) -> bool:
    if isinstance(was, float) and isinstance(now, float):
        return bool(np.isclose(was, now, rtol=0, atol=TOLERANCE_NATS, equal_nan=True))
    return was == now


def main() -> int:
    if sys.argv[1:] != ["--write"]:
        print(f"usage: {WRITE}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    current = current_versions()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PAIRBANK_CACHE"] = str(Path(folder) / "cache")
        numbers = golden_scores(Path(folder))
    if PATH.is_file() and (refused := refusals(read_golden(), numbers, current)):
        print("\n".join(refused), file=sys.stderr)  # noqa: T201
        return 1
    PATH.write_text(written_golden(numbers, current), encoding="utf-8")
    print(f"{PATH}: {sum(map(len, numbers.values()))} columns of {len(numbers)} models")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
