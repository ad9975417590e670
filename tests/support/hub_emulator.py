"""A Hub in memory, small, but enough for the real clients (huggingface_hub 2.4, datasets 5.2) to talk to over HTTP.

It speaks the Hub's routes for repositories, trees, preupload, LFS, commits, tags, downloads, and pull requests with
their comments and merges. Not emulated: Xet, multipart LFS, gitignore, gated repositories, discussions that are no pull
requests.

    with FakeHub() as hub, redirected(hub, home):
        HfApi().create_repo("acme/bank", repo_type="dataset")
"""

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch
from urllib.parse import parse_qs, quote, unquote, urlsplit

from hub_store import LFS_BYTES, LFS_SUFFIXES, Blob, Commit, Fault, PullRequest, Repo, git_oid

PREFIX = {"model": "", "dataset": "datasets/", "space": "spaces/"}
NOW = "2026-01-01T00:00:00.000Z"
PAGE = 50
"""Entries of a tree in one answer (the Hub: 1,000); the rest comes by `Link: rel="next"`."""
DISCUSSIONS = 10
"""Pull requests in one answer; `count` and `start` say whether there are more."""
TOKEN = "hf_test"  # noqa: S105 - of the emulator

Answer = tuple[int, Any, dict[str, str]]


class HubError(Exception):
    def __init__(self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {**({"X-Error-Code": code} if code else {}), "X-Error-Message": message, **(headers or {})}


class Request:
    def __init__(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        split = urlsplit(target)
        self.method, self.path, self.headers, self.body = method, split.path, headers, body
        self.query = parse_qs(split.query)

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        return json.loads(self.body or b"{}")

    def flag(self, name: str) -> bool:
        return self.query.get(name, [""])[0].lower() in ("true", "1")


class FakeHub:
    """The server: its state is `repos`, every request is in `log`, and `faults` break what they match."""

    def __init__(self, *, user: str = "alice", orgs: tuple[str, ...] = ("acme",), token: str = TOKEN) -> None:
        self.user, self.orgs, self.token = user, orgs, token
        self.repos: dict[tuple[str, str], Repo] = {}
        self.lfs: dict[str, bytes] = {}
        self.log: list[tuple[str, str, int]] = []
        self.faults: list[Fault] = []
        self.waited: list[float] = []
        """Pauses that the client under test would have made, in seconds."""
        self.before_commit: Callable[[Repo], object] | None = None
        """Called once, before the next commit is looked at: what somebody else does in between."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        serve = lambda: self._server.serve_forever(poll_interval=0.02)  # noqa: E731
        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def repo(self, repo_id: str, kind: str = "dataset") -> Repo:
        return self.repos[kind, repo_id]

    def answer(self, request: Request) -> Answer:
        with self._lock:
            fault = next(
                (f for f in self.faults if f.times and f.method == request.method and f.part in request.path), None
            )
            if fault:
                fault.times -= 1
            try:
                if fault and not fault.after:
                    raise HubError(fault.status, "injected failure")
                result = self._route(request)
                if fault:
                    raise HubError(fault.status, "injected failure of the answer")
            except HubError as error:
                result = error.status, {"error": error.message}, error.headers
            self.log.append((request.method, request.path, result[0]))
            return result

    def _route(self, request: Request) -> Answer:
        for pattern, method, handler in _ROUTES:
            match = re.fullmatch(pattern, request.path)
            if match and (method is None or method == request.method):
                return handler(self, request, {name: unquote(value or "") for name, value in match.groupdict().items()})
        raise HubError(404, f"hub_emulator: no route {request.method} {request.path}")

    def authorise(self, request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if given != self.token:
            raise HubError(
                401, "Invalid credentials in Authorization header" if given else "Invalid username or password."
            )

    def open(self, request: Request, at: Mapping[str, str], *, write: bool = False) -> Repo:
        """Return the repository that a request names, if it may be seen."""
        kind = (at["kind"] or "models").rstrip("s/")
        repo = self.repos.get((kind, f"{at['owner']}/{at['name']}"))
        if repo is None:
            raise HubError(404, "Repository not found", "RepoNotFound")
        if write:
            self.authorise(request)
        elif repo.private and request.headers.get("authorization") != f"Bearer {self.token}":
            raise HubError(401, "Repository not found", "RepoNotFound")
        return repo

    # ------------------------------------------------------------------ accounts and repositories
    def whoami(self, request: Request, _at: Mapping[str, str]) -> Answer:
        self.authorise(request)
        orgs = [{"type": "org", "id": o, "name": o, "fullname": o, "roleInOrg": "admin"} for o in self.orgs]
        auth = {"type": "access_token", "accessToken": {"displayName": "t", "role": "write"}}
        return 200, {"type": "user", "id": "u1", "name": self.user, "orgs": orgs, "auth": auth}, {}

    def validate(self, request: Request, _at: Mapping[str, str]) -> Answer:
        """Check a card as the Hub does: its head is YAML."""
        import yaml

        parts = request.json["content"].split("---\n", 2)
        try:
            head = yaml.safe_load(parts[1]) if len(parts) == 3 else None
        except yaml.YAMLError as error:
            return 400, {"errors": [{"message": str(error)}], "warnings": []}, {}
        problems = [] if isinstance(head, dict) else [{"message": "no metadata"}]
        return (400 if problems else 200), {"errors": problems, "warnings": []}, {}

    def create(self, request: Request, _at: Mapping[str, str]) -> Answer:
        self.authorise(request)
        asked = request.json
        owner, kind = asked.get("organization") or self.user, asked.get("type") or "model"
        if owner not in (self.user, *self.orgs):
            raise HubError(403, f"You don't have the rights to create a {kind} under the namespace {owner!r}")
        repo_id = f"{owner}/{asked['name']}"
        url = f"{self.url}/{PREFIX[kind]}{repo_id}"
        if (kind, repo_id) in self.repos:
            message = f"You already created this {kind} repo: {repo_id}"
            return 409, {"error": message, "url": url}, {"X-Error-Message": message}
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        repo = self.repos[kind, repo_id] = Repo(kind, repo_id, private, asked.get("sdk"))
        attributes = "".join(f"*{s} filter=lfs diff=lfs merge=lfs -text\n" for s in LFS_SUFFIXES)
        repo.commit({".gitattributes": Blob(attributes.encode())}, "initial commit")
        return 200, {"url": url, "name": repo_id, "id": repo_id}, {}

    def info(self, request: Request, at: Mapping[str, str]) -> Answer:
        repo = self.open(request, at)
        commit = revision(repo, at.get("revision") or "main")
        files = [{"rfilename": path, "size": len(blob.data)} for path, blob in sorted(commit.tree.items())]
        facts = {"id": repo.id, "sha": commit.oid, "private": repo.private, "tags": [], "siblings": files}
        facts |= {"author": repo.id.split("/")[0], "gated": False, "disabled": False, "createdAt": NOW}
        facts |= {"lastModified": NOW, "downloads": 0, "likes": 0, "modelId": repo.id}
        return 200, facts, {}

    def tree(self, request: Request, at: Mapping[str, str]) -> Answer:
        commit = revision(self.open(request, at), at["revision"])
        base = f"{at['path']}/" if at.get("path") else ""
        below = {path: blob for path, blob in commit.tree.items() if path.startswith(base)}
        if base and not below:
            raise HubError(404, f"{base} does not exist", "EntryNotFound")
        deep = request.flag("recursive")
        entries = {path: blob.info(path) for path, blob in below.items() if deep or "/" not in path[len(base) :]}
        for path in below:
            parts = path[len(base) :].split("/")
            for depth in range(1, len(parts) if deep else min(2, len(parts))):
                folder = base + "/".join(parts[:depth])
                if folder in entries:
                    continue
                held = sorted((p, b.oid) for p, b in below.items() if p.startswith(f"{folder}/"))
                oid = git_oid(json.dumps(held).encode(), "tree")
                entries[folder] = {"type": "directory", "oid": oid, "size": 0, "path": folder}
        listed = [entries[path] for path in sorted(entries)]
        start = int(request.query.get("cursor", ["0"])[0])
        headers = {}
        if start + PAGE < len(listed):
            keep = f"recursive={str(deep).lower()}&expand=false"
            headers["Link"] = f'<{self.url}{request.path}?{keep}&cursor={start + PAGE}>; rel="next"'
        return 200, listed[start : start + PAGE], headers

    def paths_info(self, request: Request, at: Mapping[str, str]) -> Answer:
        commit = revision(self.open(request, at), at["revision"])
        asked = [path.strip("/") for path in parse_qs(request.body.decode()).get("paths", [])]
        return 200, [commit.tree[path].info(path) for path in asked if path in commit.tree], {}

    def history(self, request: Request, at: Mapping[str, str]) -> Answer:
        repo, result = self.open(request, at), []
        commit: Commit | None = revision(repo, at["revision"])
        while commit:
            result.append({"id": commit.oid, "title": commit.title, "message": "", "authors": [], "date": NOW})
            commit = repo.commits.get(commit.parent or "")
        return 200, result, {}

    # ------------------------------------------------------------------ commits
    def preupload(self, request: Request, at: Mapping[str, str]) -> Answer:
        commit = revision(self.open(request, at, write=True), at["revision"])
        result = []
        for file in request.json["files"]:
            path = file["path"]
            lfs = file["size"] >= LFS_BYTES or path.endswith(LFS_SUFFIXES)
            known = {"oid": commit.tree[path].etag} if path in commit.tree else {}
            result.append({"path": path, "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False, **known})
        return 200, {"files": result, "commitOid": commit.oid}, {}

    def commit(self, request: Request, at: Mapping[str, str]) -> Answer:
        repo = self.open(request, at, write=True)
        if self.before_commit:
            meanwhile, self.before_commit = self.before_commit, None
            meanwhile(repo)
        lines = [json.loads(line) for line in request.body.splitlines() if line.strip()]
        head, parent = lines[0]["value"], revision(repo, at["revision"])
        if head.get("parentCommit") not in (None, parent.oid):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(parent.tree)
        for line in lines[1:]:
            self._apply(tree, line["key"], line["value"])
        ref, pull_request = f"refs/heads/{at['revision']}", None
        if request.flag("create_pr"):
            number = repo.n_pull_requests + 1
            repo.pull_requests[number] = PullRequest(number, head["summary"], self.user)
            ref = f"refs/pr/{number}"
            pull_request = f"{self.url}/{PREFIX[repo.type]}{repo.id}/discussions/{number}"
        elif at["revision"].startswith("refs/pr/"):
            ref = at["revision"]
        oid = repo.commit(tree, head["summary"], ref=ref, text=head.get("description", ""))
        url = f"{self.url}/{PREFIX[repo.type]}{repo.id}/commit/{oid}"
        return 200, {"success": True, "commitOid": oid, "commitUrl": url, "pullRequestUrl": pull_request}, {}

    def _apply(self, tree: dict[str, Blob], key: str, value: Mapping[str, Any]) -> None:
        path = value["path"]
        if key == "file":
            tree[path] = Blob(base64.b64decode(value["content"]))
        elif key == "lfsFile":
            if value["oid"] not in self.lfs:
                raise HubError(400, f"an LFS pointer points to a file that does not exist: {path}")
            tree[path] = Blob(self.lfs[value["oid"]], lfs=True)
        elif key == "deletedFile":
            if path not in tree:
                raise HubError(404, "A file with this name doesn't exist", "EntryNotFound")
            del tree[path]
        else:
            for below in [p for p in tree if p.startswith(f"{path.rstrip('/')}/")]:
                del tree[below]

    # ------------------------------------------------------------------ tags and pull requests
    def refs(self, request: Request, at: Mapping[str, str]) -> Answer:
        kinds: dict[str, list[dict[str, str]]] = {"branches": [], "tags": [], "converts": [], "pullRequests": []}
        for ref, oid in self.open(request, at).refs.items():
            kind = {"heads": "branches", "tags": "tags", "pr": "pullRequests"}[ref.split("/")[1]]
            kinds[kind].append({"name": ref.split("/", 2)[2], "ref": ref, "targetCommit": oid})
        return 200, kinds, {}

    def tag(self, request: Request, at: Mapping[str, str]) -> Answer:
        repo = self.open(request, at, write=True)
        name = f"refs/tags/{request.json['tag']}"
        if name in repo.refs:
            raise HubError(409, f"Tag reference exists already: {name}")
        repo.refs[name] = revision(repo, at["revision"]).oid
        return 200, {}, {}

    def discussions(self, request: Request, at: Mapping[str, str]) -> Answer:
        """List pull requests, newest first, a few a page."""
        repo = self.open(request, at)
        requested = request.query.get("status", ["all"])[0]
        result = [self._said(repo, one) for one in repo.pull_requests.values() if requested in ("all", one.status)]
        start = DISCUSSIONS * int(request.query.get("p", ["0"])[0])
        page = sorted(result, key=lambda one: -one["num"])[start : start + DISCUSSIONS]
        return 200, {"discussions": page, "count": len(result), "start": start}, {}

    def _said(self, repo: Repo, one: PullRequest) -> dict[str, Any]:
        facts = {"num": one.number, "title": one.title, "status": one.status, "isPullRequest": True, "createdAt": NOW}
        return {**facts, "author": {"name": one.author}, "repo": {"name": repo.id, "type": repo.type}}

    def discussion(self, request: Request, at: Mapping[str, str]) -> Answer:
        repo = self.open(request, at)
        one = self._pull_request(repo, at)
        events = [self._event(n, who, text) for n, (who, text) in enumerate(one.comments)]
        changes = {"base": "refs/heads/main", "mergeCommitId": one.merge_commit}
        conflicts = repo.conflicts(one.number) if one.status == "open" else []
        more = {"events": events, "changes": changes, "filesWithConflicts": conflicts, "diff": ""}
        return 200, self._said(repo, one) | more, {}

    def _event(self, number: int, who: str, text: str) -> dict[str, Any]:
        latest = {"raw": text, "html": text, "updatedAt": NOW, "author": {"name": who}}
        data = {"edited": False, "hidden": False, "latest": latest, "history": []}
        return {"id": f"{number:x}", "type": "comment", "createdAt": NOW, "author": {"name": who}, "data": data}

    def act(self, request: Request, at: Mapping[str, str]) -> Answer:
        """Comment on a pull request, merge it, or close and open it again."""
        repo = self.open(request, at, write=True)
        one, asked = self._pull_request(repo, at), request.json or {}
        if at["action"] == "merge":
            if one.status != "open":
                raise HubError(400, f"This pull request is {one.status}")
            if conflicts := repo.conflicts(one.number):
                raise HubError(409, f"This pull request has conflicts: {', '.join(conflicts)}")
            return 200, {"mergeCommitId": repo.merge(one.number)}, {}
        if at["action"] == "status":
            one.status = asked["status"]
        if text := asked.get("comment"):
            one.comments.append((self.user, text))
        event = self._event(len(one.comments) - 1, self.user, text or "")
        if at["action"] == "status":
            event |= {"type": "status-change", "data": {"status": one.status}}
        return 200, {"newMessage" if at["action"] == "comment" else "newStatus": event}, {}

    def _pull_request(self, repo: Repo, at: Mapping[str, str]) -> PullRequest:
        if int(at["number"]) not in repo.pull_requests:
            raise HubError(404, "Discussion not found")
        return repo.pull_requests[int(at["number"])]

    # ------------------------------------------------------------------ large files and downloads
    def lfs_batch(self, request: Request, at: Mapping[str, str]) -> Answer:
        self.open(request, {**at, "kind": at["kind"] or "models"}, write=True)
        objects = []
        for asked in request.json["objects"]:
            entry: dict[str, Any] = {"oid": asked["oid"], "size": asked["size"]}
            if asked["oid"] not in self.lfs:
                parts = {"upload": asked["oid"], "verify": "verify"}
                actions = {name: {"href": f"{self.url}/_lfs/{part}", "header": {}} for name, part in parts.items()}
                entry |= {"authenticated": True, "actions": actions}
            objects.append(entry)
        return 200, {"transfer": "basic", "objects": objects}, {"Content-Type": "application/vnd.git-lfs+json"}

    def lfs_verify(self, request: Request, _at: Mapping[str, str]) -> Answer:
        if len(self.lfs.get(request.json["oid"], b"")) != request.json["size"]:
            raise HubError(404, "object missing")
        return 200, {}, {}

    def lfs_put(self, request: Request, at: Mapping[str, str]) -> Answer:
        if hashlib.sha256(request.body).hexdigest() != at["oid"]:
            raise HubError(400, "sha256 mismatch")
        self.lfs[at["oid"]] = request.body
        return 200, {}, {}

    def download(self, request: Request, at: Mapping[str, str]) -> Answer:
        commit = revision(self.open(request, at), at["revision"])
        headers = {"X-Repo-Commit": commit.oid}
        if at["path"] not in commit.tree:
            raise HubError(404, "Entry not found", "EntryNotFound", headers)
        blob = commit.tree[at["path"]]
        headers |= {"ETag": f'"{blob.etag}"', "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        if blob.lfs:
            headers |= {"X-Linked-Etag": f'"{blob.sha256}"', "X-Linked-Size": str(len(blob.data))}
        requested = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if not requested:
            return 200, blob.data, headers
        low, high = int(requested[1]), min(int(requested[2] or len(blob.data)), len(blob.data) - 1)
        headers["Content-Range"] = f"bytes {low}-{high}/{len(blob.data)}"
        return 206, blob.data[low : high + 1], headers


def revision(repo: Repo, name: str) -> Commit:
    commit = repo.resolve(name)
    if commit is None:
        raise HubError(404, f"Invalid rev id: {name}", "RevisionNotFound")
    return commit


_REPO = r"/api/(?P<kind>models|datasets|spaces)/(?P<owner>[^/]+)/(?P<name>[^/]+)"
_REV = r"(?P<revision>[^/]+)"
_PAGE_OF = r"/(?P<kind>datasets/|spaces/)?(?P<owner>[^/]+)/(?P<name>[^/]+?)"
_ROUTES: tuple[tuple[str, str | None, Callable[[FakeHub, Request, Mapping[str, str]], Answer]], ...] = (
    (r"/api/whoami-v2", None, FakeHub.whoami),
    (r"/api/validate-yaml", None, FakeHub.validate),
    (r"/api/repos/create", "POST", FakeHub.create),
    (rf"{_REPO}", None, FakeHub.info),
    (rf"{_REPO}/revision/{_REV}", None, FakeHub.info),
    (rf"{_REPO}/tree/{_REV}(?:/(?P<path>.+))?", None, FakeHub.tree),
    (rf"{_REPO}/paths-info/{_REV}", "POST", FakeHub.paths_info),
    (rf"{_REPO}/commits/{_REV}", None, FakeHub.history),
    (rf"{_REPO}/preupload/{_REV}", "POST", FakeHub.preupload),
    (rf"{_REPO}/commit/{_REV}", "POST", FakeHub.commit),
    (rf"{_REPO}/refs", "GET", FakeHub.refs),
    (rf"{_REPO}/tag/{_REV}", "POST", FakeHub.tag),
    (rf"{_REPO}/discussions", "GET", FakeHub.discussions),
    (rf"{_REPO}/discussions/(?P<number>\d+)", "GET", FakeHub.discussion),
    (rf"{_REPO}/discussions/(?P<number>\d+)/(?P<action>comment|merge|status)", "POST", FakeHub.act),
    (r"/_lfs/verify", "POST", FakeHub.lfs_verify),
    (r"/_lfs/(?P<oid>[0-9a-f]+)", "PUT", FakeHub.lfs_put),
    (rf"{_PAGE_OF}\.git/info/lfs/objects/batch", "POST", FakeHub.lfs_batch),
    (rf"{_PAGE_OF}/resolve/{_REV}/(?P<path>.+)", None, FakeHub.download),
)


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, content, extra = hub.answer(Request(self.command, self.path, headers, self._body(headers)))
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response_only(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **extra}.items():
                self.send_header(name, quote(value, safe=" !#$%&'()*+,-./:;<=>?@[]^_`{|}~\"\\"))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _body(self, headers: Mapping[str, str]) -> bytes:
            if "chunked" not in headers.get("transfer-encoding", ""):
                return self.rfile.read(int(headers.get("content-length", 0)))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the base class calls these

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Say nothing."""

    return Handler


@contextmanager
def redirected(hub: FakeHub, home: Path, *, token: str | None = TOKEN) -> Iterator[FakeHub]:
    """Point the clients, imported already, at a hub, with a clean cache in `home`."""
    import datasets
    import huggingface_hub
    from huggingface_hub import constants

    with ExitStack() as stack:
        page = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        of_hub: dict[str, Any] = {
            "ENDPOINT": hub.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": page,
            "HF_HUB_DISABLE_XET": True,
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_TOKEN_PATH": str(home / "token"),
            "HF_HUB_DISABLE_TELEMETRY": True,
            "HF_HUB_OFFLINE": False,
        }
        of_datasets: dict[str, Any] = {
            "HF_ENDPOINT": hub.url,
            "HUB_DATASETS_URL": f"{hub.url}/datasets/{{repo_id}}/resolve/{{revision}}/{{path}}",
            "HF_DATASETS_CACHE": home / "datasets",
            "DOWNLOADED_DATASETS_PATH": home / "datasets/downloads",
            "HF_UPDATE_DOWNLOAD_COUNTS": False,
            "USE_PARQUET_EXPORT": False,
            "HF_HUB_OFFLINE": False,
        }
        stack.enter_context(patch.multiple(constants, **of_hub))
        stack.enter_context(patch.multiple(datasets.config, **of_datasets))
        stack.enter_context(patch.dict(os.environ, {"HF_TOKEN": token} if token else {}))
        if token is None:
            os.environ.pop("HF_TOKEN", None)
        huggingface_hub.HfFileSystem.clear_instance_cache()
        huggingface_hub.close_session()
        yield hub
        huggingface_hub.close_session()
