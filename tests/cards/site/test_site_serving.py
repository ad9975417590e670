"""The small server of `pairbank browse`, and the two commands."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from command_line import completed
from pairbank.cli import app
from pairbank.errors import BankError, PairbankError
from site_pages import serving


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Message
    body: bytes


def answer(address: str, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
    """Return the answer to a path exactly as written, which urllib would tidy up."""
    place = urlsplit(address)
    with contextlib.closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=10)) as connection:
        connection.request(method, path, headers=headers or {})
        result = connection.getresponse()
        return Answer(status=result.status, headers=result.headers, body=result.read())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/?tab=items&q=%00", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/main.js", "text/javascript; charset=utf-8"),
        ("/site.css", "text/css; charset=utf-8"),
        ("/data/site.json.gz", "application/gzip"),
    ],
)
def test_files_have_their_types_and_are_asked_for_anew(hard_address: str, path: str, kind: str) -> None:
    result = answer(hard_address, path)
    assert result.status == 200
    assert result.headers["Content-Type"] == kind
    assert result.headers["Content-Encoding"] is None
    assert result.headers["Cache-Control"] == "no-cache"
    assert result.headers["X-Content-Type-Options"] == "nosniff"
    assert result.body


@pytest.mark.parametrize(
    "path", ["/data", "/data/", "/absent", "/%2e%2e/secret", "/../secret", "/data/%00", "/link", "//etc/passwd"]
)
def test_nothing_else_is_served_no_folder_and_nothing_outside(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "site/data").mkdir(parents=True)
    (tmp_path / "site/index.html").write_text("page")
    (tmp_path / "site/link").symlink_to(tmp_path / "secret")
    with serving(tmp_path / "site") as address:
        result = answer(address, path)
        assert result.status == 404
        assert b"secret" not in result.body
        assert answer(address, "/", method="POST").status == 501


def test_the_site_command_writes_and_says_how_to_look(hard_bank: Path, tmp_path: Path) -> None:
    declared = tmp_path / "models.toml"
    declared.write_text(
        '[[models]]\nname = "fake-1"\nfamily = "Fake"\ngeneration = "1"\nsize_billions = 1\ntype = "base"\n'
    )
    arguments = ["site", str(hard_bank), "--out", str(tmp_path / "site"), "--features", str(declared), "--all-texts"]
    done = completed(arguments)
    assert "python -m http.server" in done.output
    assert (tmp_path / "site/index.html").is_file()
    declared.write_text("[[models]\n")
    with pytest.raises(PairbankError, match=r"models\.toml: not readable as TOML"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.ci
def test_browse_serves_the_bank_until_it_is_stopped_and_leaves_nothing(hard_bank: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pairbank", "browse", str(hard_bank), "--no-open"]
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        # tests that run in the background ignore Ctrl+C, and so would what they start
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as run:
        assert run.stdout is not None
        told = run.stdout.readline()
        address = told.split(" on ")[1].split()[0]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=20) as page:  # noqa: S310 - our own server
            assert b"Content-Security-Policy" in page.read()
        run.send_signal(signal.SIGINT)
        try:
            assert run.wait(20) == 0
        finally:
            run.kill()
    assert list(tmp_path.iterdir()) == []


def test_a_bank_that_is_not_there_and_a_port_that_is_taken_are_one_message(hard_bank: Path, tmp_path: Path) -> None:
    from pairbank.cli.publishing import browse

    with pytest.raises(BankError, match="expected a bank's folder, or ORG/NAME"):
        browse(str(tmp_path / "gone"), no_open=True)
    with serving(tmp_path) as address, pytest.raises(PairbankError, match="choose another with --port"):
        browse(str(hard_bank), port=urlsplit(address).port or 0, no_open=True)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("[::1", 421),
    ],
)
def test_a_local_server_answers_only_to_local_names(hard_address: str, host: str, status: int) -> None:
    assert answer(hard_address, "/", headers={"Host": host}).status == status
