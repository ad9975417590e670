"""The planner: every requested position once, budgets held, any order alike."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_reference import n_distinct_nodes
from pairbank.scoring.api.requests import EncodedRequest
from pairbank.scoring.engine.prefix_trees import Pack, plan

BUDGET = 12


@st.composite
def requests(draw: st.DrawFn) -> EncodedRequest:
    ids = draw(st.lists(st.integers(0, 3), min_size=2, max_size=15))
    return EncodedRequest(ids=tuple(ids), start=draw(st.integers(1, len(ids) - 1)))


def paths(pack: Pack) -> list[tuple[int, ...]]:
    """Return the token sequence that ends at each node, from the ancestors that the mask allows."""
    nodes = np.arange(len(pack.tokens))
    mask = (nodes[None, :] <= nodes[:, None]) & (nodes[:, None] < pack.ends[None, :])
    return [tuple(int(t) for t in pack.tokens[row]) for row in mask]


@given(st.lists(requests(), min_size=1, max_size=60), st.sampled_from([0, 5, math.inf]))
def test_every_requested_position_is_read_once_with_exactly_its_prefix_in_sight(
    asked: list[EncodedRequest], worth: float
) -> None:
    expected = Counter(
        (index, request.ids[:i], request.ids[i])
        for index, request in enumerate(asked)
        for i in range(request.start, len(request.ids))
    )
    result: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    for pack in plan(asked, budget_tokens=BUDGET, min_shared_tokens=worth):
        seen, shared_prefix = paths(pack), tuple(int(t) for t in pack.shared_prefix)
        assert [len(shared_prefix) + len(path) - 1 for path in seen] == pack.depths.tolist()
        for node, token, owner in zip(pack.read_nodes, pack.read_tokens, pack.read_requests, strict=True):
            result[int(owner), (*shared_prefix, *seen[node]), int(token)] += 1
    assert result == expected


@given(st.lists(requests(), min_size=1, max_size=30))
def test_packs_hold_the_budget_or_one_sequence(asked: list[EncodedRequest]) -> None:
    packs = list(plan(asked, budget_tokens=BUDGET))
    for pack in packs:
        assert len(pack.tokens) <= BUDGET or len({asked[i].ids[:-1] for i in pack.read_requests}) == 1
    assert sum(len(pack.tokens) for pack in packs) >= n_distinct_nodes(asked)
    [whole] = list(plan(asked, budget_tokens=10**6))
    assert len(whole.tokens) == n_distinct_nodes(asked)


@given(st.lists(requests(), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_requests_does_not_change_the_packs(asked: list[EncodedRequest], random: object) -> None:
    shuffled = list(asked)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (list(plan(a, budget_tokens=BUDGET)) for a in (asked, shuffled))
    assert [pack.tokens.tolist() for pack in one] == [pack.tokens.tolist() for pack in other]


def test_a_minimal_pair_shares_its_prefix() -> None:
    pair = [EncodedRequest(ids=(9, 1, 2, 3, 4), start=1), EncodedRequest(ids=(9, 1, 2, 5, 4), start=1)]
    [pack] = list(plan(pair, budget_tokens=100))
    # 9 1 2 shared, then 3 and 5; the last token of each is read, not fed
    assert pack.tokens.tolist() == [9, 1, 2, 3, 5]
    assert pack.depths.tolist() == [0, 1, 2, 3, 3]
    assert pack.ends.tolist() == [5, 5, 5, 4, 5]


def test_two_options_that_differ_in_the_last_token_need_one_pass() -> None:
    options = [EncodedRequest(ids=(9, 1, 7, 2), start=2), EncodedRequest(ids=(9, 1, 7, 3), start=2)]
    assert n_distinct_nodes(options) == 3


def test_no_requests_make_no_packs() -> None:
    assert list(plan([], budget_tokens=5)) == []
    assert n_distinct_nodes([]) == 0


@pytest.mark.parametrize("budget", [1, 2, 3, 1000])
def test_duplicates_are_computed_once_and_read_for_each(budget: int) -> None:
    same = [EncodedRequest(ids=(9, 1, 2), start=1)] * 4
    packs = list(plan(same, budget_tokens=budget))
    assert sum(len(pack.tokens) for pack in packs) == 2
    assert sorted(int(i) for pack in packs for i in set(pack.read_requests)) == [0, 1, 2, 3]


def test_requests_beyond_one_window_are_all_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairbank.scoring.engine.prefix_trees.WINDOW_TOKENS", 12)  # three sequences of four tokens
    asked = [EncodedRequest(ids=(9, 1, n, n + 1), start=1) for n in range(10)]
    packs = list(plan(asked, budget_tokens=100))
    assert len(packs) == 4
    assert sorted({int(i) for pack in packs for i in pack.read_requests}) == list(range(10))


def test_a_sequence_longer_than_the_window_is_planned_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairbank.scoring.engine.prefix_trees.WINDOW_TOKENS", 3)
    asked = [EncodedRequest(ids=tuple(range(n, n + 6)), start=1) for n in range(4)]
    assert [len(pack.tokens) for pack in plan(asked, budget_tokens=100)] == [5, 5, 5, 5]


def test_a_long_common_prefix_is_a_trunk_and_no_part_of_any_pack() -> None:
    instruction = tuple(range(100, 130))
    asked = [EncodedRequest(ids=(*instruction, 1, n, 2, n), start=33) for n in range(10)]
    packs = list(plan(asked, budget_tokens=9))
    # 31 tokens in common; then n and 2 for each, four to a pack of at most nine
    assert {tuple(pack.shared_prefix) for pack in packs} == {(*instruction, 1)}
    assert [len(pack.tokens) for pack in packs] == [8, 8, 4]
    assert all(pack.shared_prefix is packs[0].shared_prefix for pack in packs)


def test_what_is_read_in_a_common_prefix_is_not_lost_to_a_trunk() -> None:
    asked = [EncodedRequest(ids=(*range(100, 130), n), start=1 + n % 5) for n in range(10)]
    assert {len(pack.shared_prefix) for pack in plan(asked, budget_tokens=4, min_shared_tokens=0)} == {0}


def test_two_prompts_have_each_their_trunk_whatever_they_share() -> None:
    first, second = tuple(range(100, 120)), (*range(100, 105), *range(200, 240))
    asked = [
        EncodedRequest(ids=(*start, n, 7, 8), start=len(start) + 2) for start in (first, second) for n in range(20)
    ]
    packs = list(plan(asked, budget_tokens=8))
    assert [key for key, _ in itertools.groupby(tuple(pack.shared_prefix) for pack in packs)] == [second, first]


def test_a_pack_ends_where_least_is_computed_again() -> None:
    # sequences of 4 nodes; the first three share 1, the next three share 3, the budget would cut inside the latter
    ids = [(9, 1, 1, 1), (9, 2, 1, 1), (9, 3, 1, 1), (9, 4, 4, 1), (9, 4, 4, 2), (9, 4, 4, 3)]
    packs = list(plan([EncodedRequest(ids=(*one, 5), start=1) for one in ids], budget_tokens=13))
    assert sorted(len(pack.tokens) for pack in packs) == [6, 10]
