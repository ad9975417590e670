"""`publish`: a bank to a dataset on the Hub, in one commit or not at all.

The bank is checked first. What will change is worked out against the newest commit there, and the commit is made on top
of that commit only: if somebody commits in between, all of it is done again from what is there then.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pairbank.cards.bank import layout
from pairbank.cards.bank.lock import locked
from pairbank.cards.bank.tables import read_summary
from pairbank.cards.card.croissant import croissant_of
from pairbank.cards.card.render import bank_in, card_text
from pairbank.cards.check import check_publishable
from pairbank.cards.hub.benchmark import eval_results, eval_yaml, results_path
from pairbank.cards.hub.changes import EVAL, Base, Changes, LocalFile, compared
from pairbank.cards.hub.repository import Remote, Repository, why_unreachable, with_retries
from pairbank.cards.site.site import site_of
from pairbank.cards.site.source import open_source
from pairbank.errors import PublishError
from pairbank.files import read_json, sha256_of_text, write_json
from pairbank.stats.wording import plural

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TAG = re.compile(r"\w[\w.-]{0,62}", re.ASCII)
SPACE_FILES = "files.json"
"""Of a Space: the hashes of its files, by which any machine knows that nobody else has changed them."""
Tell = Callable[[str], None]
"""Called with what will change, before it does."""


def space_files(repo_id: str, site: Path, corpora: Sequence[str], *, endpoint: str) -> dict[str, LocalFile]:
    """Return the files of the Space that shows a bank: the site, a form to ask for a model, and the weekly rebuild."""
    from huggingface_hub import SpaceCardData
    from jinja2 import Environment

    head = SpaceCardData(
        title=repo_id.rpartition("/")[2],
        emoji="📚",
        colorFrom="indigo",
        colorTo="green",
        sdk="static",
        app_file="index.html",
        datasets=[repo_id],
        tags=["pairbank", "linguistics"],
        pinned=False,
    )
    page = f"The items, scores and results of the dataset `{repo_id}`: plain files that `pairbank site` wrote.\n"
    page += "\n[Evaluate a model](EVALUATE.md)\n"
    templates, environment = resources.files("pairbank.cards.card") / "templates", Environment(autoescape=False)  # noqa: S701 - Markdown
    forms = ((templates / name).read_text(encoding="utf-8") for name in ("request.md.j2", "evaluate.md.j2"))
    request, form = map(environment.from_string, forms)
    body = request.render(corpora=corpora) + "\n"
    url = f"{endpoint}/datasets/{repo_id}/discussions/new?" + urlencode(
        {"title": "Evaluate ORG/MODEL", "description": body}
    )
    asked = form.render(name=repo_id, url=url, request=body, corpora=corpora) + "\n"
    workflow = (templates / "rebuild.yml").read_text(encoding="utf-8").replace("ORG/NAME", repo_id)
    texts = {"README.md": f"---\n{head.to_yaml()}\n---\n\n{page}", "EVALUATE.md": asked, "rebuild.yml": workflow}
    files = {path.relative_to(site).as_posix(): LocalFile(content=path) for path in site.rglob("*") if path.is_file()}
    files = {path: LocalFile(content=text.encode()) for path, text in texts.items()} | dict(sorted(files.items()))
    hashes = json.dumps({path: file.etags for path, file in files.items()}, indent=1)
    return files | {SPACE_FILES: LocalFile(content=hashes.encode())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What publishing did, or would do in a dry run.

    >>> publish("my-bank", "me/my-bank").url  # doctest: +SKIP
    """

    url: str
    revision: str
    """The commit that holds the bank; of a dry run, the commit that is there now ("" = none)."""
    changes: Changes
    dry_run: bool
    tag: str = ""
    """Name of this version on the Hub."""
    space_url: str = ""
    space_changes: Changes | None = None
    eval_results: Mapping[str, str] = field(default_factory=dict)
    """Hub id of a model -> the YAML of its results, as a pull request would propose it."""
    pull_requests: Mapping[str, str] = field(default_factory=dict)
    """Hub id of a model -> the pull request with its results."""


def publish(
    bank: str | Path,
    repo_id: str,
    *,
    private: bool | None = None,
    dry_run: bool = False,
    space: bool = False,
    benchmark: bool = False,
    eval_results_pr: bool = False,
    replace: Sequence[str] = (),
    tag: str = "",
    message: str = "",
    tell: Tell | None = None,
) -> Published:
    """Publish a bank as a dataset on the Hub; a bank that is there as it is makes no commit.

    The token is the environment's (HF_TOKEN) or that of `hf auth login`.

    Args:
        bank: the bank's folder.
        repo_id: `org/name`; it is created where there is none.
        private: whether a new dataset is private; None = what the organisation's settings say.
        dry_run: only work out what would change; nothing is created, uploaded or written. Where the Hub cannot be asked
            what is there, all that the bank would write is shown, and that is said.
        space: publish the bank's site too, as the static Space of the same name; it shows the bank as of this commit.
        benchmark: publish `eval.yaml` too: a forced choice per corpus, for Inspect.
        eval_results_pr: propose each model's results to its own repository, as a pull request; needs `benchmark`.
        replace: paths on the Hub that may be replaced or removed although somebody else changed them.
        tag: name of this version ("v1"), under which it can be cited and loaded: a tag on its commit.
        message: title of the commit.
        tell: called with what will change before it does.

    Raises:
        BankError: the bank is not whole, or holds texts that may not be published.
        PublishError: the Hub refused or could not be reached, or others have changed what would be replaced.

    >>> publish("my-bank", "me/my-bank", dry_run=True).changes  # doctest: +SKIP
    """
    from huggingface_hub import HfApi

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo_id, flags=re.ASCII):
        raise PublishError(f"{repo_id!r} is no name on the Hub; expected ORG/NAME of letters, digits, '.', '_' and '-'")
    if tag and not TAG.fullmatch(tag):
        raise PublishError(f"{tag[:80]!r} cannot name a version; use letters, digits, '.', '_' and '-', as in v1")
    root = Path(bank)
    layout.read_manifest(root)
    with contextlib.nullcontext() if dry_run else locked(root):
        manifest = check_publishable(root)
        work = _Work(root, HfApi(), dry_run=dry_run, private=private, replace=tuple(replace), tell=tell)
        files = bank_as_published(root, manifest, repo_id, benchmark=benchmark or eval_results_pr)
        published = work.publish(Repository(api=work.api, repo_id=repo_id), files, message or _title(manifest))
        if tag and not dry_run:
            published = _tagged(work.api, repo_id, tag, published)
        if space:
            published = _with_space(work, repo_id, published)
        results = eval_results(manifest, read_summary(root), repo_id, published.revision, published.url)
        proposed = _propose(work, repo_id, results) if eval_results_pr and not dry_run else {}
        return replaced(published, eval_results=results, pull_requests=proposed)


def _tagged(api: HfApi, repo_id: str, tag: str, made: Published) -> Published:
    refs = with_retries(f"read the tags of {repo_id}", lambda: api.list_repo_refs(repo_id, repo_type="dataset")).tags
    present = next((ref.target_commit for ref in refs if ref.name == tag), None)
    if present is None:
        create = partial(api.create_tag, repo_id, tag=tag, revision=made.revision, repo_type="dataset")
        with_retries(f"tag {repo_id}", create)
    elif present != made.revision:
        raise PublishError(
            f"{repo_id} has a version {tag} already ({present[:12]}), and what is cited must not move. The bank is "
            f"published as {made.revision[:12]}; give this version another name (--tag)"
        )
    return replaced(made, tag=tag)


def _with_space(work: _Work, repo_id: str, made: Published) -> Published:
    """Publish the bank's site as the static Space of the same name; of a private dataset, a private one."""
    # which commit a dry run would make is not known, only that it is another one
    revision = "the new commit" if work.dry_run and made.changes else made.revision
    is_private = with_retries(f"read {repo_id}", lambda: work.read(Repository(api=work.api, repo_id=repo_id))).private
    repository = Repository(api=work.api, repo_id=repo_id, kind="space")
    with tempfile.TemporaryDirectory() as folder:
        site = site_of(open_source(str(work.root)), Path(folder) / "site", name=repo_id, revision=revision)
        # the site holds what the bank does: whoever may not read the one may not read the other
        alike = replaced(work, private=True) if is_private else work
        corpora = sorted(layout.read_manifest(work.root)["corpora"])
        files = space_files(repo_id, site, corpora, endpoint=work.api.endpoint)
        shown = alike.publish(repository, files, "Publish the site")
    return replaced(made, space_url=repository.url, space_changes=shown.changes)


def _title(manifest: Mapping[str, Any]) -> str:
    models = {slug for scored in manifest["scores"].values() for slug in scored}
    return f"Publish {plural(len(manifest['corpora']), 'corpus', 'corpora')}, {plural(len(models), 'model')}"


def bank_as_published(
    root: Path, manifest: Mapping[str, Any], repo_id: str, *, benchmark: bool = False
) -> dict[str, LocalFile]:
    hashes = {path: manifest["files"][path] for path in layout.data_files(manifest)}  # `check` has compared them
    bank = bank_in(root, manifest, read_summary(root))
    card, croissant = card_text(bank, hashes, name=repo_id), croissant_of(bank, hashes, name=repo_id)
    facts = {layout.CARD: card.encode(), layout.CROISSANT: croissant.encode()}
    digests = manifest["files"] | {path: hashlib.sha256(data).hexdigest() for path, data in facts.items()}
    stated = layout.compact({**manifest, "files": digests})
    if benchmark and (tasks := eval_yaml(manifest)):
        facts[EVAL] = tasks.encode()
    facts[layout.MANIFEST] = f"{json.dumps(stated, ensure_ascii=False, indent=2, sort_keys=True)}\n".encode()
    files = {path: LocalFile(content=root / path) for path in manifest["files"] if path not in facts}
    if (root / layout.INDEX).is_file():
        files[layout.INDEX] = LocalFile(content=root / layout.INDEX)
    return files | {path: LocalFile(content=data) for path, data in facts.items()}


@dataclass(frozen=True, slots=True)
class _Work:
    root: Path
    api: HfApi
    dry_run: bool
    private: bool | None
    replace: tuple[str, ...]
    tell: Tell | None

    def publish(self, repository: Repository, files: Mapping[str, LocalFile], message: str) -> Published:
        reported: list[str] = []

        def once() -> Published:
            remote = self.read(repository)
            if self.private and remote.private is False:
                raise PublishError(
                    f"{repository.repo_id} is public, and private=True was asked for; nothing was published. Make it "
                    f"private on the Hub ({repository.url}/settings), or choose another name"
                )
            changes = self._changes(repository, files, remote)
            shown = str(changes) if repository.kind == "dataset" else changes.brief
            place = f"at {remote.revision[:12]}" if remote.revision else "(not asked)" if remote.unasked else "(new)"
            text = f"{repository.url} {place}{remote.unasked}\n{shown}"
            if self.tell and text not in reported:
                reported.append(text)
                self.tell(text)
            revision = remote.revision
            if changes and not self.dry_run:
                if not revision:
                    repository.create(private=self.private)
                    revision = repository.read().revision
                revision = repository.commit(files, changes, message=message, parent=revision)
            return Published(url=repository.url, revision=revision, changes=changes, dry_run=self.dry_run)

        committed = with_retries(f"publish {repository.repo_id}", once)
        if not self.dry_run:
            known = {path: file.etags for path, file in files.items()}
            self.remember(repository.url, {"revision": committed.revision, "files": known})
        return committed

    def read(self, repository: Repository) -> Remote:
        """Return a repository as it is now; in a dry run one that cannot be asked is empty, and that is said."""
        if not self.dry_run:
            return repository.read()
        result = why_unreachable(repository.read)
        if isinstance(result, Remote):
            return result
        unasked = f"\nThe Hub could not be asked what is there ({result}); this is all that the bank would write:"
        return Remote(revision="", files={}, unasked=unasked)

    def _changes(self, repository: Repository, files: Mapping[str, LocalFile], remote: Remote) -> Changes:
        known = self.record.get(repository.url, {}).get("files", {}) if remote.revision else {}
        if repository.kind == "space" and SPACE_FILES in remote.files:
            with contextlib.suppress(ValueError, TypeError):
                stated = dict(json.loads(repository.content(SPACE_FILES, remote.revision)))
                known = known | stated | {SPACE_FILES: (remote.files[SPACE_FILES].etag,)}
        base = Base(files=known, vouched=_vouched(repository, remote), replace=self.replace)
        not_ours = {".gitattributes"} if EVAL in files else {".gitattributes", EVAL}
        present = {path: file for path, file in remote.files.items() if path not in not_ours}
        return compared(files, present, base, repo_id=repository.repo_id, source=str(self.root))

    @property
    def record(self) -> dict[str, Any]:
        """What this bank published before, by address."""
        path = self.root / layout.RECORD
        return dict(read_json(path)) if path.is_file() else {}

    def remember(self, url: str, value: Mapping[str, Any]) -> None:
        write_json(self.root / layout.RECORD, self.record | {url: value})


def _vouched(repository: Repository, remote: Remote) -> set[str]:
    """Return the files on the Hub that are as the manifest there says, and that manifest."""
    if layout.MANIFEST not in remote.files:
        return set()
    try:
        manifest = json.loads(repository.content(layout.MANIFEST, remote.revision))
        stated: Mapping[str, str] = dict(manifest["files"])
    except (ValueError, KeyError, TypeError):
        return set()
    vouched = {path for path, digest in stated.items() if path in remote.files and remote.files[path].etag == digest}
    for path in {layout.CARD, layout.CROISSANT, layout.RENDERED} & stated.keys() & remote.files.keys():
        if hashlib.sha256(repository.content(path, remote.revision)).hexdigest() == stated[path]:
            vouched.add(path)
    return vouched | {layout.MANIFEST, *({layout.INDEX} & remote.files.keys())}


def _propose(work: _Work, repo_id: str, results: Mapping[str, str]) -> dict[str, str]:
    """Open a pull request in each model's repository with its results, unless the same one was opened before."""
    urls = {}
    for model_id, text in results.items():
        digest = sha256_of_text(text)
        before = work.record.get(f"{work.api.endpoint}/{model_id}", {})
        if before.get("results") != digest:
            propose = partial(
                Repository(api=work.api, repo_id=model_id, kind="model").propose,
                {results_path(repo_id): text.encode()},
                message=f"Add evaluation results of {repo_id}",
                description=f"Scored with pairbank; items and scores: {work.api.endpoint}/datasets/{repo_id}",
            )
            url = with_retries(f"propose results to {model_id}", propose)
            before = {"results": digest, "pull_request": url}
            work.remember(f"{work.api.endpoint}/{model_id}", before)
        urls[model_id] = str(before["pull_request"])
    return urls
