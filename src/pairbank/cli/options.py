"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import pairbank
from pairbank.cli.display.progress import Downloads

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.corpora.tabular_items import TabularOptions

which = partial(typer.Option, rich_help_panel="Which items")
own = partial(typer.Option, rich_help_panel="A file of your own")
more = partial(typer.Option, rich_help_panel="More ways of scoring")

DataDir = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Folder with the corpus files, or a root with one folder per corpus."),
]

UnigramFiles = Annotated[
    list[Path] | None, more(help="Token counts from `pairbank unigrams`; repeatable, one file per tokenizer.")
]
ProbeText = Annotated[
    Path | None, more(help="Sentences that probe_grammar learns from, one per line. [default: shipped ones]")
]
Prompts = Annotated[list[Path] | None, "TOML file with your own prompts; repeatable."]
Models = Annotated[
    list[str] | None,
    typer.Option(help="demo, a folder, or a Hub id (ID@REVISION for a revision); repeatable. [default: demo]"),
]
Limit = Annotated[
    int | None, which(min=1, help="Maximum number of items per paradigm, or per phenomenon without paradigms.")
]
Subset = Annotated[str | None, which(help="Only this subset (for BLiMP: a paradigm).")]
Columns = Annotated[
    list[str] | None,
    own(
        metavar="NAME=COLUMN", help="Your column for a schema column: target_good=NAME, human_good=NAME …; repeatable."
    ),
]
OverLength = Literal["error", "nan"]
Bom = Annotated[bool, "Start .csv and .tsv files with a byte-order mark, for Excel."]
Device = Annotated[str, "auto, cpu, cuda, mps, cuda:1 …"]
Dtype = Annotated[str, "auto, float32, bfloat16 …"]


def corpora_named(start: str) -> list[str]:
    from pairbank.builders.corpora.registry import CORPORA

    return [name for name in CORPORA if name.startswith(start)]


def studies_named(start: str) -> list[str]:
    from pairbank.study.declaration import study_names

    return [name for name in study_names() if name.startswith(start)]


def methods_named(start: str) -> list[str]:
    from pairbank.scoring.methods.registry import FAMILIES
    from pairbank.scoring.prompts.registry import prompts

    return [name for name in (*FAMILIES, *prompts()) if name.startswith(start)]


def analyses_named(start: str) -> list[str]:
    from pairbank.stats.analyses.registry import ANALYSES

    return [name for name in ANALYSES if name.startswith(start)]


Analyses = Annotated[
    list[str] | None,
    typer.Option(
        "--analysis",
        help="Additional analysis (listed in docs/analyses.md); repeatable.",
        autocompletion=analyses_named,
    ),
]
CorpusName = Annotated[str, typer.Argument(help="A corpus, or a file of your own items.", autocompletion=corpora_named)]
StudyName = Annotated[
    str, typer.Argument(help="A shipped study, or the path of a TOML file.", autocompletion=studies_named)
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        help="direct, a linking function, or a prompt id; repeatable. [default: direct, one forced choice and one "
        "judgment]",
        autocompletion=methods_named,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOptions:
    """Which items of a corpus, and how a file of the user's own is read."""

    data_dir: DataDir = None
    language: Annotated[
        str | None, which(metavar="TAG", help="Only this language (BCP-47 tag); for your own file, its language.")
    ] = None
    subset: Subset = None
    limit: Limit = None
    sample: Annotated[int | None, which(min=1, help="Number of items to draw at random (always the same ones).")] = None
    column: Columns = None
    encoding: Annotated[str | None, own(help="Encoding of your file if it is not UTF-8: cp1252, utf-16-le …")] = None
    header: Annotated[
        str | None, own(metavar="NAMES", help="Column names for a file without a header line: good,bad")
    ] = None
    marks: Annotated[
        str,
        own(
            help="Acceptability marks (*, ??) before your sentences: refuse, strip, keep (score them), or decide (the "
            "marked sentence is the worse one)."
        ),
    ] = "refuse"
    tidy: Annotated[
        bool, own(help="Make white space, accents, quotes, entities and invisible characters of your texts uniform.")
    ] = False
    fixed: Annotated[
        list[str] | None,
        own(metavar="NAME=TEXT", help="Constant value of a schema column: human_scale=likert7; repeatable."),
    ] = None
    map_file: Annotated[
        Path | None,
        own(
            "--map",
            help="TOML file that maps your columns to items (docs/column-maps.md).",
            show_default="map.toml beside the file",
        ),
    ] = None

    def load(self, corpus: str, *, repair: bool = True) -> datasets.Dataset:
        """Load a corpus, or a file of the user's own, telling of downloads."""
        return pairbank.load_corpus(
            corpus,
            data_dir=self.data_dir,
            subset=self.subset,
            limit=self.limit,
            sample=self.sample,
            repair=repair,
            map_file=self.map_file,
            progress=Downloads().on_progress,
            **self._of_own_file,
        )

    def own_ratings(self, corpus: str) -> datasets.Dataset | None:
        """Return the individual ratings in a corpus of the user's own, read as `load` reads it; None without any."""
        from pairbank.builders.corpora.registry import is_own
        from pairbank.builders.load import is_banked, own_ratings

        if is_banked(corpus) or not is_own(corpus):
            return None
        return own_ratings(corpus, self._own, self.map_file)

    def trials(self, corpus: str) -> datasets.Dataset:
        """Return the individual ratings of a corpus, or of a file of the user's own, with the order of trials."""
        return pairbank.load_ratings(
            corpus, data_dir=self.data_dir, subset=self.subset, map_file=self.map_file, own=self._own, trials=True
        )

    @property
    def _own(self) -> TabularOptions:
        from pairbank.builders.corpora.tabular_items import TabularOptions

        return TabularOptions(**{name: value for name, value in self._of_own_file.items() if value is not None})

    @property
    def _of_own_file(self) -> dict[str, Any]:
        return {
            "language": self.language,
            "columns": column_map(self.column),
            "encoding": self.encoding,
            "marks": self.marks,
            "tidy": self.tidy,
            "header": tuple(column_names(self.header)),
            "fixed": column_map(self.fixed, option="human_scale=likert7"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongOptions:
    wrong: Annotated[int | None, typer.Option(min=1, help="Also print the N worst errors.")] = None
    wrong_by: Annotated[str | None, more(help="Method that --wrong ranks by. [default: the first one]")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    model: Models = None
    models: Annotated[list[str] | None, "TOML file with [[models]], or a list from `pairbank models`; repeatable."] = (
        None
    )
    data_dir: DataDir = None
    corpus: Annotated[list[str] | None, "Corpora to use instead of the study's: NAME or NAME:SUBSET; repeatable."] = (
        None
    )
    limit: Limit = None


def named_values(pairs: Sequence[str] | None, *, expected: str) -> dict[str, str]:
    """Return options of the form NAME=VALUE as a mapping; `expected` says what is expected, for the error."""
    if bad := [pair for pair in pairs or () if "=" not in pair]:
        raise typer.BadParameter(f"{bad[0]!r}: expected {expected}")
    return dict(pair.split("=", 1) for pair in pairs or ())


def column_map(pairs: Sequence[str] | None, *, option: str = "target_good=Sentence") -> dict[str, str] | None:
    """Return `--column` (or `--fixed`) options as a mapping from schema columns; `option` is an example of one."""
    return named_values(pairs, expected=f"SCHEMA_COLUMN=…, as in {option}") or None


def column_names(text: str | None) -> list[str]:
    """Return the names of `--header`.

    >>> column_names("good, bad"), column_names(None)
    (['good', 'bad'], [])
    """
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise typer.BadParameter(f"{text!r}: expected the names of all columns in order, as in --header good,bad")
    return names
