"""Mandarin SyntaxGym: 28 test suites, 1,824 sentences. Wang, Hu, Levy & Qian 2021, EMNLP.

In: one text file per suite, sentences in words, the conditions of an item on lines that follow one another. Out: one
item per condition, written without spaces, with three regions: what precedes the critical words, these, and the rest.
Which words are critical, and whose surprisal must be higher, is what the authors' notebook computes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import decode
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

REGIONS = ("before", "critical", "after")
_CRITICAL = REGIONS.index("critical") + 1
_DE = "的"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the suites of one folder have in common."""

    phenomenon: str
    conditions: tuple[str, ...]
    """In the order of an item's lines."""
    higher: tuple[tuple[str, str], ...]
    """(condition whose critical words are more surprising, condition that it is compared with)."""
    first: int | None
    """Place of the first critical word, from the end; None = the last 的."""
    n_words: int = 1

    def regions(self, words: Sequence[str], where: str) -> tuple[str, str, str]:
        """Return the texts before, in and after the critical words."""
        if self.first is None:
            if _DE not in words:
                raise CorpusError(f"{where}: no {_DE} in {' '.join(words)[:60]!r}; get the file again")
            start = len(words) - 1 - list(reversed(words)).index(_DE)
        else:
            start = len(words) + self.first
        if start < 1:
            raise CorpusError(f"{where}: {' '.join(words)[:60]!r} is too short for its suite; get the file again")
        end = start + self.n_words
        before, critical, after = ("".join(part) for part in (words[:start], words[start:end], words[end:]))
        return before, critical, after


_GRAMMATICAL = ("grammatical", "ungrammatical")
_PAIR = (("ungrammatical", "grammatical"),)
_GARDEN = (("general_classifier", "specific_classifier"),)
KINDS = {
    "Classifier": _Kind(
        "classifiers",
        ("grammatical_1", "ungrammatical_1", "grammatical_2", "ungrammatical_2"),
        tuple((f"ungrammatical_{bad}", f"grammatical_{good}") for bad, good in ((1, 1), (2, 2), (2, 1), (1, 2))),
        first=-2,
        n_words=2,
    ),
    "GP_obj": _Kind("garden_path_object", ("specific_classifier", "general_classifier"), _GARDEN, first=-4),
    "GP_sub": _Kind("garden_path_subject", ("specific_classifier", "general_classifier"), _GARDEN, first=None),
    "Missing_Object": _Kind("missing_object", ("ungrammatical", "grammatical"), _PAIR, first=-1),
    "Subordination": _Kind("subordination", _GRAMMATICAL, _PAIR, first=-1),
    "Verb_Noun": _Kind("verb_noun", _GRAMMATICAL, _PAIR, first=-2, n_words=2),
}


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences suite by suite, an item's conditions side by side."""
    for suite, name in SYNTAXGYM_MANDARIN.subset_files.items():
        if wanted(suite, options):
            yield from _sentences(files[str(name)], suite, KINDS[str(name).split("/", 1)[0]])


def _sentences(file: LocatedFile, suite: str, kind: _Kind) -> Iterator[Item]:
    lines = decode(file.path.read_bytes(), str(file.path)).splitlines()
    if len(lines) % len(kind.conditions):
        raise CorpusError(
            f"{file.path}: {len(lines)} lines, expected {len(kind.conditions)} per item; get the file again"
        )
    shared = {
        "region_names": json.dumps(REGIONS),
        "formulas": json.dumps([f"({_CRITICAL};%{high}%) > ({_CRITICAL};%{low}%)" for high, low in kind.higher]),
    }
    for place, line in enumerate(lines):
        number, condition = place // len(kind.conditions) + 1, kind.conditions[place % len(kind.conditions)]
        contents = kind.regions(line.split(), f"{file.path}, row {place + 1}")
        ends = (0, *(len("".join(contents[:n])) for n in range(1, len(contents) + 1)))
        yield Item(
            item_id=f"syntaxgym-mandarin/{suite}/{number}-{condition}",
            corpus="syntaxgym-mandarin",
            subset=suite,
            language="zh",
            task="sentence",
            phenomenon=kind.phenomenon,
            paradigm=suite,
            target_good="".join(contents),
            pair_id=str(number),
            extra={
                "item_number": number,
                "condition": condition,
                "words": line,
                "regions": json.dumps(contents, ensure_ascii=False),
                "region_spans": json.dumps(list(pairwise(ends))),
                **shared,
            },
        )


SYNTAXGYM_MANDARIN = declared("syntaxgym-mandarin", rows)
