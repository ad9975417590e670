"""Submissions to a shared bank: in, a scored table of one group; out, a pull request, or one cell of the bank.

The files of a submission have names of their own and touch no others, so that two submissions never conflict.
`pairbank.cards.store` makes what is shared from those that `check_submission` accepts. A store is a bank with a folder
`submissions/`, here or on the Hub. A submission is one scored table and a JSON record:

    submissions/CORPUS@ITEMS/MODEL@REVISION/SUBMITTER-HASH.parquet   (.json: who, when, command, environment, signature)

Of a store on the Hub only the manifest and the items of one corpus are downloaded.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pairbank.cards.acceptance import MOST_RECORD_BYTES, form_problems, opened, signature_faults
from pairbank.cards.bank.check_tables import submission_problems
from pairbank.cards.bank.layout import MANIFEST, SUBMISSIONS, config_name, items_path, read_manifest, scores_path
from pairbank.cards.bank.names import name_problems, twin_of
from pairbank.cards.bank.redistribution import ids_and_scores, is_left_out, may_publish, score_columns, text_columns
from pairbank.cards.bank.tables import differing_keys, read_items, without_people
from pairbank.cards.bank.values import definition_problems
from pairbank.cards.bank.writing import IDENTITY, differing_key, items_of_scored
from pairbank.cards.export.every_eval_ever import DATASTORE, export_results, schema_problems
from pairbank.cards.hub.benchmark import is_on_hub
from pairbank.cards.hub.repository import Repository, with_retries
from pairbank.cards.write import DATE, package_versions, split_of
from pairbank.errors import BankError, ModelLoadError, PairbankError, unknown_name
from pairbank.files import read_json, sha256_of_file, sha256_of_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.model import OverLength
from pairbank.scoring.api.names import MethodName
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS
from pairbank.scoring.methods.registry import FAMILIES
from pairbank.scoring.models.batch_check import allowed_nats
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.scored import MODEL, Scored, read_scored
from pairbank.scoring.signature import method_hashes
from pairbank.stats.wording import magnitude, whole

WITHDRAWN = ".withdrawn.json"
"""Ending of the file that withdraws a submission."""
SUBMITTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TIMES_ROUNDING = 10  # a score that is computed again may differ by this many times what rounding does to a text
_MOST_NOTES = 12
_MOST_NAMED = 8  # items that one problem names
_MOST_CHARACTERS = 1_000  # of a reason why a submission is not accepted
MOST_MODEL_BYTES = 10 * 10**9
"""Weights above this are not downloaded to score items again."""

REPLICATED = ("model_id", "revision", "dtype", "quantisation", "prompt_format")
"""Values of a signature that a replication has like the table shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    path: str
    url: str
    """The pull request; "" in a dry run."""


def submit(
    scored: str | Path, repo_id: str, *, submitter: str = "", command: str = "", date: str = "", dry_run: bool = False
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

    >>> submit("scored.parquet", "acme/shared-bank").url  # doctest: +SKIP
    """
    from huggingface_hub import HfApi

    root, manifest = hub_store(repo_id)
    table = opened(Path(scored), manifest)
    fetch_items(repo_id, root, manifest, table.corpus)
    problems = (*table_problems(table, root, manifest), *record_problems(Path(scored), table, manifest))
    if problem := date_problem(date, manifest):
        problems = (*problems, problem)
    refuse(scored, Verdict(problems=problems))
    repository = Repository(api=HfApi(), repo_id=repo_id)
    who = submitter or with_retries("ask who you are", lambda: str(repository.api.whoami()["name"]))
    facts = manifest["corpora"][table.corpus]
    if is_left_out(facts) or not may_publish(table.corpus, facts):
        kept = ids_and_scores(table.dataset, table.signature["methods"])
        table = Scored.of(kept, table.signature)
    with tempfile.TemporaryDirectory() as folder:
        data = table.save(Path(folder) / "table.parquet").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    stated = {"submitter": who, "date": date, "command": command, "environment": package_versions()}
    record = _json({**stated, "sha256": digest, "signature": table.signature})
    path = submission_path(table.signature, who, digest, record)
    if dry_run:
        return Submitted(path=path, url="")
    content = {path: data, record_path(path): record}
    return Submitted(path=path, url=_proposed(repo_id, content, f"Add {table.model} on {table.corpus}"))


def submit_results(scored: str | Path, *, organisation: str, date: str, dry_run: bool = False) -> list[Submitted]:
    """Open a pull request on Every Eval Ever's datastore with one scored table; check its files against the schema.

    Args:
        scored: a parquet file as `score` saves it.
        organisation: who evaluated.
        date: of the evaluation, YYYY-MM-DD; the schema wants one.
        dry_run: write and check the files, and propose nothing; needs no network.

    Returns:
        A file each, all with the address of the pull request.

    Raises:
        BankError: no organisation, no date, no developer of the model, or files that break the schema.
        PublishError: the Hub could not be reached or refused.

    >>> submit_results("scored.parquet", organisation="my group", date="2026-11-26")  # doctest: +SKIP
    """
    table = read_scored(scored)
    if not organisation.strip():
        raise BankError("Every Eval Ever asks who evaluated: name your group (--submitter)")
    if not DATE.fullmatch(date):
        raise BankError(f"date {date[:40]!r}: Every Eval Ever asks for one, as 2026-11-24 (--date)")
    if "/" not in (model_id := str(table.signature["model"]["model_id"])):
        raise BankError(
            f"model {table.model}: its id {model_id!r} names no developer, by which the datastore addresses it; score "
            "it by its id on the Hub, ORG/MODEL"
        )
    seconds = int(datetime.fromisoformat(f"{date}T00:00:00+00:00").timestamp())
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        export_results([table], out, organisation=organisation, at=seconds)
        files = sorted(path for path in out.rglob("*") if path.is_file())
        if problems := [problem for path in files for problem in schema_problems(path)]:
            raise BankError(f"{scored}: not in Every Eval Ever's schema: {'; '.join(problems[:5])}")
        content = {path.relative_to(out).as_posix(): path.read_bytes() for path in files}
    url = "" if dry_run else _proposed(DATASTORE, content, f"Add {table.model} on {table.corpus}")
    return [Submitted(path=path, url=url) for path in content]


def _proposed(repo_id: str, content: Mapping[str, bytes], message: str) -> str:
    from huggingface_hub import HfApi

    repository = Repository(api=HfApi(), repo_id=repo_id)
    return with_retries(f"submit to {repo_id}", lambda: repository.propose(content, message=message[:200]))


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

    >>> path = "submissions/blimp@1a2b/gpt2@607a/me-3c4d.parquet"
    >>> withdraw(path, "acme/shared-bank", reason="wrong revision")  # doctest: +SKIP
    """
    from huggingface_hub import HfApi

    if not reason.strip():
        raise BankError(f"{path}: a withdrawal needs a reason")
    repository = Repository(api=HfApi(), repo_id=repo_id)
    files = with_retries(f"read {repo_id}", repository.read).files
    if not path.startswith(f"{SUBMISSIONS}/") or not path.endswith(".parquet") or path not in files:
        raise BankError(f"{path[:300]}: {repo_id} has no such submission; expected {SUBMISSIONS}/…/NAME.parquet")
    if (beside := tombstone(path)) in files:
        raise BankError(f"{path}: withdrawn already")
    if dry_run:
        return ""
    content = {beside: _json({"reason": reason.strip(), "date": date})}
    return _proposed(repo_id, content, f"Withdraw {path.rpartition('/')[2]}")


def fetch(repo_id: str | Path, *, model: str, corpus: str) -> Scored:
    """Return one model's scores of one corpus from a bank; of one on the Hub nothing else is downloaded.

    Args:
        repo_id: `org/name` of the bank, or its folder.
        model: as the bank names it: its split, its name or its id.
        corpus: its name.

    Raises:
        UnknownNameError: the bank has no such corpus or model.
        PublishError: the Hub could not be reached.

    >>> fetch("acme/shared-bank", model="gpt2", corpus="blimp")  # doctest: +SKIP
    """
    folder = Path(repo_id)
    root, manifest = (folder, read_manifest(folder)) if folder.is_dir() else hub_store(str(repo_id))
    if corpus not in manifest["scores"]:
        raise unknown_name("scored corpus", corpus, manifest["scores"])
    models = manifest["scores"][corpus]
    if not (slug := split_of(models, model)):
        raise unknown_name("model", model, sorted(signature["model"]["name"] for signature in models.values()))
    path = scores_path(corpus, slug)
    return read_scored(root / path if folder.is_dir() else download(str(repo_id), path, root.name))


def _json(value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    problems: tuple[str, ...]
    """Why the store does not accept it; none = it does."""
    notes: tuple[str, ...] = ()
    """What its readers should know: artefacts that the audit finds, and what was computed again."""

    @property
    def accepted(self) -> bool:
        return not self.problems


def submission_path(signature: Mapping[str, Any], submitter: str, sha256: str, record: bytes = b"") -> str:
    """Return where a submission's table is in its store; without a record, its place of earlier versions."""
    digest = sha256_of_text(sha256, record.decode()) if record else sha256
    if not SUBMITTER.fullmatch(submitter):
        raise BankError(f"submitter {submitter[:80]!r} cannot name a file; use letters, digits, '_' and '-'")
    model, corpus = signature["model"], signature["corpus"]
    slug = re.sub(r"[^\w.]+", "_", model["slug"])
    revision = re.sub(r"[^\w.-]+", "_", model["revision"], flags=re.ASCII)[:12] or "none"
    place = f"{config_name(corpus['name'])}@{corpus['items_sha256'][:12]}/{slug}@{revision}"
    return f"{SUBMISSIONS}/{place}/{submitter}-{digest[:12]}.parquet"


def check_submission(
    file: str | Path,
    against: str | Path,
    *,
    rescore: int = 0,
    model: str | Path | None = None,
    seed: int | None = None,
    before: Sequence[Mapping[str, Any]] = (),
) -> Verdict:
    """Return whether a scored table may join a store, why not, and what to know of it.

    Args:
        file: the table; the record beside it (same name, .json) is checked where there is one.
        against: folder of the store, or `org/name` on the Hub.
        rescore: how many items, drawn at random, are scored again with the model that the table names.
        model: where its weights are; None = the commit on the Hub that the signature names.
        seed: of the draw; None = a new one each time, so that nobody knows which items will be drawn.
        before: signatures that the store will show besides those it shows.

    Raises:
        BankError: the file is no scored table, or `against` is no bank.
        PublishError: the Hub could not be reached.
        ModelLoadError: `model` cannot be loaded.

    >>> check_submission("scored.parquet", "acme/shared-bank")  # doctest: +SKIP
    """
    place = Path(against)
    root, manifest = (place, read_manifest(place)) if place.is_dir() else hub_store(str(against))
    table = opened(Path(file), manifest)
    if not place.is_dir():
        fetch_items(str(against), root, manifest, table.corpus)
    for signature in before:
        shown = manifest["scores"].setdefault(signature["corpus"]["name"], {})
        shown.setdefault(signature["model"]["slug"], signature)
    problems = [*table_problems(table, root, manifest), *record_problems(Path(file), table, manifest)]
    notes = list(_findings(table))
    if rescore and not problems:
        drawn = secrets.randbits(32) if seed is None else seed
        wrong, reported = _rescored(table, manifest["corpora"][table.corpus], n=rescore, model=model, seed=drawn)
        problems += wrong
        notes += reported
    return Verdict(problems=tuple(problems), notes=tuple(notes))


def table_problems(table: Scored, root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    facts = manifest["corpora"].get(table.corpus)
    if facts is None:
        yield f"the store has no corpus {table.corpus!r}; it has {', '.join(manifest['corpora'])}"
        return
    yield from name_problems(table.signature["model"])
    if problem := other_owner(table.signature, manifest):
        yield problem
    others = manifest["scores"].get(table.corpus, {})
    slug = min(others, default="")
    yield from signature_faults(table.signature, facts, others.get(slug))
    items = read_items(root, table.corpus)
    if forms := [*form_problems(table, items.features)]:
        yield from forms
        return
    yield from submission_problems(table, items, facts)
    yield from definition_problems(table.signature)
    if not others:
        return
    other = others[slug]
    if other["corpus"]["items_sha256"] != table.signature["corpus"]["items_sha256"]:
        yield f"scored on other items than {slug}, the first model of this corpus in the store"
    hashes = [method_hashes(signature) for signature in (other, table.signature)]
    if differ := differing_keys(*hashes):
        yield (
            f"method(s) {', '.join(differ)}: missing, not in the store, or defined differently; score with "
            + " ".join(f"--method {name}" for name in hashes[0])
        )
        return
    lost = text_columns(table.features, table.signature["methods"]) if is_left_out(facts) else ()
    made, known = score_columns(other["methods"]), {*items.column_names, MODEL}
    held = {name for name in table.column_names if name not in lost}
    if more := sorted(held - known - made):
        yield f"column(s) {', '.join(more)}: neither of the items nor of the store's other tables of this corpus"
    if not is_left_out(facts) and (fewer := sorted(made - held)):
        yield f"lacks the column(s) {', '.join(fewer)}, which {slug} has; score with the same options"


def other_owner(signature: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """Return why the name of a signature's model belongs to another model of a store; "" = it does not."""
    ours, corpus = signature["model"], signature["corpus"]["name"]
    for place, models in manifest["scores"].items():
        if ours["slug"] in models:
            theirs = models[ours["slug"]]["model"]
            if key := differing_key(ours, theirs, REPLICATED if place == corpus else IDENTITY):
                name = f"{ours['slug']} on {place}"
                stated = f"{key} is {ours.get(key)!r}; the store shows {theirs.get(key)!r} under the name {name}"
                return f"{stated}; score under another name"
        if twin := twin_of(ours, {slug: shown["model"]["name"] for slug, shown in models.items()}):
            return f"the name {ours['name']!r} looks like {twin!r}, which the store has; score under another name"
    return ""


def _findings(table: Scored) -> Iterator[str]:
    from pairbank.stats.analyses.audit.section import checks_of
    from pairbank.stats.report.frames import scored_frame

    frame = scored_frame(without_people(table), for_analyses=True)
    try:
        checks = checks_of([frame])
    except BankError:
        return  # no item has two sides that a method compares
    for finding in checks[checks["outcome"] == "found"].head(_MOST_NOTES).to_dict("records"):
        of = f" ({finding['method']})" if finding["method"] else ""
        yield f"audit: {finding['what']}{of}: {finding['said']}"


def _rescored(
    table: Scored, facts: Mapping[str, Any], *, n: int, model: str | Path | None, seed: int
) -> tuple[list[str], list[str]]:
    """Return what is wrong with the scores of a random sample of items, and what was done, or why nothing could be."""
    from pairbank.scoring.models.load import load_model
    from pairbank.scoring.score import score

    signature = table.signature
    stated, methods = signature["model"], _scored_again(signature)
    why = (
        "it was imported, not scored by pairbank"
        if "imported" in signature
        else "the store leaves out its texts"
        if is_left_out(facts)
        else f"{stated['model_id']} at {stated['revision']} is no commit on the Hub; give its weights (--model)"
        if model is None and not is_on_hub(signature)
        else "no method can be scored for some items alone"
        if not methods
        else ""
    )
    if not why and model is None:
        why = _too_large(stated["model_id"], stated["revision"])
    if why:
        return [], [f"not re-scored: {why}"]
    names = ("dtype", "prompt_format", "quantisation", "pll", "seq2seq_mode") if stated.get("backend") != "fake" else ()
    options = {name: stated[name] for name in names if stated.get(name)}
    try:
        loaded = load_model(model or f"{stated['model_id']}@{stated['revision']}", **options)
    except ModelLoadError as error:
        if model is not None:
            raise
        return [], [f"not re-scored: {error}"]
    info = loaded.info.to_dict()
    differ = [key for key in ("revision", "dtype", "prompt_format", "backend") if info.get(key) != stated.get(key)]
    if differ:
        text = ", ".join(f"{key} is {info.get(key)!r}, the signature says {stated.get(key)!r}" for key in differ)
        return [f"not the model that the signature names: {text}"], []
    rows = sorted(random.Random(seed).sample(range(len(table)), min(n, len(table))))
    sample = items_of_scored(table).select(rows)
    over_length: OverLength = "nan" if signature.get("over_length") == "nan" else "error"
    order_seed = signature["seed"] if isinstance(signature["seed"], int) else 0
    again = score(sample, loaded, methods=methods, over_length=over_length, seed=order_seed)
    problems = [p for m in methods for p in _moved(m, table, again, rows, str(stated["dtype"]))]
    reported = f"{len(rows)} items re-scored with {', '.join(methods)}, seed {seed}"
    left = sorted(set(signature["methods"]) - set(methods))
    return problems, [f"{reported}; not {', '.join(left)}" if left else reported]


def _too_large(model_id: str, revision: str) -> str:
    """Return why a model on the Hub is not downloaded; "" where it is small enough, or loading it will say why not."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        files = HfApi().model_info(model_id, revision=revision, files_metadata=True).siblings or []
    except (HfHubHTTPError, OSError, ValueError):
        return ""
    of_kind = [sum(f.size or 0 for f in files if f.rfilename.endswith(kind)) for kind in (".safetensors", ".bin")]
    n_bytes = next(filter(None, of_kind), 0)
    limit = f"at most {whole(MOST_MODEL_BYTES / 10**9)} GB are downloaded; give its weights (--model)"
    return f"{model_id} has {whole(n_bytes / 10**9)} GB of weights, and {limit}" if n_bytes > MOST_MODEL_BYTES else ""


def _scored_again(signature: Mapping[str, Any]) -> list[str]:
    """Return the methods whose scores of an item need no other item and no file: no examples, no unigram counts."""
    alone = [name for name in signature["methods"] if not MethodName.parsed(name).n_shots]
    alone = [name for name in alone if name not in LINKING_FUNCTIONS or LINKING_FUNCTIONS[name].needs != "unigrams"]
    return [name for name in alone if name in FAMILIES or MethodName.parsed(name).id in prompts()]


def rounding(dtype: str) -> float:
    """Return by how much scores that are computed again may differ, in the method's unit."""
    return _TIMES_ROUNDING * allowed_nats(dtype)


def _moved(method: str, table: Scored, again: Scored, rows: list[int], dtype: str) -> Iterator[str]:
    """Yield where a method's scores of some items are not those of the table, beyond rounding."""
    c = ScoreColumns(method)
    allowed, ids = rounding(dtype), again.arrow(["item_id"])["item_id"].to_pylist()
    for name in (n for n in (c.good, c.bad, c.delta) if n in table.column_names and n in again.column_names):
        stated = table.arrow([name])[name].take(rows).to_pandas().to_numpy(float)
        computed = again.arrow([name])[name].to_pandas().to_numpy(float)
        far = ~np.isclose(stated, computed, rtol=0, atol=allowed, equal_nan=True)
        if n := int(far.sum()):
            first, *others = map(int, np.flatnonzero(far)[:_MOST_NAMED])
            also = f"; also {', '.join(str(ids[other]) for other in others)}" if others else ""
            yield (
                f"column {name} is not what the model gives in {n} of {len(rows)} re-scored item(s), by more than "
                f"{magnitude(allowed)} ({dtype}): of {ids[first]} the table says {magnitude(stated[first])}, "
                f"the model gives {magnitude(computed[first])}{also}{' …' if n > _MOST_NAMED else ''}"
            )
            return


def record_problems(file: Path, table: Scored, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a submission's record or path is not that of its table; a table outside a store needs no record."""
    path = Path(record_path(str(file)))
    inside = SUBMISSIONS in file.parts
    facts = manifest["corpora"].get(table.corpus)
    if inside and facts and is_left_out(facts) and (held := text_columns(table.features, table.signature["methods"])):
        yield f"column(s) {', '.join(held)}: the store leaves these texts out; hand in with pairbank submit"
    if not path.is_file():
        if inside:
            yield f"{path.name} is missing; a submission has its record beside it"
    elif (n_bytes := path.stat().st_size) > MOST_RECORD_BYTES:
        yield f"{path.name} has {n_bytes:,} bytes; a record has at most {MOST_RECORD_BYTES:,}"
    else:
        yield from _stated_problems(path, file, table, manifest)


def _stated_problems(path: Path, file: Path, table: Scored, manifest: Mapping[str, Any]) -> Iterator[str]:
    record, digest = read_json(path), sha256_of_file(file)
    if not isinstance(record, dict) or not isinstance(submitter := record.get("submitter"), str):
        yield f"{path.name} names no submitter"
        return
    if record.get("sha256") != digest:
        yield f"{path.name}: its sha256 is not that of the table"
    if record.get("signature") != table.signature:
        yield f"{path.name}: its signature is not that of the table"
    if problem := date_problem(record.get("date", ""), manifest):
        yield f"{path.name}: {problem}"
    if not SUBMITTER.fullmatch(submitter):
        yield f"{path.name}: submitter {submitter[:80]!r} cannot name a file"
    elif SUBMISSIONS in file.parts:
        place, stated = "/".join(file.parts[-4:]), (path.read_bytes(), b"")
        places = [submission_path(table.signature, submitter, digest, text) for text in stated]
        if place not in places:
            yield f"the path is {place}, expected {places[0]}"


def date_problem(stated: Any, manifest: Mapping[str, Any]) -> str:  # noqa: ANN401 - JSON is any
    """Return why a submission cannot have a date; "" = it can, or states none."""
    if stated == "":
        return ""
    first = manifest.get("published", "")
    try:
        at = datetime.fromisoformat(stated) if DATE.fullmatch(stated) else None
    except (TypeError, ValueError):
        at = None
    if at is None:
        return f"date is {stated!r:.80}; expected YYYY-MM-DD, as 2026-11-24, or nothing"
    return f"date is {stated}, before the store was published ({first})" if first and stated < first else ""


def hub_store(repo_id: str) -> tuple[Path, dict[str, Any]]:
    root = download(repo_id, MANIFEST, None).parent
    return root, read_manifest(root)


def fetch_items(repo_id: str, root: Path, manifest: Mapping[str, Any], corpus: str) -> None:
    """Put the items of one corpus beside a store's manifest in the Hub's cache."""
    if corpus in manifest["corpora"]:
        download(repo_id, items_path(corpus), root.name)


def download(repo_id: str, path: str, revision: str | None) -> Path:
    from huggingface_hub import HfApi

    asked = partial(HfApi().hf_hub_download, repo_id, path, repo_type="dataset", revision=revision)
    return Path(str(with_retries(f"download {path} of {repo_id}", asked)))


def record_path(path: str) -> str:
    return f"{path.removesuffix('.parquet')}.json"


def tombstone(path: str) -> str:
    return f"{path.removesuffix('.parquet')}{WITHDRAWN}"


def text_beside(file: Path, key: str, *, beside: Callable[[str], str] = record_path) -> str:
    """Return a text of the record beside a submission, or of its withdrawal; "" where there is none."""
    path = Path(beside(str(file)))
    try:
        value = json.loads(path.read_bytes()).get(key, "")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def judged(look: Callable[[], Verdict]) -> Verdict:
    """Return a verdict, whatever a stranger's files raise: one submission must not stop the others."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - nobody knows what a stranger's file may raise
        return Verdict(problems=(reason_of(error),))


def reason_of(error: Exception) -> str:
    """Return in words why a submission cannot be accepted that raised an error."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply to be read"
    of_kind = "" if isinstance(error, PairbankError) else f"{type(error).__name__}: "
    # a file in the Hub's cache or in a clone is named as in the store
    text = re.sub(rf"\S*/(?={SUBMISSIONS}/)", "", str(error))
    return f"{of_kind}{text}"[:_MOST_CHARACTERS]


def refuse(file: str | Path, verdict: Verdict) -> None:
    """Raise an error that names everything that is wrong with a submission, if anything is."""
    if verdict.problems:
        raise BankError("\n  ".join([f"{file}: the store does not accept it:", *verdict.problems]))
