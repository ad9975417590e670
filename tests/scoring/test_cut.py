"""Tables cut alike: others' results, of other items and methods, stand in one bank with one's own."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.cli import app
from pairbank.errors import BankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored


def scored_by(name: str, *, methods: list[str], limit: int, subset: str | None = None) -> Scored:
    items = pairbank.load_corpus("starter", limit=limit, subset=subset)
    return pairbank.score(items, FakeScorer(name=name), methods=methods)


def theirs(folder: Path) -> Scored:
    """Return what somebody else computed: more items than ours, in another order, and one method."""
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=4)
    lines = [f"{item},-{place + 2}.5,-{place + 3}.25" for place, item in enumerate(reversed(items["item_id"][:]))]
    path = folder / "theirs.csv"
    path.write_text("\n".join(["item_id,direct_good,direct_bad", *lines]) + "\n", encoding="utf-8")
    known = pairbank.load_corpus("starter")
    [table] = pairbank.import_scores(path, items=known, model="other/theirs")
    return table


def test_imported_results_of_other_items_and_methods_enter_one_bank(tmp_path: Path) -> None:
    ours = scored_by("fake-1", methods=["direct", "meta_question_simple"], limit=2, subset="minimal-pairs")
    more = scored_by("fake-2", methods=["meta_question_simple", "direct", "mean_logprob"], limit=3)
    other = theirs(tmp_path)
    with pytest.raises(BankError, match=r"scored on different items; .*pairbank cut FILE"):
        pairbank.write_bank(tmp_path / "bank", scored=[ours, other])
    paths = [table.save(tmp_path / f"{place}.parquet") for place, table in enumerate([ours, more, other])]
    done = completed(["cut", *map(str, paths), "--out", str(tmp_path / "alike")])
    said = " ".join(done.output.split())
    assert f"{len(ours):,} of {len(more):,} items, direct, without" in said
    assert f"{len(ours):,} of {len(other):,} items, direct" in said
    files = sorted((tmp_path / "alike" / "starter").glob("*.parquet"))
    alike = [pairbank.read_scored(path) for path in files]
    bank = pairbank.write_bank(tmp_path / "bank", scored=alike)
    pairbank.check_bank(bank)
    for table, before in ((alike[0], ours), (alike[1], more), (alike[2], other)):
        assert table.model == before.model
        rows = {row["item_id"]: row for row in before.dataset.to_list()}
        assert len(table) == len(ours)
        for row in table.dataset.to_list():
            assert {name: rows[row["item_id"]][name] for name in row} == row
    assert alike[2].signature["cut_from"] == {"n_items": len(other), "methods": ["direct"]}


def test_tables_that_are_alike_stay_as_they_are() -> None:
    one, two = (scored_by(name, methods=["direct"], limit=1) for name in ("fake-1", "fake-2"))
    for table, before in zip(pairbank.cut_alike([one, two]), (one, two), strict=True):
        assert table.dataset.to_list() == before.dataset.to_list()
        assert table.dataset.features == before.dataset.features
        assert table.signature == before.signature


def test_tables_that_share_nothing_or_other_texts_are_refused() -> None:
    one = scored_by("fake-1", methods=["direct"], limit=1, subset="minimal-pairs")
    with pytest.raises(BankError, match="share no item; import others' results with --items"):
        pairbank.cut_alike([one, scored_by("fake-2", methods=["direct"], limit=1, subset="concepts")])
    with pytest.raises(BankError, match="share no method in the same wording"):
        pairbank.cut_alike([one, scored_by("fake-2", methods=["mean_logprob"], limit=1)])
    items = pairbank.load_corpus("starter", limit=1, subset="minimal-pairs")
    changed = items.map(lambda row: {"target_good": f"{row['target_good']}!"})
    other = pairbank.score(changed, FakeScorer(name="fake-2"), methods=["direct"])
    with pytest.raises(BankError, match="other texts in the table of fake-2"):
        pairbank.cut_alike([one, other])


def test_no_table_is_written_over_another_or_over_what_was_read(tmp_path: Path) -> None:
    one, two = (scored_by("fake-1", methods=["direct"], limit=limit) for limit in (1, 2))
    paths = [str(one.save(tmp_path / "one.parquet")), str(two.save(tmp_path / "two.parquet"))]
    out = tmp_path / "alike"
    done = CliRunner().invoke(app, ["cut", *paths, "--out", str(out)])
    said = str(done.exception)
    assert done.exit_code == 1, done.output
    assert "are of one model and corpus" in said
    assert "import --model NAME" in said
    assert not out.exists()
    bank = out / "starter"
    bank.mkdir(parents=True)
    own = one.save(bank / f"{one.model_slug}.parquet")
    before = own.read_bytes()
    other = scored_by("fake-2", methods=["direct"], limit=2).save(tmp_path / "other.parquet")
    done = CliRunner().invoke(app, ["cut", str(own), str(other), "--out", str(out)])
    assert done.exit_code == 1, done.output
    assert "is one of the files to cut" in str(done.exception)
    assert own.read_bytes() == before
