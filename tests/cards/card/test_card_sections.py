"""What the card says of a bank's columns, items, judges, uses and versions, and the lines that load it, run."""

import itertools
import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

import pairbank
from bank_fixtures import bank_of
from in_r import in_r
from pairbank.builders.schema.unseen import UNSEEN_FLAGS
from pairbank.cards.bank.layout import read_manifest
from pairbank.cards.bank.tables import LONG_COLUMNS
from pairbank.cards.card.contents import (
    FLAG_MEANINGS,
    MEANINGS,
    SUMMARY,
    UNDESCRIBED,
    columns_in,
    contents_of,
    described,
    dictionary,
)
from pairbank.errors import BankError
from pairbank.files import write_json
from pairbank.markdown import parsed_tables
from pairbank.scoring.api.layout import ScoreColumns
from three_models import rated_items

CREATORS = {"found", "crowdsourced", "expert-generated", "machine-generated", "no-annotation", "other"}
MULTILINGUALITY = {"monolingual", "multilingual", "translation", "other"}
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B"}
"""As `datasets` (utils/resources/{creators,multilingualities,size_categories}.json) and huggingface_hub list them."""


def page_of(bank: Path) -> str:
    return (bank / "README.md").read_text(encoding="utf-8")


def test_every_column_of_every_file_stands_in_the_dictionary_and_no_other(three_models: Path) -> None:
    manifest = read_manifest(three_models)
    files = [path for folder in ("long", "data", "scores") for path in three_models.glob(f"{folder}/*/*.parquet")]
    real = {name: kind for path in files for name, kind in columns_in(path).items()}
    known = described(manifest, contents_of(three_models, manifest))
    assert known.keys() == real.keys()
    alone = {"method", "good", "bad", "delta"}  # of the long view, beside the columns that it shares
    assert alone < LONG_COLUMNS.keys() <= real.keys()
    assert {name: entry.type for name, entry in known.items() if name not in alone} == {
        name: kind for name, kind in real.items() if name not in alone
    }
    assert not [name for name, entry in known.items() if entry.meaning == UNDESCRIBED]
    [shown] = [rows for rows in parsed_tables(page_of(three_models)) if "unit" in rows[0]]
    by_column = {row["column"]: row for row in shown}
    assert by_column["METHOD_delta"] | {"meaning": ""} == {
        "column": "METHOD_delta",
        "type": "float64",
        "unit": "nats",
        "meaning": "",
        "of": "direct, meta_question_simple",
    }
    assert by_column["concept_good"]["of"] == "starter"
    assert by_column["human_n"]["unit"] == "people"


def test_every_ending_of_a_methods_column_has_a_meaning() -> None:
    assert tuple(f"m_{ending}" for ending in MEANINGS) == ScoreColumns("m").all


def test_a_column_that_nobody_described_is_listed_as_such(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("good,bad,my_code\nA b.,B a.,7\nC d.,D c.,8\n")
    bank = bank_of(tmp_path / "bank", pairbank.load_corpus(tmp_path / "own.csv"), "fake")
    manifest = read_manifest(bank)
    [entry] = [one for one in dictionary(manifest, contents_of(bank, manifest)) if one.column == "my_code"]
    assert entry.meaning
    assert "| my_code |" in page_of(bank).replace("\\_", "_")


def test_lengths_distances_and_judges_are_counted_in_the_items(three_models: Path) -> None:
    tables = parsed_tables(page_of(three_models))
    [sizes] = [rows for rows in tables if "characters a side" in rows[0]]
    items = rated_items()
    lengths = [len(text) for side in ("good", "bad") for text in items[f"target_{side}"][:]]
    told = {row["config"]: row for row in sizes}
    assert told["rated"]["characters a side"].startswith(f"{statistics.median(lengths):.0f} (")
    assert told["rated"]["edits between the sides"] == "1 (1 to 1)"
    [judged] = [rows for rows in tables if "people an item" in rows[0]]
    assert [(row["config"], row["scale"], row["judged items"]) for row in judged] == [("rated", "likert7", "12")]
    assert judged[0]["people an item"] == "19 (18 to 20)"


def test_an_example_stands_on_the_card_only_of_corpora_whose_texts_may_be_published(
    three_models: Path, tmp_path: Path
) -> None:
    page = page_of(three_models)
    blocks = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)]
    assert [block["corpus"] for block in blocks] == ["rated", "starter"]
    [row] = pq.read_table(three_models / "scores/rated/fake_1.parquet").slice(0, 1).to_pylist()
    assert blocks[0]["target_good"] == row["target_good"]
    assert blocks[0]["direct_delta"] == pytest.approx(row["direct_delta"], rel=1e-4)
    closed = pairbank.write_bank(tmp_path / "closed", corpora=[rated_items()])
    assert "```json" not in page_of(closed)
    assert "pilots" not in page_of(closed)


def test_the_head_has_values_of_the_hubs_lists_only(three_models: Path, tmp_path: Path) -> None:
    from huggingface_hub import DatasetCardData

    head = yaml.safe_load(page_of(three_models).split("---\n")[1])
    assert yaml.safe_load(DatasetCardData(**head).to_yaml()) == head
    assert head["annotations_creators"] == ["found", "machine-generated"]
    assert head["multilinguality"] == ["multilingual"]
    assert head["source_datasets"] == ["original"]
    assert head["task_categories"] == ["text-classification", "text-generation"]
    one = pairbank.write_bank(tmp_path / "one", corpora=[rated_items()])
    alone = yaml.safe_load(page_of(one).split("---\n")[1])
    assert alone["multilinguality"] == ["monolingual"]
    for result in (head, alone):
        assert set(result["annotations_creators"]) <= CREATORS
        assert set(result["multilinguality"]) <= MULTILINGUALITY
        assert set(result["size_categories"]) <= SIZES


# --- versions, contact, a model of one's own ---


def test_versions_are_states_of_the_data_and_writing_the_same_again_makes_none(tmp_path: Path) -> None:
    items = rated_items()
    first, second = (pairbank.score(items, f"fake:{name}", methods=["direct"]) for name in ("a", "b"))
    bank = pairbank.write_bank(tmp_path / "bank", scored=[first])
    pairbank.write_bank(bank, scored=[second])
    before = (bank / "manifest.json").read_bytes()
    pairbank.write_bank(bank, scored=[second])
    assert (bank / "manifest.json").read_bytes() == before
    changes = [version["changes"] for version in read_manifest(bank)["history"]]
    assert changes == [["added items: rated (12 items)", "added 1 scored table: a"], ["added 1 scored table: b"]]
    assert "2. added 1 scored table: b (pairbank" in page_of(bank)
    croissant = json.loads((bank / "croissant.json").read_text())
    assert croissant["version"] == "2.0.0"


@pytest.mark.parametrize("history", [7, [7], [{"pairbank": 1, "changes": []}], [{"pairbank": "1", "changes": [2]}]])
def test_a_history_that_is_none_is_refused(copied: Callable[[], Path], history: object) -> None:
    bank = copied()
    write_json(bank / "manifest.json", read_manifest(bank) | {"history": history})
    with pytest.raises(BankError, match="history"):
        pairbank.check_bank(bank)


def test_contact_and_the_way_to_add_a_model_stand_on_the_card(three_models: Path, copied: Callable[[], Path]) -> None:
    page = page_of(three_models)
    assert "https://example.org/pairs" in page.split("## Contact")[1].split("##")[0]
    assert "pairbank score THIS_BANK/data/rated/items.parquet --model ORG/MODEL --out rated.parquet" in page
    assert "pairbank score THIS_BANK/data/starter/items.parquet --model ORG/MODEL --out starter.parquet" in page
    assert "pairbank merge THIS_BANK mine --out merged" in page
    kept = pairbank.write_bank(copied())
    assert "https://example.org/pairs" in page_of(kept)


def test_a_bank_says_its_title_and_whose_it_is_and_how_to_cite_it(copied: Callable[[], Path]) -> None:
    authors = ["A. Roe", "Lab of Sound and Form"]
    bank = pairbank.write_bank(copied(), title="Verbs of {Zürich}", authors=authors)
    page = page_of(bank)
    assert "# Verbs of {Zürich}" in page
    assert "By A. Roe, Lab of Sound and Form." in page
    entry = page.split("## Cite")[1].split("```bibtex\n")[1].split("\n}\n")[0]
    assert entry == (
        "@dataset{this_bank,\n  title = {Verbs of Zürich},\n  author = {A. Roe and {Lab of Sound and Form}},\n"
        "  note = {A bank of pairbank}"
    )
    croissant = json.loads((bank / "croissant.json").read_text())
    assert croissant["name"] == "Verbs of {Zürich}"
    assert [one["name"] for one in croissant["creator"]] == authors
    again = pairbank.write_bank(bank, contact="a@example.org")
    assert "By A. Roe, Lab of Sound and Form." in page_of(again)
    pairbank.check_bank(again)


@pytest.mark.parametrize("wrong", [{"title": 7}, {"authors": "A. Roe"}, {"authors": [None]}])
def test_a_title_or_authors_that_are_no_texts_are_refused(copied: Callable[[], Path], wrong: dict[str, object]) -> None:
    bank = copied()
    write_json(bank / "manifest.json", read_manifest(bank) | wrong)
    with pytest.raises(BankError, match=r"expected a (text|list)"):
        pairbank.check_bank(bank)


# --- the lines that load it ---


def snippet(bank: Path, language: str, word: str) -> str:
    """Return the block of code in a language that holds a word, with the bank's folder filled in."""
    blocks = re.findall(rf"```{language}\n(.*?)```", page_of(bank), flags=re.DOTALL)
    [result] = [block for block in blocks if word in block]
    return str(result.replace("THIS_BANK", str(bank)))


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
def test_the_lines_of_python_give_the_rows_of_the_table(three_models: Path, library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    names: dict[str, object] = {}
    exec(snippet(three_models, "python", f" {library}"), names)  # noqa: S102 - our own card's lines
    frame = names["scored" if library == "datasets" else "frame"]
    table = pq.read_table(three_models / "scores/rated/fake_1.parquet")
    assert list(frame["direct_delta"]) == table["direct_delta"].to_pylist()  # type: ignore[index]


def test_the_lines_of_duckdb_give_the_accuracy(three_models: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    rows = duckdb.sql(snippet(three_models, "sql", "DuckDB")).fetchall()
    delta = pq.read_table(three_models / "scores/rated/fake_1.parquet")["direct_delta"].to_pylist()
    assert rows == [("all", 12, pytest.approx(statistics.mean(value > 0 for value in delta)))]


def test_the_lines_of_r_give_the_rows_of_the_table(three_models: Path) -> None:
    lines = f"{snippet(three_models, 'r', 'arrow')}\ncat(nrow(frame), sum(frame$direct_delta))"
    shown = in_r("-e", lines).split()
    table = pq.read_table(three_models / "scores/rated/fake_1.parquet")
    assert int(shown[0]) == len(table)
    assert float(shown[1]) == pytest.approx(sum(table["direct_delta"].to_pylist()), rel=1e-5)


# --- what the page says of itself ---


def test_languages_are_those_of_the_rows_that_are_here(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", limit=1)
    english = items.filter(lambda language: language == "en", input_columns="language")
    bank = bank_of(tmp_path / "bank", english, "a")
    page = page_of(bank)
    assert len(read_manifest(bank)["corpora"]["starter"]["languages"]) == 18
    assert "language:\n- en\nlicense" in page
    assert "- monolingual" in page
    assert json.loads((bank / "croissant.json").read_text())["inLanguage"] == ["en"]


def test_texts_that_may_not_be_passed_on_are_said_to_be_here_and_how_to_leave_them_out(tmp_path: Path) -> None:
    items = rated_items()
    bank = bank_of(tmp_path / "bank", items, "a")
    page = page_of(bank)
    assert "| here, not to be redistributed |" in page
    assert "pairbank strip THIS_BANK --out PUBLIC" in page
    public = page_of(pairbank.strip_texts(bank, tmp_path / "public"))
    assert "| left out |" in public
    assert "pairbank strip" not in public.split("## Add your model")[0]


def test_the_columns_of_the_results_and_the_order_of_answers_are_explained(three_models: Path) -> None:
    page = page_of(three_models)
    summary = pq.read_schema(three_models / "results/summary.parquet").names
    assert list(SUMMARY) == summary
    for name in summary:
        assert f"| {name} | {SUMMARY[name]}" in page.replace("\\_", "_")
    assert "| meta_question_simple_logprobs | good_first, bad_first | 1, 2 |" in page
    fields = {
        one["name"]: one.get("description", "")
        for part in json.loads((three_models / "croissant.json").read_text())["recordSet"]
        if part["name"] == "summary"
        for one in part["field"]
    }
    assert fields == SUMMARY


def test_every_flag_that_scoring_or_the_schema_can_set_has_a_meaning() -> None:
    import ast
    from importlib import import_module

    result = set()
    for name in ("pairbank.scoring.api.names", "pairbank.builders.schema.columns"):
        body = ast.parse(Path(str(import_module(name).__file__)).read_text(encoding="utf-8")).body
        for one, told in itertools.pairwise(body):
            if isinstance(one, ast.Assign) and isinstance(told, ast.Expr) and "Flag:" in ast.unparse(told):
                result.add(ast.literal_eval(one.value))
    assert result | set(UNSEEN_FLAGS) == set(FLAG_MEANINGS)


def test_pairbank_is_cited_with_its_version_and_models_by_name(three_models: Path) -> None:
    cited = page_of(three_models).split("## Cite")[1].split("## Limitations")[0]
    assert f"version = {{{read_manifest(three_models)['pairbank']}}}" in cited
    assert "pythia-70m" in cited
