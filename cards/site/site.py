"""`write_site`: in, a bank on disk or on the Hub; out, a folder of plain files that any web server shows.

Nothing of it runs on a server, and the page makes no third-party requests. `Server` shows it on this machine: it lists
no folder, serves what is inside the folder only, and lets a page keep nothing that may have changed.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import unquote, urlsplit

from pairbank.cards.bank import layout
from pairbank.cards.bank.beside_tables import declared_in
from pairbank.cards.bank.lock import locked_where_writable
from pairbank.cards.bank.redistribution import is_left_out, may_publish, refuse_quoted_texts
from pairbank.cards.bank.tables import read_table, with_paradigms
from pairbank.cards.card.add_model import commands_for, is_on_hub
from pairbank.cards.card.croissant import bibtex_of
from pairbank.cards.check import check_locked
from pairbank.cards.site.columns import SUFFIX, write_packed, write_results
from pairbank.cards.site.corpus_data import CorpusWritten, write_corpus
from pairbank.cards.site.report_pages import write_reports
from pairbank.cards.site.source import Source, open_source
from pairbank.errors import OutputError, PairbankError
from pairbank.files import folder_beside, read_parquet, write_bytes
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.report.overview import method_labels
from pairbank.stats.scored_table.model_features import ModelFeatures, find_features

FORMAT = 3
"""Of the files below `data/`; a page reads those of its own format only."""
MANIFEST_PATH = f"data/site{SUFFIX}"
_STEP = re.compile(r"(?:^|[@/_-])step[_-]?(\d+)$")
Texts = Literal["redistributable", "all"]
"""Which corpora keep their texts: those that may be published, or all, for a page that only its owner sees."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".csv": "text/csv; charset=utf-8",
}
"""Endings of what a site has; the machine's own table of types may lack or change them."""
LOCAL = ("localhost", "127.0.0.1", "::1")
"""Names of this machine for itself."""


def write_site(
    bank: str | Path,
    out: str | Path,
    *,
    name: str = "",
    revision: str | None = None,
    texts: Texts = "redistributable",
    features: Mapping[str, ModelFeatures] | None = None,
) -> Path:
    """Write a bank as a website; return its folder.

    The page of a bank that is not whole (`check_bank`) starts with what is wrong with it.

    Args:
        bank: a bank's folder, or ORG/NAME of one on the Hub.
        out: a new or empty folder, or one with a site in it, which is replaced as a whole.
        name: what `load_dataset` calls the bank, for the lines of Python; empty = the folder's own name, or the Hub's.
        revision: of the Hub's bank, or what the page shows; None = the newest, or the manifest's hash.
        texts: "redistributable" shows ids and scores only of corpora whose texts may not be published.
        features: declared features of models by name (family, size, type), before those of the bank and those that
            pairbank ships.

    Raises:
        BankError: there is no bank, a report quotes what may not be published, or a table is damaged.
        OutputError: `out` holds something else.

    >>> write_site("my-bank", "site")  # doctest: +SKIP
    """
    source = open_source(str(bank), None if Path(bank).is_dir() else revision)
    root = source.root
    with contextlib.nullcontext() if root is None else locked_where_writable(root):
        problems = [] if root is None else _problems(root)
        return site_of(source, out, name=name, revision=revision, texts=texts, features=features, problems=problems)


def site_of(
    source: Source,
    out: str | Path,
    *,
    name: str,
    revision: str | None = None,
    texts: Texts = "redistributable",
    features: Mapping[str, ModelFeatures] | None = None,
    problems: Sequence[str] = (),
) -> Path:
    """Write the site as `write_site` does, of a bank that was checked and, if it is a folder, whose lock is held."""
    manifest = layout.read_manifest(source.path(layout.MANIFEST).parent)
    with _replaced(Path(out)) as staged:
        for file in (resources.files("pairbank.cards.site") / "app").iterdir():
            write_bytes(staged / file.name, file.read_bytes())
        stated = manifest["corpora"].items() if texts == "redistributable" else ()
        # whose texts must stay out, once no report quotes them
        closed = {name for name, facts in stated if not is_left_out(facts) and not may_publish(name, facts)}
        if closed and source.root:
            tables = ((name, read_table(source.path(layout.items_path(name)))) for name in sorted(closed))
            refuse_quoted_texts(source.root, tables)
        corpora = {
            corpus: write_corpus(staged, source, corpus, manifest, with_texts=corpus not in closed)
            for corpus in _in_order(manifest)
        }
        slugs = _slugs(manifest, without=layout.null_models(manifest))
        has_scores = any(manifest["scores"].values())
        summary = with_paradigms(read_parquet(source.path(layout.SUMMARY)).to_pandas()) if has_scores else None
        results = write_results(staged, summary, corpora, slugs)
        reports = write_reports(staged, source, list(manifest.get("files", {})))
        name = name or (source.root.name if source.root else source.name)
        declared, revision = declared_in(manifest) | dict(features or {}), revision or source.revision
        facts = _facts(manifest, corpora, name=name, revision=revision, closed=closed, features=declared)
        write_packed(staged / MANIFEST_PATH, facts | {"results": results, "reports": reports, "problems": problems})
        for corpus, models in manifest["scores"].items():
            folder = staged / "data" / "corpora" / layout.config_name(corpus)
            write_packed(folder / f"signatures{SUFFIX}", models)
    return Path(out)


def _problems(root: Path) -> list[str]:
    """Return what `check_bank` would find, but for results computed anew; no line names the folder."""
    try:
        check_locked(root, depth="quick", reports="free")
    except PairbankError as error:
        lines = str(error).replace(f"{root}: ", "").replace(f"{root}/", "").splitlines()
        return [line.strip() for line in lines]
    return []


def _in_order(manifest: Mapping[str, Any]) -> list[str]:
    scored = manifest["scores"]
    return sorted(manifest["corpora"], key=lambda name: (not scored.get(name), name))


def _slugs(manifest: Mapping[str, Any], *, without: Container[str]) -> dict[str, list[str]]:
    """Return model's name -> its slugs: a slug may differ from corpus to corpus where names come from elsewhere."""
    results: dict[str, dict[str, None]] = {}
    for models in manifest["scores"].values():
        for slug, signature in models.items():
            if (name := signature["model"]["name"]) not in without:
                results.setdefault(name, {})[slug] = None
    return {name: list(slugs) for name, slugs in results.items()}


def _facts(
    manifest: Mapping[str, Any],
    corpora: Mapping[str, CorpusWritten],
    *,
    name: str,
    revision: str,
    closed: set[str],
    features: Mapping[str, ModelFeatures],
) -> dict[str, Any]:
    definitions = [method for signature in layout.signatures(manifest) for method in signature["methods"].items()]
    layouts = {method: definition["layout"] for method, definition in definitions}
    return {
        "format": FORMAT,
        "name": name,
        "revision": revision,
        "title": _title(manifest, name),
        "pairbank": manifest.get("pairbank", ""),
        "command": manifest.get("command", ""),
        "corpora": [_corpus(corpus, manifest, is_closed=corpus in closed) for corpus in corpora],
        "models": _models(manifest, features, {corpus: data.unread for corpus, data in corpora.items()}),
        "prompted": any(definition["layout"]["options"] for _, definition in definitions),
        "methods": list(dict.fromkeys(method for data in corpora.values() for method in data.deltas)),
        "n_methods": len(layouts),
        "bibtex": "\n\n".join(bibtex_of(manifest, on_hub=name if is_on_hub(name) else "")),
        "authors": manifest.get("authors", []),
        "add": asdict(commands_for(manifest, name)),
        "labels": method_labels({method: MethodLayout.from_dict(stated) for method, stated in layouts.items()}),
    }


def _title(manifest: Mapping[str, Any], name: str) -> str:
    if title := manifest.get("title"):
        return str(title)
    titles = [str(manifest["corpora"][corpus].get("title") or corpus) for corpus in _in_order(manifest)]
    return ", ".join(titles) if len(titles) <= 3 else name.rstrip("/").rsplit("/", maxsplit=1)[-1]


def _corpus(corpus: str, manifest: Mapping[str, Any], *, is_closed: bool) -> dict[str, Any]:
    facts = manifest["corpora"][corpus]
    models = manifest["scores"].get(corpus, {})
    return {
        "name": corpus,
        "config": layout.config_name(corpus),
        "n_items": facts["n_items"],
        "version": facts.get("version") or "",
        "licence": (facts.get("source") or {}).get("licence") or "unknown",
        "texts_left_out": is_closed or is_left_out(facts),
        "human": facts.get("human") or "",
        "tasks": facts.get("tasks") or [],
        "languages": facts.get("languages") or [],
        "n_models": len(models),
        "methods": list(models[min(models)]["methods"]) if models else [],
        "scores": layout.scores_path(corpus, min(models)).rsplit("/", 1)[0] if models else "",
    }


def _models(
    manifest: Mapping[str, Any], features: Mapping[str, ModelFeatures], unread: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    nulls, results = layout.null_models(manifest), dict[str, dict[str, Any]]()
    for corpus, slug in layout.tables(manifest):
        model = manifest["scores"][corpus][slug]["model"]
        if (name := model["name"]) in results:
            continue
        declared = find_features(name, model_id=model["model_id"], corpus=corpus, given=features)
        facts = results[name] = {"name": name, "id": model["model_id"], "format": model["prompt_format"]}
        if declared is not None:
            facts |= {"family": declared.family, "size": declared.size_billions * 1e9, "type": declared.type}
        for text in (name, model["model_id"], model["revision"]):
            if step := _STEP.search(text):
                run = text[: step.start()] if text is not model["revision"] else model["model_id"]
                facts |= {"step": int(step[1]), "run": run}
                break
        if lacking := {other: by_model[name] for other, by_model in unread.items() if name in by_model}:
            facts["unread"] = lacking
        if name in nulls:
            facts["random"] = True
    return [results[name] for name in sorted(results)]


@contextlib.contextmanager
def _replaced(out: Path) -> Iterator[Path]:
    """Yield a folder beside `out` that takes its place when the block ends without an error."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise OutputError(f"{out} exists and is no folder; choose a new or empty one for the site")
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST_PATH).is_file():
        first = min(path.name for path in out.iterdir())
        raise OutputError(f"{out} exists and is no site (it holds {first}); choose a new or empty folder for the site")
    with folder_beside(out) as beside:
        staged, old = beside / "new", beside / "old"
        staged.mkdir()
        yield staged
        try:
            if out.is_dir():
                out.replace(old)
            staged.replace(out)
        finally:
            if old.is_dir() and not out.exists():
                old.replace(out)


class _Handler(SimpleHTTPRequestHandler):
    """Plain files of one folder."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> Any:  # noqa: ANN401 - as the standard library's: a file or None
        """Answer with a file of the site; a folder is no file, and neither is a link out of it."""
        if isinstance(self.server, SiteServer) and not self.server.is_host(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        root = Path(self.directory).resolve()
        requested = posixpath.normpath(unquote(urlsplit(self.path).path)).lstrip("/")
        path = (root / ("index.html" if requested in ("", ".") else requested.replace("\0", "\ufffd"))).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        self.path = "/index.html" if requested in ("", ".") else self.path
        return super().send_head()

    def guess_type(self, path: Any) -> str:  # noqa: ANN401 - as the standard library's
        return TYPES.get(Path(str(path)).suffix.lower(), "application/octet-stream")

    def end_headers(self) -> None:
        """Add that a page asks anew each time, and takes a file for what it is said to be."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as the standard library's
        """Say nothing of each request."""

    def copyfile(self, source: IO[bytes], outputfile: IO[bytes]) -> None:  # type: ignore[override]
        """Send a file; a reader who left is no error."""
        try:
            super().copyfile(source, outputfile)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class SiteServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), partial(_Handler, directory=str(folder)))

    def is_host(self, name: str) -> bool:
        """Return whether a server that only this machine reaches is asked by a local name (against DNS rebinding)."""
        if self.server_address[0] not in LOCAL:
            return True
        try:
            return urlsplit(f"//{name}").hostname in LOCAL
        except ValueError:  # no name at all: a bracket that is not closed
            return False

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"
