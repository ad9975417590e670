"""Two banks to one: what both hold is united; what they say differently is refused, with what each says."""

import json
from pathlib import Path

import datasets
import pytest

import pairbank
from bank_fixtures import Score
from hub_emulator import FakeHub
from pairbank.cards.bank.layout import read_manifest
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored


def written(folder: Path, *tables: Scored, command: str = "") -> Path:
    return pairbank.write_bank(folder, scored=tables, command=command)


def resigned(table: Scored, **model: object) -> Scored:
    """Return the table under a signature that says something else of the model."""
    signature = json.loads(json.dumps(table.signature))
    signature["model"] |= model
    return Scored.of(table.dataset, signature)


def test_splits_of_one_corpus_are_united_and_other_corpora_come_along(
    tmp_path: Path, scored_by: Score, own_pairs: Path
) -> None:
    own = pairbank.score(pairbank.load_corpus(own_pairs), "fake:fake-2")
    a = written(tmp_path / "a", scored_by("fake-1"), command="pairbank one")
    b = written(tmp_path / "b", scored_by("fake-1"), scored_by("fake-2"), own, command="pairbank two")
    merged = pairbank.merge_banks(a, b, out=tmp_path / "merged")
    whole = written(
        tmp_path / "whole", scored_by("fake-1"), scored_by("fake-2"), own, command="pairbank one\npairbank two"
    )
    for path in ("README.md", "results/summary.parquet", "scores/starter/fake_2.parquet", "data/own/items.parquet"):
        assert (merged / path).read_bytes() == (whole / path).read_bytes(), path
    assert read_manifest(merged) == read_manifest(whole)


def test_two_groups_scores_of_the_same_items_merge(tmp_path: Path) -> None:
    """Each group imports a file of its own; the items are the same, so they are one corpus."""
    banks = []
    for group, shift in (("closed-1", 0.0), ("closed-2", 1.0), ("closed-3", 2.5)):
        rows = [f"{group},A {k} sleeps.,A {k} sleep.,{-10.5 - shift},{-12.25 - k}" for k in range(5)]
        path = tmp_path / f"{group}.csv"
        path.write_text("\n".join(["model,good,bad,direct_good,direct_bad", *rows]) + "\n")
        banks.append(written(tmp_path / group, *pairbank.import_scores(path, corpus="verbs")))
    both = pairbank.merge_banks(banks[0], banks[1], out=tmp_path / "both")
    manifest = read_manifest(pairbank.merge_banks(both, banks[2], out=tmp_path / "all"))
    assert sorted(manifest["scores"]["verbs"]) == ["closed_1", "closed_2", "closed_3"]


def test_merged_banks_keep_both_titles_and_name_each_author_once(tmp_path: Path, scored_by: Score) -> None:
    a = pairbank.write_bank(tmp_path / "a", scored=[scored_by("fake-1")], title="Verbs", authors=["A. Roe", "B. Low"])
    b = pairbank.write_bank(tmp_path / "b", scored=[scored_by("fake-2")], title="Nouns", authors=["B. Low", "C. Day"])
    manifest = read_manifest(pairbank.merge_banks(a, b, out=tmp_path / "merged"))
    assert (manifest["title"], manifest["authors"]) == ("Verbs; Nouns", ["A. Roe", "B. Low", "C. Day"])


def test_a_local_bank_and_one_on_the_hub_are_merged(hub: FakeHub, tmp_path: Path, scored_by: Score) -> None:
    theirs = written(tmp_path / "theirs", scored_by("fake-1"))
    pairbank.publish(theirs, "acme/bank")
    mine = written(tmp_path / "mine", scored_by("fake-2"))
    merged = pairbank.merge_banks(mine, "acme/bank", out=tmp_path / "merged")
    assert read_manifest(merged)["scores"]["starter"].keys() == {"fake_1", "fake_2"}
    assert "THIS_BANK" in (merged / "README.md").read_text()
    pairbank.publish(merged, "acme/bank")
    assert len(hub.repo("acme/bank").titles) == 3
    with pytest.raises(BankError, match="acme/none: neither a folder here nor a dataset on the Hub"):
        pairbank.merge_banks(mine, "acme/none", out=tmp_path / "none")


def test_the_same_model_with_another_signature_is_refused(tmp_path: Path, scored_by: Score) -> None:
    a = written(tmp_path / "a", scored_by("fake-1"))
    b = written(tmp_path / "b", resigned(scored_by("fake-1"), dtype="bfloat16"))
    with pytest.raises(BankError, match=rf"model 'fake_1': model.dtype is 'float64' in {a}, 'bfloat16' in {b}"):
        pairbank.merge_banks(a, b, out=tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def citing(table: Scored, *keys: str) -> Scored:
    """Return the table with other works to cite for its methods; without keys as an older version wrote it."""
    signature = json.loads(json.dumps(table.signature))
    for definition in signature["methods"].values():
        del definition["cites"]
        if keys:
            definition["cites"] = list(keys)
    return Scored.of(table.dataset, signature)


def test_tables_that_differ_in_what_to_cite_alone_stand_in_one_bank(tmp_path: Path, scored_by: Score) -> None:
    older, other = citing(scored_by("fake-1")), citing(scored_by("fake-2"), "hu2026string")
    bank = written(tmp_path / "bank", older, other, scored_by("fake-3"))
    pairbank.check_bank(bank)
    a, b = written(tmp_path / "a", older), written(tmp_path / "b", scored_by("fake-1"))
    merged = pairbank.merge_banks(a, b, out=tmp_path / "merged")
    assert read_manifest(merged)["scores"]["starter"].keys() == {"fake_1"}


def test_the_same_model_with_other_numbers_is_refused(tmp_path: Path, scored_by: Score) -> None:
    table = scored_by("fake-1")
    rows = table.dataset.to_list()
    rows[1]["direct_good"] += 0.25
    rows[1]["direct_delta"] += 0.25
    other = Scored.of(datasets.Dataset.from_list(rows, features=table.dataset.features), table.signature)
    a, b = written(tmp_path / "a", table), written(tmp_path / "b", other)
    first = rows[1]["item_id"]
    with pytest.raises(BankError, match=rf"column direct_good differs in 1 row\(s\), first {first} \(-[\d.]+ and"):
        pairbank.merge_banks(a, b, out=tmp_path / "merged")


def test_other_versions_of_a_corpus_and_other_methods_are_refused(tmp_path: Path, scored_by: Score) -> None:
    a = written(tmp_path / "a", scored_by("fake-1"))
    b = written(tmp_path / "b", scored_by("fake-2", limit=2))
    with pytest.raises(BankError, match=rf"(?s)corpus 'starter': 4 rows in {a}, 8 in {b}.*different items \(4 and 8\)"):
        pairbank.merge_banks(a, b, out=tmp_path / "merged")
    newer = json.loads((b / "manifest.json").read_text())
    newer["corpora"]["starter"]["version"] = "9.0.0"
    (b / "manifest.json").write_text(json.dumps(newer))
    with pytest.raises(BankError, match=rf"corpus 'starter': version '1\.\d\.0' in {a}, '9.0.0' in {b}"):
        pairbank.merge_banks(a, b, out=tmp_path / "merged")
    c = written(tmp_path / "c", scored_by("fake-2", methods=("direct",)))
    with pytest.raises(BankError, match=r"method\(s\) meta_question_simple in one only, or in another wording"):
        pairbank.merge_banks(a, c, out=tmp_path / "merged")


def test_results_of_texts_left_out_are_taken_over(tmp_path: Path, own_pairs: Path) -> None:
    items = pairbank.load_corpus(own_pairs)
    a, b = (
        pairbank.strip_texts(written(tmp_path / f"full-{name}", pairbank.score(items, f"fake:{name}")), tmp_path / name)
        for name in ("fake-1", "fake-2")
    )
    full = written(tmp_path / "full", *(pairbank.score(items, f"fake:{n}") for n in ("fake-1", "fake-2")))
    merged = pairbank.merge_banks(a, b, out=tmp_path / "merged")
    assert (merged / "results/summary.parquet").read_bytes() == (full / "results/summary.parquet").read_bytes()
    assert b"warm loaf" not in b"".join(p.read_bytes() for p in merged.rglob("*") if p.is_file())
    with pytest.raises(BankError, match=rf"texts in {full}, left out in {a}; leave them out in both"):
        pairbank.merge_banks(full, a, out=tmp_path / "mixed")


@pytest.mark.ci
def test_reports_of_one_name_both_stay(tmp_path: Path, scored_by: Score) -> None:
    banks = []
    for name in ("fake-1", "fake-2"):
        table = scored_by(name)
        banks.append(pairbank.write_bank(tmp_path / name, scored=[table], reports={"demo": pairbank.report([table])}))
    merged = pairbank.merge_banks(*banks, out=tmp_path / "merged")
    assert "fake-1" in (merged / "reports/demo/report.md").read_text()
    assert "fake-2" in (merged / "reports/demo-2/report.md").read_text()
    assert pairbank.merge_banks(*banks, out=merged) == merged  # the very same, as after a kill
    for out in banks:
        with pytest.raises(BankError, match="is not empty"):
            pairbank.merge_banks(*banks, out=out)
    other = written(tmp_path / "fake-3", scored_by("fake-3"))
    with pytest.raises(BankError, match="is not empty"):
        pairbank.merge_banks(banks[0], other, out=merged)
    with pytest.raises(BankError, match="no such folder"):
        pairbank.merge_banks(banks[0], tmp_path / "nothing" / "here", out=tmp_path / "x")


def test_a_licence_that_one_bank_states_holds_for_both_and_two_contradict(tmp_path: Path, own_pairs: Path) -> None:
    items = pairbank.load_corpus(own_pairs)
    tables = [pairbank.score(items, f"fake:{name}", methods=["direct"]) for name in ("fake-1", "fake-2")]
    a, b = (
        pairbank.write_bank(tmp_path / name, scored=[table], licences=licences)
        for name, table, licences in (("a", tables[0], {"own": "cc-by-4.0"}), ("b", tables[1], {}))
    )
    for first, second, folder in ((a, b, "ab"), (b, a, "ba")):
        merged = read_manifest(pairbank.merge_banks(first, second, out=tmp_path / folder))
        assert merged["corpora"]["own"]["source"]["licence"] == "cc-by-4.0"
        assert merged["corpora"]["own"]["source"]["redistributable"] is True
    pairbank.write_bank(b, licences={"own": "mit"})
    with pytest.raises(BankError, match=r"licence 'cc-by-4.0' in .*, 'mit' in "):
        pairbank.merge_banks(a, b, out=tmp_path / "never")


def test_of_a_corpus_that_both_banks_have_the_first_one_says_all_but_a_licence_it_lacks(
    tmp_path: Path, own_pairs: Path
) -> None:
    items = pairbank.load_corpus(own_pairs)
    banks = []
    for name in ("fake-1", "fake-2"):
        table = pairbank.score(items, f"fake:{name}", methods=["direct"])
        facts = {"corpus": "own", "title": f"Title of {name}"}
        signature = {**table.signature, "corpus": {**table.signature["corpus"], "manifest": facts}}
        banks.append(pairbank.write_bank(tmp_path / name, scored=[Scored.of(table.dataset, signature)]))
    for n, licences in enumerate([{}, {"own": "cc-by-4.0"}]):
        pairbank.write_bank(banks[1], corpora=[], licences=licences)
        facts = read_manifest(pairbank.merge_banks(*banks, out=tmp_path / str(n)))["corpora"]["own"]
        assert facts["title"] == "Title of fake-1"
        assert (facts.get("source") or {}).get("licence") == licences.get("own")


def test_commands_that_make_a_bank_are_kept_in_their_order_each_once(tmp_path: Path, scored_by: Score) -> None:
    a = written(tmp_path / "a", scored_by("fake-1"), command="pairbank one")
    for _ in range(2):
        written(a, scored_by("fake-2"), command="pairbank two")
    b = written(tmp_path / "b", scored_by("fake-3"), command="pairbank three")
    merged = pairbank.merge_banks(a, b, out=tmp_path / "merged", command="pairbank merge a b")
    assert read_manifest(merged)["command"].splitlines() == [
        "pairbank one",
        "pairbank two",
        "pairbank three",
        "pairbank merge a b",
    ]
