"""Tokens have strings: byte-level BPE, SentencePiece, WordPiece, bytes of a character, contexts, old tables, sizes."""

from pathlib import Path

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import pairbank
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import SIDES
from pairbank.scoring.api.method import answered
from pairbank.scoring.api.requests import Request, Share, token_offsets, token_spans
from pairbank.scoring.engine.logprobs import BLOCK_LOGITS
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

CAUSAL = ("gpt2", "llama", "mistral")


def items() -> datasets.Dataset:
    texts = [
        ("en", "", "The keys to the cabinet are on the table.", "The keys to the cabinet is on the table."),
        ("en", "She ate the", "apple, and left.", "river, and left."),
        ("zh", "这本书", "很有意思。", "很有桌子。"),
        ("en", "", "A 🐈 naps.", "A 🐈 nap."),
    ]
    rows = [
        made_item(
            f"own/all/{n}",
            good,
            bad,
            language=language,
            task="continuation_pair" if context else "sentence_pair",
            context_good=context,
            context_bad=context,
        ).row()
        for n, (language, context, good, bad) in enumerate(texts)
    ]
    return datasets.Dataset.from_list(rows, features=features())


@pytest.mark.parametrize("name", [*CAUSAL, "bert"])
def test_tokens_are_the_characters_that_the_tokenizer_says_and_sum_to_the_score(name: str, tmp_path: Path) -> None:
    folder = (
        saved(*masked_model("bert"), tmp_path / "m")
        if name == "bert"
        else saved_model(ARCHITECTURES[name], tmp_path / "m")
    )
    model = load_model(folder)
    scored = pairbank.score(items(), model, per_token=True)
    tokens = pairbank.read_scored(scored.save(tmp_path / "scored.parquet")).tokens()
    for row in scored.dataset:
        for side in ("good", "bad"):
            own = tokens[(tokens["item_id"] == row["item_id"]) & (tokens["side"] == side)]
            text = row[f"target_{side}"]
            assert own["logprob_nats"].sum() == pytest.approx(row[f"direct_{side}"], abs=1e-6)
            assert [text[a:b] for a, b in zip(own["start"], own["end"], strict=True)] == own["token"].tolist()
            spans = own[["start", "end"]].drop_duplicates()
            assert "".join(text[a:b] for a, b in spans.itertuples(index=False)) == text
            if not row["context_good"] and row["language"] == "en" and "🐈" not in text:
                pieces = model.tokenizer.convert_ids_to_tokens(
                    model.tokenizer(text, add_special_tokens=False)["input_ids"]
                )
                plain = [piece.removeprefix("##").lstrip("Ġ▁") for piece in pieces]
                shown = [token.strip() for token in own["token"]]
                assert [a.lower() for a in plain if a not in ("", "[UNK]")] == [
                    b.lower() for a, b in zip(plain, shown, strict=True) if a not in ("", "[UNK]")
                ]


@pytest.mark.parametrize("how", ["by blocks", "of logits", "padded", "in shares"])
@pytest.mark.parametrize("name", CAUSAL)
def test_ranks_are_those_of_one_forward_pass_per_prefix(
    name: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(saved_model(ARCHITECTURES[name], tmp_path / "m"))
    assert isinstance(model, CausalScorer)
    assert model.head is not None
    monkeypatch.setitem(BLOCK_LOGITS, "cpu", 1 << 10)
    if how == "of logits":
        model.head = None
    if how == "padded":
        model.batching = "padded"
    texts = [Request(context="", target=row[f"target_{side}"], ranks=True) for row in items() for side in SIDES]
    requests = model.encode([*texts, Request(context="The keys", target=" are")])
    if how == "in shares":
        shares = [model.share_of_logprobs(requests, share) for share in (Share(stop=16), Share(first=16))]
        result = [np.where(np.isnan(a), b, a) for a, b in zip(*shares, strict=True)]
    else:
        result = model.token_logprobs(requests, progress=lambda _n: None)
    for request, values in zip(requests, result, strict=True):
        answer = answered(request, values)
        assert answer.logprobs_nats is not None
        assert len(answer.logprobs_nats) == request.n_scored
        if answer.ranks is None:
            assert not request.ranks
            continue
        for place, rank, logprob in zip(
            range(request.start, len(request.ids)), answer.ranks, answer.logprobs_nats, strict=True
        ):
            with torch.no_grad():
                logits = model.model(torch.tensor([request.ids[:place]])).logits[0, -1].double()
            own = logits[request.ids[place]]
            assert logprob == pytest.approx(float(own - logits.logsumexp(-1)), abs=1e-4)
            lowest, highest = ((logits > own + shift).sum() + 1 for shift in (1e-4, -1e-4))
            assert lowest <= rank <= highest


def test_ranks_stand_in_the_table_of_a_causal_model_and_are_null_of_others(tmp_path: Path) -> None:
    causal = load_model(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"))
    table = pairbank.score(items(), causal, per_token=True)
    plain = pairbank.score(items(), causal)
    assert table["direct_delta"] == pytest.approx(plain["direct_delta"])
    assert [len(ranks) for ranks in table["direct_good_ranks"]] == table["direct_good_n"]
    assert table.tokens()["rank"].between(1, causal.model.config.vocab_size).all()
    masked = pairbank.score(items(), load_model(saved(*masked_model("bert"), tmp_path / "bert")), per_token=True)
    assert masked["direct_good_ranks"] == [None] * len(masked)
    assert masked.tokens()["rank"].isna().all()


def test_bytes_of_one_character_share_it_and_white_space_goes_with_what_follows() -> None:
    text = "a 🐈  b"
    offsets = token_offsets([(0, 1), (2, 3), (2, 3), (2, 3), (5, 6)])
    assert [text[a:b] for a, b in token_spans(offsets)] == ["a", " 🐈", " 🐈", " 🐈", "  b"]
    assert token_spans(token_offsets([(0, 1), (0, 3)])) == [(0, 0), (0, 3)]  # the space before a text
    assert token_spans(token_offsets([(0, 1), (1, 3), (3, 4)], first=1)) == [(1, 3), (3, 4)]


def test_encoder_decoders_and_tables_without_places_say_so(tmp_path: Path) -> None:
    model = load_model(saved(*t5_model(), tmp_path / "t5"))
    scored = pairbank.score(items().select([0]), model, per_token=True)
    assert scored["direct_good_offsets"] == [None]
    assert len(scored["direct_good_tokens"][0]) == scored["direct_good_n"][0]
    with pytest.raises(ScoringError, match="encoder-decoders"):
        scored.tokens()
    with pytest.raises(ScoringError, match="score with per_token=True"):
        pairbank.score(items(), FakeScorer()).tokens()


def test_strings_of_tokens_cost_a_bank_less_than_a_third(tmp_path: Path) -> None:
    scored = pairbank.score(pairbank.load_corpus("starter"), FakeScorer(), per_token=True)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    [path] = (bank / "scores").rglob("*.parquet")
    table = pq.read_table(path)
    places = [name for name in table.column_names if name.endswith("_offsets")]
    assert len(places) == 2
    without = tmp_path / "without.parquet"
    pq.write_table(table.drop_columns(places), without)
    pq.write_table(table, tmp_path / "with.parquet")
    assert (tmp_path / "with.parquet").stat().st_size <= 1.3 * without.stat().st_size
