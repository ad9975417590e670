"""Publishing with the real clients: what loads is what was scored, and nothing is half-published or overwritten."""

import ast
import gzip
import json
import logging
import shutil
import traceback
from pathlib import Path
from typing import Any

import datasets
import httpx2
import pytest
import yaml
from huggingface_hub import HfApi

import pairbank
from bank_fixtures import Score
from hub_emulator import FakeHub, redirected
from hub_store import Fault
from pairbank.cards.bank.layout import RENDERED
from pairbank.errors import BankError, PublishError
from pairbank.scoring.scored import Scored

REPO = "acme/judgments"
HF_TASK = {"id", "config", "split", "field_spec", "shuffle_choices", "epochs", "epoch_reducer", "solvers", "scorers"}


@pytest.fixture
def bank(tmp_path: Path, scored_by: Score) -> Path:
    return pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])


def files_of(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.ci
def test_one_model_of_fifty_is_loaded_by_the_card_with_its_own_file_alone(hub: FakeHub, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(3))
    names = [f"model-{n}" for n in range(50)]
    scored = [pairbank.score(items, f"fake:{name}", methods=["direct"]) for name in names]
    pairbank.publish(pairbank.write_bank(tmp_path / "bank", scored=scored), REPO)
    card = hub.repo(REPO).head.tree["README.md"].data.decode()
    line = next(line for line in card.splitlines() if line.startswith("scored = load_dataset("))
    n_before = len(hub.log)
    call: Any = ast.parse(line.removeprefix("scored = "), mode="eval").body
    given, named = map(ast.literal_eval, call.args), {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    loaded = datasets.load_dataset(*given, **named)
    read = {path for method, path, _ in hub.log[n_before:] if method == "GET" and path.endswith(".parquet")}
    assert len(read) == 1
    assert set(loaded["model"]) == {"model-0"}
    assert loaded.to_list() == scored[0].dataset.to_list()


def test_what_loads_from_the_hub_is_what_was_scored_and_a_model_more_is_a_commit_more(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    first = pairbank.publish(bank, REPO)
    assert hub.repo(REPO).titles == ["Publish 1 corpus, 1 model", "initial commit"]
    scored = scored_by("fake-1")
    loaded = datasets.load_dataset(REPO, "starter_scored", split="fake_1")
    assert loaded.to_list() == scored.dataset.to_list()
    assert loaded.features == scored.dataset.features
    card = hub.repo(REPO).head.tree["README.md"].data.decode()
    assert f'load_dataset("{REPO}", data_files="scores/starter/fake_1.parquet", split="train")' in card
    assert f'load_dataset("{REPO}", "starter_scored")' in card
    assert "THIS_BANK" not in card

    assert not pairbank.publish(bank, REPO).changes
    assert len(hub.repo(REPO).titles) == 2

    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    second = pairbank.publish(bank, REPO)
    added = ["long/starter/fake_2.parquet", "scores/starter/fake_2.parquet"]
    assert [change.path for change in second.changes.added] == added
    changed = {change.path for change in second.changes.changed}
    assert changed == {"README.md", "croissant.json", "manifest.json", RENDERED, "results/summary.parquet"}
    assert hub.repo(REPO).titles[0] == "Publish 1 corpus, 2 models"
    with redirected(hub, tmp_path / "clean"):
        both = datasets.load_dataset(REPO, "starter_scored")
    assert sorted(both) == ["fake_1", "fake_2"]
    assert both["fake_2"].to_list() == scored_by("fake-2").dataset.to_list()
    assert first.revision != second.revision == hub.repo(REPO).head.oid


def test_a_published_bank_that_is_downloaded_is_whole(hub: FakeHub, bank: Path) -> None:
    pairbank.publish(bank, REPO, private=True)
    assert hub.repo(REPO).private
    copy = HfApi().snapshot_download(REPO, repo_type="dataset")
    assert pairbank.check_bank(copy)["corpora"].keys() == {"starter"}


def test_a_dry_run_shows_the_difference_and_touches_nothing(hub: FakeHub, bank: Path, scored_by: Score) -> None:
    before = files_of(bank)
    told: list[str] = []
    made = pairbank.publish(bank, REPO, dry_run=True, space=True, tell=told.append)
    assert hub.repos == {}
    assert "+ scores/starter/fake_1.parquet" in told[0]
    assert "9 added, 0 changed, 0 removed, 0 unchanged" in told[0]
    assert made.dry_run
    assert not made.revision
    assert files_of(bank) == before
    pairbank.publish(bank, REPO)
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    head, before = hub.repo(REPO).head, files_of(bank)
    pairbank.publish(bank, REPO, dry_run=True, tell=told.append)
    assert "~ README.md" in told[-1]
    assert hub.repo(REPO).head is head
    assert files_of(bank) == before
    assert all(method in ("GET", "HEAD") for method, _, _ in hub.log[-6:])


def test_a_commit_in_between_is_seen_and_its_file_stays(hub: FakeHub, bank: Path) -> None:
    pairbank.publish(bank, REPO)
    shutil.rmtree(bank / "reports", ignore_errors=True)
    pairbank.write_bank(
        bank, reports={"demo": pairbank.report([pairbank.read_scored(bank / "scores/starter/fake_1.parquet")])}
    )
    hub.before_commit = lambda repo: repo.edit("somebody's note", {"NOTES.md": b"hello"})
    made = pairbank.publish(bank, REPO)
    assert hub.repo(REPO).titles[:2] == ["Publish 1 corpus, 1 model", "somebody's note"]
    assert hub.repo(REPO).head.tree["NOTES.md"].data == b"hello"
    assert made.changes.left_alone == ("NOTES.md",)
    assert [status for method, path, status in hub.log if "/commit/" in path] == [200, 412, 200]


@pytest.mark.ci
def test_others_scores_that_came_in_between_are_never_overwritten(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    theirs = pairbank.write_bank(tmp_path / "theirs", scored=[scored_by("fake-1"), scored_by("fake-9")])
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    hub.before_commit = lambda repo: repo.edit("another lab", files_of(theirs))
    with pytest.raises(
        PublishError, match=r"(?s)scores/starter/fake_9.parquet: on the Hub, not in this bank.*pairbank merge"
    ):
        pairbank.publish(bank, REPO)
    assert hub.repo(REPO).titles[0] == "another lab"
    merged = pairbank.merge_banks(bank, REPO, out=tmp_path / "merged")
    pairbank.publish(merged, REPO)
    splits = datasets.get_dataset_split_names(REPO, "starter_scored")
    assert sorted(splits) == ["fake_1", "fake_2", "fake_9"]


def test_a_card_that_somebody_edited_is_replaced_only_if_that_is_allowed(
    hub: FakeHub, bank: Path, scored_by: Score
) -> None:
    pairbank.publish(bank, REPO)
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    hub.repo(REPO).edit("by hand", {"README.md": b"---\nlicense: mit\n---\nmine\n"})
    with pytest.raises(PublishError, match=r"README.md: not what this bank published"):
        pairbank.publish(bank, REPO)
    pairbank.publish(bank, REPO, replace=["README.md"])
    assert b"fake-2" in hub.repo(REPO).head.tree["README.md"].data


@pytest.mark.usefixtures("hub")
def test_another_copy_of_the_bank_may_add_to_it_but_not_change_scores(
    bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    copy = pairbank.write_bank(tmp_path / "copy", scored=[scored_by("fake-1"), scored_by("fake-2")])
    pairbank.publish(copy, REPO)
    other = pairbank.write_bank(tmp_path / "other", scored=[scored_by(n, limit=2) for n in ("fake-1", "fake-2")])
    with pytest.raises(PublishError, match=r"scores/starter/fake_1.parquet: not what this bank published"):
        pairbank.publish(other, REPO)


@pytest.mark.ci
@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST", "/commit/", 503, times=9),
        Fault("PUT", "/_lfs/", 500, times=99),
        Fault("POST", "/preupload/", 504, times=99),
    ],
    ids=["commit", "upload", "preupload"],
)
def test_a_hub_that_fails_in_the_middle_keeps_the_old_revision(
    hub: FakeHub, bank: Path, scored_by: Score, fault: Fault
) -> None:
    pairbank.publish(bank, REPO)
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    head = hub.repo(REPO).head
    hub.faults = [fault]
    with pytest.raises(PublishError, match=rf"could not publish {REPO}: .*{fault.status}.*try again later"):
        pairbank.publish(bank, REPO)
    assert hub.repo(REPO).head is head
    hub.faults = []
    pairbank.publish(bank, REPO)
    assert "scores/starter/fake_2.parquet" in hub.repo(REPO).head.tree


def test_a_hub_that_is_busy_for_a_moment_is_asked_again_with_growing_pauses(hub: FakeHub, bank: Path) -> None:
    hub.faults = [Fault("POST", "/commit/", 503, times=2)]
    pairbank.publish(bank, REPO)
    assert hub.repo(REPO).titles == ["Publish 1 corpus, 1 model", "initial commit"]
    assert hub.waited == [1.0, 2.0]


def test_a_commit_whose_answer_is_lost_is_not_made_twice(hub: FakeHub, bank: Path) -> None:
    hub.faults = [Fault("POST", "/commit/", 502, after=True)]
    made = pairbank.publish(bank, REPO)
    assert hub.repo(REPO).titles == ["Publish 1 corpus, 1 model", "initial commit"]
    assert made.revision == hub.repo(REPO).head.oid


def test_a_hub_that_does_not_answer_is_an_error_with_no_traceback_of_the_client(
    hub: FakeHub, bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(*_args: object, **_kwargs: object) -> None:
        raise httpx2.ReadTimeout("the read operation timed out")

    monkeypatch.setattr(HfApi, "repo_info", time_out)
    with pytest.raises(PublishError, match=r"could not publish .*timed out \(try again later\)"):
        pairbank.publish(bank, REPO)
    assert hub.waited == [1.0, 2.0, 4.0, 8.0]


def test_the_token_is_never_seen(
    tmp_path: Path,
    bank: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentinel = "hf_SENTINELvalueThatMustNotShow"
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    caplog.set_level(logging.DEBUG)
    said = ""
    with FakeHub(token=sentinel) as hub, redirected(hub, tmp_path / "home", token=sentinel):
        pairbank.publish(bank, REPO, tell=print)
        said += repr(pairbank.publish(bank, REPO, space=True))
        hub.faults = [Fault("POST", "/commit/", 403, times=9)]
        pairbank.write_bank(bank, command="again")
        with pytest.raises(PublishError, match="your token may not write there") as caught:
            pairbank.publish(bank, REPO)
        said += "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        hub.token = "another"  # noqa: S105 - of the emulator
        with pytest.raises(PublishError, match="HF_TOKEN") as caught:
            pairbank.publish(bank, "acme/new")
        said += "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    shown = capfd.readouterr()
    assert sentinel not in said + caplog.text + shown.out + shown.err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or sentinel.encode() not in path.read_bytes(), path


def test_an_error_that_quotes_the_token_is_scrubbed(hub: FakeHub, bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(f"cannot use token {hub.token}")

    monkeypatch.setattr(HfApi, "repo_info", refuse)
    with pytest.raises(PublishError) as caught:
        pairbank.publish(bank, REPO)
    assert str(caught.value) == f"could not publish {REPO}: cannot use token <token>"


def test_a_bank_that_is_not_whole_is_refused(hub: FakeHub, bank: Path) -> None:
    page = (bank / "README.md").read_text()
    [line] = [x for x in page.splitlines() if x.startswith("| fake-1 | starter | all | direct |")]
    cell = line.split(" | ")[6]
    better = line.replace(cell, "0.99 [0.98, 1.00]")
    (bank / "README.md").write_text(page.replace(line, better))
    with pytest.raises(
        BankError, match=r"(?s)README.md: changed since.*fake-1 / starter / all / direct.*card says 0.99"
    ):
        pairbank.publish(bank, REPO)
    (bank / "README.md").write_text(page)
    scores = bank / "scores/starter/fake_1.parquet"
    data = scores.read_bytes()
    scores.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(BankError, match=r"scores/starter/fake_1.parquet: changed since the bank was written"):
        pairbank.publish(bank, REPO)
    scores.unlink()
    with pytest.raises(BankError, match=r"scores/starter/fake_1.parquet: missing"):
        pairbank.publish(bank, REPO)
    with pytest.raises(PublishError, match="'no-slash' is no name on the Hub"):
        pairbank.publish(bank, "no-slash")
    assert hub.repos == {}


def test_a_public_dataset_does_not_take_what_shall_be_private(hub: FakeHub, bank: Path, scored_by: Score) -> None:
    pairbank.publish(bank, REPO)
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    with pytest.raises(PublishError, match="is public, and private=True was asked for"):
        pairbank.publish(bank, REPO, private=True)
    assert len(hub.repo(REPO).titles) == 2


def test_texts_that_may_not_be_published_stay_and_ids_and_scores_go(
    hub: FakeHub, tmp_path: Path, own_pairs: Path
) -> None:
    scored = pairbank.score(pairbank.load_corpus(own_pairs), "fake:fake-1")
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    with pytest.raises(BankError, match=r"own: unknown. A file of your own.*pairbank strip"):
        pairbank.publish(bank, REPO)
    public = pairbank.strip_texts(bank, tmp_path / "public")
    pairbank.publish(public, REPO)
    blobs = b"".join(blob.data for blob in hub.repo(REPO).head.tree.values()) + b"".join(hub.lfs.values())
    assert b"warm loaf" not in blobs
    assert b"warm loaf" in b"".join(files_of(bank).values())
    loaded = datasets.load_dataset(REPO, "own_scored", split="fake_1")
    assert loaded["item_id"][:] == scored.dataset["item_id"][:]
    assert loaded["direct_delta"][:] == scored.dataset["direct_delta"][:]
    assert not {"target_good", "target_bad", "human_good"} & set(loaded.column_names)
    whole, left = (
        datasets.load_dataset("parquet", data_files=str(b / "results/summary.parquet")) for b in (bank, public)
    )
    assert whole["train"].to_list() == left["train"].to_list()
    assert "only ids, labels and" in hub.repo(REPO).head.tree["README.md"].data.decode()


def test_a_stated_licence_makes_own_items_publishable(hub: FakeHub, tmp_path: Path, own_pairs: Path) -> None:
    scored = pairbank.score(pairbank.load_corpus(own_pairs), "fake:fake-1")
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored], licences={"own": "cc-by-4.0"})
    pairbank.write_bank(bank, scored=[pairbank.score(pairbank.load_corpus(own_pairs), "fake:fake-2")])
    pairbank.publish(bank, REPO)
    head = yaml.safe_load(hub.repo(REPO).head.tree["README.md"].data.decode().split("---\n")[1])
    assert head["license"] == ["cc-by-4.0"]
    assert datasets.load_dataset(REPO, "own", split="items")[0]["target_good"] == "The baker slices a warm loaf."


@pytest.mark.ci
def test_the_space_is_the_banks_site_as_of_its_commit(hub: FakeHub, bank: Path, scored_by: Score) -> None:
    made = pairbank.publish(bank, REPO, space=True)
    tree = hub.repo(REPO, "space").head.tree
    assert hub.repo(REPO, "space").sdk == "static"
    assert made.space_url.endswith(f"/spaces/{REPO}")
    head = yaml.safe_load(tree["README.md"].data.decode().split("---\n")[1])
    assert (head["sdk"], head["app_file"], head["datasets"]) == ("static", "index.html", [REPO])
    assert {"index.html", "main.js", "site.css", "data/site.json.gz"} <= tree.keys()
    assert _site_facts(hub)["revision"] == made.revision
    assert _site_facts(hub)["name"] == REPO
    n_commits = len(hub.repo(REPO, "space").titles)
    told: list[str] = []
    pairbank.publish(bank, REPO, space=True)
    pairbank.publish(bank, REPO, space=True, dry_run=True, tell=told.append)
    assert len(hub.repo(REPO, "space").titles) == n_commits
    assert "0 added, 0 changed, 0 removed" in told[-1]
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    pairbank.publish(bank, REPO, space=True, dry_run=True, tell=told.append)
    assert "0 added, 0 changed" not in told[-1]
    again = pairbank.publish(bank, REPO, space=True)
    assert again.revision != made.revision
    assert _site_facts(hub)["revision"] == again.revision


def _site_facts(hub: FakeHub) -> dict[str, Any]:
    packed = hub.repo(REPO, "space").head.tree["data/site.json.gz"].data
    return dict(json.loads(gzip.decompress(packed)))


def test_the_space_of_a_private_bank_is_private_or_not_there(hub: FakeHub, bank: Path) -> None:
    pairbank.publish(bank, REPO, private=True)
    pairbank.publish(bank, REPO, space=True)
    assert hub.repo(REPO, "space").private
    hub.repo(REPO, "space").private = False
    with pytest.raises(PublishError, match=r"is public, and private=True was asked for"):
        pairbank.publish(bank, REPO, space=True)


def test_results_are_proposed_to_a_models_repository_on_request_only(hub: FakeHub, bank: Path, tmp_path: Path) -> None:
    from huggingface_hub import parse_eval_result_entries

    path = bank / "scores/starter/fake_1.parquet"
    signature = json.loads(json.dumps(pairbank.read_scored(path).signature))
    signature["model"] |= {"model_id": "acme/tiny", "revision": "a" * 40}
    table = Scored.of(pairbank.read_scored(path).dataset, signature)
    bank = pairbank.write_bank(tmp_path / "named", scored=[table])
    HfApi().create_repo("acme/tiny")
    made = pairbank.publish(bank, REPO)
    assert set(made.eval_results) == {"acme/tiny"}
    assert "eval.yaml" not in hub.repo(REPO).head.tree
    assert hub.repo("acme/tiny", "model").n_pull_requests == 0
    made = pairbank.publish(bank, REPO, eval_results_pr=True)
    assert made.pull_requests["acme/tiny"].endswith("/acme/tiny/discussions/1")
    tree = hub.repo("acme/tiny", "model").resolve("refs/pr/1")
    assert tree is not None
    entries = parse_eval_result_entries(yaml.safe_load(tree.tree[".eval_results/acme_judgments.yaml"].data))
    assert [e.task_id for e in entries] == ["starter_forced_choice"]
    summary = datasets.load_dataset(REPO, "summary", split="results").to_pandas()
    whole = summary[(summary["metric"] == "accuracy") & (summary["group_by"] == "all")].set_index("method")["value"]
    for entry in entries:
        assert entry.value == pytest.approx(100 * whole["meta_question_simple"], abs=0.005)
        assert "accuracy in per cent of meta_question_simple" in str(entry.notes)
        assert (entry.dataset_id, entry.dataset_revision) == (REPO, made.revision)
    stated = yaml.safe_load(hub.repo(REPO).head.tree["eval.yaml"].data)
    [task] = stated["tasks"]
    assert stated["evaluation_framework"] == "inspect-ai"
    assert task["id"] == entries[0].task_id
    # what Inspect 0.3.285 takes: `HFTask` forbids other keys, solvers and scorers are of its lists
    assert task.keys() <= HF_TASK
    assert task["solvers"][0]["name"] == "multiple_choice"
    assert all(f"{{{slot}}}" in task["solvers"][0]["args"]["template"] for slot in ("question", "choices", "letters"))
    assert task["scorers"] == [{"name": "choice"}]
    row = datasets.load_dataset(REPO, task["config"], split=task["split"])[0]
    spec = task["field_spec"]
    assert all(isinstance(row[name], str) for name in (spec["input"], *spec["choices"], *spec["metadata"]))
    assert spec["target"] == "literal:A"
    assert datasets.load_dataset(REPO, "starter", split="items").num_rows == len(table)
    pairbank.publish(bank, REPO, eval_results_pr=True)
    assert hub.repo("acme/tiny", "model").n_pull_requests == 1


def test_a_dry_run_without_the_hub_says_what_would_be_written(
    hub: FakeHub, bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_asked: object, **_more: object) -> None:
        raise ConnectionError("no route to the Hub")

    monkeypatch.setattr(HfApi, "repo_info", unreachable)
    told: list[str] = []
    made = pairbank.publish(bank, REPO, dry_run=True, space=True, tell=told.append)
    assert "(not asked)" in told[0]
    assert "could not be asked what is there (no route to the Hub)" in told[0]
    assert "+ scores/starter/fake_1.parquet" in told[0]
    assert made.dry_run
    assert hub.repos == {}


@pytest.mark.usefixtures("hub")
def test_a_version_has_a_tag_that_loads_it_and_never_moves(bank: Path, scored_by: Score) -> None:
    made = pairbank.publish(bank, REPO, tag="v1")
    assert HfApi().list_repo_refs(REPO, repo_type="dataset").tags[0].target_commit == made.revision
    assert pairbank.publish(bank, REPO, tag="v1").tag == "v1"
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    with pytest.raises(PublishError, match="has a version v1 already"):
        pairbank.publish(bank, REPO, tag="v1")
    pairbank.publish(bank, REPO, tag="v2")
    assert list(datasets.load_dataset(REPO, "starter_scored", revision="v1")) == ["fake_1"]
    assert sorted(datasets.load_dataset(REPO, "starter_scored", revision="v2")) == ["fake_1", "fake_2"]
    with pytest.raises(PublishError, match="cannot name a version"):
        pairbank.publish(bank, REPO, tag="my version")
