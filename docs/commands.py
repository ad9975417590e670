"""The page docs/commands.md, made from the commands themselves: `python docs/commands.py > docs/commands.md`.

`python docs/commands.py studies` prints the tables of keys in docs/studies.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from pairbank.cli import app
from pairbank.study.declaration import study_schema

HEAD = """# Commands

Made from the commands' own help by `python docs/commands.py`; do not edit by hand.

`pairbank COMMAND --help` shows the most used options, `--help-all` all of them. Every command takes `--quiet`; every
command with results takes `--json`, which prints them as one JSON document. `pairbank --install-completion` installs
shell completion.
"""


def commands_page() -> str:
    """Return the page: per panel a table of commands, then per command its description, example and options."""
    commands = list(_commands(typer.main.get_command(app)))
    panels: dict[str, list[str]] = {}
    for path, command, panel in commands:
        first = (command.help or "").split("\n\n")[0].replace("\n", " ")
        panels.setdefault(panel, []).append(
            f"| [`pairbank {path}`](#pairbank-{path.replace(' ', '-')}) | {_cell(first)} |"
        )
    tables = [
        f"## {panel}\n\n| command | what it does |\n| --- | --- |\n" + "\n".join(rows) for panel, rows in panels.items()
    ]
    return "\n\n".join([HEAD.rstrip(), *tables, *(_section(path, command) for path, command, _ in commands)]) + "\n"


def study_keys() -> dict[str, str]:
    """Return the tables of keys of docs/studies.md: of a study, and of each of its `[[corpora]]` and `[[imports]]`."""
    schema = study_schema()
    inner = {"corpora": "CorpusChoice", "imports": "ImportChoice"}
    return {"study": _keys(schema)} | {name: _keys(schema["$defs"][kind]) for name, kind in inner.items()}


def _keys(schema: dict[str, Any]) -> str:
    rows = []
    for name, key in schema["properties"].items():
        required = " (required)" if name in schema["required"] else ""
        rows.append(f"| `{name}`{required} | {_cell(key.get('description', ''))} |")
    return "\n".join(["| key | meaning |", "| --- | --- |", *rows])


def _commands(command: Any, path: str = "", panel: str = "") -> Iterator[tuple[str, Any, str]]:  # noqa: ANN401 - typer's
    inner = getattr(command, "commands", None)
    if inner is None or (path and command.invoke_without_command):
        yield path.strip(), command, panel
    for name, one in (inner or {}).items():
        yield from _commands(one, f"{path} {name}", panel or one.rich_help_panel)


def _section(path: str, command: Any) -> str:  # noqa: ANN401 - typer's
    text = command.help or ""
    words = [part for part in text.split("\n\n") if not part.startswith("Example: ")]
    examples = [line.removeprefix("Example: ") for line in text.splitlines() if line.startswith("Example: ")]
    parts = [f"### pairbank {path}", *(word.replace("\n", " ") for word in words)]
    if examples:
        parts.append("```sh\n" + "\n".join(examples) + "\n```")
    rows = [_row(one) for one in command.params if not getattr(one, "hidden", False)]
    if rows:
        parts.append("| option | value | meaning |\n| --- | --- | --- |\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _row(parameter: Any) -> str:  # noqa: ANN401 - typer's
    is_option = parameter.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in parameter.opts) if is_option else f"`{parameter.name.upper()}`"
    value = _cell(f"`{parameter.metavar}`") if is_option and parameter.metavar else ""
    return f"| {names}{' (required)' if parameter.required else ''} | {value} | {_cell(parameter.help or '')} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("\\[", "[").replace("|", "\\|").split())


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(study_keys().values()) if "studies" in sys.argv else commands_page())
