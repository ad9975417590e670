"""Arguments that several commands share, and how their text becomes values."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Union, Unpack, get_args, get_origin, get_type_hints

import typer

from pairbank.cli.display.console import Downloads
from pairbank.scoring.models.options import DEFAULTS, LoadOptions

if TYPE_CHECKING:
    import datasets


def corpora_named(start: str) -> list[str]:
    """Return the corpora whose names begin so, for the shell's completion."""
    from pairbank.builders.corpora.registry import CORPORA

    return [name for name in CORPORA if name.startswith(start)]


def studies_named(start: str) -> list[str]:
    """Return the shipped studies whose names begin so."""
    from pairbank.study.declaration import study_names

    return [name for name in study_names() if name.startswith(start)]


def methods_named(start: str) -> list[str]:
    """Return the methods whose names begin so."""
    from pairbank.scoring.methods.registry import FAMILIES
    from pairbank.scoring.prompts.registry import prompts

    return [name for name in (*FAMILIES, *prompts()) if name.startswith(start)]


_WHICH, _OWN, MORE = "Which items", "A file of your own", "More ways of scoring"
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="FOLDER", help="Folder with the corpus files, or a root with one folder per corpus."
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        help="direct, a linking function, or a prompt id; repeatable. [default: direct, one forced "
        "choice and one judgment]",
        show_default=False,
        autocompletion=methods_named,
    ),
]
UnigramFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--unigrams",
        help="Token counts from `pairbank unigrams`; repeatable, one file per tokenizer.",
        rich_help_panel=MORE,
    ),
]
Prompts = Annotated[list[Path] | None, typer.Option("--prompts", help="TOML file with your own prompts; repeatable.")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="demo, a folder, or a Hub id (ID@REVISION for a revision); repeatable. [default: demo]",
        show_default=False,
    ),
]
ModelLists = Annotated[
    list[str] | None,
    typer.Option("--models", help="TOML file with [[models]], or a list from `pairbank models`; repeatable."),
]
Corpora = Annotated[
    list[str] | None,
    typer.Option("--corpus", help="Corpora to use instead of the study's: NAME or NAME:SUBSET; repeatable."),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1, help="Maximum number of items per paradigm, or per phenomenon without paradigms.", rich_help_panel=_WHICH
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(min=1, help="Number of items to draw at random (always the same ones).", rich_help_panel=_WHICH),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="Your column for a schema column: target_good=NAME, human_good=NAME …; repeatable.",
        rich_help_panel=_OWN,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of your file if it is not UTF-8: cp1252, utf-16-le …",
        show_default=False,
        rich_help_panel=_OWN,
    ),
]
MapFile = Annotated[
    Path | None,
    typer.Option(
        "--map",
        help="TOML file that maps your columns to items (docs/column-maps.md).",
        show_default="map.toml beside the file",
        rich_help_panel=_OWN,
    ),
]
Marks = Annotated[
    str,
    typer.Option(
        help="Acceptability marks (*, ??) before your sentences: refuse, strip, keep (score them), or "
        "decide (the marked sentence is the worse one).",
        rich_help_panel=_OWN,
    ),
]
Header = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Column names for a file without a header line: good,bad",
        show_default=False,
        rich_help_panel=_OWN,
    ),
]
Fixed = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=TEXT",
        help="Constant value of a schema column: human_scale=likert7; repeatable.",
        rich_help_panel=_OWN,
    ),
]
Subset = Annotated[str | None, typer.Option(help="Only this subset (for BLiMP: a paradigm).", rich_help_panel=_WHICH)]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="TAG", help="Only this language (BCP-47 tag); for your own file, its language.", rich_help_panel=_WHICH
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, mps, cuda:1 …")]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16 …")]


Wrong = Annotated[
    int | None,
    typer.Option("--wrong", min=1, help="Also print the N worst errors."),
]
WrongBy = Annotated[
    str | None,
    typer.Option(
        "--wrong-by",
        help="Method that --wrong ranks by. [default: the first one]",
        show_default=False,
        rich_help_panel=MORE,
    ),
]


def column_map(pairs: list[str] | None, *, option: str = "target_good=Sentence") -> dict[str, str] | None:
    """Return `--column` (or `--fixed`) options as a mapping from schema columns; `option` is an example of one."""
    if not pairs:
        return None
    if bad := [pair for pair in pairs if "=" not in pair]:
        raise typer.BadParameter(f"{bad[0]!r}: expected SCHEMA_COLUMN=…, as in {option}")
    return dict(pair.split("=", 1) for pair in pairs)


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


class ItemOptions(TypedDict):
    """The options of a command that reads items: which of a corpus, and how a file of the user's own is read."""

    data_dir: DataDir
    language: Language
    subset: Subset
    limit: Limit
    sample: Sample
    column: Columns
    encoding: Encoding
    header: Header
    marks: Marks
    fixed: Fixed
    map_file: MapFile


ITEM_DEFAULTS: Mapping[str, Any] = dict.fromkeys(ItemOptions.__annotations__) | {"marks": "refuse"}


def load_items(corpus: str, *, repair: bool = True, **which: Unpack[ItemOptions]) -> datasets.Dataset:
    """Load a corpus, or a file of the user's own, as a command's options say; tell of downloads."""
    import pairbank

    return pairbank.load_corpus(
        corpus,
        data_dir=which["data_dir"],
        subset=which["subset"],
        limit=which["limit"],
        sample=which["sample"],
        repair=repair,
        map_file=which["map_file"],
        progress=Downloads().on_progress,
        **_of_own_file(which),
    )


def load_own_ratings(corpus: str, which: ItemOptions) -> datasets.Dataset | None:
    """Return the individual ratings in a corpus of the user's own, read as `load_items` reads it; None without any."""
    from pairbank.builders.corpora.tabular import is_own
    from pairbank.builders.corpora.tabular_items import TabularOptions
    from pairbank.builders.load import is_banked, own_ratings

    if is_banked(corpus) or not is_own(corpus):
        return None
    options = {name: value for name, value in _of_own_file(which).items() if value is not None}
    return own_ratings(corpus, TabularOptions(**options), which["map_file"])


def _of_own_file(which: ItemOptions) -> dict[str, Any]:
    """Return the options that say how a file of the user's own is read."""
    return {
        "language": which["language"],
        "columns": column_map(which["column"]),
        "encoding": which["encoding"],
        "marks": which["marks"],
        "header": tuple(column_names(which["header"])),
        "fixed": column_map(which["fixed"], option="human_scale=likert7"),
    }


def takes_item_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `load_items` in the place of its parameter `which`; it gets them as that."""
    hints = get_type_hints(ItemOptions, include_extras=True)
    return _expanded(command, "which", [_option(name, hints[name], ITEM_DEFAULTS[name]) for name in hints])


def takes_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of `load_model`, in a panel of its own; the command gets them as `options`."""
    hints = get_type_hints(LoadOptions, include_extras=True)

    def parameter(name: str) -> inspect.Parameter:
        kind, help_text = get_args(hints[name])
        declared = (f"--{name.replace('_', '-')}",) if kind is bool else ()  # without a --no-… beside it
        option = typer.Option(*declared, help=help_text, rich_help_panel="Model")
        default: Any = DEFAULTS[name]  # type: ignore[literal-required]
        return _option(name, Annotated[_typed_text(kind), option], default)

    return _expanded(command, "options", [parameter(name) for name in DEFAULTS])


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:  # noqa: ANN401 - as `inspect` has them
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _expanded(command: Callable[..., None], name: str, options: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """Return a command with options in the place of one parameter, which gets them as a mapping."""
    own_values = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 - what typer parsed
        taken = {option.name: given.pop(option.name) for option in options}
        command(**given, **{name: taken})

    parameters = [
        entry.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own_values.parameters.values()
        for entry in (options if parameter.name == name else [parameter])
    ]
    run.__signature__ = own_values.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {member.name: member.annotation for member in parameters} | {"return": None}
    del run.__wrapped__
    return run


def _typed_text(kind: Any) -> Any:  # noqa: ANN401 - an annotation
    """Return the type that the command line reads an option as: a flag, a number, or text, perhaps none."""
    members = get_args(kind) if get_origin(kind) in (types.UnionType, Union) else (kind,)
    base = next((entry for entry in (bool, int) if entry in members), str)
    return base | None if type(None) in members else base


def licences(pairs: list[str] | None) -> dict[str, str]:
    """Return `--licence` options as a mapping from corpora to licences."""
    if bad := [pair for pair in pairs or () if "=" not in pair]:
        raise typer.BadParameter(f"{bad[0]!r}: expected CORPUS=LICENCE, as in my_pairs=cc-by-4.0")
    return dict(pair.split("=", 1) for pair in pairs or ())


def analysis_options(settings: list[str] | None, *, asked: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return `--set` options, by analysis."""
    results: dict[str, dict[str, str]] = {}
    for setting in settings or ():
        place, equals, value = setting.partition("=")
        name, dot, option = place.partition(".")
        if not (equals and dot):
            raise typer.BadParameter(f"{setting!r}: expected ANALYSIS.option=value, as in comparisons.margin=0.02")
        if name not in asked:
            raise typer.BadParameter(f"{setting!r}: there is no --analysis {name}")
        results.setdefault(name, {})[option] = value
    return results
