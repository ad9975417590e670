"""The gates: what `make check`, the hooks before a commit and CI run is the same, and all of it."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from command_line import printed_by

ROOT = Path(__file__).resolve().parent.parent


def checks_of_make() -> set[str]:
    """Return the tools that `make check` runs."""
    recipe = (ROOT / "Makefile").read_text().split("\ncheck:", 1)[1].split("\n\n", 1)[0]
    return {" ".join(line) for line in re.findall(r"\$\(BIN\)/([\w-]+)(?: (check|format))?", recipe)}


def test_ci_runs_the_checks_beside_the_tests_and_fails_where_either_does(tmp_path: Path) -> None:
    (tmp_path / "make").write_text(f'#!/bin/sh\necho "$1$2" >> {tmp_path / "asked"}\n[ "$1" != "$FAILS" ]\n')
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "node").write_text("#!/bin/sh\n")
    for name in ("make", "chromium", "node"):
        (tmp_path / name).chmod(0o755)
    both = {"setup", "check", "testALL=1"}
    for fails, asked in (("", both), ("check", both), ("test", both), ("setup", {"setup"})):
        (tmp_path / "asked").unlink(missing_ok=True)
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "FAILS": fails}
        done = subprocess.run(["bash", str(ROOT / ".ci" / "run")], env=environment, check=False, cwd=tmp_path)
        assert (done.returncode == 0) == (fails == "")
        first, *others = (tmp_path / "asked").read_text().split()
        assert (first, {first, *others}) == ("setup", asked)


def test_the_hooks_before_a_commit_are_the_checks_of_make() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["name"] for hook in hooks} == {name.strip() for name in checks_of_make()}
    for hook in hooks:
        assert f".venv/bin/{hook['name'].split()[0]}" in hook["entry"]
        assert hook["language"] == "system"


def test_hosted_ci_runs_the_same_on_the_oldest_python_and_a_new_one() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    [job] = jobs.values()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert job["strategy"]["matrix"]["python"] == [oldest, "3.13"]
    assert "bash .ci/run" in [step.get("run") for step in job["steps"]]


def test_the_changelog_has_the_version_and_what_comes_next() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert headings[:2] == ["Unreleased", version]


def test_no_number_of_a_report_or_card_is_written_as_minus_zero() -> None:
    """Python's own `z` makes -0.00 0.00; every format of decimals in what writes about numbers has it."""
    assert f"{-0.004:z.2f}, {-0.006:+z.2f}" == "0.00, -0.01"
    without = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("stats", "cards")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FormattedValue) and _is_decimal_without_z(node)
    ]
    assert not without, f"write :z.2f for :.2f in {without}"


def _is_decimal_without_z(node: ast.FormattedValue) -> bool:
    spec = ast.unparse(node.format_spec) if node.format_spec else ""
    return bool(re.search(r"\.\d+f", spec)) and "z" not in spec


STAGES = ("builders", "scoring", "stats", "cards")
ANALYSES = ROOT / "stats" / "analyses"

MOST_LINES = 66_937
"""Of Python in the stages and src. Whoever cuts lowers it to the count that is left. It rose twice, with features:
designs, reading times, contexts, sizes of models, power and Python inputs (3,200 lines); probes of perturbed text,
participants, base against instruct, self-agreement and files of experiment programs (3,000)."""

MOST_WORDS = 12
"""Of a text in the Python of an analysis; sentences of reports are in its template. Messages of errors are free."""


def sources() -> Iterator[Path]:
    """Yield the Python files of the stages and src, without what links lead to."""
    for folder in (*STAGES, "src"):
        for directory, _, names in os.walk(ROOT / folder):
            yield from (Path(directory) / name for name in sorted(names) if name.endswith(".py"))


def test_the_lines_of_python_only_fall() -> None:
    n_lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources())
    assert MOST_LINES - 3000 < n_lines <= MOST_LINES, f"{n_lines} lines; MOST_LINES is {MOST_LINES}, and only falls"


MOST_LONG_FUNCTIONS, MOST_WIDE_FUNCTIONS = 2, 8
"""Functions of more than 60 lines, and with more than eight parameters. Both only fall."""


def test_functions_stay_short_take_few_parameters_and_walk_a_list_under_one_name() -> None:
    """A command's options are in classes that commands share (`pairbank.cli.command`), so that none needs more."""
    tree = ast.parse("def f(xs):\n    return [a for a in xs], [b for b in xs], [a for a in xs[1:]]")
    assert [*renamed_lists(tree)] == ["f: [['a', 'b']]"]
    long, wide, renamed = [], [], []
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        renamed += [f"{path.relative_to(ROOT)}: {one}" for one in renamed_lists(tree)]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                name = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                parameters = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
                long += [name] * ((node.end_lineno or 0) - node.lineno + 1 > 60)
                wide += [name] * (len([parameter for parameter in parameters if parameter not in ("self", "cls")]) > 8)
    assert 0 < len(long) <= MOST_LONG_FUNCTIONS, long
    assert 0 < len(wide) <= MOST_WIDE_FUNCTIONS, wide
    assert not renamed


def test_analyses_have_their_sentences_in_templates_and_their_figures_from_the_form() -> None:
    offences: dict[str, list[str]] = {}
    for path in sorted(ANALYSES.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        result = [f"line {line}: {text[:60]}" for line, text in long_texts(tree)]
        result += [f"line {line}: Figure(" for line in made_figures(tree) if path.name != "form.py"]
        if result:
            offences[path.relative_to(ANALYSES).as_posix()] = result
    assert not offences, offences


def long_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the long texts of a module that are no docstrings, messages of errors or titles of papers."""
    free = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.keyword) and node.arg in {"needs", "references"})
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) not in free and isinstance(node, ast.JoinedStr | ast.Constant):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
            if len(text.split()) > MOST_WORDS:
                yield node.lineno, text


def made_figures(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Figure":
            yield node.lineno


def renamed_lists(tree: ast.AST) -> Iterator[str]:
    """Yield the functions that walk one list under several names."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names: dict[str, set[str]] = defaultdict(set)
            for node in ast.walk(function):
                if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
                    names[ast.unparse(node.iter)].add(node.target.id)
            if any(len(targets) > 1 for targets in names.values()):
                yield f"{function.name}: {[sorted(x) for x in names.values() if len(x) > 1]}"


MOST_FILES_OF_A_ROW, MOST_FUNCTIONS_OF_A_ROW = 82, 1_476
"""They only fall, to 60 and 900; prompts as models read them and the reasons of each n brought the last 40."""


@pytest.mark.ci
@pytest.mark.upstream
def test_a_row_passes_few_files_and_functions_from_corpus_to_site(shared: Path, tmp_path: Path) -> None:
    script = ROOT / "tests" / "support" / "files_of_a_row.py"
    environment = os.environ | {"PAIRBANK_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(script), str(shared / "corpora")]
    printed = printed_by(command, cwd=tmp_path, env=environment)
    functions = [int(line.split("\t")[1]) for line in printed.splitlines()]
    assert 40 < len(functions) <= MOST_FILES_OF_A_ROW, printed
    assert 500 < sum(functions) <= MOST_FUNCTIONS_OF_A_ROW, printed
