"""Submissions to a shared bank: in, a scored table of one group; out, a pull request, or one cell of the bank.

The files of a submission have names of their own and touch no others, so that two submissions never conflict
(`pairbank.cards.submission_check`). `pairbank.cards.store` makes what is shared from the accepted ones.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairbank.cards.bank.layout import SUBMISSIONS, read_manifest, scores_path
from pairbank.cards.bank.redistribution import ids_and_scores, is_left_out, may_publish
from pairbank.cards.hub.repository import Repository, with_retries
from pairbank.cards.submission_check import (
    Verdict,
    download,
    hub_store,
    record_path,
    record_problems,
    refuse,
    submission_path,
    table_problems,
    tombstone,
)
from pairbank.cards.write import package_versions, split_of
from pairbank.errors import BankError, unknown_name
from pairbank.files import sha256_of_file
from pairbank.scoring.scored import Scored, read_scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submission that was handed in, or would be in a dry run."""

    path: str
    url: str
    """The pull request; "" in a dry run."""


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
    root, manifest = hub_store(repo_id, table.corpus)
    problems = (*table_problems(table, root, manifest), *record_problems(Path(scored), table))
    refuse(scored, Verdict(problems=problems))
    repository = Repository(api=HfApi(), repo_id=repo_id)
    who = submitter or with_retries("ask who you are", lambda: str(repository.api.whoami()["name"]))
    facts = manifest["corpora"][table.corpus]
    if is_left_out(facts) or not may_publish(table.corpus, facts):
        kept = ids_and_scores(table.dataset, table.signature["methods"])
        table = Scored(dataset=kept, signature=table.signature)
    with tempfile.TemporaryDirectory() as folder:
        file = table.save(Path(folder) / "table.parquet")
        digest = sha256_of_file(file)
        path = submission_path(table.signature, who, digest)
        record = {
            "submitter": who,
            "date": date,
            "command": command,
            "environment": package_versions(),
            "sha256": digest,
            "signature": table.signature,
        }
        if dry_run:
            return Submitted(path=path, url="")
        content = {path: file.read_bytes(), record_path(path): _json(record)}

    def propose() -> str:
        commit = repository.api.create_commit(
            repo_id,
            [CommitOperationAdd(name, data) for name, data in content.items()],
            commit_message=f"Add {table.model} on {table.corpus}"[:200],
            repo_type="dataset",
            create_pr=True,
        )
        return str(commit.pr_url)

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
    beside = tombstone(path)
    if beside in files:
        raise BankError(f"{path}: withdrawn already")
    if dry_run:
        return ""

    def propose() -> str:
        commit = repository.api.create_commit(
            repo_id,
            [CommitOperationAdd(beside, _json({"reason": reason.strip(), "date": date}))],
            commit_message=f"Withdraw {path.rpartition('/')[2]}",
            repo_type="dataset",
            create_pr=True,
        )
        return str(commit.pr_url)

    return with_retries(f"withdraw from {repo_id}", propose)


def fetch(repo_id: str | Path, *, model: str, corpus: str) -> Scored:
    """Return one model's scores of one corpus from a bank; of one on the Hub nothing else is downloaded.

    Args:
        repo_id: `org/name` of the bank, or its folder.
        model: as the bank names it: its split, its name or its id.
        corpus: its name.

    Raises:
        UnknownNameError: the bank has no such corpus or model.
        PublishError: the Hub could not be reached.
    """
    folder = Path(repo_id)
    root, manifest = (folder, read_manifest(folder)) if folder.is_dir() else hub_store(str(repo_id), "")
    if corpus not in manifest["scores"]:
        raise unknown_name("scored corpus", corpus, manifest["scores"])
    models = manifest["scores"][corpus]
    slug = split_of(models, model)
    if not slug:
        raise unknown_name("model", model, models)
    path = scores_path(corpus, slug)
    return read_scored(root / path if folder.is_dir() else download(str(repo_id), path, root.name))


def _json(value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()
