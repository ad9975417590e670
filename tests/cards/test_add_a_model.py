"""How to add a model: the commands on the card and in the site, run as they stand, end in a whole bank."""

import gzip
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import datasets
import pytest

import pairbank
from bank_fixtures import bank_of
from command_line import completed
from pairbank.cards.bank.layout import read_manifest
from pairbank.cards.card.add_model import commands_for
from pairbank.cards.write import strip_texts
from pairbank.errors import BankError, CorpusError
from pairbank.scoring.applicability import methods_as_before
from pairbank.scoring.models.fake import FakeScorer

PROMPTS = ("direct", "meta_question_simple")


def limited() -> list[datasets.Dataset]:
    return [pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)]


def one_of_which_takes_no_prompt() -> list[datasets.Dataset]:
    return [*limited(), pairbank.load_corpus("cumleler.csv", language="tr")]


def own_file() -> list[datasets.Dataset]:
    return [pairbank.load_corpus("paare.csv", language="de")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder with two files of sentences; models are fakes by the name that is asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pairbank.cli.scoring.load", lambda model, **_: FakeScorer(name=model))
    german = "gut,schlecht\nDie Katzen schlafen.,Die Katzen schläft.\nEr geht.,Er gehen.\n"
    turkish = "good,bad\nKediler uyuyor.,Kediler uyuyorum.\nBen geldim.,Ben geldin.\n"
    (tmp_path / "paare.csv").write_text(german, encoding="utf-8")
    (tmp_path / "cumleler.csv").write_text(turkish, encoding="utf-8")
    return tmp_path


def on_the_card(bank: Path) -> list[str]:
    section = (bank / "README.md").read_text(encoding="utf-8").split("## Add your model")[1].split("\n## ")[0]
    [block] = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    return str(block).strip().splitlines()


@pytest.mark.ci
@pytest.mark.parametrize("held", [limited, one_of_which_takes_no_prompt, own_file])
def test_the_commands_of_the_card_and_the_site_end_in_a_bank_with_one_model_more(
    held: Callable[[], list[datasets.Dataset]], here: Path
) -> None:
    scored = [pairbank.score(items, f"fake:{name}", methods=PROMPTS) for items in held() for name in ("a", "b")]
    bank = pairbank.write_bank(here / "bank", scored=scored)
    lines = on_the_card(bank)
    shown = commands_for(read_manifest(bank), "bank")
    assert [line.replace("THIS_BANK", "bank") for line in lines] == [*shown.score, *shown.bank, *shown.merge]
    for line in lines:
        words = shlex.split(line.replace("THIS_BANK", "bank").replace("ORG/MODEL", "c"))
        completed(words[1:])
    merged = read_manifest(here / "merged")
    assert {corpus: sorted(models) for corpus, models in merged["scores"].items()} == {
        str(items["corpus"][0]): ["a", "b", "c"] for items in held()
    }
    for models in merged["scores"].values():
        assert models["c"]["corpus"] == models["a"]["corpus"]
        assert sorted(models["c"]["methods"]) == sorted(PROMPTS)


OWN = """
[[prompts]]
id = "lecturer"
design = "both_orders"
paper = "none"
tasks = ["sentence_pair"]
languages = ["en"]
options = ["A", "B"]
template = "A lecturer corrects A: {first} or B: {second}"
"""


def with_ones_own_prompt(here: Path) -> Path:
    (here / "own.toml").write_text(OWN, encoding="utf-8")
    [items] = limited()
    names = ["direct", "lecturer", "meta_question_simple@2shot"]
    scored = [pairbank.score(items, f"fake:{name}", methods=names, prompts=["own.toml"], seed=3) for name in ("a", "b")]
    bank = pairbank.write_bank(here / "bank", scored=scored)
    (here / "own.toml").unlink()
    return bank


def test_an_imported_score_with_the_name_of_one_of_ours_is_declared_as_imported(here: Path) -> None:
    (here / "numbers.csv").write_text("good,bad,slor_good,slor_bad\nHe goes.,He go.,1.5,0.5\n")
    tables = pairbank.import_scores("numbers.csv", scores={"slor": {"kind": "score", "direction": "higher"}}, model="m")
    bank = pairbank.write_bank(here / "bank", scored=tables)
    [line] = [line for line in on_the_card(bank) if line.startswith("pairbank import")]
    assert "--score slor=score,direction=higher" in line


def test_score_names_the_methods_that_gave_no_score(here: Path) -> None:
    [items] = own_file()
    bank_of(here / "bank", items, "a", methods=PROMPTS)
    result = completed(["score", "bank/data/paare/items.parquet", "--model", "b", "--out", "b.parquet"])
    last = result.output.strip().splitlines()[-1]
    assert last == "b.parquet: 2 items with direct; no scores of meta_question_simple"


def test_the_wording_of_ones_own_prompt_is_in_the_bank_on_its_card_and_site(here: Path) -> None:
    bank = with_ones_own_prompt(here)
    wording = "A lecturer corrects A: {good} or B: {bad}"
    assert wording in (bank / "prompts" / "lecturer.toml").read_text(encoding="utf-8")
    assert wording in (bank / "README.md").read_text(encoding="utf-8")
    files = sorted(path.name for path in (bank / "prompts").iterdir())
    assert files == ["lecturer.toml", "meta_question_simple.toml", "rendered.jsonl"]
    site = pairbank.write_site(bank, here / "site", texts="all")
    packed = site / "data" / "corpora" / "starter" / "corpus.json.gz"
    methods = {one["name"]: one for one in json.loads(gzip.decompress(packed.read_bytes()))["methods"]}
    assert methods["lecturer"]["prompt"]["presentations"][0]["template"] == {"*": wording}
    (bank / "prompts" / "lecturer.toml").write_text("changed", encoding="utf-8")
    with pytest.raises(BankError, match=r"prompts/lecturer\.toml: changed"):
        pairbank.check_bank(bank)


def test_the_items_of_a_bank_are_those_that_were_written_and_keep_what_is_known_of_them(here: Path) -> None:
    [items] = limited()
    bank = bank_of(here / "bank", items, "a")
    path = bank / "data/starter/items.parquet"
    again = pairbank.load_corpus(path)
    assert again.to_list() == items.to_list()
    assert len(pairbank.load_corpus(path, limit=1)) == len(items)
    with pytest.raises(CorpusError, match="taken as they are"):
        pairbank.load_corpus(path, language="en")
    path.write_bytes((bank / "results/summary.parquet").read_bytes())
    with pytest.raises(CorpusError, match="the bank's manifest has"):
        pairbank.load_corpus(path)


def test_items_without_texts_are_the_same_items_of_ones_own_copy(here: Path, shared: Path) -> None:
    items = pairbank.load_corpus("li", limit=1, data_dir=shared / "corpora")
    bank = strip_texts(bank_of(here / "bank", items, "a"), here / "public")
    path = bank / "data/li/items.parquet"
    assert pairbank.load_corpus(path, data_dir=shared / "corpora").to_list() == items.to_list()
    told = commands_for(read_manifest(bank), "org/name")
    assert "--data-dir FOLDER" in told.score[0]
    assert told.fetch == ("hf download org/name --repo-type dataset --local-dir name",)
    assert told.bank[1] == "pairbank strip mine --out mine-public"
    assert "**li** are read from your own copy" in (bank / "README.md").read_text(encoding="utf-8")


def test_items_of_ones_own_without_texts_say_that_they_cannot_be_had(here: Path) -> None:
    [items] = own_file()
    bank = bank_of(here / "bank", items, "a")
    with pytest.raises(CorpusError, match="no corpus that ships"):
        pairbank.load_corpus(strip_texts(bank, here / "public") / "data/paare/items.parquet")


@pytest.mark.usefixtures("here")
def test_methods_that_fit_no_item_stay_empty_and_are_named() -> None:
    [items] = own_file()
    result = methods_as_before(items, PROMPTS)
    assert result.methods == PROMPTS
    assert "no score by meta_question_simple" in result.notes[0]
    assert methods_as_before(items, ()).methods[0] == "direct"


def test_what_another_form_would_need_stands_in_the_command(here: Path) -> None:
    [items] = limited()
    scored = pairbank.score(items, "fake:a", methods=["direct"], per_token=True, seed=7)
    bank = pairbank.write_bank(here / "bank", scored=[scored])
    assert json.dumps(read_manifest(bank)["scores"]["starter"]["a"]["seed"]) == "7"
    assert "--per-token --seed 7" in commands_for(read_manifest(bank), "bank").score[0]
