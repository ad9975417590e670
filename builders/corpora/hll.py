"""HLL: Chinese sentences of a syntax textbook with Likert judgments, paired. Chen, Xu & Xie 2020; Hu et al. 2026.

The ratings may not be redistributed, so you bring `hll.csv` (UTF-8, with a header), one row per sentence: `group` (the
textbook example; sentences are paired within it), `sentence`, `acceptable` (1, or 0 = ungrammatical or questionable, by
the textbook), `rating` (mean of the 7-point ratings, z-scored within each rater; empty = not rated), and, optional,
`id` (else the row's number), `n` (raters), `phenomenon`. Every better sentence is paired with every worse one of its
group (Hu et al. 2026, footnote 5). They keep the pairs whose edit distance in characters is below the 75th percentile
of all pairs (section 5.1), 213 by their count: here every pair stays, and a flag says which ones that rule leaves out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from pairbank.builders.corpora.corpus import BuildOptions, item_of
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited, read_rating
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

FILE = "hll.csv"
REQUIRED = ("group", "sentence", "acceptable", "rating")
TOO_FAR = "edit_distance_from_q75"
"""Flag: the edit distance is not below the 75th percentile; Hu et al. 2026 leave the pair out."""
KEPT_QUANTILE = 0.75


class _Sentence(NamedTuple):
    identifier: str
    text: str
    rating: float | None
    n_raters: int | None
    phenomenon: str | None


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:  # noqa: ARG001 - one subset
    """Yield all pairs, group by group in file order; the percentile is over all of them."""
    from rapidfuzz.distance import Levenshtein

    pairs = [
        (group, good, bad, Levenshtein.distance(good.text, bad.text))
        for group, (better, worse) in _groups(files[FILE]).items()
        for good in better
        for bad in worse
    ]
    if not pairs:
        raise CorpusError(f"{files[FILE].path}: no group has both an acceptable and an unacceptable sentence")
    limit = float(np.quantile([distance for *_, distance in pairs], KEPT_QUANTILE))
    for group, good, bad, distance in pairs:
        flags = [] if distance < limit else [TOO_FAR]
        if good.rating is None or bad.rating is None:
            flags.append("no_human_rating")
        pair_id = f"{good.identifier}-{bad.identifier}"
        yield item_of(
            ("hll", "all", pair_id),
            good.text,
            bad.text,
            language="zh",
            phenomenon=good.phenomenon,
            paradigm=group,
            human_good=good.rating,
            human_bad=bad.rating,
            human_scale="likert7-z",
            human_n=min((n for n in (good.n_raters, bad.n_raters) if n is not None), default=None),
            pair_id=pair_id,
            flags=tuple(flags),
            extra={"group": group, "edit_distance": distance},
        )


def _groups(located: LocatedFile) -> dict[str, tuple[list[_Sentence], list[_Sentence]]]:
    groups: dict[str, tuple[list[_Sentence], list[_Sentence]]] = defaultdict(lambda: ([], []))
    for number, (line, row) in enumerate(read_delimited(located.path, REQUIRED), 1):
        where = f"{located.path}, row {line}"
        if not row["group"] or row["acceptable"] not in ("0", "1"):
            raise CorpusError(
                f"{where}: group is {row['group']!r} and acceptable {row['acceptable']!r}; "
                "expected the example's name, and 1 or 0"
            )
        n = row.get("n") or None
        if n is not None and not n.isdecimal():
            raise CorpusError(f"{where}: n is {n!r}, expected the number of raters, or an empty cell")
        sentence = _Sentence(
            identifier=row.get("id") or str(number),
            text=row["sentence"],
            rating=read_rating(row["rating"], where),
            n_raters=None if n is None else int(n),
            phenomenon=row.get("phenomenon") or None,
        )
        groups[row["group"]][row["acceptable"] == "0"].append(sentence)
    return groups


HLL = declared("hll", rows)
