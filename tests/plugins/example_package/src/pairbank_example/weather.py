"""Weather: eight pairs of agreement in number, which the package itself carries.

In: `data/weather.csv`, a pair a line, the better sentence first. Out: one item a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile, Source

FILE = "weather.csv"


def rows(files: Mapping[str, LocatedFile], _options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs in file order."""
    for line, row in read_delimited(files[FILE].path, ("good", "bad")):
        yield Item(
            item_id=f"weather/all/{line}",
            corpus="weather",
            subset="all",
            language="en",
            task="sentence_pair",
            phenomenon="agreement",
            target_good=row["good"],
            target_bad=row["bad"],
            context_bad="",
        )


WEATHER = Corpus(
    name="weather",
    title="Weather",
    description="Agreement in number, about the weather.",
    version="1.0.0",
    languages=("en",),
    tasks=("sentence_pair",),
    n_items=8,
    human="",
    subsets=(),
    rows=rows,
    embedded=(FILE,),
    package="pairbank_example",
    source=Source(
        homepage="",
        revision="",
        files=(),
        licence="cc0-1.0",
        redistributable=True,
        citation="@misc{weather, author = {Nobody}, title = {Eight pairs about the weather}, year = {2025}}",
    ),
)
