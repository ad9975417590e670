"""The corpora by name: ours, and behind them those that installed packages offer (`pairbank.corpora`)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.declared import corpus_files
from pairbank.builders.sources.tables import SUFFIXES
from pairbank.errors import unknown_name
from pairbank.plugins import package_names, plugins

_MADE_BY: Mapping[str, tuple[str, ...]] = {
    "starter": ("starter",),
    "blimp": ("blimp", "hu-levy-blimp"),
    "like_blimp": ("zhoblimp", "sling", "turblimp", "blimp-nl"),
    "syntaxgym": ("syntaxgym", "syntaxgym-suites", "syntaxgym-mandarin"),
    "li": ("li", "li-adger", "blimp-li", "morcela"),
    "hll": ("hll",),
    "sentences": ("cola", "itacola", "nocola", "nocola-zero", "mega-acceptability", "dgl"),
    "events": ("dtfit", "ewok", "social-relations", "kauf-2024"),
    "concepts": ("comps", "xcomps"),
    "next_words": ("p18", "news-2023", "wikipedia", "news-2024", "nonsense", "randomseq"),
    "sprouse": ("sprouse-2016",),
    "shades": ("shades-of-zero",),
}
"""A module -> the corpora that it makes, each a constant of its name."""
MODULES = {name: module for module, names in _MADE_BY.items() for name in names}
MAPS = tuple(name for name in corpus_files() if name not in MODULES)
"""Corpora that are only a mapping: each file of `data/corpora` whose corpus no module makes."""
OURS = (*MODULES, *MAPS)


@functools.cache
def _ours(name: str) -> Corpus:
    if name in MAPS:
        from pairbank.builders.corpora.corpus_map import corpus_map

        return corpus_map(name).corpus()
    module = import_module(f"pairbank.builders.corpora.{MODULES[name]}")
    corpus: Corpus = getattr(module, name.upper().replace("-", "_"))
    return corpus


class _Corpora(Mapping[str, Corpus]):
    """Ours first; what makes a corpus is imported when it is asked for, and not before."""

    def __getitem__(self, name: str) -> Corpus:
        if name in OURS:
            return _ours(name)
        plugin = plugins("corpora", taken=OURS)[name]
        corpus = plugin.load()
        if not isinstance(corpus, Corpus) or corpus.name != name:
            raise plugin.problem(f"which is {corpus!r:.80}; expected a pairbank Corpus with name={name!r}")
        return corpus

    def __contains__(self, name: object) -> bool:
        return name in OURS or name in plugins("corpora", taken=OURS)

    def __iter__(self) -> Iterator[str]:
        yield from OURS
        yield from plugins("corpora", taken=OURS)

    def __len__(self) -> int:
        return len(OURS) + len(plugins("corpora", taken=OURS))


CORPORA: Mapping[str, Corpus] = _Corpora()


def corpus_named(name: str) -> Corpus:
    if name not in CORPORA:
        error = unknown_name("corpus", name, CORPORA, whose=package_names("corpora"))
        raise type(error)(
            f"{error}. A file of your own: give its path, ending in .csv, .tsv, .json, .jsonl, .parquet or .xlsx"
        )
    return CORPORA[name]


def is_own(name: str) -> bool:
    """Return whether the name of a corpus is in fact the path of a user's table, TOML file or folder."""
    path = Path(name)
    return path.suffix.lower() in (*SUFFIXES, ".toml", ".zip", ".txt") or (
        path.is_dir() and (name not in CORPORA or "/" in name)
    )
