"""`pairbank new`: the files of a corpus, in a checkout or as a package, of a study, a user's map, a SLURM script."""

from __future__ import annotations

import datetime as dt
import json
import keyword
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pairbank.cli.command import Group, add_command
from pairbank.cli.display.output import answer, hint, say
from pairbank.errors import CorpusError, StudyError
from pairbank.files import write_text

MOST_CHARACTERS = 40
REGISTRY = Path("builders") / "corpora" / "registry.py"
REFERENCES = Path("builders") / "data" / "references.bib"


def new_corpus(
    name: Annotated[str, "Corpus name: lowercase letters, digits, hyphens."],
    *,
    out: Annotated[Path, "A pairbank checkout, or the folder for a new package."] = Path(),
) -> None:
    """Scaffold a corpus: builder, test, registration.

    In a checkout of pairbank, it adds a line to the registry and an entry to references.bib. Elsewhere, it writes a
    package with an entry point.

    Example: pairbank new corpus my-corpus
    """
    checked(name)
    texts, steps = in_checkout(out, name) if (out / REGISTRY).is_file() else as_package(out, name)
    write_all(texts, may_exist={out / REGISTRY, out / REFERENCES})
    answer(steps=steps)
    hint("\nNext:")
    for number, step in enumerate(steps, 1):
        hint(f"{number}. {step}")


def new_study(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file to write.")],
    *,
    schema: Annotated[bool, "Also write study.schema.json, for editors."] = False,
) -> None:
    """Scaffold a study: a TOML file to edit and run.

    Example: pairbank new study my-study.toml
    """
    from pairbank.study.declaration import study_schema

    if path.suffix != ".toml":
        raise StudyError(f"{path}: expected a file name with .toml, as in my-study.toml")
    texts = {path: rendered("study.toml", {"file": path.name, "title": path.stem.replace("-", " ").capitalize()})}
    if schema:
        beside = path.with_name("study.schema.json")
        texts = {path: f"#:schema ./{beside.name}\n{texts[path]}", beside: json.dumps(study_schema(), indent=1) + "\n"}
    write_all(texts)
    hint(f"\nNext: edit it, then pairbank run {path} --model demo --out bank")


def new_slurm(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Script to write.")] = Path("slurm-array.sh"),
) -> None:
    """Write a script for SLURM: an array of parts of a study, and a job that puts them together.

    Its first lines say what to bring to a cluster whose nodes have no internet.

    Example: pairbank new slurm
    """
    write_all({path: rendered("slurm-array.sh", {})})
    hint(f"\nNext: read its first lines, then PAIRBANK_CACHE=FOLDER MODEL=NAME sbatch --array=1-8 {path}")


def new_schema(
    kind: Annotated[Literal["study", "prompts", "profile", "map"], "What the TOML file declares."],
    *,
    out: Annotated[Path | None, "JSON file to write. [default: KIND.schema.json]"] = None,
) -> None:
    """Write the JSON Schema of a study, prompts, an import profile or a column map: editors complete and check keys.

    Name it in the first line of your TOML file: #:schema ./prompts.schema.json

    Example: pairbank new schema prompts
    """
    from pairbank.builders.corpora.maps import map_schema
    from pairbank.scoring.importing.profile import profile_schema
    from pairbank.scoring.prompts.toml import prompts_schema
    from pairbank.study.declaration import study_schema

    schemas = {"study": study_schema, "prompts": prompts_schema, "profile": profile_schema, "map": map_schema}
    write_all({out or Path(f"{kind}.schema.json"): json.dumps(schemas[kind](), indent=1) + "\n"})


def new_map(
    table: Annotated[Path, typer.Argument(metavar="FILE", help="Your table: CSV, TSV, JSON, parquet or .xlsx.")],
    *,
    out: Annotated[Path | None, "TOML file to write. [default: NAME.map.toml beside it]"] = None,
    encoding: Annotated[str | None, "Encoding of the file, if it is not UTF-8."] = None,
) -> None:
    """Write a column map for your own table, filled in from its columns: check it, then score the table.

    Example: pairbank new map ratings.csv
    """
    import itertools

    from pairbank.builders.corpora.proposed_map import FILL_IN, proposed_map, tried_map
    from pairbank.builders.corpora.results import results_table
    from pairbank.builders.sources.tables import ROWS_LOOKED_AT, open_table

    results = results_table(table, encoding=encoding)
    opened = results or open_table(table, encoding=encoding)
    rows = [row for _, row in itertools.islice(opened.rows(bad_row=lambda _error: None), ROWS_LOOKED_AT)]
    head = "# Told from the names of columns and the first rows: check every line. All keys: docs/column-maps.md\n"
    columns = f"# Columns of {table.name}: {', '.join(opened.columns)}\n".replace("\r", " ")
    body = proposed_map(opened.columns, rows)
    if encoding or results:
        of_encoding = f"encoding = {json.dumps(encoding)}\n" if encoding else ""
        body += f"\n[reading]\n{of_encoding}{'results = true' if results else ''}\n".rstrip("\n") + "\n"
    body = tried_map(table, body, encoding=encoding, results=results) + body
    write_all({out or table.with_name(f"{table.stem}.map.toml"): head + columns + body})
    say(body)
    by_map = "" if out is None else f" --map {out}"
    first = "answer its questions" if FILL_IN in body or "# QUESTION" in body else "check it"
    command = f"pairbank score {table}{by_map} --language en --model demo --out scored.parquet"
    hint(f"Next: {first}, then, with the language of your sentences, {command}")


def checked(name: str) -> None:
    """Refuse a name that cannot be a corpus's, or is one's already."""
    from pairbank.builders.corpora.registry import CORPORA

    expected = f"expected small letters, digits and single hyphens, a letter first, at most {MOST_CHARACTERS}"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > MOST_CHARACTERS:
        raise CorpusError(f"corpus name {name!r}: {expected}, as in my-corpus")
    if keyword.iskeyword(name):
        raise CorpusError(f"corpus name {name!r} is a word of Python; choose another, as in {name}-corpus")
    if name in CORPORA:
        raise CorpusError(f"corpus {name!r} exists already ({CORPORA[name].title}); choose another name")


def in_checkout(root: Path, name: str) -> tuple[dict[Path, str], list[str]]:
    """Return the files of a builder, its test and the two that list it in a checkout, and what is to do."""
    facts = facts_of(name) | {"in_checkout": True}
    builder = root / REGISTRY.with_name(f"{facts['module']}.py")
    test = root / "tests" / "builders" / "corpora" / f"test_{facts['module']}.py"
    registry, references = root / REGISTRY, root / REFERENCES
    bibliography = references.read_text(encoding="utf-8")
    if f"{{{facts['key']}," in bibliography:
        facts["key"] += "corpus"
    texts = {
        builder: rendered("corpus.py", facts),
        test: rendered("test_corpus.py", facts),
        registry: with_corpus(registry.read_text(encoding="utf-8"), name, facts["module"]),
        references: with_reference(bibliography, facts["key"], facts["title"], facts["year"]),
    }
    return texts, [
        f"fill in what says FILL IN in {builder} and {references}",
        f"run the test: python -m pytest {test}",
        "write its page anew: pairbank corpora --markdown > docs/corpora.md",
    ]


def as_package(out: Path, name: str) -> tuple[dict[Path, str], list[str]]:
    """Return the files of a package that offers the corpus, and what is to do."""
    facts = facts_of(name) | {"in_checkout": False}
    root = out / facts["distribution"]
    source = root / "src" / facts["package"]
    texts = {
        root / "pyproject.toml": rendered("pyproject.toml", facts),
        source / "__init__.py": f'"""{facts["title"]}, a corpus for pairbank."""\n',
        source / "corpus.py": rendered("corpus.py", facts),
        root / "tests" / "test_corpus.py": rendered("test_corpus.py", facts),
    }
    return texts, [
        f"fill in what says FILL IN in {source / 'corpus.py'}",
        f"run the test: python -m pytest {root}",
        f"install it: pip install -e {root}",
        f"build it: pairbank build {name} --data-dir FOLDER",
    ]


def facts_of(name: str) -> dict[str, Any]:
    """Return what the templates are filled in with.

    >>> facts = facts_of("my-corpus")
    >>> facts["module"], facts["constant"], facts["title"], facts["distribution"]
    ('my_corpus', 'MY_CORPUS', 'My corpus', 'pairbank-my-corpus')
    """
    module = name.replace("-", "_")
    return {
        "name": name,
        "file": f"{name}.csv",
        "module": module,
        "constant": module.upper(),
        "title": name.replace("-", " ").capitalize(),
        "distribution": f"pairbank-{name}",
        "package": f"pairbank_{module}",
        "key": re.sub(r"[^a-z]", "", name),
        "year": dt.datetime.now(tz=dt.UTC).year,
    }


def rendered(template: str, facts: Mapping[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pairbank"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Python, no HTML
    )
    return environment.get_template(f"{template}.j2").render(facts)


def write_all(texts: Mapping[Path, str], *, may_exist: Collection[Path] = ()) -> None:
    """Write all files and list them, or none where one is there already."""
    if present := [path for path in texts if path.exists() and path not in may_exist]:
        raise CorpusError(f"{present[0]} exists already; choose another name, or move it away")
    for path, text in texts.items():
        write_text(path, text)
        say(str(path))
    answer(written=list(texts))


def with_corpus(registry: str, name: str, module: str) -> str:
    """Return the text of the registry with one corpus more, at the end of the table of modules."""
    table = re.search(r"_MADE_BY: Mapping\[str, tuple\[str, \.\.\.\]\] = \{(?:\n    .+)+", registry)
    if table is None:
        raise CorpusError(f"{REGISTRY} has no table of modules to put {name} into; enter it by hand")
    return f'{registry[: table.end()]}\n    "{module}": ("{name}",),{registry[table.end() :]}'


def with_reference(bibliography: str, key: str, title: str, year: int) -> str:
    """Return references.bib with one entry more, in the order of the keys."""
    reference = f"@misc{{{key},\n  author = {{FILL IN}},\n  title = {{{title} (FILL IN)}},\n  year = {{{year}}}\n}}\n"
    for other in re.finditer(r"^@\w+\{([^,]+),", bibliography, flags=re.MULTILINE):
        if other[1] > key:
            return f"{bibliography[: other.start()]}{reference}\n{bibliography[other.start() :]}"
    return f"{bibliography.rstrip()}\n\n{reference}"


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Scaffold a corpus, a study, a column map or a SLURM script; write a JSON Schema.",
)
for _command in (new_corpus, new_study, new_schema, new_map, new_slurm):
    add_command(app, _command, name=_command.__name__.removeprefix("new_"))
