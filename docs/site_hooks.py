"""What the site of the documentation has beside `docs/`: in, the repository; out, pages that are built with the rest.

- `api.md`: the public verbs of `pairbank`, from their docstrings;
- `source/…`: every file of the repository that a page links to, as a page of its own;
- a page of `docs/` that the navigation does not name stands in it under "More", a report under "Results".
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FOLDER = "source"
FIRST = "tutorial.md"
"""The page that stands before all others, where it is there."""
_LINK = re.compile(r"(\]\()((?!\w+:|#|/)[^)\s]+)(\))")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".sh": "sh", ".toml": "toml", ".yaml": "yaml", ".csv": "text"}


def on_config(config: Any) -> Any:  # noqa: ANN401 - mkdocs has no types for it
    """Put pages that the navigation does not name into it."""
    listed = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    rest = [page for page in pages if page not in listed]
    sections = {title: entries for section in config.nav for title, entries in section.items()}
    if FIRST in rest:
        sections["Start"].insert(1, FIRST)
    reports = [page for page in rest if page.startswith("reports/")]
    sections["Results"] += [{_title(page): page} for page in reports]
    if more := [page for page in rest if page != FIRST and page not in reports]:
        config.nav.append({"More": more})
    return config


def _title(page: str) -> str:
    """Return what a report is called: its folders, and its own name where it is not the report itself."""
    parts = Path(page).with_suffix("").parts[1:]
    return " / ".join(parts[:-1] if parts[-1] == "report" and len(parts) > 1 else parts)


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - mkdocs has no types for it
    """Add the reference and the files outside of `docs/` that a page links to, and those that these link to."""
    files.append(File.generated(config, "api.md", content=api_page()))
    result = {"README.md": ROOT / "README.md", "CHANGELOG.md": ROOT / "CHANGELOG.md"}
    waiting = [*DOCS.rglob("*.md"), *result.values()]
    while waiting:
        page = waiting.pop()
        for target in outside(page):
            name = target.relative_to(ROOT).as_posix()
            if name not in result:
                result[name] = target
                waiting += [target] if target.suffix == ".md" else []
    for name, path in sorted(result.items()):
        files.append(File.generated(config, page_of(name), content=_content(name, path, result)))
    return files


def outside(page: Path) -> list[Path]:
    """Return the files and folders of the repository, but none of `docs/`, that a page links to."""
    prose = _CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [(page.parent / link.partition("#")[0]).resolve() for _, link, _ in _LINK.findall(prose)]
    inner = [path for path in targets if path.exists() and path.is_relative_to(ROOT) and path != page.resolve()]
    folders = [path for path in inner if path.is_dir()]
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    return [path for path in (*inner, *files) if not path.is_relative_to(DOCS)]


def page_of(name: str) -> str:
    """Return the page of a file of the repository.

    >>> page_of("examples/a.py"), page_of("CHANGELOG.md")
    ('source/examples/a.py.md', 'source/CHANGELOG.md')
    """
    return f"{FOLDER}/{name}" if name.endswith(".md") else f"{FOLDER}/{name}.md"


def _content(name: str, path: Path, known: dict[str, Path]) -> str:
    if path.is_dir():
        inner = sorted(other for other in known if other != name and posixpath.dirname(other) == name)
        lines = [f"- [{Path(other).name}]({posixpath.basename(name)}/{Path(other).name}.md)" for other in inner]
        return "\n".join([f"# {name}/", "", *lines])
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return f"# {path.name}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n````\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 - mkdocs has no types for it
    """Turn links that leave `docs/` into links to the pages of what they lead to."""
    here = page.file.src_uri
    in_repository = here.removeprefix(f"{FOLDER}/") if here.startswith(f"{FOLDER}/") else f"docs/{here}"

    def turned(result: re.Match[str]) -> str:
        path, mark, anchor = result[2].partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), path))
        if not path or not (ROOT / target).exists() or target.startswith(".."):
            return result[0]
        site = target.removeprefix("docs/") if target.startswith("docs/") else page_of(target)
        return f"{result[1]}{posixpath.relpath(site, posixpath.dirname(here) or '.')}{mark}{anchor}{result[3]}"

    parts = _CODE.split(markdown)
    return "".join(part if k % 2 else _LINK.sub(turned, part) for k, part in enumerate(parts))


def api_page() -> str:
    """Return the page of the public verbs: a heading each, filled by mkdocstrings."""
    stub = (ROOT / "src/pairbank/__init__.pyi").read_text(encoding="utf-8")
    names = re.findall(r"^from (\S+) import (\w+)", stub, re.MULTILINE)
    entries = "\n\n".join(f"::: {module}.{name}" for module, name in names)
    return f"# Python\n\nEverything that `import pairbank` offers, in the order in which data flow.\n\n{entries}\n"
