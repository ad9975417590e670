"""Published sources: files are pinned, found in a folder of copies or downloaded, and read in either form."""

import gzip
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest
from typer.testing import CliRunner

from command_line import completed
from pairbank.cli import app
from pairbank.errors import CorpusError, CorpusFileNotFoundError
from pairbank.scoring.importing import published
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.profile import load_profile, profile_names
from pairbank.scoring.importing.published import Pinned, pins_of, published_files
from pairbank.scoring.importing.scores import import_logs

LAMBADA = "hu-frank-2024-lambada"
PASSAGES = [("The baker sold the last", "loaf", -1.5), ('She said, "Close the\n\ndoor and', "window", -2.25)]
MODELS = [("allenai/OLMo-7B", "step10000-tokens44B", 1.0), ("allenai/OLMo-7B", "", 0.0), ("google/gemma-2b", "", 0.5)]


def table_of(model: str, revision: str, more: float) -> str:
    """Return a table as it is published, of passages of our own."""
    rows = [
        {
            "item_id": n,
            "prefix": prefix,
            "final_word": word,
            "direct_logprob": nats - more,
            "meta_logprob": 2 * nats - more,
            "kl_divergence": 0.1,
            "model": model,
            "revision": revision,
        }
        for n, (prefix, word, nats) in enumerate(PASSAGES)
    ]
    return pd.DataFrame(rows).to_csv(index=False)


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A folder of copies."""
    folder = tmp_path / "copies" / "hu-frank-2024" / "lambada"
    folder.mkdir(parents=True)
    for model, revision, more in MODELS:
        name = "_".join(part for part in (model.split("/")[1], revision) if part)
        (folder / f"{name}.csv").write_text(table_of(model, revision, more), encoding="utf-8")
    return tmp_path / "copies"


@pytest.fixture
def pins(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Pinned, ...]:
    root = made_up / "hu-frank-2024"
    result = tuple(
        Pinned(
            name=path.relative_to(root).as_posix(),
            sha256=sha256(path.read_bytes()).hexdigest(),
            path=f"output/{path.relative_to(root).as_posix()}",
        )
        for path in sorted(root.rglob("*.csv"))
    )
    monkeypatch.setattr(published, "pins_of", lambda _name, _profile: result)
    return result


@pytest.fixture
def mirror(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serves a folder as GitHub would; what it has under `served` may be changed."""
    served = made_up.parent / "served"
    revision = load_profile(LAMBADA).revision

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = served / self.path.split(f"/{revision}/output/")[-1]
            result = path.read_bytes() if path.is_file() else b""
            self.send_response(200 if path.is_file() else 404)
            self.send_header("Content-Length", str(len(result)))
            self.end_headers()
            self.wfile.write(result)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PAIRBANK_GITHUB_RAW", f"http://127.0.0.1:{server.server_port}")
    (made_up / "hu-frank-2024").rename(served)
    yield served
    server.shutdown()
    server.server_close()


def test_every_shipped_source_pins_a_commit_and_files() -> None:
    sources = [name for name in profile_names() if load_profile(name).repository]
    assert len(sources) >= 7
    for name in sources:
        profile = load_profile(name)
        assert len(profile.revision) == 40, name
        result = pins_of(name, profile)
        assert result, name
        assert all(len(one.sha256) == 64 and one.path for one in result), name
        assert len({one.name for one in result}) == len(result), name
    with pytest.raises(ScoreImportError, match="names no published files"):
        pins_of("lm-eval", load_profile("lm-eval"))


def test_a_model_and_its_checkpoints_have_scores_given_the_passage_and_a_question(made_up: Path) -> None:
    result = import_logs(made_up, LAMBADA).tables
    assert [table.model for table in result] == ["Gemma 2B", "OLMo 7B@step-10000", "OLMo 7B"]
    assert [table.signature["model"].get("step") for table in result] == [None, 10_000, 557_000]
    frame = result[0].to_pandas()
    assert list(frame["context_good"]) == [prefix for prefix, _, _ in PASSAGES]
    assert list(frame["target_good"]) == ["loaf", "window"]
    assert frame["logprob_minicons_good"].tolist() == [-2.0, -2.75]
    assert frame["hf24_lambada_good"].tolist() == [-3.5, -5.0]
    assert frame["logprob_minicons_bad"].isna().all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("final_word", "word", "no column final_word"),
        ("step10000-tokens44B", "main-branch", "revision is 'main-branch'; expected stepN"),
        ("-1.5", "1.5", "expected a log-probability in nats"),
    ],
)
def test_tables_of_another_form_are_refused(made_up: Path, old: str, new: str, message: str) -> None:
    for file in made_up.rglob("*.csv"):
        text = file.read_text(encoding="utf-8").replace("-1.5", old if old == "-1.5" else "-1.5")
        file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ScoreImportError, match=message):
        import_logs(made_up, LAMBADA)


def test_rows_of_two_models_in_one_table_and_no_table_are_refused(made_up: Path, tmp_path: Path) -> None:
    file = next(made_up.rglob("gemma-2b.csv"))
    other = table_of("google/gemma-7b", "", 0.0).partition("\n")[2]
    file.write_text(file.read_text(encoding="utf-8") + other, encoding="utf-8")
    with pytest.raises(ScoreImportError, match="rows of 2 models; expected one model a file"):
        import_logs(made_up, LAMBADA)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScoreImportError, match=r"no lambada/MODEL\.csv and no lambada\.tar\.xz"):
        import_logs(tmp_path / "empty", LAMBADA)
    with pytest.raises(ScoreImportError, match="no file or folder"):
        import_logs(tmp_path / "nowhere", LAMBADA)


@pytest.mark.usefixtures("pins")
def test_a_folder_of_copies_is_used_and_what_differs_is_named(made_up: Path) -> None:
    folder = made_up / "hu-frank-2024"
    result = published_files(LAMBADA, made_up)
    assert result.paths == (folder,)
    assert result.note(LAMBADA) == ""
    changed = next(folder.rglob("gemma-2b.csv"))
    changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert published_files(LAMBADA, made_up).others == ("lambada/gemma-2b.csv",)
    assert "lacks 1 of the source's 3 files as published" in published_files(LAMBADA, made_up).note(LAMBADA)
    with pytest.raises(CorpusFileNotFoundError, match="does not exist"):
        published_files(LAMBADA, made_up / "nowhere")


@pytest.mark.usefixtures("pins")
def test_packed_copies_are_the_published_files_and_read_alike(made_up: Path) -> None:
    folder = made_up / "hu-frank-2024"
    plain = [table.to_pandas() for table in import_logs(folder, LAMBADA).tables]
    zipped = folder / "lambada" / "gemma-2b.csv"
    with gzip.open(f"{zipped}.gz", "wb") as packed:
        packed.write(zipped.read_bytes())
    data = zipped.read_bytes()
    zipped.unlink()
    assert published_files(LAMBADA, made_up).note(LAMBADA) == ""
    zipped.write_bytes(data)
    with tarfile.open(folder / "lambada.tar.xz", "w:xz") as archive:
        archive.add(folder / "lambada", "lambada")
    for file in (folder / "lambada").iterdir():
        file.unlink()
    assert published_files(LAMBADA, made_up).note(LAMBADA) == ""
    for one, table in zip(plain, import_logs(folder, LAMBADA).tables, strict=True):
        pd.testing.assert_frame_equal(one, table.to_pandas())


@pytest.mark.usefixtures("pins")
def test_without_a_folder_the_pinned_files_are_downloaded_once_and_checked(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    completed(["import", "--from", LAMBADA, "--out", str(tmp_path / "imported")])
    assert sorted(path.name for path in (tmp_path / "imported").glob("*.parquet")) == [
        "Gemma_2B.parquet",
        "OLMo_7B.parquet",
        "OLMo_7B_step_10000.parquet",
    ]
    for file in mirror.rglob("*.csv"):  # what is in the cache needs no server
        file.write_text("something else", encoding="utf-8")
    assert published_files(LAMBADA).n_pinned == 3
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "another"))
    with pytest.raises(CorpusError, match="expected"):
        published_files(LAMBADA)


def test_import_without_files_and_profile_is_refused() -> None:
    made = CliRunner().invoke(app, ["import", "--out", "x"])
    assert made.exit_code == 2
    assert "which files?" in made.output
