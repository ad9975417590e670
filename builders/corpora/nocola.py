"""NoCoLA: 28,672 sentences by learners of Norwegian, each acceptable or with one error. Jentoft & Samuel 2023.

In: two text files, first the sentences with an error (a tab and the code of the error behind each) under the heading
`Ungrammatical:`, then their corrections under `Grammatical:`. Out: one item a sentence, its label in `label`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import decode
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

FILES = {"dev": "NoCoLa_class_dev.txt", "test": "NoCoLa_class_test.txt"}
HEADINGS = {"Ungrammatical:": 0, "Grammatical:": 1}


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


NOCOLA = declared("nocola", rows)
