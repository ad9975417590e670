"""NoCoLA: sentences by learners of Norwegian, each acceptable or with one error, or in pairs. Jentoft & Samuel 2023.

In: of `nocola` two text files, first the sentences with an error (a tab and the code of the error behind each) under
the heading `Ungrammatical:`, then their corrections under `Grammatical:`; of `nocola-zero` one, as the authors' script
reads it: the sentence with an error, its correction, the code. Out: one item a sentence, its label in `label`; or one
item a pair, its phenomenon the kind of error that the script counts.
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


KINDS = {
    "inflection": ("F", "INFL"),
    "word choice": ("W", "FL"),
    "spelling": ("ORT",),
    "missing": ("M",),
    "superfluous": ("R",),
    "punctuation": ("PUNC", "PUNCM", "PUNCR"),
    "order": ("O",),
    "case": ("CAP",),
    "compounding": ("PART", "SPL"),
    "derivation": ("DER",),
}
"""Kind of error, as the authors' script names it -> its codes."""
_KIND_OF = {code: kind for kind, codes in KINDS.items() for code in codes}


def pairs(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:  # noqa: ARG001
    """Yield the pairs in their order; blank lines and comments (`#`) are no pairs."""
    (file,) = files.values()
    n_items = 0
    for number, line in enumerate(decode(file.path.read_bytes(), str(file.path)).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.strip().split("\t")
        if len(cells) != 3 or not all(cells):
            raise CorpusError(
                f"{file.path}, row {number}: {line[:60]!r}, expected a sentence with an error, its correction and the "
                "code of the error, with tabs between them; get the file again"
            )
        bad, good, code = cells
        n_items += 1
        yield Item(
            item_id=f"nocola-zero/all/{n_items}",
            corpus="nocola-zero",
            subset="all",
            language="nb",
            task="sentence_pair",
            target_good=good,
            context_bad="",
            target_bad=bad,
            phenomenon=_KIND_OF.get(code, code),
            paradigm=code,
        )


NOCOLA = declared("nocola", rows)
NOCOLA_ZERO = declared("nocola-zero", pairs)
