"""Linking functions: formulas against hand-computed values."""

import math

import numpy as np
import pytest

from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS, mean_logprob, slln_lp, slor

# A sentence of three tokens with p = 1/2, 1/4, 1/8 and unigram p = 1/4, 1/16, 1/64, in a vocabulary of 256.
LOGPROBS = np.log([1 / 2, 1 / 4, 1 / 8])
UNIGRAM = np.log([1 / 4, 1 / 16, 1 / 64])
LN2 = math.log(2)


def test_slln_lp_lies_between_the_sum_and_the_mean() -> None:
    assert slln_lp(LOGPROBS, exponent=0) == pytest.approx(LOGPROBS.sum(), abs=1e-12)
    assert slln_lp(LOGPROBS, exponent=1) == pytest.approx(mean_logprob(LOGPROBS), abs=1e-12)


def test_slor_is_the_mean_pmi_of_a_token_and_the_tokens_before_it() -> None:
    # Hu et al. 2026, section 6.1: mean over n of log p(w_n | w_<n) / p(w_n)
    rng = np.random.default_rng(0)
    logprobs, unigram = np.log(rng.uniform(size=(2, 7)))
    assert slor(logprobs, unigram) == pytest.approx(np.mean(logprobs - unigram), abs=1e-12)


def test_the_table_of_functions_calls_each_with_what_it_needs() -> None:
    scores = {name: function.score(LOGPROBS, UNIGRAM, 256) / LN2 for name, function in LINKING_FUNCTIONS.items()}
    expected = {
        "mean_logprob": -2.0,
        "slln_lp": -6 / math.sqrt(3),
        "bayes_uniform": 18.0,
        "bayes_unigram": 6.0,
        "slor": 2.0,
    }
    assert scores == pytest.approx(expected, abs=1e-12)
