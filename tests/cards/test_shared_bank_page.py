"""The page on shared banks as its readers follow it: its commands, and the workflow's steps, word for word.

Models of three families are on an emulated Hub. Commands run in this process; the slow test runs them in a shell, as
GitHub does.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from huggingface_hub import HfApi
from huggingface_hub.cli.hf import app as hub_app
from typer.testing import CliRunner

import pairbank
from command_line import printed_by
from hub_emulator import TOKEN, FakeHub
from pairbank.cards.bank.layout import INDEX
from pairbank.cli import app
from site_pages import serving, shown
from tiny_bidirectional_models import saved_as

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).parents[2] / "docs"
Run = Callable[[str], str]
Runner = Callable[[Path, Mapping[str, str]], Run]


def commands_of_the_page(heading: str, page: str = "") -> list[str]:
    """Return the lines of the first block of commands below a heading."""
    section = (page or (DOCS / "shared-bank.md").read_text(encoding="utf-8")).split(f"\n## {heading}\n")[1]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block
    return block[1].splitlines()


def steps_of_the_workflow(text: str = "") -> tuple[list[str], dict[str, str]]:
    """Return what the workflow's steps run, and its environment."""
    workflow = yaml.safe_load(text or (DOCS / "shared-bank/review.yml").read_text(encoding="utf-8"))
    assert {"schedule", "workflow_dispatch"} == workflow[True].keys()  # YAML 1.1 reads `on` as true
    [job] = workflow["jobs"].values()
    steps = job["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    assert lines.pop(0).startswith("pip install pairbank ")
    return lines, {**workflow["env"], "BANK": "acme/store", "HF_TOKEN": TOKEN}


@pytest.fixture
def models(hub: FakeHub, tmp_path: Path) -> list[str]:
    """Return the ids of three models on the Hub, of three families and tokenizers."""
    assert hub.url
    kinds = ("gpt2", "llama", "bert")
    for kind in kinds:
        HfApi().create_repo(f"acme/tiny-{kind}", repo_type="model")
        HfApi().upload_folder(repo_id=f"acme/tiny-{kind}", folder_path=saved_as(kind, tmp_path / kind))
    return [f"acme/tiny-{kind}" for kind in kinds]


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Return what runs a line of a shell in this process, with its variables: a command of pairbank's or the Hub's."""

    def of(folder: Path, environment: Mapping[str, str]) -> Run:
        folder.mkdir()
        monkeypatch.chdir(folder)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        def run(line: str) -> str:
            command, *words = shlex.split(os.path.expandvars(line))
            if command == "hf":
                hub_app(words, standalone_mode=False)
                return ""
            assert command == "pairbank"
            done = CliRunner().invoke(app, words)
            if done.exception and not isinstance(done.exception, SystemExit):
                raise done.exception
            assert done.exit_code == 0, (line, done.output)
            return done.output

        return run

    return of


@pytest.fixture
def in_a_shell(hub: FakeHub, tmp_path: Path) -> Runner:
    """Return what runs a line as GitHub does: `bash -e` in a process of its own, with this environment alone."""

    def of(folder: Path, environment: Mapping[str, str]) -> Run:
        folder.mkdir()
        own = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        kept = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}

        def run(line: str) -> str:
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line]
            return printed_by(shell, cwd=folder, env={**kept, **own, **environment})

        return run

    return of


def first_bank(models: list[str], folder: Path) -> Path:
    """Write a bank with one model of the owner's own, as the page asks."""
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    scored = pairbank.score(items, pairbank.load_model(models[0]), methods=["direct", "meta_question_simple"])
    return pairbank.write_bank(folder, scored=[scored])


def handed_in_and_reviewed(runner: Runner, hub: FakeHub, models: list[str], tmp_path: Path) -> None:
    """Let two newcomers follow the page, one forge a table, and the workflow run twice."""
    pairbank.publish(first_bank(models, tmp_path / "first"), "acme/store")
    for number, model in enumerate(models[1:], 1):
        run = runner(tmp_path / f"group-{number}", {})
        page = "\n".join(commands_of_the_page("Hand in one model"))
        names = {"ORG/NAME": "acme/store", "CORPUS": "starter", "MODEL": model, "my-lab": f"lab-{number}"}
        for word, name in names.items():
            page = page.replace(word, name)
        out = [run(line) for line in page.splitlines()]
        assert f"/discussions/{number}" in out[-1]
    forged(tmp_path / "group-2/scored.parquet", tmp_path)
    lines, environment = steps_of_the_workflow()
    run = runner(tmp_path / "runner", environment)
    said = "\n".join(map(run, lines))
    assert [one.status for one in hub.repo("acme/store").pull_requests.values()] == ["merged", "merged", "open"]
    assert "is not what the model gives in" in said
    assert said.count("items re-scored with direct, meta_question_simple") == 3
    tree = hub.repo("acme/store").head.tree
    assert {path for path in tree if path.startswith("scores/")} == {
        f"scores/starter/{name}.parquet" for name in ("tiny_gpt2", "tiny_llama", "tiny_bert")
    }
    assert INDEX in tree
    again = "\n".join(map(runner(tmp_path / "next hour", environment), lines))
    assert "there was nothing to change" in again
    assert len(hub.repo("acme/store").pull_requests[3].comments) == 1


def forged(file: Path, tmp_path: Path) -> None:
    """Hand in a table that agrees with itself, of scores that the model does not give."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    for column in ("direct_good", "direct_delta"):
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pc.subtract(table[column], 0.5))
    pq.write_table(table, tmp_path / "forged.parquet")
    pairbank.submit(tmp_path / "forged.parquet", "acme/store", submitter="evil")


@pytest.mark.ci
def test_newcomers_follow_the_page_and_the_workflow_accepts_what_is_honest(
    hub: FakeHub, models: list[str], in_process: Runner, tmp_path: Path
) -> None:
    handed_in_and_reviewed(in_process, hub, models, tmp_path)


@pytest.mark.ci
def test_a_space_asks_for_models_and_its_weekly_workflow_rebuilds_bank_and_page(
    hub: FakeHub, models: list[str], in_process: Runner, chromium: "Browser", tmp_path: Path
) -> None:
    run = in_process(tmp_path / "owner", {"HF_TOKEN": TOKEN})
    first_bank(models, tmp_path / "owner/bank")
    page_of_the_day = (DOCS / "releasing.md").read_text(encoding="utf-8")
    *before, strip, check, dry, publish = commands_of_the_page("A shared bank on the day", page_of_the_day)
    assert before == ["hf auth login", "pairbank run published --out bank"]
    for line in (strip, check, dry, publish):
        run(line.replace("ORG/NAME", "acme/store"))
    tree = hub.repo("acme/store", "space").head.tree
    form, workflow = (tree[name].data.decode() for name in ("EVALUATE.md", "rebuild.yml"))
    [address] = re.findall(r"\[Open a request\]\((\S+)\)", form)
    asked = parse_qs(urlsplit(address).query)
    assert address.startswith(f"{hub.url}/datasets/acme/store/discussions/new?")
    assert asked["title"] == ["Evaluate ORG/MODEL"]
    assert all(line in form for line in asked["description"][0].splitlines())
    run = in_process(tmp_path / "group", {"HF_TOKEN": TOKEN})
    pip, *lines = commands_of_the_page("Hand in your own scores", form)
    assert pip == "pip install pairbank"
    out = [run(line.replace("CORPUS", "starter").replace("ORG/MODEL", models[1])) for line in lines]
    assert "/discussions/1" in out[-1]
    steps, environment = steps_of_the_workflow(workflow)
    assert "BANK: acme/store\n" in workflow
    said = "\n".join(map(in_process(tmp_path / "runner", environment), steps))
    assert "items re-scored with direct, meta_question_simple" in said
    assert hub.repo("acme/store").pull_requests[1].status == "merged"
    for path, blob in hub.repo("acme/store", "space").head.tree.items():
        (tmp_path / "space" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "space" / path).write_bytes(blob.data)
    with serving(tmp_path / "space") as url, shown(chromium, url) as page:
        page.open()
        assert {"tiny-gpt2", "tiny-llama"} <= set(page.text().split())


@pytest.mark.slow
def test_every_step_of_the_workflow_runs_in_a_shell_as_on_github(
    hub: FakeHub, models: list[str], in_a_shell: Runner, tmp_path: Path
) -> None:
    handed_in_and_reviewed(in_a_shell, hub, models, tmp_path)
