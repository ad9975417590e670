"""What is built holds everything; a tree without its links is refused at once, with the remedy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from checkouts import ROOT, STAGES, checkout

REMEDY = "git config core.symlinks true && git checkout -- src"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a source distribution of this tree, and the wheel of that; return the folder of both."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    root = checkout(folder / "tree")
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return folder / "dist"


@pytest.fixture(scope="session")
def without_links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clone this repository as git does where there are no symbolic links, with the files of this tree."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a clone, or no git")
    root = tmp_path_factory.mktemp("clone") / "pairbank"
    command = ["git", "clone", "--quiet", "-c", "core.symlinks=false", str(ROOT), str(root)]
    subprocess.run(command, check=True, capture_output=True)
    for name in ("setup.py", "pyproject.toml", "src/pairbank/__init__.py", "src/pairbank/errors.py"):
        shutil.copy2(ROOT / name, root / name)
    return root


def names_in(folder: Path) -> tuple[set[str], set[str]]:
    """Return the files of the wheel and of the source distribution, without the latter's top folder."""
    wheel = zipfile.ZipFile(next(folder.glob("*.whl")))
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        source = {member.name.split("/", 1)[1] for member in archive if member.isfile()}
        assert not [member.name for member in archive if member.issym()]
    return set(wheel.namelist()), source


@pytest.mark.ci
def test_the_wheel_holds_every_file_of_the_four_stages(built: Path) -> None:
    wheel, _ = names_in(built)
    for stage in STAGES:
        files = {f"pairbank/{path.relative_to(ROOT)}" for path in (ROOT / stage).rglob("*") if path.is_file()}
        expected = {name for name in files if "/__pycache__/" not in name}
        assert expected - wheel == set()
    ours = {f"pairbank/{path.name}" for path in (ROOT / "src" / "pairbank").glob("*") if path.is_file()}
    assert ours | {"pairbank/studies/demo.toml", "pairbank/templates/corpus.py.j2"} <= wheel
    tops = {name.split("/", 1)[0] for name in wheel}
    assert sorted(top.split("-")[0] for top in tops) == ["pairbank", "pairbank"]


def test_the_source_distribution_has_folders_for_links(built: Path) -> None:
    _, source = names_in(built)
    assert {f"src/pairbank/{stage}/__init__.py" for stage in STAGES} | {"setup.py", "pyproject.toml"} <= source


def test_a_clone_without_links_is_not_built(without_links: Path) -> None:
    assert (without_links / "src" / "pairbank" / "builders").read_text() == "../../builders"
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(without_links / "dist"), str(without_links)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert (
        "src/pairbank/builders, src/pairbank/scoring, src/pairbank/stats, src/pairbank/cards should be" in done.stderr
    )
    assert REMEDY in done.stderr
    assert not list((without_links).rglob("*.whl"))


def test_a_clone_without_links_is_not_imported(without_links: Path) -> None:
    code = "try:\n    import pairbank\nexcept ImportError as error:\n    print(type(error).__name__, error)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(without_links / "src")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(
        f"CheckoutError {without_links / 'src' / 'pairbank'}: builders, scoring, stats, cards"
    )
    assert REMEDY in done.stdout


def test_the_remedy_mends_the_clone(without_links: Path, tmp_path: Path) -> None:
    root = tmp_path / "mended"
    shutil.copytree(without_links, root)
    subprocess.run(REMEDY, shell=True, cwd=root, check=True, capture_output=True)  # noqa: S602 - as the message has it
    assert all((root / "src" / "pairbank" / stage).is_symlink() for stage in STAGES)
    assert all((root / "src" / "pairbank" / stage / "__init__.py").is_file() for stage in STAGES)
