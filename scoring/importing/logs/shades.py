"""Shades of Zero: in, `token_MODEL.csv` with one row per token; out, a log a model or checkpoint.

The score of a sentence is the sum over the tokens of its ending, given the beginning, which `summary_MODEL.csv` states
too. The scripts call minicons with `bos_token=True`, which puts the tokenizer's BOS before the text: GPT-2 has one,
OLMo none, and Llama-3's tokenizer adds its own, so that the text begins with two. Each is a method of its own.

Hu, Sosa & Ullman 2025, J Mem Lang; scores of https://github.com/jennhu/shades-of-zero
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path

from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.log import Log, LogRow, Source, Stated, finite, published_rows

METHODS = ("direct_no_bos", DIRECT, "direct_two_bos")
"""By the number of BOS tokens before the text."""
SUM = "continuation_sum_logprob"
_BOS = ("<|endoftext|>", "<|begin_of_text|>")
_STEP = re.compile(r".*_(?P<revision>step(?P<step>\d+)-tokens\d+)b")
_PRINTED_TO = 1e-4
_IS_SCORED, _YES = "is_continuation_token", ("True", "true")


def read(source: Source) -> list[Log]:
    logs = [_log(source, file) for file in source.files("token_*.csv", expected="token_MODEL.csv")]
    return sorted(logs, key=lambda log: (str(log.facts.get("family", log.model)), log.facts.get("step", 0)))


def _log(source: Source, file: Path) -> Log:
    tokens = defaultdict[tuple[str, ...], list[tuple[int, dict[str, str]]]](list)
    columns = [*source.columns(), "condition", "token", "token_logprob", _IS_SCORED, "model"]
    for line, row in published_rows(file, *columns):
        tokens[row["item_id"], row["condition"], row["model"]].append((line, row))
    model, *others = {key[2] for key in tokens}
    n_bos, *several = {sum(row["token"] in _BOS for _, row in rows) for rows in tokens.values()}
    if others or several or n_bos >= len(METHODS):
        raise ScoreImportError(f"{file}: several models, or texts that begin differently; get the file again")
    step, name = _STEP.fullmatch(file.stem), source.how.models.get(model, model)
    log = Log(
        model=f"{name}@step-{step['step']}" if step else name,
        tool="scripts of shades-of-zero, by minicons",
        settings={"model": model, "revision": f"{step['revision']}B" if step else "main", "bos": n_bos},
        files=(file,),
        facts={"family": name, "step": int(step["step"])} if step else {},
    )
    sums = {}
    for (event, condition, *_), rows in tokens.items():
        ending = ((line, row["token_logprob"]) for line, row in rows if row[_IS_SCORED] in _YES)
        scored = [finite(cell, f"{file}, row {line}") for line, cell in ending]
        sums[event, condition] = math.fsum(scored)
        line, first = rows[0]
        cells = {**source.cells(first), f"{METHODS[n_bos]}_good": repr(sums[event, condition])}
        log.rows.append(LogRow(file=file, line=line, cells=cells))
    log.stated += _stated(file.with_name(file.name.replace("token_", "summary_")), sums)
    return log


def _stated(file: Path, sums: dict[tuple[str, str], float]) -> list[Stated]:
    """Return the stated sum that is farthest from the sum of its tokens, where the summary is there."""
    if not file.is_file():
        return []
    stated = {
        (row["item_id"], row["condition"]): finite(row[SUM], f"{file}, row {line}")
        for line, row in published_rows(file, "item_id", "condition", SUM)
    }
    if stated.keys() != sums.keys():
        raise ScoreImportError(f"{file}: has other sentences than its tokens; get both files again")
    worst = max(sums, key=lambda key: abs(sums[key] - stated[key]))
    what = f"{file.name}, item {' '.join(worst)} (of {len(sums)} the one farthest off)"
    return [Stated(what=what, metric=SUM, stated=stated[worst], computed=sums[worst], printed_to=_PRINTED_TO)]
