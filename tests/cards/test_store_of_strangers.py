"""A shared bank among strangers: whatever a submission raises is its own verdict, and the others go on."""

import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from huggingface_hub import HfApi

import pairbank
from bank_fixtures import Score
from hub_emulator import FakeHub
from pairbank.cards.bank.layout import INDEX
from pairbank.cards.bank.values import definition_problems
from pairbank.errors import ModelLoadError
from pairbank.scoring.models.fake import FakeScorer
from store_submissions import clone, edited, propose, put, submission

pytestmark = pytest.mark.usefixtures("hub")
REPO = "acme/store"
NESTED = b"[" * 100_000 + b"]" * 100_000


@pytest.fixture
def store(tmp_path: Path, scored_by: Score) -> Path:
    return pairbank.write_bank(tmp_path / "store", scored=[scored_by("fake-1")])


def broken(folder: Path, scored_by: Score) -> dict[str, dict[str, bytes]]:
    """Return submissions that raise something else each, by what their verdict says."""
    files = {name: scored_by(name).save(folder / f"{name}.parquet") for name in ("a", "b", "c", "d", "e")}
    made = {name: submission(file, name) for name, file in files.items()}
    pq.write_table(pq.read_table(files["e"]).replace_schema_metadata(None), bare := folder / "e.bare")
    paths = {name: [*both] for name, both in made.items()}
    return {
        "is not UTF-8": {**made["a"], paths["a"][1]: b"\xff\xfe{"},
        "not readable as JSON": {**made["b"], paths["b"][1]: NESTED},
        "names no submitter": {**made["c"], paths["c"][1]: b"[1, 2]"},
        "not a readable parquet file": {**made["d"], paths["d"][0]: b"PAR1" + b"\0" * 100 + b"PAR1"},
        "carries no signature": {**made["e"], paths["e"][0]: bare.read_bytes()},
    }


def test_a_pull_request_that_cannot_be_read_is_refused_with_its_reason_and_the_honest_behind_it_is_merged(
    hub: FakeHub, store: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(store, REPO)
    faults = broken(tmp_path, scored_by)
    for files in faults.values():
        propose(REPO, files)
    propose(REPO, submission(scored_by("honest").save(tmp_path / "honest.parquet"), "lab"))
    *refused, honest = pairbank.review(REPO, comment=True, merge=True)
    assert [verdict.merged for verdict in refused] == [False] * len(faults)
    for reviewed, reason in zip(refused, faults, strict=True):
        assert any(reason in problem for problem in reviewed.verdict.problems), (reason, reviewed.verdict)
        assert reason in hub.repo(REPO).pull_requests[reviewed.number].comments[0][1]
        assert str(tmp_path) not in hub.repo(REPO).pull_requests[reviewed.number].comments[0][1]
    assert honest.merged


@pytest.mark.parametrize("place", ["x.parquet", "starter@x/a@b/x.parquet"])
def test_a_file_without_a_record_that_looks_like_an_honest_model_stops_and_disputes_nothing(
    store: Path, scored_by: Score, tmp_path: Path, place: str
) -> None:
    honest = submission(scored_by("fake-A").save(tmp_path / "honest.parquet"), "lab")
    twin = scored_by("fake-a").save(tmp_path / "twin.parquet")
    put(store, honest)
    put(store, {f"submissions/{place}": twin.read_bytes()})
    states = {state.path: state for state in pairbank.build_store(store)}
    assert states[next(iter(honest))].state == "shown"
    refused = states[f"submissions/{place}"]
    assert refused.state == "refused"
    assert "record" in refused.reason


def test_a_store_with_submissions_that_cannot_be_read_is_built_with_the_others(
    store: Path, scored_by: Score, tmp_path: Path
) -> None:
    for files in broken(tmp_path, scored_by).values():
        put(store, files)
    withdrawn = put(store, submission(scored_by("f").save(tmp_path / "f.parquet"), "f"))
    withdrawn.with_suffix("").with_suffix(".withdrawn.json").write_bytes(NESTED)
    honest = submission(scored_by("honest").save(tmp_path / "honest.parquet"), "lab")
    put(store, honest)
    states = {state.path: state for state in pairbank.build_store(store)}
    assert states.pop(next(iter(honest))).state == "shown"
    assert sorted(state.state for state in states.values()) == [*["refused"] * 5, "withdrawn"]
    assert all(state.reason for state in states.values() if state.state == "refused")
    assert pairbank.check_bank(store)["scores"]["starter"].keys() == {"fake_1", "honest"}


def test_a_table_of_which_no_results_can_be_made_is_left_out_and_a_later_one_of_its_model_is_shown(
    store: Path, scored_by: Score, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pairbank.stats.report import report

    summarise = report.table_summary
    file = scored_by("odd").save(tmp_path / "odd.parquet")
    for column in ("direct_good", "direct_delta"):
        file = edited(file, tmp_path / f"{column}.parquet", column=column, value=lambda x: x - 3e-6)
    odd = pairbank.read_scored(file).to_pandas()["direct_good"][0]

    def table_summary(table: pairbank.Scored) -> object:
        if table.to_pandas()["direct_good"][0] == odd:
            raise ZeroDivisionError("no variance")
        return summarise(table)

    monkeypatch.setattr(report, "table_summary", table_summary)
    put(store, submission(file, "lab-1", date="2026-11-01"))
    put(store, submission(scored_by("odd").save(tmp_path / "2.parquet"), "lab-2", date="2026-11-02"))
    put(store, submission(scored_by("honest").save(tmp_path / "honest.parquet"), "lab-3", date="2026-11-03"))
    states = {state.submitter: state for state in pairbank.build_store(store)}
    assert {who: state.state for who, state in states.items()} == {
        "lab-1": "refused",
        "lab-2": "shown",
        "lab-3": "shown",
    }
    assert states["lab-1"].reason == "ZeroDivisionError: no variance"
    pairbank.check_bank(store)


def test_whatever_the_check_of_one_table_raises_the_next_is_checked(
    store: Path, scored_by: Score, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairbank.publish(store, REPO)
    kinds = {kind.__name__: kind for kind in (MemoryError, OSError, RecursionError, KeyError)}
    for name in (*kinds, "honest"):
        propose(REPO, submission(scored_by(name).save(tmp_path / f"{name}.parquet"), name))

    def raising(signature: dict[str, dict[str, str]]) -> object:
        if kind := kinds.get(signature["model"]["name"]):
            raise kind("no room")
        return definition_problems(signature)

    monkeypatch.setattr("pairbank.cards.submissions.definition_problems", raising)
    *odd, honest = pairbank.review(REPO, comment=True, merge=True)
    assert (len(odd), honest.merged) == (len(kinds), True)
    assert not any(one.verdict.accepted for one in odd)
    assert all(one.verdict.problems[0] for one in odd)


def test_a_model_that_is_not_on_the_hub_or_too_large_is_a_note_where_items_are_scored_again(
    store: Path, scored_by: Score, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairbank.publish(store, REPO)

    def on_hub(name: str) -> Path:
        at_commit = {"model_id": f"nobody/{name}", "revision": "0" * 40}
        file = scored_by(name).save(tmp_path / f"{name}.parquet")
        return edited(file, tmp_path / f"{name}-hub.parquet", sign=lambda s: s["model"].update(at_commit))

    for name in ("no-such-model", "large", "small"):
        propose(REPO, submission(on_hub(name), "lab"))

    def load(name: str, **_: object) -> FakeScorer:
        if "small" not in name:
            raise ModelLoadError(f"{name}: not on the Hub")
        return FakeScorer(name="small")

    def model_info(_api: HfApi, name: str, **_: object) -> object:
        n_bytes = 140 * 10**9 if name == "nobody/large" else 10**6
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename="model.safetensors", size=n_bytes)])

    monkeypatch.setattr(HfApi, "model_info", model_info)
    monkeypatch.setattr("pairbank.scoring.models.load.load_model", load)
    missing, large, small = pairbank.review(REPO, rescore=2, merge=True)
    assert (missing.merged, large.merged) == (True, True)
    assert any("not re-scored: nobody/no-such-model@0" in note for note in missing.verdict.notes)
    assert any("140 GB of weights" in note and "at most 10 GB" in note for note in large.verdict.notes)
    assert "revision is" in small.verdict.problems[0]
    assert [state.state for state in pairbank.build_store(clone(REPO, tmp_path / "clone"))] == ["shown"] * 2


def test_a_pull_request_that_conflicts_is_refused_and_the_next_is_merged(
    hub: FakeHub, store: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(store, REPO)
    file = scored_by("twice").save(tmp_path / "twice.parquet")
    propose(REPO, submission(file, "lab", date="2026-11-24"))
    propose(REPO, submission(file, "lab", date="2026-11-25"))
    propose(REPO, submission(scored_by("honest").save(tmp_path / "honest.parquet"), "lab"))
    first, second, third = pairbank.review(REPO, comment=True, merge=True)
    assert (first.merged, second.merged, third.merged) == (True, False, True)
    assert "conflicts" in second.verdict.problems[0]
    assert "conflicts" in hub.repo(REPO).pull_requests[2].comments[0][1]


def shifted(file: Path, by: float) -> Path:
    """Return a table whose direct scores of the first item are others; it agrees with itself."""
    out = file
    for column in ("direct_good", "direct_delta"):
        out = edited(out, file.with_name(f"{file.stem}{by:+g}-{column}.parquet"), column=column, value=lambda x: x + by)
    return out


def renamed(file: Path, **model: str) -> Path:
    """Return a table whose signature names another model; its column `model` says the same."""
    out = file.with_name(f"{file.stem}-{len(list(file.parent.iterdir()))}.parquet")
    edited(file, out, sign=lambda s: s["model"].update(model))
    if "name" in model:
        edited(out, out, column="model", value=lambda _: model["name"], rows=slice(None))
    return out


def test_what_differs_by_more_than_rounding_is_disputed_on_both_sides_and_the_first_stays_until_one_is_withdrawn(
    store: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(store, REPO)
    honest = scored_by("m").save(tmp_path / "m.parquet")
    propose(REPO, submission(honest, "zoe"))
    propose(REPO, submission(shifted(honest, -2.0), "adam", date="2020-01-01"))
    propose(REPO, submission(shifted(honest, -1e-6), "bert"))
    assert all(reviewed.merged for reviewed in pairbank.review(REPO, merge=True))
    folder = clone(REPO, tmp_path / "clone")
    states = {state.submitter: state for state in pairbank.build_store(folder, repo_id=REPO)}
    assert {who: state.state for who, state in states.items()} == {
        "zoe": "disputed",
        "adam": "disputed",
        "bert": "replication",
    }
    assert [states[who].arrived for who in ("zoe", "adam", "bert")] == [1, 2, 3]
    assert states["adam"].largest_difference == pytest.approx({"direct": 2.0, "meta_question_simple": 0.0})
    shown = pairbank.fetch(folder, model="m", corpus="starter").to_pandas()
    assert list(shown["direct_good"]) == list(pairbank.read_scored(honest).to_pandas()["direct_good"])
    assert all(states[who].path in (folder / "README.md").read_text() for who in ("zoe", "adam"))
    pairbank.check_bank(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {s.submitter: s.state for s in pairbank.build_store(folder)} == {w: s.state for w, s in states.items()}
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (folder / states["adam"].path).with_suffix(".withdrawn.json").write_text('{"reason": "forged"}')
    states = {state.submitter: state for state in pairbank.build_store(folder)}
    assert [states[who].state for who in ("zoe", "adam", "bert")] == ["shown", "withdrawn", "replication"]
    assert "Disputed" not in (folder / "README.md").read_text()
    pairbank.check_bank(folder)


def test_an_invented_date_or_path_takes_no_name_from_a_model_that_arrived_first(
    store: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(store, REPO)
    honest = scored_by("group-5").save(tmp_path / "5.parquet")
    evil = renamed(honest, model_id="evil/group-5")
    propose(REPO, submission(honest, "zoe", date="2026-11-20"))
    propose(REPO, submission(evil, "adam", date="0001-01-01"))
    first, second = pairbank.review(REPO, merge=True)
    assert (first.merged, second.merged) == (True, False)
    assert "model_id is 'evil/group-5'; the store shows 'pairbank/group-5'" in second.verdict.problems[0]
    api = HfApi()
    api.merge_pull_request(REPO, 2, repo_type="dataset")  # against the advice
    folder = clone(REPO, tmp_path / "clone")
    states = {state.submitter: state.state for state in pairbank.build_store(folder, repo_id=REPO)}
    assert states == {"zoe": "shown", "adam": "refused"}


def test_without_an_order_two_models_that_claim_one_name_are_both_disputed_and_neither_is_shown(
    store: Path, scored_by: Score, tmp_path: Path
) -> None:
    honest = scored_by("group-5").save(tmp_path / "5.parquet")
    put(store, submission(honest, "zoe"))
    put(store, submission(renamed(honest, model_id="evil/group-5"), "adam"))
    put(store, submission(scored_by("other").save(tmp_path / "other.parquet"), "bert"))
    states = {state.submitter: state for state in pairbank.build_store(store)}
    assert {who: state.state for who, state in states.items()} == {
        "zoe": "disputed",
        "adam": "disputed",
        "bert": "shown",
    }
    assert states["adam"].path in states["zoe"].reason
    assert pairbank.check_bank(store)["scores"]["starter"].keys() == {"fake_1", "other"}


DATES = ("2026-13-01", "2026-02-30", "0000-00-00", "<script>", 20261124, ["2026-11-24"])


def test_a_date_is_a_date_and_not_before_the_stores(scored_by: Score, tmp_path: Path) -> None:
    store = pairbank.write_bank(tmp_path / "store", scored=[scored_by("fake-1")], published="2026-11-01")
    table = scored_by("m").save(tmp_path / "m.parquet")
    problems: dict[object, str] = {f"group-{n}": "expected YYYY-MM-DD" for n in range(len(DATES))}
    for n, date in enumerate((*DATES, "2026-10-31", "0001-01-01")):
        problem = problems.setdefault(f"group-{n}", "before the store was published")
        [found] = pairbank.check_submission(put(store, submission(table, f"group-{n}", date=date)), store).problems
        assert problem in found, date
    states = {state.submitter: state for state in pairbank.build_store(store)}
    assert {who: state.state for who, state in states.items()} == dict.fromkeys(problems, "refused")
    assert [who for who, problem in problems.items() if problem not in states[str(who)].reason] == []


NAMES = {
    "expected 1 to 100 printable": [("", "model"), ("a\0b", "a_b"), ("x" * 100_000, "x"), ("left\u202e", "left_")],
    "expected 'other'": [("other", "gpt2")],
    "expected 'all_'": [("all", "all")],
    "expected 'nul_'": [("nul", "nul")],
    "looks like 'fake-1'": [
        *(("FAKE-1", "FAKE_1"), ("f\u0430ke-1", "f\u0430ke_1"), ("f\u00e4ke-1", "f\u00e4ke_1"), ("fake-l", "fake_l")),
        ("\uff46ake-1", "\uff46ake_1"),
    ],
    "model_id is 'pairbank/m'": [("fake-1", "fake_1")],
}
"""What is wrong -> models' names and the splits that they would have."""


def test_a_name_is_printable_its_own_and_no_twin_of_another(store: Path, scored_by: Score, tmp_path: Path) -> None:
    table = scored_by("m").save(tmp_path / "m.parquet")
    for problem, named in NAMES.items():
        for name, split in named:
            file = renamed(table, name=name, slug=split)
            problems = pairbank.check_submission(file, store).problems
            assert any(problem in found for found in problems), (name[:99], problems)
            put(store, submission(file, problem.replace("'", "")))
    states = pairbank.build_store(store)
    assert {state.state for state in states} == {"refused"}
    assert len(states) == sum(map(len, NAMES.values()))
    reasons = {
        problem: [state.reason for state in states if state.submitter == problem.replace("'", "")] for problem in NAMES
    }
    assert all(problem in reason for problem, found in reasons.items() for reason in found), reasons


def test_the_same_table_handed_in_twice_does_not_conflict(
    hub: FakeHub, store: Path, scored_by: Score, tmp_path: Path
) -> None:
    pairbank.publish(store, REPO)
    file = scored_by("twice").save(tmp_path / "twice.parquet")
    for date in ("2026-11-24", "2026-11-25", "2026-11-25"):
        pairbank.submit(file, REPO, submitter="lab", date=date)
    assert [reviewed.merged for reviewed in pairbank.review(REPO, merge=True)] == [True] * 3
    folder = clone(REPO, tmp_path / "clone")
    assert [state.state for state in pairbank.build_store(folder, repo_id=REPO)] == ["shown"] * 2
    assert hub.repo(REPO).n_pull_requests == 3


def test_a_submission_of_a_version_before_keeps_its_place(store: Path, scored_by: Score, tmp_path: Path) -> None:
    """Its path has the hash of the table alone, and its index no order of arrival."""
    put(store, submission(scored_by("old").save(tmp_path / "old.parquet"), "lab"))
    pairbank.build_store(store)
    index = json.loads((store / INDEX).read_bytes())
    (store / INDEX).write_text(json.dumps([{k: v for k, v in s.items() if k != "arrived"} for s in index]))
    put(store, submission(renamed(scored_by("old").save(tmp_path / "2.parquet"), model_id="evil/old"), "adam"))
    states = {state.submitter: state.state for state in pairbank.build_store(store)}
    assert states == {"lab": "shown", "adam": "refused"}
