"""A repository on the Hub: its files, and one commit that changes them or nothing.

Every call goes through `huggingface_hub`, with the token of the environment or of `hf auth login`; an error says what
the Hub said, never the token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pairbank.cards.hub.changes import Changes, LocalFile, RemoteFile
from pairbank.errors import PairbankError, PublishError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

logger = logging.getLogger(__name__)

T = TypeVar("T")
Kind = Literal["dataset", "space", "model"]
PAUSES_SECONDS = (1.0, 2.0, 4.0, 8.0)
"""Before each new try; after the last one the error is the user's."""
PASSING = (408, 412, 429, 500, 502, 503, 504)
"""Statuses after which the same call may succeed; 412: somebody has committed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    revision: str
    """Commit of main; "" = there is no such repository."""
    files: Mapping[str, RemoteFile]
    private: bool | None = None
    unasked: str = ""
    """Why this is not what is there: the Hub could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    api: HfApi
    repo_id: str
    kind: Kind = "dataset"

    @property
    def url(self) -> str:
        return f"{self.api.endpoint}/{self.kind}s/{self.repo_id}"

    def read(self) -> Remote:
        from huggingface_hub.errors import RepositoryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        try:
            info = self.api.repo_info(self.repo_id, repo_type=self.kind)
        except RepositoryNotFoundError:
            return Remote(revision="", files={})
        revision = str(info.sha)
        listed = self.api.list_repo_tree(self.repo_id, recursive=True, revision=revision, repo_type=self.kind)
        files = {
            f.path: RemoteFile(n_bytes=f.size, etag=f.lfs.sha256 if f.lfs else f.blob_id)
            for f in listed
            if isinstance(f, RepoFile)
        }
        return Remote(revision=revision, files=files, private=info.private)

    def content(self, path: str, revision: str) -> bytes:
        result = self.api.hf_hub_download(self.repo_id, path, revision=revision, repo_type=self.kind)
        return Path(result).read_bytes()

    def create(self, *, private: bool | None) -> None:
        sdk = "static" if self.kind == "space" else None
        self.api.create_repo(self.repo_id, repo_type=self.kind, private=private, exist_ok=True, space_sdk=sdk)

    def commit(self, local: Mapping[str, LocalFile], changes: Changes, *, message: str, parent: str) -> str:
        """Make one commit on top of `parent`, its large files uploaded first; return its id."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[Any] = [
            CommitOperationAdd(change.path, local[change.path].content) for change in (*changes.added, *changes.changed)
        ]
        operations += [CommitOperationDelete(change.path) for change in changes.removed]
        commit = self.api.create_commit(
            self.repo_id, operations, commit_message=message, repo_type=self.kind, parent_commit=parent
        )
        return str(commit.oid)

    def propose(self, content: Mapping[str, bytes], *, message: str, description: str | None = None) -> str:
        from huggingface_hub import CommitOperationAdd

        operations = [CommitOperationAdd(path, data) for path, data in content.items()]
        create = partial(self.api.create_commit, repo_type=self.kind, create_pr=True)
        commit = create(self.repo_id, operations, commit_message=message, commit_description=description)
        return str(commit.pr_url)


def with_retries(what: str, call: Callable[[], T]) -> T:
    """Return what a call gives; try again, a few times and with growing pauses, where the Hub was busy or changed."""
    for pause in (*PAUSES_SECONDS, None):
        try:
            return call()
        except PairbankError:
            raise
        except (_http_error(), OSError, RuntimeError, ValueError) as error:
            cause = _http_cause(error)
            if pause is None or not _is_passing(cause):
                raise PublishError(f"could not {what}: {_advice(cause)}") from None
            logger.info("%s; trying again in %g s", scrubbed(str(cause)).splitlines()[0], pause)
        time.sleep(pause)
    raise AssertionError  # the last round returns or raises


def why_unreachable(call: Callable[[], T]) -> T | str:
    """Return what a call gives, or in words why the Hub could not be asked; what the Hub answers is no such reason."""
    try:
        return call()
    except (_http_error(), OSError) as error:
        cause = _http_cause(error)
        if status_of(cause) is not None:
            raise
        return scrubbed(str(cause)).splitlines()[0]


def _http_error() -> type[Exception]:
    from huggingface_hub.errors import HfHubHTTPError

    return HfHubHTTPError.__bases__[0]


def _http_cause(error: BaseException) -> BaseException:
    """Return the HTTP error behind an error of the client, which wraps what goes wrong in an upload."""
    result: BaseException | None = error
    while result is not None and not isinstance(result, _http_error()):
        result = result.__cause__
    return result or error


def status_of(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _is_passing(error: BaseException) -> bool:
    from huggingface_hub.errors import OfflineModeIsEnabled

    if isinstance(error, OfflineModeIsEnabled):
        return False
    is_http = isinstance(error, (_http_error(), ConnectionError, TimeoutError))
    status = status_of(error)
    return is_http and (status is None or status in PASSING)


def _advice(error: BaseException) -> str:
    advice = {
        401: "log in (hf auth login) or set HF_TOKEN to a token with write access",
        403: "your token may not write there; use one that may, or another organisation",
        404: "check the name of the repository, and that your token may see it",
        412: "others keep committing there; try again in a moment",
    }.get(status_of(error) or 0, "try again later" if _is_passing(error) else "")
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    text = scrubbed("; ".join(dict.fromkeys([lines[0], getattr(error, "server_message", None) or lines[0]])))
    return f"{text} ({advice})" if advice else text


def scrubbed(text: str) -> str:
    """Return a text without the user's token, should an error carry it."""
    from huggingface_hub import get_token

    token = get_token()
    return text.replace(token, "<token>") if token else text
