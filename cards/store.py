"""What becomes of submissions: in, a store's folder; out, the bank made anew, and what it says of each submission.

`build_store` makes the tables, results, card and manifest of a store from the submissions that were merged: nothing
else writes them, so that submissions never conflict. Tables stay in their files until they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.cards.bank.layout import INDEX, SUBMISSIONS, read_manifest, scores_path
from pairbank.cards.bank.tables import differing_keys, same_cells, without_people
from pairbank.cards.bank.writing import IDENTITY, differing_key
from pairbank.cards.submissions import (
    reason_of,
    record_path,
    record_problems,
    table_problems,
    text_beside,
    tombstone,
)
from pairbank.cards.write import add_scores, remove_scores
from pairbank.errors import PairbankError
from pairbank.files import read_json, sha256_of_file, sha256_of_text, write_json
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import Scored, open_scored
from pairbank.scoring.signature import shared

if TYPE_CHECKING:
    import datasets

REPLICATED = ("model_id", "revision", "dtype", "quantisation", "prompt_format")
"""Values of a signature that a replication has like the table shown."""
_KEPT = ("shown", "replication")
"""States that stay until something changes; what is refused is looked at again each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a store says of one submission."""

    path: str
    submitter: str
    state: str
    """shown, replication, withdrawn or refused."""
    reason: str = ""
    largest_difference: Mapping[str, float] | None = None
    """Of a replication: method -> largest |difference| of a score from the table shown, in the method's unit."""
    seen: str = ""
    """Hash of the table, its record and what the bank shows of its model: while it is the same, so is the state."""


def build_store(root: str | Path) -> list[State]:
    """Make a store's tables, results, card and manifest from its submissions; return what became of each.

    The first submission of a model on a corpus is shown (by date, then path; what the bank already shows stays). Later
    ones of the same model are replications, with their largest difference from it. One that `check_submission` does
    not accept is left out with the reason. A withdrawn one is removed from what is shown.
    `submissions/index.json` says all of it; what was accepted before, and is the same as then, is not read again.

    Args:
        root: the store's folder: a bank with `submissions/` in it.

    Raises:
        BankError: no bank, or one whose files were changed.
    """
    folder = Path(root)
    found = (folder / SUBMISSIONS).rglob("*.parquet")
    files = sorted(found, key=lambda file: (text_beside(file, "date") or "~", str(file)))
    gone = {file for file in files if Path(tombstone(str(file))).is_file()}
    withdrawn = [_withdrawn(file, folder) for file in files if file in gone]
    if shown_still := sorted({key for file in gone if (key := _shown_as(file, folder))}):
        remove_scores(folder, shown_still, results="kept")
    refused: dict[str, str] = {}
    while True:
        build = _Build(folder=folder, manifest=read_manifest(folder), refused=refused)
        states = [*withdrawn, *(build.state_of(file) for file in files if file not in gone)]
        try:
            if build.new:
                add_scores(folder, build.new.values())
        except Exception:
            without = build.without_results()
            if not without:
                raise
            refused |= without
        else:
            break
    manifest = read_manifest(folder)
    (folder / SUBMISSIONS).mkdir(exist_ok=True)
    states = [
        replace(state, seen=_seen(folder / state.path, manifest)) if state.state in _KEPT and not state.seen else state
        for state in states
    ]
    write_json(folder / INDEX, [asdict(state) for state in sorted(states, key=lambda value: value.path)])
    return states


class _Build:
    """A store while it is built: what the bank shows, and what is new in it."""

    def __init__(self, *, folder: Path, manifest: dict[str, Any], refused: Mapping[str, str]) -> None:
        self.folder, self.manifest, self.refused = folder, manifest, refused
        self.known = _accepted_before(folder)
        self.new: dict[tuple[str, str], Scored] = {}
        self._paths: dict[tuple[str, str], str] = {}
        self._forms: dict[str, datasets.Features] = {}
        self._parts: dict[str, Any] = {}

    def state_of(self, file: Path) -> State:
        """Return what becomes of a submission, whatever its files raise."""
        path, who = file.relative_to(self.folder).as_posix(), text_beside(file, "submitter")
        if (before := self.known.get(path)) and before.seen == _seen(file, self.manifest):
            return before
        try:
            reason = self.refused.get(path) or "; ".join(self._problems(file))
            if not reason:
                return self._placed(path, who, open_scored(file))
        except Exception as error:  # noqa: BLE001 - nobody knows what a stranger's file may raise
            reason = reason_of(error)
        return State(path=path, submitter=who, state="refused", reason=reason)

    def _problems(self, file: Path) -> Iterator[str]:
        table = open_scored(file)
        facts = self.manifest["corpora"].get(table.corpus)
        problems = [*table_problems(table, self.folder, self.manifest), *record_problems(file, table, facts)]
        yield from problems
        if not problems and (reason := _unfit(table, self.folder, self.manifest, self._forms)):
            yield reason

    def _placed(self, path: str, who: str, table: Scored) -> State:
        """Return the state of a table without problems; the first of a model on a corpus is shown."""
        key = (table.corpus, table.model_slug)
        models = self.manifest["scores"].setdefault(table.corpus, {})
        if key not in self.new and table.model_slug not in models:
            self.new[key], self._paths[key] = table, path
            models[table.model_slug] = shared(table.signature, self._parts)
        return _state_of(path, who, table, self.new.get(key) or open_scored(self.folder / scores_path(*key)))

    def without_results(self) -> dict[str, str]:
        """Return path -> reason of the new tables of which no results can be made."""
        from pairbank.stats.report.report import table_summary

        reasons = {}
        for key, table in self.new.items():
            try:
                table_summary(without_people(table))
            except Exception as error:  # noqa: BLE001 - nobody knows what a stranger's file may raise
                reasons[self._paths[key]] = reason_of(error)
        return reasons


def _accepted_before(folder: Path) -> dict[str, State]:
    """Return what the last build accepted, by path; nothing where its index is of another form."""
    try:
        entries = read_json(folder / INDEX)
        states = [State(**entry) for entry in entries]
    except (PairbankError, TypeError):
        return {}
    return {state.path: state for state in states if state.state in _KEPT and state.seen}


def _place(file: Path) -> tuple[str, str]:
    """Return the two folders of a submission, of its corpus and of its model."""
    *_, corpus, model, _name = ("", "", *file.parts)
    return corpus, model


def _seen(file: Path, manifest: Mapping[str, Any]) -> str:
    """Return a hash of all that decides what becomes of an accepted submission, with the table that the bank shows."""
    place, model = (name.partition("@")[0] for name in _place(file))
    record, files = Path(record_path(str(file))), manifest["files"]
    shown = [files.get(path, "") for path in (f"scores/{place}/{model}.parquet", f"data/{place}/items.parquet")]
    own_hashes = [sha256_of_file(path) if path.is_file() else "" for path in (file, record)]
    return sha256_of_text(version("pairbank"), *own_hashes, *shown) if all(shown) else ""


def _unfit(table: Scored, folder: Path, manifest: Mapping[str, Any], forms: dict[str, datasets.Features]) -> str:
    """Return why a table cannot stand beside those that the bank shows; "" = it can.

    All splits of a config have one form, and one name is one model, on whichever corpora.
    """
    corpus, slug, ours = table.corpus, table.model_slug, table.signature["model"]
    if corpus not in forms:
        first = min(manifest["scores"].get(corpus, {}), default="")
        forms[corpus] = open_scored(folder / scores_path(corpus, first)).features if first else table.features
    if differ := differing_keys(table.features, forms[corpus]):
        return f"column(s) {', '.join(differ)}: not of the form of the bank's other tables of this corpus"
    others = {other: models[slug]["model"] for other, models in manifest["scores"].items() if slug in models}
    reasons = (_other_model(ours, others[name], f"{slug} on {name}") for name in others if name != corpus)
    return next(filter(None, reasons), "")


def _other_model(ours: Mapping[str, Any], theirs: Mapping[str, Any], name: str, keys: Sequence[str] = IDENTITY) -> str:
    """Return why a model cannot have the name of another; "" = they are one."""
    key = differing_key(ours, theirs, keys)
    stated = f"{key} is {ours.get(key)!r}; the store shows {theirs.get(key)!r} under the name {name}"
    return f"{stated}; score under another name" if key else ""


def _withdrawn(file: Path, folder: Path) -> State:
    """Return the state of a withdrawn submission, with its reason."""
    path, who = file.relative_to(folder).as_posix(), text_beside(file, "submitter")
    return State(path=path, submitter=who, state="withdrawn", reason=text_beside(file, "reason", beside=tombstone))


def _shown_as(file: Path, folder: Path) -> tuple[str, str] | None:
    """Return (corpus, split) where a submission's very table is the one that the bank shows, else None."""
    try:
        table = open_scored(file)
        shown = open_scored(folder / scores_path(table.corpus, table.model_slug))
    except Exception:  # noqa: BLE001 - nobody knows what a stranger's file may raise
        return None
    is_same = table.signature == shown.signature and _same(table, shown)
    return (table.corpus, table.model_slug) if is_same else None


def _state_of(path: str, submitter: str, table: Scored, shown: Scored) -> State:
    """Return whether a table is the one shown, or how far it is from it."""
    ours, theirs = table.signature["model"], shown.signature["model"]
    if reason := _other_model(ours, theirs, shown.model_slug, REPLICATED):
        return State(path=path, submitter=submitter, state="refused", reason=reason)
    if table is shown or _same(table, shown):
        return State(path=path, submitter=submitter, state="shown")
    return State(
        path=path, submitter=submitter, state="replication", largest_difference=_largest_differences(table, shown)
    )


def _same(a: Scored, b: Scored) -> bool:
    """Return whether two tables hold the same cells; one column of each is read at a time, and NaN equals NaN."""
    return a.column_names == b.column_names and all(
        same_cells(a.arrow([name])[name], b.arrow([name])[name]) for name in a.column_names
    )


def _largest_differences(a: Scored, b: Scored) -> dict[str, float]:
    """Return per method the largest |difference| between the scores of two tables of the same items."""
    results = {}
    for method in a.methods:
        name = ScoreColumns(method).delta
        frames = [table.arrow(["item_id", name]).to_pandas().set_index("item_id")[name] for table in (a, b)]
        differences = (frames[0] - frames[1].reindex(frames[0].index)).abs().dropna()
        results[method] = float(differences.max()) if len(differences) else 0.0
    return results
