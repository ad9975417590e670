"""A model behind a real server against the same model here: in, a model folder; out, a table for docs/servers.md.

    export PAIRBANK_API_KEY=test PYTHONPATH=src:tests/support
    python tests/servers/compare.py MODEL_FOLDER --serve "tests/servers/vllm.sh MODEL_FOLDER"
    python tests/servers/compare.py MODEL_FOLDER --url http://127.0.0.1:8000/v1  # one that runs already
    python tests/servers/compare.py MODEL_FOLDER --serve "…" --kill  # killed in the middle, started again
    python tests/servers/compare.py FOLDER --make llama  # a random model with a tokenizer

The model has to be served in float32. Ends with an error where flags, token counts or written answers differ (answers
that the model itself nearly tied on excepted), or a difference of scores by more than 1e-3 nats.
"""

import argparse
import contextlib
import hashlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import httpx2
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import pairbank
from pairbank.markdown import to_markdown
from pairbank.scoring.api.names import NEAR_TIE
from pairbank.scoring.models.server.client import KEY_VARIABLE
from tiny_models import Architecture, saved_model

DELTA_NATS, TOKEN_NATS = 1e-3, 1e-2
"""Largest differences of a pair's score and of one token's that pass."""
SECONDS_TO_START = 3600
MADE: Mapping[str, Architecture] = {
    "llama": Architecture(
        model_class="LlamaForCausalLM",
        config={
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 2048,
        },
        batching="packed",
        tokenizer="metaspace_bpe",
    ),
    "gpt2": Architecture(
        model_class="GPT2LMHeadModel",
        config={"n_embd": 128, "n_layer": 2, "n_head": 2, "n_positions": 2048},
        batching="packed",
        tokenizer="byte_bpe_shared",
    ),
}
"""Random models that vLLM's kernels on a CPU can run: heads of 64 channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is scored in one go."""

    name: str
    corpus: str
    methods: tuple[str, ...]
    n_items: int
    limit: int | None = None
    """Of each subset."""
    subset: str | None = None


PARTS = (
    Part(name="direct, BLiMP", corpus="blimp", methods=("direct",), n_items=400, limit=6),
    Part(name="direct, LI (rated)", corpus="li", methods=("direct",), n_items=60),
    Part(name="direct, ZhoBLiMP", corpus="zhoblimp", methods=("direct",), n_items=60, limit=1),
    Part(name="forced choice", corpus="blimp", methods=("meta_question_simple",), n_items=100, limit=2),
    Part(name="judgment", corpus="blimp", methods=("acceptability_judgment_i",), n_items=30, limit=1),
    Part(name="two examples", corpus="blimp", methods=("meta_question_simple@2shot",), n_items=10, limit=1),
    Part(name="rating", corpus="starter", subset="contexts", methods=("ewok24_likert",), n_items=10),
    Part(
        name="written answers",
        corpus="starter",
        subset="contexts",
        methods=("ewok24_choice_free", "ewok24_likert_free"),
        n_items=10,
    ),
)


@dataclass(slots=True, kw_only=True)
class Differences:
    """Between two tables of scores."""

    n_items: int = 0
    n_numbers: int = 0
    n_other: int = 0
    """Flags, counts and texts that are not the same."""
    n_near_ties: int = 0
    """Of those, written answers that the model nearly tied on."""
    n_signs: int = 0
    delta: float = 0.0
    token: float = 0.0


def differences(
    here: Sequence[Mapping[str, Any]], there: Sequence[Mapping[str, Any]], columns: list[str]
) -> Differences:
    """Return how rows of the two differ in these columns."""
    result = Differences(n_items=len(here))
    for one, other in zip(here, there, strict=True):
        ties = any(NEAR_TIE in (one[name] or ()) for name in columns if name.endswith("_flags"))
        for name in columns:
            ours, theirs = one[name], other[name]
            if _is_number(ours) and _is_number(theirs):
                off = float(np.max(np.abs(np.subtract(theirs, ours)), initial=0.0))
                result.n_numbers += np.size(ours)
                if name.endswith("_delta"):
                    result.delta = max(result.delta, off)
                    result.n_signs += int(np.sign(ours) != np.sign(theirs) and abs(ours) > DELTA_NATS)
                else:
                    result.token = max(result.token, off)
            elif ours != theirs:
                result.n_other += 1
                result.n_near_ties += int(ties)
                sys.stderr.write(f"{one['item_id']} {name}: here {ours!r}, there {theirs!r}\n")
    return result


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, list) and bool(value) and isinstance(value[0], float))


def items_of(part: Part, data_dir: str | None) -> datasets.Dataset:
    """Return the items of a part, spread evenly over the corpus."""
    items = pairbank.load_corpus(part.corpus, data_dir=data_dir, limit=part.limit, subset=part.subset)
    places = np.unique(np.linspace(0, len(items) - 1, min(part.n_items, len(items))).astype(int))
    return items.select(places)


def n_answered(url: str) -> int:
    """Return how many requests vLLM says that it has answered; 0 where the server does not tell."""
    with contextlib.suppress(httpx2.TransportError):
        told = httpx2.get(url.removesuffix("/v1") + "/metrics", trust_env=False, timeout=30).text
        counts = [line for line in told.splitlines() if line.startswith("vllm:request_success_total{")]
        return round(sum(float(line.rsplit(" ", 1)[1]) for line in counts))
    return 0


@contextlib.contextmanager
def served(command: str | None, url: str, log: Path) -> Iterator[subprocess.Popen[bytes] | None]:
    """Start the server and yield it once it answers; in the end it and all that it started are killed."""
    if command is None:
        yield None
        return
    with log.open("ab") as out:
        process = subprocess.Popen(shlex.split(command), stdout=out, stderr=out, start_new_session=True)
    began = time.monotonic()
    try:
        while not _answers(url):
            if process.poll() is not None or time.monotonic() - began > SECONDS_TO_START:
                sys.exit(f"the server did not start; see {log}")
            time.sleep(2)
        sys.stderr.write(f"the server started in {time.monotonic() - began:.0f} s\n")
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a server, and every process of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _answers(url: str) -> bool:
    key = {"Authorization": f"Bearer {os.environ.get(KEY_VARIABLE, '')}"}
    try:
        return httpx2.get(f"{url}/models", headers=key, trust_env=False, timeout=10).is_success
    except httpx2.TransportError:
        return False


@contextlib.contextmanager
def cold_store() -> Iterator[None]:
    """Keep scores of this run apart, so that nothing is found that was not scored now."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PAIRBANK_CACHE=folder):
        yield


Server = subprocess.Popen[bytes]


def cpu_seconds(server: Server | None) -> float:
    """Return the processor time of a server that was started here, and of all its processes."""
    if server is None:
        return float("nan")
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[3]) == server.pid else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def compare(
    folder: str, url: str, parts: Sequence[Part], data_dir: str | None, server: Server | None
) -> tuple[pd.DataFrame, bool]:
    """Return a row a part, and whether all is as it should be."""
    there: Any = pairbank.load_model(url, tokenizer=folder, dtype="float32")
    here: Any = pairbank.load_model(folder, device="cpu", dtype="float32", prompt_format=there.info.prompt_format)
    rows, is_right = [], True
    for part in parts:
        items = items_of(part, data_dir)
        how: dict[str, Any] = {"methods": part.methods, "per_token": "direct" in part.methods}
        with cold_store():
            began, cpu_began = time.perf_counter(), time.process_time()
            ours = pairbank.score(items, here, **how).dataset
            between, cpu_here = time.perf_counter(), time.process_time() - cpu_began
            n_before, cpu_before = n_answered(url), cpu_seconds(server)
            theirs = pairbank.score(items, there, **how).dataset
            ended, n_after, cpu_there = time.perf_counter(), n_answered(url), cpu_seconds(server) - cpu_before
        columns = [name for name in ours.column_names if name not in items.column_names]
        result = differences(ours.to_list(), theirs.to_list(), columns)
        is_right &= result.n_other == result.n_near_ties and not result.n_signs
        is_right &= result.delta <= DELTA_NATS and result.token <= TOKEN_NATS
        rows.append(
            {
                "what": part.name,
                "items": result.n_items,
                "other flags, counts, texts": result.n_other,
                "largest difference of a score": f"{result.delta:.1e}",
                "of a token or option": f"{result.token:.1e}",
                "questions": n_after - n_before,
                "s here (CPU)": f"{between - began:.1f} ({cpu_here:.1f})",
                "s there (CPU)": f"{ended - between:.1f} ({cpu_there:.1f})",
            }
        )
        sys.stderr.write(f"{rows[-1]}\n")
    return pd.DataFrame(rows), is_right


def killed_and_repeated(folder: str, url: str, command: str, data_dir: str | None, work: Path) -> bool:
    """Kill the server in the middle of a command, start it again and repeat the command; return whether all is there.

    The numbers are held to those of an undisturbed run by the same server.
    """
    words = [sys.executable, "-m", "pairbank", "score", "blimp", "--limit", "2", "--model", url, "--tokenizer", folder]
    words += ["-m", "direct", "-m", "meta_question_simple", "--dtype", "float32", "--max-length", "2000"]
    words += ["--data-dir", data_dir] if data_dir else []

    def run(name: str, cache: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PAIRBANK_CACHE": str(work / cache)}
        argv = [*words, "--out", str(work / f"{name}.parquet")]
        return subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE, text=True)

    with served(command, url, work / "server.log"):
        n_before = n_answered(url)
        _finished(run("undisturbed", "one"))
        n_whole = n_answered(url) - n_before
    with served(command, url, work / "server.log") as server:
        assert server is not None
        disturbed, n_before = run("disturbed", "two"), n_answered(url)
        while disturbed.poll() is None and n_answered(url) - n_before < 0.75 * n_whole:
            time.sleep(0.05)
        n_killed = n_answered(url) - n_before
        kill(server)
        told = (disturbed.communicate()[1] or "").strip().splitlines()
        sys.stderr.write(
            f"killed after {n_killed} of {n_whole} questions; exit code {disturbed.returncode}: {told[-1]}\n"
        )
    with served(command, url, work / "server.log"):
        n_before = n_answered(url)
        _finished(run("disturbed", "two"))
        n_again = n_answered(url) - n_before
    tables = {name: pq.read_table(work / f"{name}.parquet") for name in ("undisturbed", "disturbed")}
    hashes = {name: hashlib.sha256((work / f"{name}.parquet").read_bytes()).hexdigest()[:12] for name in tables}
    sys.stdout.write(f"questions: {n_whole} undisturbed; {n_killed} before the kill and {n_again} after it\n{hashes}\n")
    rows = [tables[name].to_pylist() for name in ("undisturbed", "disturbed")]
    columns = [
        name for name in tables["disturbed"].column_names if name.startswith(("direct_", "meta_question_simple_"))
    ]
    off = differences(rows[0], rows[1], columns)
    sys.stdout.write(f"{off}\n")
    return disturbed.returncode != 0 and n_again < n_whole and not off.n_other and off.delta <= DELTA_NATS


def _finished(process: subprocess.Popen[str]) -> None:
    told = process.communicate()[1]
    if process.returncode:
        sys.exit(f"the command failed: {told}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--url", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--serve", help="command that starts the server")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--make", choices=[*MADE])
    parser.add_argument("--data-dir")
    parser.add_argument("--only", nargs="*", help="parts whose names hold one of these words")
    asked = parser.parse_args()
    if asked.make:
        saved_model(MADE[asked.make], Path(asked.folder))
        return
    datasets.disable_progress_bars()
    work = Path(tempfile.mkdtemp())
    if asked.kill:
        if not asked.serve:
            parser.error("--kill needs --serve")
        sys.exit(not killed_and_repeated(asked.folder, asked.url, asked.serve, asked.data_dir, work))
    parts = [part for part in PARTS if not asked.only or any(word in part.name for word in asked.only)]
    with served(asked.serve, asked.url, work / "server.log") as server:
        table, is_right = compare(asked.folder, asked.url, parts, asked.data_dir, server)
    sys.stdout.write(to_markdown(table) + "\n")
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
