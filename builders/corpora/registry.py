"""The corpora by name: ours, and behind them those that installed packages offer (`pairbank.corpora`)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module

from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.declared import corpus_files
from pairbank.errors import unknown_name
from pairbank.plugins import package_names, plugins

MODULES: Mapping[str, str] = {
    "starter": "starter",
    "blimp": "blimp",
    "hu-levy-blimp": "blimp",
    "syntaxgym": "syntaxgym",
    "zhoblimp": "like_blimp",
    "sling": "like_blimp",
    "li": "li",
    "li-adger": "li",
    "blimp-li": "li",
    "hll": "hll",
    "dtfit": "events",
    "cola": "sentences",
    "ewok": "events",
    "social-relations": "events",
    "comps": "concepts",
    "xcomps": "concepts",
    "p18": "next_words",
    "news-2023": "next_words",
    "wikipedia": "next_words",
    "news-2024": "next_words",
    "nonsense": "next_words",
    "randomseq": "next_words",
    "syntaxgym-suites": "syntaxgym",
    "syntaxgym-mandarin": "syntaxgym",
    "turblimp": "like_blimp",
    "kauf-2024": "events",
    "itacola": "sentences",
    "nocola": "sentences",
    "nocola-zero": "sentences",
    "mega-acceptability": "sentences",
    "dgl": "sentences",
    "morcela": "li",
    "blimp-nl": "like_blimp",
}
"""Corpus -> the module that makes it, as a constant of its name."""
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
    """Return a corpus."""
    if name not in CORPORA:
        error = unknown_name("corpus", name, CORPORA, whose=package_names("corpora"))
        raise type(error)(
            f"{error}. A file of your own: give its path, ending in .csv, .tsv, .json, .jsonl, .parquet or .xlsx"
        )
    return CORPORA[name]
