"""`pairbank score`, `import` and `cut`: from items and a model to scored tables."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import typer

from pairbank.cli.cluster import (
    GpusPerWorker,
    Join,
    PartOption,
    Ray,
    ThreadsPerWorker,
    Workers,
    cluster_of,
    joined,
    part_of,
    refuse_join_with,
    say_part,
)
from pairbank.cli.display.console import Downloads, bars, fresh_stats, quiet_bars, say_report, say_work, status, work_of
from pairbank.cli.display.output import answer, note, say, warn
from pairbank.cli.options import (
    MORE,
    Columns,
    DataDir,
    ItemOptions,
    Methods,
    Prompts,
    UnigramFiles,
    Wrong,
    WrongBy,
    column_map,
    corpora_named,
    load_items,
    load_own_ratings,
    takes_item_options,
    takes_model_options,
)
from pairbank.cli.results import checkpoints_of, score_checkpoints
from pairbank.scoring.models.options import LoadOptions

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.applicability import Chosen
    from pairbank.scoring.run.units import Part
    from pairbank.scoring.scored import Scored
    from pairbank.stats.report.report import Report


@takes_model_options
@takes_item_options
def score(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A corpus, your own file (two columns suffice), or a bank's items "
            "(BANK/data/NAME/items.parquet, by default with the bank's methods).",
            autocompletion=corpora_named,
        ),
    ],
    out: Annotated[
        list[Path],
        typer.Option(
            help="Scored table to write. `report` and `bank` read .parquet; .csv, .tsv, .xlsx and "
            ".jsonl are copies for other programs. Repeatable."
        ),
    ],
    model: Annotated[
        str, typer.Option(help="demo, a folder, or a Hub id; random:MODEL has its random weights.")
    ] = "demo",
    *,
    method: Methods = None,
    wrong: Wrong = None,
    which: ItemOptions,
    wrong_by: WrongBy = None,
    bom: Annotated[
        bool,
        typer.Option(
            "--bom", help="Start .csv and .tsv files with a byte-order mark, for Excel.", rich_help_panel=MORE
        ),
    ] = False,
    prompts: Prompts = None,
    multiverse: Annotated[
        bool,
        typer.Option(
            "--multiverse",
            help="Score all methods that the multiverse analysis needs; with -m, only these prompts.",
            rich_help_panel=MORE,
        ),
    ] = False,
    revisions: Annotated[
        str | None,
        typer.Option(
            help="Checkpoints A,B,C of the model: Hub revisions, or sub-folders (checkpoint-100). --out "
            "is then a folder with one file per checkpoint.",
            show_default=False,
            rich_help_panel=MORE,
        ),
    ] = None,
    over_length: Annotated[
        str,
        typer.Option(help="Items longer than the model's context: error, or nan.", rich_help_panel=MORE),
    ] = "error",
    per_token: Annotated[
        bool,
        typer.Option("--per-token", help="Store the log-probability and string of each token.", rich_help_panel=MORE),
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000,
            help="Sampled answers per prompt, for methods that let the model write (…_free). The draws are "
            "also written as a table of ratings: NAME.draws.parquet beside --out.",
            show_default=False,
            rich_help_panel=MORE,
        ),
    ] = None,
    temperature: Annotated[
        float,
        typer.Option(min=0.0001, max=99.0, help="Temperature of sampled answers.", rich_help_panel=MORE),
    ] = 1.0,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of few-shot (@…shot) examples and of sampled answers.", rich_help_panel=MORE),
    ] = 0,
    unigrams: UnigramFiles = None,
    part: PartOption = None,
    join: Join = None,
    ray: Ray = None,
    workers: Workers = 1,
    gpus_per_worker: GpusPerWorker = 0.0,
    threads_per_worker: ThreadsPerWorker = 1,
    options: LoadOptions,
) -> None:
    """Score items with a model, print the results and write the scored table.

    Example: pairbank score my_pairs.csv --model demo --out scored.parquet
    Example: pairbank score li --limit 1 --multiverse --out li.parquet
    """
    import pairbank
    from pairbank.cli.display.wrong import say_wrong
    from pairbank.files import refuse_other_than_a_file
    from pairbank.scoring.score import Joining
    from pairbank.scoring.signature import signature_at

    _refuse(over_length, out)
    chosen = part_of(part)
    cluster = cluster_of(
        ray=ray, workers=workers, gpus_per_worker=gpus_per_worker, threads_per_worker=threads_per_worker
    )
    before: dict[Path, Mapping[str, Any] | None] = {}
    for path in out if chosen is None and revisions is None else ():
        refuse_other_than_a_file(path)  # before hours of scoring, not after
        before[path] = signature_at(path)
    places = [] if revisions is None else checkpoints_of(model, revisions, options, out=out)
    refuse_join_with(join, part=part, ray=ray, revisions=revisions)
    if places and (ray is not None or chosen is not None or multiverse or wrong is not None):
        raise typer.BadParameter("--revisions goes with neither --ray, --part, --multiverse nor --wrong")
    with quiet_bars(), contextlib.ExitStack() as stack:
        with status(f"building {corpus}"):
            items = load_items(corpus, **which)
        if which["limit"] is not None or which["sample"] is not None:
            say(f"{len(items):,} items to score{_of_groups(items, which['limit'])}")
        wanted = multiverse_of(items, method, with_unigrams=bool(unigrams)) if multiverse else method
        asked_for = _sampled(items, wanted, samples, temperature, prompts or [])
        methods, prompts = _methods_and_prompts(corpus, items, asked_for, prompts or [])
        for text in methods.notes:
            warn(f"note: {text}")
        requested: dict[str, Any] = {
            "methods": methods.methods,
            "over_length": over_length,
            "per_token": per_token,
            "prompts": prompts,
            "seed": seed,
            "unigrams": unigrams or None,
        }
        if revisions is not None:
            score_checkpoints(items, places, out[0], requested, load=load)
            return
        shared = None if cluster is None else stack.enter_context(cluster(model, options))
        if join is not None:
            shared = joined(model, options, Joining(of=join))
        scored = _scored(items, model, options, requested, shared, chosen)
    if scored is None:
        return
    for path in out:
        _say_replaced(path, before.get(path), scored)
        scored.save(path, bom=bom)
    _save_draws(scored, out[0])
    made = pairbank.report([scored], analyses=["multiverse"] if multiverse else [])
    say_report(made)
    say_wrong([scored], wrong, wrong_by)
    if hint_of_sides := _exchanged(corpus, scored, made):
        warn(hint_of_sides)
    computed = _with_scores(scored)
    empty = [name for name in scored.methods if name not in computed]
    answer(
        out=out, corpus=scored.corpus, model=scored.model, n_items=len(scored), methods=computed, without_scores=empty
    )
    _save_ratings(load_own_ratings(corpus, which), out)
    without = f"; no scores of {', '.join(empty)}" if empty else ""
    say(f"{', '.join(map(str, out))}: {len(scored):,} items with {', '.join(computed) or 'no scores'}{without}")


def _exchanged(corpus: str, scored: Scored, made: Report) -> str:
    """Return what to type where a user's columns of better and worse sentences seem to be exchanged; "" = they do not.

    They seem so where the upper end of the interval of direct accuracy is below one half.
    """
    from pairbank.builders.corpora.cells import line_to_type
    from pairbank.builders.corpora.tabular import READ_AS, is_own

    of_all = made.summary[(made.summary["group_by"] == "all") & (made.summary["method"] == "direct")]
    direct = of_all[(of_all["metric"] == "accuracy") & (of_all["high"] < 0.5)]
    if direct.empty or not is_own(corpus):
        return ""
    facts = (scored.signature["corpus"].get("manifest") or {}).get("facts") or {}
    sides = [facts.get(READ_AS, {}).get(name) for name in ("target_bad", "target_good")]
    type_this = f": type {line_to_type(*map(str, sides))}" if all(sides) else ""
    return (
        f"note: by direct, {scored.model} prefers the worse sentence in most pairs. If your file has better and worse "
        f"the other way round, score it again{type_this}"
    )


def _refuse(over_length: str, out: Sequence[Path]) -> None:
    from pairbank.scoring.signature import refuse_other_suffixes

    if over_length not in ("error", "nan"):
        raise typer.BadParameter(f"{over_length!r}: expected error or nan")
    for path in out:
        refuse_other_suffixes(path)


def _say_replaced(path: Path, before: Mapping[str, Any] | None, scored: Scored) -> None:
    """Say which scores a file held that it does not hold any more."""
    if before is None:
        return
    model, corpus = before["model"]["name"], before["corpus"]["name"]
    lost = [name for name in before["methods"] if name not in scored.methods]
    if (model, corpus) != (scored.model, scored.corpus):
        note(f"{path}: replaced; it held scores of {corpus} by {model}")
    elif lost:
        note(f"{path}: replaced; it also held {', '.join(lost)}")


def _scored(
    items: datasets.Dataset,
    model: str,
    options: LoadOptions,
    asked: Mapping[str, Any],
    workers: Scorer | None,
    part: Part | None,
) -> Scored | None:
    """Return the scored table; None of a part. A model is not loaded where every number is stored."""
    import pairbank
    from pairbank.scoring.api.model import ScoringStats
    from pairbank.scoring.models.load import remembered
    from pairbank.scoring.score import score_part, score_stored

    on_read = Downloads(doing="reading").on_progress
    info = remembered(model, progress=on_read, **options) if workers is None and part is None else None
    if info is not None and (result := score_stored(items, info, **asked)) is not None:
        say_work({result.model: ScoringStats()})
        return result
    scorer = workers or load(model, **options)
    with bars(work_of(scorer)) as bar:
        notify = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
        if part is not None:
            say_part(part, score_part(items, scorer, part, progress=notify, **asked))
            return None
        scored = pairbank.score(items, scorer, progress=notify, **asked)
    say_work(work_of(scorer))
    return scored


def _save_ratings(ratings: datasets.Dataset | None, out: Sequence[Path]) -> None:
    """Write the individual ratings of a file of the user's own beside its scored tables."""
    from pairbank.files import write_parquet
    from pairbank.study.scored_files import ratings_file

    if ratings is None:
        return
    beside = list(dict.fromkeys(ratings_file(path) for path in out))
    for path in beside:
        write_parquet(path, ratings.with_format("arrow")[:])
    by = f"{len(ratings):,} ratings by {len(set(ratings['rater'][:])):,} raters"
    answer(ratings=beside)
    say(f"{', '.join(map(str, beside))}: {by}, which `pairbank bank` and `report` read")


def _sampled(
    items: datasets.Dataset,
    asked: Sequence[str] | None,
    samples: int | None,
    temperature: float,
    prompts: Sequence[Path],
) -> Sequence[str] | None:
    """Return the methods, with sampled answers where they are written and --samples was given."""
    from pairbank.scoring.applicability import chosen_methods, with_samples

    if samples is None:
        return asked

    return with_samples(asked or chosen_methods(items, None).methods, samples, temperature, prompts=prompts)


def _save_draws(scored: Scored, out: Path) -> None:
    """Write the sampled answers, if there are any, as a table of ratings beside the scored table."""
    if any(layout.get("samples") for layout in scored.layouts):
        ratings = scored.ratings()
        path = _write_ratings(ratings, out.with_name(f"{out.stem}.draws.parquet"), kind="draws")
        say(f"{path}: {len(ratings):,} sampled answers as ratings, a rater per draw")


def _write_ratings(ratings: pd.DataFrame, path: Path, *, kind: Literal["ratings", "draws"]) -> Path:
    import pyarrow as pa

    from pairbank.files import write_parquet

    write_parquet(path, pa.Table.from_pandas(ratings, preserve_index=False))
    answer(**{kind: [{"out": path, "n_ratings": len(ratings), "n_raters": ratings["rater"].nunique()}]})
    return path


def _with_scores(scored: Scored) -> list[str]:
    """Return the methods that have a number for some item."""
    table = scored.dataset.data
    return [
        name
        for name in scored.methods
        if any(table.column(column).null_count < len(scored) for column in _numbers_of(name, table.column_names))
    ]


def _numbers_of(method: str, names: Sequence[str]) -> list[str]:
    """Return the columns of a method's numbers that a table has."""
    from pairbank.scoring.api.layout import ScoreColumns

    columns = ScoreColumns(method)
    return [name for name in (columns.good, columns.delta, columns.by_region) if name in names]


def _methods_and_prompts(
    corpus: str, items: datasets.Dataset, asked: Sequence[str] | None, prompts: Sequence[Path]
) -> tuple[Chosen, list[Path]]:
    """Return the methods to score with, and the files of prompts: a bank's items come with its methods and prompts."""
    from pairbank.builders.load import is_banked, methods_in_bank, prompt_files_of_bank
    from pairbank.scoring.applicability import chosen_methods, methods_as_before
    from pairbank.scoring.prompts.registry import files_not_known

    if not is_banked(corpus):
        return chosen_methods(items, asked, prompts=prompts), [*prompts]
    files = [*prompts, *files_not_known(prompt_files_of_bank(corpus), prompts)]
    if asked is not None:
        return chosen_methods(items, asked, prompts=files), files
    return methods_as_before(items, methods_in_bank(corpus, items["corpus"][0]), prompts=files), files


def _of_groups(items: datasets.Dataset, limit: int | None) -> str:
    """Return of how many paradigms or phenomena a limit takes items, as text to append."""
    if limit is None:
        return ""
    paradigms, phenomena = (
        sum(entry is not None for entry in items.unique(name)) for name in ("paradigm", "phenomenon")
    )
    named = f"{paradigms:,} paradigms" if paradigms else f"{phenomena:,} phenomena" if phenomena else "one group"
    return f": at most {limit:,} of each of {named}, per subset, language and label"


def multiverse_of(items: datasets.Dataset, method: Sequence[str] | None, *, with_unigrams: bool) -> list[str]:
    """Return the methods of `--multiverse`: all that apply to the items, or the prompts given instead of all."""
    from pairbank.scoring.methods.registry import multiverse_methods

    result = multiverse_methods(items, with_unigrams=with_unigrams, asked=method is None)
    return list(dict.fromkeys([*result, *(method or ())]))


def import_(
    out: Annotated[Path, typer.Option(help="Folder to write: one parquet file per model.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Score tables, or a tool's files and folders (--from); none = the published files that a profile pins."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Tool that produced the files: lm-eval, inspect-ai, every-eval-ever, minicons, babylm, "
            "or another profile.",
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Profile for a table: a name or a TOML file.")] = None,
    column: Columns = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            help="What a score is: NAME=KIND[,KEY=VALUE…], KIND one of logprob, surprisal, perplexity, score, rating, "
            "decision; its columns are NAME_good and NAME_bad, a decision's NAME. Keys: direction=higher, unit=bits, "
            "scale=1-7, label=…; of a decision good=A, bad=B, tie=…, unparsed=… (several with |). May be repeated."
        ),
    ] = None,
    items: Annotated[
        str | None, typer.Option(help="Corpus that was scored; default: the file's own sentences.")
    ] = None,
    data_dir: DataDir = None,
    corpus: Annotated[str | None, typer.Option(help="Name of the corpus; default: the file's name.")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, if no column has it.")] = None,
) -> None:
    """Import scores computed elsewhere as scored tables, one file per model.

    Values are log-probabilities in nats unless --score declares ratings, decisions, surprisals …

    Example: pairbank import syntax_wide_size.csv --profile hu-frank-2024 --out imported
    Example: pairbank import judged.csv --model gpt-x --score judge=decision,good=A,bad=B --out imported
    Example: pairbank import --from lm-eval lm_eval_output --items blimp --out imported
    Example: pairbank import --from kauf-2023 --out imported
    """
    import pairbank
    from pairbank.scoring.importing.published import published_files

    if source is not None and (profile or column or score):
        raise typer.BadParameter("--from names a profile: leave out --profile, --column and --score, or --from")
    if not files and source is None:
        raise typer.BadParameter("which files? Name them, or a profile of published results (--from)")
    if source is None and files and len(files) > 1:
        raise typer.BadParameter(f"{len(files)} files: several are read --from a tool; a table is imported alone")
    with quiet_bars(), status(f"importing {', '.join(map(str, files or ())) or source}"):
        files = files or [*published_files(str(source), data_dir, progress=Downloads().on_progress).paths]
        known = None if items is None else pairbank.load_corpus(items, data_dir=data_dir)
        if source is not None:
            result = pairbank.import_logs(files, source, items=known, corpus=corpus, model=model)
        else:
            tables = pairbank.import_scores(
                files[0],
                profile=profile,
                columns=column_map(column),
                scores=score_declarations(score),
                items=known,
                corpus=corpus,
                model=model,
            )
            result = pairbank.Imports(tables=tables, left_out=[], stated=[])
        paths = [table.save(out / f"{table.model_slug}.parquet") for table in result.tables]
    for path, table in zip(paths, result.tables, strict=True):
        methods = (_with_flags(name, table.signature["n_by_flag"].get(name, {})) for name in table.methods)
        answer(imported=[{"out": path, "model": table.model, "n_items": len(table), "methods": table.methods}])
        say(f"{path}: {len(table):,} items with {', '.join(methods)}")
    slugs = {table.model: table.model_slug for table in result.tables}
    for name, ratings in result.ratings.items():
        path = _write_ratings(ratings, out / "ratings" / f"{name}.parquet", kind="ratings")
        say(f"{path}: {len(ratings):,} ratings of {ratings['rater'].nunique():,} people, for `pairbank bank --ratings`")
    for name, ratings in result.draws.items():
        path = _write_ratings(ratings, out / "ratings" / f"{slugs[name]}.parquet", kind="draws")
        say(f"{path}: {len(ratings):,} sampled answers, for `pairbank report --set raters.ratings={path}`")
    for line in (*result.left_out, *result.stated):
        say(str(line))


def cut(
    scored: Annotated[list[Path], typer.Argument(help="Scored tables, also from a bank.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write: CORPUS/MODEL.parquet for each table.")],
) -> None:
    """Restrict scored tables to their common items and methods.

    Imported logs often have more or fewer items, and other methods. No number is computed or filled in. Import logs
    with --items, the corpus that was scored.

    Example: pairbank cut my-bank/scores/blimp/*.parquet imported/other.parquet --out alike
    """
    import pairbank

    with quiet_bars(), status("cutting"):
        tables = [pairbank.read_scored(path) for path in scored]
        alike = pairbank.cut_alike(tables)
        paths = [out / table.corpus / f"{table.model_slug}.parquet" for table in alike]
        _refuse_overwriting(paths, scored)
        for path, table in zip(paths, alike, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            table.save(path)
    for path, table, before in zip(paths, alike, tables, strict=True):
        answer(cut=[{"out": path, "model": table.model, "n_items": len(table), "methods": table.methods}])
        left = [name for name in before.methods if name not in table.methods]
        without = f", without {', '.join(left)}" if left else ""
        say(f"{path}: {len(table):,} of {len(before):,} items, {', '.join(table.methods)}{without}")


def _refuse_overwriting(paths: Sequence[Path], read: Sequence[Path]) -> None:
    """Refuse to write one table over another, or over a file that was read."""
    from pairbank.errors import BankError
    from pairbank.files import real_path

    for place, path in enumerate(paths):
        if path in paths[:place]:
            first = read[paths.index(path)]
            raise BankError(
                f"{first} and {read[place]} are of one model and corpus, and both would be {path}; nothing was "
                "written: give the model of one another name (import --model NAME)"
            )
    inputs = {real_path(path) for path in read}
    if over := [path for path in paths if real_path(path) in inputs]:
        raise BankError(f"{over[0]} is one of the files to cut; nothing was written: give another folder (--out)")


def score_declarations(said: list[str] | None) -> dict[str, dict[str, Any]]:
    """Return `--score` options as declarations of a profile.

    >>> score_declarations(["judge=decision,good=A|1,bad=B", "slor=score,direction=higher"])["judge"]
    {'kind': 'decision', 'answers': {'good': ['A', '1'], 'bad': ['B']}}
    """
    results: dict[str, dict[str, Any]] = {}
    for text in said or ():
        pairs = [part.partition("=") for part in text.split(",")]
        if bad := [key for key, equals, value in pairs if not (key and equals and value)]:
            raise typer.BadParameter(f"{text!r}: {bad[0]!r} has no value; expected NAME=KIND,KEY=VALUE")
        name, _, kind = pairs[0]
        table = results[name] = {"kind": kind}
        for key, _, value in pairs[1:]:
            if key in ("direction", "unit", "label"):
                table[key] = value
            elif key == "scale":
                table[key] = _scale(value)
            else:
                table.setdefault("answers", {})[key] = value.split("|")
    return results


def _scale(value: str) -> list[float]:
    if not (ends := re.fullmatch(r"(-?[\d.]+)-(-?[\d.]+)", value)):
        raise typer.BadParameter(f"scale={value!r}: expected the lowest and the highest rating, as in scale=1-7")
    return [float(end) for end in ends.groups()]


def _with_flags(method: str, n_by_flag: Mapping[str, int]) -> str:
    text = ", ".join(f"{n:,} {flag.replace('_', ' ')}" for flag, n in n_by_flag.items())
    return f"{method} ({text})" if text else method


def load(model: str, /, **options: Unpack[LoadOptions]) -> Scorer:
    """Load a model with a status line in place of the library's progress bar."""
    from transformers.utils import logging as transformers_logging

    import pairbank

    with status(f"loading model {model}"):
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        scorer: Scorer = pairbank.load_model(model, progress=Downloads(doing="reading").on_progress, **options)
    fresh_stats(scorer)
    return scorer
