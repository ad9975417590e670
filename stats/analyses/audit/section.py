"""Common artefacts in scored tables. Scored tables in, a section out: one line a finding, what was looked for.

Every check that is a test (position, chance, below chance, length) enters one family over all tables of the call;
Holm's correction keeps the chance of any false finding at 0.05. The other checks are facts of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.audit.answers import (
    CheckResult,
    answer_checks,
    audited,
    constant_scores,
    copies,
    listed,
    share_text,
)
from pairbank.stats.analyses.audit.texts import (
    changed_between,
    changed_items,
    changed_within,
    identical_tokens,
    item_checks,
    length_choice,
    unknown_tokens,
)
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.figures.charts import MOST_LINES, intervals
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.wording import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A kind of fault that is looked for."""

    title: str
    drops: bool = False
    """Whether what is found leaves no accuracy: the headline is then the mean over models, with and without them."""
    is_test: bool = False


CHECKS = {
    "no_answer": Check(title="items without an answer"),
    "zero": Check(title="accuracy of 0 or below chance", drops=True, is_test=True),
    "chance": Check(title="accuracy at chance", drops=True, is_test=True),
    "constant": Check(title="constant choice", drops=True),
    "position": Check(title="position bias", is_test=True),
    "ties": Check(title="ties"),
    "scores": Check(title="constant or impossible scores"),
    "copies": Check(title="scores of another model", drops=True),
    "identical": Check(title="identical sides"),
    "tokens": Check(title="identical tokens"),
    "unknown": Check(title="unknown tokens"),
    "repeated": Check(title="repeated pairs"),
    "lengths": Check(title="length tells the better side", is_test=True),
    "length_choice": Check(title="choice goes with length", is_test=True),
    "prompts": Check(title="prompts that change between rows"),
    "definitions": Check(title="prompts that change between models"),
    "items": Check(title="texts that change between models"),
}
"""By name, in the order of the report."""
COLUMNS = ["what", "where", "found", "models", "items", "headline", "without", "effect", "of"]


def lines_of(checked: Sequence[CheckResult]) -> pd.DataFrame:
    """Return one line a finding: a check of a method on a corpus, over its models; the largest effects first."""
    rows = []
    keys = dict.fromkeys(
        (member.check, member.corpus, member.method) for member in checked if member.outcome == "found"
    )
    for check, corpus, method in sorted(keys, key=lambda key: list(CHECKS).index(key[0])):
        current = [entry for entry in checked if (entry.check, entry.corpus, entry.method) == (check, corpus, method)]
        line = _line(CHECKS[check], corpus, method, current)
        rows.append(line | {"found": f"{line['found']}{_otherwise(current, checked)}"})
    frame = pd.DataFrame(rows, columns=COLUMNS)
    order = frame["effect"].abs().fillna(-1.0).sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _line(check: Check, corpus: str, method: str, current: Sequence[CheckResult]) -> dict[str, object]:
    results = [entry for entry in current if entry.outcome == "found"]
    where = f"{corpus}, `{method}`" if method else corpus
    named = [result for result in results if result.model]
    if check.drops and len(current) > 1:
        every = np.array([value.headline for value in current])
        kept = np.array([one.headline for one in current if one.outcome != "found"])
        headline, without = _mean(every), _mean(kept)
        of = f"mean over {len(current)} models"
    else:
        widest = max(results, key=lambda element: _size(element.without - element.headline))
        headline, without, of = widest.headline, widest.without, widest.model or "the corpus"
    first = max(results, key=lambda member: _size(member.without - member.headline))
    text = f"`{first.model}` {first.said}" if first.model else first.said
    if len(named) > 1:
        text = f"{len(named)} of {len(current)} models ({listed([one.model for one in named])}). {text}"
    return {
        "what": check.title, "where": where, "found": text,
        "models": f"{len(named)} of {len(current)}" if named else "",
        "items": sum(one.n_concerned for one in results), "headline": headline, "without": without,
        "effect": without - headline, "of": of,
    }  # fmt: skip


def _otherwise(current: Sequence[CheckResult], checked: Sequence[CheckResult]) -> str:
    """Return how often the models of a finding are right by their other methods, where it leaves them no accuracy."""
    results = {member.model for member in current if member.outcome == "found" and CHECKS[member.check].drops}
    corpus, method = current[0].corpus, current[0].method
    by_method: dict[str, list[float]] = {}
    for entry in checked:
        same = entry.check == "no_answer" and entry.corpus == corpus and entry.model in results
        if same and entry.method != method and not np.isnan(entry.headline):
            by_method.setdefault(entry.method, []).append(entry.headline)
    texts = [
        f"`{other}` {share_text(min(values))}" + (f" to {share_text(max(values))}" if len(values) > 1 else "")
        for other, values in by_method.items()
    ]
    owners = "the same models are" if len(results) > 1 else "the same model is"
    return f"; {owners} right by {', '.join(texts[:3])}" if texts else ""


def answer_of(checked: Sequence[CheckResult], result: pd.DataFrame, *, n_tables: int) -> str:
    """Return the answer: how much was found and the largest effect, and how much was not checked."""
    kinds = {value.check for value in checked if value.outcome != "not checked"}
    n_methods = len({(entry.corpus, entry.method, entry.model) for entry in checked if entry.method and entry.model})
    requested = f"{len(kinds)} of {len(CHECKS)} checks ran on {plural(n_tables, 'table')}"
    requested += f" ({plural(n_methods, 'combination')} of model and method)"
    skipped = [CHECKS[name].title for name in CHECKS if name not in kinds]
    unsaid = (
        f" Not run (not applicable, or too few items; see `audit_not_checked`): {', '.join(skipped)}."
        if skipped
        else ""
    )
    n_unsure = sum(member.outcome == "inconclusive" for member in checked)
    unsaid += f" Inconclusive (neither at chance nor above it): {n_unsure:,} of the accuracies." if n_unsure else ""
    if result.empty:
        return f"**No artefact was found**: {requested}.{unsaid}"
    return f"**{len(result)} finding{'s' * (len(result) > 1)}**: {requested}. {_largest(result)}{unsaid}"


def _largest(result: pd.DataFrame) -> str:
    known = result[result["effect"].notna()]
    if known.empty:
        return "None changes an accuracy."
    top = known.iloc[0]
    return (
        f"The largest effect on accuracy is that of {top['what']} ({top['where']}): {share_text(top['headline'])} as "
        f"reported, {share_text(top['without'])} without it ({top['of']})."
    )


def text_of(checked: Sequence[CheckResult], result: pd.DataFrame, *, n_tables: int) -> str:
    """Return the findings one by one, what was clean, and what no table could show."""
    return "\n\n".join(_paragraphs(checked, result, n_tables))


def _paragraphs(checked: Sequence[CheckResult], result: pd.DataFrame, n_tables: int) -> Iterator[str]:
    yield f"Tables: {_tables(n_tables)} of {listed(list(dict.fromkeys(value.corpus for value in checked)), most=8)}."
    lines = [
        f"- **{member['what']}** ({member['where']}): {member['found']}. Accuracy {share_text(member['headline'])} "
        f"as reported, "
        f"{share_text(member['without'])} without it ({member['of']})."
        for member in result.to_dict("records")
    ]
    if lines:
        yield "\n".join(lines)
    clean = {entry.check for entry in checked if entry.outcome == "clean"}
    clean -= {element.check for element in checked if element.outcome == "found"}
    if clean:
        yield "\n".join(["Checks without a finding:", *(f"- {CHECKS[name].title}" for name in CHECKS if name in clean)])
    yield (
        "Scored tables cannot reveal wrong labels, contaminated items or errors shared by all models. An association "
        "of length with the choice need not be causal."
    )


def not_checked_of(checked: Sequence[CheckResult]) -> pd.DataFrame:
    """Return what was not checked or is inconclusive, and why: one line a check, corpus, method and reason."""
    rows: dict[tuple[str, str, str, str, str], list[str]] = {}
    for entry in checked:
        if entry.outcome in ("not checked", "inconclusive"):
            why = entry.said if entry.outcome == "not checked" else "neither shown to be at chance nor above it"
            rows.setdefault((entry.check, entry.corpus, entry.method, entry.outcome, why), []).append(entry.model)
    return pd.DataFrame(
        [
            {"what": CHECKS[check].title, "corpus": corpus, "method": method, "outcome": outcome, "why": why,
             "models": len([model for model in models if model])}
            for (check, corpus, method, outcome, why), models in rows.items()
        ],
        columns=["what", "corpus", "method", "outcome", "why", "models"],
    )  # fmt: skip


def _tables(n: int) -> str:
    return f"{n:,} table{'s' * (n > 1)}"


def _size(effect: float) -> float:
    return -1.0 if np.isnan(effect) else abs(effect)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan


DEFINITIONS = """\
- **headline**: the accuracy of a method by its paper's definition, as in the rest of the report. **without**: the same
  without the affected items, models or bias. **effect**: the difference. Where a finding leaves no accuracy of a model
  (0, chance, a constant choice, a copy), both are means over the models of that method. For a finding in several models
  the line gives the largest effect; `audit_details.csv` gives each.
- **items without an answer**: 1% or more have no score; the headline is of the others.
- **accuracy of 0 or below chance**: below 0.45, and below 0.50 by a test. **at chance**: within 0.45 and 0.55 by two
  one-sided tests. Where neither holds and the interval includes 0.50, the result is `inconclusive`.
- **constant choice**: one option in 99% of the questions. **position bias**: the option shown first (or yes) in less
  than 0.40 or more than 0.60, and different from 0.50 by a test over items.
- **ties**: 5% of items or more. **constant or impossible scores**: one number in a fifth of all places, or a
  log-probability of 0 or more in 1%. **scores of another model**: the same on every item, where that cannot be chance.
- **length tells the better side**: the longer (or shorter) side in characters is the better one in 0.60 or more.
  **choice goes with length**: accuracies by which side is longer differ by 0.10 or more. Both are tested over paradigms
  where there are ten, else over items.
- **p**: of a test, after Holm's correction for all tests of the audit; findings hold at 0.05.
"""


LEVEL = 0.05


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return the artefacts found in the tables."""
    checked = after_correction(list(run_checks(tables)))
    if not any(member.outcome != "not checked" for member in checked):
        raise BankError("no table has items of two sides and a method that compares them; there is nothing to audit")
    result = lines_of(checked)
    return Section(
        id="audit",
        title="Common artefacts in these scores",
        text=text_of(checked, result, n_tables=len(tables)),
        answer=answer_of(checked, result, n_tables=len(tables)),
        main_table="findings",
        definitions=DEFINITIONS,
        tables={
            "findings": result,
            "details": _table([entry for entry in checked if entry.outcome == "found"]),
            "not_checked": not_checked_of(checked),
            "checks": _table(checked),
        },
        figures=tuple(_figures(result)),
        references=("Holm 1979, Scandinavian Journal of Statistics 6:65-70",),
    )


def run_checks(tables: Sequence[ScoredFrame]) -> Iterator[CheckResult]:
    """Yield what every check gives, before the correction for how many tests there are."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        selected = [table for table in tables if table.corpus == corpus]
        read = [read_table(table) for table in selected]
        methods = [list(audited(table)) for table in read]
        flat = [entry for of_table in methods for entry in of_table]
        yield from item_checks(_with_texts(read), flat)
        yield changed_items(read)
        yield from changed_between(selected, flat)
        for table, of_table in zip(read, methods, strict=True):
            yield from changed_within(table, of_table)
        for member in flat:
            yield from answer_checks(member)
            yield length_choice(member)
            yield identical_tokens(member)
            yield unknown_tokens(member)
            yield constant_scores(member)
        yield from copies(flat)


def after_correction(checked: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results with p corrected by Holm over all; findings that do not hold after it are withdrawn."""
    adjusted = corrected([member.p for member in checked]).holm
    return [
        entry if np.isnan(p) else _decided(replace(entry, p=float(p)))
        for entry, p in zip(checked, adjusted, strict=True)
    ]  # fmt: skip


def _decided(entry: CheckResult) -> CheckResult:
    if entry.outcome != "found" or entry.p < LEVEL:
        return entry
    if entry.check == "chance":
        return replace(entry, outcome="inconclusive", n_concerned=0)
    return replace(entry, outcome="clean", said="", n_concerned=0, items=())


def _with_texts(read: Sequence[ScoredTable]) -> ScoredTable:
    """Return the table with the most items that have texts."""
    return max(read, key=lambda table: ("target_bad" in table.frame.columns, len(table.frame)))


def _table(checked: Sequence[CheckResult]) -> pd.DataFrame:
    columns = list(CheckResult.__slots__)
    frame = pd.DataFrame([asdict(entry) for entry in checked], columns=columns)
    frame["what"] = [CHECKS[name].title for name in frame["check"]]
    frame["items"] = [" ".join(items) for items in frame["items"]]
    return frame[["corpus", "check", "what", *(name for name in columns if name not in ("corpus", "check"))]]


def _figures(result: pd.DataFrame) -> Iterator[Figure]:
    """Yield headlines with and without what was found, where both are numbers."""
    shown = result[result["headline"].notna() & result["without"].notna()].head(MOST_LINES)
    if shown.empty:
        return
    rows = [
        {
            "row": f"{entry['what']}: {entry['where']}",
            "series": series,
            "value": entry[column],
            "low": np.nan,
            "high": np.nan,
        }
        for entry in shown.to_dict("records")
        for series, column in (("as reported", "headline"), ("without it", "without"))
    ]
    yield Figure(
        name="audit_headlines",
        caption="What each finding changes: the accuracy as it is reported, and without what was found (no intervals).",
        draw=partial(
            intervals, pd.DataFrame(rows), rows="row", series="series", x_label="accuracy", chance=0.5, limits=(0, 1)
        ),
    )
