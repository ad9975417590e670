"""What several commands print: tables, reports, work done, and next steps."""

from __future__ import annotations

import contextlib
import html
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.cli.display.output import answer, hint, note, output, say
from pairbank.cli.display.progress import Work
from pairbank.errors import spelt_out
from pairbank.scoring.api.names import OUTSIDE_TOP, UNREPORTED
from pairbank.stats.wording import number, plural

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.scoring.scored import Scored
    from pairbank.stats.report.report import Report


_NO_BREAK = "\ue000"
"""Stands for a space at which a line does not end."""
PIPE_WIDTH = 160
"""Columns where no terminal says how many it has."""
MOST_PHENOMENON_LINES = 25
"""Of a table by phenomenon in the terminal; a longer one stands in the report."""
MOST_MODELS = 6
"""Whose work is told one by one."""


def console_width() -> int:
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else PIPE_WIDTH


def show(table: pd.DataFrame, *, name: str = "", whole: Sequence[str] = ()) -> None:
    from rich.console import Console

    from pairbank.cli.display.tables import lines

    if name:
        answer(**{name: table})
    if output().as_json:
        return
    width = console_width()
    for line in lines(table, width=width, whole=whole):
        Console(width=width).print(line, markup=False, highlight=False, emoji=False, soft_wrap=isinstance(line, str))


def command_line() -> str:
    """Return how this command was typed, for the card; of paths outside of the working folder only the last part."""
    arguments = []
    for argument in sys.argv[1:]:
        option, equals, value = argument.rpartition("=") if argument.startswith("-") else ("", "", argument)
        path = Path(value)
        is_elsewhere = path.is_absolute() or path.parts[:1] in (("..",), ("~",))
        arguments.append(f"{option}{equals}{path.name or '.'}" if is_elsewhere else argument)
    return shlex.join(["pairbank", *arguments])


def say_report(made: Report) -> None:
    """Print one table of a report and what it says; of one model on one corpus, its groups and agreement too."""
    from pairbank.stats.report.wide_tables import headline

    sections = [{"id": section.id, "title": section.title, "text": section.text} for section in made.sections]
    answer(results=headline(made.summary), sections=sections, warnings=[*made.warnings, *made.cautions, *made.unasked])
    answer(said=made.overview.answer)
    if not len(made.accuracy):
        say(f"\n{_without_accuracy(made.tables)}: there are scores, but no accuracy and no agreement.")
    if output().as_json:
        return
    is_single = len(made.tables) == 1
    if is_single:
        _say_groups(made)
    for section in made.sections:
        brief = section.answer or section.text.partition("\n\n")[0]
        text = brief if not is_single else section.text if brief in section.text else f"{brief}\n{section.text}"
        say("")
        _say_text(f"{section.title}: {text}", made.labels)
    if made.phenomena and len(table := made.phenomena.tables["accuracies"]) <= MOST_PHENOMENON_LINES:
        say("\nBy phenomenon")
        show(table, whole=["phenomenon"])
    table = made.overview.tables[made.overview.main_table]
    if not is_single and len(table):
        say("\nModels and corpora (95% intervals)")
        show(_labelled(table, made.labels))
    for text in (made.overview.answer, *made.cautions, *made.unasked):
        say("")
        _say_text(text, made.labels)


def _without_accuracy(tables: Sequence[Scored]) -> str:
    counts = [count for table in tables for count in (table.signature.get("n_by_flag") or {}).values()]
    flags = {flag for count in counts for flag in count}
    if OUTSIDE_TOP in flags:
        return (
            "No option of an answer is among the most probable first tokens that the API reports (flag outside_top; "
            "ask for written answers, methods that end in _free)"
        )
    if UNREPORTED in flags:
        return "The server reports no log-probability of a token in any item (flag unreported)"
    return "No item is a choice between two sides"


def _say_groups(made: Report) -> None:
    from pairbank.stats.estimates.estimate import HUMAN
    from pairbank.stats.report.overview_figures import PEOPLE

    is_accuracy = "accuracy" in made.accuracy and made.accuracy["accuracy"].astype(bool).any()
    for heading, table in (
        (f"{'Accuracy' if is_accuracy else 'Scores'} (95% intervals)", made.accuracy),
        ("Agreement with direct and with people (95% intervals)", made.agreement),
    ):
        if table.empty:
            continue
        say(f"\n{heading}")
        show(_labelled(table.drop(columns=["model", "notes"]), {HUMAN: PEOPLE, **made.labels}), whole=["method"])


def _labelled(table: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    cells = {name: table[name].replace(dict(labels)) for name in ("method", "versus") if name in table}
    return table.assign(**cells).rename(columns=labels)


def _say_text(text: str, labels: Mapping[str, str]) -> None:
    """Print paragraphs of a page as a terminal shows them: without marks of Markdown, in lines of its width."""
    from pairbank.stats.report.page import in_words

    for paragraph in html.unescape(in_words(text, labels)).replace("**", "").splitlines():
        for line in _fitted(paragraph) or [""]:
            say(line)


def _fitted(text: str) -> list[str]:
    """Return a paragraph in lines of the terminal, no interval broken; as it is where there is no terminal."""
    from rich.console import Console

    from pairbank.cli.display.tables import folded

    console = Console()
    if not console.is_terminal:
        return [text]
    whole = re.sub(r"\[[^\]]*\]", lambda interval: interval[0].replace(" ", _NO_BREAK), text)
    return [line.replace(_NO_BREAK, " ") for line in folded(whole, console.width, hanging="")]


def say_work(work: Work) -> None:
    """Say on the standard error how much was computed, and what sharing saved (causal models count it)."""
    if len(work) > MOST_MODELS:
        counted = [stats for stats in work.values() if stats is not None and stats.n_computed_tokens]
        tokens, seconds = (sum(getattr(stats, key) for stats in counted) for key in ("n_computed_tokens", "seconds"))
        spent = f"{tokens:,} tokens computed by {len(counted)} of them in {number(seconds, digits=1)} s"
        note(f"{len(work)} models: {spent}")
        return
    for model, stats in work.items():
        if stats is None:
            done = "scored (its tokens are not counted)"
        elif stats.n_computed_tokens:
            done = (
                f"{stats.n_computed_tokens:,} tokens computed for {stats.n_sequence_tokens:,} asked "
                f"({number(stats.sharing, digits=1)}x shared) in {number(stats.seconds, digits=1)} s, "
                f"{number(stats.n_computed_tokens / stats.seconds, digits=0)} tokens/s"
            )
        elif stats.seconds:
            done = f"answered in {number(stats.seconds, digits=1)} s (tokens are not counted)"
        else:
            done = "nothing to compute, every number was in the store"
        note(f"{model}: {done}")


def say_next_steps(folder: Path) -> None:
    import pyarrow.parquet as pq

    paths = sorted(folder.glob("scores/*/*.parquet"))
    answer(bank=folder, scores=paths)
    if not paths:
        return
    path, place = paths[0], shlex.quote(str(folder))
    load = f"load_dataset({str(folder)!r}, {path.parent.name + '_scored'!r}, split={path.stem!r})"
    corpora = {path.parent.name: pq.ParquetFile(path).metadata.num_rows for path in paths}
    models = sorted({path.stem for path in paths})
    items = ", ".join(f"{n:,} items of {name}" for name, n in corpora.items())
    more = f" and {plural(len(models) - 3, 'more model')}" if len(models) > 3 else ""
    say(f"\n{folder}: {items}, scored by {', '.join(models[:3])}{more}.")
    hint("Try next:")
    hint(f"  pairbank browse {place}")
    hint(f"  pairbank site {place} --out site")
    hint(f"  pairbank report {place}{' --analysis comparisons' if len(models) > 1 else ''} --out report")
    hint(f"  pairbank report {shlex.quote(str(path))} --wrong 10")
    hint(f'  python -c "from datasets import load_dataset; print({load}[0])"')


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    from rich.console import Console
    from rich.markup import escape

    if output().quiet:
        yield
        return
    with Console(stderr=True).status(escape(spelt_out(text))):
        yield
