"""What a unit of work is guessed to take: beginnings that requests share count once, and long texts take no time."""

import random

from pairbank.scoring.run.effort import n_beginnings


def test_beginnings_are_counted_as_a_set_of_them_would_be() -> None:
    rng = random.Random(1)
    for _ in range(50):
        sequences = [tuple(rng.randrange(3) for _ in range(rng.randrange(8))) for _ in range(6)]
        assert n_beginnings(sequences) == len({one[:n] for one in sequences for n in range(1, len(one) + 1)})


def test_a_text_of_very_many_tokens_is_counted_at_once() -> None:
    text = tuple(range(200_000))
    assert n_beginnings([text, (*text, 7), (*text, 8)]) == 200_002
