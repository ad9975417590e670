"""MegaAcceptability: ratings of English clause-embedding verbs in 50 frames. White & Rawlins 2020; An & White 2020.

In: two archives and three TSV files, a rating a row. Out: one item a sentence and collection (`v2` holds the ratings of
`v1` too), its human judgment the mean of its ratings; every rating. A sentence that two frames give is one item.
Participants are numbers in the source, which begin anew in each collection; here each is one number of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.corpus_map import rating_value
from pairbank.builders.corpora.declared import declared
from pairbank.builders.ratings import Rated, Raters, Rating, judged
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.readers import check_width, decode, records
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

REQUIRED = ("participant", "verb", "frame", "response", "sentence")
SCALE = "likert7"
NO_RATING = "a_rating_missing"
"""Flag: one of its ratings was lost (a fault of the web form)."""


@dataclass(slots=True)
class _Sentence:
    """What was read of one sentence."""

    verb: str
    frame: str
    tense: str | None
    judgments: list[tuple[int, float]] = field(default_factory=list)
    n_missing: int = 0


def rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the sentences subset by subset, in the order in which they are first met."""
    raters = Raters()
    for subset in MEGA_ACCEPTABILITY.subsets:
        if wanted(subset, options):
            for number, (sentence, result) in enumerate(_read(files, subset, raters).items(), 1):
                yield _item(subset, number, sentence, result)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items."""
    return (result.item for result in rated(files, options))


def _read(files: Mapping[str, LocatedFile], subset: str, raters: Raters) -> Mapping[str, _Sentence]:
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
    result = records(text.splitlines(keepends=True), where=where, delimiter="\t")
    _, header = next(result, (0, []))
    if missing := [name for name in REQUIRED if name not in header]:
        raise CorpusError(f"{where}, row 1: missing column(s) {', '.join(missing)}; found {', '.join(header)}")
    who, verb, frame, response, text_ = (header.index(name) for name in REQUIRED)
    tense = header.index("tense") if "tense" in header else None
    for line, cells in result:
        check_width(cells, header, f"{where}, row {line}", "\t")
        value = sentences.get(cells[text_])
        if value is None:
            value = _Sentence(cells[verb], cells[frame], None if tense is None else cells[tense])
            sentences[cells[text_]] = value
        rater = raters.number((subset, cells[who]))
        if cells[response]:
            value.judgments.append((rater, rating_value(cells[response], f"{where}, row {line}")))
        else:
            value.n_missing += 1
    return sentences


def _item(subset: str, number: int, sentence: str, found: _Sentence) -> Rated:
    item = Item(
        item_id=f"mega-acceptability/{subset}/{number}",
        corpus="mega-acceptability",
        subset=subset,
        language="en",
        task="sentence",
        target_good=sentence,
        phenomenon="clause embedding",
        paradigm=found.frame,
        flags=(NO_RATING,) if found.n_missing else (),
        extra={"verb": found.verb, "frame": found.frame, "tense": found.tense},
    )
    ratings = (
        Rating(item_id=item.item_id, side="good", rater=rater, value=value, scale=SCALE)
        for rater, value in found.judgments
    )
    return judged(item, ratings)


MEGA_ACCEPTABILITY = declared("mega-acceptability", rows, rated=rated)
