"""NoCoLA: 28,672 sentences by learners of Norwegian, each acceptable or with one error. Jentoft & Samuel 2023.

In: two text files, first the sentences with an error (a tab and the code of the error behind each) under the heading
`Ungrammatical:`, then their corrections under `Grammatical:`. Out: one item a sentence, its label in `label`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.corpora.corpus_map import LABEL
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.sources.readers import decode
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

FILES = {"dev": "NoCoLa_class_dev.txt", "test": "NoCoLa_class_test.txt"}
HEADINGS = {"Ungrammatical:": 0, "Grammatical:": 1}
EXTRA = (
    LABEL,
    Column(name="error_code", type="string", nullable=True, meaning="kind of the error, as the ASK corpus codes it"),
)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences file by file, in their order; blank lines part the two headings."""
    for subset, name in FILES.items():
        if wanted(subset, options):
            yield from _sentences(files[name], subset)


def _sentences(file: LocatedFile, subset: str) -> Iterator[Item]:
    label: int | None = None
    n_items = 0
    for number, line in enumerate(decode(file.path.read_bytes(), str(file.path)).split("\n"), 1):
        if line in HEADINGS:
            label = HEADINGS[line]
            continue
        if not line.strip():
            continue
        sentence, tab, code = line.partition("\t")
        if label is None or bool(tab) == bool(label):
            raise CorpusError(
                f"{file.path}, row {number}: {line[:60]!r}, expected one of the headings {', '.join(HEADINGS)} above, "
                "and the code of the error behind a tab under the first of them; get the file again"
            )
        n_items += 1
        yield Item(
            item_id=f"nocola/{subset}/{n_items}",
            corpus="nocola",
            subset=subset,
            language="nb",
            task="sentence",
            target_good=sentence,
            phenomenon=code or None,
            extra={"label": label, "error_code": code or None},
        )


_REVISION = "79894ce0b221fd87677986afe14c2819305a8149"
_RAW = f"https://raw.githubusercontent.com/ltgoslo/nocola/{_REVISION}/datasets"

NOCOLA = Corpus(
    name="nocola",
    title="NoCoLA (class)",
    description="Sentences by learners of Norwegian with one error each, and corrected ones: the parts dev and test.",
    version="1.0.0",
    languages=("nb",),
    tasks=("sentence",),
    n_items=28_672,
    n_by_subset={"dev": 14_289, "test": 14_383},
    human="binary label: corrected by the ASK corpus's annotators or not",
    subsets=tuple(FILES),
    subset_files=FILES,
    rows=rows,
    extra_columns=EXTRA,
    source=Source(
        homepage="https://github.com/ltgoslo/nocola",
        revision=_REVISION,
        licence="unknown",
        licence_note="The repository has no licence file: use the items, but ask before you republish them.",
        redistributable=False,
        citation=bibtex("jentoft2023nocola"),
        files=(
            SourceFile(
                name=FILES["dev"],
                url=f"{_RAW}/{FILES['dev']}",
                sha256="f4cd815fa83b95ed0a10c008df14acb11964725a9c8ffc6f326645a955d47645",
            ),
            SourceFile(
                name=FILES["test"],
                url=f"{_RAW}/{FILES['test']}",
                sha256="14bd6370fed2ec49cb7ba8819e03881a0326f0fab6bf494e797ee3488015feaf",
            ),
        ),
    ),
)
