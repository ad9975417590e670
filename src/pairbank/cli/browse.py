"""`pairbank browse`: a bank as a page in a web browser."""

from __future__ import annotations

from typing import Annotated

import typer

from pairbank.cli.console import say, status
from pairbank.errors import PairbankError


def browse(
    bank: Annotated[str, typer.Argument(help="A bank's folder, or ORG/NAME of one on the Hub.")],
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port; else the first free one from 7860.")] = None,
    host: Annotated[str, typer.Option(help="Address to serve on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a web browser.")] = False,  # noqa: FBT002
) -> None:
    """Look at a bank in a web browser: leaderboard, plots, every item. Reads only; needs no internet for a folder.

    Example: pairbank browse demo-bank
    """
    try:
        with status("opening the bank"):
            from pairbank.cards.browser.app import build_app

            app = build_app(bank)
    except ModuleNotFoundError as error:
        if error.name != "gradio":
            raise
        raise PairbankError("`pairbank browse` needs gradio; pip install 'pairbank[browse]'") from error
    try:
        _, url, _ = app.launch(server_name=host, server_port=port, prevent_thread_lock=True, quiet=True)
    except OSError as error:
        raise PairbankError(f"{host}, port {port or 'any from 7860'}: {error}; choose another with --port") from error
    say(f"{bank} on {url} (Ctrl+C stops)")
    if not no_open:
        typer.launch(url)
    app.block_thread()
