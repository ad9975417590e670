"""SCaMP: 67 English paradigms of 1,000 minimal pairs, twice: plausible and implausible. McCoy & Griffiths 2025.

In: `scamp_plausible/*.tsv` and `scamp_implausible/*.tsv` (better, tab, worse; no header), as an archive or a folder.
Out: one item a line, in the source's tokenised lower case. Subsets are the two halves; `paradigm` is the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import member_texts
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

ARCHIVE = "scamp.tar.gz"
PATTERN = "scamp_*/*.tsv"
SUBSETS = ("plausible", "implausible")


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the plausible pairs, then the implausible ones, paradigms in alphabetical order."""
    path = files[ARCHIVE].path
    for subset in SUBSETS:
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


_REVISION = "f5911e0685d67a67e75b9ea35cec07ee1adadc39"

SCAMP = Corpus(
    name="scamp",
    title="SCaMP",
    description="67 paradigms of 1,000 English minimal pairs in words of child-directed speech, once plausible "
    "and once breaking selectional restrictions.",
    version="1.0.0",
    languages=("en",),
    tasks=("sentence_pair",),
    n_items=134_000,
    human="",
    subsets=SUBSETS,
    rows=rows,
    source=Source(
        homepage="https://github.com/tommccoy1/inductive-bias-distillation",
        revision=_REVISION,
        licence="mit",
        redistributable=True,
        citation=bibtex("mccoy2025modeling"),
        files=(
            SourceFile(
                name=ARCHIVE,
                url=f"https://raw.githubusercontent.com/tommccoy1/inductive-bias-distillation/{_REVISION}/scamp",
                sha256="41acb17b0c0c13c9e4a2d82987c3ca2b657bef3c73eafc5a3776f98876eb7c1f",
                unpacked=PATTERN,
                members="pins/scamp.tsv",
            ),
        ),
    ),
)
