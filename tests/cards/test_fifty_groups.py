"""Fifty groups hand in to one shared bank from five processes, while its owner reviews."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import datasets
import pytest

import pairbank
from forgeries import KINDS, METHODS
from hub_emulator import TOKEN, FakeHub
from pairbank.scoring.api.model import slug
from pairbank.scoring.scored import Scored
from store_submissions import clone, edited, named, submission

pytestmark = pytest.mark.ci
REPO, PUBLISHED = "acme/store", "2026-11-01"
N_PROCESSES, N_HONEST, N_DUPLICATES = 5, 15, 5
HOSTILE: tuple[str, ...] = (
    "people's judgments",
    "a score moved",
    "sides exchanged",
    "an invented position bias",
    "a flag that is none",
)
HOSTILE += ("a fact of the model", "the paper of a method", "a claim to be imported", "ranks below 1", "a column more")
CARELESS = ("a method left out", "rows left out", "a column of scores left out", "another version", "an item twice")
LOOKALIKES = ("FAKE-1", "f\u0430ke-1", "fake-l", "fake_1", "f\u00e4ke-1")
Job = dict[str, Any]
Files = Mapping[str, bytes | None]


@cache
def items() -> datasets.Dataset:
    return pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(16))


def scored(name: str) -> Scored:
    return pairbank.score(items(), f"fake:{name}", methods=METHODS, per_token=True)


def kept(files: Files, folder: Path) -> dict[str, str]:
    """Write the files of a pull request; return path in the store -> file, or nothing where it is to be removed."""
    result = {}
    for path, data in files.items():
        file = folder / f"{len([*folder.iterdir()])}-{Path(path).name}"
        file.write_bytes(data or b"")
        result[path] = str(file) if data else ""
    return result


def constant(_before: object, *, value: str) -> str:
    return value


def groups(folder: Path) -> tuple[list[Job], dict[str, str]]:
    """Return what each group hands in, and the reasons with which those that are no good are refused."""
    tables = {f"honest-{n}": scored(f"m-{n}").save(folder / f"{n}.parquet") for n in range(N_HONEST)}
    jobs: list[Job] = [{"group": group, "table": str(table)} for group, table in tables.items()]
    again = [(f"again-{n}", table) for n, table in enumerate([*tables.values()][:N_DUPLICATES])]
    jobs += [{"group": group, "table": str(table)} for group, table in again]
    first, reasons, files = tables["honest-0"], {}, dict[str, Files]()
    for kind in (*HOSTILE, *CARELESS):
        change, reason = next(iter(KINDS[kind].values()))
        group = re.sub(r"\W+", "-", kind)
        files[group] = submission(edited(first, folder / "forged.parquet", **change), group)
        reasons[group] = reason
    for name in LOOKALIKES:
        model = {"name": name, "slug": slug(name), "model_id": f"evil/{len(files)}"}
        forged = edited(first, folder / "forged.parquet", sign=partial(named, model=model))
        forged = edited(forged, forged, column="model", value=partial(constant, value=name), rows=slice(None))
        group = f"lookalike-{len(files)}"
        files[group], reasons[group] = (
            submission(forged, group),
            "looks like 'fake-1'|the store shows 'pairbank/fake-1'",
        )
    (path, table), (record, stated) = submission(first, "odd").items()
    other = edited(first, folder / "other.parquet", column="direct_good", value=lambda x: x - 1)
    odd: dict[str, tuple[Files, str]] = {
        "early": (submission(first, "early", date="0001-01-01"), "before the store was published"),
        "no-record": ({path.replace("odd", "no-record"): table}, "is missing"),
        "no-json": (
            {path.replace("odd", "no-json"): table, record.replace("odd", "no-json"): b"\xff{"},
            "not readable",
        ),
        "other-path": ({path.replace("m_0@", "m_1@"): table, record.replace("m_0@", "m_1@"): stated}, "the path is"),
        "readme": ({**submission(first, "readme"), "manifest.json": b"{}"}, "manifest.json: changed"),
        "removes": ({"data/starter/items.parquet": None}, "items.parquet: removed; a submission only adds files"),
        "scores": ({**submission(first, "scores"), "scores/starter/evil.parquet": table}, "evil.parquet: added; a sub"),
        "script": ({**submission(first, "script"), "submissions/run.py": b"print()"}, "run.py: neither a table nor"),
        "bytes": (
            {**submission(first, "bytes"), path.replace("odd", "bytes"): other.read_bytes()},
            "its sha256 is not that",
        ),
        "withdraws": ({path.replace("odd", "gone")[:-8] + ".withdrawn.json": b'{"reason": "mine is better"}'}, "."),
    }
    for group, (content, reason) in odd.items():
        files[group], reasons[group] = content, reason
    jobs += [{"group": group, "files": kept(content, folder)} for group, content in files.items()]
    return [{**job, "repo": REPO} for job in jobs], reasons


def test_nothing_honest_is_lost_displaced_or_delayed_and_each_fault_is_refused_with_its_reason(
    hub: FakeHub, tmp_path: Path
) -> None:
    pairbank.publish(pairbank.write_bank(tmp_path / "store", scored=[scored("fake-1")], published=PUBLISHED), REPO)
    (made := tmp_path / "made").mkdir()
    jobs, reasons = groups(made)
    assert len(jobs) == len({job["group"] for job in jobs}) == 50
    first = dict(hub.repo(REPO).head.tree)
    environment = {
        **os.environ,
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
        "HF_HOME": str(tmp_path / "home"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    files = [tmp_path / f"{number}.json" for number in range(N_PROCESSES)]
    for number, file in enumerate(files):
        file.write_text(json.dumps(jobs[number::N_PROCESSES]), encoding="utf-8")
    command = [sys.executable, str(Path(__file__).parents[1] / "support" / "hand_in.py"), *map(str, files)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while len(hub.repo(REPO).pull_requests) < 10 and process.poll() is None:
        time.sleep(0.5)
    early = pairbank.review(REPO, comment=True, merge=True)  # the owner's bot comes by while they hand in
    assert all(one.merged for one in early if re.match("Add m-", one.title))
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    late = pairbank.review(REPO, comment=True, merge=True)
    assert [one.title for one in late if one.is_withdrawal] == ["withdraws"]
    asked = hub.repo(REPO).pull_requests.values()
    assert len(asked) == 50
    merged = [one for one in asked if one.status == "merged"]
    assert len(merged) == N_HONEST + N_DUPLICATES
    assert hub.repo(REPO).head.tree.items() >= first.items()
    refused = [one for one in asked if one.status == "open"]
    assert {len(one.comments) for one in refused} == {1}  # the second review says nothing again
    verdicts = {one.title: one.comments[0][1] for one in refused}
    assert {group for group, reason in reasons.items() if not re.search(reason, verdicts[group])} == set()
    folder = clone(REPO, tmp_path / "clone")
    states = {state.submitter: state for state in pairbank.build_store(folder, repo_id=REPO)}
    shown = {who for who, state in states.items() if state.state == "shown"}
    assert {state.state for state in states.values()} == {"shown"}  # a duplicate is the same table
    assert shown == {job["group"] for job in jobs if "table" in job}
    assert pairbank.check_bank(folder)["scores"]["starter"].keys() == {"fake_1", *(f"m_{n}" for n in range(N_HONEST))}
    for number in range(N_HONEST):
        mine = pairbank.read_scored(made / f"{number}.parquet").to_pandas()
        theirs = pairbank.fetch(folder, model=f"m-{number}", corpus="starter").to_pandas()
        assert mine["direct_good"].equals(theirs["direct_good"])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    pairbank.build_store(folder, repo_id=REPO)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
