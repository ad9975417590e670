"""SCaMP: 67 English paradigms of 1,000 minimal pairs, twice: plausible and implausible. McCoy & Griffiths 2025.

In: `scamp_plausible/*.tsv` and `scamp_implausible/*.tsv` (better, tab, worse; no header), as an archive or a folder.
Out: one item a line, in the source's tokenised lower case. Subsets are the two halves; `paradigm` is the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

ARCHIVE = "scamp.tar.gz"


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the plausible pairs, then the implausible ones, paradigms in alphabetical order."""
    path = files[ARCHIVE].path
    for subset in SCAMP.subsets:
        if wanted(subset, options):
            for name, text in member_texts(path, f"scamp_{subset}/*.tsv"):
                paradigm = name.rsplit("/", 1)[-1].removesuffix(".tsv").removesuffix("_implausible")
                yield from _items(subset, paradigm, text, f"{path}:{name}")


def _items(subset: str, paradigm: str, text: str, where: str) -> Iterator[Item]:
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        cells = line.split("\t")
        if len(cells) != 2:
            raise CorpusError(
                f"{where}, row {number}: {len(cells)} cells, expected better and worse sentence with a tab between; "
                "get the file again"
            )
        yield Item(
            item_id=f"scamp/{subset}/{paradigm}-{number}",
            corpus="scamp",
            subset=subset,
            language="en",
            task="sentence_pair",
            paradigm=paradigm,
            target_good=cells[0],
            context_bad="",
            target_bad=cells[1],
        )


SCAMP = declared("scamp", rows)
