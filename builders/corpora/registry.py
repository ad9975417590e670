"""The corpora by name: ours, and behind them those that installed packages offer (`pairbank.corpora`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.blimp import BLIMP
from pairbank.builders.corpora.blimp_li import BLIMP_LI
from pairbank.builders.corpora.cola import COLA
from pairbank.builders.corpora.comps import COMPS
from pairbank.builders.corpora.continuations import NEWS_2024, NONSENSE, RANDOMSEQ, WIKIPEDIA
from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.corpus_map import corpus_map
from pairbank.builders.corpora.dgl import DGL
from pairbank.builders.corpora.dtfit import DTFIT
from pairbank.builders.corpora.ewok import EWOK
from pairbank.builders.corpora.hll import HLL
from pairbank.builders.corpora.hu_levy_blimp import HU_LEVY_BLIMP
from pairbank.builders.corpora.itacola import ITACOLA
from pairbank.builders.corpora.kauf_2024 import KAUF_2024
from pairbank.builders.corpora.li import LI
from pairbank.builders.corpora.li_adger import LI_ADGER
from pairbank.builders.corpora.mega_acceptability import MEGA_ACCEPTABILITY
from pairbank.builders.corpora.news_2023 import NEWS_2023
from pairbank.builders.corpora.nocola import NOCOLA, NOCOLA_ZERO
from pairbank.builders.corpora.p18 import P18
from pairbank.builders.corpora.scamp import SCAMP
from pairbank.builders.corpora.sling import SLING
from pairbank.builders.corpora.social_relations import SOCIAL_RELATIONS
from pairbank.builders.corpora.starter import STARTER
from pairbank.builders.corpora.syntaxgym import SYNTAXGYM
from pairbank.builders.corpora.syntaxgym_mandarin import SYNTAXGYM_MANDARIN
from pairbank.builders.corpora.syntaxgym_suites import SYNTAXGYM_SUITES
from pairbank.builders.corpora.turblimp import TURBLIMP
from pairbank.builders.corpora.xcomps import XCOMPS
from pairbank.builders.corpora.zhoblimp import ZHOBLIMP
from pairbank.errors import unknown_name
from pairbank.plugins import package_names, plugins

PAIR_MAPS = (
    "lm-syneval",
    "multiblimp",
    "blimp-nl",
    "rublimp",
    "qfrblimp",
    "clams",
    "bhs",
    "climp",
    "jblimp",
    "lindsea",
    "xcopa",
    "morcela",
)
"""Corpora of pairs that are only a mapping."""
SENTENCE_MAPS = ("jcola", "rucola", "escola", "colac", "mega-veridicality", "mega-negraising", "mela")
"""Corpora of labelled or rated sentences that are only a mapping."""

OURS: Mapping[str, Corpus] = {
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
        *(corpus_map(name).corpus() for name in PAIR_MAPS),
        KAUF_2024,
        ITACOLA,
        NOCOLA,
        NOCOLA_ZERO,
        *(corpus_map(name).corpus() for name in SENTENCE_MAPS),
        MEGA_ACCEPTABILITY,
        DGL,
    )
}


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
    """Return a corpus.

    Raises:
        UnknownNameError: there is none of this name; the message has the nearest ones.
    """
    if name not in CORPORA:
        error = unknown_name("corpus", name, CORPORA, whose=package_names("corpora"))
        raise type(error)(
            f"{error}. A file of your own: give its path, ending in .csv, .tsv, .json, .jsonl, .parquet or .xlsx"
        )
    return CORPORA[name]
