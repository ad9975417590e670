"""The command line, one command a public verb; a module a group of commands.

Results go to the standard output, progress and errors to the standard error. An error of pairbank's own is one
message and exit code 1, no traceback.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from pairbank.cli import browse, corpora, methods, minimalness, neuro, new, plan, publishing, results, scoring, unigrams
from pairbank.errors import PairbankError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A bank of linguistic judgment items and of what language models say about them.",
)


@app.callback()
def _root(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is being done.")] = False,  # noqa: FBT002
) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s", stream=sys.stderr)


_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Data": (corpora.corpora, corpora.build, minimalness.minimalness),
    "Scoring": (scoring.score, scoring.import_, neuro.neuro, unigrams.unigrams, scoring.bench, plan.plan),
    "Results": (results.run, results.report, results.bank, browse.browse),
    "Publishing": (publishing.check, publishing.publish, publishing.merge, publishing.strip),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(_command.__name__.rstrip("_"), rich_help_panel=_panel)(_command)
app.add_typer(methods.app, name="methods", rich_help_panel="Scoring")
app.add_typer(new.app, name="new", rich_help_panel="Data")


def main() -> None:
    """Run the command line; pairbank's own errors end it with one message and exit code 1."""
    try:
        app()
    except PairbankError as error:
        sys.stderr.write(f"pairbank: {error}\n")
        raise SystemExit(1) from None
