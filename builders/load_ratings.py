"""`load_ratings`: the name of a corpus, or the path of a user's, to a table of individual ratings of its items.

Columns: item_id, side, rater, value, scale. The human judgments of the items are made of the same ratings.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.registry import CORPORA, corpus_named
from pairbank.builders.corpora.tabular import is_own
from pairbank.builders.corpora.tabular_items import TabularOptions
from pairbank.builders.load import located_files, own_corpus
from pairbank.builders.ratings import NORMALISATIONS, RATING_COLUMNS, Normalisation, Rated, normalised, scale_after
from pairbank.builders.sources.downloads import Progress
from pairbank.errors import CorpusError, CorpusFileNotFoundError, unknown_name

if TYPE_CHECKING:
    import datasets


def load_ratings(
    name: str | Path,
    *,
    data_dir: str | Path | None = None,
    subset: str | None = None,
    normalisation: Normalisation = "none",
    map_file: str | Path | None = None,
    own: TabularOptions | None = None,
    progress: Progress | None = None,
) -> datasets.Dataset:
    """Return the ratings of a corpus, one a row, raters by number.

    Args:
        name: a corpus with individual raters (the error of another one lists them), or your own table, folder or TOML
            file, as `load_corpus` takes it.
        data_dir: as for `load_corpus`.
        subset: only this subset; a normalisation is over all that a rater judged nevertheless.
        normalisation: `none`, or `z-by-rater`; it is named in `scale` and in the manifest (`manifest_of`).
        map_file: for your own file: the TOML file that describes it, as for `load_corpus`.
        own: for your own file: how it is read, where a map does not say it.
        progress: told of every piece of a file that is downloaded.

    Raises:
        UnknownNameError: no such corpus, subset or normalisation.
        CorpusFileNotFoundError: a file is missing and cannot be downloaded, or that of the ratings is not there.
        CorpusError: the corpus has no individual raters, or a file that cannot be accepted.
    """
    import datasets

    from pairbank.builders.dataset import declare_ratings

    if normalisation not in NORMALISATIONS:
        raise unknown_name("normalisation", normalisation, NORMALISATIONS)
    if is_own(str(name)):
        corpus, files, _ = own_corpus(Path(name), own or TabularOptions(), map_file)
        if corpus.rated is None:
            raise CorpusError(f"{name}: no individual ratings; a map says where they are (docs/column-maps.md)")
    else:
        corpus = corpus_named(str(name))
        if corpus.rated is None:
            rated = ", ".join(known for known, entry in CORPORA.items() if entry.rated is not None)
            raise CorpusError(f"corpus {name!r} has no individual ratings; corpora that have: {rated}")
        if subset is not None and subset not in corpus.subsets:
            raise unknown_name(f"subset of {name}", subset, corpus.subsets)
        files = located_files(corpus, data_dir, progress=progress)
    columns, values, kept = _collected(corpus.rated(files, BuildOptions()), subset)
    if not any(kept):
        missing = [file.name for file in corpus.source.files if file.name not in files]
        raise CorpusFileNotFoundError(
            f"corpus {corpus.name!r}: no ratings{f' of {subset!r}' if subset else ''}"
            f"{'; the files ' + ', '.join(missing) + ' are not there' if missing else ''}; see docs/corpora.md"
        )
    columns["value"] = normalised(values, columns["rater"], normalisation).tolist()
    columns["scale"] = [scale_after(scale, normalisation) for scale in columns["scale"]]
    columns = {column.name: columns[column.name] for column in RATING_COLUMNS}
    table = datasets.Dataset.from_dict(columns, features=rating_features())
    if not all(kept):
        table = table.select([place for place, keep in enumerate(kept) if keep])
    facts = {
        "kind": "ratings",
        "normalisation": normalisation,
        "n_ratings": len(table),
        "n_raters": len(set(table["rater"][:])),
        "pairbank_version": version("pairbank"),
    }
    declare_ratings(table, corpus, files, BuildOptions(subset=subset), facts)
    return table


def own_ratings(
    path: str | Path, own: TabularOptions | None = None, map_file: str | Path | None = None
) -> datasets.Dataset | None:
    """Return the individual ratings of a user's table, folder or TOML file; None where it has none."""
    corpus, _, _ = own_corpus(Path(path), own or TabularOptions(), map_file)
    return None if corpus.rated is None else load_ratings(path, own=own, map_file=map_file)


def _collected(
    rated: Iterable[Rated], subset: str | None
) -> tuple[dict[str, list[Any]], Sequence[float], Sequence[int]]:
    """Return the columns of all ratings but their values, the values, and whether each is of the subset."""
    columns: dict[str, list[Any]] = {"item_id": [], "side": [], "rater": [], "scale": []}
    values, kept = array("d"), array("b")
    for result in rated:
        for rating in result.ratings:
            for name, cells in columns.items():
                cells.append(getattr(rating, name))
            values.append(rating.value)
            kept.append(subset is None or result.item.subset == subset)
    return columns, values, kept


def rating_features() -> datasets.Features:
    """Return the explicit Features of the table of ratings."""
    import datasets

    return datasets.Features({column.name: datasets.Value(column.type) for column in RATING_COLUMNS})
