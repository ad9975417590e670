"""What a site is made of: columns that are exact, only what may be published, whole or not at all."""

import base64
import gzip
import json
import math
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import bank_of, rehashed
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.cards import check
from pairbank.cards.site import source
from pairbank.cards.site.columns import encoded, write_chunk, write_list
from pairbank.errors import BankError, OutputError, PairbankError
from pairbank.files import parquet_batches, sha256_of_file, write_parquet
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.measures.rank_intervals import pair_counts, rank_intervals
from pairbank.stats.scored_table.model_features import ModelFeatures
from site_bank import METHODS

KINDS = {"f4": "<f4", "f8": "<f8", "u1": "<u1", "u2": "<u2", "i4": "<i4"}


def unpacked(path: Path) -> Any:  # noqa: ANN401 - JSON is any
    return json.loads(gzip.decompress(path.read_bytes()))


def piece(folder: Path, slug: str, name: str) -> dict[str, Any]:
    """Return the columns of a piece of a model's table, from a file of many or its own."""
    pack = unpacked(folder / "corpus.json.gz")["tables"][slug]["packs"].get(name)
    if pack is None:
        return dict(unpacked(folder / f"models/{slug}/{name}.json.gz")["columns"])
    assert not (folder / f"models/{slug}/{name}.json.gz").exists()
    return dict(unpacked(folder / f"packs/{pack}.json.gz")["pieces"][f"{slug}/{name}"]["columns"])


def decoded(column: dict[str, Any]) -> list[Any]:
    """Return the cells of a column, by another way than the page's."""
    if column["t"] == "list":
        return list(column["v"])
    if column["t"] == "codes":
        return [column["v"][k] for k in decoded(column["d"])]
    if column["t"] == "lists":
        flat = iter(decoded(column["d"]))
        return [None if n < 0 else [next(flat) for _ in range(n)] for n in decoded(column["n"])]
    values = np.frombuffer(base64.b64decode(column["d"]), dtype=KINDS[column["t"]])
    return [None if isinstance(x, float) and math.isnan(x) else x for x in values.tolist()]


# --- columns ---


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0.1, None, -1e-300, 3.5], pa.float64()),
        pa.array([0.5, None, 0.25], pa.float64()),
        pa.array([5.1, None], pa.float32()),
        pa.array([1, 70_000, -3], pa.int32()),
        pa.array([1, None, 255], pa.int32()),
        pa.array(["a", None, "a", "", "<b>", "a"]),
        pa.array([True, None, False]),
        pa.array([[1.5, None], [], None, [0.1]], pa.list_(pa.float64())),
        pa.array([["x"], [], ["x", "y"], None], pa.list_(pa.string())),
        pa.array([], pa.float64()),
        pa.array([None, None], pa.string()),
    ],
)
def test_every_cell_comes_back_exactly(values: pa.Array) -> None:
    for array in (values, values[1:], pa.chunked_array([values, values])):
        assert decoded(json.loads(json.dumps(encoded(array)))) == array.to_pylist()


def test_numbers_that_fit_in_32_bits_take_no_more() -> None:
    assert encoded(pa.array([5.1], pa.float32()))["t"] == "f4"
    assert encoded(pa.array([5.1], pa.float64()))["t"] == "f8"
    assert encoded(pa.array([2**60]))["v"] == [str(2**60)]


def test_a_list_written_in_parts_has_the_bytes_of_one_written_whole(tmp_path: Path) -> None:
    ids = pa.array([f"korpus-é/{number}" for number in range(40_000)])
    write_list(tmp_path / "parts", "item_id", ids)
    write_chunk(tmp_path / "whole", {"item_id": {"t": "list", "v": ids.to_pylist()}})
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("n_rows", [0, 5, 1_024, 16_384, 2 * 16_384 + 77])
def test_the_pages_of_a_file_are_its_rows_in_order(tmp_path: Path, n_rows: int) -> None:
    flags = pa.array([["x"] * (number % 3) for number in range(n_rows)], pa.list_(pa.string()))
    table = pa.table({"number": pa.array(range(n_rows), pa.int64()), "flags": flags})
    write_parquet(tmp_path / "table.parquet", table)
    for size in (1_000, 1_024):
        pages = list(parquet_batches(tmp_path / "table.parquet", ["flags", "number"], size))
        assert [len(page) for page in pages] == [min(size, n_rows - at) for at in range(0, max(n_rows, 1), size)]
        assert pa.concat_tables(pages).equals(table.select(["flags", "number"]))


def test_the_files_hold_every_cell_of_the_tables(hard_bank: Path, hard_site: Path) -> None:
    folder = hard_site / "data/corpora/hard"
    facts = unpacked(folder / "corpus.json.gz")
    table = pq.read_table(hard_bank / "scores/hard/fake_1.parquet")
    result: dict[str, list[Any]] = {}
    for name in ("ids", "filters", "human"):
        result |= {k: decoded(v) for k, v in unpacked(folder / f"{name}.json.gz")["columns"].items()}
    for page in range(-(-67 // 16)):
        items = unpacked(folder / f"items/{page}.json.gz")["columns"]
        for name, column in (items | piece(folder, "fake_1", f"rows/{page}")).items():
            result.setdefault(name, []).extend(decoded(column))
    for k, name in enumerate(facts["tables"]["fake_1"]["axes"]):
        result[name] = decoded(piece(folder, "fake_1", f"axis-{k}")["value"])
    assert set(table["model"].to_pylist()) == {facts["tables"]["fake_1"]["name"]}
    table = table.drop_columns("model")  # stands once, as the table's name
    assert facts["tables"]["fake_1"]["columns"] == table.column_names
    for name in table.column_names:
        if name != "corpus":
            exact = [None if isinstance(x, float) and math.isnan(x) else x for x in table[name].to_pylist()]
            assert result[name] == exact, name


def test_methods_stand_in_the_order_of_the_table_not_of_the_manifest(hard_site: Path) -> None:
    facts = unpacked(hard_site / "data/corpora/hard/corpus.json.gz")
    named = [facts["methods"][one["use"]]["name"] for one in facts["tables"]["fake_1"]["methods"]]
    assert named == METHODS


def test_a_table_of_some_of_the_items_says_where_they_stand(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility")
    bank = bank_of(tmp_path / "bank", items, "whole", "some")
    path = bank / "scores/starter/some.parquet"
    some = pq.read_table(path).take([5, 2])
    pq.write_table(some, path)
    site = pairbank.write_site(bank, tmp_path / "site")
    folder = site / "data/corpora/starter"
    places = decoded(piece(folder, "some", "places")["place"])
    ids = decoded(unpacked(folder / "ids.json.gz")["columns"]["item_id"])
    assert [ids[k] for k in places] == some["item_id"].to_pylist()
    others = unpacked(folder / "others/0.json.gz")["columns"]
    shown = decoded(others["direct~some"])
    assert [shown[k] for k in places] == some["direct_delta"].to_pylist()
    assert shown.count(None) == len(ids) - 2


def test_the_page_of_a_bank_that_is_not_whole_says_what_is_wrong_with_it(tmp_path: Path, hard_bank: Path) -> None:
    bank = Path(shutil.copytree(hard_bank, tmp_path / "bank"))
    assert unpacked(pairbank.write_site(bank, tmp_path / "whole") / "data/site.json.gz")["problems"] == []
    (bank / "README.md").write_text("Mine.", encoding="utf-8")
    result = unpacked(pairbank.write_site(bank, tmp_path / "site") / "data/site.json.gz")["problems"]
    assert result[1] == "README.md: changed since the bank was written (its sha256 is not the manifest's)"
    assert str(tmp_path) not in " ".join(result)
    assert not (bank / ".pairbank-lock").exists()


def test_tables_are_checked_of_a_bank_that_this_process_neither_wrote_nor_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a")
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored)
    monkeypatch.setattr(check, "table_problems", lambda *_: ["read"])
    for known, problems in ((check.WHOLE, []), (set(), ["read"])):
        monkeypatch.setattr(check, "WHOLE", known)
        assert unpacked(pairbank.write_site(bank, tmp_path / "site") / "data/site.json.gz")["problems"][1:] == problems


def test_small_pieces_share_files_and_large_ones_have_their_own(tmp_path: Path, hard_site: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    scored = [pairbank.score(items, FakeScorer(name=f"model-{k}"), methods=METHODS) for k in range(12)]
    site = pairbank.write_site(pairbank.write_bank(tmp_path / "bank", scored=scored), tmp_path / "site")
    corpus = site / "data/corpora/starter"
    assert sorted(path.name for path in (corpus / "packs").iterdir()) == ["axes-0.json.gz", "rows-0.json.gz"]
    assert not (corpus / "models").exists()
    own = list((hard_site / "data/corpora/hard/models").rglob("*.json.gz"))
    packed = list((hard_site / "data/corpora/hard/packs").iterdir())
    assert own
    assert len(packed) > 1


# --- what is written, and where ---


def test_a_site_is_the_same_whenever_it_is_written_and_names_no_folder_of_this_machine(
    hard_bank: Path, tmp_path: Path
) -> None:
    first = pairbank.write_site(hard_bank, tmp_path / "one", texts="all")
    second = pairbank.write_site(hard_bank, tmp_path / "two", texts="all")
    files = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(second) for p in second.rglob("*") if p.is_file())
    assert all(sha256_of_file(first / p) == sha256_of_file(second / p) for p in files)
    assert str(hard_bank.parent) not in json.dumps(unpacked(first / "data/site.json.gz"))


def test_a_site_takes_the_place_of_a_site_and_of_nothing_else(hard_bank: Path, tmp_path: Path) -> None:
    out = pairbank.write_site(hard_bank, tmp_path / "site", texts="all")
    (out / "data" / "left-over").touch()
    pairbank.write_site(hard_bank, out, texts="all")
    assert not (out / "data" / "left-over").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    for place in (other, other / "thesis.txt"):
        with pytest.raises(OutputError, match="choose a new or empty"):
            pairbank.write_site(hard_bank, place)
    assert (other / "thesis.txt").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "site"]


def test_a_site_that_cannot_be_written_leaves_the_old_one(hard_bank: Path, tmp_path: Path) -> None:
    out = pairbank.write_site(hard_bank, tmp_path / "site", texts="all")
    before = sha256_of_file(out / "data/site.json.gz")
    with pytest.raises(BankError, match="not a bank"):
        pairbank.write_site(tmp_path, out)
    with pytest.MonkeyPatch.context() as patch:
        full = mock.Mock(side_effect=OSError(28, "No space left on device"))
        patch.setattr("pairbank.cards.site.site.write_reports", full)
        with pytest.raises(OSError, match="No space"):
            pairbank.write_site(hard_bank, out, texts="all")
    assert sha256_of_file(out / "data/site.json.gz") == before
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_writing_a_site_changes_no_byte_of_a_read_only_bank(hard_bank: Path, tmp_path: Path) -> None:
    def state() -> dict[str, str]:
        return {str(p): sha256_of_file(p) for p in sorted(hard_bank.rglob("*")) if p.is_file()}

    before = state()
    folders = [hard_bank, *(p for p in hard_bank.rglob("*") if p.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        pairbank.write_site(hard_bank, tmp_path / "site", texts="all")
    finally:
        for path in folders:
            path.chmod(0o755)
    assert state() == before


def test_what_is_no_bank_is_refused_with_what_to_do(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    with pytest.raises(BankError, match=r"not a bank \(no manifest\.json\)"):
        pairbank.write_site(bad, tmp_path / "site")
    with pytest.raises(BankError, match=r"no folder .*absent; expected a bank's folder, or ORG/NAME"):
        pairbank.write_site(tmp_path / "absent", tmp_path / "site")
    (bad / "manifest.json").write_text("{")
    with pytest.raises(PairbankError, match=r"manifest\.json: not readable as JSON"):
        pairbank.write_site(bad, tmp_path / "site")


def test_a_manifest_cannot_name_a_file_outside_the_bank(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", corpora=[pairbank.load_corpus("starter", limit=1)])
    path = bank / "manifest.json"
    manifest = json.loads(path.read_text())
    pq.write_table(pa.table({"item_id": ["secret"]}), tmp_path / "secret.parquet")
    signature = {"model": {"name": "m"}, "corpus": {"items_sha256": ""}, "methods": {}}
    path.write_text(json.dumps(manifest | {"scores": {"starter": {"../../../secret": signature}}}))
    with pytest.raises(BankError, match=r"'\.\./\.\./\.\./secret' cannot name a split"):
        pairbank.write_site(bank, tmp_path / "site")


# --- the Hub ---


def test_a_bank_on_the_hub_is_read_at_one_commit(
    hard_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[tuple[str, str | None]] = []

    def downloaded(name: str, relative: str, *, repo_type: str, revision: str | None) -> str:
        assert (name, repo_type) == ("org/bank", "dataset")
        asked.append((relative, revision))
        target = tmp_path / "snapshots" / "c0ffee" / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((hard_bank / relative).read_bytes())
        return str(target)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", downloaded)
    monkeypatch.chdir(tmp_path)
    site = pairbank.write_site("org/bank", tmp_path / "site")
    assert asked[0] == ("manifest.json", None)
    assert {revision for _, revision in asked[1:]} == {"c0ffee"}
    facts = unpacked(site / "data/site.json.gz")
    assert (facts["name"], facts["revision"]) == ("org/bank", "c0ffee")
    assert len(decoded(unpacked(site / "data/corpora/hard/ids.json.gz")["columns"]["item_id"])) == 67


def test_the_hubs_refusals_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import httpx2
    import huggingface_hub
    from huggingface_hub import errors

    monkeypatch.chdir(tmp_path)
    answer = httpx2.Response(404, request=httpx2.Request("GET", "http://hub.invalid"))
    for error, told in (
        (errors.RepositoryNotFoundError("", response=answer), "no dataset of this name on the Hub that you may read"),
        (errors.RemoteEntryNotFoundError("", response=answer), "has no manifest.json; expected a bank"),
        (errors.LocalEntryNotFoundError(""), "the Hub cannot be reached; go online"),
    ):

        def refuse(*_: object, error: Exception = error, **__: object) -> str:
            raise error

        monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
        with pytest.raises(BankError, match=told):
            source.open_source("org/bank")


# --- texts that may not be published ---


def _own_scores(corpus: str = "own") -> list[Any]:
    rows = [
        made_item(
            f"own/{n}",
            f"The pilot number {n} sees the river.",
            f"The pilot number {n} see the river.",
            corpus=corpus,
            subset="one",
            human_good=5.0 + n % 3,
            human_bad=4.5,
            human_scale="likert7",
        ).row()
        for n in range(9)
    ]
    own = datasets.Dataset.from_list(rows, features=features())
    return [pairbank.score(own, f"fake:{name}", methods=METHODS) for name in ("fake-1", "fake-2")]


def test_texts_that_may_not_be_published_are_in_no_file_unless_asked_for(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=_own_scores())
    open_site = pairbank.write_site(bank, tmp_path / "open", texts="all")
    closed = pairbank.write_site(bank, tmp_path / "closed")

    def everything(site: Path) -> str:
        return "".join(gzip.decompress(p.read_bytes()).decode() for p in site.rglob("*.gz"))

    assert "sees the river" in everything(open_site)
    assert "river" not in everything(closed)
    assert unpacked(closed / "data/site.json.gz")["corpora"][0]["texts_left_out"]
    facts = unpacked(closed / "data/corpora/own/corpus.json.gz")
    assert not facts["has_human"]
    assert "direct_delta" in facts["tables"]["fake_1"]["columns"]
    licensed = pairbank.write_bank(tmp_path / "ours", scored=_own_scores(), licences={"own": "cc-by-4.0"})
    assert "sees the river" in everything(pairbank.write_site(licensed, tmp_path / "ours-site"))


@pytest.mark.ci
def test_a_report_that_quotes_such_a_text_is_refused(tmp_path: Path) -> None:
    scored = _own_scores()
    report = pairbank.report(scored)
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored, reports={"one": report})
    page = bank / "reports/one/report.md"
    page.write_text(page.read_text() + "\nThe pilot number 3 sees the river.\n")
    with pytest.raises(BankError, match=r"reports/one/report\.md quotes items of 'own'"):
        pairbank.write_site(bank, tmp_path / "site")


def test_a_damaged_table_is_named_and_the_others_are_written(hard_bank: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(hard_bank, tmp_path / "bank"))
    (broken / "scores/hard/fake_1.parquet").write_bytes(b"not parquet")
    site = pairbank.write_site(broken, tmp_path / "site", texts="all")
    tables = unpacked(site / "data/corpora/hard/corpus.json.gz")["tables"]
    assert "fake_1.parquet: not a readable parquet file" in tables["fake_1"]["problem"]
    assert tables["fake_2_"]["n_rows"] == 67


# --- results ---


def test_ranks_are_those_of_the_paired_tests_and_people_stand_once(hard_bank: Path, hard_site: Path) -> None:
    site = unpacked(hard_site / "data/site.json.gz")
    path = site["results"]["board"]["all"]["direct"]
    columns = {k: decoded(v) for k, v in unpacked(hard_site / "data" / path)["columns"].items()}
    tables = [pq.read_table(hard_bank / f"scores/hard/{slug}.parquet") for slug in ("fake_1", "fake_2_")]
    result = rank_intervals(pair_counts([(np.sign(table["direct_delta"].to_numpy()) + 1) / 2 for table in tables]))
    order = [columns["model"].index(name) for name in ("fake-1", "fake<2>")]
    assert [columns["best"][k] for k in order] == result.best.tolist()
    assert [columns["worst"][k] for k in order] == result.worst.tolist()
    people = unpacked(hard_site / "data" / site["results"]["board"]["all"]["human"])["columns"]
    assert decoded(people["model"]) == [""]


def test_what_is_declared_about_models_is_taken_by_exact_name_and_steps_from_revisions(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=1)
    names = ("tiny@step1000", "tiny@step2000", "SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct-mine")
    bank = bank_of(tmp_path / "bank", items, *names)
    own = {"SmolLM2-135M-Instruct-mine": ModelFeatures(family="Mine", generation="1", size_billions=0.5, type="base")}
    site = pairbank.write_site(bank, tmp_path / "site", features=own)
    models = {one["name"]: one for one in unpacked(site / "data/site.json.gz")["models"]}
    assert (models["tiny@step1000"]["step"], models["tiny@step1000"]["run"]) == (1000, "tiny")
    assert "family" not in models["tiny@step1000"]
    mine = models["SmolLM2-135M-Instruct-mine"]
    assert (mine["family"], mine["size"], mine["type"]) == ("Mine", 5e8, "base")


def test_the_site_says_which_corpora_a_tokenizer_cannot_read(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility")
    bank = bank_of(tmp_path / "bank", items, "reads", "guesses", title="Ours", authors=["A. Roe"])
    path = bank / "scores/starter/guesses.parquet"
    table = pq.read_table(path)
    flags = pa.array(
        [["unknown_token"] if k % 2 else [] for k in range(len(table))], table.schema.field("direct_flags").type
    )
    pq.write_table(
        table.set_column(table.schema.get_field_index("direct_flags"), table.field("direct_flags"), flags), path
    )
    told = unpacked(pairbank.write_site(bank, tmp_path / "site") / "data/site.json.gz")
    half = f"{len(table) // 2} of {len(table)} items hold characters that its tokenizer has no token for (`direct`)"
    assert {one["name"]: one.get("unread") for one in told["models"]} == {"reads": None, "guesses": {"starter": half}}
    assert (told["title"], told["authors"]) == ("Ours", ["A. Roe"])
    assert "title = {Ours}" in told["bibtex"]


def test_each_work_is_cited_once(hard_bank: Path, tmp_path: Path) -> None:
    site = pairbank.write_site(hard_bank, tmp_path / "site")
    shown = unpacked(site / "data/site.json.gz")["bibtex"]
    assert shown.count("@software{pairbank") == 1
    assert "this_bank" not in shown


# --- reports ---


def test_a_report_is_its_own_page_in_which_nothing_runs_with_its_figures_and_tables(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    scored = [pairbank.score(items, f"fake:{name}", methods=METHODS) for name in ("a", "b", "c")]
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored, reports={"one": pairbank.report(scored)})
    page = bank / "reports/one/report.html"
    page.write_text(page.read_text() + '<a href="https://example.org/x">x</a><script>alert(1)</script>')
    site = pairbank.write_site(bank, tmp_path / "site")
    [report] = unpacked(site / "data/site.json.gz")["reports"]
    assert (report["name"], report["page"]) == ("one", "reports/one/report.html")
    shown = (site / report["page"]).read_text()
    first = shown.index("Content-Security-Policy")
    assert first < shown.index("<title>")
    assert "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'" in shown[first : first + 200]
    assert '<a target="_blank" rel="noopener noreferrer" href="https://example.org/x">' in shown
    copied = {p.name for p in (site / "reports/one").rglob("*") if p.is_file()}
    assert {"accuracy.csv", *(p.name for p in (bank / "reports").rglob("*.png"))} <= copied
    assert "reports/one/summary.csv" in report["tables"]


def test_a_report_without_a_page_of_html_has_its_tables(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    scored = [pairbank.score(items, "fake:a", methods=METHODS)]
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored, reports={"one": pairbank.report(scored)})
    (bank / "reports/one/report.html").unlink()
    [report] = unpacked(pairbank.write_site(rehashed(bank), tmp_path / "site") / "data/site.json.gz")["reports"]
    assert report["page"] == ""
    assert "reports/one/summary.csv" in report["tables"]
