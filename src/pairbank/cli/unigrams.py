"""`pairbank unigrams`: token counts of some text, for the linking functions that need them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from pairbank.cli.display.console import quiet_bars
from pairbank.cli.display.output import answer, hint, output, say
from pairbank.cli.options import DataDir

if TYPE_CHECKING:
    from pairbank.scoring.methods.documents import Documents
    from pairbank.scoring.methods.unigrams import Unigrams


def unigrams(
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Text files (one document per line), .jsonl or .parquet files.", show_default=False),
    ] = None,
    model: Annotated[str, typer.Option(help="demo, a folder, or a Hub id; only its tokenizer is used.")] = "demo",
    dataset: Annotated[str | None, typer.Option(help="Read a Hub dataset, or its folder, instead of files.")] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Read the sentences of a corpus instead of files (for a trial).")
    ] = None,
    config: Annotated[str | None, typer.Option(help="The dataset's config.")] = None,
    split: Annotated[str, typer.Option(help="The dataset's split.")] = "train",
    revision: Annotated[str | None, typer.Option(help="The dataset's commit, tag or branch.")] = None,
    streaming: Annotated[bool, typer.Option(help="Stream the dataset instead of downloading it.")] = True,  # noqa: FBT002
    column: Annotated[str, typer.Option(help="The column of the text in .jsonl, .parquet and datasets.")] = "text",
    document: Annotated[str, typer.Option(help="Document unit in text files: line or file.")] = "line",
    n_docs: Annotated[int | None, typer.Option(min=1, help="Maximum number of documents.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the text (BCP-47 tag). [default: the corpus's, else en]")
    ] = None,
    smoothing: Annotated[float, typer.Option(help="k of p = (count + k) / (n + k·vocabulary); above 0.")] = 1.0,
    data_dir: DataDir = None,
) -> None:
    """Count tokens in a text with a model's tokenizer, for slor and bayes_unigram.

    The counts of Hu et al. 2026 are those of one million documents of FineWeb:

    pairbank unigrams --dataset HuggingFaceFW/fineweb --config sample-10BT --n-docs 1000000 --model gpt2 --out u.parquet

    Example: pairbank unigrams my_text.txt --model demo --out unigrams.parquet
    """
    from pairbank.scoring.methods.documents import documents_of_dataset, documents_of_files

    if document not in ("line", "file"):
        raise typer.BadParameter(f"{document!r}: expected line or file")
    if sum(given is not None for given in (files or None, dataset, corpus)) != 1:
        raise typer.BadParameter("give files, or --dataset, or --corpus: one of them")
    with quiet_bars():
        if dataset is not None:
            texts = documents_of_dataset(
                dataset,
                config=config,
                split=split,
                column=column,
                revision=revision,
                streaming=streaming,
                n_documents=n_docs,
            )
        elif corpus is not None:
            texts = _sentences(corpus, data_dir, language)
        else:
            plain = cast("Literal['line', 'file']", document)
            texts = documents_of_files(files or [], column=column, plain_text=plain, n_documents=n_docs)
        table = _counted(texts, model, smoothing, language)
    seen = int((table.counts > 0).sum())
    table.save(out)
    answer(out=out, n_tokens=table.n_tokens, n_documents=table.n_documents, languages=table.languages, n_seen=seen)
    say(
        f"{out}: {table.n_tokens:,} tokens of {table.n_documents:,} documents in {', '.join(table.languages)}; "
        f"{seen:,} of {table.n_vocabulary:,} tokens of {table.tokenizer} seen"
    )
    hint(f"  pairbank score CORPUS --model {model} -m direct -m slor --unigrams {out} --out scored.parquet")


def _sentences(corpus: str, data_dir: Path | None, language: str | None) -> Documents:
    import pairbank
    from pairbank.scoring.methods.documents import documents_of_items

    return documents_of_items(pairbank.load_corpus(corpus, data_dir=data_dir, language=language))


def _counted(texts: Documents, model: str, smoothing: float, language: str | None) -> Unigrams:
    """Count, with a line that says how far it is."""
    from rich.console import Console

    from pairbank.scoring.methods.unigrams import count_unigrams

    n_done = 0
    with Console(stderr=True, quiet=output().quiet).status("counting tokens") as line:

        def tell(n_documents: int) -> None:
            nonlocal n_done
            n_done += n_documents
            line.update(f"counting tokens: {n_done:,} documents")

        return count_unigrams(texts, model, smoothing=smoothing, language=language, progress=tell)
