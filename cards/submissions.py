"""Submissions to a shared bank: in, a scored table of one group; out, a pull request, a verdict, one cell, or the bank.

A store is a bank on the Hub with a folder `submissions/`. A submission is one scored table and one JSON record:

    submissions/CORPUS@ITEMS/MODEL@REVISION/SUBMITTER-HASH.parquet   (.json: who, when, command, environment, signature)

Its files have names of their own and touch no others, so that two submissions never conflict. `build_store` makes what
is shared (tables, results, card, manifest) from the accepted ones. A table keeps all its methods in one file: the
record holds each method's definition and hash.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pairbank.cards.bank.check_tables import submission_problems
from pairbank.cards.bank.layout import MANIFEST, config_name, items_path, read_manifest, scores_path
from pairbank.cards.bank.redistribution import ids_and_scores, is_left_out, may_publish
from pairbank.cards.bank.tables import read_table
from pairbank.cards.hub.repository import Repository, with_retries
from pairbank.cards.write import package_versions, remove_scores, write_bank
from pairbank.errors import BankError, unknown_name
from pairbank.files import read_json, sha256_of_file, write_json
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.scored import Scored, read_scored
from pairbank.scoring.signature import method_hashes

SUBMISSIONS = "submissions"
INDEX = f"{SUBMISSIONS}/index.json"
"""What `build_store` says of each submission."""
IDENTITY = ("model_id", "revision", "dtype", "quantisation", "prompt_format")
SUBMITTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ABOVE_ZERO_NATS = 1e-6
"""Rounding of a log-probability of a certain answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submission that was handed in, or would be in a dry run."""

    path: str
    url: str
    """The pull request; "" in a dry run."""


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


def submit(
    scored: str | Path,
    repo_id: str,
    *,
    submitter: str = "",
    command: str = "",
    date: str = "",
    dry_run: bool = False,
) -> Submitted:
    """Open a pull request that adds one scored table to a store on the Hub; check it first.

    Args:
        scored: a parquet file as `score` saves it.
        repo_id: `org/name` of the store.
        submitter: who hands it in; "" = the user of the token.
        command: how the scores were made.
        date: of the submission, YYYY-MM-DD; "" = not stated. It is never read from the clock.
        dry_run: check it and open nothing.

    Raises:
        BankError: the store does not accept it; names everything that is wrong.
        PublishError: the Hub could not be reached or refused.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    table = read_scored(scored)
    refuse(scored, check_submission(scored, repo_id))
    repository = Repository(api=HfApi(), repo_id=repo_id)
    who = submitter or with_retries("ask who you are", lambda: str(repository.api.whoami()["name"]))
    _, manifest = _hub_store(repo_id, table.corpus)
    facts = manifest["corpora"][table.corpus]
    if is_left_out(facts) or not may_publish(table.corpus, facts):
        kept = ids_and_scores(table.dataset, table.signature["methods"])
        table = Scored(dataset=kept, signature=table.signature)
    with tempfile.TemporaryDirectory() as folder:
        file = table.save(Path(folder) / "table.parquet")
        path = submission_path(table.signature, who, sha256_of_file(file))
        record = {
            "submitter": who,
            "date": date,
            "command": command,
            "environment": package_versions(),
            "sha256": sha256_of_file(file),
            "signature": table.signature,
        }
        if dry_run:
            return Submitted(path=path, url="")
        content = {path: file.read_bytes(), _record_path(path): _json(record)}

    def propose() -> str:
        made = repository.api.create_commit(
            repo_id,
            [CommitOperationAdd(name, data) for name, data in content.items()],
            commit_message=f"Add {table.model} on {table.corpus}"[:200],
            repo_type="dataset",
            create_pr=True,
        )
        return str(made.pr_url)

    return Submitted(path=path, url=with_retries(f"submit to {repo_id}", propose))


def withdraw(path: str, repo_id: str, *, reason: str, date: str = "", dry_run: bool = False) -> str:
    """Open a pull request that withdraws a submission from a store; return its address ("" in a dry run).

    The submission stays; a file beside it states the reason, and the next `build_store` no longer shows it.

    Args:
        path: of the submission's table in the store, as `submit` returned it.
        repo_id: `org/name` of the store.
        reason: why, for readers.
        date: of the withdrawal, YYYY-MM-DD; "" = not stated.
        dry_run: look whether the store has it, and open nothing.

    Raises:
        BankError: the store has no such submission, it is withdrawn already, or no reason is given.
        PublishError: the Hub could not be reached or refused.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    if not reason.strip():
        raise BankError(f"{path}: a withdrawal needs a reason")
    repository = Repository(api=HfApi(), repo_id=repo_id)
    files = with_retries(f"read {repo_id}", repository.read).files
    if not path.startswith(f"{SUBMISSIONS}/") or not path.endswith(".parquet") or path not in files:
        raise BankError(f"{path[:300]}: {repo_id} has no such submission; expected {SUBMISSIONS}/…/NAME.parquet")
    tombstone = _tombstone(path)
    if tombstone in files:
        raise BankError(f"{path}: withdrawn already")
    if dry_run:
        return ""

    def propose() -> str:
        made = repository.api.create_commit(
            repo_id,
            [CommitOperationAdd(tombstone, _json({"reason": reason.strip(), "date": date}))],
            commit_message=f"Withdraw {path.rpartition('/')[2]}",
            repo_type="dataset",
            create_pr=True,
        )
        return str(made.pr_url)

    return with_retries(f"withdraw from {repo_id}", propose)


def submission_path(signature: Mapping[str, Any], submitter: str, sha256: str) -> str:
    """Return where a submission's table is in its store.

    Raises:
        BankError: the submitter cannot name a file.
    """
    if not SUBMITTER.fullmatch(submitter):
        raise BankError(f"submitter {submitter[:80]!r} cannot name a file; use letters, digits, '_' and '-'")
    model, corpus = signature["model"], signature["corpus"]
    slug = scores_path(corpus["name"], model["slug"]).rpartition("/")[2].removesuffix(".parquet")
    revision = re.sub(r"[^\w.-]+", "_", model["revision"], flags=re.ASCII)[:12] or "none"
    place = f"{config_name(corpus['name'])}@{corpus['items_sha256'][:12]}/{slug}@{revision}"
    return f"{SUBMISSIONS}/{place}/{submitter}-{sha256[:12]}.parquet"


def check_submission(file: str | Path, against: str | Path) -> list[str]:
    """Return what is wrong with a scored table that is to join a store; none = it is accepted.

    Of a store on the Hub, its manifest and the items of this corpus are downloaded, and nothing else.

    Args:
        file: the table; the record beside it (same name, .json) is checked where there is one.
        against: folder of the store, or `org/name` on the Hub.

    Raises:
        BankError: the file is no scored table, or `against` is no bank.
        PublishError: the Hub could not be reached.
    """
    table = read_scored(file)
    place = Path(against)
    if place.is_dir():
        root, manifest = place, read_manifest(place)
    else:
        root, manifest = _hub_store(str(against), table.corpus)
    return [*_problems(table, root, manifest), *_record_problems(Path(file), table)]


def _problems(table: Scored, root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a table that is to stand in a store."""
    facts = manifest["corpora"].get(table.corpus)
    if facts is None:
        yield f"the store has no corpus {table.corpus!r}; it has {', '.join(manifest['corpora'])}"
        return
    yield from submission_problems(table, read_table(root / items_path(table.corpus)), facts)
    yield from _range_problems(table)
    others = manifest["scores"].get(table.corpus, {})
    for slug, other in sorted(others.items())[:1]:
        if other["corpus"]["items_sha256"] != table.signature["corpus"]["items_sha256"]:
            yield f"scored on other items than {slug}, the first model of this corpus in the store"
        hashes = [method_hashes(signature) for signature in (other, table.signature)]
        if differ := sorted(m for m in {**hashes[0], **hashes[1]} if hashes[0].get(m) != hashes[1].get(m)):
            yield (
                f"method(s) {', '.join(differ)}: missing, not in the store, or defined differently; score with "
                f"{','.join(hashes[0])}"
            )


def _range_problems(table: Scored) -> Iterator[str]:
    """Yield log-probabilities above 0 or infinite; NaN is what an item over the model's length has."""
    arrow: pa.Table = table.dataset.with_format("arrow")[:]
    for method, definition in table.signature["methods"].items():
        layout, names = MethodLayout.from_dict(definition["layout"]), ScoreColumns(method)
        wanted = [names.logprobs] if layout.has_logprobs else [names.good, names.bad] if method == "direct" else []
        for name in (one for one in (*wanted, names.delta) if one in arrow.column_names):
            cells = arrow[name].combine_chunks()
            cells = cells.flatten() if pa.types.is_nested(cells.type) else cells
            values = cells.to_numpy(zero_copy_only=False).astype(np.float64)
            if n := int(np.isinf(values).sum()):
                yield f"column {name} is infinite in {n} value(s)"
            if name != names.delta and (n := int((values > _ABOVE_ZERO_NATS).sum())):
                yield f"column {name} is above 0 in {n} value(s); a log-probability is at most 0"


def _record_problems(file: Path, table: Scored) -> Iterator[str]:
    """Yield where a submission's record or path is not that of its table; a table outside a store needs no record."""
    path = Path(_record_path(str(file)))
    inside = SUBMISSIONS in file.parts
    if not path.is_file():
        if inside:
            yield f"{path.name} is missing; a submission has its record beside it"
        return
    record = read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("submitter"), str):
        yield f"{path.name} names no submitter"
        return
    if record.get("sha256") != sha256_of_file(file):
        yield f"{path.name}: its sha256 is not that of the table"
    if record.get("signature") != table.signature:
        yield f"{path.name}: its signature is not that of the table"
    if not SUBMITTER.fullmatch(record["submitter"]):
        yield f"{path.name}: submitter {record['submitter'][:80]!r} cannot name a file"
    elif inside:
        wanted = submission_path(table.signature, record["submitter"], sha256_of_file(file))
        found = "/".join(file.parts[-4:])
        if found != wanted:
            yield f"the path is {found}, expected {wanted}"


def build_store(root: str | Path) -> list[State]:
    """Make a store's tables, results, card and manifest from its submissions; return what became of each.

    The first submission of a model on a corpus is shown (by date, then path; what the bank already shows stays). Later
    ones of the same model are replications, with their largest difference from it. One that `check_submission` does
    not accept is left out with the reason. A withdrawn one is removed from what is shown.
    `submissions/index.json` says all of it.

    Args:
        root: the store's folder: a bank with `submissions/` in it.

    Raises:
        BankError: no bank, or one that is not whole.
    """
    folder = Path(root)
    files = sorted((folder / SUBMISSIONS).rglob("*.parquet"), key=lambda one: (_text(one, "date") or "~", str(one)))
    gone = [file for file in files if Path(_tombstone(str(file))).is_file()]
    states = [_withdrawn(file, folder) for file in gone]
    if shown_still := sorted({key for file in gone if (key := _shown_as(file, folder))}):
        remove_scores(folder, shown_still)
    manifest = read_manifest(folder)
    new: dict[tuple[str, str], Scored] = {}
    for file in (one for one in files if one not in gone):
        table, state = _accepted(file, folder, manifest)
        if table is None:
            states.append(state)
            continue
        key = (table.corpus, table.model_slug)
        models = manifest["scores"].setdefault(table.corpus, {})
        if key not in new and table.model_slug not in models:
            new[key] = table
            models[table.model_slug] = table.signature
        shown = new.get(key) or read_scored(folder / scores_path(*key))
        states.append(_state_of(state.path, state.submitter, table, shown))
    if new:
        write_bank(folder, scored=list(new.values()))
    (folder / SUBMISSIONS).mkdir(exist_ok=True)
    write_json(folder / INDEX, [asdict(state) for state in sorted(states, key=lambda one: one.path)])
    return states


def _accepted(file: Path, folder: Path, manifest: Mapping[str, Any]) -> tuple[Scored | None, State]:
    """Return a submission's table, or None and why it is refused."""
    path, who = file.relative_to(folder).as_posix(), _text(file, "submitter")
    try:
        table = read_scored(file)
        problems = [*_problems(table, folder, manifest), *_record_problems(file, table)]
    except BankError as error:
        table, problems = None, [str(error).replace(f"{folder}/", "")]
    state = "refused" if problems else "shown"
    return (None if problems else table), State(path=path, submitter=who, state=state, reason="; ".join(problems))


def _withdrawn(file: Path, folder: Path) -> State:
    """Return the state of a withdrawn submission, with its reason."""
    path, who = file.relative_to(folder).as_posix(), _text(file, "submitter")
    return State(path=path, submitter=who, state="withdrawn", reason=_text(file, "reason", beside=_tombstone))


def _shown_as(file: Path, folder: Path) -> tuple[str, str] | None:
    """Return (corpus, split) where a submission's very table is the one that the bank shows, else None."""
    try:
        table = read_scored(file)
        shown = read_scored(folder / scores_path(table.corpus, table.model_slug))
    except BankError:
        return None
    is_same = table.signature == shown.signature and table.dataset.to_list() == shown.dataset.to_list()
    return (table.corpus, table.model_slug) if is_same else None


def _state_of(path: str, submitter: str, table: Scored, shown: Scored) -> State:
    """Return whether a table is the one shown, or how far it is from it."""
    ours, theirs = table.signature["model"], shown.signature["model"]
    for key in IDENTITY:
        if (ours.get(key) or None) != (theirs.get(key) or None):
            reason = (
                f"{key} is {ours.get(key)!r}; the store shows {theirs.get(key)!r} under the name {shown.model_slug}"
            )
            return State(path=path, submitter=submitter, state="refused", reason=f"{reason}; score under another name")
    if table is shown or table.dataset.to_list() == shown.dataset.to_list():
        return State(path=path, submitter=submitter, state="shown")
    return State(
        path=path, submitter=submitter, state="replication", largest_difference=_largest_differences(table, shown)
    )


def _largest_differences(a: Scored, b: Scored) -> dict[str, float]:
    """Return per method the largest |difference| between the scores of two tables of the same items."""
    frames = [table.to_pandas().set_index("item_id") for table in (a, b)]
    found = {}
    for method in a.methods:
        name = ScoreColumns(method).delta
        differences = (frames[0][name] - frames[1][name].reindex(frames[0].index)).abs().dropna()
        found[method] = float(differences.max()) if len(differences) else 0.0
    return found


def fetch(repo_id: str, *, model: str, corpus: str) -> Scored:
    """Return one model's scores of one corpus from a bank on the Hub; only the manifest and this table are downloaded.

    Args:
        repo_id: `org/name` of the bank.
        model: as the bank names it: its split, its name or its id.
        corpus: its name.

    Raises:
        UnknownNameError: the bank has no such corpus or model.
        PublishError: the Hub could not be reached.
    """
    root, manifest = _hub_store(repo_id, "")
    if corpus not in manifest["scores"]:
        raise unknown_name("scored corpus", corpus, manifest["scores"])
    models = manifest["scores"][corpus]
    slug = next(
        (s for s, one in sorted(models.items()) if model in (s, one["model"]["name"], one["model"]["model_id"])), None
    )
    if slug is None:
        raise unknown_name("model", model, models)
    return read_scored(_download(repo_id, scores_path(corpus, slug), root.name))


def _hub_store(repo_id: str, corpus: str) -> tuple[Path, dict[str, Any]]:
    """Return where a store's manifest and the items of one corpus are in the Hub's cache, and the manifest."""
    manifest_file = _download(repo_id, MANIFEST, None)
    root = manifest_file.parent
    manifest = read_manifest(root)
    if corpus in manifest["corpora"]:
        _download(repo_id, items_path(corpus), root.name)
    return root, manifest


def _download(repo_id: str, path: str, revision: str | None) -> Path:
    """Return where a file of a dataset on the Hub is in the cache: snapshots/REVISION/PATH."""
    from huggingface_hub import HfApi

    def download() -> str:
        return str(HfApi().hf_hub_download(repo_id, path, repo_type="dataset", revision=revision))

    return Path(with_retries(f"download {path} of {repo_id}", download))


def _record_path(path: str) -> str:
    return f"{path.removesuffix('.parquet')}.json"


def _tombstone(path: str) -> str:
    return f"{path.removesuffix('.parquet')}.withdrawn.json"


def _text(file: Path, key: str, *, beside: Callable[[str], str] = _record_path) -> str:
    """Return a text of the record beside a submission, or of its withdrawal; "" where there is none."""
    path = Path(beside(str(file)))
    try:
        value = json.loads(path.read_bytes()).get(key, "")
    except (OSError, ValueError, AttributeError):
        return ""
    return value if isinstance(value, str) else ""


def _json(value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


def refuse(file: str | Path, problems: list[str]) -> None:
    """Raise an error that names everything that is wrong with a submission, if anything is.

    Raises:
        BankError: there are problems.
    """
    if problems:
        raise BankError(f"{file}: the store does not accept it:\n" + "\n".join(f"  {one}" for one in problems))
