"""The state of the Hub emulator: repositories, commits and blobs, with git's and LFS's own hashes."""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LFS_SUFFIXES = (".parquet", ".arrow", ".png", ".jpg", ".gz", ".zip", ".safetensors", ".bin", ".gguf")
"""What the Hub's own .gitattributes sends to LFS."""
LFS_BYTES = 10 * 1024 * 1024


def git_oid(data: bytes, kind: str = "blob") -> str:
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Blob:
    data: bytes
    lfs: bool = False

    @functools.cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def pointer(self) -> bytes:
        size = len(self.data)
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {size}\n".encode()

    @functools.cached_property
    def oid(self) -> str:
        return git_oid(self.pointer if self.lfs else self.data)

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid

    def info(self, path: str) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "file", "oid": self.oid, "size": len(self.data), "path": path}
        if self.lfs:
            result["lfs"] = {"oid": self.sha256, "size": len(self.data), "pointerSize": len(self.pointer)}
        return result


@dataclass(frozen=True)
class Commit:
    oid: str
    title: str
    description: str
    parent: str | None
    tree: Mapping[str, Blob]


@dataclass
class PullRequest:
    """A pull request: what people and the Hub said in it, and what became of it."""

    number: int
    title: str
    author: str
    status: str = "open"
    comments: list[tuple[str, str]] = field(default_factory=list)
    """(author, text)."""
    merge_commit: str | None = None


@dataclass
class Repo:
    type: str
    id: str
    private: bool = False
    sdk: str | None = None
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    pull_requests: dict[int, PullRequest] = field(default_factory=dict)

    @property
    def n_pull_requests(self) -> int:
        return len(self.pull_requests)

    def base_of(self, oid: str) -> Commit:
        """Return the newest commit of main that a commit stands on."""
        ours, commit = set[str](), self.commits.get(self.refs["refs/heads/main"])
        while commit:
            ours.add(commit.oid)
            commit = self.commits.get(commit.parent or "")
        result = self.commits[oid]
        while result.oid not in ours:
            result = self.commits[result.parent or ""]
        return result

    def conflicts(self, number: int) -> list[str]:
        """Return the files that a pull request and main have both changed, differently."""
        theirs = self.commits[self.refs[f"refs/pr/{number}"]]
        base, ours = self.base_of(theirs.oid).tree, self.head.tree
        changed = {p for p in base.keys() | theirs.tree.keys() if base.get(p) != theirs.tree.get(p)}
        return sorted(p for p in changed if ours.get(p) not in (base.get(p), theirs.tree.get(p)))

    def merge(self, number: int) -> str:
        """Merge a pull request into main, as the Hub does: one commit with what it changes."""
        theirs = self.commits[self.refs[f"refs/pr/{number}"]]
        base, tree = self.base_of(theirs.oid).tree, dict(self.head.tree)
        for path in base.keys() | theirs.tree.keys():
            if base.get(path) == theirs.tree.get(path):
                continue
            tree.pop(path, None)
            if path in theirs.tree:
                tree[path] = theirs.tree[path]
        asked = self.pull_requests[number]
        asked.status, asked.merge_commit = "merged", self.commit(tree, f"{asked.title} (#{number})")
        return asked.merge_commit

    def commit(self, tree: Mapping[str, Blob], title: str, *, ref: str = "refs/heads/main", text: str = "") -> str:
        """Put a tree on a ref; return the commit's id."""
        parent = self.refs.get(ref) or self.refs.get("refs/heads/main")
        files = sorted((path, blob.oid) for path, blob in tree.items())
        oid = git_oid(json.dumps([parent, title, text, files, len(self.commits)]).encode(), "commit")
        self.commits[oid] = Commit(oid, title, text, parent, dict(tree))
        self.refs[ref] = oid
        return oid

    def edit(self, title: str, changes: Mapping[str, bytes | None]) -> str:
        """Commit to main as somebody else would: path -> new content, or None to delete."""
        tree = dict(self.head.tree)
        for path, data in changes.items():
            tree.pop(path, None)
            if data is not None:
                tree[path] = Blob(data, lfs=path.endswith(LFS_SUFFIXES))
        return self.commit(tree, title)

    def resolve(self, revision: str) -> Commit | None:
        for ref in (revision, f"refs/heads/{revision}", f"refs/tags/{revision}"):
            if ref in self.refs:
                return self.commits[self.refs[ref]]
        return self.commits.get(revision)

    @property
    def head(self) -> Commit:
        return self.commits[self.refs["refs/heads/main"]]

    @property
    def titles(self) -> list[str]:
        result, commit = [], self.commits.get(self.refs["refs/heads/main"])
        while commit:
            result.append(commit.title)
            commit = self.commits.get(commit.parent or "")
        return result


@dataclass
class Fault:
    """What goes wrong on purpose: the next `times` requests of this method whose path has this part.

    `after` breaks the answer only: the Hub does what was asked and the client does not hear of it.
    """

    method: str
    part: str
    status: int = 503
    times: int = 1
    after: bool = False
