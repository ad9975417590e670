"""`pairbank words`: the surprisal of every word of some texts."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from pairbank.cli.display.console import quiet_bars, status
from pairbank.cli.display.output import answer, hint, say
from pairbank.cli.display.tables import show
from pairbank.cli.options import Models, takes_model_options
from pairbank.cli.scoring import load
from pairbank.files import sha256_of_file, write_json
from pairbank.scoring.models.options import LoadOptions

_INPUT = "Your file"
N_SHOWN = 12


@takes_model_options
def words(
    file: Annotated[Path, typer.Argument(help="Text file (one text per line), or .csv, .tsv, .parquet.")],
    out: Annotated[Path, typer.Option(help="Table to write: .csv, .tsv, .parquet or .jsonl.")],
    model: Models = None,
    lags: Annotated[int, typer.Option(min=0, help="Preceding words whose surprisal and length to add.")] = 0,
    top: Annotated[int, typer.Option(min=0, help="Number of most probable next tokens to list.")] = 0,
    language: Annotated[str, typer.Option(metavar="TAG", help="Language of the texts (BCP-47 tag).")] = "en",
    text: Annotated[
        str | None, typer.Option(help="Column of the text. [default: text or sentence]", rich_help_panel=_INPUT)
    ] = None,
    word: Annotated[
        str | None, typer.Option(help="Column of the word, if a row is a word.", rich_help_panel=_INPUT)
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Column that names the text of a row.", rich_help_panel=_INPUT)
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="Column of the region, with --word.", rich_help_panel=_INPUT)
    ] = None,
    join: Annotated[
        Path | None, typer.Option(help="Table of reading times; its rows get the columns of their words.")
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="ID,WORD", help="Its columns of the text and of the word or its number.")
    ] = "item,word",
    window: Annotated[
        int | None, typer.Option(min=4, help="Longest sequence in tokens. [default: the model's]")
    ] = None,
    *,
    uncorrected: Annotated[
        bool, typer.Option("--uncorrected", help="Sums of tokens, without the probability that the word ends.")
    ] = False,
    options: LoadOptions,
) -> None:
    """Compute the surprisal of each word.

    Words are separated by spaces; {braces} mark regions. Each row has the word's surprisal in bits, its tokens and
    rank, and the entropy before it. docs/words.md shows how to add reading times.

    Example: pairbank words my_text.txt --model demo --out words.csv
    """
    import pandas as pd

    from pairbank.scoring.word_files import joined, read_table, read_texts, write_table
    from pairbank.scoring.words import words as words_of

    names = by.split(",")
    if len(names) != 2:
        raise typer.BadParameter(f"--by {by!r}: expected two columns, as in --by item,word")
    texts = read_texts(file, text=text, word=word, text_id=id_, region=region, language=language)
    times = None if join is None else read_table(join)
    found, signatures = [], []
    with quiet_bars():
        for name in model or ["demo"]:
            scorer = load(name, **options)
            with status(f"reading {len(texts):,} texts with {scorer.info.name}"):
                found.append(
                    words_of(
                        texts,
                        scorer,
                        language=language,
                        lags=lags,
                        top=top,
                        correct=not uncorrected,
                        window_tokens=window,
                    )
                )
            signatures.append(scorer.info.to_dict())
    table = pd.concat(found, ignore_index=True)
    if times is not None and join is not None:
        table = joined(table, times, by=(names[0].strip(), names[1].strip()), path=join)
    write_table(out, table)
    facts = {"lags": lags, "top": top, "language": language, "corrected": not uncorrected, "window_tokens": window}
    made = {"pairbank": version("pairbank"), "file_sha256": sha256_of_file(file), "models": signatures, **facts}
    write_json(out.with_name(f"{out.stem}.signature.json"), made)
    shown = ["model", "text_id", "word", "n_tokens", "surprisal_bits", "rank", "entropy_bits"]
    show(table[[name for name in shown if name in table]].head(N_SHOWN).round(2), name="first_words")
    answer(out=out, n_words=len(table), models=[one["name"] for one in signatures])
    n_unscored = int(table["surprisal_bits"].isna().sum())
    without = f"; {n_unscored:,} without a value" if n_unscored else ""
    say(f"{out}: {len(table):,} rows, {len(texts):,} texts{without}")
    hint(f"\nIn R: d <- read.csv({json.dumps(out.name)})")
