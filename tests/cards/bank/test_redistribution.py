"""Texts that may not be published never reach a bank that can be: not in tables, not in reports, not by renaming."""

import csv
import html
import json
from pathlib import Path

import datasets
import pytest

import pairbank
from hub_emulator import FakeHub
from pairbank.cards.bank.redistribution import refuse_quoted_texts
from pairbank.cards.bank.tables import read_table
from pairbank.cards.bank.writing import items_of_scored
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored

TEXT = "The zeppelin"
"""Stands in every text invented here in EWoK's format."""


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    row = {"MetaTemplateID": 1, "TemplateID": 2, "Domain": "spatial-relations", "ConceptA": "left", "ConceptB": "right"}
    row |= {"TargetDiff": "concept swap", "ContextDiff": "variable swap", "ContextType": "direct"}
    row |= {f"Target{n}": f"{TEXT} lands {side} of the old barn." for n, side in ((1, "left"), (2, "right"))}
    row |= {f"Context{n}": f"{TEXT} flies to the {side} of it." for n, side in ((1, "west"), (2, "east"))}
    folder = tmp_path / "ewok"
    folder.mkdir()
    with (folder / "ewok-core-1.0.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, row)
        writer.writeheader()
        writer.writerows([row, row | {"TemplateID": 3}])
    return pairbank.score(pairbank.load_corpus("ewok", data_dir=folder), "fake:fake-1")


def holds_text(root: Path) -> list[str]:
    import pyarrow.parquet as pq

    result = [p.name for p in root.rglob("*") if p.is_file() and TEXT.encode() in p.read_bytes()]
    return result + [p.name for p in root.rglob("*.parquet") if TEXT in json.dumps(pq.read_table(p).to_pylist())]


def test_ewok_is_published_as_ids_and_scores_and_never_as_text(hub: FakeHub, scored: Scored, tmp_path: Path) -> None:
    full = pairbank.write_bank(tmp_path / "full", scored=[scored])
    assert holds_text(full)
    with pytest.raises(BankError, match=r"ewok: cc-by-4.0. Gated, with terms of use.*pairbank strip") as caught:
        pairbank.publish(full, "acme/ewok")
    assert TEXT not in str(caught.value)
    assert hub.repos == {}
    public = pairbank.strip_texts(full, tmp_path / "public")
    assert holds_text(public) == []
    assert pairbank.publish(public, "acme/ewok", dry_run=True).changes
    table = pairbank.read_scored(public / "scores/ewok/fake_1.parquet")
    assert {"item_id", "direct_good", "direct_delta", "direct_flags"} <= set(table.dataset.column_names)
    assert not {"concept_a", "target_good", "context_bad"} & set(table.dataset.column_names)
    assert table.signature == scored.signature


def test_no_manifest_and_no_stated_licence_unlocks_a_corpus_that_ships(scored: Scored, tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    manifest = json.loads((bank / "manifest.json").read_text())
    manifest["corpora"]["ewok"]["source"]["redistributable"] = True
    (bank / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BankError, match="texts that may not be published"):
        pairbank.publish(bank, "acme/ewok", dry_run=True)
    with pytest.raises(BankError, match=r"ships with pairbank and its licence is cc-by-4\.0"):
        pairbank.write_bank(bank, licences={"ewok": "cc0-1.0"})
    with pytest.raises(BankError, match="no corpus 'other' in this bank"):
        pairbank.write_bank(bank, licences={"other": "mit"})


def test_a_bank_without_texts_stays_without_them_when_it_grows(scored: Scored, tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored], texts="redistributable")
    assert holds_text(bank) == []
    items = scored.dataset.remove_columns([c for c in scored.dataset.column_names if c.startswith("direct_")])
    second = pairbank.score(items, "fake:fake-2")
    pairbank.write_bank(bank, corpora=[items], scored=[second])
    assert holds_text(bank) == []
    both = pairbank.write_bank(tmp_path / "both", scored=[scored, second], texts="redistributable")
    assert (bank / "results/summary.parquet").read_bytes() == (both / "results/summary.parquet").read_bytes()


def test_a_column_of_ones_own_that_is_named_like_a_score_stays_with_the_items_and_goes_with_the_texts(
    tmp_path: Path,
) -> None:
    rows = [f"Kim saw {noun}.,Kim seen {noun}.,{noun},{number}" for number, noun in enumerate(("it", "her", "them"))]
    (tmp_path / "own.csv").write_text("\n".join(["good,bad,direct_object,direct_rank", *rows]))
    table = pairbank.score(pairbank.load_corpus(tmp_path / "own.csv"), "fake:fake-1")
    assert {"direct_object", "direct_rank", "direct_good"} <= set(table.dataset.column_names)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[table])
    assert pairbank.check_bank(bank)
    items = read_table(bank / "data/own/items.parquet")
    assert items["direct_object"][:] == ["it", "her", "them"]
    assert items.to_list() == items_of_scored(table).to_list()
    assert not set(table.signature["methods"]["direct"]["columns"]) & set(items.column_names)
    public = pairbank.strip_texts(bank, tmp_path / "public")
    for path in ("data/own/items.parquet", "scores/own/fake_1.parquet"):
        assert not {"direct_object", "direct_rank"} & set(read_table(public / path).column_names)


def test_a_signature_that_names_no_columns_has_those_of_its_methods(scored: Scored, tmp_path: Path) -> None:
    signature = json.loads(json.dumps(scored.signature))
    del signature["methods"]["direct"]["columns"]
    older = Scored.of(scored.dataset, signature)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[older], texts="redistributable")
    assert holds_text(bank) == []
    assert "direct_flags" in read_table(bank / "scores/ewok/fake_1.parquet").column_names


@pytest.mark.parametrize("name", ["report.md", "examples.csv", "figure.svg"])
def test_a_report_that_quotes_an_item_is_refused_by_name(scored: Scored, tmp_path: Path, name: str) -> None:
    full = pairbank.write_bank(tmp_path / "full", scored=[scored])
    (full / "reports" / "mine").mkdir(parents=True)
    (full / "reports" / "mine" / name).write_text(f"as in '{TEXT} lands left of the old barn.'")
    pairbank.write_bank(full)
    with pytest.raises(BankError, match=rf"reports/mine/{name} quotes items of 'ewok'") as caught:
        pairbank.strip_texts(full, tmp_path / "public")
    assert TEXT not in str(caught.value)
    assert not (tmp_path / "public").exists()
    with pytest.raises(BankError, match="is not empty"):
        pairbank.strip_texts(full, full)


@pytest.mark.parametrize(
    "text", ['The "old" barn & the hen stood.', "Das größte Haus steht dort.", "他昨天在图书馆看了一本很有意思的书。"]
)
def test_a_quoted_text_is_found_in_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "reports").mkdir()
    items = datasets.Dataset.from_dict({"target_good": [text, "A text that no report quotes."]})
    refuse_quoted_texts(tmp_path, [("ewok", items)])
    for form in (text, html.escape(text), json.dumps(text), text.replace('"', '""')):
        (tmp_path / "reports" / "page.md").write_text(f"so:\n({form})", encoding="utf-8")
        with pytest.raises(BankError, match=r"reports/page\.md quotes items of 'ewok'"):
            refuse_quoted_texts(tmp_path, [("ewok", items)])


def test_a_report_written_with_the_bank_may_not_quote_either(scored: Scored, tmp_path: Path) -> None:
    quoting = pairbank.report([scored], notes=[f"For example: {TEXT} lands left of the old barn."])
    with pytest.raises(BankError, match=r"reports/mine/report.html quotes items of 'ewok'"):
        pairbank.write_bank(tmp_path / "bank", scored=[scored], reports={"mine": quoting}, texts="redistributable")
    assert not (tmp_path / "bank").exists()
