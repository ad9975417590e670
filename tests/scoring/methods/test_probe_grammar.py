"""`probe_grammar`: perturbations, the training set, and log-odds that leave the pass of `direct`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.api.requests import LinearProbe, ProbeRequest, Request
from pairbank.scoring.engine.cuts import Cut
from pairbank.scoring.methods.probe_grammar import (
    FINAL_MARKS,
    PERTURBATIONS,
    ProbeGrammar,
    bound_probe,
    perturbed,
    text_of,
    training_set,
)
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.hidden_states import last_token_states
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.self_check import cut_states
from pairbank.scoring.score import score
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, HIDDEN, saved_model

if TYPE_CHECKING:
    from pairbank.scoring.models.load import LoadedModel

METHODS = ["direct", "probe_grammar", "probe_grammar_null"]
NOUNS = "dog cat bird fish horse cow goat duck fox wolf bear deer".split()  # noqa: SIM905 - reads better
PAIRS = [(f"The old {noun} sleeps here.", f"The old {noun} sleep here.") for noun in NOUNS]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    lines = [f"The {a} and the {b} {verb} at night." for a, b in pairwise(NOUNS) for verb in ("sleep", "eat")]
    path.write_text("\n".join([*lines, "", "他们看了这本书。", lines[0]]), encoding="utf-8")
    return path


def model_of(name: str, folder: Path) -> LoadedModel:
    if name in ARCHITECTURES:
        return load_model(saved_model(ARCHITECTURES[name], folder), device="cpu")
    return load_model(saved(*(t5_model() if name == "t5" else masked_model(name)), folder), device="cpu")


def test_perturbations_are_what_they_are_called() -> None:
    plain = "The dogs bark at the moon every night."
    made, other = perturbed([plain, "The moon bark at night, and dogs barks."])
    assert set(made) == set(PERTURBATIONS)
    for name, sentence in made.items():
        words, before = (text.lower().rstrip(FINAL_MARKS).split() for text in (sentence, plain))
        assert (sentence[-1], sentence[0].isupper()) == (".", True)
        assert words != before
        assert (sorted(words) == sorted(before)) == (name == "word order")
        assert np.sign(len(words) - len(before)) == {"deletion": -1, "repetition": 1}.get(name, 0)
    assert perturbed([plain, "The moon bark at night, and dogs barks."])[1] == other
    [chinese] = perturbed(["他们看了这本书。"])
    assert all(" " not in sentence and sentence.endswith("。") for sentence in chinese.values())


def test_a_perturbation_that_makes_another_sentence_of_the_text_is_left_out() -> None:
    alone = perturbed(["The dog barks."])[0]["repetition"]
    assert "repetition" not in perturbed(["The dog barks.", alone])[0]


def test_the_shipped_text_has_every_perturbation_of_most_sentences_and_no_sentence_twice() -> None:
    sentences = text_of(None).sentences
    texts, labels, folds = training_set(text_of(None), exchange=False)
    assert len(sentences) == len(set(sentences)) == labels.sum()
    assert len(texts) > 4.5 * len(sentences)
    assert not {text for text, label in zip(texts, labels, strict=True) if not label} & set(sentences)
    group = np.cumsum(labels)
    assert all(len(set(folds[group == number])) == 1 for number in np.unique(group))
    exchanged = training_set(text_of(None), exchange=True)[1]
    assert 0.35 < np.mean(exchanged == labels) < 0.65


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bloom", "mamba", "bert", "roberta", "t5"])
def test_log_odds_are_those_of_the_state_of_the_last_token(name: str, tmp_path: Path, text: Path) -> None:
    model = model_of(name, tmp_path)
    items = pairbank.load_corpus(PAIRS)
    scored = score(items, model, methods=METHODS, probe_text=text).table.to_pandas()
    for method in METHODS[1:]:
        probe = bound_probe(ProbeGrammar(name=method, text=text_of(text)), model).probe
        assert probe is not None
        assert probe.layer >= 1
        texts = [*items["target_good"], *items["target_bad"]]
        states = last_token_states(texts, model).layer(probe.layer, np.arange(len(texts)))
        expected = probe.log_odds(states).reshape(2, -1)
        np.testing.assert_allclose(scored[[f"{method}_good", f"{method}_bad"]].T, expected, atol=2e-3)
        np.testing.assert_allclose(scored[f"{method}_delta"], expected[0] - expected[1], atol=4e-3)
    alone = score(items, model, methods=["direct"]).table.to_pandas()
    np.testing.assert_allclose(scored["direct_delta"], alone["direct_delta"], atol=1e-3)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt-j", "opt", "gemma3"])
def test_states_of_a_lower_layer_are_computed_up_to_it_alone(name: str, tmp_path: Path) -> None:
    model = model_of(name, tmp_path)
    assert isinstance(model, CausalScorer)
    probe = LinearProbe(layer=1, weights=np.linspace(-1, 1, HIDDEN), bias=0.0)
    texts: list[dict[str, Any]] = [{"context": "", "target": text} for pair in PAIRS for text in pair]
    asked = model.encode([*(Request(**text) for text in texts), *(ProbeRequest(**text, probe=probe) for text in texts)])
    whole = np.concatenate(model.token_logprobs(asked, progress=lambda _n: None))
    cut_states(model, probe)
    assert model.cuts_states
    widths: list[list[int]] = [[], []]
    layers = next(part for part in model.model.modules() if isinstance(part, torch.nn.ModuleList))
    for nth, layer in enumerate(layers):
        note = widths[nth].append
        layer.register_forward_pre_hook(
            lambda _layer, given, _named, note=note: note(given[0].shape[1]), with_kwargs=True
        )
    cut = np.concatenate(model.token_logprobs(asked, progress=lambda _n: None))
    np.testing.assert_allclose(cut, whole, atol=1e-4)
    assert sum(widths[1]) < sum(widths[0])


@pytest.mark.ci
def test_a_model_whose_layers_refuse_fewer_nodes_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of("llama", tmp_path)
    assert isinstance(model, CausalScorer)

    def refuse(_cut: Cut, _value: object) -> None:
        raise RuntimeError("no such shape")

    monkeypatch.setattr(Cut, "of", refuse)
    cut_states(model, LinearProbe(layer=1, weights=np.linspace(-1, 1, HIDDEN), bias=0.0))
    hooks = [hook for part in model.model.modules() for hook in part._forward_pre_hooks.values()]
    assert (model.cuts_states, hooks) == (False, [])


def test_contexts_are_read_and_edges_of_words_asked_in_the_same_run(tmp_path: Path, text: Path) -> None:
    model = model_of("llama", tmp_path)
    items = pairbank.load_corpus(PAIRS).map(lambda row: row | {"context_good": "Look!", "context_bad": "Look!"})
    scored = score(items, model, methods=["direct", "direct_wb", "probe_grammar"], probe_text=text, per_token=True)
    probe = bound_probe(ProbeGrammar(name="probe_grammar", text=text_of(text)), model).probe
    assert probe is not None
    states = last_token_states([f"Look! {good}" for good, _ in PAIRS], model).layer(probe.layer, np.arange(len(PAIRS)))
    np.testing.assert_allclose(scored.table.to_pandas()["probe_grammar_good"], probe.log_odds(states), atol=2e-3)
    assert scored.table.to_pandas()["direct_wb_delta"].notna().all()


def test_the_signature_says_text_perturbations_and_layer(tmp_path: Path, text: Path) -> None:
    model, items = model_of("gpt2", tmp_path), pairbank.load_corpus(PAIRS)
    own, shipped = (score(items, model, methods=METHODS, probe_text=file).signature for file in (text, None))
    training = own["methods"]["probe_grammar"]["training"]
    assert (training["n_sentences"], training["perturbations"]) == (23, [*PERTURBATIONS])
    assert own["model"]["probe_grammar"].keys() == {"layer", "of", "auc", "text_sha256"}
    assert 1 <= own["model"]["probe_grammar"]["layer"] <= own["model"]["probe_grammar"]["of"] == 2
    for method in METHODS[1:]:
        assert own["methods"][method]["sha256"] != shipped["methods"][method]["sha256"]
    assert own["methods"]["direct"] == shipped["methods"]["direct"]


def test_what_cannot_be_probed_is_refused(tmp_path: Path, text: Path) -> None:
    with pytest.raises(ScoringError, match="has no hidden states to read"):
        score(PAIRS, "fake:a", methods=METHODS, probe_text=text)
    short = tmp_path / "short.txt"
    short.write_text("The dog barks.\n" * 30)
    with pytest.raises(ScoringError, match="1 different sentences; a probe needs at least 20"):
        score(PAIRS, "fake:a", methods=METHODS, probe_text=short)
    with pytest.raises(ScoringError, match=r"absent\.txt: cannot be read"):
        score(PAIRS, "fake:a", methods=METHODS, probe_text=tmp_path / "absent.txt")
