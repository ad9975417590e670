"""Text that somebody else wrote breaks neither the card, nor its head, nor the CSV files, nor a path."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml
from markdown_it import MarkdownIt

import pairbank
from pairbank.cards.bank.layout import config_name
from pairbank.markdown import code, fenced, inline, parsed_tables, shown, table, unescaped
from pairbank.scoring.scored import Scored

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "# not a heading",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "---\nlicense: mit\n---",
    "[click](https://example.org) ![x](https://example.org/x.png)",
    "```sh\nrm -rf x\n```",
    "`one` ``two`` ```three",
    '=HYPERLINK("https://example.org","click")',
    "+1+1",
    "@SUM(A1)",
    "-2+3",
    "\t=1+1",
    "right\u202eto left\u2066\u200f",
    "bell\x07 null\u0000 line\u2028end",
    "{{ config }} {% for x in y %}",
    "a, \"b\", 'c'; d: e # f",
    "x" * 10_000,
    "*bold* _it_ ~gone~ $math$ &lt;b&gt; \\",
    "../../outside",
]


HEADINGS = ["Load it", "What it holds", "Columns", "What it is for", "Results", "How it was scored"]
HEADINGS += ["Sources and licences", "Cite", "Limitations", "Add your model", "Contact", "Versions", "Make it again"]
LINKS = {"https://pypi.org/project/pairbank/", "https://docs.mlcommons.org/croissant/"}
TAGS = {
    *("h1", "h2", "p", "a", "em", "strong", "code", "pre", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th"),
    *("td", "img"),
}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_cell_reads_back_and_stays_one_cell(text: str) -> None:
    import pandas as pd

    made = f"Before.\n\n{table(pd.DataFrame({'name': [text], 'n': [3]}))}\n\nAfter."
    [[row]] = parsed_tables(made)
    assert row == {"name": shown(text, limit=1_000), "n": "3"}
    assert unescaped(inline(text)) == shown(text)
    assert "<" not in inline(text)
    assert "\n" not in code(text)
    assert "\u202e" not in fenced(text) + code(text) + inline(text)


def test_a_fence_holds_whatever_is_inside() -> None:
    block = fenced("a\n```\nb ````c", "bibtex").splitlines()
    assert block[0] == "`````bibtex"
    assert block[-1] == "`````"


def hostile_table(text: str, tmp_path: Path) -> Scored:
    """Return a scored table whose corpus, model, sentences and facts are all this text."""
    path = tmp_path / "scores.jsonl"
    names = ("first", "second", "third", "fourth")
    texts = [{"target_good": f"{text} {name}", "target_bad": f"{name} {text}", "phenomenon": text} for name in names]
    scores = [{"model": text, "direct_good": -1.0 - i, "direct_bad": -4.0 + i} for i in range(4)]
    subsets = [{"subset": f"{text}{i % 2}"} for i in range(4)]
    lines = [a | b | c for a, b, c in zip(texts, scores, subsets, strict=True)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [scored] = pairbank.import_scores(path, corpus=text)
    signature: dict[str, Any] = json.loads(json.dumps(scored.signature))
    signature["corpus"]["manifest"] |= {"title": text, "description": text, "human": text}
    signature["corpus"]["manifest"]["source"] |= {
        "licence": text,
        "licence_note": text,
        "homepage": text,
        "citation": text,
    }
    signature["methods"]["direct"]["paper"] = text
    return Scored.of(scored.dataset, signature)


@pytest.mark.ci
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_bank_of_hostile_names_is_whole(text: str, tmp_path: Path) -> None:
    scored = hostile_table(text, tmp_path)
    bank = pairbank.write_bank(
        tmp_path / "bank", scored=[scored], reports={"r": pairbank.report([scored])}, command=text
    )
    pairbank.check_bank(bank)
    page = (bank / "README.md").read_text(encoding="utf-8")
    head, body = page.split("---\n")[1], page.split("---\n", 2)[2]
    assert [c["config_name"] for c in yaml.safe_load(head)["configs"]][:2] == [
        config_name(text),
        f"{config_name(text)}_scored",
    ]
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(body)
    title, *headings = re.findall(r"<h\d>(.*?)</h\d>", html)
    assert headings == HEADINGS
    assert title.startswith("pairbank: ")
    assert "<" not in title
    assert set(re.findall(r"<([a-z]\w*)", html)) <= TAGS
    assert set(re.findall(r'href="([^"]*)"', html)) == LINKS
    assert all(path.startswith("reports/r/figures/") for path in re.findall(r'src="([^"]*)"', html))
    assert "onerror=" not in re.sub(r'alt="[^"]*"', "", html).replace("onerror=alert(1)&gt;", "")
    for rows in re.findall(r"<table>(.*?)</table>", html, flags=re.DOTALL):
        widths = {len(re.findall(r"<t[hd]\b", row)) for row in rows.split("</tr>")[:-1]}
        assert len(widths) == 1
    assert "\u202e" not in page
    assert all(path.resolve().is_relative_to(bank.resolve()) for path in bank.rglob("*"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bank", "scores.jsonl"]
    for path in bank.rglob("*.csv"):
        rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
        assert {len(row) for row in rows} == {len(rows[0])}
        assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "@", "\t") or cell.startswith("-2+")]


@pytest.mark.parametrize("text", [HOSTILE[0], HOSTILE[6], HOSTILE[13], HOSTILE[14], HOSTILE[18]])
def test_an_example_of_hostile_texts_is_one_block_of_code(text: str, tmp_path: Path) -> None:
    scored = hostile_table(text, tmp_path)
    bank = pairbank.write_bank(
        tmp_path / "bank", scored=[scored], licences={text: "mit"}, contact=text, title=text, authors=[text]
    )
    page = (bank / "README.md").read_text(encoding="utf-8")
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(page.split("---\n", 2)[2])
    assert html.count('<code class="language-json">') == 1
    assert re.findall(r"<h\d>(.*?)</h\d>", html)[1:] == [*HEADINGS[:3], "An example of each corpus", *HEADINGS[3:]]
    assert set(re.findall(r"<([a-z]\w*)", html)) <= TAGS
    assert not re.search("[\x00-\x08\u202a-\u202e\u2066-\u2069]", page + (bank / "croissant.json").read_text())


@pytest.mark.parametrize("text", [HOSTILE[0], HOSTILE[8], HOSTILE[17], HOSTILE[19]])
def test_load_dataset_reads_a_bank_of_hostile_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    scored = hostile_table(text, tmp_path / "work")
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    loaded = datasets.load_dataset(str(bank), f"{config_name(text)}_scored", split=scored.model_slug)
    assert loaded.to_list() == scored.dataset.to_list()


def test_two_corpora_whose_names_look_alike_get_configs_of_their_own() -> None:
    names = ["a", "a_scored", "a/b", "a\\b", "a b", "a_b", "summary", "default", "", "..", "é" * 200, "é" * 201]
    configs = [config_name(name) for name in names]
    assert len(set(configs)) == len(names)
    assert all(len(name.encode()) <= 120 for name in configs)
