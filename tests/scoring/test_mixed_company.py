"""A text has one score by each method, whatever else is in the call: every architecture, alone and in mixed company.

The company is shorter and longer than a window, a block, or the length at which rotary embeddings change.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.causal import Batching, CausalScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.masked import MaskedScorer
from pairbank.scoring.words import words
from tiny_architectures import MASKED, SEQ2SEQ, made
from tiny_models import ARCHITECTURES, WINDOW, saved_model

TOLERANCE_NATS = 1e-3
SHORT = ("A dog barks.", "The keys were lost.", "The keys to the cabinet are on the table.")
LONG = " ".join(["The author of the book saw the dogs on the table and the keys in the cabinet."] * 2)
PAIRS = (
    ("A dog barks.", "A dog bark."),
    ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table."),
    (LONG, LONG.replace("saw", "see")),
)
METHODS = ("direct", "mean_logprob", "in_template", "meta_question_simple", "acceptability_judgment_i")
OF_CAUSAL = ("direct_wb", "yes_no_free")
IN_CI = (*ARCHITECTURES, "bert", "deberta-v2", "longformer", "roberta", "fnet", "bart", "led", "prophetnet", "t5")
"""All others are marked slow."""
WITHOUT_MARKS = ("gpt-j",)
"""Models whose tokenizers do not mark where words begin."""


def cases() -> list[Any]:
    names = [*ARCHITECTURES, *MASKED, *SEQ2SEQ]
    return [pytest.param(name, marks=() if name in IN_CI else pytest.mark.slow) for name in names]


def loaded(name: str, folder: Path) -> Any:  # noqa: ANN401 - any scorer
    if name in ARCHITECTURES:
        return load_model(saved_model(ARCHITECTURES[name], folder), device="cpu")
    return load_model(made({**MASKED, **SEQ2SEQ}[name], folder), device="cpu")


@pytest.mark.ci
@pytest.mark.parametrize("name", cases())
def test_every_method_gives_a_text_its_own_score_in_mixed_company(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path / name)
    items = pairbank.load_corpus(PAIRS)
    methods = [*METHODS, *(OF_CAUSAL if isinstance(model, CausalScorer) and name not in WITHOUT_MARKS else ())]
    if len({str(model.tokenizer(str(digit))["input_ids"]) for digit in range(1, 8)}) == 7:
        methods.append("rating_7")
    together = pairbank.score(items, model, methods=methods, over_length="nan").to_pandas()
    n_compared = 0
    for place in range(len(items)):
        alone = pairbank.score(items.select([place]), model, methods=methods, over_length="nan").to_pandas()
        for column in alone.columns:
            one, other = alone[column][0], together[column][place]
            if isinstance(one, float | np.ndarray) and np.asarray(one).dtype.kind == "f":
                np.testing.assert_allclose(other, one, atol=TOLERANCE_NATS, rtol=0, err_msg=f"{column}, item {place}")
                n_compared += 1
            elif column.startswith(tuple(methods)):
                assert str(one) == str(other), f"{column}, item {place}"
    assert n_compared > len(PAIRS) * len(methods)


def surprisals(texts: Sequence[str], model: Any, **how: Any) -> list[list[float]]:  # noqa: ANN401
    table = words(texts, model, **how)
    return [table.loc[table["text_id"] == str(n), "logprob_nats"].tolist() for n in range(1, len(texts) + 1)]


@pytest.mark.ci
@pytest.mark.parametrize("name", [*ARCHITECTURES, "bert", "roberta", "deberta-v2", "fnet", "longformer"])
def test_words_of_a_text_do_not_depend_on_the_other_texts(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path / name)
    assert isinstance(model, CausalScorer | MaskedScorer)
    for correct in (True, False):
        if correct and name in WITHOUT_MARKS:
            with pytest.raises(ScoringError, match="no token of its vocabulary begins with a space"):
                words(SHORT, model)
            continue
        together = surprisals([*SHORT, LONG], model, correct=correct)
        for text, nats in zip([*SHORT, LONG], together, strict=True):
            np.testing.assert_allclose(nats, surprisals([text], model, correct=correct)[0], atol=TOLERANCE_NATS)
            if not correct:
                [encoded] = model.encode([Request(context="", target=text)])
                [tokens] = model.token_logprobs([encoded], progress=lambda _n: None)
                assert sum(nats) == pytest.approx(tokens.sum(), abs=TOLERANCE_NATS)


@pytest.mark.parametrize("name", ["phi3-longrope"])
@pytest.mark.parametrize("batching", ["packed", "padded"])
def test_words_and_direct_agree_at_every_length_around_the_change_of_rotary_embeddings(
    name: str, batching: Batching, tmp_path: Path
) -> None:
    model = loaded(name, tmp_path / name)
    model.batching = batching
    texts, n_tokens = [], []
    for n in range(1, 2 * WINDOW):
        texts.append(" ".join(LONG.split()[:n]))
        n_tokens.append(len(model.encode([Request(context="", target=texts[-1])])[0].ids) - 1)
    assert {WINDOW - 1, WINDOW, WINDOW + 1} & set(n_tokens)
    scored = pairbank.score([(text, "A dog barks.") for text in texts], model, methods=["direct", "direct_wb"])
    table = scored.to_pandas()
    for column, correct in (("direct_good", False), ("direct_wb_good", True)):
        sums = [sum(nats) for nats in surprisals(texts, model, correct=correct)]
        np.testing.assert_allclose(sums, table[column], atol=TOLERANCE_NATS)
        alone = [sum(surprisals([text], model, correct=correct)[0]) for text in texts]
        np.testing.assert_allclose(alone, sums, atol=TOLERANCE_NATS)
