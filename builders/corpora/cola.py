"""CoLA: 9,594 English sentences from linguistics publications, each labelled acceptable or not. Warstadt et al. 2019.

In: `cola_public.zip` or its folder: `raw/*.tsv` without header (source, label, the author's mark, sentence), read
without quoting. Out: one item a sentence, its label in `label`; subsets are the public splits. The test sets, which
have no labels, are not part of it. Labels are the authors' own: there is no graded human judgment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.sources.readers import member_texts
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

ARCHIVE = "cola_public.zip"
SPLITS = ("in_domain_train", "in_domain_dev", "out_of_domain_dev")
UNMARKED = "unacceptable_without_mark"
"""Flag: labelled 0, but the author's mark is missing."""

EXTRA = (
    Column(name="label", type="int32", nullable=False, meaning="1 = acceptable, 0 = not, by the source's author"),
    Column(name="mark", type="string", nullable=True, meaning="the author's mark (*, ?*, ??), byte for byte"),
    Column(name="source_code", type="string", nullable=False, meaning="the publication, as CoLA abbreviates it"),
)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences split by split, in file order."""
    path = files[ARCHIVE].path
    for split in SPLITS:
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


COLA = Corpus(
    name="cola",
    title="CoLA",
    description="Sentences from 23 linguistics publications, labelled acceptable or not; the three public splits.",
    version="1.1.0",
    languages=("en",),
    tasks=("sentence",),
    n_items=9_594,
    human="binary label of the publication's author",
    subsets=SPLITS,
    rows=rows,
    extra_columns=EXTRA,
    source=Source(
        homepage="https://nyu-mll.github.io/CoLA",
        revision="master (a branch: the commit of this version is not known, its sha256 is pinned)",
        licence="other",
        licence_note="Texts are excerpts of published works whose copyright remains with authors and publishers; "
        "the distributors expect research use within the US to be fair use. Do not republish the sentences.",
        redistributable=False,
        citation=bibtex("warstadt2019neural"),
        files=(
            SourceFile(
                name=ARCHIVE,
                url=f"https://raw.githubusercontent.com/nyu-mll/CoLA-baselines/master/acceptability_corpus/{ARCHIVE}",
                sha256="2cf856f46df11c143d38e0cf2f9f34ff2fdb088c521cd859f5c4b9581683278b",
                unpacked="cola_public/raw/*.tsv",
            ),
        ),
    ),
)
