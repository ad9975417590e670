"""The language view: languages in their families, phenomena of corpora under one name, and whatever is missing."""

from dataclasses import replace
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.languages import language_facts, typology
from pairbank.errors import BankError
from pairbank.stats.analyses.language_view import MOST_LANGUAGES, OTHER, aligned, languages_in_order, shared_names
from pairbank.stats.analyses.language_view import language_view as section
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, keyed, rated_table


def of_languages(corpus: str, phenomenon: list[str], tags: list[str], *, model: str = "gpt2") -> ScoredFrame:
    """A corpus whose items go through languages and phenomena in turn."""
    table = rated_table(60, corpus=corpus, model=model, seed=len(tags))
    spots = np.arange(60)
    frame = table.frame.assign(
        language=np.array(tags)[spots % len(tags)], phenomenon=np.array(phenomenon)[spots // 7 % len(phenomenon)]
    )
    return replace(table, frame=frame)


def three_models() -> list[ScoredFrame]:
    result = []
    for model in ("gpt2", "bloom", "qwen"):
        result.append(of_languages("one", ["NPI licensing", "SV-#"], ["en", "tr", "fr-CA"], model=model))
        result.append(of_languages("two", ["npi_licensing", "nothing like it"], ["tr", "sw"], model=model))
    result[1] = replace(result[1], layouts=(DIRECT,))
    return result


def test_phenomena_of_two_corpora_are_pooled_under_one_name_in_each_language() -> None:
    tables = three_models()
    result = section(tables)
    cells = keyed(result.tables["phenomena"], "model", "method", "language", "phenomenon")
    cell = cells["gpt2", "direct", "tr", "negation, NPIs"]
    assert cell["corpora"] == "one, two"
    deltas = np.concatenate(
        [
            t.frame["direct_delta"][
                (t.frame["language"] == "tr")
                & t.frame["phenomenon"].str.lower().str.startswith("npi")
                & (t.frame["flags"].str.len() == 0)
            ]
            for t in tables[:2]
        ]
    )
    assert cell["n"] == deltas.size
    assert cell["value"] == pytest.approx((deltas > 0).mean())
    assert cells["gpt2", "direct", "sw", OTHER]["corpora"] == "two"


def test_languages_have_family_and_resources_and_say_where_no_prompt_is() -> None:
    tables = [replace(table, layouts=(DIRECT,)) if table.corpus == "two" else table for table in three_models()]
    result = section(tables)
    languages = result.tables["languages"]
    assert languages["language"].tolist() == ["sw", "en", "fr-CA", "tr"]
    assert languages["resource class"].tolist() == [2, 5, 5, 4]
    assert "No prompt in sw: sentences are scored, but models are not prompted." in result.text
    assert "3 models have all languages" in result.text
    assert result.answer.startswith("4 languages of 4 families and branches (n = ")
    assert "Prompts exist for 3 of them" in result.answer
    for figure in result.figures:
        assert figure.draw().get_axes()


def test_asking_is_held_against_probability_on_the_same_items() -> None:
    """Items that were not asked about, all right, must not stand against the few that were."""
    asked = of_languages("asked", ["SV-#"], ["en", "tr"])
    asked = replace(asked, frame=asked.frame.assign(direct_delta=-1.0))
    scored = of_languages("scored", ["SV-#"], ["en", "tr"])
    scored = replace(scored, frame=scored.frame.assign(direct_delta=1.0), layouts=(DIRECT,))
    answer = section([asked, scored]).answer
    assert "On the same items, `direct` is right in 0.00" in answer


def test_a_model_that_lacks_a_language_is_named_and_one_language_is_an_error() -> None:
    result = section(three_models()[:5])  # the third model lacks corpus two
    assert "Coverage: sw lacks some of the 3 models." in result.text
    only = rated_table(20)
    with pytest.raises(BankError, match=r"1 language\(s\) with scored choices; expected 2 or more"):
        section([only])


def test_the_order_of_tables_changes_no_number() -> None:
    first, again = (section(tables) for tables in (three_models(), three_models()[::-1]))
    for name in ("phenomena", "accuracy", "groups"):
        pd.testing.assert_frame_equal(first.tables[name], again.tables[name])


def test_a_hundred_languages_are_drawn_in_maps_that_can_be_read_and_none_is_left_out() -> None:
    tags = list(CORPORA["multiblimp"].languages)
    tables = []
    for model in ("gpt2", "bloom", "qwen"):
        table = of_languages("many", ["NPI licensing", "SV-#"], tags, model=model)
        frame = pd.concat([table.frame.assign(language=np.roll(tags, shift)[:60]) for shift in (0, 41)])
        tables.append(replace(table, frame=frame.assign(item_id=[str(nth) for nth in range(len(frame))])))
    result = section(tables)
    drawn: dict[str, list[str]] = {}
    for figure in result.figures:
        axes = figure.draw().get_axes()[0]
        rows = [text.get_text() for text in axes.get_yticklabels()]
        assert len(rows) <= MOST_LANGUAGES
        drawn.setdefault(figure.name.removesuffix("_2"), []).extend(rows)
    for name in ("language_view_models", "language_view_gpt2_direct"):
        assert len(drawn[name]) == len(set(drawn[name])) == len(result.tables["languages"])
    assert result.first_figure is not None
    assert result.first_figure.name == "language_view_models"


def test_many_models_stand_in_a_map_a_method_and_none_is_left_out() -> None:
    tables = [of_languages("one", ["SV-#"], ["en", "tr", "fr"], model=f"model-{nth}") for nth in range(19)]
    result = section(tables)
    maps = [one.draw().get_axes()[0] for one in result.figures if one.name.startswith("language_view_models")]
    shown = [text.get_text() for axes in maps for text in axes.get_xticklabels()]
    assert set(shown) == {f"model-{nth}" for nth in range(19)}
    assert len(shown) == 19 * result.tables["accuracy"]["method"].nunique()


def test_every_language_of_a_corpus_is_known_and_unknown_ones_stand_last() -> None:
    tags = {tag.partition("-")[0] for corpus in CORPORA.values() for tag in corpus.languages}
    assert tags <= language_facts().keys()
    assert typology().keys() <= language_facts().keys()
    assert all(fact.resource in {None, 0, 1, 2, 3, 4, 5} for fact in language_facts().values())
    assert languages_in_order(["xx", "ja", "de"]) == ["de", "ja", "xx"]


def test_a_name_of_a_phenomenon_stands_under_one_shared_name() -> None:
    names = [name for result in shared_names().values() for name in result]
    assert len(names) == len(set(names))
    assert all(aligned(name.removesuffix("*")) != OTHER for name in names)
    assert (resources.files("pairbank.stats.analyses") / "phenomena.toml").is_file()
