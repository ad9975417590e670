"""Labelled and rated sentences: CoLA, ItaCoLA, NoCoLA, MegaAcceptability, DGL. Files in, one item a sentence out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pairbank.builders.corpora.column_map import Row
from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.corpus_map import corpus_map, rating_value
from pairbank.builders.corpora.declared import declared, declared_with_ratings
from pairbank.builders.ratings import BINARY, SHARE_THAT_ACCEPTS, Rated, Raters, Rating, judged, rating_of
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.formats import TableFormat, table_rows_of
from pairbank.builders.sources.readers import decode, delimited, read_delimited
from pairbank.builders.sources.source import LocatedFile, member_texts
from pairbank.errors import CorpusError

COLA_ARCHIVE = "cola_public.zip"
UNMARKED = "unacceptable_without_mark"
"""Flag: labelled 0, but the author's mark is missing."""
PLAYERS = "ItaCoLA_dataset_non-expertannotations.tsv"
PHENOMENA = "ItaCoLA_dataset_phenomenon.tsv"
NOT_PHENOMENA = ("UniqueIndexID", "Source", "Acceptability", "Sentence")
PLAIN = TableFormat(quotes=False)
_MAP = corpus_map("itacola")
NOCOLA_FILES = {"dev": "NoCoLa_class_dev.txt", "test": "NoCoLa_class_test.txt"}
HEADINGS = {"Ungrammatical:": 0, "Grammatical:": 1}
NOCOLA_KINDS = {
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
_KIND_OF = {code: kind for kind, codes in NOCOLA_KINDS.items() for code in codes}
MEGA_REQUIRED = ("participant", "verb", "frame", "response", "sentence")
MEGA_SCALE = "likert7"
NO_RATING = "a_rating_missing"
"""Flag: one of its ratings was lost (a fault of the web form)."""
STIMULI, PEOPLE = "stimuli.csv", "dgl_people.csv"
LABELS = {"grammatical": 1, "ungrammatical": 0}
CHECK = "attention check"
"""Phenomenon of the sentences that only tell whether people attend."""
RATERS = ("participant", "rater")
"""The column of raters: upstream's, and that of a copy without personal columns."""


def cola_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences split by split, in file order; the test sets, which have no labels, are left out."""
    path = files[COLA_ARCHIVE].path
    for split in COLA.subsets:
        if is_requested(split, options):
            for name, text in member_texts(path, f"cola_public/raw/{split}.tsv"):
                for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
                    cells = line.split("\t")
                    if len(cells) != 4 or cells[1] not in ("0", "1"):
                        raise CorpusError(
                            f"{path}:{name}, row {number}: {len(cells)} cells, the second {cells[1:2]}; expected "
                            "source, label 0 or 1, mark and sentence (is it a test set, or the file of another "
                            "distribution?)"
                        )
                    source_code, label, mark, sentence = cells
                    yield item_of(
                        ("cola", split, number),
                        sentence,
                        flags=(UNMARKED,) if label == "0" and not mark else (),
                        extra={"label": int(label), "mark": mark or None, "source_code": source_code},
                    )


def itacola_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the sentences of the map, with the players' ratings and the phenomena of those that have them."""
    players, phenomena = _by_id(files[PLAYERS], "UniqueIndexID_ItaCoLA"), _by_id(files[PHENOMENA], "UniqueIndexID")
    raters = Raters()
    for row in players.values():
        for who in row["PlayersID"].split(","):
            raters.number(who)
    for result in _MAP.rated(files, options):
        item = result.item
        played, shown = players.get(item.pair_id or ""), phenomena.get(item.pair_id or "")
        for other in (played, shown):
            if other is not None and other["Sentence"] != item.target_good:
                raise CorpusError(
                    f"{item.item_id}: another file has {other['Sentence']!r} under this id; get all three again"
                )
        names = [name for name, cell in (shown or {}).items() if name not in NOT_PHENOMENA and cell == "1"]
        item = replace(item, extra={**item.extra, "phenomena": ", ".join(names) or None})
        given: list[Rating] = []
        if played is not None:
            who, values = (played[name].split(",") for name in ("PlayersID", "DisaggragatedAnnotations"))
            if len(values) != len(who):
                raise CorpusError(f"{item.item_id}: {len(values)} judgments of {len(who)} players; get {PLAYERS} again")
            numbered = zip(map(raters.number, who), values, strict=True)
            where = f"{PLAYERS}, {item.item_id}"
            given = [rating_of(item, rater, rating_value(value, where), BINARY) for rater, value in numbered]
        yield judged(item, given)


def _by_id(file: LocatedFile, column: str) -> dict[str, Row]:
    rows = table_rows_of(file.path.read_bytes(), ".tsv", PLAIN, str(file.path))
    return {row[column]: row for _, row in rows}


def nocola_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences file by file, in their order.

    A file has the sentences with an error (a tab and the code of the error behind each) under the heading
    `Ungrammatical:`, then their corrections under `Grammatical:`.
    """
    for subset, name in NOCOLA_FILES.items():
        if not is_requested(subset, options):
            continue
        file = files[name]
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
                    f"{file.path}, row {number}: {line[:60]!r}, expected one of the headings {', '.join(HEADINGS)} "
                    "above, and the code of the error behind a tab under the first of them; get the file again"
                )
            n_items += 1
            yield item_of(
                ("nocola", subset, n_items),
                sentence,
                language="nb",
                phenomenon=code or None,
                extra={"label": label, "error_code": code or None},
            )


def nocola_pairs(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:  # noqa: ARG001
    """Yield the pairs in their order; blank lines and comments (`#`) are no pairs.

    A line is read as the authors' script reads it: the sentence with an error, its correction, the code of the error.
    """
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
        yield item_of(
            ("nocola-zero", "all", n_items),
            good,
            bad,
            language="nb",
            phenomenon=_KIND_OF.get(code, code),
            paradigm=code,
        )


@dataclass(slots=True)
class _Sentence:
    verb: str
    frame: str
    tense: str | None
    judgments: list[tuple[int, float]] = field(default_factory=list)
    n_missing: int = 0


def mega_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the sentences subset by subset, in the order in which they are first met, with every rating.

    `v2` holds the ratings of `v1` too. A sentence that two frames give is one item. Participants' numbers begin anew in
    each collection of the source; here each participant is one number of the corpus.
    """
    raters = Raters()
    for subset in (subset for subset in MEGA_ACCEPTABILITY.subsets if is_requested(subset, options)):
        for number, (sentence, of_sentence) in enumerate(_mega_sentences(files, subset, raters).items(), 1):
            item = item_of(
                ("mega-acceptability", subset, number),
                sentence,
                phenomenon="clause embedding",
                paradigm=of_sentence.frame,
                flags=(NO_RATING,) if of_sentence.n_missing else (),
                extra={"verb": of_sentence.verb, "frame": of_sentence.frame, "tense": of_sentence.tense},
            )
            yield judged(item, (rating_of(item, rater, value, MEGA_SCALE) for rater, value in of_sentence.judgments))


def _mega_sentences(files: Mapping[str, LocatedFile], subset: str, raters: Raters) -> Mapping[str, _Sentence]:
    (file,) = (
        entry for entry in MEGA_ACCEPTABILITY.source.files if entry.name == MEGA_ACCEPTABILITY.subset_files[subset]
    )
    path, member = files[file.name].path, file.unpacked
    if member:
        where, text = next(iter(member_texts(path, member)))
        where = f"{path}:{where}"
    else:
        where, text = str(path), decode(path.read_bytes(), str(path))
    sentences: dict[str, _Sentence] = {}
    for line, row in delimited(text, MEGA_REQUIRED, where=where, delimiter="\t"):
        value = sentences.setdefault(row["sentence"], _Sentence(row["verb"], row["frame"], row.get("tense")))
        rater = raters.number((subset, row["participant"]))
        if row["response"]:
            value.judgments.append((rater, rating_value(row["response"], f"{where}, row {line}")))
        else:
            value.n_missing += 1
    return sentences


def dgl_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:  # noqa: ARG001
    """Yield the sentences in their order, with the ratings where the file of people is there.

    People gave ten answers to each sentence; a row says whether an answer agrees with the sentence's label. A rating is
    the share of the ten that accept the sentence. Attention checks are no items. Of the columns about people, only
    numbers that tell them apart are read.
    """
    file = files[STIMULI]
    stimuli = {
        row["sentence"]: (number, row)
        for number, row in read_delimited(file.path, ("sentence", "phenomenon", "test_item", "condition"))
    }
    shares = _shares(files[PEOPLE], stimuli) if PEOPLE in files else {}
    for n, (sentence, (number, row)) in enumerate(stimuli.items(), 1):
        item = item_of(
            ("dgl", "all", n),
            sentence,
            phenomenon=row["phenomenon"],
            paradigm=row["phenomenon"],
            pair_id=f"{row['phenomenon']} {row['test_item']}",
            extra={"label": _dgl_label(row, f"{file.path}, row {number}")},
        )
        of_raters = shares.get(sentence, {}).items()
        yield judged(item, (rating_of(item, rater, share, SHARE_THAT_ACCEPTS) for rater, share in of_raters))


def _shares(file: LocatedFile, stimuli: Mapping[str, object]) -> Mapping[str, Mapping[int, float]]:
    answers: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    raters = Raters()
    for number, row in read_delimited(file.path, ("sentence", "phenomenon", "condition", "accuracy")):
        where = f"{file.path}, row {number}"
        if row["phenomenon"] == CHECK:
            continue
        if row["sentence"] not in stimuli:
            raise CorpusError(f"{where}: {row['sentence'][:60]!r} is no sentence of {STIMULI}; get both files again")
        column = next((name for name in RATERS if name in row), None)
        if column is None:
            raise CorpusError(f"{where}: no column {' or '.join(RATERS)}; get the file again")
        if row["accuracy"] not in ("0", "1"):
            raise CorpusError(f"{where}: accuracy is {row['accuracy']!r}, expected 0 or 1; get the file again")
        answer = int(row["accuracy"]) if _dgl_label(row, where) else 1 - int(row["accuracy"])
        answers[row["sentence"]][raters.number(row[column])].append(answer)
    return {
        sentence: {rater: sum(provided) / len(provided) for rater, provided in of_raters.items()}
        for sentence, of_raters in answers.items()
    }


def _dgl_label(row: Row, where: str) -> int:
    if row["condition"] not in LABELS:
        raise CorpusError(f"{where}: condition is {row['condition']!r}, expected {' or '.join(LABELS)}")
    return LABELS[row["condition"]]


COLA = declared("cola", cola_rows)
ITACOLA = _MAP.corpus(itacola_rated)
NOCOLA = declared("nocola", nocola_rows)
NOCOLA_ZERO = declared("nocola-zero", nocola_pairs)
MEGA_ACCEPTABILITY = declared_with_ratings("mega-acceptability", mega_rated)
DGL = declared_with_ratings("dgl", dgl_rated)
