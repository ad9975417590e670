"""Whom to cite: in, a bank's corpora and methods; out, BibTeX entries, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pairbank.builders.corpora.ewok import CITATION as EWOK
from pairbank.builders.corpora.starter import CITATION as PAIRBANK
from pairbank.builders.corpora.xcomps import CITATION as XCOMPS
from pairbank.builders.sources.citations import HU_LEVY_2023, SONG_2025
from pairbank.files import sha256_of_text

PAPERS: Mapping[str, str] = {
    r"Hu (&|and) Levy 2023": HU_LEVY_2023,
    r"Song(, Hu (&|and) Mahowald| et al\.?),? 2025": SONG_2025,
    r"He et al\.? 2025": XCOMPS,
    r"EWoK-core 1\.0|Ivanova et al\.? 2024b": EWOK,
    r"Ivanova et al\.? 2024(?!b)": """@misc{ivanova2024logprob,
  author = {Ivanova, Anna A. and Sathe, Aalok and Lipkin, Benjamin and Fedorenko, Evelina and Andreas, Jacob},
  title = {Log probability scores provide a closer match to human plausibility judgments than prompt-based evaluations},
  year = {2024}
}""",
    r"Hu (&|and) Frank 2024": """@inproceedings{hu2024auxiliary,
  author = {Hu, Jennifer and Frank, Michael C.},
  title = {Auxiliary task demands mask the capabilities of smaller language models},
  booktitle = {Conference on Language Modeling}, year = {2024}, eprint = {2404.02418}, archiveprefix = {arXiv}
}""",
    r"Salazar et al\.? 2020": """@inproceedings{salazar2020masked,
  author = {Salazar, Julian and Liang, Davis and Nguyen, Toan Q. and Kirchhoff, Katrin},
  title = {Masked Language Model Scoring},
  booktitle = {Proceedings of ACL}, pages = {2699--2712}, year = {2020}, doi = {10.18653/v1/2020.acl-main.240}
}""",
    r"Kauf (&|and) Ivanova 2023": """@inproceedings{kauf2023better,
  author = {Kauf, Carina and Ivanova, Anna},
  title = {A Better Way to Do Masked Language Model Scoring},
  booktitle = {Proceedings of ACL (Short Papers)}, pages = {925--935}, year = {2023},
  doi = {10.18653/v1/2023.acl-short.80}
}""",
}
"""Papers of methods, by how a method's definition names them."""
PLL_PAPERS = {"original": "Salazar et al. 2020", "within_word_l2r": "Kauf & Ivanova 2023"}


def bibtex_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the BibTeX entries of pairbank, of every corpus, and of every method's paper, each key once.

    Args:
        manifest: a bank's.
    """
    signatures = [s for models in manifest["scores"].values() for s in models.values()]
    named = [definition.get("paper", "") for s in signatures for definition in s["methods"].values()]
    named += [PLL_PAPERS.get(s["model"].get("pll", ""), "") for s in signatures]
    cited = [(facts.get("source") or {}).get("citation", "") for facts in manifest["corpora"].values()]
    papers = [bibtex for pattern, bibtex in PAPERS.items() if any(re.search(pattern, text) for text in named)]
    found: dict[str, str] = {}
    for key, entry in _keyed([PAIRBANK, *cited, *papers]):
        found.setdefault(key, entry)
    return list(found.values())


def _keyed(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        yield from entries(text).items()


def entries(bibtex: str) -> dict[str, str]:
    """Return the entries of a BibTeX text by key; a text that is no BibTeX is one entry under its hash.

    >>> list(entries("@book{a, title = {A {B}}} @misc{c, year = {2020}}"))
    ['a', 'c']
    """
    found: dict[str, str] = {}
    for start in re.finditer(r"@\w+\s*\{\s*([^,\s{}]+)\s*,", bibtex):
        depth = 0
        for place in range(bibtex.index("{", start.start()), len(bibtex)):
            depth += {"{": 1, "}": -1}.get(bibtex[place], 0)
            if depth == 0:
                found[start[1]] = bibtex[start.start() : place + 1]
                break
    if not found and bibtex.strip():
        found[sha256_of_text(bibtex)[:8]] = bibtex.strip()
    return found
