"""Arguments that several commands share, and how their text becomes values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder with upstream files, or a root with one folder a corpus.")
]
Methods = Annotated[list[str], typer.Option("--method", "-m", help="direct, or a prompt's id; may be repeated.")]
Prompts = Annotated[
    list[Path] | None, typer.Option("--prompts", help="TOML file with prompts of your own; may be repeated.")
]
Models = Annotated[list[str], typer.Option("--model", help="demo, a folder, or a Hub id; may be repeated.")]
Limit = Annotated[int | None, typer.Option(min=1, help="At most this many items of each paradigm.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Your file's column for a schema column: target_good=NAME; may be repeated."),
]
Subset = Annotated[str | None, typer.Option(help="Only this subset (for BLiMP: a paradigm).")]
Language = Annotated[str | None, typer.Option(help="Only this language (BCP-47); for your own file: its language.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, mps, cuda:1 …")]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16 …")]


def column_map(pairs: list[str] | None) -> dict[str, str] | None:
    """Return `--column` options as a mapping from schema columns to the file's."""
    if not pairs:
        return None
    if bad := [pair for pair in pairs if "=" not in pair]:
        raise typer.BadParameter(f"{bad[0]!r}: expected SCHEMA_COLUMN=YOUR_COLUMN, as in target_good=Sentence")
    return dict(pair.split("=", 1) for pair in pairs)


def licences(pairs: list[str] | None) -> dict[str, str]:
    """Return `--licence` options as a mapping from corpora to licences."""
    if bad := [pair for pair in pairs or () if "=" not in pair]:
        raise typer.BadParameter(f"{bad[0]!r}: expected CORPUS=LICENCE, as in my_pairs=cc-by-4.0")
    return dict(pair.split("=", 1) for pair in pairs or ())
