"""`probe_grammar`: what a linear probe of perturbed text says of a sentence. Wang, Qiu, Wu, Levy & Kim 2026.

Of each side of an item it is the log-odds, in nats, that it is as it was, read from the hidden state of its last token
at one layer; no item's own label is used. The layer is chosen on the training text alone: the greatest area under the
ROC curve over five folds of sentences with their perturbations (layer 0, the embedding, is never chosen).
`probe_grammar_null` has the labels of each sentence and its perturbations exchanged by a fair coin.

A perturbation leaves the final mark where it is. Every choice is by a hash of the sentence, so that it does not depend
on the other sentences or on a version of a random generator. Text without spaces is perturbed by characters.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import ScoringError
from pairbank.files import cache_dir, reading, replaced_atomically, sha256_of_text
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import PROBE_GRAMMAR_NULL
from pairbank.scoring.api.requests import LinearProbe, ProbeRequest, Request
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.models.hidden_states import last_token_states
from pairbank.scoring.probes import fitted, mean_area, out_of_fold
from pairbank.scoring.versions import HIDDEN_STATES_VERSION

logger = logging.getLogger(__name__)
N_FOLDS = 5
PENALTY_C = 0.01
"""Of the regression. On the shipped text and the demo model, 0.0001 to 1 were tried at eight layers: 0.01 told the
sentences of other folds best."""
LEAST_SENTENCES = 20
FINAL_MARKS = ".!?…؟۔।。！？"
STEM, MOST_ENDING = 4, 2
"""Two words are forms of one another if they share at least so many first letters, and differ in at most so many last
ones; or if one is the other and an s."""
FORMS = ("is are", "was were", "has have", "does do", "this these", "that those", "a some", "himself themselves")
"""English forms that the rule for `agreement` does not find."""
Words = list[str]


class TrainingText(NamedTuple):
    """Different sentences, in order; by language, where it is known."""

    parts: tuple[tuple[str, ...], ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(itertools.chain.from_iterable(self.parts))

    @property
    def sha256(self) -> str:
        return sha256_of_text(*map(sha256_of_text, self.sentences))


def text_of(path: str | Path | None) -> TrainingText:
    """Return the sentences of a file, one a line; of None those that are shipped."""
    if path is None:
        table = tomllib.loads((resources.files(__package__) / "probe_grammar.toml").read_text(encoding="utf-8"))
        return TrainingText(parts=tuple(map(_lines, table["sentences"].values())))
    with reading(Path(path), ScoringError, saying="cannot be read", remedy="give UTF-8 text, a sentence a line"):
        sentences = _lines(Path(path).read_text(encoding="utf-8"))
    if len(sentences) < LEAST_SENTENCES:
        raise ScoringError(
            f"{path}: {len(sentences)} different sentences; a probe needs at least {LEAST_SENTENCES}, a sentence a line"
        )
    return TrainingText(parts=(sentences,))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip(FINAL_MARKS + " ")))


def _draw(text: str, *what: object) -> int:
    """Return a number by which things of a text are put in random order."""
    return int.from_bytes(hashlib.sha256(json.dumps([text, *map(str, what)]).encode()).digest()[:8])


def _word_order(words: Words, text: str, _forms: Mapping[str, list[str]]) -> Words:
    """Shuffle up to five neighbouring words (Wang et al. 2026)."""
    start = _draw(text, "window") % max(1, len(words) - 4)
    window = words[start : start + 5]
    order = sorted(range(len(window)), key=lambda place: _draw(text, "order", place))
    return [*words[:start], *(window[place] for place in order), *words[start + 5 :]]


def _deletion(words: Words, text: str, _forms: Mapping[str, list[str]]) -> Words:
    """Leave out one word, or up to a third of them (Wang et al. 2026: one to five)."""
    n_left_out = 1 + _draw(text, "how many") % max(1, len(words) // 3)
    gone = sorted(range(len(words)), key=lambda place: _draw(text, "gone", place))[:n_left_out]
    return [word for place, word in enumerate(words) if place not in gone]


def _repetition(words: Words, text: str, _forms: Mapping[str, list[str]]) -> Words:
    """Say a word, or two, a second time; at once or later in the sentence."""
    start, n_said = _draw(text, "start") % len(words), 1 + _draw(text, "length") % 2
    place = start + n_said + _draw(text, "place") % max(1, len(words) - start - n_said + 1)
    return [*words[:place], *words[start : start + n_said], *words[place:]]


def _agreement(words: Words, text: str, forms: Mapping[str, list[str]]) -> Words:
    """Exchange a word for another form of it that stands somewhere in the text."""
    places = sorted(
        (p for p, word in enumerate(words) if forms.get(word)), key=lambda place: _draw(text, "form", place)
    )
    for place in places[:1]:
        other = min(forms[words[place]], key=lambda form: _draw(text, "to", form))
        return [*words[:place], other, *words[place + 1 :]]
    return words


PERTURBATIONS: Mapping[str, Callable[[Words, str, Mapping[str, list[str]]], Words]] = {
    "word order": _word_order,
    "deletion": _deletion,
    "repetition": _repetition,
    "agreement": _agreement,
}


def perturbed(sentences: Sequence[str]) -> list[dict[str, str]]:
    """Return each sentence's perturbations, by name; none that leaves it, or makes another sentence of the text."""
    cut = [_cut(sentence) for sentence in sentences]
    inner = {word for words, _, _ in cut for word in words[1:]}
    known, forms = set(sentences), _forms(inner)
    results = []
    for sentence, (words, mark, join) in zip(sentences, cut, strict=True):
        is_name = words[0] in inner or len(words[0]) == 1
        plain = [words[0] if is_name else words[0][:1].lower() + words[0][1:], *words[1:]]
        made = {}
        for name, perturb in PERTURBATIONS.items():
            text = join.join(perturb(plain, f"{name} {sentence}", forms)) + mark
            text = text[:1].upper() + text[1:] if sentence[:1].isupper() else text
            if text not in known and text.strip(FINAL_MARKS):
                made[name] = text
        results.append(made)
    return results


def _cut(sentence: str) -> tuple[Words, str, str]:
    """Return a sentence's words, its final mark, and what joins words."""
    body = sentence.rstrip(FINAL_MARKS)
    return (body.split(" "), sentence[len(body) :], " ") if " " in body else ([*body], sentence[len(body) :], "")


def _forms(words: set[str]) -> dict[str, list[str]]:
    """Return the other forms of each word that are among these words."""
    forms = {word: [other] for row in FORMS for word, other in (row.split(), row.split()[::-1])}
    by_stem: dict[str, list[str]] = {}
    for word in sorted(filter(str.isalpha, words)):
        by_stem.setdefault(word[:3], []).append(word)
    for word, other in (pair for alike in by_stem.values() for pair in itertools.permutations(alike, 2)):
        short, long = sorted([word, other], key=len)
        stem = max(STEM, len(long) - MOST_ENDING)
        if long == short + "s" or (len(short) >= STEM and short[:stem] == long[:stem]):
            forms.setdefault(word, []).append(other)
    return forms


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeGrammar(OfSides):
    """Log-odds that a sentence is unperturbed; `bound_probe` fits the probe of a model."""

    name: str
    text: TrainingText
    probe: LinearProbe | None = None
    facts: Mapping[str, Any] | None = None

    @property
    def definition(self) -> dict[str, Any]:
        return definition_of(self.name, n_sentences=len(self.text.sentences), text_sha256=self.text.sha256)

    @property
    def columns(self) -> dict[str, ColumnKind]:
        c = ScoreColumns(self.name)
        return {name: kind for name, kind in side_columns(self.name).items() if name not in (c.good_n, c.bad_n)}

    @property
    def of_model(self) -> Mapping[str, Any]:
        return {self.name: dict(self.facts)} if self.facts else {}

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        probe, asked = self.probe, Direct().requests(row, scorer)
        if probe is None:
            return asked
        return [ProbeRequest(context=r.context, target=r.target, where=r.where, probe=probe) for r in asked]

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        values = side_values(self.name, [answer.total_nats for answer in answers], answers)
        return {name: values[name] for name in self.columns}


def definition_of(name: str, *, n_sentences: int, text_sha256: str) -> dict[str, Any]:
    is_null = name == PROBE_GRAMMAR_NULL
    formula = "log P(unperturbed | state of the last token) − log P(perturbed | state of the last token)"
    training: dict[str, Any] = {
        "n_sentences": n_sentences,
        "text_sha256": text_sha256,
        "perturbations": [*PERTURBATIONS],
        "labels": "exchanged by a fair coin a sentence" if is_null else "unperturbed, perturbed",
        "probe": f"logistic regression, L2, C = {PENALTY_C}, standardised; layer by {N_FOLDS} folds of sentences",
    }
    return {
        "paper": "after Wang, Qiu, Wu, Levy & Kim 2026 (Implicit Representations of Grammaticality)",
        "cites": ["wang2026implicit"],
        "formula": formula,
        "training": training,
        "sha256": sha256_of_text(name, formula, json.dumps(training, sort_keys=True), "1"),
        "layout": direct_layout(name, f"Grammar probe{' (null)' if is_null else ''}") | {"unit": "log-odds"},
    }


def bound_probe(method: ProbeGrammar, scorer: Scorer) -> ProbeGrammar:
    """Return the method with the probe of this model, fitted now or in an earlier run."""
    from pairbank.scoring.models.causal import CausalScorer
    from pairbank.scoring.models.self_check import cut_states

    states = f"hidden states {HIDDEN_STATES_VERSION}"
    key = sha256_of_text(scorer.info.key, method.definition["sha256"], states)
    path = cache_dir() / "probes" / key[:2] / f"{key}.npy"
    if not path.is_file():
        fitted_numbers = _fitted(method, scorer)
        with replaced_atomically(path) as temporary, temporary.open("wb") as handle:
            np.save(handle, fitted_numbers)
    with reading(path, ScoringError, saying="is no stored probe", remedy="delete it: it is made again"):
        layer, n_layers, auc, bias, *weights = np.load(path).tolist()
    facts = {"layer": int(layer), "of": int(n_layers), "auc": round(auc, 6), "text_sha256": method.text.sha256}
    probe = LinearProbe(layer=int(layer), weights=np.array(weights), bias=bias)
    if isinstance(scorer, CausalScorer):
        cut_states(scorer, probe)
    return replace(method, probe=probe, facts=facts)


def _fitted(method: ProbeGrammar, scorer: Scorer) -> FloatArray:
    """Return the layer, of how many, its area under the curve, and the bias and weights of its probe."""
    told = "%s: fitting %s to %d sentences and their perturbations, once for this model and text"
    logger.warning(told, scorer.info.name, method.name, len(method.text.sentences))
    texts, labels, folds = training_set(method.text, exchange=method.name == PROBE_GRAMMAR_NULL)
    states = last_token_states(texts, scorer, where=[f"training text of {method.name}: {text!r}" for text in texts])
    rows = np.arange(len(texts))
    areas = [
        mean_area(out_of_fold(states.layer(layer, rows), [labels], folds, c=PENALTY_C, balanced=True)[0], labels, folds)
        for layer in range(1, states.n_layers)
    ]
    best = int(np.argmax(np.round(areas, 12))) + 1
    weights, bias = fitted(states.layer(best, rows), labels, c=PENALTY_C, balanced=True)
    return np.array([best, states.n_layers - 1, areas[best - 1], bias, *weights])


def training_set(text: TrainingText, *, exchange: bool) -> tuple[list[str], BoolArray, IntArray]:
    """Return texts, whether each is unperturbed, and folds of whole sentences with their perturbations."""
    folds = {x: n % N_FOLDS for n, x in enumerate(sorted(text.sentences, key=lambda x: _draw(x, "fold")))}
    rows: list[tuple[str, bool, int]] = []
    for sentence, made in zip(text.sentences, itertools.chain(*map(perturbed, text.parts)), strict=True):
        is_exchanged = exchange and _draw(sentence, "coin") % 2 == 1
        rows.append((sentence, not is_exchanged, folds[sentence]))
        rows += [(other, is_exchanged, folds[sentence]) for other in made.values()]
    texts, labels, of_rows = zip(*rows, strict=True)
    return [*texts], np.array(labels), np.array(of_rows)
