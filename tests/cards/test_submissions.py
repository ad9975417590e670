"""A shared bank: groups hand in tables as pull requests; what is wrong is refused, nothing honest is lost."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from datasets import Value, load_dataset
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score
from command_line import completed
from hub_emulator import FakeHub
from hub_store import Repo
from pairbank.cards.bank.layout import INDEX
from pairbank.cards.export.every_eval_ever import schema_problems
from pairbank.cards.store import State
from pairbank.cards.submissions import check_submission, submission_path
from pairbank.cli import app
from pairbank.errors import BankError, UnknownNameError
from pairbank.files import sha256_of_file
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import corpus_signature
from store_submissions import edited, put, submission

# huggingface_hub 2.4 uploads LFS files in a way that its own HTTP client calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
REPO = "acme/store"
N_GROUPS, N_MODELS = 12, 8


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


def test_one_model_is_handed_in_by_a_pull_request_and_shown_and_fetched_alone(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    dry = pairbank.submit(file, REPO, submitter="lab", date="2026-11-24", command="pairbank score", dry_run=True)
    assert (dry.url, hub.repo(REPO).n_pull_requests) == ("", 0)
    made = pairbank.submit(file, REPO, submitter="lab", date="2026-11-24", command="pairbank score")
    assert made.path == dry.path
    assert made.url.endswith("/discussions/1")
    merged(hub.repo(REPO), 1, bank)
    record = json.loads((bank / made.path).with_suffix(".json").read_bytes())
    assert (record["submitter"], record["date"], record["command"]) == ("lab", "2026-11-24", "pairbank score")
    assert check_submission(bank / made.path, REPO).accepted
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
    assert done.output.splitlines()[0] == f"{file}: accepted by {REPO}"
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


def test_a_model_is_removed_from_a_bank_and_fetched_from_a_folder(bank: Path, scored_by: Score) -> None:
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    assert pairbank.fetch(bank, model="pairbank/fake-2", corpus="starter").model == "fake-2"
    removed = ["remove", str(bank), "--model", "fake-2"]
    assert CliRunner().invoke(app, [*removed, "--corpus", "blimp"]).exception is not None
    completed(removed)
    assert pairbank.check_bank(bank)["scores"]["starter"].keys() == {"fake_1"}
    assert isinstance(CliRunner().invoke(app, removed).exception, UnknownNameError)


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
    assert check_submission(file, bank).accepted
    for path, reason in wrong.items():
        result = check_submission(path, bank).problems
        assert any(reason in one for one in result), (path, result)
    done = CliRunner().invoke(app, ["check", "--submission", str(forged), "--against", str(bank)])
    assert isinstance(done.exception, BankError)
    assert CliRunner().invoke(app, ["check", str(bank), "--submission", str(file)]).exit_code == 2


def test_a_forged_table_that_agrees_with_itself_is_found_by_scoring_some_items_again(
    bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    honest = check_submission(file, bank, rescore=20, model="fake:fake-2", seed=1)
    assert honest.accepted
    assert any("re-scored with direct, meta_question_simple, seed 1" in note for note in honest.notes)
    forged = tmp_path / "forged.parquet"
    table = pq.read_table(file)
    for column, by in (("direct_good", 0.5), ("direct_delta", 0.5)):
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pc.add(table[column], by))
    pq.write_table(table, forged)
    assert check_submission(forged, bank).accepted
    [problem] = check_submission(forged, bank, rescore=20, model="fake:fake-2").problems
    assert "column direct_good is not what the model gives in" in problem
    assert any("give its weights" in note for note in check_submission(file, bank, rescore=2).notes)
    others = check_submission(file, bank, rescore=20, model="fake:fake-3").problems
    assert len(others) == 2
    assert all("is not what the model gives in" in one for one in others)


def test_what_the_audit_finds_is_a_note_and_no_refusal(scored_by: Score, tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1", limit=10)])
    file = scored_by("fake-2", limit=10).save(tmp_path / "fake-2.parquet")
    table = pq.read_table(file)
    for name in ("direct_good", "direct_bad", "direct_delta"):
        at = table.schema.get_field_index(name)
        same = pa.array([0.0 if name.endswith("delta") else -7.0] * len(table))
        table = table.set_column(at, table.schema.field(at), same)
    pq.write_table(table, tmp_path / "constant.parquet")
    result = check_submission(tmp_path / "constant.parquet", bank)
    assert result.accepted
    assert any("audit" in note and "direct" in note for note in result.notes), result


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda s: s["methods"]["meta_question_simple"]["layout"].update(options=["1", "3"]), "its layout is not that"),
        (lambda s: s["methods"]["direct"].update(sha256="0" * 64), "its hash is not that of its definition"),
    ],
)
def test_a_bank_refuses_what_a_check_refuses(
    fault: Callable[[Any], None], reason: str, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    file = edited(scored_by("fake-2").save(tmp_path / "2.parquet"), tmp_path / "wrong.parquet", sign=fault)
    assert any(reason in one for one in check_submission(file, bank).problems)
    with pytest.raises(BankError, match=reason):
        pairbank.write_bank(tmp_path / "other", scored=[pairbank.read_scored(file)])
    other = edited(tmp_path / "2.parquet", tmp_path / "delta.parquet", column="direct_delta", value=lambda x: x + 1)
    with pytest.raises(BankError, match="is not good - bad in 1 row"):
        pairbank.write_bank(tmp_path / "other", scored=[pairbank.read_scored(other)])


def test_answers_that_their_log_probabilities_do_not_give_are_refused(
    bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    name = "meta_question_simple"
    file = scored_by("fake-2").save(tmp_path / "2.parquet")
    for column in (f"{name}_good", f"{name}_delta"):
        file = edited(file, tmp_path / f"{column}.parquet", column=column, value=lambda x: x + 2)
    [problem] = check_submission(file, bank).problems
    assert problem == f"column {name}_good is not what {name}_logprobs gives in 1 row(s)"


def test_texts_that_may_not_be_passed_on_are_not_handed_in_and_the_model_is_shown_all_the_same(
    hub: FakeHub, scored_by: Score, tmp_path: Path
) -> None:
    full = pairbank.write_bank(tmp_path / "full", scored=[mine(scored_by("fake-1"))])
    store = pairbank.strip_texts(full, tmp_path / "store")
    pairbank.publish(store, REPO)
    file = mine(scored_by("fake-2")).save(tmp_path / "fake-2.parquet")
    made = pairbank.submit(file, REPO, submitter="lab")
    blob = hub.repo(REPO).commits[hub.repo(REPO).refs["refs/pr/1"]].tree[made.path]
    texts = [text for row in pq.read_table(file).to_pylist() for text in (row["target_good"], row["target_bad"])]
    columns = pq.read_table(pa.BufferReader(blob.data))
    assert not {"target_good", "context_good", "human_good"} & {*columns.column_names}
    assert not any(text in str(columns.to_pylist()) for text in texts)
    [reviewed] = pairbank.review(REPO, merge=True, rescore=2)
    assert reviewed.merged, reviewed.verdict
    clone = Path(HfApi().snapshot_download(REPO, repo_type="dataset", local_dir=tmp_path / "clone"))
    assert [one.state for one in pairbank.build_store(clone)] == ["shown"]
    manifest = pairbank.check_bank(clone)
    assert next(iter(manifest["scores"].values())).keys() == {"fake_1", "fake_2"}
    results = pq.read_table(clone / "results/summary.parquet").to_pandas()
    whole = results[(results["group_by"] == "all") & (results["metric"] == "accuracy")]
    requested = pairbank.report([pairbank.read_scored(file)]).summary
    requested = requested[(requested["group_by"] == "all") & (requested["metric"] == "accuracy")]
    assert list(whole[whole["model"] == "fake-2"]["value"]) == pytest.approx(list(requested["value"]))


def mine(scored: Scored) -> Scored:
    """Return a table as if its items were somebody's own, of which no licence is stated."""
    rows = scored.dataset.map(lambda row: {"corpus": "mine", "item_id": row["item_id"].replace("starter", "mine")})
    corpus = {**corpus_signature(rows, {}), "manifest": {"corpus": "mine", "n_items": len(rows)}}
    return Scored.of(rows, {**scored.signature, "corpus": corpus})


@pytest.mark.ci
def test_groups_at_once_lose_nothing_honest_and_every_fault_is_named(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairbank.publish(bank, REPO)
    before = dict(hub.repo(REPO).head.tree)
    files = honest_and_wrong_groups(scored_by, tmp_path)
    assert hub.repo(REPO).n_pull_requests == N_GROUPS
    reasons = hostile_pull_requests(hub, files, tmp_path)
    assert hub.repo(REPO).n_pull_requests == N_GROUPS + len(reasons)
    monkeypatch.setattr("pairbank.cards.submissions.is_on_hub", lambda _: True)  # their weights can be had
    load = lambda name, **_: FakeScorer(name=name.split("/")[1].split("@")[0])  # noqa: E731
    monkeypatch.setattr("pairbank.scoring.models.load.load_model", load)
    reviewed_and_merged(hub, reasons)
    kept = hub.repo(REPO).head.tree
    assert {path: kept[path] for path in before} == before
    assert sum(path.endswith(".parquet") for path in kept.keys() - before.keys()) == N_GROUPS
    built_from_submissions(hub, tmp_path)


def honest_and_wrong_groups(scored_by: Score, tmp_path: Path) -> list[Path]:
    """Let all groups hand in at once, and three that are refused before a pull request is opened."""
    files = []
    for group in range(N_GROUPS):  # the last ones score a model again that others have, with slightly other results
        file = scored_by(f"model-{group % N_MODELS}").save(tmp_path / f"{group}.parquet")
        if group >= N_MODELS:
            for column in ("direct_good", "direct_delta"):
                file = edited(file, tmp_path / f"{group}-{column}.parquet", column=column, value=lambda x: x - 5e-6)
        files.append(file)

    def hand_in(group: int) -> None:
        pairbank.submit(files[group], REPO, submitter=f"group-{group}", date=f"2026-11-{1 + group // N_MODELS:02}")

    with ThreadPoolExecutor(4) as groups:
        list(groups.map(hand_in, range(N_GROUPS)))
    for group in range(3):  # refused before a pull request is opened
        bad = edited(files[0], tmp_path / f"bad-{group}.parquet", column="direct_delta", value=lambda x: x - 3)
        with pytest.raises(BankError, match="is not good - bad"):
            pairbank.submit(bad, REPO, submitter=f"wrong-{group}")
    return files


def reviewed_and_merged(hub: FakeHub, reasons: list[str]) -> None:
    """Review twice: what is honest is merged, what is not has its reason in one comment."""
    result = pairbank.review(REPO, rescore=20, comment=True, merge=True)
    assert [one.number for one in result] == list(range(1, N_GROUPS + len(reasons) + 1))
    assert [one.merged for one in result] == [True] * N_GROUPS + [False] * len(reasons)
    for one, reason in zip(result[N_GROUPS:], reasons, strict=True):
        said = hub.repo(REPO).pull_requests[one.number].comments
        assert len(said) == 1
        if reason == "a withdrawal":
            assert one.is_withdrawal
        else:
            assert any(reason in problem for problem in one.verdict.problems), (reason, one.verdict)
            assert reason in said[0][1]
    again = pairbank.review(REPO, rescore=20, comment=True, merge=True)
    assert [one.number for one in again] == list(range(N_GROUPS + 1, N_GROUPS + len(reasons) + 1))
    assert all(len(one.comments) == 1 for one in hub.repo(REPO).pull_requests.values())


def built_from_submissions(hub: FakeHub, tmp_path: Path) -> None:
    """Build and publish the store: its models, replications, and what was merged by hand is refused."""
    store = Path(HfApi().snapshot_download(REPO, repo_type="dataset", local_dir=tmp_path / "store"))
    states = pairbank.build_store(store, repo_id=REPO)
    assert [one.state for one in states].count("shown") == N_MODELS
    replications = [one for one in states if one.state == "replication"]
    assert {one.submitter for one in replications} == {f"group-{n}" for n in range(N_MODELS, N_GROUPS)}
    for one in replications:
        assert one.largest_difference == pytest.approx({"direct": 5e-6, "meta_question_simple": 0})
    assert len(pairbank.check_bank(store)["scores"]["starter"]) == N_MODELS + 1
    theirs = sorted((store / "submissions").rglob("*.parquet"))
    for group, file in enumerate(theirs[:4]):  # what was merged by hand against the advice
        copy = file.with_name(f"hostile-{group}.parquet")
        if group % 2:
            shutil.copyfile(file, copy)
        else:
            edited(file, copy, sign=lambda s: s["model"].update(revision="other"))
        shutil.copyfile(file.with_suffix(".json"), copy.with_suffix(".json"))
    refused = [one for one in pairbank.build_store(store) if one.state == "refused"]
    assert len(refused) == 4
    assert all("hostile" in one.path and one.reason for one in refused)
    assert json.loads((store / INDEX).read_bytes())[0]["path"] == min(one.path for one in states)
    pairbank.publish(store, REPO)
    assert INDEX in hub.repo(REPO).head.tree
    assert not pairbank.publish(shutil.copytree(store, tmp_path / "copy"), REPO).changes


def hostile_pull_requests(hub: FakeHub, files: list[Path], folder: Path) -> list[str]:
    """Open pull requests by other ways than `submit`; return the reason why each is to be refused."""

    def two(who: str, file: Path) -> dict[str, bytes]:
        signature, digest = pairbank.read_scored(file).signature, sha256_of_file(file)
        path = submission_path(signature, who, digest)
        record = json.dumps({"submitter": who, "sha256": digest, "signature": signature})
        return {path: file.read_bytes(), path.replace(".parquet", ".json"): record.encode()}

    good, table = files[3], pq.read_table(files[3])
    forged, delta = folder / "forged.parquet", edited(good, folder / "d", column="direct_delta", value=lambda x: x + 2)
    for column in ("direct_good", "direct_delta"):
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pc.add(table[column], 0.5))
    pq.write_table(table, forged)
    fine = two("evil", good)
    path = next(iter(fine))
    theirs = next(p for p in hub.repo(REPO).commits[hub.repo(REPO).refs["refs/pr/1"]].tree if "submissions" in p)
    asked: list[tuple[dict[str, bytes | None], str]] = [
        ({**fine, "README.md": b"---\nlanguage: en\n---\n"}, "README.md: changed; a submission only adds files"),
        ({"data/starter/items.parquet": None}, "items.parquet: removed; a submission only adds files"),
        ({**fine, "scores/starter/evil.parquet": good.read_bytes()}, "evil.parquet: added; a submission only adds"),
        ({**two("evil", delta)}, "direct_delta is not good - bad in 1 row(s)"),
        ({**two("evil", forged)}, "is not what the model gives in"),
        ({**fine, "submissions/run.py": b"print()"}, "submissions/run.py: neither a table nor its record"),
        ({path: fine[path]}, "evil-" + sha256_of_file(good)[:12] + ".json is missing"),
        ({path: forged.read_bytes(), **{p: d for p, d in fine.items() if p != path}}, "its sha256 is not that"),
        (
            {"submissions/a/b/evil.parquet": good.read_bytes(), "submissions/a/b/evil.json": fine[[*fine][1]]},
            "the path",
        ),
        ({theirs.rsplit(".", 1)[0] + ".withdrawn.json": b'{"reason": "mine is better"}'}, "a withdrawal"),
    ]
    for changes, _ in asked:
        operations = [
            CommitOperationDelete(name) if data is None else CommitOperationAdd(name, data)
            for name, data in changes.items()
        ]
        HfApi().create_commit(REPO, operations, commit_message="Good results", repo_type="dataset", create_pr=True)
    return [reason for _, reason in asked]


def test_the_commands_submit_review_withdraw_build_and_fetch(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")

    def printed(*words: str) -> str:
        done = completed([*words])
        return " ".join(done.output.split())

    path, _, address = printed("submit", str(file), "--to", REPO, "--submitter", "lab").partition(": ")
    assert address.endswith("/discussions/1")
    assert printed("review", REPO, "--merge").endswith("/discussions/1: merged")
    assert path in hub.repo(REPO).head.tree
    withdrawn = printed("withdraw", path, "--to", REPO, "--reason", "wrong tokenizer", "--dry-run")
    assert withdrawn == f"{path}: dry run, nothing was withdrawn"
    assert printed("review", REPO) == f"{REPO}: no open pull request"
    assert printed("build-store", str(bank)) == f"{bank}: no submissions"
    out = tmp_path / "fetched.parquet"
    printed("fetch", REPO, "--model", "fake-1", "--corpus", "starter", "--out", str(out))
    assert pairbank.read_scored(out).model == "fake-1"


@pytest.mark.parametrize("model_id", ["acme/Tiny-GPT2.5", "org/group/model:8b"])
def test_a_table_is_proposed_to_every_eval_evers_datastore_in_its_schema_or_shown_by_a_dry_run(
    hub: FakeHub, model_id: str, scored_by: Score, tmp_path: Path
) -> None:
    file = edited(
        scored_by("fake-2", limit=3).save(tmp_path / "fake-2.parquet"),
        tmp_path / "named.parquet",
        sign=lambda s: s["model"].update(model_id=model_id),
    )
    hub.orgs = (*hub.orgs, "evaleval")
    HfApi().create_repo("evaleval/EEE_datastore", repo_type="dataset")
    line = ["submit", str(file), "--to", "every-eval-ever", "--submitter", "lab", "--date", "2026-11-24"]
    dry = CliRunner().invoke(app, [*line, "--dry-run"], catch_exceptions=False).output.splitlines()
    assert hub.repo("evaleval/EEE_datastore").n_pull_requests == 0
    done = CliRunner().invoke(app, line, catch_exceptions=False).output.splitlines()
    assert [said.split(": ")[0] for said in done] == [said.split(": ")[0] for said in dry]
    repo = hub.repo("evaleval/EEE_datastore")
    tree = repo.commits[repo.refs["refs/pr/1"]].tree
    folder = {"acme/Tiny-GPT2.5": "acme/Tiny-GPT2.5", "org/group/model:8b": "org/group_model_8b"}[model_id]
    whole, samples = (tree[said.split(": ")[0]].data for said in sorted(done))
    assert all(path.startswith(f"data/starter/{folder}/") for path in tree if path != ".gitattributes")
    assert json.loads(whole)["retrieved_timestamp"] == "1795478400"  # date -u -d 2026-11-24 +%s
    assert len(samples.splitlines()) == json.loads(whole)["detailed_evaluation_results"]["total_rows"]


def test_what_every_eval_ever_would_refuse_is_named_before_it_is_proposed(scored_by: Score, tmp_path: Path) -> None:
    file = scored_by("fake-2", limit=3).save(tmp_path / "fake-2.parquet")
    named = edited(file, tmp_path / "named.parquet", sign=lambda s: s["model"].update(model_id="acme/m"))
    flat = edited(file, tmp_path / "flat.parquet", sign=lambda s: s["model"].update(model_id="m"))
    for table, organisation, date, reason in (
        (named, " ", "2026-11-24", "who evaluated"),
        (named, "lab", "", "as 2026-11-24"),
        (flat, "lab", "2026-11-24", "developer"),
    ):
        with pytest.raises(BankError, match=reason):
            pairbank.submit_results(table, organisation=organisation, date=date, dry_run=True)
    [whole] = pairbank.export_results([pairbank.read_scored(named)], tmp_path / "eee")
    value = json.loads(whole.read_bytes())
    del value["source_metadata"]["source_type"]
    value["evaluation_results"][0]["score_details"]["score"] = "high"
    whole.write_text(json.dumps(value))
    assert {problem.split(": ")[1] for problem in schema_problems(whole)} == {
        "$.source_metadata",
        "$.evaluation_results[0].score_details.score",
    }


def test_a_table_of_another_form_or_another_model_of_a_name_is_refused_and_the_others_are_built(
    scored_by: Score, tmp_path: Path
) -> None:
    """One group's table must not stop the store: another column, another type, a name that is another model's."""
    store = pairbank.write_bank(tmp_path / "store", scored=[scored_by("fake-1"), mine(scored_by("fake-1"))])
    honest, third, named = scored_by("fake-2"), scored_by("fake-3"), mine(scored_by("fake-2"))
    model = {**named.signature["model"], "dtype": "bfloat16"}
    extra = third.dataset.add_column("secret", ["x"] * len(third))
    narrow = honest.dataset.cast_column("direct_delta", Value("float32"))
    tables = {
        "a": honest,
        "b": Scored.of(extra, third.signature),
        "c": Scored.of(narrow, honest.signature),
        "d": Scored.of(named.dataset, {**named.signature, "model": model}),
    }
    states: dict[str, State] = {}
    for who, table in tables.items():
        file = table.save(tmp_path / "table.parquet")
        put(store, submission(file, who))
        states |= {one.submitter: one for one in pairbank.build_store(store)}
    assert [states[who].state for who in "abcd"] == ["shown", "refused", "refused", "refused"]
    assert "column(s) secret: neither of the items nor" in states["b"].reason
    assert "direct_delta" in states["c"].reason
    assert "dtype is 'bfloat16'; the store shows 'float64' under the name fake_2 on starter" in states["d"].reason
    pairbank.check_bank(store)
