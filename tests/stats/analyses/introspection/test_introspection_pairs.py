"""Declared features, match types, the filter for disagreement and the correlations of pairs, number by number."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.introspection.model_pairs import big_models, disagreement, pair_correlations, pair_table
from pairbank.stats.scored_table.model_features import (
    ModelFeatures,
    features_from_entries,
    features_in_paper,
    find_features,
    match_type,
    shipped_features,
)
from pairbank.stats.scored_table.scored_table import DeltaStack, stack_deltas
from rated_tables import choice, direct
from scored_frames import scored_frame


def stack(direct: np.ndarray, meta: np.ndarray) -> DeltaStack:
    return DeltaStack(
        corpus="toy",
        models=tuple("abcdefghijklmnopqrstuvwxyz"[: len(direct)]),
        prompts=tuple(f"p{nth}" for nth in range(len(meta))),
        item_ids=tuple(f"i{nth}" for nth in range(direct.shape[1])),
        direct_nats=direct,
        meta_nats=meta,
        n_identical=0,
    )


def test_shipped_features_are_complete_and_their_names_lead_to_one_model() -> None:
    known = shipped_features()
    assert len(known) > 90
    assert all("/" in model_id for model_id in known)
    for model_id in known:
        assert find_features(model_id) is find_features(model_id.rsplit("/", 1)[-1]) is known[model_id]
    for paper in ("song-2025", "hu-frank-2024"):
        assert set(features_in_paper(paper).values()) <= set(known.values())


def test_the_models_of_song_2025_are_7_instruct_and_14_base_of_four_families() -> None:
    # Song et al. 2025, Table 1 (less Qwen2.5-32B and Llama-3.1-405B-Instruct, which their data do not have)
    models = features_in_paper("song-2025").values()
    assert sorted(x.type for x in models) == ["base"] * 14 + ["instruct"] * 7
    assert {x.family for x in models} == {"OLMo", "Qwen", "Llama", "Mistral"}
    assert {x.size_billions for x in models} == {1.5, 7, 72, 8, 70, 405, 123, 13}
    assert {(x.size_billions, x.seed) for x in models if x.family == "OLMo"} == {
        (size, seed) for size in (7, 13) for seed in range(4)
    }


def test_a_name_of_a_published_table_holds_for_that_table_alone() -> None:
    assert find_features("OLMo 7B", corpus="hu-frank-2024-syntax") is features_in_paper("hu-frank-2024")["OLMo 7B"]
    assert features_in_paper("hu-frank-2024")["OLMo 7B"].generation == "1"
    assert features_in_paper("song-2025")["OLMo 7B"].generation == "2"
    assert find_features("OLMo 7B") is None
    assert find_features("OLMo 7B", corpus="blimp") is None


def test_nothing_is_guessed_from_a_name() -> None:
    for name in ("llama-3.1-8b", "Llama-3.1-8B-finetuned", "my-org/Llama-3.1-8B", "gpt2-small"):
        assert find_features(name) is None, name


def test_what_the_user_declares_comes_first() -> None:
    mine = ModelFeatures(family="Mine", generation="1", size_billions=0.1, type="base")
    assert find_features("gpt2", given={"gpt2": mine}) is mine
    assert find_features("short", model_id="org/long", given={"org/long": mine}) is mine
    assert find_features("local-copy", model_id="openai-community/gpt2") is shipped_features()["openai-community/gpt2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size_billions": -1}, "size_billions is -1"),
        ({"size_billions": "7B"}, "expected a number, such as 1.7"),
        ({"type": "chat"}, "type is 'chat'; expected one of base, instruct"),
        ({"parameters": 7}, "unknown or missing parameters; expected family"),
        ({"family": None}, "unknown or missing family"),
    ],
)
def test_wrong_declarations_are_refused(change: dict[str, object], message: str) -> None:
    entry = {"name": "mine", "family": "Mine", "generation": 1, "size_billions": 7, "type": "base"} | change
    entry = {key: value for key, value in entry.items() if value is not None}
    with pytest.raises(BankError, match=message):
        features_from_entries([entry])


def test_a_model_declared_twice_is_refused() -> None:
    entry = {"name": "mine", "family": "Mine", "generation": "1", "size_billions": 7, "type": "base"}
    with pytest.raises(BankError, match="declared twice"):
        features_from_entries([entry, entry])


def test_match_types_exclude_each_other_in_the_published_order() -> None:
    known = features_in_paper("song-2025")

    def of(a: str, b: str) -> str:
        assert match_type(a, known[a], b, known[b]) == match_type(b, known[b], a, known[a])
        return match_type(a, known[a], b, known[b])

    assert of("OLMo 7B", "OLMo 7B") == "self"
    assert of("OLMo 7B", "OLMo 7B-seed1") == of("OLMo 7B-seed2", "OLMo 7B-seed3") == "seed variant"
    assert of("Qwen 7B", "Qwen 7B IT") == "base/instruct"
    assert of("OLMo 7B", "OLMo 13B") == "same family"
    # same family, size and type, but another generation
    assert of("Llama3.1 70B IT", "Llama3.3 70B IT") == "same family"
    assert of("Qwen 7B", "OLMo 7B") == "other"


def test_a_model_that_nobody_declared_matches_itself_and_is_undeclared_with_others() -> None:
    known = shipped_features()["openai-community/gpt2"]
    assert match_type("x", None, "x", None) == "self"
    assert match_type("x", None, "y", None) == match_type("x", None, "gpt2", known) == "undeclared"


def naive_keep(direct: np.ndarray, meta: np.ndarray) -> list[bool]:
    """The filter as the paper's R has it: rows of model x prompt, then two means an item."""
    kept = []
    for item in range(direct.shape[1]):
        rows = [
            (direct[model, item] < 0, meta[prompt, model, item] < 0)
            for prompt in range(meta.shape[0])
            for model in range(meta.shape[1])
            if not np.isnan(meta[prompt, model, item])
        ]
        means = np.mean(rows, axis=0)
        kept.append(bool(((means >= 0.05) & (means <= 0.95)).all()))
    return kept


def test_the_filter_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    easy = rng.normal(1.5, 1.0, 400)
    direct = easy + rng.normal(0, 0.8, (21, 400))
    meta = easy + rng.normal(0, 0.8, (8, 21, 400))
    meta[2, 5, :100] = np.nan
    result = disagreement(direct, meta)
    assert result["kept"].tolist() == naive_keep(direct, meta)
    assert 20 < result["kept"].sum() < 380
    assert len(result) == 400
    assert (result["outcome"] == "kept").tolist() == result["kept"].tolist()


def test_the_filter_keeps_its_borders_and_counts_cells_not_models() -> None:
    # 20 models, 1 prompt: 1 of 20 negative is .05 exactly, 19 of 20 is .95 exactly
    direct, meta = np.ones((20, 6)), np.ones((1, 20, 6))
    direct[0, :5] = meta[0, 0, [0, 1, 3, 4]] = -1
    direct[:19, 1] = -1  # 19 of 20
    meta[0, :19, 3] = -1
    direct[:, 4] = -1  # all of them
    result = disagreement(direct, meta)
    assert result["kept"].tolist() == [True, True, False, True, False, False]
    assert result["direct_negative_share"].tolist() == [0.05, 0.95, 0.05, 0.05, 1.0, 0.0]
    agree = ["prompted answers agree", "direct answers agree", "both agree"]
    assert result["outcome"].tolist() == ["kept", "kept", agree[0], "kept", *agree[1:]]
    # 1 negative cell of 21 models x 8 prompts is .006: too few, although one model of 21 differs
    many = np.ones((8, 21, 1))
    many[0, 0, 0] = -1
    mixed = np.where(np.arange(21)[:, np.newaxis] < 10, -1.0, 1.0)
    assert disagreement(mixed, many)["meta_negative_share"][0] == 1 / 168
    assert not disagreement(mixed, many)["kept"][0]


def test_a_delta_of_zero_is_not_negative_and_the_direct_delta_counts_once_for_each_prompt() -> None:
    direct = np.array([[-1.0], [1.0]])
    meta = np.array([[[-1.0], [0.0]], [[0.0], [np.nan]]])
    result = disagreement(direct, meta)
    # the first model answers two prompts and the second one: 2 of 3 rows have a negative direct delta
    assert result["direct_negative_share"][0] == pytest.approx(2 / 3)
    assert result["meta_negative_share"][0] == pytest.approx(1 / 3)


def test_an_item_without_answers_is_not_kept() -> None:
    result = disagreement(np.array([[1.0, -1.0]]), np.array([[[np.nan, 1.0]]]))
    assert np.isnan(result["meta_negative_share"][0])
    assert result["kept"].tolist() == [False, False]
    with pytest.raises(BankError, match=r"expected \(models, items\)"):
        disagreement(np.ones((2, 3)), np.ones((1, 2, 4)))
    with pytest.raises(BankError, match="least_share is 5"):
        disagreement(np.ones((2, 3)), np.ones((1, 2, 3)), least_share=5)


def test_correlations_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(1)
    direct, meta = rng.normal(3, 2, (4, 60)), rng.normal(-1, 5, (3, 4, 60))
    result = pair_correlations(stack(direct, meta))
    for a, b in itertools.product(range(4), range(4)):
        r = [np.corrcoef(direct[a], meta[p, b])[0, 1] for p in range(3)]
        assert result.meta_direct[a, b] == pytest.approx(np.mean(r), abs=1e-12)
        assert result.meta_direct_by_prompt[:, a, b] == pytest.approx(np.array(r), abs=1e-12)
        assert result.direct_direct[a, b] == pytest.approx(np.corrcoef(direct[a], direct[b])[0, 1], abs=1e-12)
    assert (np.diag(result.direct_direct) == 1).all()


def test_an_undefined_prompt_is_left_out_of_the_mean_as_published() -> None:
    rng = np.random.default_rng(2)
    direct, meta = rng.normal(size=(2, 30)), rng.normal(size=(2, 2, 30))
    meta[0, 1] = 0.7  # always the same answer: r is undefined
    table = pair_table(stack(direct, meta), {}).set_index(["direct_model", "meta_model"])
    only = np.corrcoef(direct[0], meta[1, 1])[0, 1]
    assert table.loc[("a", "b"), "meta_direct"] == pytest.approx(only)
    assert table["n_prompts"].tolist() == [2, 1, 2, 1]
    meta[1, 1] = -2.0
    table = pair_table(stack(direct, meta), {}).set_index(["direct_model", "meta_model"])
    assert table["meta_direct"].isna().tolist() == [False, True, False, True]
    assert table["reason"].dropna().tolist() == ["the deltas of no prompt vary"] * 2


def test_all_pairs_rest_on_the_items_that_every_model_has() -> None:
    rng = np.random.default_rng(2)
    direct, meta = rng.normal(size=(2, 30)), rng.normal(size=(2, 2, 30))
    meta[0, 1, :10] = np.nan
    meta[1, 1] = np.nan  # the second model was not asked the second prompt at all
    result = pair_correlations(stack(direct, meta))
    assert result.n_items_by_prompt.tolist() == [20, 30]
    assert result.meta_direct_by_prompt[0, 0, 0] == pytest.approx(np.corrcoef(direct[0, 10:], meta[0, 0, 10:])[0, 1])
    assert np.isnan(result.meta_direct_by_prompt[1, :, 1]).all()
    assert result.meta_direct_by_prompt[1, 1, 0] == pytest.approx(np.corrcoef(direct[1], meta[1, 0])[0, 1])


def test_pairs_of_models_without_a_method_say_so() -> None:
    direct, meta = np.array([[1.0, 2.0, 3.0], [np.nan] * 3]), np.array([[[1.0, 0.0, 2.0], [3.0, 1.0, 2.0]]])
    table = pair_table(stack(direct, meta), {})
    assert table["reason"].tolist()[1:] == ["b has no direct scores"] * 3
    assert table["meta_direct"].notna().tolist() == [True, True, False, False]  # a read, b asked is defined
    one = pair_table(stack(direct[:1, :1], meta[:, :1, :1]), {})
    assert one["reason"].tolist() == ["a correlation needs 2 items, there are 1"]
    none = pair_table(stack(direct[:1, :0], meta[:, :1, :0]), {})
    assert none["reason"].notna().all()


def test_sizes_and_match_types_stand_beside_the_pairs() -> None:
    rng = np.random.default_rng(2)
    both = stack(rng.normal(size=(2, 9)), rng.normal(size=(1, 2, 9)))
    table = pair_table(both, {"a": find_features("Qwen2.5-72B"), "b": None})
    assert table["match_type"].tolist() == ["self", "undeclared", "undeclared", "self"]
    assert table["direct_size_billions"].isna().tolist() == [False, False, True, True]
    assert big_models(table)[["direct_model", "meta_model"]].values.tolist() == [["a", "a"]]


def test_tables_are_aligned_by_item_and_identical_sides_left_out() -> None:
    values = np.array([1.0, -2.0, 0.5, 3.0])
    first, second = scored_frame("m", values, {"meta": values}), scored_frame("n", 2 * values, {"meta": values})
    first.frame["flags"] = [[], ["identical_sides"], [], []]
    shuffled = second.frame.iloc[[3, 1, 0]]
    second = type(second)(corpus="toy", model="n", frame=shuffled, layouts=second.layouts)
    result = stack_deltas([first, second])
    assert result.item_ids == ("toy/0000", "toy/0002", "toy/0003")
    assert result.n_identical == 1
    np.testing.assert_array_equal(result.direct_nats, [[1.0, 0.5, 3.0], [2.0, np.nan, 6.0]])
    assert result.meta_nats.shape == (1, 2, 3)


def test_models_need_not_share_all_methods_but_corpora_must_be_one() -> None:
    values = np.array([1.0, -2.0, 0.5])
    tables = [scored_frame("m", values, {"p": values}), scored_frame("n", values, {"q": values})]
    result = stack_deltas(tables)
    assert result.prompts == ("p", "q")
    assert np.isnan(result.meta_nats[0, 1]).all()
    assert choice("p") in tables[0].layouts
    with pytest.raises(BankError, match="expected one corpus, each model once"):
        stack_deltas([tables[0], tables[0]])
    with pytest.raises(BankError, match="expected one corpus, each model once"):
        stack_deltas([tables[0], scored_frame("n", values, {"q": values}, corpus="other")])


def test_a_method_without_numbers_is_no_reference_of_a_stack() -> None:
    values = np.array([1.0, -2.0, 0.5])
    own = scored_frame("m", values, {"p": values})
    other = direct("logprob_minicons")
    scored = own.frame.assign(logprob_minicons_delta=values, direct_delta=np.nan)
    result = stack_deltas([replace(own, frame=scored, layouts=(*own.layouts, other))])
    assert result.reference == "logprob_minicons"
    np.testing.assert_array_equal(result.direct_nats, [values])
