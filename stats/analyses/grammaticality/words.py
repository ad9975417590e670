"""What the section on grammaticality says: in, its tables; out, the answer, the text and the definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.wording import n_items, number, span, value_range, with_interval

PLACES = ("model", "corpus")


def answer(tables: Mapping[str, pd.DataFrame], without: Mapping[tuple[str, str], str]) -> str:
    """Return predictions 1 to 3 with their numbers: of each model and corpus the value, or the smallest and largest.

    Args:
        tables: Those of the section.
        without: Corpus and method -> why there is no area.
    """
    said = []
    first = _direct(_whole(tables["correlation"]))
    if first["value"].notna().any():
        said.append(f"**Prediction 1**: log P of the two strings of a pair correlate at r = {_range(first)}.")
    second = _direct(_whole(tables["with_people"]))
    if second["value"].notna().any():
        said.append(f"**Prediction 2**: their difference correlates with people's at r = {_range(second)}.")
    third = _whole(tables["separability"]).query("metric == 'auc'")
    right = _whole(tables["separability"]).query("metric == 'accuracy'")
    parted = (
        "**Prediction 3**: one threshold separates grammatical from ungrammatical strings with an area under the ROC "
        f"curve (AUC) of {_range(third)}; 0.50 is chance."
    )
    if right["value"].notna().any():
        parted += f" Within pairs the better string scores higher in {_range(right[right['value'].notna()])}."
    lines = [*said, parted + "".join(_without(without, third))]
    return html_as_text("\n".join(f"- {line}" for line in lines))


def _range(rows: pd.DataFrame) -> str:
    """Return the one value with its interval, or the smallest and the largest, and n."""
    known = rows[rows["value"].notna()]
    shown = with_interval(known.iloc[0]) if len(known) == 1 else span(known["value"])
    return f"{shown} ({n_items(rows['n'])})"


def _without(without: Mapping[tuple[str, str], str], areas: pd.DataFrame) -> Iterator[str]:
    """Yield why a corpus has no area, or which of its scores have none where others do."""
    there = set(zip(areas["corpus"], areas["method"], strict=True))
    corpora = {corpus for corpus, _ in there}
    lacking: dict[str, list[str]] = {}
    for corpus, method in without:
        if (corpus, method) not in there:
            lacking.setdefault(corpus, []).append(method)
    for corpus, methods in lacking.items():
        if corpus in corpora:
            of = " and ".join(f"`{method}`" for method in methods)
            yield f" No AUC of {of} for {corpus}, which has no such scores."
        else:
            yield f" No AUC for {corpus}: {without[corpus, methods[0]]}."


def text(tables: Mapping[str, pd.DataFrame], notes: Sequence[str]) -> str:
    """Return the findings, corpus by corpus; of several models, the smallest and the largest value."""
    parts = [" ".join(notes)] if notes else []
    whole = _whole(tables["separability"])
    for corpus, part in whole.groupby("corpus", sort=False):
        parts.append(" ".join(_of_corpus(str(corpus), part, tables)))
    parts.append(
        "Pairs with identical sides are left out. AUC intervals count items (both strings of a pair together); "
        "`by_bin` has r within ten bins of minimalness where the items have a distance, `roc` the curves, "
        "`distributions` how many good and bad strings have which score. The paper's Figure 1, a toy example of eight "
        "strings, is an illustration and no analysis."
    )
    return "\n\n".join(parts)


def _of_corpus(corpus: str, part: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    area, right = part[part["metric"] == "auc"], part[part["metric"] == "accuracy"]
    n_models = part["model"].nunique()
    said = [f"**{html_as_text(corpus)}** ({_count(area['n'])} items, {n_models} model{'s' * (n_models > 1)})."]
    sides = _direct(_whole(tables["correlation"])).query("corpus == @corpus")
    if sides["value"].notna().any():
        said.append(f"log P of the two strings of a pair correlate at r = {_said(sides)}.")
    said += _said_of_bins(tables["by_bin"].query("corpus == @corpus and subset == ''"))
    rated = _direct(_whole(tables["with_people"])).query("corpus == @corpus")
    if rated["value"].notna().any():
        said.append(
            f"Its difference correlates with people's at r = {_said(rated)} ({n_items(rated['n'])} rated pairs)."
        )
    areas = [f"by `{method}` is {_said(mine)}" for method, mine in area.groupby("method", sort=False)]
    said.append(f"Pooled, the AUC of grammatical against ungrammatical strings {'; '.join(areas)}; 0.50 is chance.")
    if right["value"].notna().any():
        within = [
            f"`{method}` {_said(mine)}"
            for method, mine in right.groupby("method", sort=False)
            if mine["value"].notna().any()
        ]
        said.append(f"Within pairs the better string scores higher in: {'; '.join(within)}.")
    return said


def _said(rows: pd.DataFrame) -> str:
    return html_as_text(value_range(rows, ("model",)))


def _said_of_bins(binned: pd.DataFrame) -> list[str]:
    """Return r of the closest and of the furthest pairs of each model (prediction 1b)."""
    mine = binned[(binned["method"] == DIRECT) & (binned["group_by"] == "cosine_distance") & binned["value"].notna()]
    if mine.empty or mine["bin"].nunique() < 2:
        return []
    ends = mine.sort_values("bin", kind="stable").groupby("model", sort=False)["value"].agg(["first", "last"])
    lower = int((ends["last"] < ends["first"]).sum())
    if len(ends) == 1:
        near, far = ends.iloc[0]
        return [
            f"From the closest to the furthest pairs by cosine distance r goes from {number(near)} to {number(far)}."
        ]
    return [
        f"r is lower in the furthest pairs by cosine distance than in the closest for {lower} of {len(ends)} models."
    ]


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["group_by"] == "all"]


def _direct(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["method"] == DIRECT]


def _count(values: pd.Series[int]) -> str:
    return f"{values.min():,}" if values.nunique() == 1 else f"{values.min():,} to {values.max():,}"


DEFINITIONS = """\
- **pearson_sides**: Pearson r of the score of the good string with that of the bad string over pairs, jackknife
  interval (prediction 1a); in ten equally sized bins by the distance of the two strings in `by_bin` (1b).
- **pearson_human**: Pearson r of the difference of the two strings' scores with the difference of their mean ratings,
  over the pairs that people rated (prediction 2a); its bins stand in the section on people.
- **auc**: all strings of the corpus are pooled, grammatical = 1, ungrammatical = 0: the share of all combinations of
  one of each in which the grammatical string scores higher, ties one half (section 6.3). Obuchowski's
  interval on the logit scale, for which both strings of a pair stay together. `n corpora (en)`: the strings of all
  corpora in that language, each string counted once, as in the paper's Figure 4a.
- **accuracy**: share of pairs whose good string scores higher, ties one half; there is none for single sentences.
- **filter**: where a study asks for it (LI and HLL), pairs further apart than the 75th percentile of the Levenshtein
  distance in characters over the rated pairs of the corpus are left out of every number here (section 5.1). For LI that
  leaves 1,884 pairs (the paper's 1,883 where the defects of the source are not repaired); people rated both sides of
  1,792 of them, which are the pairs of prediction 2.
- Scores: `direct` is the summed log-probability (nats); the other methods are linking functions of it. Only tasks
  whose targets are whole strings are used.
"""
