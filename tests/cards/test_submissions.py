"""A shared bank: groups hand in tables as pull requests; what is wrong is refused, nothing honest is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from huggingface_hub import CommitOperationAdd, HfApi
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score
from hub_emulator import FakeHub
from hub_store import Repo
from pairbank.cards.submissions import INDEX, check_submission
from pairbank.cli import app
from pairbank.errors import BankError, UnknownNameError
from pairbank.scoring.signature import METADATA_KEY

# huggingface_hub 2.4 uploads LFS files in a way that its own HTTP client calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
REPO = "acme/store"


@pytest.fixture
def bank(tmp_path: Path, scored_by: Score) -> Path:
    return pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])


def merged(repo: Repo, number: int, root: Path, *, n_files: int = 2) -> None:
    """Do what merging a pull request does: put the files that it adds into a clone."""
    before = repo.head.tree
    added = {p: b for p, b in repo.commits[repo.refs[f"refs/pr/{number}"]].tree.items() if p not in before}
    assert len(added) == n_files
    for path, blob in added.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(blob.data)


def edited(
    file: Path,
    out: Path,
    *,
    column: str = "",
    value: Callable[[Any], Any] = lambda x: x,
    sign: Callable[[Any], None] = lambda _: None,
) -> Path:
    """Write a scored table with the first value of a column changed, or its signature."""
    table = pq.read_table(file)
    signature = json.loads(table.schema.metadata[METADATA_KEY])
    sign(signature)
    if column:
        values = table[column].to_pylist()
        values[0] = value(values[0])
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pa.array(values, type=table.schema.field(at).type))
    metadata = {**table.schema.metadata, METADATA_KEY: json.dumps(signature).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return out


def test_one_model_is_handed_in_by_a_pull_request_and_shown_and_fetched_alone(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    dry = pairbank.submit(file, REPO, submitter="lab", dry_run=True)
    assert (dry.url, hub.repo(REPO).n_pull_requests) == ("", 0)
    made = pairbank.submit(file, REPO, submitter="lab", date="2026-11-24", command="pairbank score")
    assert made.path == dry.path
    assert made.url.endswith("/discussions/1")
    merged(hub.repo(REPO), 1, bank)
    record = json.loads((bank / made.path).with_suffix(".json").read_bytes())
    assert (record["submitter"], record["date"], record["command"]) == ("lab", "2026-11-24", "pairbank score")
    assert check_submission(bank / made.path, REPO) == []
    [state] = pairbank.build_store(bank)
    assert (state.state, state.submitter) == ("shown", "lab")
    before = {p: p.read_bytes() for p in bank.rglob("*") if p.is_file()}
    assert [one.state for one in pairbank.build_store(bank)] == ["shown"]
    assert {p: p.read_bytes() for p in bank.rglob("*") if p.is_file()} == before
    pairbank.check_bank(bank)
    assert len(load_dataset(str(bank), "starter_scored", split="fake_2")) > 0
    with_record = [made.path, made.path.replace(".parquet", ".json")]
    operations = [CommitOperationAdd(path, bank / path) for path in with_record]
    HfApi().create_commit(REPO, operations, commit_message="Merge", repo_type="dataset")
    pairbank.publish(bank, REPO)
    assert set(with_record) <= hub.repo(REPO).head.tree.keys()
    n_before = len(hub.log)
    fetched = pairbank.fetch(REPO, model="fake-2", corpus="starter")
    assert fetched.dataset.to_list() == pairbank.read_scored(file).dataset.to_list()
    read = {path.rpartition("/")[2] for method, path, _ in hub.log[n_before:] if method == "GET"}
    assert read == {"manifest.json", "fake_2.parquet"}
    with pytest.raises(UnknownNameError, match="fake-3"):
        pairbank.fetch(REPO, model="fake-3", corpus="starter")


def test_a_check_of_a_submission_downloads_the_manifest_and_the_items_alone(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    n_before = len(hub.log)
    done = CliRunner().invoke(app, ["check", "--submission", str(file), "--against", REPO], catch_exceptions=False)
    assert done.output.strip() == f"{file}: accepted by {REPO}"
    read = {path.rpartition("/")[2] for method, path, _ in hub.log[n_before:] if method == "GET"}
    assert read == {"manifest.json", "items.parquet"}


def test_a_withdrawn_submission_gives_way_to_the_next_and_stays_with_its_reason(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    pairbank.publish(bank, REPO)
    paths = [pairbank.submit(file, REPO, submitter=f"lab-{n}", date=f"2026-11-0{n}").path for n in (1, 2)]
    for number in (1, 2):
        merged(hub.repo(REPO), number, bank)
    alone = {p: p.read_bytes() for p in (bank / "scores").rglob("*.parquet")}
    assert [one.state for one in pairbank.build_store(bank)] == ["shown", "shown"]
    api = HfApi()
    for path in paths:
        api.create_commit(REPO, [CommitOperationAdd(path, bank / path)], commit_message="Merge", repo_type="dataset")
    with pytest.raises(BankError, match="no such submission"):
        pairbank.withdraw("submissions/x.parquet", REPO, reason="wrong")
    with pytest.raises(BankError, match="needs a reason"):
        pairbank.withdraw(paths[0], REPO, reason=" ")
    for number, path in enumerate(paths, 3):
        assert pairbank.withdraw(path, REPO, reason="wrong tokenizer").endswith(f"/discussions/{number}")
        merged(hub.repo(REPO), number, bank, n_files=1)
        states = {one.path: one for one in pairbank.build_store(bank)}
        assert (states[path].state, states[path].reason) == ("withdrawn", "wrong tokenizer")
        models = set(pairbank.check_bank(bank)["scores"]["starter"])
        assert models == ({"fake_1", "fake_2"} if path == paths[0] else {"fake_1"})
    assert {p: p.read_bytes() for p in (bank / "scores").rglob("*.parquet")} == alone
    assert all((bank / path).is_file() for path in paths)


def test_what_is_wrong_is_refused_with_its_reason(bank: Path, scored_by: Score, tmp_path: Path) -> None:
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    other_method = scored_by("fake-2", methods=("direct",)).save(tmp_path / "other.parquet")
    fewer = edited(file, tmp_path / "5", sign=lambda s: s["corpus"].update(n_items=99))
    forged = edited(file, tmp_path / "6", sign=lambda s: s["methods"]["direct"].update(sha256="0" * 64))
    other_corpus = edited(file, tmp_path / "7", sign=lambda s: s["corpus"].update(name="blimp"))
    logprobs = "meta_question_simple_logprobs"
    wrong = {
        edited(file, tmp_path / "1", column="direct_delta", value=lambda x: x + 1): "direct_delta is not good - bad",
        edited(file, tmp_path / "2", column="direct_good", value=lambda _: 5.0): "direct_good is above 0 in 1 value",
        edited(file, tmp_path / "3", column=logprobs, value=lambda x: [1.0, *x[1:]]): f"{logprobs} is above 0",
        edited(
            file, tmp_path / "4", column="target_good", value=lambda x: f"{x}!"
        ): "column target_good is not that of",
        fewer: "its signature says 99",
        forged: "method(s) direct: missing, not in the store, or defined differently",
        other_corpus: "the store has no corpus 'blimp'",
        other_method: "method(s) meta_question_simple: missing",
    }
    assert check_submission(file, bank) == []
    for path, reason in wrong.items():
        assert any(reason in one for one in check_submission(path, bank)), (path, check_submission(path, bank))
    done = CliRunner().invoke(app, ["check", "--submission", str(forged), "--against", str(bank)])
    assert isinstance(done.exception, BankError)
    assert CliRunner().invoke(app, ["check", str(bank), "--submission", str(file)]).exit_code == 2


@pytest.mark.ci
def test_fifty_groups_at_once_lose_nothing_honest_and_every_fault_is_named(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    published = shutil.copytree(bank, tmp_path / "clone")
    files = []
    for group in range(30):  # groups 20 to 29 score a model again that others have, with slightly other results
        file = scored_by(f"model-{group % 20}").save(tmp_path / f"{group}.parquet")
        if group >= 20:
            for column in ("direct_good", "direct_delta"):
                file = edited(file, tmp_path / f"{group}-{column}.parquet", column=column, value=lambda x: x - 0.25)
        files.append(file)

    def hand_in(group: int) -> None:
        pairbank.submit(files[group], REPO, submitter=f"group-{group}", date=f"2026-11-{1 + group // 20:02}")

    with ThreadPoolExecutor(4) as groups:
        list(groups.map(hand_in, range(30)))
    good = tmp_path / "0.parquet"
    for group in range(10):  # refused before a pull request is opened
        bad = edited(good, tmp_path / f"bad-{group}.parquet", column="direct_delta", value=lambda x: x - 3)
        with pytest.raises(BankError, match="is not good - bad"):
            pairbank.submit(bad, REPO, submitter=f"wrong-{group}")
    assert hub.repo(REPO).n_pull_requests == 30
    for number in range(30, 0, -1):  # merged in another order than opened
        merged(hub.repo(REPO), number, published)
    theirs = sorted((published / "submissions").rglob("*.parquet"))
    assert len(theirs) == 30
    for group, file in enumerate(theirs[:10]):  # hostile groups bring files by other ways than `submit`
        copy = file.with_name(f"hostile-{group}.parquet")
        if group % 2:
            shutil.copyfile(file, copy)
        else:
            edited(file, copy, sign=lambda s: s["model"].update(revision="other"))
        record = json.loads(file.with_suffix(".json").read_bytes())
        copy.with_suffix(".json").write_text(json.dumps(record if group < 8 else []))
    states = {one.path: one for one in pairbank.build_store(published)}
    assert [one.state for one in states.values()].count("shown") == 20
    replications = [one for one in states.values() if one.state == "replication"]
    assert sorted(one.submitter for one in replications) == [f"group-{n}" for n in range(20, 30)]
    for one in replications:
        assert one.largest_difference == pytest.approx({"direct": 0.25, "meta_question_simple": 0})
    refused = [one for one in states.values() if one.state == "refused"]
    assert len(refused) == 10
    assert all("hostile" in one.path and one.reason for one in refused)
    manifest = pairbank.check_bank(published)
    assert len(manifest["scores"]["starter"]) == 21
    assert json.loads((published / INDEX).read_bytes())[0]["path"] == min(states)
