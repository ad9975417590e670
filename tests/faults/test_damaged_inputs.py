"""Every verb on files that are damaged, empty, of another kind, or no files: one clear error, never a traceback."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pairbank.cli import app
from pairbank.errors import PairbankError

VERBS = {
    "build": "build {0}.csv --out {1}/o.parquet",
    "build parquet": "build {0}.parquet --out {1}/o.parquet",
    "build lines": "build {0}.jsonl --out {1}/o.parquet",
    "score": "score {0}.csv --model fake:a -m direct --out {1}/o.parquet",
    "score with prompts": "score {1}/own.csv --model fake:a -m direct --prompts {0}.toml --out {1}/o.parquet",
    "import": "import {0}.csv --out {1}/o",
    "import parquet": "import {0}.parquet --out {1}/o",
    "import with a profile": "import {1}/own.csv --profile {0}.toml --out {1}/o",
    "report": "report {0}.parquet --out {1}/o",
    "report a table of words": "report {0}.csv --out {1}/o",
    "report lines": "report {0}.jsonl --out {1}/o",
    "bank": "bank {0}.parquet --out {1}/o",
    "merge": "merge {0} {0} --out {1}/o",
    "strip": "strip {0} --out {1}/o",
    "check": "check {0}",
    "run": "run {0}.toml --model fake:a --out {1}/o",
    "minimalness": "minimalness {0}.parquet --edits-only --out {1}/o.parquet",
}
OWN = b"good,bad\nThe dog barks.,The dog bark.\n"
DAMAGES: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "noise": bytes(range(256)) * 8,
    "a page": b"<!DOCTYPE html><html><body>Not found</body></html>",
    "another encoding": "sätze;\u00fc".encode("latin-1") * 9,
    "nulls": b"a,b\n\0,\0\n",
    "nested": b"[" * 20_000,
    "a parquet file cut": b"PAR1" + b"\x15\x04" * 99,
    "a parquet file without a middle": b"PAR1" + bytes(200) + b"PAR1",
    "a pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 12345\n",
}


@pytest.mark.ci
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_input_is_one_clear_error(tmp_path: Path, verb: str, damage: str) -> None:
    content = DAMAGES[damage]
    (tmp_path / "own.csv").write_bytes(OWN)
    if content is not None:
        for ending in (".csv", ".parquet", ".jsonl", ".toml"):
            (tmp_path / f"bad{ending}").write_bytes(content)
        if damage == "nested":  # and closed, so that it is TOML
            (tmp_path / "bad.toml").write_bytes(b"a = " + b"[" * 5_000 + b"]" * 5_000)
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad" / "manifest.json").write_bytes(content)
    if verb == "import with a profile" and damage == "empty":
        pytest.skip("an empty profile says nothing, and is a profile")
    result = CliRunner().invoke(app, VERBS[verb].format(tmp_path / "bad", tmp_path).split())
    assert isinstance(result.exception, PairbankError), repr(result.exception)
    assert "bad" in str(result.exception)
    assert not (tmp_path / "o.parquet").exists()
    assert not list(tmp_path.glob("o/**/*.parquet"))
