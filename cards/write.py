"""`write_bank`: corpora, scored tables and reports to a folder in the Hub's dataset layout (`cards.bank.layout`).

Everything is checked before anything is written. One process writes at a time; the new state is made beside the old
one and takes its place when it is whole (`cards.bank.writing`).

The manifest's `history` says what each writing changed. A version is a state of the data: writing the same tables again
makes none. There are no dates, so that the same steps give the same bytes; on the Hub the commits have them.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from pairbank.builders.load import load_corpus
from pairbank.cards.bank import beside_tables, layout, tables, writing
from pairbank.cards.bank.check_tables import differing
from pairbank.cards.bank.lock import locked_where_writable
from pairbank.cards.bank.redistribution import ids_and_scores, is_left_out, locked, may_publish, refuse_quoted_texts
from pairbank.cards.bank.writing import Draft
from pairbank.cards.card.croissant import croissant_of
from pairbank.cards.card.render import bank_in, card_text
from pairbank.cards.check import WHOLE, check_locked
from pairbank.errors import BankError, unknown_name
from pairbank.files import read_parquet, real_path, several, sha256_of_file, write_json, write_text
from pairbank.scoring.scored import MODEL, Scored, read_scored
from pairbank.scoring.signature import with_prompts
from pairbank.stats.version import STATISTICS_VERSION
from pairbank.stats.wording import plural

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.report.report import Report
    from pairbank.stats.scored_table.model_features import ModelFeatures


Results = tables.Results
Texts = Literal["all", "redistributable"]
"""Which corpora keep their texts: all, or those that a published bank may hold."""
REPORT_NAME = re.compile(r"\w[\w.-]*")
"""What can name the folder of a report."""
DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
MOST_NAMES = 12
"""Corpora and models named in one line."""
PACKAGES = ("pairbank", "torch", "transformers", "tokenizers", "datasets", "huggingface_hub", "numpy", "pandas")


class Stated(TypedDict, total=False):
    """Keyword options of `write_bank`: what its card states. What a bank has stays until something else is stated."""

    command: str
    """How to make this bank again; it follows the commands that the bank has already."""
    title: str
    """Of the bank; default: the titles of its corpora."""
    authors: str | Sequence[str]
    """Who made the bank, in the order in which they are cited."""
    contact: str
    """Whom to ask about the bank: an address or a page."""
    published: str
    """Date of publication, YYYY-MM-DD. It is never read from the clock."""
    licences: Mapping[str, str] | None
    """Corpus -> licence (`cc-by-4.0` …) of items of your own, which makes them publishable."""


def write_bank(
    folder: str | Path,
    *,
    corpora: datasets.Dataset | str | Path | Sequence[datasets.Dataset | str | Path] = (),
    scored: Scored | str | Path | Sequence[Scored | str | Path] = (),
    ratings: datasets.Dataset | pd.DataFrame | Sequence[datasets.Dataset | pd.DataFrame] = (),
    reports: Report | Mapping[str, Report] | None = None,
    probed: Probed | Sequence[Probed] = (),
    features: Mapping[str, ModelFeatures] | None = None,
    texts: Texts = "all",
    **stated: Unpack[Stated],
) -> Path:
    """Write or extend a bank; return its folder.

    Tables that the bank already holds stay, unless the same corpus or the same corpus x model is given anew.
    The results and the card are made from everything in the bank.

    Args:
        folder: the bank.
        corpora: items as `load_corpus` gives them, or its names or paths; corpora of scored tables need not be
            repeated.
        scored: scored tables or their files, one or several.
        ratings: individual ratings of items, as `load_ratings` gives it, or a frame of your own with its columns;
            those of items that the bank holds are written, under the corpora of the items. Raters become numbers.
        reports: study name -> report, written under `reports/`; one report alone is named `report`.
        probed: what `probe` found in the hidden states of models whose scores the bank has.
        features: what is declared of models (family, size …), by name; reports and the site read it from the bank. It
            takes the place of what the bank says of these models.
        texts: "redistributable" keeps ids and scores only of corpora whose terms forbid to publish their texts,
            so that the bank can be published; their results are computed before. It can't be undone in this folder.
        **stated: for the card, the site and who cites the bank: `command`, `title`, `authors`, `contact`, `published`,
            `licences`; `pairbank.cards.write.Stated` says what each is.

    Raises:
        BankError: the folder holds something else, or a bank that is not whole, two tables cannot be in one bank,
            or a report quotes texts that must not be published.

    >>> import pairbank, tempfile
    >>> scored = pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a")
    >>> folder = write_bank(Path(tempfile.mkdtemp()) / "bank", scored=scored, title="Dogs", authors="Ada Lovelace")
    >>> (folder / "README.md").is_file()
    True
    """
    named = _named(reports)
    if unknown := stated.keys() - Stated.__annotations__.keys():
        raise TypeError(f"write_bank() got an unexpected keyword argument {min(unknown)!r}")
    if (published := stated.get("published", "")) and not DATE.fullmatch(published):
        raise BankError(f"published is {published[:40]!r}; expected a date, as 2026-11-24")
    try:
        root = Path(folder)
    except TypeError as error:
        kind = type(folder).__name__
        raise BankError(f"expected the bank's folder first, got {kind}: write_bank(FOLDER, scored=[scored])") from error
    with writing.rewritten(root) as staged:
        is_new = not (staged / layout.MANIFEST).is_file()
        empty: dict[str, Any] = {"corpora": {}, "scores": {}}
        manifest = empty if is_new else check_locked(root, depth="quick", reports="free")
        draft = Draft(root=staged, manifest=manifest)
        for items in several(corpora):
            is_loaded = "item_id" in getattr(items, "column_names", ())
            writing.take_items(draft, items if is_loaded else load_corpus(items))
        for table in several(scored, tables=True):
            writing.take_scored(draft, table)
        if not draft.manifest["corpora"]:
            raise BankError(f"{root}: nothing to write; give at least one corpus or one scored table")
        writing.check_old_scores(draft)
        beside_tables.take_ratings(draft, several(ratings))
        beside_tables.settle_ratings(draft)
        beside_tables.take_probes(draft.root, draft.manifest, several(probed))
        beside_tables.declare(draft.manifest, features or {})
        writing.state_licences(draft.manifest, stated.get("licences") or {})
        message = {**stated, "authors": several(stated.get("authors", ()))}
        draft.manifest |= {
            name: message[name] for name in ("title", "authors", "contact", "published") if message.get(name)
        }
        _write(draft, named, texts=texts, command=stated.get("command", ""))
        WHOLE.add(sha256_of_file(staged / layout.MANIFEST))
    return root


def _named(reports: Report | Mapping[str, Report] | None) -> Mapping[str, Report]:
    named = reports if isinstance(reports, Mapping) else {"report": reports} if reports is not None else {}
    for name, report in named.items():
        if not hasattr(report, "summary"):
            raise BankError('reports: expected a name and a report for each, as {"mine": pairbank.report(scored)}')
        if not REPORT_NAME.fullmatch(name):
            raise BankError(f"report {name[:80]!r} cannot name a folder; use letters, digits, '.', '_' and '-'")
    return named


def _write(
    draft: Draft, reports: Mapping[str, Report], *, texts: Texts, command: str = "", results: Results = "computed"
) -> None:
    summary = tables.summary_of(draft.root, draft.manifest, draft.scored, list(reports.values()), results=results)
    if results == "computed":
        _refuse_other_results(draft, summary)
    # beside the new state: what a killed writer leaves is removed with it
    with tempfile.TemporaryDirectory(dir=draft.root.parent) as folder_of_reports:
        source = Path(folder_of_reports)
        for name, part in reports.items():
            part.save(source / layout.REPORTS / name)
        _leave_out_texts(draft, texts, source)
        for name in draft.items:
            tables.write_table(draft.root / layout.items_path(name), draft.items_of(name))
        for (corpus, slug), table in draft.scored.items():
            table.save(draft.root / layout.scores_path(corpus, slug))
        for name, judged in draft.ratings.items():
            tables.write_table(draft.root / layout.ratings_path(name), judged)
        if summary is not None:
            tables.write_summary(draft.root / layout.SUMMARY, summary)
        for name in reports:
            shutil.rmtree(draft.root / layout.REPORTS / name, ignore_errors=True)
            (draft.root / layout.REPORTS).mkdir(exist_ok=True)
            shutil.move(source / layout.REPORTS / name, draft.root / layout.REPORTS / name)
    finish(draft.root, draft.manifest, summary, command=command)


def _refuse_other_results(draft: Draft, summary: pd.DataFrame | None) -> None:
    """Refuse a bank whose results are not those of its tables; one of another version may have others."""
    old = tables.read_summary(draft.root)
    if old is None or summary is None or not tables.has_current_results(draft.manifest):
        return
    before, now = (dict(iter(part.groupby(["corpus", "model"]))) for part in (old, summary))
    for corpus, slug in layout.tables(draft.manifest):
        key = (corpus, draft.manifest["scores"][corpus][slug]["model"]["name"])
        if (corpus, slug) in draft.scored or key not in before:
            continue
        if result := differing(before[key], now.get(key, summary.head(0))):
            raise BankError(f"the results of this bank are not those of its tables: {result[0]}; write the bank again")


def _leave_out_texts(draft: Draft, texts: Texts, reports: Path) -> None:
    """Put ids and scores in the place of the tables whose texts are to be left out, unless a report quotes them."""
    corpora, scores = draft.manifest["corpora"], draft.manifest["scores"]
    new = locked(corpora) if texts == "redistributable" else []
    out = [name for name, facts in corpora.items() if name in new or is_left_out(facts)]
    if not out:
        return
    full: dict[tuple[str, str], datasets.Dataset] = {
        (name, ""): draft.items_of(name) for name in out if name in new or name in draft.items
    }
    for name in out:
        for slug in scores.get(name, {}):
            if name in new or (name, slug) in draft.scored:
                full[name, slug] = draft.table_of(name, slug).dataset
    for root in (draft.root, reports):
        refuse_quoted_texts(root, [(name, table) for (name, _), table in full.items()])
    for name in out:
        corpora[name] = {**corpora[name], "texts": layout.LEFT_OUT}
        beside_tables.drop_ratings(draft, name)
    for (name, slug), table in full.items():
        if slug:
            signature = scores[name][slug]
            kept = Scored.of(ids_and_scores(table, signature["methods"]), signature)
            prompts = [shown.model_dump() for shown in draft.table_of(name, slug).prompts]
            draft.scored[name, slug] = Scored(table=with_prompts(kept.table, prompts), signature=signature)
        else:
            draft.items[name] = ids_and_scores(table, {})


def finish(root: Path, manifest: dict[str, Any], summary: pd.DataFrame | None, *, command: str = "") -> Path:
    """Write the card and, last, the manifest with the hash of every file; return the folder."""
    paths = [layout.scores_path(*place) for place in layout.tables(manifest)]
    for path in (root / path for path in paths):  # tables of early versions lack a column; a config has one form
        if MODEL not in read_parquet(path, ()).column_names:
            read_scored(path).save(path)
    scored = {path: sha256_of_file(root / path) for path in paths}
    tables.write_long(root, manifest, scored)
    before = manifest.get("command", "")
    manifest |= {
        "pairbank": version("pairbank"),
        "statistics": STATISTICS_VERSION,
        "format": layout.FORMAT_VERSION,
        "command": before if f"\n{command}\n" in f"\n{before}\n" else f"{before}\n{command}".strip("\n"),
        "written_with": package_versions(),
    }
    # as the next writer finds it: the same card
    again = json.loads(json.dumps(layout.compact(manifest), sort_keys=True))
    layout.expand(again)
    manifest |= again
    hashes = {path: scored.get(path) or sha256_of_file(root / path) for path in layout.data_files(manifest)}
    known = hashes | {path: sha256_of_file(root / path) for path in layout.probe_files(manifest)}
    manifest.setdefault("history", [])
    if changes := list(_changes(manifest, known)):
        manifest["history"] = [*manifest["history"], {"pairbank": version("pairbank"), "changes": changes}]
    beside_tables.write_prompts(root, manifest)
    bank = bank_in(root, manifest, summary)
    write_text(root / layout.CARD, card_text(bank, hashes))
    write_text(root / layout.CROISSANT, croissant_of(bank, hashes))
    manifest["files"] = {path: known.get(path) or sha256_of_file(root / path) for path in layout.bank_files(root)}
    write_json(root / layout.MANIFEST, layout.compact(manifest))
    return root


def add_scores(
    folder: str | Path, scored: Iterable[Scored], *, disputed: Mapping[str, Sequence[str]] | None = None
) -> Path:
    """Add scored tables to a bank, and read no other: of these the hashes are checked; results and reports stay.

    `disputed` is what the manifest says of a shared bank's submissions from here on.
    """
    root = Path(folder)
    with writing.rewritten(root) as staged:
        manifest = check_locked(root, depth="files", reports="free")
        draft = Draft(root=staged, manifest=manifest)
        for table in scored:
            writing.take_scored(draft, table)
        writing.check_old_scores(draft)
        draft.manifest.pop(layout.DISPUTED, None)
        if disputed:
            draft.manifest[layout.DISPUTED] = disputed
        _write(draft, {}, texts="all", results="kept")
    return root


def remove_scores(
    folder: str | Path, which: Iterable[tuple[str, str]], *, results: Results = "computed", command: str = ""
) -> Path:
    """Remove models' scores and probes of corpora from a bank; what is made of tables is made anew, but for reports."""
    root = Path(folder)
    with writing.rewritten(root) as staged:
        manifest = check_locked(root, depth="quick" if results == "computed" else "files", reports="free")
        draft = Draft(root=staged, manifest=manifest)
        for corpus, slug in which:
            if slug not in draft.manifest["scores"].get(corpus, {}):
                raise BankError(f"{root}: no scores of {slug!r} on {corpus!r} to remove")
            for held in (draft.manifest["scores"], draft.manifest.get(layout.PROBES, {})):
                if held.get(corpus, {}).pop(slug, None) is not None and not held[corpus]:
                    del held[corpus]
            for path in (layout.scores_path(corpus, slug), *layout.probe_paths(corpus, slug)):
                (staged / path).unlink(missing_ok=True)
        if not draft.manifest["scores"]:
            (staged / layout.SUMMARY).unlink(missing_ok=True)
        _write(draft, {}, texts="all", results=results, command=command)
    return root


def remove_model(folder: str | Path, model: str, *, corpus: str = "", command: str = "") -> Path:
    """Remove a model's scores and probes from a bank; results, card and manifest are made anew.

    Reports in the bank stay as they are.

    Args:
        folder: the bank.
        model: as the bank names it: its split, its name or its id.
        corpus: remove it from this corpus only; "" = from all.
        command: how to remove it again, for the card.

    Raises:
        UnknownNameError: the bank has no such model, or no scores of this corpus.

    >>> remove_model("my-bank", "gpt2")  # doctest: +SKIP
    """
    scores = layout.read_manifest(Path(folder))["scores"]
    if corpus and corpus not in scores:
        raise unknown_name("scored corpus", corpus, scores)
    searched = {corpus: scores[corpus]} if corpus else scores
    which = [(name, slug) for name, models in searched.items() if (slug := split_of(models, model))]
    if not which:
        names = {signature["model"]["name"] for signature in layout.signatures({"scores": searched})}
        raise unknown_name("model", model, sorted(names))
    return remove_scores(folder, which, command=command)


def split_of(models: Mapping[str, Mapping[str, Any]], model: str) -> str:
    """Return the split of a model that is named by split, name or id; "" = it is none of these."""
    known = ((slug, signature["model"]) for slug, signature in sorted(models.items()))
    return next((slug for slug, facts in known if model in (slug, facts["name"], facts["model_id"])), "")


def package_versions() -> dict[str, str]:
    results = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            results[name] = version(name)
        except PackageNotFoundError:
            results[name] = "not installed"
    return results


def strip_texts(bank: str | Path, out: str | Path, *, command: str = "") -> Path:
    """Copy a bank, with ids and scores only of corpora whose texts may not be published; return the copy.

    Args:
        bank: the bank; it stays as it is.
        out: a new or empty folder, or one that holds this very copy.
        command: how to copy it again, for the card; it follows the commands of the bank.

    Raises:
        BankError: no whole bank, `out` holds something, or a report quotes such a text.

    >>> strip_texts("my-bank", "public-bank")  # doctest: +SKIP
    """
    source, target = Path(bank), Path(out)
    layout.refuse_newer(source, layout.read_manifest(source))
    if real_path(target) == real_path(source):
        raise BankError(f"{target} is not empty; choose a new folder for the bank without texts")
    with locked_where_writable(source), writing.written_anew(target, purpose="the bank without texts") as staged:
        manifest = check_locked(source, reports="free")
        private = [name for name in manifest["corpora"] if not may_publish(name, manifest["corpora"][name])]
        refuse_quoted_texts(source, [(n, tables.read_table(source / layout.items_path(n))) for n in private])
        for path in (layout.MANIFEST, *layout.bank_files(source)):
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / path, staged / path)
        _write(Draft(root=staged, manifest=manifest), {}, texts="redistributable", command=command)
    return target


def _changes(manifest: Mapping[str, Any], hashes: Mapping[str, str]) -> Iterator[str]:
    """Yield in words which tables are new, other or gone; long views follow their scored tables, and are not named."""
    before, now = (
        {path: x for path, x in files.items() if path.endswith(".parquet") and not path.startswith(f"{layout.LONG}/")}
        for files in (manifest.get("files", {}), hashes)
    )
    sizes = {name: facts["n_items"] for name, facts in manifest["corpora"].items()}
    corpora = {layout.items_path(name): f"{name} ({n:,} items)" for name, n in sizes.items()}
    names = {place: str(manifest["scores"][place[0]][place[1]]["model"]["name"]) for place in layout.tables(manifest)}
    scores = {layout.scores_path(*place): name for place, name in names.items()}
    probes = {
        path: f"{signature['model']['name']} on {corpus}"
        for corpus, models in manifest.get(layout.PROBES, {}).items()
        for slug, signature in models.items()
        for path in layout.probe_paths(corpus, slug)
    }
    new = [path for path in now if path not in before]
    other = [path for path in now if path in before and before[path] != now[path]]
    gone = [path for path in before if path not in now]
    for verb, paths in (("added", new), ("changed", other)):
        if named := [corpora[path] for path in paths if path in corpora]:
            yield f"{verb} items: {_few(named)}"
        if models := [scores[path] for path in paths if path in scores]:
            yield f"{verb} {plural(len(models), 'scored table')}: {_few(models)}"
        if result := [probes[path] for path in paths if path in probes]:
            yield f"{verb} probes: {_few(result)}"
        if rest := [path for path in paths if path not in corpora | scores | probes and path != layout.SUMMARY]:
            yield f"{verb} {_few(rest)}"
    if gone:
        yield f"removed {_few(gone)}"


def _few(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return ", ".join(known[:MOST_NAMES]) + more
