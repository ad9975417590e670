"""Where a target begins: the boundary rule on a tokenizer made here (PEERS.md section 4, items 1 to 6)."""

from __future__ import annotations

import pytest

from pairbank.builders.schema.language_tags import joined, separator
from pairbank.errors import ScoringError
from pairbank.scoring.api.names import BOUNDARY_MERGE, FIRST_TOKEN_UNSCORED
from pairbank.scoring.api.requests import Request, encoded

BOS = 99


def place(context: str, target: str, pieces: list[str], bos: int | None = BOS) -> tuple[list[str], tuple[str, ...]]:
    """Return the pieces that are scored, and the flags, for a text cut into these pieces."""
    assert "".join(pieces) == context + target
    offsets, at = [], 0
    for piece in pieces:
        offsets.append((at, at + len(piece)))
        at += len(piece)
    request = Request(context=context, target=target, where="item 1")
    done = encoded(list(range(len(pieces))), offsets, request, bos_id=bos)
    names = ["<bos>", *pieces] if bos is not None else pieces
    return names[done.start :], done.flags


def test_the_space_at_the_join_belongs_to_the_target() -> None:
    assert place("The keys", " are", ["The", " keys", " are"]) == ([" are"], ())


def test_a_space_that_ends_the_context_is_moved_to_the_target() -> None:
    assert place("The keys ", "are", ["The", " keys", " are"]) == ([" are"], ())


def test_a_newline_that_ends_a_template_is_never_scored() -> None:
    assert place("assistant\n", "1", ["assistant", "\n", "1"]) == (["1"], ())


def test_a_token_that_spans_the_join_is_scored_and_flagged() -> None:
    assert place("The un", "believable story", ["The", " unbel", "ievable", " story"]) == (
        [" unbel", "ievable", " story"],
        (BOUNDARY_MERGE,),
    )


def test_a_lone_space_token_before_a_digit_is_part_of_the_option() -> None:
    assert place("My answer is", " 1", ["My", " answer", " is", " ", "1"]) == ([" ", "1"], ())


def test_pieces_of_one_character_that_share_a_span_all_count() -> None:
    request = Request(context="a", target="\N{GRINNING FACE}")
    done = encoded([1, 2, 3], [(0, 1), (1, 2), (1, 2)], request, bos_id=BOS)
    assert (done.start, done.n_scored) == (2, 2)


def test_a_whole_sentence_is_scored_from_its_first_word_after_one_bos() -> None:
    assert place("", "A dog.", ["A", " dog", "."]) == (["A", " dog", "."], ())


def test_without_bos_the_first_token_is_left_out_and_flagged() -> None:
    assert place("", "A dog.", ["A", " dog", "."], bos=None) == ([" dog", "."], (FIRST_TOKEN_UNSCORED,))


def test_a_target_with_nothing_to_score_is_an_error_that_names_the_item() -> None:
    with pytest.raises(ScoringError, match="item 1: target 'A' has no token to score"):
        place("", "A", ["A"], bos=None)


@pytest.mark.parametrize(("language", "expected"), [("en", "a b"), ("zh", "ab"), ("ja-JP", "ab"), ("pt-BR", "a b")])
def test_languages_without_spaces_join_without_one(language: str, expected: str) -> None:
    assert joined("a", "b", language) == expected
    assert "a" + separator(language) + "b" == expected
    assert joined("", "b", language) == "b"
