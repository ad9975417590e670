"""Evidence for no difference: against pingouin and the likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from pairbank.errors import BankError
from pairbank.stats.measures.associations import all_digits
from pairbank.stats.measures.paired_tests import equivalence_p, no_difference


def test_equivalence_of_many_items_is_that_of_the_t_test() -> None:
    # 4,000 items with 500 discordant: the score statistic and the t statistic agree
    a = np.r_[np.ones(1750), np.zeros(1750), np.ones(260), np.zeros(240)]
    b = np.r_[np.ones(1750), np.zeros(1750), np.zeros(260), np.ones(240)]
    with all_digits() as pingouin:
        expected = float(pingouin.tost(a, b, bound=0.02, paired=True)["pval"].iloc[0])
    assert equivalence_p(260, 240, 4000, margin=0.02) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize(("b", "c", "n"), [(12, 2, 50), (3, 9, 80), (0, 4, 30), (40, 41, 900)])
def test_the_score_statistic_is_that_of_the_likeliest_shares_whose_difference_is_the_margin(
    b: int, c: int, n: int
) -> None:
    margin = 0.07

    def unlikely(share: float) -> float:
        logs = np.log([share + margin, share, 1 - 2 * share - margin])
        return -float(np.array([b, c, n - b - c]) @ logs)

    share = minimize_scalar(unlikely, bounds=(1e-12, (1 - margin) / 2 - 1e-9), options={"xatol": 1e-12}).x
    score = (b - c - n * margin) / np.sqrt(n * (2 * share + margin - margin**2))
    assert equivalence_p(b, c, n, margin=margin) >= float(ndtr(score)) - 1e-6
    one_sided = max(float(ndtr(score)), 0.0)
    if b > c:  # the upper margin is the nearer one
        assert equivalence_p(b, c, n, margin=margin) == pytest.approx(one_sided, abs=1e-6)


def test_no_discordant_item_among_few_shows_nothing_and_a_margin_is_a_share() -> None:
    assert equivalence_p(0, 0, 20, margin=0.05) > 0.1
    assert equivalence_p(0, 0, 400, margin=0.05) < 1e-4
    with pytest.raises(BankError, match="margin is 5; expected a share"):
        no_difference([1.0], [1.0], margin=5)
