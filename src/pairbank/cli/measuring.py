"""Commands that measure texts and write a table: `unigrams`, `minimalness`, `neuro`, `words` and `participants`."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import pairbank
from pairbank.cli.display.console import show, status
from pairbank.cli.display.output import answer, hint, output, say
from pairbank.cli.display.progress import bars
from pairbank.cli.loading import load
from pairbank.cli.options import CorpusName, DataDir, Device, Dtype, ItemOptions, Models, OverLength, corpora_named
from pairbank.errors import BankError
from pairbank.files import reading, replaced_atomically, sha256_of_file, write_json
from pairbank.scoring.models.options import LoadOptions
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.methods.documents import Documents
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
_input = functools.partial(typer.Option, rich_help_panel="Your file")
N_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    dataset: Annotated[str | None, "Read a Hub dataset, or its folder, instead of files."] = None
    corpus: Annotated[str | None, "Read the sentences of a corpus instead of files (for a trial)."] = None
    config: Annotated[str | None, "The dataset's config."] = None
    split: Annotated[str, "The dataset's split."] = "train"
    revision: Annotated[str | None, "The dataset's commit, tag or branch."] = None
    streaming: Annotated[bool, "Stream the dataset instead of downloading it."] = True
    column: Annotated[str, "The column of the text in .jsonl, .parquet and datasets."] = "text"
    document: Annotated[Literal["line", "file"], "Document unit in text files: line or file."] = "line"
    n_docs: Annotated[int | None, typer.Option(min=1, help="Maximum number of documents.")] = None
    language: Annotated[str | None, "Language of the text (BCP-47 tag). [default: the corpus's, else en]"] = None
    data_dir: DataDir = None

    def documents(self, files: list[Path]) -> Documents:
        from pairbank.scoring.methods.documents import documents_of_dataset, documents_of_files, documents_of_items

        if sum(provided is not None for provided in (files or None, self.dataset, self.corpus)) != 1:
            raise typer.BadParameter("give files, or --dataset, or --corpus: one of them")
        if self.dataset is not None:
            named = {key: getattr(self, key) for key in ("config", "split", "column", "revision", "streaming")}
            return documents_of_dataset(self.dataset, n_documents=self.n_docs, **named)
        if self.corpus is not None:
            items = pairbank.load_corpus(self.corpus, data_dir=self.data_dir, language=self.language)
            return documents_of_items(items)
        return documents_of_files(files, column=self.column, plain_text=self.document, n_documents=self.n_docs)


def unigrams(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Text files (one document per line), .jsonl or .parquet files.")
    ] = None,
    *,
    out: Annotated[Path, "Parquet file to write."],
    model: Annotated[str, "demo, a folder, or a Hub id; only its tokenizer is used."] = "demo",
    text: TextOptions,
    smoothing: Annotated[float, "k of p = (count + k) / (n + k·vocabulary); above 0."] = 1.0,
) -> None:
    """Count tokens in a text with a model's tokenizer, for slor and bayes_unigram.

    The counts of Hu et al. 2026 are those of one million documents of FineWeb:

    pairbank unigrams --dataset HuggingFaceFW/fineweb --config sample-10BT --n-docs 1000000 --model gpt2 --out u.parquet

    Example: pairbank unigrams my_text.txt --model demo --out unigrams.parquet
    """
    from rich.console import Console

    from pairbank.scoring.methods.unigrams import count_unigrams

    documents, n_done = text.documents(files or []), 0
    with Console(stderr=True, quiet=output().quiet).status("counting tokens") as line:

        def on_progress(n_documents: int) -> None:
            nonlocal n_done
            n_done += n_documents
            line.update(f"counting tokens: {n_done:,} documents")

        table = count_unigrams(documents, model, smoothing=smoothing, language=text.language, progress=on_progress)
    seen = int((table.counts > 0).sum())
    table.save(out)
    answer(out=out, n_tokens=table.n_tokens, n_documents=table.n_documents, languages=table.languages, n_seen=seen)
    say(
        f"{out}: {table.n_tokens:,} tokens of {table.n_documents:,} documents in {', '.join(table.languages)}; "
        f"{seen:,} of {table.n_vocabulary:,} tokens of {table.tokenizer} seen"
    )
    hint(f"  pairbank score CORPUS --model {model} -m direct -m slor --unigrams {out} --out scored.parquet")


def minimalness(
    corpus: Annotated[
        str, typer.Argument(help="A corpus, your own file, or a scored file.", autocompletion=corpora_named)
    ],
    *,
    out: Annotated[Path, "Parquet file to write: the items with the new columns."],
    model: Annotated[str | None, "sentence-transformers model: a folder or Hub id; default all-MiniLM-L6-v2."] = None,
    edits_only: Annotated[bool, "Compute only edit_distance; needs no model."] = False,
    which: ItemOptions,
    device: Device = "auto",
    over_length: Annotated[OverLength, "Sentences longer than the model's context: error, or nan."] = "error",
) -> None:
    """Add edit_distance and cosine_distance between the sides of each item (Hu et al. 2026).

    A scored file keeps its scores and its signature.

    Example: pairbank minimalness starter --out starter.parquet
    """
    from pairbank.scoring.minimalness import COLUMNS, add_edit_distance
    from pairbank.scoring.scored import Scored, read_scored

    with status(f"reading {corpus}"):
        items: datasets.Dataset | Scored = read_scored(corpus) if _is_scored(corpus) else which.load(corpus)
        created: datasets.Dataset | Scored = (
            add_edit_distance(items)
            if edits_only
            else pairbank.add_minimalness(items, model, device=device, over_length=over_length)
        )
        if isinstance(created, Scored):
            created.save(out)
        else:
            with replaced_atomically(out) as temporary:
                created.to_parquet(str(temporary))
    measured = created.dataset if isinstance(created, Scored) else created
    names = [name for name in COLUMNS[:2] if name in measured.column_names]
    table = measured.select_columns(names).to_pandas().quantile([0, 0.25, 0.5, 0.75, 1]).round(4)
    show(table.reset_index(names="quantile"), name="quantiles")
    answer(out=out, n_items=len(created))
    say(f"{out}: {len(created):,} items")


def _is_scored(name: str) -> bool:
    import pyarrow.parquet as pq

    from pairbank.scoring.signature import METADATA_KEY

    path = Path(name)
    if path.suffix != ".parquet" or not path.is_file():
        return False
    with reading(path, BankError, saying="not a readable parquet file"):
        return METADATA_KEY in (pq.read_schema(path).metadata or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    group: Annotated[list[str] | None, "Column that defines the groups to probe, or all; repeatable."] = None
    precision: Annotated[Literal["float32", "float16"], "Precision of the stored states: float32 or float16."] = (
        "float32"
    )
    folds: Annotated[
        Literal["grouped", "plain"], "grouped: no sentence on both sides of a split; plain: at random."
    ] = "grouped"
    cut_stop: Annotated[
        bool, typer.Option("--cut-stop/--keep-stop", help="Read sentences without their final punctuation mark.")
    ] = False
    standardise: Annotated[
        bool, typer.Option("--standardise/--as-they-are", help="Standardise the states, or probe them as they are.")
    ] = True
    seed: Annotated[int, typer.Option(min=0, help="Seed for folds and control labels.")] = 0


def neuro(
    corpus: CorpusName,
    *,
    out: Annotated[Path, "Folder for the tables per layer and per group."],
    model: Annotated[str, "demo, a folder, or a Hub id."] = "demo",
    which: ItemOptions,
    how: ProbeOptions,
    device: Device = "auto",
    dtype: Dtype = "auto",
) -> None:
    """Probe every layer's hidden states for the acceptable sentence of each pair (He et al. 2025).

    Five folds; no sentence or pair is on both sides of a split (--folds plain: at random). Prints F1, its interval
    and a control task. Default: one probe per subset. The authors' laboratory: --cut-stop --as-they-are --folds plain.

    Example: pairbank neuro starter --model demo --out neuro
    """
    options = asdict(how)
    groups = options.pop("group") or ["subset"]
    with status(f"building {corpus}"):
        items = which.load(corpus)
    scorer = load(model, device=device, dtype=dtype, bos="auto")
    with bars({}) as bar:
        bar_of = functools.cache(lambda task: bar(task, scorer.info.name))
        probed = pairbank.probe(
            items,
            scorer,
            groups=groups[0] if len(groups) == 1 else groups,
            progress=lambda task, n_done, n_total: bar_of(task)(n_done, n_total),
            **options,
        )
    show(_headline(probed), name="probes", whole=["group"])
    say("f1: best layer (optimistic). f1_chosen: layer chosen by the other folds. control: labels exchanged at random.")
    folder = probed.save(out)
    answer(out=folder)
    say(f"{folder}/neuro_summary.csv, neuro_layers.parquet")


def _headline(probed: Probed) -> pd.DataFrame:
    """Return a row a group: F1 of the paper, its layer, the honest one, the control's."""
    names = ["f1", "f1_layer", "f1_chosen", "f1_control", "accuracy"]
    table = probed.summary[probed.summary["metric"].isin(names)].copy()
    table["group"] = table["group"].where(table["group"] != "", "(mean)" if table["group"].nunique() > 1 else "(all)")
    wide = table.pivot_table(index="group", columns="metric", values="value", sort=False, dropna=False)[names]
    pairs = table[table["metric"] == "f1"].set_index("group")["n"]
    shown = wide.round(3).astype(object)
    shown["f1_layer"] = [number(layer, digits=0) if layer == layer else "" for layer in wide["f1_layer"]]  # noqa: PLR0124 - NaN
    shown.insert(0, "pairs", pairs)
    return shown.reset_index()


@dataclass(frozen=True, slots=True, kw_only=True)
class WordOptions:
    lags: Annotated[
        int | None, typer.Option(min=0, help="Preceding words to add. [default: 2 with --join, else 0]")
    ] = None
    top: Annotated[int, typer.Option(min=0, help="Number of most probable next tokens to list.")] = 0
    language: Annotated[str, typer.Option(metavar="TAG", help="Language of the texts (BCP-47 tag).")] = "en"
    text: Annotated[str | None, _input(help="Column of the text. [default: text or sentence]")] = None
    word: Annotated[str | None, _input(help="Column of the word, if a row is a word.")] = None
    id_: Annotated[str | None, _input(help="Column that names the text of a row.")] = None
    number: Annotated[
        str | None,
        _input(
            metavar="COLUMN",
            help="Column that numbers the words of a text; of several rows with one number, the first is read.",
        ),
    ] = None
    region: Annotated[str | None, _input(help="Column of the region, with --word.")] = None
    encoding: Annotated[str | None, _input(help="Encoding of your file if it is not UTF-8: cp1252, utf-16-le …")] = None
    join: Annotated[Path | None, "Table of reading times; its rows get the columns of their words."] = None
    by: Annotated[
        str, typer.Option(metavar="ID,WORD", help="Its columns of the text, and of the word's number, word or region.")
    ] = "item,word"
    window: Annotated[int | None, typer.Option(min=4, help="Longest sequence in tokens. [default: the model's]")] = None
    uncorrected: Annotated[bool, "Sums of tokens, without the probability that the word ends."] = False


def words(
    file: Annotated[Path, "Text file (one text per line), or .csv, .tsv, .parquet."],
    *,
    out: Annotated[Path, "Table to write: .csv, .tsv, .parquet or .jsonl."],
    model: Models = None,
    how: WordOptions,
    options: LoadOptions,
) -> None:
    """Compute the surprisal of each word.

    Words are separated by spaces; {braces} mark regions. Each row has the word's surprisal in bits, its tokens and
    rank, and the entropy before it. docs/words.md shows how to add reading times.

    Example: pairbank words my_text.txt --model demo --out words.csv
    """
    import pandas as pd

    from pairbank.scoring.word_files import joined, numbers_words, read_table, read_texts, write_table
    from pairbank.scoring.words import words as words_of

    of_text, comma, of_word = map(str.strip, how.by.rpartition(","))
    if not comma:
        raise typer.BadParameter(
            f"--by {how.by!r}: expected the columns of the text and of the word, as in --by item,word"
        )
    by, number = (of_text, of_word), how.number
    if number is None and how.join and how.word and numbers_words(file, by[1], encoding=how.encoding):
        number = by[1]
    texts = read_texts(
        file,
        text=how.text,
        word=how.word,
        text_id=how.id_,
        number=number,
        region=how.region,
        language=how.language,
        encoding=how.encoding,
    )
    times = None if how.join is None else read_table(how.join, encoding=how.encoding)
    lags = 2 * (times is not None) if how.lags is None else how.lags
    facts: dict[str, Any] = {"lags": lags, "top": how.top, "language": how.language, "window_tokens": how.window}
    tables, models = [], []
    for name in model or ["demo"]:
        scorer = load(name, **options)
        with status(f"reading {len(texts):,} texts with {scorer.info.name}"):
            tables.append(words_of(texts, scorer, correct=not how.uncorrected, **facts))
        models.append(scorer.info.to_dict())
    table = pd.concat(tables, ignore_index=True)
    if times is not None and how.join is not None:
        table = joined(table, times, by=by, path=how.join, word=how.word)
    write_table(out, table)
    facts |= {"corrected": not how.uncorrected, "file_sha256": sha256_of_file(file), "models": models}
    write_json(out.with_name(f"{out.stem}.signature.json"), facts | {"pairbank": version("pairbank")})
    shown = ["model", "text_id", "word", "n_tokens", "surprisal_bits", "rank", "entropy_bits"]
    show(table[[name for name in shown if name in table]].head(N_SHOWN).round(2), name="first_words")
    answer(out=out, n_words=len(table), models=[info["name"] for info in models])
    n_unscored = int(table["surprisal_bits"].isna().sum())
    without = f"; {n_unscored:,} without a value" if n_unscored else ""
    say(f"{out}: {len(table):,} rows, {len(texts):,} texts{without}")
    hint(f"\nIn R: d <- read.csv({json.dumps(out.name)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    most: Annotated[
        int | None, typer.Option("--participants", min=1, metavar="N", help="Only the first N participants.")
    ] = None
    instructions: Annotated[str, "Text at the beginning of a session. [default: a sentence that fits the scale]"] = ""
    window: Annotated[int | None, typer.Option(min=32, help="Longest session in tokens. [default: the model's]")] = None


def participants(
    corpus: CorpusName,
    *,
    out: Annotated[Path, "Table to write: .csv, .tsv, .parquet or .jsonl."],
    model: Models = None,
    which: ItemOptions,
    how: SessionOptions,
    options: LoadOptions,
) -> None:
    """Compute the log-likelihood of each participant's responses, given their session so far.

    Needs a corpus with individual ratings. Each session is one text, as in Psych-101 (Binz et al. 2025). Interrupt it
    at any time; rerunning resumes. docs/participants.md explains the columns and the report.

    Example: pairbank participants sprouse-2016 --model gpt2 --out participants.parquet
    """
    import pandas as pd

    from pairbank.scoring.participants import participants as participants_of
    from pairbank.scoring.word_files import write_table

    with status(f"building {corpus}"):
        items = which.load(corpus)
        ratings = which.trials(corpus)
    facts: dict[str, Any] = {"instructions": how.instructions, "window_tokens": how.window}
    tables, models = [], []
    for name in model or ["demo"]:
        scorer = load(name, **options)
        with bars({}) as bar:
            notify = bar("participants", scorer.info.name)
            tables.append(participants_of(items, ratings, scorer, most=how.most, progress=notify, **facts))
        models.append(scorer.info.to_dict())
    table = pd.concat(tables, ignore_index=True)
    write_table(out, table)
    facts |= {"pairbank": version("pairbank"), "corpus": corpus, "models": models}
    write_json(out.with_name(f"{out.stem}.signature.json"), facts)
    means = table.groupby("model", sort=False)[["loglik_nats", "alone_nats"]].mean().round(3).reset_index()
    show(means, name="mean_loglik")
    answer(out=out, n_responses=len(table), n_participants=int(table["rater"].nunique()))
    say(f"{out}: {len(table):,} responses of {table['rater'].nunique():,} participants")
    hint(f"  pairbank report {out} --out report")
