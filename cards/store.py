"""What becomes of submissions: in, a store's folder; out, the bank made anew, and what it says of each submission.

`build_store` makes the tables, results, card and manifest of a store from the submissions that were merged: nothing
else writes them, so that submissions never conflict. Tables stay in their files until they are needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.cards import submissions
from pairbank.cards.acceptance import opened
from pairbank.cards.bank.layout import DISPUTED, INDEX, SUBMISSIONS, read_manifest, scores_path
from pairbank.cards.bank.tables import differing_keys, same_cells, without_people
from pairbank.cards.hub.repository import with_retries
from pairbank.cards.write import add_scores, remove_scores
from pairbank.errors import PairbankError
from pairbank.files import read_json, sha256_of_file, sha256_of_text, write_json
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import NEAR_TIE
from pairbank.scoring.scored import Scored, open_scored
from pairbank.scoring.signature import shared

if TYPE_CHECKING:
    import datasets

_KEPT = ("shown", "replication", "disputed")
"""States that stay until something changes; what is refused is looked at again each time."""
_PATHS_AT_ONCE = 500  # that the Hub is asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    path: str
    submitter: str
    state: str
    """shown, replication, disputed, withdrawn or refused."""
    reason: str = ""
    largest_difference: Mapping[str, float] | None = None
    """Of a later one of its model: method -> largest |difference| of a score from the table shown, in its unit."""
    seen: str = ""
    """Hash of the table, its record and what the bank shows of its model: while it is the same, so is the state."""
    arrived: int = 0
    """Place in the order of arrival; those that came together have the same. Banks of before state none."""


def build_store(root: str | Path, *, repo_id: str = "") -> list[State]:
    """Make a store's tables, results, card and manifest from its submissions; return what became of each.

    The first submission of a model on a corpus is shown, in the order of arrival; what the bank already shows stays.
    Later ones of the same model are replications, with their largest difference from it. If that is more than
    rounding, both are disputed until one is withdrawn; the first stays in the bank, and its card says so. One that
    `check_submission` does not accept is left out with the reason. A withdrawn one is removed from what is shown.
    `submissions/index.json` says all of it; what was accepted before, and is the same as then, is not read again.

    Args:
        root: the store's folder: a bank with `submissions/` in it.
        repo_id: `org/name` of the store on the Hub, whose commits say in which order submissions arrived. Without it,
            those that the index does not list have arrived together; if they claim one name, neither is shown.

    Raises:
        BankError: no bank, or one whose files were changed.
        PublishError: the Hub could not be reached.

    >>> build_store("shared-bank")  # doctest: +SKIP
    """
    folder, known = Path(root), dict[str, State]()
    with contextlib.suppress(PairbankError, TypeError, KeyError):
        known = {state["path"]: State(**state) for state in read_json(folder / INDEX)}
    paths = sorted(file.relative_to(folder).as_posix() for file in (folder / SUBMISSIONS).rglob("*.parquet"))
    arrived = _arrivals(paths, known, repo_id)
    paths.sort(key=lambda path: (arrived[path], path))
    gone = [path for path in paths if (folder / submissions.tombstone(path)).is_file()]
    if shown_still := sorted({key for path in gone if (key := _shown_as(folder / path, folder))}):
        remove_scores(folder, shown_still, results="kept")
    reasons = {path: submissions.text_beside(folder / path, "reason", beside=submissions.tombstone) for path in gone}
    set_aside = {path: _state(folder, path, "withdrawn", reason) for path, reason in reasons.items()}
    while True:
        build = _Build(folder=folder, known=known, arrived=arrived)
        states = [set_aside.get(path) or build.state_of(path) for path in paths]
        if build.contested.keys() - set_aside.keys():
            set_aside |= build.contested
            continue
        states, disputed = _with_disputes(states)
        try:
            if build.new or disputed != build.disputed_before:
                add_scores(folder, build.new.values(), disputed=disputed)
        except Exception:
            without = build.without_results()
            if not without:
                raise
            set_aside |= without
        else:
            break
    manifest = read_manifest(folder)
    (folder / SUBMISSIONS).mkdir(exist_ok=True)
    states = [replace(state, arrived=arrived[state.path], seen=_seen(folder, state, manifest)) for state in states]
    write_json(folder / INDEX, [asdict(state) for state in sorted(states, key=lambda state: state.path)])
    return states


def _state(folder: Path, path: str, state: str, reason: str = "") -> State:
    return State(path=path, submitter=submissions.text_beside(folder / path, "submitter"), state=state, reason=reason)


def _arrivals(paths: Sequence[str], known: Mapping[str, State], repo_id: str) -> dict[str, int]:
    """Return each submission's place in the order of arrival: those of the index first, then as commits added them."""
    arrived = {path: known[path].arrived for path in paths if path in known}
    new = [path for path in paths if path not in known]
    groups = _in_order_of_commits(repo_id, new) if repo_id and new else [new]
    last = max((state.arrived for state in known.values()), default=0)
    return arrived | {path: number for number, group in enumerate(groups, last + 1) for path in group}


def _in_order_of_commits(repo_id: str, paths: Sequence[str]) -> list[list[str]]:
    """Return files of a store on the Hub by the commit of main that added them, oldest first; then those it lacks."""
    from huggingface_hub import HfApi

    api = HfApi()

    def commits() -> list[str]:
        return [commit.commit_id for commit in api.list_repo_commits(repo_id, repo_type="dataset")][::-1]

    history = with_retries(f"read the commits of {repo_id}", commits)

    def held(some: Sequence[str], commit: str) -> set[str]:
        parts = [some[at : at + _PATHS_AT_ONCE] for at in range(0, len(some), _PATHS_AT_ONCE)]
        infos = [api.get_paths_info(repo_id, list(part), repo_type="dataset", revision=commit) for part in parts]
        return {info.path for part in infos for info in part}

    def grouped(some: list[str], low: int, high: int) -> list[list[str]]:
        if not some or low == high:
            return [some] if some else []
        middle = (low + high) // 2
        here = with_retries(f"read {repo_id}", lambda: held(some, history[middle]))
        before, after = [path for path in some if path in here], [path for path in some if path not in here]
        return [*grouped(before, low, middle), *grouped(after, middle + 1, high)]

    return grouped(list(paths), 0, len(history))


def _with_disputes(states: Sequence[State]) -> tuple[list[State], dict[str, list[str]]]:
    """Return states in which both sides of a dispute are disputed, and a model's folder -> its disputed submissions."""
    disputed: dict[str, list[str]] = {}
    for state in states:
        if state.state == "disputed" and state.largest_difference is not None:
            disputed.setdefault(state.path.rpartition("/")[0], []).append(state.path)
    shown = [state.path for state in states if state.state == "shown"]
    for folder, paths in disputed.items():
        paths[:0] = [path for path in shown if path.rpartition("/")[0] == folder]
    both = {path for paths in disputed.values() for path in paths}
    reason = "it differs from another submission of its model by more than rounding; withdraw one of them"
    named = [replace(state, state="disputed", reason=reason) if state.path in both else state for state in states]
    return named, disputed


class _Build:
    def __init__(self, *, folder: Path, known: Mapping[str, State], arrived: Mapping[str, int]) -> None:
        self.folder, self.known, self.arrived = folder, known, arrived
        self.manifest = read_manifest(folder)
        self.disputed_before = dict(self.manifest.get(DISPUTED, {}))
        self.new: dict[tuple[str, str], Scored] = {}
        self.contested: dict[str, State] = {}  # of two that arrived together and claim one name, both
        self._paths: dict[tuple[str, str], str] = {}
        self._forms: dict[str, datasets.Features] = {}
        self._parts: dict[str, Any] = {}

    def state_of(self, path: str) -> State:
        """Return what becomes of a submission, whatever its files raise."""
        file = self.folder / path
        before = self.known.get(path)
        if before and before.seen and before.seen == _seen(self.folder, before, self.manifest):
            is_shown = before.state == "disputed" and before.largest_difference is None
            return replace(before, state="shown", reason="") if is_shown else before
        state = _state(self.folder, path, "refused")
        try:
            table = opened(file, self.manifest)
            of_record = [*submissions.record_problems(file, table, self.manifest)]
            if not of_record:  # a file in no submission's place, or without its record, claims no name
                self._contest(path, table)
            if reason := "; ".join(self._problems(table, of_record)):
                return replace(state, reason=reason)
            return self._placed(state, table)
        except Exception as error:  # noqa: BLE001 - nobody knows what a stranger's file may raise
            return replace(state, reason=submissions.reason_of(error))

    def _contest(self, path: str, table: Scored) -> None:
        """Set aside a table and a new one that arrived with it and has its name, where they are of two models."""
        for (corpus, slug), rival in self.new.items():
            other = self._paths[corpus, slug]
            if self.arrived[other] != self.arrived[path]:
                continue
            manifest = {"scores": {corpus: {slug: rival.signature}}}
            if reason := submissions.other_owner(table.signature, manifest):
                for one, both in ((path, other), (other, path)):
                    stated = f"it arrived together with {both}, which claims the name too ({reason})"
                    self.contested[one] = _state(self.folder, one, "disputed", stated)

    def _problems(self, table: Scored, of_record: Sequence[str]) -> Iterator[str]:
        """Yield what is wrong with a table, or else which columns are not of the form that its config has."""
        problems = [*submissions.table_problems(table, self.folder, self.manifest), *of_record]
        yield from problems
        if problems:
            return
        corpus = table.corpus
        if corpus not in self._forms:
            first = min(self.manifest["scores"].get(corpus, {}), default="")
            shown = open_scored(self.folder / scores_path(corpus, first)) if first else table
            self._forms[corpus] = shown.features
        if differ := differing_keys(table.features, self._forms[corpus]):
            yield f"column(s) {', '.join(differ)}: not of the form of the bank's other tables of this corpus"

    def _placed(self, state: State, table: Scored) -> State:
        """Return the state of a table without problems; the first of a model on a corpus is shown."""
        key = (table.corpus, table.model_slug)
        models = self.manifest["scores"].setdefault(table.corpus, {})
        if key not in self.new and table.model_slug not in models:
            self.new[key], self._paths[key] = table, state.path
            models[table.model_slug] = shared(table.signature, self._parts)
        shown = self.new.get(key) or open_scored(self.folder / scores_path(*key))
        if table is shown or _same(table, shown):
            return replace(state, state="shown")
        differences, is_more = differences_of(table, shown)
        return replace(state, state="disputed" if is_more else "replication", largest_difference=differences)

    def without_results(self) -> dict[str, State]:
        """Return the new tables of which no results can be made, by path, with the reason."""
        from pairbank.stats.report.report import table_summary

        states = {}
        for key, table in self.new.items():
            path = self._paths[key]
            try:
                table_summary(without_people(table))
            except Exception as error:  # noqa: BLE001 - nobody knows what a stranger's file may raise
                states[path] = _state(self.folder, path, "refused", submissions.reason_of(error))
        return states


def _seen(folder: Path, state: State, manifest: Mapping[str, Any]) -> str:
    """Return a hash of all that decides what becomes of an accepted submission, with the table that the bank shows."""
    if state.state not in _KEPT:
        return ""
    corpus, model = (name.partition("@")[0] for name in state.path.split("/")[-3:-1])
    files = manifest["files"]
    shown = [files.get(path, "") for path in (f"scores/{corpus}/{model}.parquet", f"data/{corpus}/items.parquet")]
    own = [folder / path for path in (state.path, submissions.record_path(state.path))]
    hashes = [sha256_of_file(path) if path.is_file() else "" for path in own]
    return sha256_of_text(version("pairbank"), *hashes, *shown) if all(shown) else ""


def _shown_as(file: Path, folder: Path) -> tuple[str, str] | None:
    """Return (corpus, split) where a submission's very table is the one that the bank shows, else None."""
    try:
        table = opened(file, read_manifest(folder))
        shown = open_scored(folder / scores_path(table.corpus, table.model_slug))
    except Exception:  # noqa: BLE001 - nobody knows what a stranger's file may raise
        return None
    is_same = table.signature == shown.signature and _same(table, shown)
    return (table.corpus, table.model_slug) if is_same else None


def _same(a: Scored, b: Scored) -> bool:
    return a.column_names == b.column_names and all(
        same_cells(a.arrow([name])[name], b.arrow([name])[name]) for name in a.column_names
    )


def differences_of(a: Scored, b: Scored) -> tuple[dict[str, float], bool]:
    """Return per method the largest |difference| between the scores of two tables, and whether one is beyond rounding.

    What one table lacks and the other has is beyond it. A written answer may flip where it was a near tie.
    """
    allowed, largest, is_more = submissions.rounding(str(a.signature["model"]["dtype"])), dict[str, float](), False
    for method in a.methods:
        c = ScoreColumns(method)
        common = {*a.column_names} & {*b.column_names}
        scores, flags = [name for name in (c.good, c.bad, c.delta) if name in common], [c.flags] * (c.flags in common)
        ours, theirs = (table.arrow(["item_id", *scores, *flags]).to_pandas().set_index("item_id") for table in (a, b))
        theirs = theirs.reindex(ours.index)
        distance = (ours[scores] - theirs[scores]).abs()
        largest[method] = float(np.nan_to_num(distance.max().max()))
        differs = ((distance > allowed) | (ours[scores].isna() != theirs[scores].isna())).any(axis=1)
        for name in flags:
            differs &= np.array([NEAR_TIE not in (stated if stated is not None else ()) for stated in ours[name]])
        is_more |= bool(differs.any())
    return largest, is_more
