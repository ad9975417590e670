"""The command line, one command a public verb; a module a group of commands.

Results go to the standard output, progress and errors to the standard error. An error of pairbank's own is one
message and exit code 1, no traceback.
"""

from __future__ import annotations

import atexit
import gc
import io
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from pairbank.cli import measuring, models, new, plan, publishing, registries, results, scoring
from pairbank.cli.command import Group, add_command
from pairbank.errors import PairbankError, spelt_out

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A bank of linguistic judgment items and of what language models say about them.",
)
NO_BARS = ("TQDM_DISABLE", "HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS")
"""Libraries' bars are a line per tensor in a log: ours show what goes on."""


def _say_version(asked: bool) -> None:  # noqa: FBT001 - typer's callback
    if asked:
        typer.echo(f"pairbank {version('pairbank')}")
        raise typer.Exit


@app.callback()
def _root(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what pairbank does.")] = False,  # noqa: FBT002
    _version: Annotated[  # noqa: FBT002
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    if os.environ.get("RANK", "0") != "0":  # torchrun runs the command in several processes; the first one speaks
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end


class _Plain(logging.Formatter):
    """A log line that quotes names and texts of others, which give the terminal no orders."""

    def format(self, record: logging.LogRecord) -> str:
        return spelt_out(super().format(record))


_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Data": (registries.corpora, registries.build, registries.ratings, measuring.minimalness),
    "Scoring": (
        scoring.score,
        scoring.import_,
        scoring.cut,
        measuring.neuro,
        measuring.unigrams,
        measuring.words,
        measuring.participants,
        plan.compare_engines,
        models.models,
        plan.plan,
    ),
    "Results": (results.run, results.report, results.leaderboard, results.bank, publishing.browse, publishing.site),
    "Publishing": (
        publishing.check,
        publishing.export,
        publishing.publish,
        publishing.merge,
        publishing.strip,
        publishing.remove,
        publishing.submit,
        publishing.review,
        publishing.withdraw,
        publishing.build_store,
        publishing.fetch,
    ),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        add_command(app, _command, panel=_panel, as_json=_command is not publishing.browse)
app.add_typer(registries.app, name="methods", rich_help_panel="Scoring")
app.add_typer(new.app, name="new", rich_help_panel="Data")


def main() -> None:
    """Run the command line; our errors and the operating system's end it with one message and exit code 1.

    SIGTERM (of `scancel`, `docker stop`) is taken as Ctrl+C: locks and temporary files are removed; exit code 143.
    """
    gc.set_threshold(20_000, 50, 100)  # what is imported stays: to look for garbage in it took a fifth of a start
    atexit.register(gc.freeze)  # nor at the end, where Python looks again: a quarter of a command without a model
    if sys.platform == "linux":  # its memory goes back to the system: tables are read one after the other
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    os.environ.update({**dict.fromkeys(NO_BARS, "1"), **os.environ})
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that its encoding lacks must not end a command
            stream.reconfigure(errors="backslashreplace")
    terminated = _terminable()
    if hasattr(signal, "pthread_kill"):  # Windows has none
        sys.unraisablehook = _interrupted_again
    try:
        app()
    except (SystemExit, KeyboardInterrupt) as end:
        _finish_blocks(end)
        if terminated():
            raise SystemExit(128 + signal.SIGTERM) from None
        if isinstance(end, KeyboardInterrupt):
            raise SystemExit(128 + signal.SIGINT) from None
        raise
    except PairbankError as error:
        _end_with(str(error))
    except OSError as error:
        description = f"{error.filename}: " if error.filename else ""
        _end_with(f"{description}{error.strerror or error}; check the place, and run it again")


def _finish_blocks(end: BaseException | None) -> None:
    """Let go of what an exception holds: a context manager that Ctrl+C met before its block began cleans up then."""
    while end is not None:
        traceback.clear_frames(end.__traceback__)
        end = end.__context__


def _terminable() -> Callable[[], bool]:
    """Make SIGTERM interrupt this process, once; return whether it has."""
    process, received = os.getpid(), []

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getpid() != process:  # a child that inherited this
            signal.raise_signal(number)
        received.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    return lambda: bool(received)


def _interrupted_again(fault: sys.UnraisableHookArgs) -> None:
    """Interrupt once more where Ctrl+C or SIGTERM met a callback in which Python drops exceptions."""
    if issubclass(fault.exc_type, KeyboardInterrupt):
        thread = threading.main_thread().ident or 0
        threading.Timer(0.01, signal.pthread_kill, (thread, signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(fault)


def _end_with(message: str) -> NoReturn:
    message = re.sub(r"\S{400,}", lambda word: f"{word[0][:200]} …", message)  # a value of a damaged file
    sys.stderr.write(f"pairbank: {spelt_out(message)}\n")
    raise SystemExit(1) from None
