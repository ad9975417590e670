"""What is built holds everything; a tree without its links is refused at once, with the remedy."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from checkouts import ROOT, STAGES, checkout
from command_line import printed_by
from tiny_models import ARCHITECTURES, saved_model

REMEDY = "git config core.symlinks true && git checkout -- src"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a source distribution of this tree, and the wheel of that; return the folder of both."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    root = checkout(folder / "tree")
    printed_by(command, cwd=root)
    return folder / "dist"


@pytest.fixture(scope="session")
def without_links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clone this repository as git does where there are no symbolic links, with the files of this tree."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a clone, or no git")
    root = tmp_path_factory.mktemp("clone") / "pairbank"
    command = ["git", "clone", "--quiet", "-c", "core.symlinks=false", str(ROOT), str(root)]
    printed_by(command)
    for name in ("setup.py", "pyproject.toml", "src/pairbank/__init__.py", "src/pairbank/errors.py"):
        shutil.copy2(ROOT / name, root / name)
    return root


def names_in(folder: Path) -> tuple[set[str], set[str]]:
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


@pytest.mark.ci
def test_the_source_distribution_has_folders_for_links(built: Path) -> None:
    _, source = names_in(built)
    assert {f"src/pairbank/{stage}/__init__.py" for stage in STAGES} | {"setup.py", "pyproject.toml"} <= source
    assert not [name for name in source if name.startswith("tests/")]


@pytest.fixture(scope="session")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel alone into an environment that has what it depends on; return the folder of its commands."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=False)
    [site_packages] = folder.glob("lib/python*/site-packages")
    # a folder named in a .pth file has no .pth files of its own: this checkout is not on the path by it
    (site_packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    wheel = next(built.glob("*.whl"))
    options = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--ignore-installed"]
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", *options, str(wheel)]
    printed_by(command)
    return folder / "bin"


TYPED = """
import sys, pairbank
from pairbank.cli import app
print(pairbank.__file__, flush=True)
for line in sys.stdin:
    app(line.split(), standalone_mode=False)
"""
COMMANDS = """score pairs.csv --model ./tiny -m direct --language en --out scored.parquet
report scored.parquet --out report
words text.txt --model ./tiny --out words.csv
bank scored.parquet --out bank
run demo --model fake:a --limit 1 --out study
check bank
check study
site bank --out bank-site
site study --out study-site
"""


@pytest.mark.ci
def test_a_wheel_alone_scores_reports_and_shows_a_bank(installed: Path, tmp_path: Path) -> None:
    """In an empty folder, without a checkout: every command below reads files that have to be in the wheel."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PAIRBANK_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    (tmp_path / "pairs.csv").write_text("good,bad\nThe dogs bark.,The dogs barks.\nShe sleeps.,She sleep.\n")
    (tmp_path / "text.txt").write_text("The dogs bark at the cat.\n")
    saved_model(ARCHITECTURES["gpt2"], tmp_path / "tiny")
    said = printed_by([installed / "python", "-c", TYPED], input=COMMANDS, cwd=tmp_path, env=environment)
    assert Path(said.splitlines()[0]).is_relative_to(installed.parent)
    assert said.count(": whole") == 2
    assert len((tmp_path / "words.csv").read_text().splitlines()) == 1 + 6
    for page in ("report/report.html", "bank-site/index.html", "study-site/index.html"):
        assert (tmp_path / page).is_file()
    served = [str(installed / "pairbank"), "browse", "study", "--no-open", "--port", "0"]
    with subprocess.Popen(served, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as browse:
        assert browse.stdout is not None
        address = re.search(r"http://\S+", browse.stdout.readline())
        assert address is not None
        with urllib.request.urlopen(address[0]) as page:  # noqa: S310 - the server that was just started
            assert b"<title>" in page.read()
        browse.send_signal(signal.SIGINT)


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
    said = printed_by([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(without_links / "src")})
    assert said.startswith(f"CheckoutError {without_links / 'src' / 'pairbank'}: builders, scoring, stats, cards")
    assert REMEDY in said


def test_the_remedy_mends_the_clone(without_links: Path, tmp_path: Path) -> None:
    root = tmp_path / "mended"
    shutil.copytree(without_links, root)
    subprocess.run(REMEDY, shell=True, cwd=root, check=True, capture_output=True)  # noqa: S602 - as the message has it
    assert all((root / "src" / "pairbank" / stage).is_symlink() for stage in STAGES)
    assert all((root / "src" / "pairbank" / stage / "__init__.py").is_file() for stage in STAGES)
