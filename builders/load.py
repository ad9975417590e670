"""`load_corpus`: a name, or the path of a user's file or a bank's items, to a `datasets.Dataset` in the shared schema.

A bank's own file is read like a corpus of its name and version: what is scored on it can be merged with the bank.
"""

from __future__ import annotations

import logging
import tomllib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, RatedRows
from pairbank.builders.corpora.registry import CORPORA, corpus_named, is_own
from pairbank.builders.corpora.tabular_items import OwnOptions, TabularOptions
from pairbank.builders.ratings import (
    NORMALISATIONS,
    OF_A_TRIAL,
    RATING_COLUMNS,
    TRIAL,
    Normalisation,
    Rated,
    constant_raters,
    normalised,
    scale_after,
)
from pairbank.builders.schema.columns import Column
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.sources.downloads import Progress
from pairbank.builders.sources.source import LocatedFile, locate
from pairbank.errors import CorpusError, CorpusFileNotFoundError, unknown_name
from pairbank.files import read_json, read_parquet, sha256_of_file

if TYPE_CHECKING:
    import datasets

    from pairbank.arrays import IntArray


logger = logging.getLogger(__name__)
ITEMS = "items.parquet"
MANIFEST = "manifest.json"
TEXT = "target_good"
"""A column that the items lack where their texts were left out."""


def load_corpus(
    name: str | Path | Iterable[Any],
    *,
    data_dir: str | Path | None = None,
    subset: str | None = None,
    language: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    repair: bool = True,
    progress: Progress | None = None,
    **own: Unpack[OwnOptions],
) -> datasets.Dataset:
    """Return a corpus as a `datasets.Dataset` in the shared schema, every row of the source in it.

    Rows that need care (identical sides, a repeated pair, no human rating, repaired text) are flagged in the
    column `flags`, never dropped. How a file of your own was read (which column as the better side, which language,
    delimiter and encoding) is logged, and is in the manifest.

    Args:
        name: a built-in corpus (`pairbank corpora` lists them), or the path of a CSV, TSV, JSON, JSON-lines,
            parquet or .xlsx file with your own items (two columns of sentences are enough: better, worse), of a folder
            of such files, of a .toml file that describes them, or of a bank's items (BANK/data/CONFIG/items.parquet),
            which stay the corpus that they are. Or your own items themselves: a DataFrame (pandas, polars, Arrow,
            datasets), a list of (better, worse) pairs or of dicts, read as such a file is.
        data_dir: folder with the upstream files, or a root that holds one folder a corpus; None downloads.
        subset: only this subset (for BLiMP: a paradigm).
        language: only this language (BCP-47); for your own file: its language.
        limit: at most this many items of each paradigm (of each phenomenon, where the corpus names no paradigms;
            within its subset, language and label), in the source's order.
        sample: this many items drawn at random, the same ones each time, in the source's order; drawn after `limit`.
        repair: repair the documented defects of the source; False keeps its text as it is.
        progress: told of every piece of a file that is downloaded, perhaps from several threads.
        **own: for items of your own: `corpus` (its name), `columns`, `task`, `encoding`, `marks`, `tidy`, `map_file`,
            `header`, `fixed`; `pairbank.builders.corpora.tabular_items.OwnOptions` says what each does.

    Raises:
        UnknownNameError: no such corpus, subset or language.
        CorpusFileNotFoundError: a file is missing and cannot be downloaded.
        CorpusError: a file or rows that cannot be accepted; all problems at once.

    >>> load_corpus("starter", limit=1)["target_good"][0]
    'My aunt taught herself to play the cello last winter.'
    >>> items = load_corpus([("The dogs bark.", "The dogs barks.")], corpus="mine")
    >>> items["corpus"][0], items["target_bad"][0]
    ('mine', 'The dogs barks.')
    """
    dataset = _items(name, data_dir, language, BuildOptions(subset=subset, repair=repair), progress=progress, own=own)
    if limit is not None:
        dataset = first_of_each_paradigm(dataset, limit)
    return dataset if sample is None else drawn_at_random(dataset, sample)


def _items(
    name: str | Path | Iterable[Any],
    data_dir: str | Path | None,
    language: str | None,
    options: BuildOptions,
    *,
    progress: Progress | None,
    own: OwnOptions,
) -> datasets.Dataset:
    if unknown := own.keys() - OwnOptions.__annotations__.keys():
        raise TypeError(f"load_corpus() got an unexpected keyword argument {min(unknown)!r}")
    corpus, map_file = own.pop("corpus", "items"), own.pop("map_file", None)
    given: dict[str, Any] = {"marks": "refuse"} | {key: value for key, value in own.items() if value}
    given |= {"header": tuple(given["header"])} if "header" in given else {}
    if not isinstance(name, str | Path):
        from pairbank.builders.corpora.in_memory import file_of

        name = file_of(name, corpus)
    if is_banked(name):
        if options.subset or language or map_file or given != {"marks": "refuse"}:
            raise CorpusError(f"{name}: a bank's items are taken as they are; of the options, limit and sample apply")
        return _of_bank(Path(name), data_dir, progress)
    if is_own(str(name)):
        how = TabularOptions(language=language, **given)
        return _own_items(*own_corpus(Path(name), how, map_file), options)
    if map_file or {**given, "tidy": False} != {"marks": "refuse", "tidy": False}:
        raise CorpusError(
            f"columns, task, encoding, marks, a header, what is fixed and a map describe a file of your own; "
            f"{name!r} is built in"
        )
    return _built_in(corpus_named(str(name)), data_dir, language, options, progress)


def own_corpus(
    path: Path, table: TabularOptions, map_file: str | Path | None = None
) -> tuple[Corpus, Mapping[str, LocatedFile], str]:
    """Return the corpus of a user's table, folder or TOML file, its files, and what else its rows depend on."""
    from pairbank.builders.corpora.maps import own_map, read_map
    from pairbank.builders.corpora.results import results_of
    from pairbank.builders.corpora.tabular import map_beside, tabular_corpus

    is_map = path.suffix.lower() == ".toml"
    if is_map and map_file is not None:
        raise CorpusError(f"{path}: is a map itself; leave out the other map, or give the table")
    beside = None if is_map else map_beside(path) if map_file is None else Path(map_file)
    if beside is not None:
        logger.info("%s: read by the map %s", path.name, beside)
        table = replace(table, map=read_map(beside))
    text = "" if (source := path if is_map else beside) is None else source.read_text(encoding="utf-8")
    by_map = table.map is not None and table.map.whole is not None and table.map.whole.reading.results
    if path.exists() and (by_map or not (is_map or table.map or table.columns or table.header)):
        results = results_of(path, encoding=table.encoding)
        if results is None and by_map:
            raise CorpusError(f"{beside}, [reading]: results = true, and {path} is of no known program; leave it out")
        if results is not None:
            made, body = results
            text = text or body
            table = replace(table, map=table.map or own_map(tomllib.loads(body), path), table=made)
    corpus, files = tabular_corpus(path, table)
    return corpus, files, f"{replace(table, map=None, table=None)} {sorted(files)} {text}"


def _own_items(
    corpus: Corpus, files: Mapping[str, LocatedFile], variant: str, options: BuildOptions
) -> datasets.Dataset:
    from pairbank.builders.corpora.tabular import BY_DEFAULT, READING
    from pairbank.builders.dataset import manifest_of, prepare
    from pairbank.builders.schema.unseen import summary_of

    dataset = prepare(corpus, files, options, variant=variant)
    manifest = manifest_of(dataset) or {}
    notes = manifest["facts"][READING]
    by_default = [note for note in notes if BY_DEFAULT in note]
    for line in ("; ".join(note for note in notes if note not in by_default), *by_default):
        logger.warning("%s: %s", corpus.title, line)
    if line := summary_of(manifest["n_by_flag"]):
        logger.warning(
            "%s: %s; the flags of the items say which, and --tidy repairs all but letters and full stops",
            *(corpus.title, line),
        )
    return dataset


def _of_bank(path: Path, data_dir: str | Path | None, progress: Progress | None) -> datasets.Dataset:
    """Return a bank's items; where it holds their ids alone, the same items of the corpus that they are from.

    The file must be the one that the bank was written with.
    """
    import datasets

    from pairbank.builders.dataset import carry_manifest

    manifest = read_json(_root(path) / MANIFEST)
    file_hash = sha256_of_file(path) if path.is_file() else "missing"
    if (stated := manifest.get("files", {}).get(f"data/{path.absolute().parent.name}/{ITEMS}")) != file_hash:
        raise CorpusError(
            f"{path}: sha256 {file_hash[:12]}, the bank's manifest has {str(stated)[:12]}; get the bank anew"
        )
    items = datasets.Dataset(read_parquet(path), fingerprint=file_hash)
    name = str(items["corpus"][0])
    facts = {key: value for key, value in manifest["corpora"][name].items() if key not in ("n_items", "texts")}
    carry_manifest(items, facts)
    if TEXT in items.column_names:
        return items
    if name not in CORPORA:
        raise CorpusError(f"{path}: its texts were left out, and {name!r} is no corpus that ships; ask its owner")
    corpus = corpus_named(name)
    if corpus.version != facts.get("version"):
        raise CorpusError(f"{path}: of {name} {facts.get('version')}, and this pairbank has {corpus.version}")
    options = BuildOptions(subset=facts.get("subset"), repair=facts.get("repair", True))
    whole = _built_in(corpus, data_dir, None, options, progress)
    places = {item: place for place, item in enumerate(whole["item_id"][:])}
    if missing := [item for item in items["item_id"][:] if item not in places]:
        raise CorpusError(f"{path}: {name} has no item {missing[0]!r} ({len(missing):,} are missing)")
    return whole.select([places[item] for item in items["item_id"][:]])


def _built_in(
    corpus: Corpus, data_dir: str | Path | None, language: str | None, options: BuildOptions, progress: Progress | None
) -> datasets.Dataset:
    from pairbank.builders.dataset import prepare

    subset = options.subset
    if subset is not None and subset not in corpus.subsets:
        raise unknown_name(f"subset of {corpus.name}", subset, corpus.subsets)
    if language is not None:
        language = language_tag(language)
        if language not in corpus.languages:
            raise unknown_name(f"language of {corpus.name}", language, corpus.languages)
    if subset is None and language in corpus.subset_files:
        options = replace(options, subset=language)
    dataset = prepare(corpus, located_files(corpus, data_dir, options, progress=progress), options)
    if language is not None and len(corpus.languages) > 1:
        result = dataset["language"][:]
        dataset = dataset.select([i for i, value in enumerate(result) if value == language])
        if not len(dataset):
            raise unknown_name(f"language of {corpus.name}, subset {subset!r},", language, set(result))
    return dataset


def located_files(
    corpus: Corpus,
    data_dir: str | Path | None,
    options: BuildOptions | None = None,
    *,
    progress: Progress | None = None,
) -> Mapping[str, LocatedFile]:
    """Return the files of a built-in corpus by upstream name: the package's own, in `data_dir`, or downloaded."""
    if not corpus.embedded:
        folder = None if data_dir is None else Path(data_dir)
        if folder is not None and corpus.folder and (folder / corpus.folder).is_dir():
            folder /= corpus.folder
        source = corpus.source
        if only := corpus.subset_files.get((options and options.subset) or ""):
            names = (only,) if isinstance(only, str) else only
            source = replace(source, files=tuple(file for file in source.files if file.name in names))
        return locate(corpus.name, source, folder, progress=progress)
    root = Path(str(resources.files(corpus.package) / "data"))
    return {
        name: LocatedFile(path=root / name, name=name, sha256=sha256_of_file(root / name), verified=True)
        for name in corpus.embedded
    }


def first_of_each_paradigm(dataset: datasets.Dataset, limit: int) -> datasets.Dataset:
    """Return at most `limit` items of each paradigm (else phenomenon) within its subset and language, in their order.

    Single sentences that are labelled acceptable or not have as many of either label.
    """
    return dataset.select(np.flatnonzero(_places(dataset, limit) < limit))


def first_of_each_subset(dataset: datasets.Dataset, limit: int) -> datasets.Dataset:
    """Return at most `limit` items of each subset (within its language), taken from all its paradigms in turn."""
    in_turn = np.argsort(_places(dataset, limit), kind="stable")
    kept = in_turn[_places(dataset.select(in_turn), limit, of_paradigms=False) < limit]
    return dataset.select(np.sort(kept))


def drawn_at_random(dataset: datasets.Dataset, n: int) -> datasets.Dataset:
    """Return n items drawn without replacement, the same ones each time, in their order; all if there are no more."""
    if n < 1:
        raise CorpusError(f"sample is {n}, expected at least 1 item")
    drawn = np.random.default_rng(0).permutation(len(dataset))[:n]
    return dataset.select(np.sort(drawn))


def _places(dataset: datasets.Dataset, limit: int, *, of_paradigms: bool = True) -> IntArray:
    """Return the place of each item within its paradigm (else phenomenon), or its subset, of one language and label."""
    if limit < 1:
        raise CorpusError(f"limit is {limit}, expected at least 1 item a paradigm")
    names = ("subset", "language", "label", "paradigm", "phenomenon")
    frame = dataset.select_columns([name for name in names if name in dataset.column_names]).to_pandas()
    keys = [frame[name] for name in names[:3] if name in frame]
    if of_paradigms:
        keys.append(frame["paradigm"].fillna(frame["phenomenon"]) if "phenomenon" in frame else frame["paradigm"])
    places: IntArray = frame.groupby(keys, dropna=False, sort=False).cumcount().to_numpy(dtype=np.int64)
    return places


def load_ratings(
    name: str | Path,
    *,
    data_dir: str | Path | None = None,
    subset: str | None = None,
    normalisation: Normalisation = "none",
    map_file: str | Path | None = None,
    own: TabularOptions | None = None,
    trials: bool = False,
    progress: Progress | None = None,
) -> datasets.Dataset:
    """Return the ratings of a corpus, one a row, raters by number.

    Args:
        name: a corpus with individual raters (the error of another one lists them), or your own table, folder or TOML
            file, as `load_corpus` takes it.
        data_dir: as for `load_corpus`.
        subset: only this subset; a normalisation is over all that a rater judged nevertheless. Raters who give the same
            answer in 95 % of their judgments, whatever the others say, are left out; the manifest names them.
        normalisation: `none`, or `z-by-rater`; it is named in `scale` and in the manifest (`manifest_of`).
        map_file: for your own file: the TOML file that describes it, as for `load_corpus`.
        own: for your own file: how it is read, where a map does not say it.
        trials: add the column `trial`, which orders a rater's judgments in time; null where the source does not say.
        progress: told of every piece of a file that is downloaded.

    Raises:
        UnknownNameError: no such corpus, subset or normalisation.
        CorpusFileNotFoundError: a file is missing and cannot be downloaded, or that of the ratings is not there.
        CorpusError: the corpus has no individual raters, or a file that cannot be accepted.

    >>> load_ratings("turblimp", data_dir="corpora")["value"]  # doctest: +SKIP
    """
    if normalisation not in NORMALISATIONS:
        raise unknown_name("normalisation", normalisation, NORMALISATIONS)
    if is_own(str(name)):
        corpus, files, _ = own_corpus(Path(name), own or TabularOptions(), map_file)
        if corpus.rated is None:
            raise CorpusError(f"{name}: no individual ratings; a map says where they are (docs/column-maps.md)")
    else:
        corpus = corpus_named(str(name))
        if corpus.rated is None:
            rated = ", ".join(name for name, known in CORPORA.items() if known.rated is not None)
            raise CorpusError(f"corpus {name!r} has no individual ratings; corpora that have: {rated}")
        if subset is not None and subset not in corpus.subsets:
            raise unknown_name(f"subset of {name}", subset, corpus.subsets)
        files = located_files(corpus, data_dir, progress=progress)
    return _ratings_of(corpus, corpus.rated, files, subset=subset, normalisation=normalisation, trials=trials)


def own_ratings(
    path: str | Path, own: TabularOptions | None = None, map_file: str | Path | None = None
) -> datasets.Dataset | None:
    corpus, files, _ = own_corpus(Path(path), own or TabularOptions(), map_file)
    return None if corpus.rated is None else _ratings_of(corpus, corpus.rated, files)


def _ratings_of(
    corpus: Corpus,
    rated: RatedRows,
    files: Mapping[str, LocatedFile],
    *,
    subset: str | None = None,
    normalisation: Normalisation = "none",
    trials: bool = False,
) -> datasets.Dataset:
    import datasets

    from pairbank.builders.dataset import declare_ratings

    columns, values, kept = _collected(rated(files, BuildOptions()), subset)
    units = list(zip(columns["item_id"], columns["side"], strict=True))
    constant = constant_raters(corpus.name, units, columns["rater"], values, columns["scale"])
    left_out = {rater.rater for rater in constant}
    kept = [keep and rater not in left_out for keep, rater in zip(kept, columns["rater"], strict=True)]
    if not any(kept):
        missing = [file.name for file in corpus.source.files if file.name not in files]
        raise CorpusFileNotFoundError(
            f"corpus {corpus.name!r}: no ratings{f' of {subset!r}' if subset else ''}"
            f"{'; the files ' + ', '.join(missing) + ' are not there' if missing else ''}; see docs/corpora.md"
        )
    columns["value"] = normalised(values, columns["rater"], normalisation).tolist()
    columns["scale"] = [scale_after(scale, normalisation) for scale in columns["scale"]]
    more = [column for column in OF_A_TRIAL if any(cell is not None for cell in columns[column.name])]
    features = rating_features((*more, *([TRIAL] if trials else [])))
    columns = {name: columns[name] for name in features}
    table = datasets.Dataset.from_dict(columns, features=features)
    if not all(kept):
        table = table.select([place for place, keep in enumerate(kept) if keep])
    facts = {
        "kind": "ratings",
        "normalisation": normalisation,
        "n_ratings": len(table),
        "n_raters": len(set(table["rater"][:])),
        "left_out": [str(rater) for rater in constant],
        "pairbank_version": version("pairbank"),
    }
    declare_ratings(table, corpus, files, BuildOptions(subset=subset), facts)
    return table


def _collected(
    rated: Iterable[Rated], subset: str | None
) -> tuple[dict[str, list[Any]], Sequence[float], Sequence[int]]:
    """Return the columns of all ratings but their values, the values, and whether each is of the subset."""
    columns: dict[str, list[Any]] = {"item_id": [], "side": [], "rater": [], "scale": [], "trial": []}
    of_trials: dict[str, list[Any]] = {column.name: [] for column in OF_A_TRIAL}
    values, kept = array("d"), array("b")
    for result in rated:
        for rating in result.ratings:
            for name, cells in columns.items():
                cells.append(getattr(rating, name))
            for name, cells in of_trials.items():
                cells.append(rating.of_trial.get(name))
            values.append(rating.value)
            kept.append(subset is None or result.item.subset == subset)
    return columns | of_trials, values, kept


def rating_features(more: Sequence[Column] = ()) -> datasets.Features:
    import datasets

    return datasets.Features({column.name: datasets.Value(column.type) for column in (*RATING_COLUMNS, *more)})


def is_banked(path: str | Path) -> bool:
    """Return whether a path is that of a bank's items: BANK/data/CONFIG/items.parquet, beside BANK/manifest.json.

    >>> is_banked("items.parquet"), is_banked("blimp")
    (False, False)
    """
    place = Path(path)
    if place.name != ITEMS or place.absolute().parents[1].name != "data":
        return False
    manifest = _root(place) / MANIFEST
    return (
        manifest.is_file()
        and isinstance(result := read_json(manifest), dict)
        and {"corpora", "scores"} <= result.keys()
    )


def methods_in_bank(path: str | Path, corpus: str) -> tuple[str, ...]:
    """Return the methods that a bank's models were scored with on a corpus, by the path of its items; () = none was."""
    signatures = read_json(_root(Path(path)) / MANIFEST)["scores"].get(corpus, {})
    return tuple(signatures[min(signatures)]["methods"]) if signatures else ()


def prompt_files_of_bank(path: str | Path) -> tuple[Path, ...]:
    """Return the files with the wording of a bank's methods, by the path of its items."""
    return tuple(sorted((_root(Path(path)) / "prompts").glob("*.toml")))


def _root(path: Path) -> Path:
    return path.absolute().parents[2]
