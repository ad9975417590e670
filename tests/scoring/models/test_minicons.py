"""minicons beside pairbank: the numbers are those of its own calls, and every difference has its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.errors import ModelLoadError
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.models.minicons import REASONS, SAME_NATS, MiniconsScorer, beside
from tiny_models import ARCHITECTURES, saved_model

pytestmark = pytest.mark.ci
pytest.importorskip("minicons")
FAMILIES = ("gpt2", "qwen2", "llama", "falcon-rotary")
"""No BOS and one token for all; padding is the EOS; the tokenizer adds BOS; it adds BOS and EOS."""
PAIRS = [
    ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table."),
    ("A dog barks, and the dogs bark again.", "A dogs barks, and the dogs bark again."),
]
CHINESE = pd.DataFrame(
    {
        "context_good": ["这本书", "她没有"],
        "target_good": ["很有意思。", "去北京。"],
        "context_bad": ["这本书", "她没有"],
        "target_bad": ["在图书馆。", "书看北京。"],
    }
)
EXPECTED = {
    "gpt2": {"no_bos", "first_token_unscored"},
    "qwen2": {"no_bos", "first_token_unscored"},
    "llama": set[str](),
    "falcon-rotary": {"eos_scored"},
}


@pytest.fixture(scope="module", params=FAMILIES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, MiniconsScorer]:
    folder = saved_model(ARCHITECTURES[request.param], tmp_path_factory.mktemp("model") / request.param)
    model = pairbank.load_model(folder)
    return request.param, model, beside(model)


def total(values: Any) -> float:  # noqa: ANN401 - a tensor
    return float(values.sum())


def test_sentences_have_the_numbers_of_sequence_score_and_the_reasons_of_their_tokenizer(
    both: tuple[str, Any, MiniconsScorer],
) -> None:
    family, model, peer = both
    theirs = pairbank.score(PAIRS, peer, methods=["direct", "mean_logprob"])
    ours = pairbank.score(PAIRS, model)
    for side, place in (("good", 0), ("bad", 1)):
        texts = [pair[place] for pair in PAIRS]
        for column, options in ((f"direct_{side}", {"reduction": total}), (f"mean_logprob_{side}", {})):
            expected = [peer.peer.sequence_score([text], **options)[0] for text in texts]
            np.testing.assert_allclose(theirs[column], expected, atol=1e-5)
    assert [set(flags) for flags in theirs["direct_flags"]] == [EXPECTED[family]] * 2
    gaps = np.abs(np.array(theirs["direct_good"]) - np.array(ours["direct_good"]))
    assert (gaps > SAME_NATS).all() == bool(EXPECTED[family])


def test_given_our_tokens_both_engines_agree(both: tuple[str, Any, MiniconsScorer]) -> None:
    _, model, peer = both
    rows = [*pairbank.load_corpus(PAIRS), *pairbank.load_corpus(CHINESE, language="zh")]
    requests = [request for row in rows for request in method_named("direct").requests(row, model)]
    assert peer.gap_on_our_tokens(requests) < SAME_NATS


def test_chinese_is_joined_by_a_space_and_english_is_not(both: tuple[str, Any, MiniconsScorer]) -> None:
    _, model, peer = both
    chinese = pairbank.score(pairbank.load_corpus(CHINESE, language="zh"), peer)
    assert all("joined_by_space" in flags for flags in chinese["direct_flags"])
    frame = CHINESE.assign(context_good="The keys", context_bad="The keys", target_good="are here.", target_bad="is.")
    english = pairbank.score(frame.head(1), peer)
    assert "joined_by_space" not in english["direct_flags"][0]
    expected = peer.peer.conditional_score(["The keys"], ["are here."], reduction=total)
    np.testing.assert_allclose(english["direct_good"], expected, atol=1e-5)
    ours = pairbank.score(frame.head(1), model)["direct_good"][0]
    assert (abs(ours - expected[0]) > SAME_NATS) == bool(english["direct_flags"][0])


def test_end_of_turn_tokens_that_are_padding_are_not_counted_as_prompt(both: tuple[str, Any, MiniconsScorer]) -> None:
    family, model, peer = both
    flags = pairbank.score(PAIRS, peer, methods="meta_question_simple")["meta_question_simple_flags"]
    ends_turns_with_padding = (
        model.info.prompt_format == "chat"
        and peer.peer.tokenizer.pad_token in model.render_prompt(system="", user="A", stem="B")
    )
    assert ("prompt_scored" in flags[0]) == ends_turns_with_padding, family


def test_the_command_lists_item_by_item_and_masked_models_are_refused(tmp_path: Path) -> None:
    folder = saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2")
    pd.DataFrame(PAIRS, columns=["good", "bad"]).to_csv(tmp_path / "own.csv", index=False)
    asked = ["score", str(tmp_path / "own.csv"), "--model", str(folder), "--out", str(tmp_path / "a.parquet")]
    done = CliRunner().invoke(app, [*asked, "-m", "direct", "--compare", "minicons"])
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "a.minicons.csv")
    assert table["item_id"].tolist() == pairbank.read_scored(tmp_path / "a.parquet")["item_id"]
    np.testing.assert_allclose(table["difference"], table["minicons"] - table["pairbank"])
    assert set(table["why"]) == {f"{REASONS['no_bos']}; {REASONS['first_token_unscored']}"}
    assert f"2 of 2: {REASONS['no_bos']}" in done.output
    with pytest.raises(ModelLoadError, match="causal models"):
        beside(pairbank.load_model("fake:a"))
