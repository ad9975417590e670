"""The introspection report as a user gets it: real scores of 13 models, few models, undeclared ones, figures, speed."""

import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairbank
from pairbank.errors import BankError
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.analyses.introspection.section import introspection
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures, features_in_paper
from scored_frames import related_frames, scored_frame
from shared_files import present

PUBLISHED_MODELS = features_in_paper("song-2025")


def made(tables: list[ScoredFrame], features: dict[str, ModelFeatures] | None = None) -> Section:
    return introspection(tables, Context(n_resamples=20, features=features or {}))


def outcomes(result: Section) -> list[str]:
    return result.tables["verdicts"]["published_test"].tolist()


# Real scores: Hu & Frank 2024


@pytest.fixture(scope="module")
def published(shared: Path) -> list[pairbank.Scored]:
    return pairbank.import_scores(present(shared / "published" / "hu_frank_2024_syntax.csv"), profile="hu-frank-2024")


@pytest.fixture(scope="module")
def hu_frank(published: list[pairbank.Scored]) -> list[ScoredFrame]:
    return [
        ScoredFrame(
            corpus=scored.corpus,
            model=scored.model,
            frame=scored.to_pandas(),
            layouts=tuple(MethodLayout.from_dict(layout) for layout in scored.layouts),
            signature=scored.signature,
        )
        for scored in published
    ]


@pytest.fixture(scope="module")
def hu_frank_section(hu_frank: list[ScoredFrame]) -> Section:
    return introspection(hu_frank, Context(n_resamples=100))


@pytest.fixture(scope="module")
def raw(shared: Path, hu_frank: list[ScoredFrame]) -> dict[str, pd.DataFrame]:
    """Direct and asked deltas by model (rows: items), from the file alone, without the pair of equal sentences."""
    table = pd.read_csv(shared / "published" / "hu_frank_2024_syntax.csv", low_memory=False)
    good = table["good_sentence"].fillna(table["sentence_grammatical"])
    table = table[good != table["bad_sentence"].fillna(table["sentence_ungrammatical"])]
    answer = {(order, n): table[f"meta_sum_logprob_{order}_first_{n}"] for order in ("good", "bad") for n in (1, 2)}
    direct = table["direct_sum_logprob_good_sentence"] - table["direct_sum_logprob_bad_sentence"]
    # Song et al.'s equation 1, the mean over both orders
    asked = (answer["good", 1] - answer["good", 2] + answer["bad", 2] - answer["bad", 1]) / 2
    table = table.assign(direct=direct, asked=asked, item=table["dataset"] + "/" + table["item_id"].astype(str))
    assert len(hu_frank) == 13
    return {name: table.pivot_table(index="item", columns="model", values=name) for name in ("direct", "asked")}


@pytest.mark.ci
@pytest.mark.upstream
def test_pairs_of_hu_and_frank_are_those_of_a_plain_loop(
    hu_frank_section: Section, raw: dict[str, pd.DataFrame]
) -> None:
    pairs = hu_frank_section.tables["pairs"]
    assert len(raw["direct"]) == 724
    for items in ("all", "disagreed"):
        keep = pd.Series(data=True, index=raw["direct"].index)
        if items == "disagreed":
            for deltas in raw.values():  # one prompt: rows are models
                keep &= (deltas < 0).mean(axis=1).between(0.05, 0.95)
            assert keep.sum() == 240
        for pair in pairs[pairs["items"] == items].itertuples():
            a, b = raw["direct"][keep][pair.direct_model], raw["asked"][keep][pair.meta_model]
            assert pair.meta_direct == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-6)
            other = raw["direct"][keep][pair.meta_model]
            assert pair.direct_direct == pytest.approx(np.corrcoef(a, other)[0, 1], abs=1e-6)
            assert pair.n_items == keep.sum()


@pytest.mark.ci
@pytest.mark.upstream
def test_what_the_report_says_of_hu_and_frank(hu_frank_section: Section) -> None:
    result = hu_frank_section
    assert outcomes(result) == ["no self-advantage"] * 2
    types = result.tables["match_types"]
    # 13 base models: Llama-2 3, Pythia 5, Gemma 2, OLMo 2, Mistral 1: 6 + 20 + 2 + 2 ordered pairs of a family
    counts = types[types["items"] == "all"].set_index("match_type")["n_pairs"].to_dict()
    assert counts == {"self": 13, "same family": 30, "other": 126}
    assert "13 models, 1 prompted method (hf24_paired), 724 items (1 more with identical sides" in result.text
    assert "self is ahead of no other type of model" in result.text
    assert "No evidence" not in result.text
    # Mistral has no relative; of the 240 disagreed items, no advantage could have been seen
    assert result.tables["verdicts"]["beyond_relatives"].tolist() == ["not shown", "inconclusive"]
    rests = "12 models of 4 families, n = 724 items of 75 paradigms, which are the draws"
    assert f"+0.004 [-0.014, +0.022] in r ({rests}). The minimum detectable effect (80% power) is 0.024." in result.text
    assert "Nothing is declared" not in result.text
    assert result.tables["models"]["declared"].all()
    assert result.tables["filter"].groupby("corpus")["kept"].sum().tolist() == [240]


@pytest.mark.ci
@pytest.mark.upstream
def test_correct_answers_of_hu_and_frank_grow_with_size_when_asked(hu_frank_section: Section) -> None:
    # As they published (their glmer has log10 size +.14, meta -2.18 and meta x size +1.09): asking costs small models
    fits = hu_frank_section.tables["regressions"]
    fit = fits[fits["table"].str.startswith("Table 5") & (fits["items"] == "all")].set_index("term")
    assert fit["n"].iloc[0] == 2 * 13 * 724
    assert fit["estimate"]["is_meta"] == pytest.approx(-1.81, abs=0.1)  # the same without terms for models: -1.810730
    assert fit["estimate"]["is_meta:log size"] > 0
    assert fit["p_value"]["is_meta:log size"] < 1e-6


# Made-up scores


def test_declared_relatives_get_the_published_regressions() -> None:
    result = made(related_frames(list(PUBLISHED_MODELS), n_items=120, n_prompts=2), dict(PUBLISHED_MODELS))
    fits = result.tables["regressions"]
    assert fits["reason"].isna().all()
    names = list(dict.fromkeys(name.split(":")[0] for name in fits["table"]))
    assert names == ["Table 5", "Table 6", "Table 7a", "Table 7b", "Table 8", "section 3.2.2"]
    types = result.tables["match_types"]
    assert set(types["match_type"]) == {"self", "seed variant", "base/instruct", "same family", "other"}
    contrasts = result.tables["self_contrasts"]
    equal = contrasts[(contrasts["control"] == "similarity") & (contrasts["items"] == "all")].set_index("match_type")
    fit = fits[fits["table"].str.startswith("Table 7a") & (fits["items"] == "all")].set_index("term")["estimate"]
    for kind in ("seed variant", "base/instruct", "same family", "other"):
        assert equal["value"][kind] == pytest.approx(-fit[kind], abs=1e-9)


@pytest.mark.parametrize("n_models", [1, 2])
def test_few_models_are_told_what_could_not_be_estimated_and_why(n_models: int) -> None:
    result = made(related_frames(["SmolLM2-135M", "SmolLM2-135M-Instruct"][:n_models], n_items=60, n_prompts=2))
    assert outcomes(result) == ["not estimable"] * 2
    assert result.tables["verdicts"]["reason"].notna().all()
    assert f"{ {1: 'Only one model has', 2: 'Only two models have'}[n_models] } both direct and prompted" in result.text
    assert ("What can be said" in result.text) == (n_models == 2)
    assert set(result.tables["verdicts"]["beyond_relatives"]) == {"inconclusive"}
    own = result.tables["own_advantage"].set_index("quantity")
    assert own["value"]["advantage over closest declared relatives"].isna().all()
    assert own["value"]["partial r given all other models"].notna().all() == (n_models == 2)
    for table in result.tables.values():
        if "reason" in table and "value" in table:
            assert (table["value"].notna() | table["reason"].notna()).all()
    for figure in result.figures:
        figure.draw()


def test_models_that_nobody_declared_are_named_and_still_compared() -> None:
    result = made(related_frames(["mine", "yours", "theirs", "ours"], n_items=100, n_prompts=2))
    assert outcomes(result)[0] != "not estimable"
    assert "Nothing is declared about mine, yours, theirs, ours" in result.text
    assert set(result.tables["pairs"]["match_type"]) == {"self", "undeclared"}
    fits = result.tables["regressions"]
    sizes = fits[fits["table"].str.startswith("Table 6")]
    assert sizes["estimate"].isna().all()
    assert set(sizes["reason"]) == {"0 observations cannot determine 4 coefficients"}
    models = result.tables["models"]
    assert not models["declared"].any()


def test_a_model_is_known_by_its_hub_id_where_its_name_is_not() -> None:
    values = np.random.default_rng(0).normal(size=30)
    tables = [
        scored_frame("copy", values, {"p": values}, model_id="openai-community/gpt2"),
        scored_frame("gpt2-xl", -values, {"p": values}),
    ]
    assert made(tables).tables["models"]["family"].tolist() == ["GPT-2", "GPT-2"]


def test_each_corpus_is_analysed_and_one_without_prompts_is_passed_over() -> None:
    names = ["a", "b", "c"]
    tables = related_frames(names, n_items=50, n_prompts=1)
    tables += [
        scored_frame(n, t.frame["direct_delta"].to_numpy(), {}, corpus="bare")
        for n, t in zip(names, tables, strict=True)
    ]
    tables += [
        scored_frame(
            t.model, t.frame["direct_delta"].to_numpy(), {"q": t.frame["prompt_0_delta"].to_numpy()}, corpus="more"
        )
        for t in tables[:3]
    ]
    result = made(tables)
    assert result.tables["verdicts"]["corpus"].tolist() == ["toy", "toy", "more", "more"]
    with pytest.raises(BankError, match="no corpus is scored both directly and with a prompt"):
        made(tables[3:6])


def test_answers_that_never_differ_have_reasons_and_no_numbers() -> None:
    values = np.random.default_rng(0).normal(size=(4, 40))
    tables = [scored_frame(name, values[nth], {"p": np.full(40, 0.3)}) for nth, name in enumerate("abcd")]
    result = made(tables)
    assert outcomes(result) == ["not estimable"] * 2
    pairs = result.tables["pairs"]
    assert pairs["meta_direct"].isna().all()
    assert set(pairs[pairs["items"] == "all"]["reason"]) == {"the deltas of no prompt vary"}
    assert set(pairs[pairs["items"] == "disagreed"]["reason"]) == {"there are no items"}
    assert [figure.name for figure in result.figures] == ["introspection_accuracy"]


def test_identical_models_are_no_error() -> None:
    values = np.random.default_rng(0).normal(size=(2, 40))
    result = made([scored_frame(name, values[0], {"p": values[1]}) for name in "abc"])
    assert outcomes(result) == ["not estimable"] * 2
    assert "linearly dependent" in str(result.tables["own_advantage"]["reason"].iloc[2])


@pytest.mark.ci
def test_21_models_9_methods_and_1048_items_take_seconds() -> None:
    names = list(PUBLISHED_MODELS)
    tables = related_frames(names, n_items=1048, n_prompts=8)
    started = time.process_time()
    result = introspection(tables, Context(n_resamples=200, features=dict(PUBLISHED_MODELS)))
    assert time.process_time() - started < 10
    assert len(result.tables["pairs"]) == 2 * 441
    assert math.isfinite(result.tables["self_contrasts"]["low"].sum())
