"""`pairbank corpora`, `build`, `ratings`, `methods` and `methods show`: what there is, and what it holds or sends."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

import pairbank
from pairbank.cli.command import Group, add_command, as_command
from pairbank.cli.display.console import show, status
from pairbank.cli.display.output import answer, output, say
from pairbank.cli.display.progress import Downloads
from pairbank.cli.loading import load
from pairbank.cli.options import Bom, DataDir, ItemOptions, Prompts, Subset, column_map, corpora_named
from pairbank.errors import unknown_name
from pairbank.files import refuse_other_than_a_file, replaced_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pairbank.builders.schema.columns import Task
    from pairbank.scoring.api.method import Row
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.methods.prompted import Pool
    from pairbank.scoring.prompts.prompt import Prompt

app = typer.Typer(cls=Group, invoke_without_command=True)


def corpora(*, markdown: Annotated[bool, "Print the reference page (docs/corpora.md)."] = False) -> None:
    """List the corpora with size, languages, tasks, human judgments, licence and cache status.

    Example: pairbank corpora
    """
    from pairbank.builders.catalogue import catalogue_markdown, catalogue_rows

    if markdown:
        sys.stdout.write(catalogue_markdown())
        return
    import pandas as pd

    show(pd.DataFrame(catalogue_rows()), name="corpora", whole=["corpus"])


def build(
    corpus: Annotated[
        str, typer.Argument(help="A corpus, a file of your own items, or `all`.", autocompletion=corpora_named)
    ],
    *,
    out: Annotated[Path | None, "Parquet file to write; for `all`, a folder."] = None,
    which: ItemOptions,
    repair: Annotated[bool, "Repair documented defects of the source text."] = True,
) -> None:
    """Build a corpus as one parquet file and print its manifest; `all` prints a table of counts.

    Example: pairbank build li --data-dir ../shared/corpora --out li.parquet
    """
    from pairbank.builders.catalogue import build_all, total
    from pairbank.builders.dataset import manifest_of

    if corpus == "all":
        import pandas as pd
        from rich.console import Console

        with Console(stderr=True, quiet=output().quiet).status("building") as line:
            rows = build_all(which.data_dir, out=out, on_progress=lambda name: line.update(f"building {name}"))
        show(pd.DataFrame(rows), name="corpora")
        say(total(rows))
        return
    with status(f"building {corpus}"):
        items = which.load(corpus, repair=repair)
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
    *,
    out: Annotated[Path, "File to write: .csv, .tsv, .xlsx, .jsonl or .parquet; one row per rating."],
    data_dir: DataDir = None,
    subset: Subset = None,
    normalisation: Annotated[Literal["none", "z-by-rater"], "none, or z-by-rater."] = "none",
    bom: Bom = False,
) -> None:
    """Write a corpus's individual ratings: item_id, side, rater, value, scale.

    In R: ratings <- read.csv("ratings.csv"); item_id joins it to `pairbank build` and `score`.

    Example: pairbank ratings turblimp --data-dir ../shared/corpora --out ratings.csv
    """
    from pairbank.scoring.signature import refuse_other_suffixes, write_scored

    refuse_other_suffixes(out)
    refuse_other_than_a_file(out)
    with status(f"building {corpus}"):
        rated = pairbank.load_ratings(
            corpus, data_dir=data_dir, subset=subset, normalisation=normalisation, progress=Downloads().on_progress
        )
    write_scored(out, rated.with_format("arrow")[:], None, bom=bom)
    items, raters, scales = (sorted(set(rated[name][:])) for name in ("item_id", "rater", "scale"))
    answer(out=out, n_ratings=len(rated), n_items=len(items), n_raters=len(raters), scales=scales)
    by = f"{len(items):,} items by {len(raters):,} raters"
    say(f"{out}: {len(rated):,} ratings of {by}, on {', '.join(scales)}")


def methods(
    context: typer.Context,
    *,
    task: Annotated[str | None, "Only methods for this task: sentence_pair, concept_pair …"] = None,
    language: Annotated[str | None, "Only methods for this language (BCP-47)."] = None,
    prompts: Prompts = None,
    markdown: Annotated[bool, "Print the page docs/methods.md."] = False,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    item: Annotated[list[str] | None, "Sentence or word; give it twice for a pair, the acceptable one first."] = None
    context: Annotated[list[str] | None, "Context before the item; give it twice if the sides differ."] = None
    text: Annotated[list[str] | None, "Further field of the item, NAME=TEXT: property, concept_good …; repeatable."] = (
        None
    )
    corpus: Annotated[str | None, "Take the item from this corpus or file."] = None
    item_id: Annotated[str | None, "Item id. [default: the first item that the method applies to]"] = None
    task: Annotated[str | None, "Task of the item. [default: the method's first]"] = None

    def row(self, prompt: Prompt | None, which: ItemOptions) -> tuple[Row, Pool | None]:
        """Return the item; of a corpus, also all its items as the pool of examples."""
        from pairbank.scoring.methods.page import item_for
        from pairbank.scoring.methods.prompted import Pool, Prompted

        if (name := self.corpus) is not None:
            with status(f"building {name}"):
                rows: Sequence[Row] = which.load(name).to_list()
            if self.item_id:
                fitting = [row for row in rows if row["item_id"] == self.item_id]
            else:
                fitting = [row for row in rows if prompt is None or Prompted(prompt).applies_to(row)]
            if not fitting and self.item_id:
                raise unknown_name("item", self.item_id, [str(row["item_id"]) for row in rows[:5]])
            if not fitting:
                raise typer.BadParameter(f"the method applies to no item of {name}; see `pairbank methods`")
            return fitting[0], Pool(rows)
        row = item_for(
            prompt,
            self.item or (),
            contexts=self.context or (),
            task=cast("Task | None", self.task),
            language=which.language,
            columns=column_map([*(which.column or ()), *(self.text or ())], option="property=TEXT"),
        )
        return row, None


def show_method(
    method: Annotated[str, "Method id from `pairbank methods`."],
    *,
    shown: ShownItem,
    which: ItemOptions,
    model: Annotated[str | None, "Render for this model (chat template)."] = None,
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
    from pairbank.scoring.methods.page import shown as exact_text
    from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, method_named
    from pairbank.scoring.models.fake import FakeScorer
    from pairbank.scoring.prompts.registry import files_not_known, prompt_named, prompts_of

    if (shown.corpus is None) == (not shown.item):
        raise typer.BadParameter("give --item (one or two texts, better first), or --corpus")
    files = [*(prompts or ())]
    if shown.corpus is not None and is_banked(shown.corpus):
        files += files_not_known(prompt_files_of_bank(shown.corpus), files)
    known = prompts_of(files)
    row, pool = shown.row(None if method in FAMILIES else prompt_named(method, known), which)
    chosen = method_named(method, options=MethodOptions(seed=seed, pool=pool, prompts=known))
    scorer: Scorer = FakeScorer() if model is None else load(model, device="auto", dtype="auto", bos="auto")
    exact = exact_text(chosen, row, scorer)
    answer(method=method, item_id=row.get("item_id"), model=model, text=exact)
    if not output().as_json:
        say(exact)


app.callback()(as_command(methods))


add_command(app, show_method, name="show")
