"""`pairbank corpora`, `build`, `ratings`, `methods` and `methods show`: what there is, and what it holds or sends."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pairbank.cli.display.console import Downloads, quiet_bars, show, status
from pairbank.cli.display.output import Command, Group, answer, output, say, takes_output_options
from pairbank.cli.options import (
    DataDir,
    ItemOptions,
    Prompts,
    Subset,
    column_map,
    corpora_named,
    load_items,
    takes_item_options,
)
from pairbank.files import replaced_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pairbank.builders.ratings import Normalisation
    from pairbank.builders.schema.columns import Task
    from pairbank.scoring.api.method import Row
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.methods.prompted import Pool
    from pairbank.scoring.prompts.prompt import Prompt


def corpora(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page (docs/corpora.md).")] = False,  # noqa: FBT002
) -> None:
    """List the corpora with size, languages, tasks, human judgments, licence and cache status.

    Example: pairbank corpora
    """
    from pairbank.builders.catalogue import catalogue_markdown, catalogue_rows

    if markdown:
        sys.stdout.write(catalogue_markdown())
        return
    import pandas as pd

    show(pd.DataFrame(catalogue_rows()), name="corpora", whole=["corpus"])


@takes_item_options
def build(
    corpus: Annotated[
        str, typer.Argument(help="A corpus, a file of your own items, or `all`.", autocompletion=corpora_named)
    ],
    out: Annotated[Path | None, typer.Option(help="Parquet file to write; for `all`, a folder.")] = None,
    *,
    which: ItemOptions,
    repair: Annotated[bool, typer.Option(help="Repair documented defects of the source text.")] = True,
) -> None:
    """Build a corpus as one parquet file and print its manifest; `all` prints a table of counts.

    Example: pairbank build li --data-dir ../shared/corpora --out li.parquet
    """
    from pairbank.builders.dataset import manifest_of

    if corpus == "all":
        _build_all(which["data_dir"], out)
        return
    with quiet_bars(), status(f"building {corpus}"):
        items = load_items(corpus, repair=repair, **which)
    manifest = (manifest_of(items) or {}) | {"n_items": len(items)}
    brief = ("corpus", "version", "n_rows", "n_usable", "n_items", "languages", "tasks", "n_by_flag", "files")
    reported = {key: manifest.get(key) for key in brief}
    answer(**reported)
    if not output().as_json:
        say(json.dumps(reported, indent=2, ensure_ascii=False))
    if out is not None:
        with replaced_atomically(out) as temporary:
            items.to_parquet(str(temporary))
        answer(out=out)
        say(f"{out}: {len(items):,} items")


def ratings(
    corpus: Annotated[str, typer.Argument(help="A corpus with individual ratings.", autocompletion=corpora_named)],
    out: Annotated[
        Path, typer.Option(help="File to write: .csv, .tsv, .xlsx, .jsonl or .parquet; one row per rating.")
    ],
    *,
    data_dir: DataDir = None,
    subset: Subset = None,
    normalisation: Annotated[str, typer.Option(help="none, or z-by-rater.")] = "none",
    bom: Annotated[
        bool, typer.Option("--bom", help="Start .csv and .tsv files with a byte-order mark, for Excel.")
    ] = False,
) -> None:
    """Write a corpus's individual ratings: item_id, side, rater, value, scale.

    In R: ratings <- read.csv("ratings.csv"); item_id joins it to `pairbank build` and `score`.

    Example: pairbank ratings turblimp --data-dir ../shared/corpora --out ratings.csv
    """
    import pairbank
    from pairbank.files import refuse_other_than_a_file
    from pairbank.scoring.signature import refuse_other_suffixes, write_unsigned

    refuse_other_suffixes(out)
    refuse_other_than_a_file(out)
    with quiet_bars(), status(f"building {corpus}"):
        result = pairbank.load_ratings(
            corpus,
            data_dir=data_dir,
            subset=subset,
            normalisation=cast("Normalisation", normalisation),
            progress=Downloads().on_progress,
        )
    write_unsigned(out, result.with_format("arrow")[:], bom=bom)
    items, raters, scales = (sorted(set(result[name][:])) for name in ("item_id", "rater", "scale"))
    answer(out=out, n_ratings=len(result), n_items=len(items), n_raters=len(raters), scales=scales)
    by = f"{len(items):,} items by {len(raters):,} raters"
    say(f"{out}: {len(result):,} ratings of {by}, on {', '.join(scales)}")


def _build_all(data_dir: Path | None, out: Path | None) -> None:
    import pandas as pd
    from rich.console import Console

    from pairbank.builders.catalogue import build_all, total

    with quiet_bars(), Console(stderr=True, quiet=output().quiet).status("building") as status:
        rows = build_all(data_dir, out=out, on_progress=lambda name: status.update(f"building {name}"))
    show(pd.DataFrame(rows), name="corpora")
    say(total(rows))


app = typer.Typer(cls=Group, invoke_without_command=True)


@app.callback()
@takes_output_options
def methods(
    context: typer.Context,
    task: Annotated[str | None, typer.Option(help="Only methods for this task: sentence_pair, concept_pair …")] = None,
    language: Annotated[str | None, typer.Option(help="Only methods for this language (BCP-47).")] = None,
    prompts: Prompts = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/methods.md.")] = False,  # noqa: FBT002
) -> None:
    """List the methods, or show the exact text of one.

    The list has `direct`, linking functions and every prompt, with paper, tasks, languages and requests per item. Two
    suffixes change a prompt. With @1shot … @8shot, answered examples precede the question (forced choices, judgments).
    With @chat, a plain-text prompt goes through the model's chat template.

    Example: pairbank methods --task concept_pair
    """
    if context.invoked_subcommand is not None:
        return
    from pairbank.scoring.prompts.registry import packaged_prompts, prompts_of

    if markdown:
        from pairbank.scoring.methods.page import methods_markdown

        sys.stdout.write(methods_markdown(prompts_of(prompts or (), asked=())))
        return
    import pandas as pd

    from pairbank.scoring.methods.page import method_rows

    packages = {prompt.id: plugin.package for plugin, theirs in packaged_prompts() for prompt in theirs}
    rows = method_rows(prompts_of(prompts or ()), task=task, language=language, packages=packages)
    show(pd.DataFrame(rows), name="methods", whole=["id"])


@app.command("show", cls=Command)
@takes_output_options
@takes_item_options
def show_method(
    method: Annotated[str, typer.Argument(help="Method id from `pairbank methods`.")],
    item: Annotated[
        list[str] | None, typer.Option(help="Sentence or word; give it twice for a pair, the acceptable one first.")
    ] = None,
    context: Annotated[
        list[str] | None, typer.Option(help="Context before the item; give it twice if the sides differ.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Further field of the item, NAME=TEXT: property, concept_good …; repeatable."),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Take the item from this corpus or file.")] = None,
    item_id: Annotated[
        str | None, typer.Option(help="Item id. [default: the first item that the method applies to]")
    ] = None,
    *,
    which: ItemOptions,
    task: Annotated[str | None, typer.Option(help="Task of the item. [default: the method's first]")] = None,
    model: Annotated[str | None, typer.Option(help="Render for this model (chat template).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the examples of few-shot methods.")] = 0,
    prompts: Prompts = None,
) -> None:
    """Print the exact strings that a method sends for one item; the scored part is in ⟦ ⟧.

    Without --model, no chat template is applied. --corpus takes a corpus, your own file, or a bank's items with the
    bank's prompts.

    Example: pairbank methods show meta_question_simple --item "The dogs bark." --item "The dogs barks."
    Example: pairbank methods show better_sentence --corpus paare.csv --encoding cp1252 --language de
    """
    from pairbank.builders.load import is_banked, prompt_files_of_bank
    from pairbank.scoring.methods.page import item_for, shown
    from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, method_named
    from pairbank.scoring.models.fake import FakeScorer
    from pairbank.scoring.prompts.registry import files_not_known, prompt_named, prompts_of

    files = [*(prompts or ())]
    if corpus is not None and is_banked(corpus):
        files += files_not_known(prompt_files_of_bank(corpus), files)
    known = prompts_of(files)
    prompt = None if method in FAMILIES else prompt_named(method, known)
    if (corpus is None) == (not item):
        raise typer.BadParameter("give --item (one or two texts, better first), or --corpus")
    pool = None
    if corpus is None:
        row: Row = item_for(
            prompt,
            item or (),
            contexts=context or (),
            task=cast("Task | None", task),
            language=which["language"],
            columns=column_map([*(which["column"] or ()), *(text or ())], option="property=TEXT"),
        )
    else:
        row, pool = _from_corpus(corpus, item_id, prompt, which)
    chosen = method_named(method, options=MethodOptions(seed=seed, pool=pool, prompts=known))
    scorer: Scorer = FakeScorer()
    if model is not None:
        from pairbank.cli.scoring import load

        scorer = load(model, device="auto", dtype="auto", bos="auto")
    exact = shown(chosen, row, scorer)
    answer(method=method, item_id=row.get("item_id"), model=model, text=exact)
    if not output().as_json:
        say(exact)


def _from_corpus(name: str, item_id: str | None, prompt: Prompt | None, which: ItemOptions) -> tuple[Row, Pool]:
    """Return an item of a corpus, and all its items as the pool of examples."""
    from pairbank.errors import unknown_name
    from pairbank.scoring.methods.prompted import Pool, Prompted

    with quiet_bars(), status(f"building {name}"):
        rows: Sequence[Row] = load_items(name, **which).to_list()
    requested = [
        row
        for row in rows
        if (row["item_id"] == item_id if item_id else prompt is None or Prompted(prompt).applies_to(row))
    ]
    if not requested and item_id:
        raise unknown_name("item", item_id, [str(row["item_id"]) for row in rows[:5]])
    if not requested:
        raise typer.BadParameter(f"the method applies to no item of {name}; see `pairbank methods`")
    return requested[0], Pool(rows)
