"""A package of somebody else's: its corpus, prompt, analysis and back end are listed and used as ours are."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pairbank
from pairbank.builders import CORPORA, corpus_named
from pairbank.builders.catalogue import catalogue_markdown
from pairbank.errors import ModelLoadError, PluginError, UnknownNameError
from pairbank.plugins import plugins
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.stats.analyses.registry import analysis_named

EXAMPLE = Path(__file__).parent / "example_package"
DOORS = ("corpora", "prompts", "analyses", "backends")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example package, as anybody would, into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugins")
    shutil.copytree(EXAMPLE, folder / "source")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--no-index"]
    target = folder / "installed"
    command = [sys.executable, "-m", "pip", "install", *quiet, "--target", str(target), str(folder / "source")]
    subprocess.run(command, check=True, capture_output=True)
    return target


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, door: str, *entries: str, code: str = "", n: int = 1) -> None:
    """Pretend that a package is installed that offers these entry points, and has this one module `offered`."""
    root = folder / f"package_{n}"
    info = root / f"some_package_{n}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: some-package-{n}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join([f"[pairbank.{door}]", *entries, ""]))
    (root / "offered.py").write_text(code)
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "offered", raising=False)


def run(installed: Path, *arguments: str, folder: Path) -> str:
    """Run a command in a process of its own, the package installed."""
    source = str(Path(pairbank.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, str(installed)]), "COLUMNS": "200"}
    command = [sys.executable, "-m", "pairbank", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.ci
def test_a_packages_corpus_prompt_back_end_and_analysis_work_together(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "forecast.txt").write_text("The clouds are grey and the rain is cold.\nThe winds have turned.\n")
    shown = run(
        installed,
        *("score", "weather", "--model", "letters:forecast.txt"),
        *("--method", "direct", "--method", "teacher", "--out", "scored.parquet"),
        folder=tmp_path,
    )
    assert "scored.parquet: 8 items with direct, teacher" in shown
    signature = pairbank.read_scored(tmp_path / "scored.parquet").signature
    assert signature["model"]["backend"] == "letters"
    assert signature["corpus"]["version"] == "1.0.0"
    run(installed, "report", "scored.parquet", "--analysis", "length", "--out", "report", folder=tmp_path)
    assert "## Length of sentences\n\n- forecast, Direct: 0." in (tmp_path / "report" / "report.md").read_text()
    rows = (tmp_path / "report" / "length_preferences.csv").read_text().splitlines()
    assert [row.split(",")[:3] for row in rows[1:]] == [
        ["forecast", "weather", "direct"],
        ["forecast", "weather", "teacher"],
    ]


@pytest.mark.ci
def test_the_listings_say_whose_a_corpus_and_a_prompt_are(installed: Path, tmp_path: Path) -> None:
    rows = {line.split()[0]: line for line in run(installed, "corpora", folder=tmp_path).splitlines() if line[:1] > " "}
    assert "pairbank-example" in rows["weather"]
    assert "pairbank-example" not in rows["blimp"]
    rows = {line.split()[0]: line for line in run(installed, "methods", folder=tmp_path).splitlines() if line[:1] > " "}
    assert rows["teacher"].endswith("pairbank-example")
    assert "pairbank-example" not in rows["direct"]


def test_an_unknown_name_is_told_those_of_packages_too(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    with pytest.raises(UnknownNameError, match=r"did you mean 'weather'\?.* weather \(of pairbank-example\)"):
        corpus_named("wether")
    with pytest.raises(UnknownNameError, match=r"languages, length \(of pairbank-example\), linking"):
        analysis_named("lengths-of-words")
    with pytest.raises(UnknownNameError, match=r"no back end 'leters'.*fake, letters \(of pairbank-example\)"):
        pairbank.load_model("leters:text.txt")
    assert "weather" in CORPORA
    assert list(CORPORA)[-1] == "weather"
    assert "weather" not in catalogue_markdown()
    assert prompts_of(())["teacher"].paper == "nobody's; ours"


def test_a_back_end_refuses_what_it_does_not_honour(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    with pytest.raises(ModelLoadError, match=r"letters:text.txt takes no dtype='float16'; it honours no option"):
        pairbank.load_model("letters:text.txt", dtype="float16")
    with pytest.raises(ModelLoadError, match="no such file; give the path of a text"):
        pairbank.load_model("letters:text.txt")


def test_a_broken_package_stops_nobody_who_does_not_need_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, door in enumerate(DOORS):
        offer(tmp_path, monkeypatch, door, "broken = offered:NOT_THERE", n=n)
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    scored = pairbank.score(items, pairbank.load_model("fake:one"), methods=["direct", "meta_question_simple"])
    assert pairbank.report([scored], analyses=["paradigms"], n_resamples=10).sections[0].id == "paradigms"
    assert {name: plugin.package for name, plugin in plugins("corpora").items()} == {"broken": "some-package-0"}
    with pytest.raises(UnknownNameError, match="no corpus 'blmip'"):
        corpus_named("blmip")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", r"cannot be loaded \(AttributeError: module 'offered' has no attribute 'IT'\)"),
        ("import not_there", r"cannot be loaded \(ModuleNotFoundError: No module named 'not_there'\)"),
        ("IT = 1 / 0", r"cannot be loaded \(ZeroDivisionError: division by zero\)"),
        ("IT = 3", "which is 3; expected"),
    ],
)
def test_a_broken_package_that_is_needed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    for n, door in enumerate(DOORS):
        offer(tmp_path, monkeypatch, door, "broken = offered:IT", code=code, n=n)
    problem = rf"some-package-{{}} offers 'broken' in pairbank.{{}} as 'offered:IT', .*{message}.*; mend or uninstall"
    with pytest.raises(PluginError, match=problem.format(0, "corpora")):
        pairbank.load_corpus("broken")
    with pytest.raises(PluginError, match=problem.format(1, "prompts")):
        pairbank.score(pairbank.load_corpus("starter", limit=1), FakeScorer(), methods=["broken"])
    with pytest.raises(PluginError, match=problem.format(2, "analyses")):
        analysis_named("broken")
    with pytest.raises(PluginError, match=problem.format(3, "backends")):
        pairbank.load_model("broken:x")


def test_what_a_package_offers_must_be_what_its_name_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from pairbank.builders import corpus_named\nIT = corpus_named('starter')\n"
    offer(tmp_path, monkeypatch, "corpora", "other = offered:IT", code=code)
    with pytest.raises(PluginError, match="expected a pairbank Corpus with name='other'"):
        corpus_named("other")
    offer(tmp_path, monkeypatch, "backends", "odd = offered:load", code="def load(rest, options): return rest", n=2)
    with pytest.raises(PluginError, match="which gives 'x'; expected an object with the methods of pairbank's Scorer"):
        pairbank.load_model("odd:x")


def test_a_name_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path, monkeypatch, "corpora", "blimp = offered:IT")
    assert corpus_named("blimp").title.startswith("BLiMP")
    with pytest.raises(PluginError, match=r"some-package-1 offers 'blimp'.*a name that pairbank itself has"):
        list(CORPORA)
    for n in (2, 3):
        offer(tmp_path, monkeypatch, "analyses", "mine = offered:IT", n=n)
    with pytest.raises(PluginError, match="a name that some-package-2 has taken"):
        analysis_named("mine")


def test_a_prompt_file_may_come_from_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (EXAMPLE / "src" / "pairbank_example" / "prompts.toml").read_text()
    (tmp_path / "file.toml").write_text(text)
    code = f"from pathlib import Path\nPATH = {str(tmp_path / 'file.toml')!r}\ndef file():\n    return Path(PATH)\n"
    offer(tmp_path, monkeypatch, "prompts", "a = offered:file", code=code)
    assert "teacher" in prompts_of(())
    offer(tmp_path, monkeypatch, "prompts", "b = offered:PATH", code=code, n=2)
    with pytest.raises(ValueError, match=r"some-package-2, pairbank\.prompts 'b': prompt id 'teacher' is taken"):
        prompts_of(())


def test_a_path_with_a_colon_is_a_path_and_an_address_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pairbank.scoring.models.server.client.FIRST_PAUSE_S", 0.01)
    (tmp_path / "fake:model").mkdir()
    with pytest.raises(ModelLoadError, match="cannot load model"):
        pairbank.load_model("fake:model")
    with pytest.raises(ModelLoadError, match="no answer to /models"):
        pairbank.load_model("http://localhost/v1")
