"""A shared bank: groups hand in tables as pull requests; what is wrong is refused, nothing honest is lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from datasets import Value, load_dataset
from huggingface_hub import CommitOperationAdd, HfApi
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score
from command_line import completed
from hub_emulator import FakeHub
from hub_store import Repo
from pairbank.cards.export.every_eval_ever import schema_problems
from pairbank.cards.store import State
from pairbank.cards.submissions import check_submission
from pairbank.cli import app
from pairbank.errors import BankError, UnknownNameError
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import corpus_signature
from store_submissions import edited, put, submission

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


def test_one_model_is_handed_in_by_a_pull_request_and_shown_and_fetched_alone(
    hub: FakeHub, bank: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(bank, REPO)
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    dry = pairbank.submit(file, REPO, submitter="lab", date="2026-11-24", command="pairbank score", dry_run=True)
    bad = edited(file, tmp_path / "bad.parquet", column="direct_delta", value=lambda x: x - 3)
    with pytest.raises(BankError, match="is not good - bad"):
        pairbank.submit(bad, REPO, submitter="lab")
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
    """Each kind of fault is in test_forged_tables."""
    file = scored_by("fake-2").save(tmp_path / "fake-2.parquet")
    assert check_submission(file, bank).accepted
    other_method = scored_by("fake-2", methods=("direct",)).save(tmp_path / "other.parquet")
    [problem] = check_submission(other_method, bank).problems
    assert "method(s) meta_question_simple: missing" in problem
    done = CliRunner().invoke(app, ["check", "--submission", str(other_method), "--against", str(bank)])
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
