"""SyntaxGym's item-level results: in, `sg_results/*.csv` and the suites, `json/*.json`; out, a log a system.

A row of the results says whether all predictions of its suite hold for an item (`correct`), which are inequalities of
surprisals summed over regions of the item's sentences. An item is a row of ours: its better side lists the sentences
that the predictions say are less surprising, its worse side those that they say are more so, with a slash between them;
sentences that stand in differences of differences only are on neither side. So "good" means that the predictions hold.
With several predictions an item is less often right by chance than one half.

As in the paper's analysis, the suites on deeper embedding (`fgd-embed3`, `fgd-embed4`) and the suite of one item are
left out, and an n-gram model, whose fifty runs differ in how ties are broken, is right where most of them are.

Hu, Gauthier, Qian, Wilcox & Levy 2020, A Systematic Assessment of Syntactic Generalization in Neural Language Models.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.syntaxgym import joined_with_spans, phenomenon_of
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.log import Log, LogRow, Refusals, Source, json_file, published_rows

RESULTS, SUITES = "syntaxgym_results_*.csv", "*.json"
COLUMNS = ("model", "suite", "item", "correct")
LEFT_OUT = ("fgd-embed3", "fgd-embed4", "nn-nv-rpl")
"""Suites that the paper's analysis excludes."""
WORSE = {
    *("implaus", "np_mismatch", "vp_mismatch", "mismatch_sing", "mismatch_plural", "pos_pos", "pos_neg"),
    *("what_nogap", "what_no-gap", "that_gap", "that_subjgap", "sub_no-matrix", "no-sub_matrix"),
    *("reduced_ambig", "ambig_nocomma", "no-obj_no-comma"),
}
"""Conditions that a prediction says are more surprising than another one."""
NEITHER = {"what_matrixgap", "that_matrixgap", "unreduced_unambig", "unambig_comma", "obj_comma"}
HELD = "predictions_hold"


def read(source: Source) -> list[Log]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for file in source.files(SUITES, expected="the suites, json/SUITE.json"):
        if file.stem not in LEFT_OUT:
            rows |= _items(file)
    runs: dict[str, list[dict[tuple[str, str], bool]]] = defaultdict(list)
    files: dict[str, Path] = {}
    refusals, reason = Refusals(), f"of the suites {', '.join(LEFT_OUT)}, which the paper leaves out"
    for file in source.files(RESULTS, expected="sg_results/syntaxgym_results_MODEL_CORPUS.csv"):
        for run, results in _runs(file).items():
            kept = {item: result for item, result in results.items() if item[0] not in LEFT_OUT}
            if n := len(results) - len(kept):
                refusals.add(file, reason, n=n)
            if missing := [item for item in kept if item not in rows]:
                raise ScoreImportError(
                    f"{file}: {missing[0][0]} has no item {missing[0][1]} in the suites that are given"
                )
            system = _name(run, file, source.how.models)
            runs[system].append(kept)
            files[system] = file
    logs = []
    for system, of_system in sorted(runs.items()):
        file, log_rows = files[system], list[LogRow]()
        for number, item in enumerate(of_system[0], 2):
            holds = sum(run[item] for run in of_system) / len(of_system) > 0.5
            log_rows.append(LogRow(file=file, line=number, cells={**rows[item], HELD: str(holds)}))
        settings, facts = {"runs": len(of_system)}, {"family": system.partition(" ")[0]}
        logs.append(Log(model=system, tool="SyntaxGym", settings=settings, files=(file,), facts=facts, rows=log_rows))
    logs[0].refusals = refusals
    return logs


def _name(run: str, file: Path, names: Mapping[str, str]) -> str:
    """Return a system's name; the runs of an n-gram model are one system."""
    kind, corpus, seed = run.split("_")
    if kind not in names:
        raise ScoreImportError(f"{file}: model is {run!r}; expected NAME_CORPUS_SEED with one of {', '.join(names)}")
    if not corpus:
        return names[kind]
    trained = f"{names[kind]} {corpus.removesuffix('-gptbpe').upper()}"
    return trained if kind == "ngram" else f"{trained} #{seed}"


def _runs(file: Path) -> dict[str, dict[tuple[str, str], bool]]:
    results: dict[str, dict[tuple[str, str], bool]] = defaultdict(dict)
    for number, row in published_rows(file, *COLUMNS):
        item = (row["suite"], row["item"])
        if row["correct"] not in ("True", "False") or item in results[row["model"]]:
            raise ScoreImportError(
                f"{file}, row {number}: correct is {row['correct']!r}; expected True or False, once per model and item"
            )
        results[row["model"]][item] = row["correct"] == "True"
    if len({frozenset(run) for run in results.values()}) != 1:
        raise ScoreImportError(f"{file}: its models have different items, or there is none; get the file again")
    return results


def _items(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    suite, name, results = json_file(file), file.stem, {}
    for place, item in enumerate(suite["items"]):
        sides: dict[str, list[str]] = {"good": [], "bad": []}
        for condition in item["conditions"]:
            regions = [region["content"] for region in condition["regions"]]
            if condition["condition_name"] not in NEITHER:
                side = "bad" if condition["condition_name"] in WORSE else "good"
                sides[side].append(joined_with_spans(regions)[0])
        results[name, str(place)] = {
            "subset": name,
            "paradigm": name,
            "phenomenon": phenomenon_of(name),
            "pair_id": str(item["item_number"]),
            "context_good": "",
            "context_bad": "",
            **{f"target_{side}": " / ".join(texts) for side, texts in sides.items()},
        }
    return results
