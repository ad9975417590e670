"""The card: what it says of a bank, and the check that holds its figures to the results."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib.pyplot as plt
import pytest
import yaml

import pairbank
from bank_fixtures import Score, bank_of, rehashed
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.dataset import MANIFEST
from pairbank.builders.sources.source import bibtex
from pairbank.cards.bank.layout import read_manifest
from pairbank.cards.bank.tables import read_summary
from pairbank.cards.card.croissant import PLL_CITES, bibtex_of, entries
from pairbank.cards.card.render import figures_in, results_shown
from pairbank.cards.check import figure_problems
from pairbank.errors import BankError
from pairbank.scoring.methods.registry import FAMILIES, cites_of, method_named
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.scored import Scored
from pairbank.stats.report.summary import summarise


@pytest.fixture
def bank(tmp_path: Path, own_pairs: Path) -> Path:
    items = pairbank.load_corpus(own_pairs, language="pt-BR")
    return bank_of(
        tmp_path / "bank",
        items,
        "fake-1",
        methods=("direct", "acceptability_judgment_i"),
        command="pairbank score own.csv",
    )


def page_of(bank: Path) -> str:
    return (bank / "README.md").read_text(encoding="utf-8")


def problems(bank: Path, page: str) -> list[str]:
    return figure_problems(page, read_summary(bank), {"own": 4})


def test_the_check_finds_every_figure_of_a_card_and_each_change_of_one(
    bank: Path, tmp_path: Path, scored_by: Score
) -> None:
    bank = pairbank.write_bank(tmp_path / "judged", scored=[scored_by("fake-1", limit=2)])
    page, summary = page_of(bank), read_summary(bank)
    assert summary is not None
    n_items = {"starter": 8}
    assert figure_problems(page, summary, n_items) == []
    assert figure_problems(page, summary, {"starter": 9}) == ["starter: the card says 8 items, the bank has 9"]
    cells = re.findall(r"(?<=\| )-?\d\.\d\d \[-?\d\.\d\d, -?\d\.\d\d\]", page)
    defined = results_shown(summary)["low"].notna().sum()
    assert len(cells) == defined
    for number in range(len(cells)):
        places = list(re.finditer(r"(?<=\| )-?\d\.\d\d(?= \[-?\d\.\d\d, )", page))
        start, end = places[number].span()
        changed = f"{float(page[start:end]) + 0.01:.2f}"
        [problem] = figure_problems(page[:start] + changed + page[end:], summary, n_items)
        assert f"the card says {changed}" in problem


def test_a_row_that_is_gone_or_invented_is_found(bank: Path) -> None:
    page = page_of(bank)
    assert problems(bank, page) == []
    assert "| fake-1 | own | all | direct | human | 4 | 0 |" in page
    [line] = [x for x in page.splitlines() if x.startswith("| fake-1 | own | all | direct | 4 |")]
    assert problems(bank, page.replace(line + "\n", "")) == [
        "fake-1 / own / all / direct /  / accuracy: not on the card"
    ]
    invented = line.replace("fake-1", "fake-9")
    [problem] = problems(bank, page.replace(line, f"{line}\n{invented}"))
    assert "fake-9 / own / all / direct /  / accuracy: the card says" in problem
    [problem] = problems(bank, page.replace(line, line.replace("| 4 |", "| 40 |")))
    assert "n = 40, the results 4" in problem


def test_the_head_names_configs_languages_licence_and_tasks(bank: Path) -> None:
    head = yaml.safe_load(page_of(bank).split("---\n")[1])
    assert [c["config_name"] for c in head["configs"]] == ["own", "own_scored", "own_long", "summary"]
    assert head["language"] == ["pt"]
    assert head["language_bcp47"] == ["pt-BR"]
    assert head["license"] == ["unknown"]
    assert head["task_ids"] == ["acceptability-classification"]
    assert head["size_categories"] == ["n<1K"]


def test_the_card_says_how_scored_numbers_were_made_and_claims_nothing_of_imported_ones(
    bank: Path, tmp_path: Path
) -> None:
    page = page_of(bank)
    assert "normalised in float32" in page
    assert "**fake-1** (`pairbank/fake-1` at `1`): FakeScorer in float64; not quantised; prompts as plain text;" in page
    assert "```sh\npairbank score own.csv\n```" in page
    (tmp_path / "theirs.csv").write_text(
        "good,bad,model,direct_good,direct_bad\nA b.,B a.,gpt2,-1,-2\nC d.,D c.,gpt2,-3,-2\n"
    )
    imported = pairbank.write_bank(tmp_path / "imported", scored=pairbank.import_scores(tmp_path / "theirs.csv"))
    page = page_of(imported)
    assert "normalised in float32" not in page
    assert "Computed elsewhere and imported; how these numbers were normalised" in page
    assert re.search(r"- `theirs.csv` \(sha256 `[0-9a-f]{12}`; .*corpus theirs: gpt2\.", page)


def test_figures_of_reports_stand_on_the_card_by_relative_path(bank: Path) -> None:
    folder = bank / "reports" / "mine"
    folder.mkdir(parents=True)
    figure = plt.figure()
    figure.savefig(folder / "scatter_plot.png", dpi=20)
    figure.savefig(folder / "named.png", dpi=20)
    plt.close(figure)
    (folder / "captions.json").write_text('{"named.png": "A caption, n = 4"}')
    pairbank.write_bank(bank)
    page = page_of(bank)
    assert "![A caption, n = 4](reports/mine/named.png)" in page
    assert "![scatter plot](reports/mine/scatter_plot.png)" in page
    pairbank.check_bank(bank)
    (folder / "captions.json").write_text('{"named.png": 4}')
    with pytest.raises(BankError, match=r"captions.json: expected a caption \(a text\) for each file name"):
        pairbank.write_bank(bank)


def test_a_caption_is_on_the_card_as_its_figure_has_it(tmp_path: Path, own_pairs: Path) -> None:
    scored = pairbank.score(pairbank.load_corpus(own_pairs), "fake:<i>&amp;*fake*", methods=("direct",))
    made = pairbank.report([scored])
    figures = [replace(figure, caption="Log P of <i>&amp;*fake*, n = 4") for figure in made.figures]
    assert figures
    bank = pairbank.write_bank(
        tmp_path / "bank",
        scored=[scored],
        reports={"mine": replace(made, overview=replace(made.overview, figures=tuple(figures)))},
    )
    captions = [*figures_in(bank).values()]
    assert captions == ["Log P of <i>&amp;*fake*, n = 4"] * len(figures)
    assert page_of(bank).count("![Log P of &lt;i&gt;&amp;amp;\\*fake\\*, n = 4](reports/mine/figures/") == len(figures)


def test_every_corpus_has_a_citation_that_reads_as_bibtex() -> None:
    for corpus in CORPORA.values():
        result = entries(corpus.source.citation)
        assert result, corpus.name
        for key, entry in result.items():
            assert entry.count("{") == entry.count("}"), key
            assert re.search(r"\b(title)\s*=", entry), (corpus.name, key)
            assert re.search(r"\b(year|date)\s*=", entry), (corpus.name, key)


def manifest_with(methods: Mapping[str, Mapping[str, Any]], **model: str) -> dict[str, Any]:
    """Return the manifest of a bank whose one table has these methods."""
    return {"corpora": {}, "scores": {"own": {"fake_1": {"model": model, "methods": methods}}}}


@pytest.mark.parametrize("name", [*FAMILIES, *prompts()])
def test_every_methods_works_are_on_the_card(name: str) -> None:
    definition = method_named(name).definition
    assert definition["cites"], "a method that ships has a paper"
    shown = bibtex_of(manifest_with({name: definition}))
    assert [key for text in shown for key in entries(text)] == ["pairbank", *sorted(definition["cites"])]
    assert shown[1:] == [bibtex(key) for key in sorted(definition["cites"])]


@pytest.mark.parametrize("name", ["slor", "direct", "meta_question_simple@2shot", "social24_choice"])
def test_a_table_that_does_not_say_what_to_cite_is_looked_up_by_its_methods_names(name: str) -> None:
    shown = bibtex_of(manifest_with({name: {"paper": "Somebody 1999"}}))
    assert [key for text in shown for key in entries(text)] == ["pairbank", *sorted(cites_of(name))]
    assert cites_of(name)


def test_a_method_of_ones_own_and_a_work_of_a_newer_version_cite_nothing_unknown() -> None:
    assert len(bibtex_of(manifest_with({"mine": {"paper": "none"}}))) == 1
    assert len(bibtex_of(manifest_with({"mine": {"cites": ["nobody2099"]}}))) == 1


@pytest.mark.parametrize("pll", ["original", "within_word_l2r"])
def test_every_way_of_scoring_with_a_masked_model_is_cited(pll: str) -> None:
    [_, work] = bibtex_of(manifest_with({"mine": {"cites": []}}, pll=pll))
    assert work == bibtex(PLL_CITES[pll])


def test_a_figure_under_a_heading_may_be_of_either_metric_that_stands_there(bank: Path) -> None:
    summary = read_summary(bank)
    assert summary is not None
    renamed = summary.replace({"metric": {"pearson": "pearson_logprob", "accuracy_pooled": "accuracy_argmax"}})
    page = page_of(bank).replace("| orders pooled |", "| of likeliest ratings |")
    assert figure_problems(page, renamed, {"own": 4}) == []


def test_papers_are_cited_once_each(bank: Path) -> None:
    manifest = read_manifest(bank)
    keys = [next(iter(entries(entry))) for entry in bibtex_of(manifest)]
    assert keys == ["pairbank", "hu2023prompting", "song2025introspect"]
    for signature in manifest["scores"]["own"].values():
        signature["model"]["pll"] = "within_word_l2r"
    assert "kauf2023better" in "".join(bibtex_of(manifest))


def test_a_large_bank_shows_whole_corpora_only(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", limit=1)
    items = items.select([items["subset"][:].index(subset) for subset in ("minimal-pairs", "plausibility", "concepts")])
    tables = [pairbank.score(items, FakeScorer(name=f"fake-{i}"), methods=("direct",)) for i in range(16)]
    bank = pairbank.write_bank(tmp_path / "many", scored=tables)
    page = page_of(bank)
    assert page.count("| starter | all | direct |") == 16
    assert "subset:" not in page
    pairbank.check_bank(bank)


def test_a_bank_without_scores_has_a_card_too(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", corpora=[pairbank.load_corpus("starter", limit=1)])
    assert "## Results" not in page_of(bank)
    assert pairbank.check_bank(bank)["scores"] == {}


def test_a_bank_whose_tables_do_not_fit_together_is_not_whole(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1"), scored_by("fake-2")])
    table = scored_by("fake-2")
    path = bank / "scores/starter/fake_2.parquet"
    Scored.of(table.dataset.remove_columns("direct_flags"), table.signature).save(path)
    with pytest.raises(BankError, match=r"fake_2.parquet: column\(s\) direct_flags differ from scores/starter/fake_1"):
        pairbank.check_bank(rehashed(bank))
    (bank / "data/starter/more.parquet").write_bytes(b"x")
    with pytest.raises(BankError, match=r"data/starter/more.parquet: not in the manifest"):
        pairbank.check_bank(bank)
    with pytest.raises(BankError, match=r"not a bank \(no manifest.json\)"):
        pairbank.check_bank(tmp_path)


@pytest.mark.ci
def test_estimates_that_a_report_has_of_the_same_table_are_not_computed_again(tmp_path: Path, scored_by: Score) -> None:
    scored = scored_by("fake-1")
    made, other_table = pairbank.report([scored]), pairbank.report([replace(scored)])
    with mock.patch("pairbank.stats.report.report.summarise", wraps=summarise) as computed:
        known = pairbank.write_bank(tmp_path / "a", scored=[scored], reports={"mine": made})
        assert computed.call_count == 0
        anew = pairbank.write_bank(tmp_path / "b", scored=[scored], reports={"mine": other_table})
        assert computed.call_count == 1
    assert (known / "results/summary.parquet").read_bytes() == (anew / "results/summary.parquet").read_bytes()


def test_the_card_says_which_upstream_files_were_not_the_pinned_ones(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=1)
    card = pairbank.write_bank(tmp_path / "whole", corpora=[items]) / "README.md"
    assert "not as published there" not in card.read_text()
    files = items.info.download_checksums[MANIFEST]["files"]
    files |= {f"part-{k}|.zip": {"sha256": "0" * 64, "verified": False} for k in range(12)}
    bank = bank_of(tmp_path / "altered", items, "a-1", "b-2", "c-3")
    page = (bank / "README.md").read_text()
    assert "(**not as published there**: `part-0|.zip`, `part-10|.zip`" in page
    assert " and 4 more differed from the pinned file, or none is pinned); licence:" in page
    pairbank.check_bank(bank)
