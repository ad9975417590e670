"""Pull requests of a store on the Hub: in, the open ones; out, a verdict on each, and what is accepted merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pairbank.cards.acceptance import MOST_RECORD_BYTES, MOST_TABLE_BYTES
from pairbank.cards.bank.layout import SUBMISSIONS
from pairbank.cards.hub.repository import with_retries
from pairbank.cards.submissions import WITHDRAWN, Verdict, check_submission, download, judged, record_path
from pairbank.errors import BankError, spelt_out
from pairbank.scoring.scored import open_scored

if TYPE_CHECKING:
    from huggingface_hub import Discussion, HfApi

ACCEPTED, REFUSED = "Accepted by pairbank.", "Not accepted by pairbank."
MOST_FILES = 200
"""Of one pull request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
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
    checked as `check_submission` does. What one pull request raises is its verdict, and stops no other.

    Args:
        repo_id: `org/name` of the store.
        rescore: how many items of each table are scored again with the model that it names.
        comment: write the verdict as a comment, once for each commit.
        merge: merge what is accepted; withdrawals are left to the owner.

    Raises:
        PublishError: the Hub could not be reached or refused.

    >>> review("acme/shared-bank", rescore=20)  # doctest: +SKIP
    """
    from huggingface_hub import HfApi

    api = HfApi()
    opened = partial(api.get_repo_discussions, repo_type="dataset", discussion_type="pull_request")
    proposals = with_retries(
        f"read the pull requests of {repo_id}", lambda: list(opened(repo_id, discussion_status="open"))
    )
    signatures: list[Mapping[str, Any]] = []  # of what was merged
    reviewed = []
    for proposal in sorted(proposals, key=lambda proposal: proposal.num):
        pull_request = _PullRequest(api=api, repo_id=repo_id, proposal=proposal, before=tuple(signatures))
        verdict, merged = judged(partial(pull_request.verdict, rescore)), False
        is_withdrawal = any(path.endswith(WITHDRAWN) for path in pull_request.changes)
        if merge and verdict.accepted and not is_withdrawal:
            verdict = judged(partial(pull_request.merged, verdict))
            merged = verdict.accepted
            signatures += pull_request.signatures if merged else []
        if comment and pull_request.head:
            verdict = pull_request.commented(verdict)
        reviewed.append(
            Reviewed(
                number=proposal.num,
                title=proposal.title,
                author=proposal.author,
                url=proposal.url,
                verdict=verdict,
                is_withdrawal=is_withdrawal,
                merged=merged,
            )
        )
    return reviewed


@dataclass(slots=True, kw_only=True)
class _PullRequest:
    api: HfApi
    repo_id: str
    proposal: Discussion
    before: tuple[Mapping[str, Any], ...]
    """Signatures of what was merged a moment ago: the store does not show it yet, but its names are taken."""
    signatures: list[Mapping[str, Any]] = field(default_factory=list)
    head: str = ""  # its newest commit; "" until it was read
    changes: dict[str, str] = field(default_factory=dict)  # path -> added, changed or removed
    sizes: dict[str, int] = field(default_factory=dict)  # path -> bytes of its files in folders that were opened

    @property
    def reference(self) -> str:
        return f"refs/pr/{self.proposal.num}"

    def verdict(self, rescore: int) -> Verdict:
        with_retries(f"read {self.reference} of {self.repo_id}", self._read)
        tables = [path for path in self.changes if path.endswith(".parquet")]
        problems = [*self._problems(tables)]
        notes: list[str] = []
        for path in () if problems else tables:
            verdict = judged(partial(self._table_verdict, path, rescore))
            problems += [f"{path}: {problem}" for problem in verdict.problems]
            notes += [f"{path}: {note}" for note in verdict.notes]
        return Verdict(problems=tuple(problems), notes=tuple(notes))

    def _problems(self, tables: list[str]) -> Iterator[str]:
        for path, how in self.changes.items():
            if how != "added" or not path.startswith(f"{SUBMISSIONS}/"):
                yield f"{path}: {how}; a submission only adds files under {SUBMISSIONS}/"
        known = {*tables, *map(record_path, tables), *(path for path in self.changes if path.endswith(WITHDRAWN))}
        yield from (f"{path}: neither a table nor its record" for path in sorted(self.changes.keys() - known))
        yield from (f"{record_path(path)} is missing" for path in tables if record_path(path) not in self.changes)
        for path in self.changes.keys() & self.sizes.keys():
            n_bytes, most = self.sizes[path], MOST_TABLE_BYTES if path in tables else MOST_RECORD_BYTES
            if n_bytes > most:
                yield f"{path}: {n_bytes:,} bytes; at most {most:,}"
        if not self.changes:
            yield "it changes nothing"
        if len(self.changes) > MOST_FILES:
            yield f"it changes {len(self.changes)} files; hand in at most {MOST_FILES} at a time"

    def _table_verdict(self, path: str, rescore: int) -> Verdict:
        download(self.repo_id, record_path(path), self.head)
        file = download(self.repo_id, path, self.head)
        before = (*self.before, *self.signatures)
        verdict = check_submission(file, self.repo_id, rescore=rescore, before=before)
        self.signatures.append(open_scored(file).signature)
        return verdict

    def merged(self, verdict: Verdict) -> Verdict:
        """Merge it as it was checked; return the verdict that it had."""
        if with_retries(f"read {self.reference}", lambda: self._commits(self.reference))[0] != self.head:
            raise BankError(
                f"{self.reference} of {self.repo_id} was changed while it was checked; run the command again"
            )
        with_retries(
            f"merge {self.reference} of {self.repo_id}",
            lambda: self.api.merge_pull_request(self.repo_id, self.proposal.num, repo_type="dataset", comment=None),
        )
        return verdict

    def commented(self, verdict: Verdict) -> Verdict:
        """Say the verdict in a comment; return it, with a note where that could not be done."""

        def comment() -> Verdict:
            with_retries(f"comment on {self.reference} of {self.repo_id}", lambda: self._comment(verdict))
            return Verdict(problems=())

        return replace(verdict, notes=(*verdict.notes, *judged(comment).problems))

    def _comment(self, verdict: Verdict) -> None:
        """Comment, unless the same was said of this commit: which items are drawn differs each time."""
        first = f"{ACCEPTED if verdict.accepted else REFUSED} Commit {self.head}."
        details = self.api.get_discussion_details(self.repo_id, self.proposal.num, repo_type="dataset")
        if not any(str(getattr(event, "content", "")).startswith(first) for event in details.events):
            lines = [f"- {spelt_out(line)}" for line in (*verdict.problems, *verdict.notes)]
            text = "\n".join([first, "", *lines]).strip()
            self.api.comment_discussion(self.repo_id, self.proposal.num, text, repo_type="dataset")

    def _read(self) -> None:
        """Read the newest commit, and what it changes of the commit of main that it is based on."""
        ours = set(self._commits("main"))
        theirs = self._commits(self.reference)
        base = next((commit for commit in theirs if commit in ours), None)
        self.head, self.changes = theirs[0], {self.reference: "changed (no commit in common with main)"}
        if base is not None:
            self.changes = dict(self._differences(base, ""))

    def _commits(self, reference: str) -> list[str]:
        commits = self.api.list_repo_commits(self.repo_id, repo_type="dataset", revision=reference)
        return [commit.commit_id for commit in commits]

    def _differences(self, base: str, folder: str) -> Iterator[tuple[str, str]]:
        """Yield (path, added, changed or removed) of the files below a folder that are not those of another commit."""
        before, after = (self._entries(commit, folder) for commit in (base, self.head))
        for path in sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)):
            is_folder = [side[path][1] if path in side else None for side in (before, after)]
            if True in is_folder:
                yield from self._differences(base, path)
            if False in is_folder:
                was, now = (is_inner is False for is_inner in is_folder)
                yield path, "changed" if was and now else "removed" if was else "added"

    def _entries(self, commit: str, folder: str) -> Mapping[str, tuple[str, bool]]:
        """Return path -> (git's hash, whether it is a folder) of what is in a folder; nothing where there is none."""
        from huggingface_hub.errors import EntryNotFoundError
        from huggingface_hub.hf_api import RepoFolder

        listed = self.api.list_repo_tree(
            self.repo_id, path_in_repo=folder or None, revision=commit, repo_type="dataset"
        )
        entries = dict[str, tuple[str, bool]]()
        try:
            for file in listed:
                if isinstance(file, RepoFolder):
                    entries[file.path] = file.tree_id, True
                    continue
                entries[file.path] = file.blob_id, False
                if commit == self.head:
                    self.sizes[file.path] = file.size
        except EntryNotFoundError:
            pass
        return entries
