"""The corpora by name."""

from __future__ import annotations

from pairbank.builders.corpora.blimp import BLIMP
from pairbank.builders.corpora.blimp_li import BLIMP_LI
from pairbank.builders.corpora.cola import COLA
from pairbank.builders.corpora.comps import COMPS
from pairbank.builders.corpora.continuations import NEWS_2024, NONSENSE, RANDOMSEQ, WIKIPEDIA
from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.dtfit import DTFIT
from pairbank.builders.corpora.ewok import EWOK
from pairbank.builders.corpora.hll import HLL
from pairbank.builders.corpora.hu_levy_blimp import HU_LEVY_BLIMP
from pairbank.builders.corpora.li import LI
from pairbank.builders.corpora.li_adger import LI_ADGER
from pairbank.builders.corpora.news_2023 import NEWS_2023
from pairbank.builders.corpora.p18 import P18
from pairbank.builders.corpora.scamp import SCAMP
from pairbank.builders.corpora.sling import SLING
from pairbank.builders.corpora.starter import STARTER
from pairbank.builders.corpora.syntaxgym import SYNTAXGYM
from pairbank.builders.corpora.xcomps import XCOMPS
from pairbank.builders.corpora.zhoblimp import ZHOBLIMP
from pairbank.errors import unknown_name

CORPORA: dict[str, Corpus] = {
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
        COMPS,
        XCOMPS,
        P18,
        NEWS_2023,
        WIKIPEDIA,
        NEWS_2024,
        NONSENSE,
        RANDOMSEQ,
    )
}


def corpus_named(name: str) -> Corpus:
    """Return a built-in corpus.

    Raises:
        UnknownNameError: there is none of this name; the message has the nearest ones.
    """
    if name not in CORPORA:
        error = unknown_name("corpus", name, CORPORA)
        raise type(error)(f"{error}. A file of your own: give its path, ending in .csv, .tsv, .jsonl or .parquet")
    return CORPORA[name]
