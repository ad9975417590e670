"""`pairbank score`, `import` and `cut`: from items and a model to scored tables."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import pairbank
from pairbank.cli.checkpoints import checkpoints_of, score_checkpoints
from pairbank.cli.cluster import ClusterOptions, joined, say_part
from pairbank.cli.display.console import say_report, say_work, show, status
from pairbank.cli.display.output import answer, note, say, warn
from pairbank.cli.display.progress import Downloads, bars, work_of
from pairbank.cli.loading import READING, load
from pairbank.cli.options import (
    Columns,
    DataDir,
    ItemOptions,
    Methods,
    OverLength,
    ProbeText,
    Prompts,
    UnigramFiles,
    WrongOptions,
    column_map,
    corpora_named,
    more,
)
from pairbank.errors import BankError
from pairbank.files import real_path, refuse_other_than_a_file, write_parquet
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.models.options import LoadOptions
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.importing.scores import Imports
    from pairbank.scoring.run.work import Part, ScoreOptions
    from pairbank.scoring.score import StoredParts
    from pairbank.scoring.scored import Scored


MOST_DIFFERENT = 10
"""Items that `--compare` prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    method: Methods = None
    prompts: Prompts = None
    multiverse: Annotated[
        bool, more(help="Score all methods that the multiverse analysis needs; with -m, only these prompts.")
    ] = False
    revisions: Annotated[
        str | None,
        more(
            help="Checkpoints A,B,C of the model: Hub revisions, or sub-folders (checkpoint-100). --out is then a "
            "folder with one file per checkpoint."
        ),
    ] = None
    over_length: Annotated[OverLength, more(help="Items longer than the model's context: error, or nan.")] = "error"
    per_token: Annotated[bool, more(help="Store the log-probability and string of each token.")] = False
    samples: Annotated[
        int | None,
        more(
            min=1,
            max=1_000,
            help="Sampled answers per prompt, for methods that let the model write (…_free). The draws are also "
            "written as a table of ratings: NAME.draws.parquet beside --out.",
        ),
    ] = None
    temperature: Annotated[float, more(min=0.0001, max=99.0, help="Temperature of sampled answers.")] = 1.0
    seed: Annotated[int, more(min=0, help="Seed of few-shot (@…shot) examples and of sampled answers.")] = 0
    unigrams: UnigramFiles = None
    probe_text: ProbeText = None
    compare: Annotated[
        Literal["minicons"] | None,
        more(
            help="Also score with this tool under its own defaults, list where the numbers differ and why, and write "
            "NAME.minicons.csv beside --out."
        ),
    ] = None
    bom: Annotated[bool, more(help="Start .csv and .tsv files with a byte-order mark, for Excel.")] = False

    def request(self, corpus: str, items: datasets.Dataset) -> ScoreOptions:
        """Return what is asked of `score` for the items of a corpus; say what is to be said of it."""
        from pairbank.scoring.applicability import methods_of_run
        from pairbank.scoring.run.work import ScoreOptions

        chosen = methods_of_run(
            corpus,
            items,
            self.method,
            prompts=self.prompts or (),
            multiverse=self.multiverse,
            with_unigrams=bool(self.unigrams),
            samples=self.samples,
            temperature=self.temperature,
        )
        for text in chosen.notes:
            warn(f"note: {text}")
        return ScoreOptions(
            methods=chosen.methods,
            over_length=self.over_length,
            per_token=self.per_token,
            prompts=chosen.prompts,
            seed=self.seed,
            unigrams=self.unigrams or None,
            probe_text=self.probe_text,
        )


def score(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A corpus, your own file (two columns suffice), or a bank's items (BANK/data/NAME/items.parquet, by "
            "default with the bank's methods).",
            autocompletion=corpora_named,
        ),
    ],
    *,
    out: Annotated[
        list[Path],
        "Scored table to write. `report` and `bank` read .parquet; .csv, .tsv, .xlsx and .jsonl are copies for other "
        "programs. Repeatable.",
    ],
    model: Annotated[str, "demo, a folder, or a Hub id; random:MODEL has its random weights."] = "demo",
    which: ItemOptions,
    how: ScoringOptions,
    worst: WrongOptions,
    machines: ClusterOptions,
    options: LoadOptions,
) -> None:
    """Score items with a model, print the results and write the scored table.

    Example: pairbank score my_pairs.csv --model demo --out scored.parquet
    Example: pairbank score li --limit 1 --multiverse --out li.parquet
    """
    from pairbank.scoring.score import Joining

    machines.check(revisions=how.revisions)
    part, cluster = machines.chosen_part(), machines.cluster()
    before = _signatures(out, are_written=part is None and how.revisions is None)
    checkpoints = [] if how.revisions is None else checkpoints_of(model, how.revisions, options, out=out)
    if checkpoints and (cluster or part or how.multiverse or worst.wrong is not None):
        raise typer.BadParameter("--revisions goes with neither --ray, --part, --multiverse nor --wrong")
    with contextlib.ExitStack() as stack:
        items = _built(corpus, which)
        request = how.request(corpus, items)
        if checkpoints:
            score_checkpoints(items, checkpoints, out[0], request)
            return
        loaded = functools.cache(lambda: load(model, **options))
        workers = None if cluster is None else stack.enter_context(cluster(model, options))
        if part is not None:
            _score_part(items, workers or loaded(), part, request)
            return
        if machines.join is not None:
            scored = _scored(items, joined(model, options, Joining(of=machines.join)), request)
        else:
            stored = None if workers else _stored(items, model, options, request)
            scored = stored or _scored(items, workers or loaded(), request)
    _save(scored, out, before, bom=how.bom)
    _say_scored(corpus, scored, out, how, worst)
    _say_ratings(which.own_ratings(corpus), out)
    if how.compare:
        _compare_minicons(items, scored, loaded(), out[0])


def _compare_minicons(items: datasets.Dataset, scored: Scored, scorer: Scorer, out: Path) -> None:
    """Score with minicons' defaults too; print and write where the numbers differ, and why."""
    from pairbank.files import write_text
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.scoring.engine_differences import item_differences
    from pairbank.scoring.methods.registry import method_named
    from pairbank.scoring.models.minicons import REASONS, SAME_NATS, beside
    from pairbank.scoring.run.work import ScoreOptions

    asked = [DIRECT, *(layout.method for layout in map(MethodLayout.from_dict, scored.layouts) if layout.has_logprobs)]
    peer = beside(scorer)
    other = _scored(items, peer, ScoreOptions(methods=[*dict.fromkeys(asked), "mean_logprob"], over_length="nan"))
    table = item_differences(scored, other, REASONS).rename(columns={"reference": "pairbank", "other": "minicons"})
    is_direct = table["method"] == DIRECT
    means = dict(zip(other.table["item_id"].to_pylist(), other.table["mean_logprob_delta"].to_pylist(), strict=True))
    texts = dict(zip(items["item_id"], items["target_good"], strict=True))
    table.insert(1, "good", table["item_id"].map(texts))
    table["minicons_mean"] = table["item_id"].map(means).where(is_direct)
    requests = [r for row in items.select(range(min(len(items), 20))) for r in method_named(DIRECT).requests(row, peer)]
    gap, path = peer.gap_on_our_tokens(requests), out.with_name(f"{out.stem}.minicons.csv")
    write_text(path, table.to_csv(index=False, lineterminator="\n"))
    differ = table[table["difference"].abs() > SAME_NATS]
    by_mean = int(((table["minicons_mean"] > 0) != (table["pairbank"] > 0))[is_direct].sum())
    shown = differ.reindex(differ["difference"].abs().sort_values(ascending=False).index).head(MOST_DIFFERENT)
    show(shown.round(3).drop(columns=["other_side", "item_id"]), name="minicons", whole=["good"])
    for reason, n in differ["why"].str.split("; ").explode().value_counts().items():
        say(f"{n:,} of {len(differ):,}: {reason}")
    say(
        f"{path}: {len(differ):,} of {len(table):,} scores differ by more than {SAME_NATS} nats; minicons prefers the "
        f"other side in {int(table['other_side'].sum()):,}, and by its default, the mean per token, in {by_mean:,} of "
        f"{int(is_direct.sum()):,} items. Given the same tokens, the two differ by at most {number(gap, digits=5)} nats"
    )
    answer(minicons=path, n_differ=len(differ), n_other_side=int(table["other_side"].sum()), n_by_mean=by_mean)


def _signatures(out: Sequence[Path], *, are_written: bool) -> dict[Path, Mapping[str, Any] | None]:
    """Return what files hold that will be replaced; refuse, before hours of scoring, what is not a scored table."""
    from pairbank.scoring.signature import refuse_other_suffixes, signature_at

    for path in out:
        refuse_other_suffixes(path)
    signatures: dict[Path, Mapping[str, Any] | None] = {}
    for path in out if are_written else ():
        refuse_other_than_a_file(path)
        signatures[path] = signature_at(path)
    return signatures


def _score_part(items: datasets.Dataset, scorer: Scorer, part: Part, request: ScoreOptions) -> None:
    from pairbank.scoring.score import score_part

    with bars(work_of(scorer)) as bar:
        notify = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
        say_part(part, score_part(items, scorer, part, request, progress=notify))


def _stored(items: datasets.Dataset, model: str, options: LoadOptions, request: ScoreOptions) -> Scored | None:
    """Return the scored table where every number is stored, so that the model need not be loaded; else None."""
    from pairbank.scoring.api.model import ScoringStats
    from pairbank.scoring.models.load import remembered
    from pairbank.scoring.score import score_stored

    info = remembered(model, progress=Downloads(doing=READING).on_progress, **options)
    scored = None if info is None else score_stored(items, info, request)
    if scored is not None:
        say_work({scored.model: ScoringStats()})
    return scored


def _scored(items: datasets.Dataset, scorer: Scorer | StoredParts, request: ScoreOptions) -> Scored:
    from pairbank.scoring.score import score_as

    with bars(work_of(scorer)) as bar:
        notify = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
        scored = score_as(items, scorer, request, progress=notify)
    say_work(work_of(scorer))
    return scored


def _say_scored(corpus: str, scored: Scored, out: Sequence[Path], how: ScoringOptions, worst: WrongOptions) -> None:
    from pairbank.cli.display.wrong import say_wrong
    from pairbank.study.own_tables import exchanged_sides

    report = pairbank.report([scored], analyses=["multiverse"] if how.multiverse else [])
    say_report(report)
    say_wrong([scored], worst.wrong, worst.wrong_by)
    if exchanged := exchanged_sides(corpus, scored, report.summary):
        warn(exchanged)
    methods = scored.methods_with_scores
    empty = [name for name in scored.methods if name not in methods]
    answer(
        out=out, corpus=scored.corpus, model=scored.model, n_items=len(scored), methods=methods, without_scores=empty
    )
    without = f"; no scores of {', '.join(empty)}" if empty else ""
    say(f"{', '.join(map(str, out))}: {len(scored):,} items with {', '.join(methods) or 'no scores'}{without}")


def _save(scored: Scored, out: Sequence[Path], before: Mapping[Path, Mapping[str, Any] | None], *, bom: bool) -> None:
    """Write a scored table, and sampled answers beside it; say which scores a file loses."""
    for path in out:
        if (replaced := before.get(path)) is not None:
            model, corpus = replaced["model"]["name"], replaced["corpus"]["name"]
            lost = [name for name in replaced["methods"] if name not in scored.methods]
            if (model, corpus) != (scored.model, scored.corpus):
                note(f"{path}: replaced; it held scores of {corpus} by {model}")
            elif lost:
                note(f"{path}: replaced; it also held {', '.join(lost)}")
        scored.save(path, bom=bom)
    if any(layout.get("samples") for layout in scored.layouts):
        ratings = scored.ratings()
        path = _write_ratings(ratings, out[0].with_name(f"{out[0].stem}.draws.parquet"), kind="draws")
        say(f"{path}: {len(ratings):,} sampled answers as ratings, a rater per draw")


def _say_ratings(ratings: datasets.Dataset | None, out: Sequence[Path]) -> None:
    from pairbank.study.own_tables import save_ratings_beside

    if ratings is None:
        return
    beside = save_ratings_beside(ratings, out)
    by = f"{len(ratings):,} ratings by {len(set(ratings['rater'][:])):,} raters"
    answer(ratings=beside)
    say(f"{', '.join(map(str, beside))}: {by}, which `pairbank bank` and `report` read")


def _write_ratings(ratings: pd.DataFrame, path: Path, *, kind: Literal["ratings", "draws"]) -> Path:
    import pyarrow as pa

    write_parquet(path, pa.Table.from_pandas(ratings, preserve_index=False))
    answer(**{kind: [{"out": path, "n_ratings": len(ratings), "n_raters": ratings["rater"].nunique()}]})
    return path


def _built(corpus: str, which: ItemOptions) -> datasets.Dataset:
    with status(f"building {corpus}"):
        items = which.load(corpus)
    if which.limit is not None:
        groups = {"paradigms": items.unique("paradigm"), "phenomena": items.unique("phenomenon")}
        n_of = {name: sum(value is not None for value in values) for name, values in groups.items()}
        named = next((f"{n:,} {name}" for name, n in n_of.items() if n), "one group")
        of_each = f"at most {which.limit:,} of each of {named}, per subset, language and label"
        say(f"{len(items):,} items to score: {of_each}")
    elif which.sample is not None:
        say(f"{len(items):,} items to score")
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Tool that produced the files: lm-eval, lighteval, inspect-ai, every-eval-ever, minicons, babylm, or "
            "another profile.",
        ),
    ] = None
    profile: Annotated[str | None, "Profile for a table: a name or a TOML file."] = None
    column: Columns = None
    score: Annotated[
        list[str] | None,
        "What a score is: NAME=KIND[,KEY=VALUE…], KIND one of logprob, surprisal, perplexity, score, rating, decision; "
        "its columns are NAME_good and NAME_bad, a decision's NAME. Keys: direction=higher, unit=bits, scale=1-7, "
        "label=…; of a decision good=A, bad=B, tie=…, unparsed=… (several with |). May be repeated.",
    ] = None
    items: Annotated[str | None, "Corpus that was scored; default: the file's own sentences."] = None
    data_dir: DataDir = None
    corpus: Annotated[str | None, "Name of the corpus; default: the file's name."] = None
    model: Annotated[str | None, "Model name, if no column has it."] = None


def import_(
    files: Annotated[
        list[Path] | None,
        "Score tables, or a tool's files and folders (--from); none = the published files that a profile pins.",
    ] = None,
    *,
    out: Annotated[Path, "Folder to write: one parquet file per model."],
    source: SourceOptions,
) -> None:
    """Import scores computed elsewhere as scored tables, one file per model.

    Values are log-probabilities in nats unless --score declares ratings, decisions, surprisals …

    Example: pairbank import syntax_wide_size.csv --profile hu-frank-2024 --out imported
    Example: pairbank import judged.csv --model gpt-x --score judge=decision,good=A,bad=B --out imported
    Example: pairbank import --from lm-eval lm_eval_output --items blimp --out imported
    Example: pairbank import --from kauf-2023 --out imported
    """
    tool = source.source
    if tool is not None and (source.profile or source.column or source.score):
        raise typer.BadParameter("--from names a profile: leave out --profile, --column and --score, or --from")
    if not files and tool is None:
        raise typer.BadParameter("which files? Name them, or a profile of published results (--from)")
    if tool is None and files and len(files) > 1:
        raise typer.BadParameter(f"{len(files)} files: several are read --from a tool; a table is imported alone")
    with status(f"importing {', '.join(map(str, files or ())) or tool}"):
        imports = _imports(files or [], source)
        paths = [table.save(out / f"{table.model_slug}.parquet") for table in imports.tables]
    for path, table in zip(paths, imports.tables, strict=True):
        methods = (_with_flags(name, table.signature["n_by_flag"].get(name, {})) for name in table.methods)
        answer(imported=[{"out": path, "model": table.model, "n_items": len(table), "methods": table.methods}])
        say(f"{path}: {len(table):,} items with {', '.join(methods)}")
    slugs = {table.model: table.model_slug for table in imports.tables}
    for name, ratings in imports.ratings.items():
        path = _write_ratings(ratings, out / "ratings" / f"{name}.parquet", kind="ratings")
        say(f"{path}: {len(ratings):,} ratings of {ratings['rater'].nunique():,} people, for `pairbank bank --ratings`")
    for name, ratings in imports.draws.items():
        path = _write_ratings(ratings, out / "ratings" / f"{slugs[name]}.parquet", kind="draws")
        say(f"{path}: {len(ratings):,} sampled answers, for `pairbank report --set raters.ratings={path}`")
    for line in (*imports.left_out, *(figure for figure in imports.stated if not figure.is_same)):
        say(str(line))
    if agreeing := sum(figure.is_same for figure in imports.stated):
        say(f"{agreeing:,} accuracies as the source states them")


def _imports(files: list[Path], source: SourceOptions) -> Imports:
    from pairbank.scoring.importing.published import published_files

    items = None if source.items is None else pairbank.load_corpus(source.items, data_dir=source.data_dir)
    if source.source is not None:
        paths = files or [*published_files(source.source, source.data_dir, progress=Downloads().on_progress).paths]
        return pairbank.import_logs(paths, source.source, items=items, corpus=source.corpus, model=source.model)
    tables = pairbank.import_scores(
        files[0],
        profile=source.profile,
        columns=column_map(source.column),
        scores=score_declarations(source.score),
        items=items,
        corpus=source.corpus,
        model=source.model,
    )
    return pairbank.Imports(tables=tables, left_out=[], stated=[])


def cut(
    scored: Annotated[list[Path], "Scored tables, also from a bank."],
    *,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write: CORPUS/MODEL.parquet for each table.")],
) -> None:
    """Restrict scored tables to their common items and methods.

    Imported logs often have more or fewer items, and other methods. No number is computed or filled in. Import logs
    with --items, the corpus that was scored.

    Example: pairbank cut my-bank/scores/blimp/*.parquet imported/other.parquet --out alike
    """
    with status("cutting"):
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
    declarations: dict[str, dict[str, Any]] = {}
    for text in said or ():
        pairs = [part.partition("=") for part in text.split(",")]
        if bad := [key for key, equals, value in pairs if not (key and equals and value)]:
            raise typer.BadParameter(f"{text!r}: {bad[0]!r} has no value; expected NAME=KIND,KEY=VALUE")
        name, _, kind = pairs[0]
        table = declarations[name] = {"kind": kind}
        for key, _, value in pairs[1:]:
            if key in ("direction", "unit", "label"):
                table[key] = value
            elif key == "scale":
                table[key] = _scale(value)
            else:
                table.setdefault("answers", {})[key] = value.split("|")
    return declarations


def _scale(value: str) -> list[float]:
    if not (ends := re.fullmatch(r"(-?[\d.]+)-(-?[\d.]+)", value)):
        raise typer.BadParameter(f"scale={value!r}: expected the lowest and the highest rating, as in scale=1-7")
    return [float(end) for end in ends.groups()]


def _with_flags(method: str, n_by_flag: Mapping[str, int]) -> str:
    text = ", ".join(f"{n:,} {flag.replace('_', ' ')}" for flag, n in n_by_flag.items())
    return f"{method} ({text})" if text else method
