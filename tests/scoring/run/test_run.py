"""What a run asks of which scorer, and what the key of a stored number depends on."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import pairbank
from made_items import made_item
from pairbank.errors import ScoringError
from pairbank.scoring import versions
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, Row, direct_layout
from pairbank.scoring.api.model import Ask, Continuation, Scorer
from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.logprobs import head_logprobs_nats, linear_head
from pairbank.scoring.methods.direct import Direct, WordProbability
from pairbank.scoring.methods.page import shown
from pairbank.scoring.methods.prompted import Pool
from pairbank.scoring.methods.registry import MethodOptions, method_named
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.tokenizing import refuse_special_tokens
from pairbank.scoring.run import store
from pairbank.scoring.run.asking import Run
from pairbank.scoring.run.store import StoredShards
from prompt_files import prompt_text
from tiny_models import ARCHITECTURES, saved_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CausalScorer:
    loaded = pairbank.load_model(str(saved_model(ARCHITECTURES["llama"], tmp_path_factory.mktemp("m") / "llama")))
    assert isinstance(loaded, CausalScorer)
    return loaded


def test_word_edges_are_read_and_answers_written_in_one_run(model: CausalScorer, tmp_path: Path) -> None:
    text = prompt_text("choice", readout="generation", pattern=r"\b[AB]\b", max_new_tokens=3)
    (tmp_path / "choice.toml").write_text(text)
    items = pairbank.load_corpus([("The keys are here.", "The keys is here."), ("She saw him.", "She saw he.")])
    scored = pairbank.score(items, model, methods=["direct_wb", "choice"], prompts=[tmp_path / "choice.toml"])
    assert np.isfinite(scored["direct_wb_delta"][:]).all()
    assert all(len(texts) == 2 for texts in scored["choice_texts"][:])


def test_word_edges_of_over_long_items_are_nan(model: CausalScorer) -> None:
    long = "word " * 700
    items = pairbank.load_corpus([(f"{long}ends.", f"{long}end.")])
    scored = pairbank.score(items, model, methods=["direct_wb"], over_length="nan")
    assert np.isnan(scored["direct_wb_delta"][0])
    assert scored["direct_wb_flags"][0] == ["over_length"]


ROW = made_item("mine/1", "The keys are here.", "The keys is here.").row()
KEY = "d86a025919f10d0430ebbb9d66ab026296352260a5c3f592766d1ab83c4dca0e"
"""Of that row's direct scores, with all versions at 1: what a user has in the store, whatever is edited since."""


def test_the_key_of_stored_scores_hangs_on_nothing_but_model_method_texts_and_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "VERSIONS", "engine 1, models 1, methods 1")
    assert store.shard_key("a model", Direct(), [ROW]) == KEY
    assert store.shard_key("a model", Direct(), [ROW | {"item_id": "mine/2", "phenomenon": "agreement"}]) == KEY
    others = [
        store.shard_key("another model", Direct(), [ROW]),
        store.shard_key("a model", Direct(per_token=True), [ROW]),
        store.shard_key("a model", WordProbability(), [ROW]),
        store.shard_key("a model", Direct(), [ROW, ROW]),
        *(store.shard_key("a model", Direct(), [ROW | {name: "changed"}]) for name in store.TEXT_COLUMNS),
    ]
    for raised in ("engine 2, models 1, methods 1", "engine 1, models 2, methods 1", "engine 1, models 1, methods 2"):
        monkeypatch.setattr(store, "VERSIONS", raised)
        others.append(store.shard_key("a model", Direct(), [ROW]))
    assert len({KEY, *others}) == 1 + len(others)


def test_the_versions_in_a_key_are_those_of_the_rooms_that_make_its_numbers() -> None:
    made_by = (versions.ENGINE_VERSION, versions.MODELS_VERSION, versions.METHODS_VERSION)
    assert "engine {}, models {}, methods {}".format(*made_by) == store.VERSIONS


def test_the_key_of_a_prompt_covers_its_words_and_the_columns_that_choose_its_presentation() -> None:
    fixed = method_named("social24_choice")
    row = ROW | {"task": "context_pair", "target_number": "1"}
    assert store.shard_key("m", fixed, [row]) != store.shard_key("m", fixed, [row | {"target_number": "2"}])
    shots = MethodOptions(pool=Pool([ROW]))
    asked = method_named("meta_question_simple@2shot", options=shots)
    assert store.shard_key("m", asked, [ROW]) != store.shard_key("m", asked, [ROW | {"item_id": "mine/2"}])


def test_a_token_that_the_output_layer_does_not_have_is_an_error() -> None:
    head = torch.nn.Linear(4, 6)
    with torch.inference_mode(), pytest.raises(ScoringError, match="'toy' gave a log-probability that is NaN"):
        head_logprobs_nats(head, torch.ones(1, 4), rows=np.array([0, 0]), tokens=np.array([2, 6]), model_name="toy")()


def test_a_model_that_gives_logits_in_float32_over_bfloat16_weights_has_a_linear_head() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    class Upcasting(LlamaForCausalLM):  # type: ignore[no-untyped-call]
        def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the model's
            output = super().forward(*args, **kwargs)
            output.logits = output.logits.float()
            return output

    small = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 16}
    network = Upcasting(LlamaConfig(vocab_size=32, **small)).to(torch.bfloat16)  # type: ignore[arg-type]
    with torch.inference_mode():
        assert linear_head(network, torch.tensor([[1, 2, 3]])) is network.lm_head


def tokenizer(*, unk: int, eos: int) -> Any:  # noqa: ANN401 - what is looked at of a tokenizer
    return SimpleNamespace(
        all_special_ids=sorted({unk, eos}),
        unk_token_id=unk,
        eos_token_id=eos,
        bos_token_id=None,
        cls_token_id=None,
        sep_token_id=None,
        convert_ids_to_tokens=lambda token: f"<{token}>",
    )


def test_an_unknown_token_that_ends_texts_too_is_refused_in_a_text() -> None:
    refuse_special_tokens([5, 7], [0, 0], tokenizer(unk=7, eos=0), where="item 1")
    with pytest.raises(ScoringError, match="item 1: the text has the special token '<7>' in it"):
        refuse_special_tokens([5, 7], [0, 0], tokenizer(unk=7, eos=7), where="item 1")


class Length:
    """A method of somebody else's: the shorter side is the better one; of no class of ours."""

    name = "length"
    definition: ClassVar[dict[str, Any]] = {"sha256": "1", "layout": direct_layout("length")}
    columns: ClassVar[dict[str, ColumnKind]] = ScoreColumns("length").kinds("length_delta", "length_flags")
    key_columns = ("subset",)
    of_model: ClassVar[dict[str, Any]] = {}
    shard_items = 1

    def applies_to(self, row: Row) -> bool:
        return bool(row["subset"] == "asked")

    def unasked(self, _row: Row) -> dict[str, Any]:
        return {"length_delta": None, "length_flags": ["no"]}

    def reader(self, scorer: Scorer) -> Scorer:
        return scorer

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        return [Request(context="", target=row[side]) for side in ("target_good", "target_bad")]

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        good, bad = (len(answer.request.ids) for answer in answers)
        return {"length_delta": float(bad - good), "length_flags": []}


class Echo(Length):
    """The same, of what the model writes."""

    max_new_tokens = 5
    sought = "the shorter text"

    def asks(self, row: Row, _scorer: Scorer) -> list[Ask]:
        return [Ask(text=row["target_good"])]

    def written(self, texts: Sequence[Continuation], _row: Row) -> dict[str, Any]:
        return {"length_delta": float(texts[0].n_tokens), "length_flags": ["written"]}


def test_a_method_that_satisfies_the_protocol_is_run_stored_and_shown() -> None:
    rows = [ROW | {"subset": "asked"}, ROW | {"subset": "other"}]
    fake = FakeScorer()
    run, stored = Run(reader=fake, writer=fake, over_length="error"), StoredShards(model_key="fake")
    shard = stored.find(rows, [Length()])
    assert [method.name for method in shard.missing] == ["length"]
    stored.keep(shard, run.computed(rows, shard.missing))
    result = shard.tables["length"].to_pylist()
    assert result == [{"length_delta": -1.0, "length_flags": []}, {"length_delta": None, "length_flags": ["no"]}]
    again = StoredShards(model_key="fake").find(rows, [Length()])
    assert not again.missing
    assert again.tables["length"].to_pylist() == result
    assert store.shard_key("m", Length(), rows[:1]) != store.shard_key("m", Length(), rows[1:])
    assert "⟦The keys are here.⟧" in shown(Length(), rows[0], fake)
    with pytest.raises(ScoringError, match="it lacks no"):
        shown(Length(), rows[1], fake)


def test_a_method_that_satisfies_the_writing_protocol_gets_what_the_model_wrote() -> None:
    rows = [ROW | {"subset": "asked"}, ROW | {"subset": "other"}]
    fake = FakeScorer()
    run = Run(reader=fake, writer=fake, over_length="error")
    result = run.computed(rows, [Echo()])["length"].to_pylist()
    assert [row["length_flags"] for row in result] == [["written"], ["no"]]
    assert "⟦the shorter text⟧" in shown(Echo(), rows[0], fake)
