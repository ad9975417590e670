"""What becomes of submissions: in, a store's open pull requests or its folder; out, verdicts, and the bank made anew.

`review` looks at pull requests, which may only add the files of submissions. `build_store` makes the tables, results,
card and manifest of a store from the submissions that were merged: nothing else writes them, so that submissions never
conflict. Tables stay in their files until they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.cards.bank.layout import INDEX, SUBMISSIONS, read_manifest, scores_path
from pairbank.cards.bank.tables import differing_keys, same_cells
from pairbank.cards.bank.writing import IDENTITY, differing_key
from pairbank.cards.hub.repository import with_retries
from pairbank.cards.submissions import (
    Verdict,
    check_submission,
    download,
    record_path,
    record_problems,
    table_problems,
    text_beside,
    tombstone,
)
from pairbank.cards.write import add_scores, remove_scores
from pairbank.errors import BankError, PairbankError, spelt_out
from pairbank.files import read_json, sha256_of_file, sha256_of_text, write_json
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import Scored, open_scored
from pairbank.scoring.signature import shared

if TYPE_CHECKING:
    import datasets
    from huggingface_hub import HfApi

REPLICATED = ("model_id", "revision", "dtype", "quantisation", "prompt_format")
"""Values of a signature that a replication has like the table shown."""
ACCEPTED, REFUSED = "Accepted by pairbank.", "Not accepted by pairbank."
_KEPT = ("shown", "replication")
"""States that stay until something changes; what is refused is looked at again each time."""
MOST_FILES = 200
"""Of one pull request."""


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
    result = (folder / SUBMISSIONS).rglob("*.parquet")
    files = sorted(result, key=lambda member: (text_beside(member, "date") or "~", str(member)))
    gone = {file for file in files if Path(tombstone(str(file))).is_file()}
    states = [_withdrawn(file, folder) for file in files if file in gone]
    if shown_still := sorted({key for file in gone if (key := _shown_as(file, folder))}):
        remove_scores(folder, shown_still, results="kept")
    manifest = read_manifest(folder)
    known = _accepted_before(folder)
    new: dict[tuple[str, str], Scored] = {}
    forms: dict[str, datasets.Features] = {}
    parts: dict[str, Any] = {}
    for file in (entry for entry in files if entry not in gone):
        path = file.relative_to(folder).as_posix()
        if (before := known.get(path)) and before.seen == _seen(file, manifest):
            states.append(before)
            continue
        table, state = _accepted(file, folder, manifest)
        if table is None:
            states.append(state)
            continue
        key = (table.corpus, table.model_slug)
        if reason := _unfit(table, folder, manifest, forms):
            states.append(replace(state, state="refused", reason=reason))
            continue
        models = manifest["scores"].setdefault(table.corpus, {})
        if key not in new and table.model_slug not in models:
            new[key] = table
            models[table.model_slug] = shared(table.signature, parts)
        shown = new.get(key) or open_scored(folder / scores_path(*key))
        states.append(_state_of(state.path, state.submitter, table, shown))
    if new:
        add_scores(folder, new.values())
        manifest = read_manifest(folder)
    (folder / SUBMISSIONS).mkdir(exist_ok=True)
    states = [
        replace(state, seen=_seen(folder / state.path, manifest)) if state.state in _KEPT and not state.seen else state
        for state in states
    ]
    write_json(folder / INDEX, [asdict(state) for state in sorted(states, key=lambda value: value.path)])
    return states


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


def _accepted(file: Path, folder: Path, manifest: Mapping[str, Any]) -> tuple[Scored | None, State]:
    """Return a submission's table, or None and why it is refused."""
    path, who = file.relative_to(folder).as_posix(), text_beside(file, "submitter")
    try:
        table = open_scored(file)
        facts = manifest["corpora"].get(table.corpus)
        problems = [*table_problems(table, folder, manifest), *record_problems(file, table, facts)]
    except BankError as error:
        table, problems = None, [str(error).replace(f"{folder}/", "")]
    state = "refused" if problems else "shown"
    return (None if problems else table), State(path=path, submitter=who, state=state, reason="; ".join(problems))


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
    except BankError:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What `review` says of one pull request."""

    number: int
    title: str
    author: str
    url: str
    verdict: Verdict
    is_withdrawal: bool = False
    """It withdraws a submission; whether its author may is for the owner of the bank to decide."""
    merged: bool = False


def review(repo_id: str, *, rescore: int = 0, comment: bool = False, merge: bool = False) -> list[Reviewed]:
    """Check every open pull request of a store on the Hub, oldest first.

    A pull request may only add files under `submissions/`: tables with their records, or withdrawals. Each table is
    checked as `check_submission` does.

    Args:
        repo_id: `org/name` of the store.
        rescore: how many items of each table are scored again with the model that it names.
        comment: write the verdict as a comment, once for each commit.
        merge: merge what is accepted; withdrawals are left to the owner.

    Raises:
        PublishError: the Hub could not be reached or refused.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    result = with_retries(
        f"read the pull requests of {repo_id}",
        lambda: list(
            api.get_repo_discussions(
                repo_id, repo_type="dataset", discussion_type="pull_request", discussion_status="open"
            )
        ),
    )
    return [
        _reviewed(api, repo_id, member, rescore=rescore, comment=comment, merge=merge)
        for member in sorted(result, key=lambda member: member.num)
    ]


def _reviewed(api: HfApi, repo_id: str, pull_request: Any, *, rescore: int, comment: bool, merge: bool) -> Reviewed:  # noqa: ANN401 - the client's Discussion
    reference = f"refs/pr/{pull_request.num}"
    head, changes = with_retries(f"read {reference} of {repo_id}", lambda: _changes(api, repo_id, reference))
    verdict, is_withdrawal = _verdict(repo_id, head, changes, rescore=rescore)
    if comment:
        with_retries(
            f"comment on {reference} of {repo_id}", lambda: _say(api, repo_id, pull_request.num, head, verdict)
        )
    is_merged = merge and verdict.accepted and not is_withdrawal
    if is_merged:
        if with_retries(f"read {reference}", lambda: _commits(api, repo_id, reference))[0] != head:
            raise BankError(f"{reference} of {repo_id} was changed while it was checked; run the command again")
        with_retries(
            f"merge {reference} of {repo_id}",
            lambda: api.merge_pull_request(repo_id, pull_request.num, repo_type="dataset", comment=None),
        )
    return Reviewed(
        number=pull_request.num,
        title=pull_request.title,
        author=pull_request.author,
        url=pull_request.url,
        verdict=verdict,
        is_withdrawal=is_withdrawal,
        merged=is_merged,
    )


def _verdict(repo_id: str, head: str, changes: Mapping[str, str], *, rescore: int) -> tuple[Verdict, bool]:
    """Return what is to be said of a pull request, and whether it withdraws submissions."""
    problems = [
        f"{path}: {how}; a submission only adds files under {SUBMISSIONS}/"
        for path, how in changes.items()
        if how != "added" or not path.startswith(f"{SUBMISSIONS}/")
    ]
    tables = [path for path in changes if path.endswith(".parquet")]
    gone = [path for path in changes if path.endswith(".withdrawn.json")]
    known = {*tables, *map(record_path, tables), *gone}
    problems += [f"{path}: neither a table nor its record" for path in sorted(changes.keys() - known)]
    problems += [f"{record_path(path)} is missing" for path in tables if record_path(path) not in changes]
    if not changes:
        problems.append("it changes nothing")
    if len(changes) > MOST_FILES:
        problems.append(f"it changes {len(changes)} files; hand in at most {MOST_FILES} at a time")
    notes: list[str] = []
    for path in () if problems else tables:
        download(repo_id, record_path(path), head)
        try:
            result = check_submission(download(repo_id, path, head), repo_id, rescore=rescore)
        except BankError as error:
            result = Verdict(problems=(str(error).partition("submissions/")[2] or str(error),))
        problems += [f"{path}: {problem}" for problem in result.problems]
        notes += [f"{path}: {note}" for note in result.notes]
    return Verdict(problems=tuple(problems), notes=tuple(notes)), bool(gone)


def _changes(api: HfApi, repo_id: str, reference: str) -> tuple[str, dict[str, str]]:
    """Return the newest commit of a pull request, and what it changes of the commit of main that it is based on.

    Folders whose hash is the same on both sides are not opened.
    """
    ours = set(_commits(api, repo_id, "main"))
    theirs = _commits(api, repo_id, reference)
    base = next((commit for commit in theirs if commit in ours), None)
    if base is None:
        return theirs[0], {reference: "changed (no commit in common with main)"}
    return theirs[0], dict(_differences(api, repo_id, base, theirs[0], ""))


def _commits(api: HfApi, repo_id: str, reference: str) -> list[str]:
    return [commit.commit_id for commit in api.list_repo_commits(repo_id, repo_type="dataset", revision=reference)]


def _differences(api: HfApi, repo_id: str, base: str, head: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield (path, added, changed or removed) of the files below a folder that differ between two commits."""
    before, after = (_entries(api, repo_id, commit, folder) for commit in (base, head))
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if any(entry is not None and entry[1] for entry in (old, new)):
            yield from _differences(api, repo_id, base, head, path)
        if any(entry is not None and not entry[1] for entry in (old, new)):
            is_new, is_gone = old is None or old[1], new is None or new[1]
            yield path, "added" if is_new else "removed" if is_gone else "changed"


def _entries(api: HfApi, repo_id: str, commit: str, folder: str) -> dict[str, tuple[str, bool]]:
    """Return path -> (git's hash, whether it is a folder) of what is in a folder; nothing where there is none."""
    from huggingface_hub.errors import EntryNotFoundError
    from huggingface_hub.hf_api import RepoFolder

    listed = api.list_repo_tree(repo_id, path_in_repo=folder or None, revision=commit, repo_type="dataset")
    try:
        return {
            entry.path: (entry.tree_id, True) if isinstance(entry, RepoFolder) else (entry.blob_id, False)
            for entry in listed
        }
    except EntryNotFoundError:
        return {}


def _say(api: HfApi, repo_id: str, number: int, head: str, verdict: Verdict) -> None:
    """Comment on a pull request, unless the same was said of this commit: which items are drawn differs each time."""
    first = f"{ACCEPTED if verdict.accepted else REFUSED} Commit {head}."
    details = api.get_discussion_details(repo_id, number, repo_type="dataset")
    if not any(str(getattr(event, "content", "")).startswith(first) for event in details.events):
        lines = [f"- {spelt_out(entry)}" for entry in (*verdict.problems, *verdict.notes)]
        api.comment_discussion(repo_id, number, "\n".join([first, "", *lines]).strip(), repo_type="dataset")
