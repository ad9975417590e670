"""`report`: its page and files, its options, figures that are told apart, and the section of probes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import pairbank
from pairbank.errors import BankError, UnknownNameError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.analyses.neuro import LAYER_DTYPES, Probed, ProbeScores, layer_rows, neuro, summary_rows
from pairbank.stats.report.overview import overview
from pairbank.stats.report.page import pages_of
from pairbank.stats.report.report import Report
from pairbank.stats.report.summary import summarise
from pairbank.stats.scored_table.scored_table import DTYPES, SummaryRow
from rated_tables import rated_table

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAIRS = [("The dogs bark.", "The dogs barks."), ("She saw him.", "She saw he."), ("A b.", "B a."), ("C d.", "D c.")]


def scored(folder: Path, *, name: str = "fake", methods: tuple[str, ...] = ("direct",)) -> Scored:
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps({"good": good, "bad": bad}) + "\n" for good, bad in PAIRS))
    return pairbank.score(pairbank.load_corpus(path), FakeScorer(name=name), methods=methods)


def test_the_page_shows_html_as_text_and_has_every_section_note_and_signature(tmp_path: Path) -> None:
    extra = Section(
        id="extra",
        title="Mine",
        text="A finding.",
        definitions="- none",
        tables={"cells": pd.DataFrame({"name": ["<script>"] * 41, "value": 0.0123456})},
        references=("Somebody 2020",),
    )
    table = scored(tmp_path, name="<b>fake")
    made = pairbank.report(
        [table], title="<i>mine</i>", description="What was done.", notes=["A note."], n_resamples=20
    )
    made = replace(made, sections=(extra,))
    folder = made.save(tmp_path / "report")
    page, own, how = ((folder / name).read_text() for name in ("report.md", "appendix/extra.md", "appendix/how.md"))
    assert page == made.markdown()
    assert page.startswith("# &lt;i&gt;mine&lt;/i&gt;\n\nWhat was done.\n\n## Mine\n\nA finding.\n")
    assert "## Notes\n\n- A note.\n" in page
    for text in ("A finding.", "| &lt;script&gt; | 0.012 |", "The first 40 of 41 rows"):
        assert text in own
    assert "- Somebody 2020" in how
    assert "| &lt;b&gt;fake |" in page
    html = (folder / "report.html").read_text()
    assert html == made.html()
    for text in (page, own, html):  # signatures stand between backticks in the Markdown
        assert "<script>" not in text
        assert "<b>fake" not in text
    assert '<details id="extra"><summary>Mine</summary>' in html
    cells = pd.read_csv(folder / "extra_cells.csv")
    assert cells.shape == (41, 2)
    assert cells["value"][0] == 0.0123456
    (folder / "figures" / "stale.png").write_bytes(b"")
    made.save(folder)
    assert not (folder / "figures" / "stale.png").exists()


def test_pages_have_names_for_ids_also_before_a_reading_and_no_empty_table(tmp_path: Path) -> None:
    extra = Section(
        id="extra",
        title="What `direct` is",
        text="Rated by `direct` (argmax).",
        definitions="- none",
        tables={
            "cells": pd.DataFrame({"method": ["direct (argmax)", "other (mean)"], "value": [-0.0, 1.0]}),
            "rows": pd.DataFrame({"method": pd.Series(dtype=object), "value": pd.Series(dtype=float)}),
        },
        main_table="rows",
    )
    made = replace(pairbank.report([scored(tmp_path)], n_resamples=20), sections=(extra,))
    folder = made.save(tmp_path / "report")
    page, own, html = ((folder / n).read_text() for n in ("report.md", "appendix/extra.md", "report.html"))
    assert "| Direct (argmax) | 0.00 |\n| other (mean) | 1.00 |" in own
    assert "Rated by Direct (argmax)." in own
    assert "## Rows" not in own
    assert "|  |" not in page
    assert "<summary>What <code>direct</code> is</summary>" in html


def test_pages_cut_long_tables_with_a_note_and_state_random_draws(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"model": [f"m{i}" for i in range(41)], "gap": [0.5, *[float("nan")] * 40], "none": float("nan")}
    )
    section = Section(
        id="own",
        title="Own",
        text="All of it.",
        main_table="long",
        tables={"long": table, "full": table.head(40)},
        draws="50 resamples of items",
    )
    pages = pages_of(replace(pairbank.report([scored(tmp_path)], seed=7), sections=(section,)))
    first, appendix = pages["report.md"], pages["appendix/own.md"]
    assert "| model | gap |" in first, "a column with one number stays, one without any does not"
    assert "The first 30 of 41 rows; all are in `own_long.csv`." in first
    assert appendix.count("The first 40 of") == 1
    assert "The first 40 of 41 rows; all are in `own_long.csv`." in appendix
    assert "Seed 7. `own`: 50 resamples of items." in pages["appendix/how.md"]


def test_a_notebook_shows_the_first_page_without_its_links_to_files(tmp_path: Path) -> None:
    shown = pairbank.report([scored(tmp_path)])._repr_html_()
    assert "data:image/png;base64," in shown
    assert "appendix/" not in shown


def test_options_of_an_analysis_that_does_not_exist_are_refused(tmp_path: Path) -> None:
    tables = [scored(tmp_path)]
    with pytest.raises(UnknownNameError, match="no analysis 'peple'; did you mean 'people'"):
        pairbank.report(tables, options={"peple": {}})
    with pytest.raises(BankError, match="scored twice: mine by fake"):
        pairbank.report([*tables, *tables])


def test_figures_of_corpora_in_other_scripts_have_files_of_their_own(tmp_path: Path) -> None:
    tables = []
    for name in ("他", "书"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"good": good, "bad": bad}) + "\n" for good, bad in PAIRS))
        tables.append(pairbank.score(pairbank.load_corpus(path), FakeScorer(), methods=["direct"]))
    names = [figure.name for figure in pairbank.report(tables, n_resamples=20).figures]
    assert len(names) == len(set(names)) == 2


def probed(f1: list[list[float]], control: list[list[float]], *, corpus: str = "toy") -> Probed:
    """Return what `probe` would, from F1 (= accuracy) of each layer and fold."""
    place = SummaryRow(model="m/1", corpus=corpus, group_by="all", group="", method="neuro")
    real, fake = np.array(f1), np.array(control)
    scores = ProbeScores(real={"f1": real, "accuracy": real}, control={"f1": fake, "accuracy": fake})
    layers = pd.DataFrame(list(layer_rows(scores, place, n_layers=len(f1), n_pairs=20)))
    summary = pd.DataFrame(list(summary_rows(scores, place, n_pairs=20, n_rows=21)))
    return Probed(
        layers=layers.astype(LAYER_DTYPES)[list(LAYER_DTYPES)],
        summary=summary.astype(DTYPES)[list(DTYPES)],
        signature={},
    )


def test_the_section_of_probes_says_the_best_layer_and_what_the_control_reaches() -> None:
    # layer 0 is the embedding; the best of the others has F1 .8, the control .55; folds choose layer 1 throughout
    one = probed([[0.9, 0.9], [0.7, 0.9], [0.6, 0.6]], [[0.5, 0.5], [0.5, 0.6], [0.4, 0.4]])
    section = neuro([], Context(probed=[one]))
    assert "toy by m/1: a probe's F1 at its best layer is 0.80" in section.text
    assert "the best layer reaches 0.55" in section.text
    (figure,) = section.figures
    assert figure.name == "neuro_toy_m_1"
    drawn = [line.get_ydata() for line in figure.draw().axes[0].lines[:2]]
    assert np.asarray(drawn) == pytest.approx(np.array([[0.9, 0.8, 0.6], [0.5, 0.55, 0.4]]), abs=1e-12)


def test_no_probe_is_an_error_and_one_without_a_value_says_why() -> None:
    with pytest.raises(BankError, match="no probes to report"):
        neuro([], Context())
    place = SummaryRow(model="m", corpus="toy", group_by="all", group="", method="neuro")
    empty = Probed(
        layers=pd.DataFrame(list(layer_rows("too few pairs", place, n_layers=2, n_pairs=1))).astype(LAYER_DTYPES),
        summary=pd.DataFrame(list(summary_rows("too few pairs", place, n_pairs=1, n_rows=1))).astype(DTYPES),
        signature={},
    )
    section = neuro([], Context(probed=[empty]))
    assert section.text == "toy by m: no probe (too few pairs)."
    assert section.answer == "No probe of m could be fitted on toy (1 group): too few pairs."
    assert section.main_table == ""  # empty cells are no table to begin with
    assert section.figures == ()


def test_people_are_drawn_once_beside_several_models() -> None:
    frames = [rated_table(seed=seed, model=f"m{seed}") for seed in range(3)]
    summary = pd.concat([summarise(one.frame, one.layouts, model=one.model) for one in frames])
    result = {figure.name: figure for figure in overview(frames, summary=summary).figures}
    axes = result["accuracy_toy"].draw().axes[0]
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    assert set(handles) == {"m0", "m1", "m2", "people"}


def test_phenomena_are_shown_where_no_analysis_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    named = zip(PAIRS, ("agreement", "case", "agreement", "order"), strict=True)
    path.write_text("".join(json.dumps({"good": g, "bad": b, "phenomenon": p}) + "\n" for (g, b), p in named))
    items = pairbank.load_corpus(path, columns={"phenomenon": "phenomenon"})
    tables = [pairbank.score(items, FakeScorer(name=name), methods=("direct",)) for name in ("a", "b")]
    made = pairbank.report(tables)
    section = made.phenomena
    assert section is not None
    shown = section.tables["accuracies"]
    assert shown[["phenomenon", "model", "n"]].to_numpy().tolist() == [
        [phenomenon, model, n] for phenomenon, n in (("agreement", 2), ("case", 1), ("order", 1)) for model in "ab"
    ]
    deltas = np.array(tables[0]["direct_delta"])[[0, 2]]
    value = float(np.mean((deltas > 0) + 0.5 * (deltas == 0)))
    assert shown["Direct"][0].startswith(f"{value:.2f} [")
    assert "## Accuracy by phenomenon" in made.markdown()
    assert [figure.name for figure in section.figures] == ["phenomena_mine_direct"]
    assert pairbank.report(tables, analyses=["comparisons"]).phenomena is None
    assert pairbank.report([scored(tmp_path)]).phenomena is None


def test_a_path_in_place_of_a_table_is_read_and_one_that_is_not_there_named() -> None:
    with pytest.raises(BankError, match=r"^a.parquet: "):
        pairbank.report(["a.parquet"])


def test_a_report_and_a_table_in_a_console_are_a_few_lines(tmp_path: Path) -> None:
    table = scored(tmp_path)
    for shown in (repr(table), repr(pairbank.report([table]))):
        assert len(shown.splitlines()) <= 10
        assert len(shown) < 500


def test_both_renderers_show_the_same_blocks_and_a_notebook_the_first_page_with_its_figures(tmp_path: Path) -> None:
    extra = Section(
        id="extra",
        title="Mine & yours",
        text="A finding with `code`.",
        tables={"cells": pd.DataFrame({"name": ["a|b", "two\nlines"], "value": [0.5, np.nan], "n": [1234, 5]})},
        main_table="cells",
        footnotes=("A note.",),
    )
    made = replace(pairbank.report([scored(tmp_path)], n_resamples=20), sections=(extra,))
    page, html, notebook = made.markdown(), made.html(), made._repr_html_()
    for row in ("| a\\|b | 0.50 | 1,234 |", "| two<br>lines | – | 5 |", "– No value: not scored"):
        assert row in page
    for text in (html, notebook):
        assert "<td>a|b</td><td>0.50</td><td>1,234</td>" in text
        assert "<td>two<br>lines</td><td>–</td><td>5</td>" in text
        assert "<h2>Mine &amp; yours</h2>" in text
        assert "– No value: not scored" in text
        assert "A finding with <code>code</code>." in text
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    first_page = html.partition("<details")[0]
    assert [text.replace("&amp;", "&") for text in re.findall("<h2>(.*?)</h2>", first_page)] == headings
    assert first_page.count("<figure>") == page.count("![")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    assert first_page.count("<tr>") == len(rows)
    assert '<a href="#extra">Mine &amp; yours</a>' in html
    assert 'id="extra"' in html
    assert "data:image/png;base64," in notebook
    assert "Appendix" not in notebook


@pytest.mark.ci
def test_the_first_page_of_six_models_and_two_corpora_prints_on_three_pages(
    tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    tables = [
        rated_table(60, seed=seed, model=f"model-{seed}", corpus=corpus)
        for seed in range(6)
        for corpus in ("one", "two")
    ]
    summary = pd.concat([summarise(t.frame, t.layouts, model=t.model).assign(corpus=t.corpus) for t in tables])
    made = Report(
        title="Six models", summary=summary, overview=overview(tables, summary=summary), signatures=(), seed=0
    )
    folder = made.save(tmp_path / "report")
    page = chromium.new_page()
    page.goto((folder / "report.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => part.remove())")
    printed = page.pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 3
