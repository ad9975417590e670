"""MegaAcceptability: ratings of English clause-embedding verbs in 50 frames. White & Rawlins 2020; An & White 2020.

In: two archives and three TSV files, a rating a row. Out: one item a sentence and collection (`v2` holds the ratings of
`v1` too), its human judgment the mean of its ratings; every rating. A sentence that two frames give is one item.
Participants are numbers in the source, which begin anew in each collection; here each is one number of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.corpora.corpus_map import rating_value
from pairbank.builders.ratings.rating import Rated, Raters, Rating, judged
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.readers import check_width, decode, records
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

REQUIRED = ("participant", "verb", "frame", "response", "sentence")
SCALE = "likert7"
NO_RATING = "a_rating_missing"
"""Flag: one of its ratings was lost (a fault of the web form)."""
_NAME = "mega-acceptability"
SUBSETS = {
    "v1": ("mega-acceptability-v1.zip", f"{_NAME}-v1/{_NAME}-v1.tsv", 49_997),
    "v2": ("mega-acceptability-v2.zip", f"{_NAME}-v2/{_NAME}-v2.tsv", 74_827),
    "replication": (f"{_NAME}-replication-v1/{_NAME}-replication-v1.tsv", "", 1_380),
    "single-verb": (f"{_NAME}-singleverb-v1/{_NAME}-singleverb-v1.tsv", "", 1_850),
    "linking": (f"{_NAME}-linking-v1/{_NAME}-linking-v1.tsv", "", 50),
}
"""Subset -> file, member of the archive, number of sentences."""
EXTRA = (
    Column(name="verb", type="string", nullable=False, meaning="the clause-embedding verb"),
    Column(
        name="frame", type="string", nullable=False, meaning="its frame; of two that give the same sentence the first"
    ),
    Column(name="tense", type="string", nullable=True, meaning="tense of the verb; null where the source has none"),
)


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
    for subset in SUBSETS:
        if wanted(subset, options):
            for number, (sentence, found) in enumerate(_read(files, subset, raters).items(), 1):
                yield _item(subset, number, sentence, found)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items."""
    return (found.item for found in rated(files, options))


def _read(files: Mapping[str, LocatedFile], subset: str, raters: Raters) -> Mapping[str, _Sentence]:
    name, member, _ = SUBSETS[subset]
    path = files[name].path
    if member:
        where, text = next(iter(member_texts(path, member)))
        where = f"{path}:{where}"
    else:
        where, text = str(path), decode(path.read_bytes(), str(path))
    sentences: dict[str, _Sentence] = {}
    found = records(text.splitlines(keepends=True), where=where, delimiter="\t")
    _, header = next(found, (0, []))
    if missing := [name for name in REQUIRED if name not in header]:
        raise CorpusError(f"{where}, row 1: missing column(s) {', '.join(missing)}; found {', '.join(header)}")
    who, verb, frame, response, text_ = (header.index(name) for name in REQUIRED)
    tense = header.index("tense") if "tense" in header else None
    for line, cells in found:
        check_width(cells, header, f"{where}, row {line}", "\t")
        one = sentences.get(cells[text_])
        if one is None:
            one = _Sentence(cells[verb], cells[frame], None if tense is None else cells[tense])
            sentences[cells[text_]] = one
        rater = raters.number((subset, cells[who]))
        if cells[response]:
            one.judgments.append((rater, rating_value(cells[response], f"{where}, row {line}")))
        else:
            one.n_missing += 1
    return sentences


def _item(subset: str, number: int, sentence: str, found: _Sentence) -> Rated:
    item = Item(
        item_id=f"{_NAME}/{subset}/{number}",
        corpus=_NAME,
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


_REVISION = "d4f8450b07a056f30a794b03be840259c5aba031"
_RAW = f"https://raw.githubusercontent.com/MegaAttitude/megaattitude.github.io/{_REVISION}/projects/{_NAME}"
_SHA256 = {
    "v1": "a592b962c90c8212f1912a9b88b9faa1fbf92a522ce4c7c23c8f7691bef8378a",
    "v2": "17acd493a44834cded470ccb66b3aace538432cce297b3c5bb78b5aca9a5b7a4",
    "replication": "1bba769bba133d0305a186e78610ef8bd5b6ce9d58ca93abca12c0520b6db98d",
    "single-verb": "3512829b9b5014f81e899ef20fe2950e8205a19ecf9fc12850cd6568d5bd9c5e",
    "linking": "4538e226425db468db210c5580efd7341aed59e7ba99168b6ce6e65b62a39dc8",
}

MEGA_ACCEPTABILITY = Corpus(
    name=_NAME,
    title="MegaAcceptability",
    description="Acceptability ratings of 1,007 English clause-embedding verbs in 50 frames and three tenses, five of "
    "every sentence; with a replication, ratings of single verbs, and 50 sentences that link the collections.",
    version="1.0.0",
    languages=("en",),
    tasks=("sentence",),
    n_items=128_104,
    n_by_subset={subset: n for subset, (_, _, n) in SUBSETS.items()},
    human="7-point ratings of single raters, about five a sentence",
    subsets=tuple(SUBSETS),
    subset_files={subset: name for subset, (name, _, _) in SUBSETS.items()},
    rows=rows,
    rated=rated,
    extra_columns=EXTRA,
    source=Source(
        homepage="https://megaattitude.io/projects/mega-acceptability",
        revision=_REVISION,
        licence="cc-by-sa-4.0",
        redistributable=True,
        citation=bibtex("white2020frequency", "an2020lexical", between="\n"),
        files=tuple(
            SourceFile(name=name, url=f"{_RAW}/{name}", sha256=_SHA256[subset], unpacked=member)
            for subset, (name, member, _) in SUBSETS.items()
        ),
    ),
)
