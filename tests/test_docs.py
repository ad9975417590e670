"""What the documentation says can be done: every command line parses, every link resolves, every snippet compiles."""

import ast
import functools
import json
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

import pairbank
from command_line import completed
from pairbank.builders import CORPORA
from pairbank.builders.corpora.registry import OURS
from pairbank.cli import app
from pairbank.scoring.methods.registry import FAMILIES
from pairbank.scoring.prompts.registry import prompts
from pairbank.stats.analyses.registry import ANALYSES
from pairbank.study.declaration import load_study, study_names

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
OTHERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/reports/README.md")
PAGES = [*(ROOT / name for name in OTHERS), *DOCS]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def command_lines(text: str) -> Iterator[str]:
    """Yield every command line: a line of a block of shell, or between backticks; comments left out."""
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = "\n".join(line[4:] for line in prose.splitlines() if line.startswith("    "))
    for line in [*shell.splitlines(), *indented.splitlines(), *re.findall(r"`([^`\n]*)`", prose)]:
        if re.match(r"\s*pairbank [a-z]", line):
            yield line.split(" #")[0].strip()


@functools.cache
def pairbank_command() -> Any:  # noqa: ANN401 - a click command or a group of them
    return typer.main.get_command(app)


def parse(line: str) -> None:
    """Raise unless the command exists and takes every option of the line, with a value where it needs one."""
    words = shlex.split(line.replace("[", "").replace("]", ""))[1:]
    command = pairbank_command()
    assert words[0] in command.commands, f"{line!r}: no command {words[0]!r}"
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    options = {name: p for p in command.params for name in (*p.opts, *p.secondary_opts) if name.startswith("-")}
    arguments = [p for p in command.params if not any(name.startswith("-") for name in p.opts)]
    n_given = 0
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            n_given += word != "…"
            continue
        assert word in options or word == "--help", f"{line!r}: {command.name} has no option {word}"
        if word != "--help" and not options[word].is_flag:
            assert words, f"{line!r}: {word} needs a value"
            value = words.pop(0)
            known = value in {*ANALYSES, "length", "NAME"} or word != "--analysis"
            assert known, f"{line!r}: no analysis {value!r}"
    many = any(p.nargs == -1 for p in arguments)
    assert many or n_given <= len(arguments), f"{line!r}: {n_given} arguments for {len(arguments)}"


def test_a_command_line_that_does_not_exist_is_found() -> None:
    with pytest.raises(AssertionError, match="no command 'scoer'"):
        parse("pairbank scoer li")
    with pytest.raises(AssertionError, match="score has no option --modle"):
        parse("pairbank score li --modle gpt2")
    with pytest.raises(AssertionError, match="--out needs a value"):
        parse("pairbank score li --out")
    with pytest.raises(AssertionError, match="no analysis 'peple'"):
        parse("pairbank report scored.parquet --analysis peple")
    with pytest.raises(AssertionError, match="2 arguments for 1"):
        parse("pairbank browse one two")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_command_line_parses(page: Path) -> None:
    for line in command_lines(page.read_text(encoding="utf-8")):
        parse(line)


def test_every_command_of_a_block_of_shell_is_complete_and_its_values_are_valid() -> None:
    n_lines = 0
    for page in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for line in re.findall(r"^pairbank [a-z].*$", block, re.MULTILINE):
                words = shlex.split(line.split(" #")[0].replace("[", "").replace("]", ""))[1:]
                command = pairbank_command()
                context, n_lines = None, n_lines + 1
                try:
                    while words and words[0] in getattr(command, "commands", {}):
                        command = command.commands[words.pop(0)]
                    if not hasattr(command, "commands"):
                        context = command.make_context(command.name, [word for word in words if word != "…"])
                except click.UsageError as error:
                    pytest.fail(f"{page.name}: {line}: {error.format_message()}")
                assert context is not None or command.invoke_without_command, line
    assert n_lines > 100


def test_every_command_is_run_by_a_test() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    commands = [(name, command) for name, command in pairbank_command().commands.items()]
    while commands:
        path, command = commands.pop()
        inner = getattr(command, "commands", {})
        commands += [(f"{path} {name}", below) for name, below in inner.items()]
        words = ", ".join(f'"{word}"' for word in path.split())
        assert inner or re.search(rf"(?:[\[(]\s*(?:\*\w+, )?|\"pairbank\", ){words}", tests), (
            f"no test runs pairbank {path}"
        )


def test_command_lines_are_found_wherever_they_stand() -> None:
    blocks = "```sh\npairbank browse B # look\n```\n\n```text\npairbank x\n```"
    page = f"`pairbank corpora`\n\n    pairbank methods # all\n\n{blocks}"
    assert list(command_lines(page)) == ["pairbank browse B", "pairbank methods", "pairbank corpora"]


def test_the_page_on_studies_has_every_key() -> None:
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    for table in runpy.run_path(str(ROOT / "docs" / "commands.py"))["study_keys"]().values():
        assert table in page, "docs/studies.md is out of step; run: python docs/commands.py studies"


@pytest.mark.ci
def test_the_examples_of_the_page_on_studies_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    study, prompts, published = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("published.toml").write_text(published)
    assert [one.profile for one in load_study("published.toml").imports] == ["hu-2024-dgl-sentences", "qfrblimp"]
    Path("my-study.toml").write_text(study.replace("limit = 5", "limit = 1"))
    Path("my-prompts.toml").write_text(prompts)
    Path("my_pairs.csv").write_text("good,bad\nThe dogs bark.,The dogs barks.\nShe saw him.,She saw he.\n")
    completed(["run", "my-study.toml", "--out", "bank", "--quiet"])
    assert "lecturer" in Path("bank/README.md").read_text()
    completed(["new", "study", "mine.toml", "--schema"])
    assert load_study("mine.toml").title == "Mine"
    assert json.loads(Path("study.schema.json").read_text())["required"] == ["title"]


def test_the_page_of_commands_is_what_their_help_says() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(ROOT / "docs" / "commands.py"))["commands_page"]()
    assert page == made, "docs/commands.md is out of step; run: python docs/commands.py > docs/commands.md"


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sections = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert len(sections) > 20
    for section in sections:
        name, _, text = section.partition("\n\n")
        assert text[0].isupper(), f"{name}: no description"
        assert f"```sh\n{name}" in text, f"{name}: no example"
        rows = re.findall(r"^\| `.*$", text, flags=re.MULTILINE)
        meanings = {row: row.rstrip("| ").split(" | ")[-1] for row in rows}
        assert [row for row, meaning in meanings.items() if len(meaning.split()) < 2] == [], name


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_link_within_the_repository_resolves(page: Path) -> None:
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.exists(), f"{page.name}: {target} is not there"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}, target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_python_snippet_compiles_and_calls_what_there_is(page: Path) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for snippet in snippets:
        for node in ast.walk(ast.parse(snippet)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pairbank":
                assert hasattr(pairbank, node.attr), f"{page.name}: pairbank.{node.attr}"
            if isinstance(node, ast.keyword) and node.arg == "methods":
                assert set(ast.literal_eval(node.value)) <= {*FAMILIES, *prompts()}
            if isinstance(node, ast.keyword) and node.arg == "analyses":
                assert set(ast.literal_eval(node.value)) <= set(ANALYSES)


def test_every_page_is_in_the_index_and_every_analysis_metric_and_function_on_its_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert {page.name for page in DOCS if page.name != "README.md" and f"({page.name})" not in index} == set()
    analyses = (ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    assert {name for name in ANALYSES if f"| `{name}` |" not in analyses} == set()
    linking = (ROOT / "docs" / "linking.md").read_text(encoding="utf-8")
    assert {name for name in FAMILIES if f"| `{name}` |" not in linking} == set()


def test_the_readme_is_short_and_its_count_of_corpora_right() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert f"**{len(OURS)} corpora**" in text


def test_analyses_name_corpora_that_there_are() -> None:
    analyses = (ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    table = analyses[analyses.index("| name | question | needs |") :].split("\n\n")[0]
    needs = " ".join(re.findall(r"^\|.*\|([^|]*)\|$", table, flags=re.MULTILINE))
    named = set(re.findall(r"`([\w-]+)`", needs))
    assert named - {"direct"} <= {*CORPORA, *study_names()}
