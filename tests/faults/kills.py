"""Stop verbs at random moments by three signals, and start many processes at once; say what was lost or left.

    PYTHONPATH=tests/support python tests/faults/kills.py [--kills 200] [--places 100] [--writers 20] [--rounds 20]

In: seeds. Out: one line per verb; exit code 1 if a rerun was refused, gave other bytes than an undisturbed run, a file
was ever seen half-written, SIGINT or SIGTERM left a temporary file, a lock, a traceback or another exit code than 130
and 143, or one of ten processes on an empty cache failed. `--places`: SIGINT or SIGTERM at lines of the code that
writes, cleans up or holds a lock, which a random moment hardly ever meets. Everything is imported once; each verb runs
in a fork, so that it is the verb that is stopped and not its imports. About ten minutes per 100 kills on one core; the
short form is in the tests.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pairbank
from bank_fixtures import OWN_PAIRS
from golden_models import golden_model

if TYPE_CHECKING:
    from _typeshed import TraceFunction

os.environ["HF_HUB_OFFLINE"] = "1"
FAMILIES = ("llama", "gpt2", "bert", "t5")
FAKES = ("one", "two", "three")
METHODS = ("-m", "direct", "-m", "meta_question_simple")
CACHE = "cache"
GERMAN = "Satz A,Satz B\nDer Hund bellt.,Der Hund bellen.\nWir lesen das Buch.,Wir liest das Buch.\n"
ELSEWHERE = "model,good,bad,direct_good,direct_bad\n" + "".join(
    f"{model},A {k} sleeps.,A {k} sleep.,{-10.5 - n},{-12.25 - k}\n"
    for n, model in enumerate(("closed-1", "closed-2", "closed-3"))
    for k in range(5)
)
STUDY = 'title = "Two"\nmethods = ["direct", "meta_question_simple"]\n\n[[corpora]]\nname = "starter"\nlimit = 2\n'


STOPPED = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}
"""Signal -> exit code of a verb that it met running."""
POLITE = frozenset({signal.SIGINT, signal.SIGTERM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    name: str
    argv: tuple[str, ...]


def _score(corpus: str, model: str, out: str, *more: str) -> tuple[str, ...]:
    return ("score", corpus, "--model", model, *METHODS, "--out", out, *more)


def _run(*models: str) -> tuple[str, ...]:
    named = [part for model in models for part in ("--model", model)]
    return ("run", "study.toml", *named, "--out", "bank")


GROUND = (
    *(_score("own.csv", f"fake:{name}", f"own-{name}.parquet") for name in FAKES),
    _score("starter", "fake:one", "starter-one.parquet", "--limit", "2"),
    ("bank", "own-one.parquet", "--out", "bank-1"),
    ("bank", "own-two.parquet", "starter-one.parquet", "--out", "bank-2"),
)
"""What is there before a verb is run."""
VERBS = (
    Verb(name="build", argv=("build", "starter", "--limit", "4", "--out", "items.parquet")),
    Verb(
        name="build own",
        argv=(
            *("build", "de.csv", "--language", "de", "--column", "target_good=Satz A", "--column"),
            *("target_bad=Satz B", "--out", "new/de.parquet"),
        ),
    ),
    Verb(name="score", argv=_score("own.csv", "fake:four", "scored.parquet")),
    *(Verb(name=f"score {name}", argv=_score("own.csv", f"models/{name}", "scored.parquet")) for name in FAMILIES),
    Verb(name="import", argv=("import", "elsewhere.csv", "--out", "imported")),
    Verb(
        name="report",
        argv=("report", "own-one.parquet", "own-two.parquet", "--analysis", "comparisons", "--out", "report"),
    ),
    Verb(name="bank", argv=("bank", "own-one.parquet", "own-two.parquet", "--out", "bank")),
    Verb(name="bank extended", argv=("bank", "own-three.parquet", "--out", "bank-1")),
    Verb(name="merge", argv=("merge", "bank-1", "bank-2", "--out", "merged")),
    Verb(name="strip", argv=("strip", "bank-2", "--out", "public")),
    Verb(name="run", argv=_run("fake:one", "models/bert")),
    Verb(name="run extended", argv=("run", "study.toml", "--model", "fake:two", "--out", "bank-1")),
    Verb(name="unigrams", argv=("unigrams", "de.csv", "--model", "models/gpt2", "--out", "unigrams.parquet")),
    Verb(name="score xlsx", argv=("score", "own.csv", "--model", "fake:five", "--out", "scored.xlsx")),
    Verb(name="check", argv=("check", "bank-2")),
    Verb(name="export", argv=("export", "bank-2", "--to", "csv", "--out", "copies")),
    Verb(name="site", argv=("site", "bank-2", "--out", "page")),
    Verb(name="minimalness", argv=("minimalness", "own.csv", "--edits-only", "--out", "edits.parquet")),
)


@dataclass(slots=True, kw_only=True)
class Tried:
    kills: int = 0
    while_running: int = 0
    """Kills that met the verb before it had ended."""
    problems: list[str] = field(default_factory=list)


def begin(argv: Sequence[str], folder: Path, said: str = "said", traced: Traced | None = None) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, POLITE)  # until the fork runs the verb
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, POLITE)
        return pid
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.environ["PAIRBANK_CACHE"] = str(folder / CACHE)
        output = os.open(folder.parent / said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.argv = ["pairbank", *argv]
        code = _exit_code(traced)
        signal.pthread_sigmask(signal.SIG_BLOCK, POLITE)
    except BaseException:  # noqa: BLE001 - a fork must end here whatever happens
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _exit_code(traced: Traced | None) -> int:
    from pairbank import cli

    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, POLITE)
    except KeyboardInterrupt:
        return STOPPED[signal.SIGINT]
    if traced:
        cli.app = _traced(cli.app, traced)  # type: ignore[assignment]
    try:
        cli.main()
    except SystemExit as ended:
        sys.settrace(None)
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    finally:
        sys.settrace(None)
        if traced:
            traced.write()
    return 0


def _traced(app: Callable[[], object], traced: Traced) -> Callable[[], object]:
    def run() -> object:
        sys.settrace(traced.step)
        return app()

    return run


WATCHED = ("contextlib.py", "pairbank/files.py", "bank/lock.py", "bank/writing.py", "site/site.py")
"""Where a command writes, cleans up and holds its lock."""


@dataclass(slots=True, kw_only=True)
class Traced:
    """A process that notes the places it passes, or signals itself at a step."""

    places: Path
    """Is written at the end: file, line and event of every step, a line each."""
    at: int = -1
    how: signal.Signals = signal.SIGINT
    passed: list[str] = field(default_factory=list)

    def step(self, frame: FrameType, event: str, _value: object) -> TraceFunction | None:
        if not frame.f_code.co_filename.endswith(WATCHED):
            return None
        self.passed.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {event}")
        if len(self.passed) - 1 == self.at:
            signal.raise_signal(self.how)
        return self.step

    def write(self) -> None:
        """Say where it has been."""
        self.places.write_text("\n".join(self.passed))


def ended(pid: int) -> int:
    """Return the exit code of a process; of one that was killed, the signal below 0."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def complete(argv: Sequence[str], folder: Path) -> str:
    code = ended(begin(argv, folder))
    return f"exit {code}: {(folder.parent / 'said').read_text(errors='replace').strip()[-400:]}" if code else ""


def contents(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in paths}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in named.items()
        if not name.startswith(f"{CACHE}/")
    }


def fresh(ground: Path, *, is_warm: bool) -> Path:
    """Return a new copy of the ground, alone in a folder, with its cache or an empty one."""
    folder = Path(tempfile.mkdtemp(dir=ground.parent)) / "here"
    shutil.copytree(ground, folder)
    if not is_warm:
        shutil.rmtree(folder / CACHE)
    return folder


def make_ground(folder: Path, verbs: Sequence[Verb]) -> None:
    folder.mkdir()
    for name, text in {"own.csv": OWN_PAIRS, "de.csv": GERMAN, "elsewhere.csv": ELSEWHERE, "study.toml": STUDY}.items():
        (folder / name).write_text(text, encoding="utf-8")
    models = [name for name in FAMILIES if any(f"models/{name}" in verb.argv for verb in verbs)]
    _in_fork(lambda: [golden_model(name, folder / "models") for name in models])
    for argv in GROUND:
        if problem := complete(argv, folder):
            raise SystemExit(f"{' '.join(argv)}: {problem}")


def _in_fork(work: Callable[[], object]) -> None:
    """Do something in another process, so that this one stays without threads and can be forked."""
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a fork must end here whatever happens
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if ended(pid):
        raise SystemExit("the models could not be made")


def preload() -> None:
    for name in ("matplotlib.pyplot", "scipy.stats", "sklearn.linear_model", "statsmodels.api", "pingouin", "joblib"):
        importlib.import_module(name)
    for module in pkgutil.walk_packages(pairbank.__path__, "pairbank."):
        if "browser" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    import transformers

    for name in ("LlamaForCausalLM", "GPT2LMHeadModel", "BertForMaskedLM", "T5ForConditionalGeneration"):
        assert getattr(transformers, name)
    if threading.active_count() > 1:
        raise SystemExit(f"threads run, a fork could hang: {threading.enumerate()}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    seconds: dict[bool, float]
    """With an empty cache (False) and with a filled one (True)."""
    before: dict[str, str]
    after: dict[str, str]


def undisturbed(verb: Verb, ground: Path) -> Reference:
    """Run a verb twice, with an empty cache and with a filled one; both must give the same bytes."""
    seconds, result = {}, []
    for is_warm in (False, True):
        folder = fresh(ground, is_warm=is_warm)
        start = time.monotonic()
        if problem := complete(verb.argv, folder):
            raise SystemExit(f"{verb.name}: {problem}")
        seconds[is_warm] = time.monotonic() - start
        result.append(contents(folder))
        shutil.rmtree(folder.parent)
    if result[0] != result[1]:
        raise SystemExit(f"{verb.name}: two undisturbed runs differ in {differing(*result)}")
    return Reference(seconds=seconds, before=contents(ground), after=result[0])


def differing(a: dict[str, str], b: dict[str, str]) -> str:
    return ", ".join(sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))[:6])


def trial(verb: Verb, known: Reference, ground: Path, rng: random.Random, tried: Tried) -> None:
    """Stop a verb once or twice, run it to its end, and note what is not as it would have been."""
    is_warm = rng.random() < 0.5
    folder = fresh(ground, is_warm=is_warm)
    try:
        for _ in range(rng.choice((1, 1, 2))):
            how = rng.choice((*STOPPED,))
            seconds = rng.uniform(0, known.seconds[is_warm])
            pid = begin(verb.argv, folder)
            time.sleep(seconds)
            _stop(pid, how, whole_group=rng.random() < 0.5)
            code = ended(pid)
            tried.kills += 1
            tried.while_running += code == STOPPED[how]
            when = f"{verb.name}: {how.name} after {seconds:.2f} s"
            tried.problems += [f"{when}: {problem}" for problem in _left(folder, known, how, code)]
        if problem := complete(verb.argv, folder):
            tried.problems.append(f"{verb.name}: rerun refused: {problem}")
        elif unlike := differing(contents(folder), known.after):
            tried.problems.append(f"{verb.name}: the rerun differs in {unlike}")
        tried.problems += [f"{verb.name}: after the rerun, {name} is in the cache" for name in _temporary(folder)]
    finally:
        shutil.rmtree(folder.parent)


def at_places(verb: Verb, known: Reference, ground: Path, rng: random.Random, n_places: int) -> list[str]:
    """Signal a verb at places of the code that writes, spread over all that it passes; return what went wrong."""
    problems, steps = [], _steps(verb, ground, rng)
    for step, place in sorted(rng.sample(steps, min(n_places, len(steps)))):
        folder, how = fresh(ground, is_warm=True), rng.choice((*POLITE,))
        code = ended(begin(verb.argv, folder, traced=Traced(places=folder.parent / "places", at=step, how=how)))
        result = _left(folder, known, how, code)
        if problem := complete(verb.argv, folder):
            result.append(f"rerun refused: {problem}")
        elif unlike := differing(contents(folder), known.after):
            result.append(f"the rerun differs in {unlike}")
        problems += [f"{verb.name}: {how.name} at step {step}, {place}: {problem}" for problem in result]
        shutil.rmtree(folder.parent)
    return problems


def _steps(verb: Verb, ground: Path, rng: random.Random) -> list[tuple[int, str]]:
    """Return a step for each place that a verb passes, one of those at which it is there."""
    folder = fresh(ground, is_warm=True)
    traced = Traced(places=folder.parent / "places")
    if ended(begin(verb.argv, folder, traced=traced)):
        raise SystemExit(f"{verb.name}: {(folder.parent / 'said').read_text()}")
    met: dict[str, list[int]] = {}
    for step, place in enumerate(traced.places.read_text().splitlines()):
        met.setdefault(place, []).append(step)
    shutil.rmtree(folder.parent)
    return [(rng.choice(steps), place) for place, steps in met.items()]


def _left(folder: Path, known: Reference, how: signal.Signals, code: int) -> list[str]:
    """Return what a stopped verb left that is neither old nor new, and how else it did not end as it should."""
    problems = []
    for name, digest in contents(folder).items():
        is_hidden = any(part.startswith(".") for part in Path(name).parts)
        is_allowed = is_hidden and how == signal.SIGKILL  # of a killed process; the rerun removes it
        if not is_allowed and digest not in (known.before.get(name), known.after.get(name)):
            problems.append(f"{name} is neither old nor new")
    if how != signal.SIGKILL:
        text = (folder.parent / "said").read_text(errors="replace")
        if "Traceback" in text or code not in (0, -how, STOPPED[how]):  # -how: before the verb began
            problems.append(f"exit {code}: {text[-1500:]}")
        problems += [f"{name} is in the cache" for name in _temporary(folder)]
    return problems


def _temporary(folder: Path) -> list[str]:
    """Return the temporary files in the cache, and what was set aside there as damaged."""
    paths = (path.relative_to(folder) for path in (folder / CACHE).rglob("*"))
    return [str(path) for path in paths if path.suffix == ".part" or ".corrupt" in path.name]


def _stop(pid: int, how: signal.Signals, *, whole_group: bool) -> None:
    """Send a signal to a process, or to all that it began too, as a cluster does; it may have ended already."""
    try:
        if whole_group:
            os.killpg(pid, how)
        else:
            os.kill(pid, how)
    except ProcessLookupError:
        os.kill(pid, how)  # not yet waited for, so it is there; it had no group of its own


def many_writers(n_writers: int, ground: Path) -> list[str]:
    """Let many processes put a model each into one bank at once; return what was lost."""
    folder = fresh(ground, is_warm=True)
    names = [f"model-{k}" for k in range(n_writers)]
    for name in names:
        if problem := complete(_score("own.csv", f"fake:{name}", f"{name}.parquet"), folder):
            return [problem]
    pids = [begin(("bank", f"{name}.parquet", "--out", "shared"), folder) for name in names]
    problems = [f"writer {k} ended with {code}" for k, code in enumerate([ended(pid) for pid in pids]) if code]
    if problem := complete(("check", "shared"), folder):
        problems.append(problem)
    there = {path.stem for path in folder.glob("shared/scores/*/*.parquet")}
    problems += [f"{name} was lost" for name in names if name.replace("-", "_") not in there]
    shutil.rmtree(folder.parent)
    return problems


COLD = (
    ("build", "starter", "--limit", "2", "--out", "{}.parquet"),
    ("score", "starter", "--limit", "2", "--model", "fake:cold", "--out", "{}.parquet"),
    ("run", "study.toml", "--model", "fake:cold", "--out", "{}"),
)
"""What processes on an empty cache do."""


def cold_round(n_processes: int, ground: Path) -> list[str]:
    """Start processes at once on an empty cache; return what failed, differs or is left."""
    folder = fresh(ground, is_warm=False)
    names = [f"out-{k % len(COLD)}-{k}" for k in range(n_processes)]
    argvs = [[part.format(name) for part in COLD[k % len(COLD)]] for k, name in enumerate(names)]
    pids = [begin(argv, folder, f"said-{name}") for name, argv in zip(names, argvs, strict=True)]
    problems = []
    for pid, name in zip(pids, names, strict=True):
        if code := ended(pid):
            problems.append(f"{name} ended with {code}: {(folder.parent / f'said-{name}').read_text()[-800:]}")
    for kind in range(len(COLD)):
        tables = [*folder.glob(f"out-{kind}-*.parquet"), *folder.glob(f"out-{kind}-*/scores/*/*.parquet")]
        if len({hashlib.sha256(path.read_bytes()).hexdigest() for path in tables}) != 1:
            problems.append(f"{' '.join(COLD[kind])}: {len(tables)} tables differ")
    problems += [f"{name} is in the cache" for name in _temporary(folder)]
    shutil.rmtree(folder.parent)
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a verb, and everything that went wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--places", type=int, default=0, help="of each verb's code that writes; 1000 are all")
    parser.add_argument("--writers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=20, help="of ten processes on an empty cache")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="verbs, with commas between them")
    given = parser.parse_args(arguments)
    preload()
    verbs = [
        verb for verb in VERBS if given.kills + given.places and (not given.only or verb.name in given.only.split(","))
    ]
    problems = []
    with tempfile.TemporaryDirectory() as place:
        ground = Path(place) / "ground"
        make_ground(ground, verbs)
        rng = random.Random(given.seed)
        tried = {verb.name: Tried() for verb in verbs}
        known = {verb.name: undisturbed(verb, ground) for verb in verbs}
        turn = 0
        while sum(one.kills for one in tried.values()) < given.kills:
            verb = verbs[turn % len(verbs)]
            trial(verb, known[verb.name], ground, rng, tried[verb.name])
            turn += 1
        for name, one in tried.items():
            said = f"{one.kills} kills, {one.while_running} before its end, {len(one.problems)} problems"
            print(f"{name} ({known[name].seconds[True]:.1f} s): {said}", flush=True)  # noqa: T201
            problems += one.problems
        for verb in verbs if given.places else ():
            result = at_places(verb, known[verb.name], ground, rng, given.places)
            print(f"{verb.name}, at most {given.places} places: {len(result)} problems", flush=True)  # noqa: T201
            problems += result
        if given.writers:
            result = many_writers(given.writers, ground)
            print(f"{given.writers} writers of one bank: {len(result)} problems", flush=True)  # noqa: T201
            problems += result
        if given.rounds:
            result = [problem for _ in range(given.rounds) for problem in cold_round(10, ground)]
            print(f"{given.rounds} rounds of 10 processes on an empty cache: {len(result)} problems")  # noqa: T201
            problems += result
    print("\n".join(problems) or "nothing lost, every rerun accepted, every byte as undisturbed")  # noqa: T201
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
