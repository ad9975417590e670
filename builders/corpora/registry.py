"""The corpora by name: ours, and behind them those that installed packages offer (`pairbank.corpora`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.blimp import BLIMP, BLIMP_LI, HU_LEVY_BLIMP
from pairbank.builders.corpora.concepts import COMPS, XCOMPS
from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.corpus_map import corpus_map
from pairbank.builders.corpora.declared import corpus_files
from pairbank.builders.corpora.events import DTFIT, EWOK, KAUF_2024, SOCIAL_RELATIONS
from pairbank.builders.corpora.hll import HLL
from pairbank.builders.corpora.li import LI, LI_ADGER, MORCELA
from pairbank.builders.corpora.like_blimp import BLIMP_NL, SCAMP, SLING, TURBLIMP, ZHOBLIMP
from pairbank.builders.corpora.next_words import NEWS_2023, NEWS_2024, NONSENSE, P18, RANDOMSEQ, WIKIPEDIA
from pairbank.builders.corpora.sentences import COLA, DGL, ITACOLA, MEGA_ACCEPTABILITY, NOCOLA, NOCOLA_ZERO
from pairbank.builders.corpora.starter import STARTER
from pairbank.builders.corpora.syntaxgym import SYNTAXGYM, SYNTAXGYM_MANDARIN, SYNTAXGYM_SUITES
from pairbank.errors import unknown_name
from pairbank.plugins import package_names, plugins

OURS: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        STARTER,
        BLIMP,
        HU_LEVY_BLIMP,
        SYNTAXGYM,
        SCAMP,
        ZHOBLIMP,
        SLING,
        LI,
        LI_ADGER,
        BLIMP_LI,
        HLL,
        DTFIT,
        COLA,
        EWOK,
        SOCIAL_RELATIONS,
        COMPS,
        XCOMPS,
        P18,
        NEWS_2023,
        WIKIPEDIA,
        NEWS_2024,
        NONSENSE,
        RANDOMSEQ,
        SYNTAXGYM_SUITES,
        SYNTAXGYM_MANDARIN,
        TURBLIMP,
        KAUF_2024,
        ITACOLA,
        NOCOLA,
        NOCOLA_ZERO,
        MEGA_ACCEPTABILITY,
        DGL,
        MORCELA,
        BLIMP_NL,
    )
}
MAPS = tuple(name for name in corpus_files() if name not in OURS)
"""Corpora that are only a mapping: each file of `data/corpora` whose corpus no module makes."""
OURS |= {name: corpus_map(name).corpus() for name in MAPS}


class _Corpora(Mapping[str, Corpus]):
    """Ours first; a package's corpus is imported when it is asked for, and not before."""

    def __getitem__(self, name: str) -> Corpus:
        if name in OURS:
            return OURS[name]
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
