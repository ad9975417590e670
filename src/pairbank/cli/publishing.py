"""Commands that check, export, publish, merge and show banks, and that fill a shared one."""

from __future__ import annotations

import shlex
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import pairbank
from pairbank.cli.display.console import command_line, say_next_steps, status
from pairbank.cli.display.output import answer, hint, note, say
from pairbank.cli.options import Bom
from pairbank.errors import PairbankError, unknown_name
from pairbank.files import reading
from pairbank.stats.wording import magnitude, number, plural

if TYPE_CHECKING:
    from pairbank.cards.site.site import Texts
    from pairbank.stats.scored_table.model_features import ModelFeatures


EVERY_EVAL_EVER = "every-eval-ever"
FOR_R = "r"
DEPOSIT = "deposit"
PSYCHLING = "psychling"
BankFolder = Annotated[Path, "Folder of a bank."]
Repo = Annotated[str, typer.Argument(metavar="ORG/NAME", help="Bank on the Hub.")]
Date = Annotated[str, "Date to state, YYYY-MM-DD; default: not stated."]
Rescore = Annotated[
    int, typer.Option(min=0, help="Score this many random items again with the model that it names, and compare.")
]
AnyBank = Annotated[str, "Bank folder, or ORG/NAME on the Hub."]
Declared = Annotated[Path | None, "TOML file whose [[models]] declare family, generation, size_billions and type."]


def check(
    bank: Annotated[Path | None, "Folder of a bank."] = None,
    *,
    quick: Annotated[bool, "Skip recomputing the results."] = False,
    submission: Annotated[Path | None, "Scored table to check instead of a bank."] = None,
    against: Annotated[str, "Bank that it is to join: a folder, or ORG/NAME on the Hub."] = "",
    rescore: Rescore = 0,
    model: Annotated[str, "Where its weights are, if not on the Hub: a folder."] = "",
    seed: Annotated[int | None, "Seed of the draw; default: a new one each time."] = None,
) -> None:
    """Verify a bank's integrity: files, hashes, tables, signatures, results and card.

    Example: pairbank check demo-bank
    Example: pairbank check --submission scored.parquet --against my-org/my-bank --rescore 20
    """
    if (submission is None) == (bank is None) or (submission is None) == bool(against):
        raise typer.BadParameter("expected either BANK, or --submission FILE with --against BANK")
    if bank is None:
        from pairbank.cards.submissions import refuse

        table = submission or ""
        with status("checking"):
            verdict = pairbank.check_submission(table, against, rescore=rescore, model=model or None, seed=seed)
            refuse(table, verdict)
        answer(submission=submission, against=against, accepted=True, notes=list(verdict.notes))
        say(f"{submission}: accepted by {against}")
        for note in verdict.notes:
            say(f"  {note}")
        return
    with status("checking"):
        manifest = pairbank.check_bank(bank, depth="quick" if quick else "all")
    n_tables = sum(len(models) for models in manifest["scores"].values())
    left_out = "; the results were not computed anew (--quick)" if quick else ""
    answer(bank=bank, whole=True, corpora=list(manifest["corpora"]), n_tables=n_tables, quick=quick)
    say(f"{bank}: whole; corpora: {len(manifest['corpora'])}, scored tables: {n_tables}{left_out}")


def export(
    scored: Annotated[list[Path], "Bank folders, or parquet files written by pairbank."],
    *,
    out: Annotated[Path, "Folder to write to."],
    to: Annotated[
        str,
        "csv, tsv, jsonl or xlsx (one file per table), r (with a script), psychling (individual ratings), deposit "
        "(DOI), or every-eval-ever.",
    ] = "csv",
    organisation: Annotated[str, "Source organisation, for every-eval-ever."] = "not stated",
    publisher: Annotated[str, "Archive that gives the DOI, for deposit."] = "",
    at: Annotated[
        int,
        typer.Option(
            min=0,
            envvar="SOURCE_DATE_EPOCH",
            show_envvar=False,
            help="Time of the export in seconds since 1970, for every-eval-ever; 0 = not stated.",
        ),
    ] = 0,
    bom: Bom = False,
) -> None:
    """Export a bank or scored tables to another format.

    Example: pairbank export demo-bank --to csv --out tables
    Example: pairbank export demo-bank --to r --out for-r
    Example: pairbank export my-bank --to deposit --out my-bank
    Example: pairbank export my-bank --to psychling --out studies
    Example: pairbank export scored.parquet --to every-eval-ever --out eee
    """
    from pairbank.cards.export.folders import KINDS, export_copies, export_deposit, export_for_r, export_psychling
    from pairbank.study.scored_files import banks_of, scored_files

    if to not in (known := [*KINDS, FOR_R, PSYCHLING, DEPOSIT, EVERY_EVAL_EVER]):
        raise unknown_name("format", to, known)
    if to == EVERY_EVAL_EVER:
        _export_results(scored, out, organisation=organisation, at=at)
        return
    with status("exporting"):
        if to == DEPOSIT:
            written = [file for path in scored for file in export_deposit(path, out, publisher=publisher)]
        elif to == PSYCHLING:
            written = export_psychling(scored, out)
        elif to == FOR_R:
            paths = scored_files(scored)
            written = export_for_r([pairbank.read_scored(path) for path in paths], banks_of(paths), out)
        else:
            written = export_copies(scored, out, kind=to, bom=bom)
    answer(exported=[{"out": file} for file in written])
    for file in written:
        say(str(file))


def _export_results(scored: Sequence[Path], out: Path, *, organisation: str, at: int) -> None:
    """Write pairs in the schema of Every Eval Ever; say which tables have none."""
    from pairbank.builders.schema.columns import ONE_SIDED_TASKS
    from pairbank.study.scored_files import scored_files

    with status("exporting"):
        tables = [pairbank.read_scored(path) for path in scored_files(scored)]
        tasks = [set(table.arrow(["task"])["task"].unique().to_pylist()) for table in tables]
        pairs = [table for table, of in zip(tables, tasks, strict=True) if not of <= set(ONE_SIDED_TASKS)] or tables
        written = pairbank.export_results(pairs, out, organisation=organisation, at=at)
    if n := len(tables) - len(pairs):
        note(f"left out, for the schema compares options: {plural(n, 'table')} of single sentences")
    for path, table in zip(written, pairs, strict=True):
        answer(exported=[{"out": path, "model": table.model, "corpus": table.corpus, "methods": table.methods}])
        say(f"{path}: {table.model} on {table.corpus}, {', '.join(table.methods)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    private: Annotated[bool, "Create the dataset as private."] = False
    dry_run: Annotated[bool, "Print the changes; publish nothing."] = False
    space: Annotated[bool, "Also publish the bank's site as a static Space."] = False
    benchmark: Annotated[bool, "Also publish eval.yaml: a forced choice per corpus, for Inspect."] = False
    eval_results_pr: Annotated[
        bool, "Open a pull request with the results on each model's repository; publishes eval.yaml."
    ] = False
    tag: Annotated[str, "Name of this version for citations (v1); a tag on the commit."] = ""
    replace: Annotated[list[str] | None, "Path on the Hub to overwrite even if others changed it."] = None


def publish(
    bank: BankFolder,
    repo: Annotated[str, typer.Argument(metavar="ORG/NAME", help="Dataset on the Hub; created if it does not exist.")],
    *,
    how: HubOptions,
) -> None:
    """Publish a bank on the Hub in one commit. Uses HF_TOKEN or `hf auth login`.

    Example: pairbank publish demo-bank my-org/my-bank --dry-run
    """
    options = asdict(how) | {"private": how.private or None, "replace": how.replace or ()}
    published = pairbank.publish(bank, repo, tell=say, **options)
    answer(repo=repo, dry_run=how.dry_run, url=published.url, revision=published.revision, changes=published.changes)
    if how.dry_run:
        say("dry run: nothing was published")
        for model_id in published.eval_results if how.eval_results_pr else ():
            say(f"would propose results to {model_id}")
        return
    unchanged = "" if published.changes else "; there was nothing to change"
    say(f"{published.url} is at {published.revision[:12]}{unchanged}")
    if tag := how.tag:
        say(f'version {tag}: load_dataset("{repo}", CONFIG, revision="{tag}"); cite {published.url}/tree/{tag}')
    for text in (published.space_url, *published.pull_requests.values()):
        if text:
            say(text)


def merge(
    first: Annotated[str, "Folder of a bank, or ORG/NAME on the Hub."],
    second: Annotated[str, "Bank to merge into it."],
    *,
    out: Annotated[Path, "Folder to write: the merged bank."],
) -> None:
    """Merge two banks; contradictions raise an error.

    Example: pairbank merge my-bank other-org/their-bank --out merged
    """
    with status("merging"):
        folder = pairbank.merge_banks(first, second, out=out, command=command_line())
    say_next_steps(folder)


def strip(bank: BankFolder, *, out: Annotated[Path, "Folder to write: the copy."]) -> None:
    """Copy a bank without the texts that may not be redistributed (ids and scores only).

    Example: pairbank strip my-bank --out public-bank
    """
    with status("leaving out texts"):
        folder = pairbank.strip_texts(bank, out, command=command_line())
    answer(bank=folder)
    hint(f"{folder}: next, pairbank publish {shlex.quote(str(folder))} ORG/NAME --dry-run")


def remove(
    bank: BankFolder,
    *,
    model: Annotated[str, "Model of the bank: split, name or id."],
    corpus: Annotated[str, "Remove it from this corpus only. [default: all]"] = "",
) -> None:
    """Remove a model from a bank; results and card are computed anew, reports stay.

    Example: pairbank remove my-bank --model gpt2
    """
    with status("removing"):
        folder = pairbank.remove_model(bank, model, corpus=corpus, command=command_line())
    answer(bank=folder, removed=model)
    say(f"{folder}: without {model}")


def submit(
    scored: Annotated[Path, "Parquet file written by pairbank score."],
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="ORG/NAME",
            help="Bank on the Hub that it is to join, or every-eval-ever: the datastore of Every Eval Ever.",
        ),
    ],
    submitter: Annotated[str, "Name of your group; default: the user of your token."] = "",
    command: Annotated[str, "Command that made the scores."] = "",
    date: Date = "",
    dry_run: Annotated[bool, "Check it; open no pull request."] = False,
) -> None:
    """Submit one scored table to a shared bank as a pull request. Uses HF_TOKEN or `hf auth login`.

    Example: pairbank submit scored.parquet --to my-org/my-bank --submitter my-lab --dry-run
    Example: pairbank submit scored.parquet --to every-eval-ever --submitter my-lab --date 2026-11-24 --dry-run
    """
    if to == EVERY_EVAL_EVER:
        with status("submitting"):
            files = pairbank.submit_results(scored, organisation=submitter, date=date, dry_run=dry_run)
        answer(submissions=[{"path": file.path, "url": file.url} for file in files], dry_run=dry_run)
        for file in files:
            say(f"{file.path}: {file.url or 'valid; dry run, nothing was submitted'}")
        return
    with status("submitting"):
        submitted = pairbank.submit(scored, to, submitter=submitter, command=command, date=date, dry_run=dry_run)
    answer(path=submitted.path, url=submitted.url, dry_run=dry_run)
    say(f"{submitted.path}: {submitted.url or 'accepted; dry run, nothing was submitted'}")


def withdraw(
    path: Annotated[str, "Path of the submission in the bank: submissions/….parquet."],
    *,
    to: Annotated[str, typer.Option(metavar="ORG/NAME", help="Bank on the Hub.")],
    reason: Annotated[str, "Reason, for readers."],
    date: Date = "",
    dry_run: Annotated[bool, "Check it; open no pull request."] = False,
) -> None:
    """Withdraw a submission from a shared bank with a pull request that states the reason.

    Example: pairbank withdraw submissions/A/B/lab-1.parquet --to my-org/my-bank --reason "wrong tokenizer"
    """
    with status("withdrawing"):
        url = pairbank.withdraw(path, to, reason=reason, date=date, dry_run=dry_run)
    answer(path=path, url=url, dry_run=dry_run)
    say(f"{path}: {url or 'dry run, nothing was withdrawn'}")


def review(
    repo: Repo,
    *,
    rescore: Rescore = 0,
    comment: Annotated[bool, "Write the verdict as a comment."] = False,
    merge: Annotated[bool, "Merge what is accepted; withdrawals are yours."] = False,
) -> None:
    """Check the open pull requests of a shared bank. Uses HF_TOKEN or `hf auth login`.

    Example: pairbank review my-org/my-bank --rescore 20 --comment --merge
    """
    with status("reviewing"):
        reviewed = pairbank.review(repo, rescore=rescore, comment=comment, merge=merge)
    for submission in reviewed:
        state = "merged" if submission.merged else "accepted" if submission.verdict.accepted else "refused"
        answer(
            pull_requests=[{"number": submission.number, "state": state, "problems": list(submission.verdict.problems)}]
        )
        say(f"{submission.url}: {'withdrawal, ' if submission.is_withdrawal else ''}{state}")
        for text in (*submission.verdict.problems, *submission.verdict.notes):
            say(f"  {text}")
    if not reviewed:
        say(f"{repo}: no open pull request")


def build_store(
    bank: Annotated[Path, "Folder of a bank with submissions/ in it."],
    *,
    repo: Annotated[str, typer.Option(metavar="ORG/NAME", help="Bank on the Hub, for the order of arrival.")] = "",
) -> None:
    """Add the accepted submissions to a shared bank; list replications, disputes and refusals with reasons.

    Example: pairbank build-store my-bank --repo my-org/my-bank
    """
    with status("building"):
        states = pairbank.build_store(bank, repo_id=repo)
    keys = ("path", "state", "reason")
    answer(submissions=[{key: getattr(submission, key) for key in keys} for submission in states])
    for submission in states:
        why = f": {submission.reason}" if submission.reason else ""
        if submission.largest_difference is not None:
            spread = ", ".join(f"{method} {magnitude(nats)}" for method, nats in submission.largest_difference.items())
            why = f"; largest difference: {spread}"
        say(f"{submission.path}: {submission.state}{why}")
    if not states:
        say(f"{bank}: no submissions")


def fetch(
    repo: Repo,
    *,
    model: Annotated[str, "Model of the bank."],
    corpus: Annotated[str, "Corpus of the bank."],
    out: Annotated[Path, "File to write: .parquet, .csv, .tsv, .jsonl or .xlsx."],
) -> None:
    """Download one model's scores of one corpus, without the rest of the bank.

    Example: pairbank fetch my-org/my-bank --model gpt2 --corpus blimp --out scored.parquet
    """
    with status("downloading"):
        path = pairbank.fetch(repo, model=model, corpus=corpus).save(out)
    answer(out=path)
    say(str(path))


def say_what_publishing_lacks(bank: Path) -> None:
    """Print what a bank lacks before it may be published: licences, or the leaving out of texts."""
    own, shipped = _locked(bank, "not_publishable")
    if own:
        hint(_licence_hint(bank, own))
    if shipped:
        texts = f"It holds texts of {', '.join(shipped)} that may not be redistributed"
        hint(f"{texts}; a copy without: pairbank strip {shlex.quote(str(bank))} --out PUBLIC")


def _locked(bank: Path, name: str) -> tuple[list[str], list[str]]:
    """Return the user's own and the shipped corpora whose texts may not be redistributed; `name` is theirs in JSON."""
    from pairbank.builders.corpora.registry import CORPORA
    from pairbank.cards.bank.layout import read_manifest
    from pairbank.cards.bank.redistribution import locked

    names = locked(read_manifest(bank)["corpora"])
    answer(**{name: names})
    return [corpus for corpus in names if corpus not in CORPORA], [corpus for corpus in names if corpus in CORPORA]


def site(
    bank: AnyBank,
    *,
    out: Annotated[Path, "Folder to write; an existing site is replaced."],
    name: Annotated[str, "Name to show in load_dataset examples. [default: BANK]"] = "",
    features: Declared = None,
    all_texts: Annotated[bool, "Include texts that may not be redistributed."] = False,
) -> None:
    """Write a bank as a static website.

    Example: pairbank site demo-bank --out demo-site
    """
    with status("writing the site"):
        texts: Texts = "all" if all_texts else "redistributable"
        folder = pairbank.write_site(bank, out, name=name, texts=texts, features=_features(features))
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    answer(site=folder, n_bytes=n_bytes)
    if not all_texts and (Path(bank) / "manifest.json").is_file():
        own, shipped = _locked(Path(bank), "texts_left_out")
        for names, why in ((own, "no licence is stated"), (shipped, "their terms forbid redistribution")):
            if names:
                say(f"Texts of {', '.join(names)} are left out: {why}; --all-texts includes them, for your own use")
        if own:
            hint(_licence_hint(Path(bank), own))
    say(f"{folder}: {number(n_bytes / 2**20, digits=1)} MiB; put it on any web server, or look at it with")
    hint(f"  python -m http.server --directory {folder} --bind 127.0.0.1")


def browse(
    bank: AnyBank,
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 0,
    host: Annotated[str, "Address to bind; 0.0.0.0 accepts connections from other machines."] = "127.0.0.1",
    features: Declared = None,
    no_open: Annotated[bool, "Do not open the web browser."] = False,
) -> None:
    """Explore a bank in the web browser: leaderboard, plots, every item.

    Example: pairbank browse demo-bank
    """
    from pairbank.cards.site.site import SiteServer

    with tempfile.TemporaryDirectory(prefix="pairbank-site-") as folder:
        with status("writing the page"):
            written = pairbank.write_site(
                bank, Path(folder) / "site", name=bank, texts="all", features=_features(features)
            )
        try:
            server = SiteServer(written, host=host, port=port)
        except OSError as error:
            raise PairbankError(f"{host}, port {port or 'any'}: {error}; choose another with --port") from error
        with server:
            say(f"{bank} on {server.url} (Ctrl+C stops)")
            if not no_open:
                typer.launch(server.url)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                say("stopped")


def _licence_hint(bank: Path, names: Sequence[str]) -> str:
    others = f"{', '.join(names[1:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}"
    more = f" (and one for {others})" if others else ""
    stated = f"{shlex.quote(str(bank))} --licence {shlex.quote(names[0])}=cc-by-4.0"
    return f"To publish them, state a licence: pairbank bank --out {stated}{more}"


def _features(path: Path | None) -> dict[str, ModelFeatures] | None:
    if path is None:
        return None
    from pairbank.stats.scored_table.model_features import features_from_entries

    with reading(path, PairbankError, saying="not readable as TOML", remedy="correct it"):
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
    return features_from_entries(declared.get("models", []))
