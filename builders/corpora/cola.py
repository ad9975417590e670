"""CoLA: 9,594 English sentences from linguistics publications, each labelled acceptable or not. Warstadt et al. 2019.

In: `cola_public.zip` or its folder: `raw/*.tsv` without header (source, label, the author's mark, sentence), read
without quoting. Out: one item a sentence, its label in `label`; subsets are the public splits. The test sets, which
have no labels, are not part of it. Labels are the authors' own: there is no graded human judgment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

ARCHIVE = "cola_public.zip"
UNMARKED = "unacceptable_without_mark"
"""Flag: labelled 0, but the author's mark is missing."""


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences split by split, in file order."""
    path = files[ARCHIVE].path
    for split in COLA.subsets:
        if wanted(split, options):
            for name, text in member_texts(path, f"cola_public/raw/{split}.tsv"):
                for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
                    yield _item(split, number, line, f"{path}:{name}, row {number}")


def _item(split: str, number: int, line: str, where: str) -> Item:
    cells = line.split("\t")
    if len(cells) != 4 or cells[1] not in ("0", "1"):
        raise CorpusError(
            f"{where}: {len(cells)} cells, the second {cells[1:2]}; expected source, label 0 or 1, mark and sentence "
            "(is it a test set, or the file of another distribution?)"
        )
    source_code, label, mark, sentence = cells
    return Item(
        item_id=f"cola/{split}/{number}",
        corpus="cola",
        subset=split,
        language="en",
        task="sentence",
        target_good=sentence,
        flags=(UNMARKED,) if label == "0" and not mark else (),
        extra={"label": int(label), "mark": mark or None, "source_code": source_code},
    )


COLA = declared("cola", rows)
