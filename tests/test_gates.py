"""The gates: what `make check`, the hooks before a commit and CI run is the same, and all of it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent


def checks_of_make() -> set[str]:
    """Return the tools that `make check` runs."""
    recipe = (ROOT / "Makefile").read_text().split("\ncheck:", 1)[1].split("\n\n", 1)[0]
    return {" ".join(line) for line in re.findall(r"\$\(BIN\)/([\w-]+)(?: (check|format))?", recipe)}


def test_ci_runs_the_checks_beside_the_tests_and_fails_where_either_does(tmp_path: Path) -> None:
    (tmp_path / "make").write_text(f'#!/bin/sh\necho "$1$2" >> {tmp_path / "asked"}\n[ "$1" != "$FAILS" ]\n')
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    for name in ("make", "chromium"):
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


def test_the_names_that_one_stage_uses_of_another_stay_few() -> None:
    """These are the interfaces that a change has to keep; all other names belong to one stage."""
    shared, n_modules = set(), 0
    folders = [*((stage, ROOT / stage) for stage in STAGES), ("", ROOT / "src" / "pairbank")]
    for stage, folder in folders:
        for path in folder.rglob("*.py"):
            if not stage and path.relative_to(folder).parts[0] in STAGES:
                continue
            n_modules += 1
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pairbank."):
                    home = str(node.module).split(".")[1]
                    if home in STAGES and home != stage:
                        shared |= {(node.module, alias.name) for alias in node.names}
    assert 200 < len(shared) <= 600
    assert 200 < n_modules <= 290


MOST_FILES_OF_A_ROW = 80


@pytest.mark.ci
@pytest.mark.upstream
def test_a_row_passes_few_files_from_corpus_to_site(shared: Path, tmp_path: Path) -> None:
    script = ROOT / "tests" / "support" / "files_of_a_row.py"
    environment = os.environ | {"PAIRBANK_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(script), str(shared / "corpora")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert 40 < len(done.stdout.splitlines()) <= MOST_FILES_OF_A_ROW, done.stdout
