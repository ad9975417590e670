"""Golden reports: what each study's report says of four made-up models, as it was when a reviewer last read it.

In: the code as it is. Out: for each report its pages, which a reviewer reads in the diff; names and captions of its
figures; of each CSV table the number of rows and a hash of each column. Items are our own sentences under the names of
the studies' corpora (`golden_items`); models are made up, and know some of what they are asked. To write them anew:

    python tests/support/golden_reports.py --write            # or: … --write hu-levy-2023 audit
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pandas as pd

import golden_items as made
import pairbank
from nulls.participants import sessions
from nulls.reading import joined_times
from nulls.self_prediction import predictions
from pairbank.builders.dataset import carry_manifest
from pairbank.builders.schema.columns import Item
from pairbank.scoring.api.model import Progress, TextInput
from pairbank.scoring.api.requests import STATE, EncodedProbe, EncodedRequest, ProbeRequest, Request
from pairbank.scoring.methods.probe_grammar import text_of
from pairbank.scoring.methods.unigrams import Unigrams
from pairbank.scoring.minimalness import add_edit_distance
from pairbank.scoring.models.fake import BOS, FakeScorer
from pairbank.stats.analyses import neuro
from pairbank.stats.report.page import in_words, pages_of
from pairbank.stats.report.report import Report, alone_report, report
from pairbank.stats.scored_table.model_features import ModelFeatures
from pairbank.stats.scored_table.scored_table import DTYPES, SummaryRow
from pairbank.study.declaration import Study, load_study

ROOT = Path(__file__).resolve().parents[1] / "golden"
WRITE = "python tests/support/golden_reports.py --write"
N_RESAMPLES = 50
DIGITS, NOTHING = 6, 1e-12
"""Significant digits of a hashed number, and what is taken for 0: less than processors and libraries differ by."""
COUNTED = ("bayes_unigram", "slor")
"""Methods that need unigram counts, which are of English alone."""
TABLES, FIGURES = "tables.tsv", "figures.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowing(FakeScorer):
    """A fake model that prefers known sentences, answers by them in part, and likes one place more than the other."""

    family: str = ""
    """Models of one family find the same sentences likely."""
    texts: Mapping[str, int] = field(default_factory=dict)
    """Known sentences: 1 for the better side of an item, -1 for the worse one."""
    skill: float = 1.0
    """Nats by which log P of a better sentence is higher."""
    answers: float = 0.3
    """Nats by which the answer about a better sentence is."""
    place: float = 0.0
    """Nats by which the first option is."""

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        return [
            EncodedProbe(ids=(*tokens.ids, STATE), start=len(tokens.ids), probe=request.probe)
            if isinstance(request, ProbeRequest)
            else tokens
            for request, tokens in zip(requests, FakeScorer.encode(self, requests), strict=True)
        ]

    def text_inputs(self, texts: Sequence[str]) -> list[TextInput]:
        return [TextInput(ids=tuple(map(ord, text)), last=len(text) - 1) for text in texts]

    def last_states(self, inputs: Sequence[TextInput], *, layer: int | None = None) -> npt.NDArray[np.float32]:
        """Return three layers of four numbers, of which one tells better sentences of the second layer."""
        whole = np.array([[self._state(of.ids, nth) for of in inputs] for nth in range(3)], dtype=np.float32)
        return whole if layer is None else whole[[layer]]

    def _state(self, ids: Sequence[int], layer: int) -> list[float]:
        text = "".join(chr(one) for one in ids if one != BOS)
        good = self.texts.get(text, 1 if text in SHIPPED else -1)
        return [
            _share(f"{self.name} {layer} {nth} {text}") + good * self.skill * (layer == 2 == nth) for nth in range(4)
        ]

    def token_logprobs(
        self, requests: Sequence[EncodedRequest], *, progress: Progress
    ) -> list[npt.NDArray[np.float64]]:
        """Return a tenth of what a fake model gives, less at the last token for what this one does not prefer."""
        results = []
        for request, values in zip(requests, FakeScorer.token_logprobs(self, requests, progress=progress), strict=True):
            if isinstance(request, EncodedProbe):
                state = self._state(request.ids[:-1], request.probe.layer)
                results.append(request.probe.log_odds(np.array([state], dtype=np.float32)))
                continue
            text = "".join(chr(one) for one in request.ids if one != BOS)
            start = len(request.ids) - request.start
            lower = np.zeros_like(values)
            lower[-1] = self._against(text[:-start] if start < len(text) else "", text[-start:], text)
            results.append(values / 10 - lower)
        return results

    def _against(self, before: str, option: str, text: str) -> float:
        """Return how many nats an option has less than the one that the model would give."""
        if text in self.texts:
            return 2 * _share(self.family + text) + (self.skill * _share(text) if self.texts[text] < 0 else 0.0)
        option = option.strip().strip(".'")
        if option[:1] not in "12345YNyn" or option == "":
            return 0.0
        asked = before[before.rfind("\n\n") + 1 :]
        result = sorted((asked.index(known), good) for known, good in self.texts.items() if known in asked)
        if option[:1] in "12":
            mine = result[int(option[0]) - 1][1] if len(result) == 2 else 0
            return (self.place if option[0] == "2" else 0.0) + (self.answers if mine < 0 else 0.0)
        if not result:
            return 0.0
        is_yes = option[:1] in "Yy45"
        return self.answers if is_yes != (result[0][1] > 0) else 0.0


def _share(text: str) -> float:
    """Return a number from 0 to 2 that all models share for a sentence."""
    return hashlib.sha256(text.encode()).digest()[0] / 128


SHIPPED = frozenset(text_of(None).sentences)
MODELS: Mapping[str, tuple[dict[str, float], ModelFeatures]] = {
    "north-1b": (
        {"skill": 1.2, "answers": 0.1, "place": 0.6},
        ModelFeatures(family="North", generation="1", size_billions=1, type="base"),
    ),
    "north-3b": (
        {"skill": 2.0, "answers": 0.4, "place": 0.2},
        ModelFeatures(family="North", generation="1", size_billions=3, type="base"),
    ),
    "north-3b-chat": (
        {"skill": 1.8, "answers": 0.9, "place": 0.0},
        ModelFeatures(family="North", generation="1", size_billions=3, type="instruct"),
    ),
    "south-2b": (
        {"skill": 0.4, "answers": 0.0, "place": 2.0},
        ModelFeatures(family="South", generation="2", size_billions=2, type="base"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """What one report is made of."""

    items: Callable[[], Sequence[Sequence[Item]]]
    """Items by corpus."""
    study: str = ""
    """The shipped study whose methods, analyses and texts it has; empty = its own."""
    title: str = ""
    methods: tuple[str, ...] = ("direct", "meta_question_simple", "acceptability_judgment_i")
    analyses: tuple[str, ...] = ()
    models: tuple[str, ...] = tuple(MODELS)
    options: Callable[[Sequence[Sequence[Item]]], dict[str, dict[str, Any]]] = lambda _items: {}
    distances: bool = False
    probed: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the manifest of its corpora states."""
    checkpoints: tuple[int, ...] = ()
    """Steps of training at which each model is scored; none = at its end."""
    table: Callable[[], pd.DataFrame] | None = None
    """What a command writes for its own analysis, in place of items; of a study, its participants' responses."""


THREE, TWO = ("north-1b", "north-3b", "south-2b"), ("north-1b", "south-2b")
LANGUAGES = ("en", "de", "zh", "tr", "hu", "ja", "fr", "ar", "ru")


def _rated(corpus: str, n: int, start: int) -> list[Item]:
    return made.sentences(corpus, n, start=start, rated=True)


def _of_raters(items: Sequence[Sequence[Item]]) -> dict[str, dict[str, Any]]:
    kinds = {"qfrblimp": "choices", "turblimp": "both", "mega-acceptability": "single"}
    tables = [made.ratings(one, kind=kinds[one[0].corpus]) for one in items if one[0].corpus in kinds]
    return {"raters": {"ratings": tables, "mean_ratings": ("li",)}}


GOLDEN: Mapping[str, Golden] = {
    "acceptability": Golden(
        study="acceptability",
        items=lambda: [
            made.single_sentences("cola", 60, start=2, label=True),
            made.single_sentences("mega-acceptability", 30, start=5, label=False),
        ],
        options=_of_raters,
        models=THREE,
    ),
    "atlas": Golden(
        study="atlas",
        items=lambda: [
            made.sentences("blimp", 16),
            made.foreign("zhoblimp", "zh", 12),
            made.foreign("turblimp", "tr", 12),
            made.foreign("jblimp", "ja", 12),
            [*made.foreign("clams", "de", 10), *made.foreign("clams", "fr", 10)],
        ],
    ),
    "demo": Golden(
        study="demo",
        items=lambda: [
            [
                *made.sentences("starter", 20, subsets=["minimal-pairs"]),
                *made.foreign("starter", "de", 6),
                *made.continuations("starter", 8),
            ]
        ],
    ),
    "demo-full": Golden(study="demo-full", items=lambda: [made.sentences("starter", 30)], models=("north-1b",)),
    "direct-vs-prompted": Golden(
        study="direct-vs-prompted", items=lambda: [made.sentences("blimp", 40), _rated("li", 24, 1)]
    ),
    "ewok-plausibility": Golden(
        study="ewok-plausibility", items=lambda: [made.contexts("ewok", 16, rated=False)], models=TWO
    ),
    "grammaticality": Golden(
        study="grammaticality",
        items=lambda: [
            made.sentences("blimp", 40),
            made.single_sentences("cola", 40, start=2, label=True),
            _rated("li", 40, 1),
            made.foreign("zhoblimp", "zh", 20),
        ],
        options=lambda _items: {"grammaticality": {"filtered": ("li",)}, "people": {"filtered": ("li",)}},
        distances=True,
        models=THREE,
    ),
    "hu-levy-2023": Golden(
        study="hu-levy-2023",
        items=lambda: [
            made.words("p18", 16, start=0),
            made.words("news-2023", 12, start=100),
            made.continuations("dtfit", 16),
            made.sentences("syntaxgym", 16, start=1),
            made.sentences("hu-levy-blimp", 16, start=2),
        ],
        models=THREE,
    ),
    "hu-levy-2023-mandarin": Golden(
        study="hu-levy-2023-mandarin",
        items=lambda: [made.foreign("zhoblimp", "zh", 16), made.foreign("sling", "zh", 12)],
        models=THREE,
    ),
    "introspection": Golden(
        study="introspection", items=lambda: [[*made.sentences("blimp-li", 48, subsets=["blimp", "li"])]]
    ),
    "introspection-as-published": Golden(
        study="introspection-as-published",
        items=lambda: [[*made.sentences("blimp-li", 24, subsets=["blimp", "li"])]],
        models=THREE,
    ),
    "introspection-2": Golden(
        study="introspection-2",
        items=lambda: [
            made.continuations(name, 14, start=10 * n)
            for n, name in enumerate(("wikipedia", "news-2024", "nonsense", "randomseq"))
        ],
    ),
    "ivanova-2024": Golden(
        study="ivanova-2024",
        items=lambda: [made.contexts("social-relations", 20, rated=True)],
        models=("north-1b", "north-3b-chat", "south-2b"),
    ),
    "syntaxgym": Golden(study="syntaxgym", items=lambda: [made.suites("syntaxgym-suites")], models=THREE),
    "xcomps": Golden(
        study="xcomps",
        items=lambda: [made.concepts("xcomps", LANGUAGES[1:], 8), made.concepts("comps", ("en",), 12)],
        models=THREE,
        probed=True,
    ),
    "associations": Golden(
        title="What goes with what?",
        items=lambda: [_rated("rated", 40, 0), made.sentences("blimp", 30, start=2)],
        analyses=("associations", "mixed"),
    ),
    "audit": Golden(
        title="Common artefacts in these tables",
        items=lambda: [_rated("rated", 40, 0)],
        methods=("direct", "mean_logprob", "meta_question_simple", "social24_likert", "better_sentence"),
        analyses=("audit", "multiverse", "self_agreement"),
        models=THREE,
    ),
    "comparisons": Golden(
        title="Which models differ?",
        items=lambda: [made.sentences("blimp", 60), _rated("li", 24, 1)],
        analyses=("comparisons", "paradigms"),
    ),
    "design": Golden(
        title="Is there an interaction?",
        items=lambda: [made.island_sentences("islands", n_sets=8)],
        facts={
            "design": {
                "factors": [
                    {"column": "structure", "levels": ["non-island", "island"]},
                    {"column": "distance", "levels": ["short", "long"]},
                ],
                "item_set": "item",
                "by": ["dependency"],
                "fillers": {},
                "contrasts": [],
            }
        },
        methods=("direct", "social24_likert"),
        analyses=("design",),
        options=lambda items: {"design": {"ratings": [made.ratings(items[0], kind="single")]}},
        models=TWO,
    ),
    "context": Golden(
        title="Does context change ratings?",
        items=lambda: [made.rated_contexts("rated-context", 24)],
        methods=("direct", "mean_logprob"),
        analyses=("context",),
        models=TWO,
    ),
    "reading": Golden(
        items=list, analyses=("reading",), table=lambda: joined_times(seed=4, effect=1.0, n_readers=6, models=2)
    ),
    "participants": Golden(
        items=list,
        analyses=("participants",),
        table=lambda: sessions({"north-3b": 0.3, "north-3b-chat": 0.1, "south-2b": -0.2}),
    ),
    "self-prediction": Golden(
        items=list,
        analyses=("self_prediction",),
        table=lambda: predictions((10,) * 12, 4, np.random.default_rng(0)).drop(columns="right"),
    ),
    "items": Golden(
        title="Items",
        analyses=("items",),
        methods=("direct",),
        items=lambda: [made.sentences("blimp", 60)],
        models=TWO,
        checkpoints=(50, 200, 500, 1000, 2000, 4000, 8000),
    ),
    "prediction": Golden(
        title="How well are words predicted?",
        items=lambda: [made.words("p18", 24, start=0)],
        methods=("direct", "hl23_word_pred_meta_question_simple"),
        analyses=("prediction",),
        models=TWO,
    ),
    "raters": Golden(
        title="Is a model as good as one more person?",
        items=lambda: [
            made.sentences("qfrblimp", 30),
            _rated("turblimp", 30, 1),
            made.single_sentences("mega-acceptability", 30, start=2, label=False),
            _rated("li", 30, 2),
        ],
        methods=("direct", "mean_logprob"),
        analyses=("raters",),
        options=_of_raters,
        models=THREE,
    ),
    "three-measurements": Golden(
        study="three-measurements",
        items=lambda: [
            made.sentences("blimp", 40),
            _rated("li", 24, 1),
            made.single_sentences("lau-2020-context", 30, start=2, label=False),
            made.foreign("zhoblimp", "zh", 12),
        ],
        models=("north-3b", "north-3b-chat"),
        table=lambda: sessions({"north-3b": 0.3, "north-3b-chat": 0.1}),
    ),
    "trajectories": Golden(
        title="When is what learnt?",
        items=lambda: [made.sentences("blimp", 140, step=2)],
        methods=("direct",),
        analyses=("trajectories",),
        models=("north-1b", "north-3b"),
        checkpoints=(0, 1000, 2000, 4000),
    ),
}
"""Report -> what it is made of: every shipped study, and the analyses that none of them has."""


def golden_report(name: str) -> Report:
    what = GOLDEN[name]
    if what.table and not what.study:
        declared = {model: features for model, (_, features) in MODELS.items()}
        return alone_report(what.table(), what.analyses[0], name="stories", features=declared)
    study = load_study(what.study) if what.study else None
    corpora = what.items()
    scored = [table for one in corpora for table in _scored(one, what, study)]
    options = {**(study.options if study else {}), **what.options(corpora)}
    probed = [_probed(model, corpora[0]) for model in what.models] if what.probed else []
    return report(
        scored,
        title=study.title if study else what.title,
        description=study.description if study else "",
        n_resamples=N_RESAMPLES,
        notes=study.notes if study else (),
        analyses=study.analyses if study else what.analyses,
        options=options,
        features={name: features for name, (_, features) in MODELS.items()},
        probed=probed,
        responses={str(model): rows for model, rows in what.table().groupby("model")} if what.table else None,
    )


def _scored(items: Sequence[Item], what: Golden, study: Study | None) -> Iterator[pairbank.Scored]:
    table = made.dataset(items)
    if what.facts:
        carry_manifest(table, {"facts": what.facts})
    if what.distances:
        table = _with_distances(table)
    methods = study.methods if study else what.methods
    if {item.language for item in items} != {"en"}:
        methods = tuple(name for name in methods if name not in COUNTED)
    texts = dict(_known(items))
    for model in what.models:
        facts = MODELS[model][0]
        for step in what.checkpoints or (0,):
            name = f"{model}@step-{step}" if what.checkpoints else model
            gained = 1 - math.exp(-step / 1500) if what.checkpoints else 1.0
            scorer = Knowing(
                name=name,
                family=MODELS[model][1].family,
                texts=texts,
                skill=facts["skill"] * gained,
                answers=facts["answers"],
                place=facts["place"],
            )
            counts = _unigrams(methods, table, scorer)
            yield pairbank.score(table, scorer, methods=methods, unigrams=counts)


def _unigrams(methods: Sequence[str], table: datasets.Dataset, scorer: FakeScorer) -> Unigrams | None:
    return pairbank.count_unigrams(list(table["target_good"]), scorer) if set(methods) & set(COUNTED) else None


def _known(items: Sequence[Item]) -> Iterator[tuple[str, int]]:
    """Yield the sentences of items, with and without a space between context and target."""
    for item in items:
        sides = ((item.context_good, item.target_good, 1), (item.context_bad or "", item.target_bad, -1))
        for context, target, good in sides:
            if target is not None:
                for gap in {" " if context else "", ""}:
                    yield f"{context}{gap}{target}", good


def _with_distances(table: datasets.Dataset) -> datasets.Dataset:
    measured: datasets.Dataset = add_edit_distance(table)
    sides = zip(table["target_good"], table["target_bad"], strict=True)
    far = [None if bad is None else _share(good + bad) / 4 for good, bad in sides]
    return measured.add_column("cosine_distance", far)


def _probed(model: str, items: Sequence[Item]) -> neuro.Probed:
    """Return made-up scores of probes: an embedding and three layers, by language."""
    rng = np.random.default_rng([*model.encode()])
    place = SummaryRow(model=model, corpus=items[0].corpus, group_by="language", group="", method="neuro")
    layers: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    for language in dict.fromkeys(item.language for item in items):
        here, n = replace(place, group=language), sum(item.language == language for item in items)
        real, control = ({metric: rng.normal(mean, 0.05, (4, 5)) for metric in neuro.METRICS} for mean in (0.65, 0.5))
        scores = neuro.ProbeScores(real=real, control=control)
        layers += neuro.layer_rows(scores, here, n_layers=4, n_pairs=n)
        groups += neuro.summary_rows(scores, here, n_pairs=n, n_rows=n)
    by_group = pd.DataFrame(groups, columns=list(DTYPES)).astype(DTYPES)
    means = pd.DataFrame(neuro.mean_rows(by_group, place), columns=list(DTYPES)).astype(DTYPES)
    return neuro.Probed(
        layers=pd.DataFrame(layers, columns=list(neuro.LAYER_DTYPES)).astype(neuro.LAYER_DTYPES),
        summary=pd.concat([means, by_group], ignore_index=True),
        signature={},
    )


def texts_of(report_: Report) -> dict[str, str]:
    pages = {name: text.replace(f"v:{version('pairbank')}", "v:VERSION") for name, text in pages_of(report_).items()}
    figures = "".join(f"## {one.name}\n\n{in_words(one.caption, report_.labels)}\n\n" for one in report_.figures)
    return pages | {FIGURES: figures, TABLES: _tables(report_)}


def _tables(report_: Report) -> str:
    lines = ["table\tcolumn\trows\thash"]
    for name, table in sorted(report_.csv_tables.items()):
        lines += (f"{name}\t{column}\t{len(table)}\t{hash_of(table[column])}" for column in table.columns)
    return "\n".join(lines) + "\n"


def hash_of(column: pd.Series[Any]) -> str:
    """Return a hash of the cells of a column, of numbers the first digits."""
    cells = [_cell(value) for value in column.to_list()]
    return hashlib.sha256(json.dumps(cells, ensure_ascii=False).encode()).hexdigest()[:10]


def _cell(value: Any) -> str:  # noqa: ANN401 - a cell of a table
    """Return a cell as text; of numbers the first digits, in which all machines agree."""
    if pd.isna(value):
        return ""
    if isinstance(value, float):
        return "0" if abs(value) < NOTHING else f"{value:.{DIGITS}g}"
    return str(value)


def stored(name: str) -> dict[str, str]:
    root = ROOT / name
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*") if path.is_file()}


def write(name: str) -> None:
    texts = texts_of(golden_report(name))
    for stale in set(stored(name)) - set(texts):
        (ROOT / name / stale).unlink()
    for file, text in texts.items():
        path = ROOT / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def main() -> int:
    names = sys.argv[2:] or [*GOLDEN]
    if sys.argv[1:2] != ["--write"] or not set(names) <= set(GOLDEN):
        print(f"usage: {WRITE} [{'|'.join(GOLDEN)} …]", file=sys.stderr)  # noqa: T201 - a command
        return 2
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PAIRBANK_CACHE"] = folder
        for name in names:
            write(name)
            print(name)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
