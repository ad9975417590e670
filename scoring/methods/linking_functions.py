"""Linking functions: from the log-probabilities of a target's tokens to one score of how good the target is.

In: arrays in nats. Out: one number, higher = better. `linking` makes methods of them.

The formulas are those of Hu et al. 2026, section 6.1, with w_1 … w_N the tokens of the target, all logarithms
natural. BOS is context: it is in no sum and not in N. EOS is not scored and not in N. Without a BOS the first token
has no probability; then it is in no sum, not in N, and not among the tokens of the unigram sum either. In an item
with a context, w_1 … w_N are the target's tokens alone, each given the context; the unigram model knows no context.

    metric 1  direct          Σ log p(w_n)
    metric 2  bayes_uniform   Σ log p(w_n) + N log |Σ|            |Σ|: tokens of the vocabulary, special ones included
    metric 3  bayes_unigram   Σ log p(w_n) − Σ log p_uni(w_n)
    metric 4  slor            (Σ log p(w_n) − Σ log p_uni(w_n)) / N      Pauls & Klein 2012; Lau et al. 2017
    metric 5  mean_logprob    Σ log p(w_n) / N
              slln_lp         Σ log p(w_n) / N^α, α = 0.5                Liu et al. 2026 (ZhoBLiMP)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pairbank.arrays import FloatArray

Needs = Literal["nothing", "vocabulary", "unigrams"]
SLLN_EXPONENT = 0.5
"""α of `slln_lp`: the value that Liu et al. name SLLN-LP in their code (github.com/sjtu-compling/ZhoBLiMP, src)."""


def mean_logprob(logprobs_nats: FloatArray) -> float:
    """Return Σ log p / N in nats: metric 5 of Hu et al. 2026.

    Args:
        logprobs_nats: (N,) log p of each token.

    >>> import numpy as np
    >>> mean_logprob(np.array([-1.0, -3.0]))
    -2.0
    """
    return float(logprobs_nats.sum()) / len(logprobs_nats)


def bayes_uniform(logprobs_nats: FloatArray, n_vocabulary: int) -> float:
    """Return Σ log p + N log |Σ| in nats: the log Bayes factor against the uniform model, metric 2 of Hu et al. 2026.

    Args:
        logprobs_nats: (N,) log p of each token.
        n_vocabulary: |Σ|, as in the paper the number of tokens: 50,257 for gpt2, 128,256 for Llama 3.

    >>> import numpy as np
    >>> round(bayes_uniform(np.log([0.5, 0.25]), 8), 12) == round(math.log(0.5 * 0.25 * 8 * 8), 12)
    True
    """
    return float(logprobs_nats.sum()) + len(logprobs_nats) * math.log(n_vocabulary)


def bayes_unigram(logprobs_nats: FloatArray, unigram_logprobs_nats: FloatArray) -> float:
    """Return Σ log p − Σ log p_uni in nats: the log Bayes factor against the unigram model, metric 3 of Hu et al. 2026.

    Args:
        logprobs_nats: (N,) log p of each token in its context.
        unigram_logprobs_nats: (N,) log p_uni of the same tokens.

    >>> import numpy as np
    >>> bayes_unigram(np.array([-1.0, -3.0]), np.array([-5.0, -6.0]))
    7.0
    """
    return float(logprobs_nats.sum()) - float(unigram_logprobs_nats.sum())


def slor(logprobs_nats: FloatArray, unigram_logprobs_nats: FloatArray) -> float:
    """Return the syntactic log-odds ratio in nats a token (Pauls & Klein 2012); metric 4 of Hu et al. 2026.

    It is (Σ log p − Σ log p_uni) / N, which Hu et al. derive as the mean pointwise mutual information of a token and
    the tokens before it.

    Args:
        logprobs_nats: (N,) log p of each token in its context.
        unigram_logprobs_nats: (N,) log p_uni of the same tokens.

    >>> import numpy as np
    >>> slor(np.array([-1.0, -3.0]), np.array([-5.0, -6.0]))
    3.5
    """
    return bayes_unigram(logprobs_nats, unigram_logprobs_nats) / len(logprobs_nats)


def slln_lp(logprobs_nats: FloatArray, exponent: float = SLLN_EXPONENT) -> float:
    """Return the sub-linear length-normalised log-probability Σ log p / N^α (Liu et al. 2026, ZhoBLiMP).

    Args:
        logprobs_nats: (N,) log p of each token.
        exponent: α, between 0 (the sum) and 1 (the mean).

    >>> import numpy as np
    >>> slln_lp(np.array([-1.0, -2.0, -3.0, -4.0]))
    -5.0
    """
    return float(logprobs_nats.sum() / len(logprobs_nats) ** exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingFunction:
    """One linking function by its name in columns."""

    name: str
    label: str
    """What people call it, as reports and figures do."""
    formula: str
    paper: str
    cites: tuple[str, ...]
    """Keys of `builders/data/references.bib`."""
    needs: Needs
    score: Callable[[FloatArray, FloatArray, int], float]
    """From log p, log p_uni (empty where not needed) and |Σ| (0 where not needed)."""


_HU = "Hu et al. 2026, section 6.1"
_FUNCTIONS = (
    LinkingFunction(
        name="mean_logprob",
        label="Mean log P",
        formula="Σ log p / N",
        paper=f"{_HU}, metric 5",
        cites=("hu2026string",),
        needs="nothing",
        score=lambda logprobs, _unigram, _size: mean_logprob(logprobs),
    ),
    LinkingFunction(
        name="slln_lp",
        label="SLLN-LP",
        formula=f"Σ log p / N^{SLLN_EXPONENT}",
        paper="Liu et al. 2026 (ZhoBLiMP), SLLN-LP; exponent of their released code",
        cites=("liu2024zhoblimp",),
        needs="nothing",
        score=lambda logprobs, _unigram, _size: slln_lp(logprobs),
    ),
    LinkingFunction(
        name="bayes_uniform",
        label="Bayes factor (uniform)",
        formula="Σ log p + N log |Σ|",
        paper=f"{_HU}, metric 2",
        cites=("hu2026string",),
        needs="vocabulary",
        score=lambda logprobs, _unigram, size: bayes_uniform(logprobs, size),
    ),
    LinkingFunction(
        name="bayes_unigram",
        label="Bayes factor (unigram)",
        formula="Σ log p − Σ log p_uni",
        paper=f"{_HU}, metric 3",
        cites=("hu2026string",),
        needs="unigrams",
        score=lambda logprobs, unigram, _size: bayes_unigram(logprobs, unigram),
    ),
    LinkingFunction(
        name="slor",
        label="SLOR",
        formula="(Σ log p − Σ log p_uni) / N",
        paper=f"Pauls & Klein 2012; Lau et al. 2017; {_HU}, metric 4",
        cites=("pauls2012treelets", "lau2017grammaticality", "hu2026string"),
        needs="unigrams",
        score=lambda logprobs, unigram, _size: slor(logprobs, unigram),
    ),
)
LINKING_FUNCTIONS: Mapping[str, LinkingFunction] = {function.name: function for function in _FUNCTIONS}
"""By name, in the order of their columns."""
