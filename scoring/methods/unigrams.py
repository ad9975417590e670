"""Unigram counts: how often a model's tokenizer makes each token of some text, for SLOR and the Bayes factor.

Hu et al. 2026 (section 6.3) estimate the unigram model of each language model's training text from one million
documents of FineWeb (`sample-10BT`), cut by that model's tokenizer; Pauls & Klein 2012 and Lau et al. 2017 define the
score. None of them says what an unseen token gets. Here it is additive smoothing,

    p(token) = (count + k) / (n_tokens + k |Σ|),      k = 1 (Laplace) where nothing else is asked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.arrays import FloatArray, IntArray
from pairbank.builders.schema.language_tags import language_tag
from pairbank.errors import CorpusError, ScoringError
from pairbank.files import replaced_atomically, sha256_of_text
from pairbank.scoring.methods.documents import Documents, column_of, documents_of_files
from pairbank.scoring.models.tokenizing import Vocabulary, vocabulary_of

METADATA_KEY = b"pairbank_unigrams"
DOCUMENTS_A_BATCH = 1024
DEFAULT_LANGUAGE = "en"
UnigramTables: TypeAlias = "Unigrams | str | Path | Sequence[Unigrams | str | Path]"
"""Counts, or the file that `pairbank unigrams` wrote, or several of these, one a tokenizer and language."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unigrams:
    """Token counts of some text, and the smoothed unigram model that they make.

    >>> table = Unigrams(counts=np.array([3, 0, 1]), n_vocabulary=3, smoothing=1.0, n_documents=1, source={},
    ...                  tokenizer="toy", tokenizer_sha256="", documents_sha256="")
    >>> np.exp(table.logprobs_nats([0, 1, 2])).round(4).tolist()
    [0.5714, 0.1429, 0.2857]
    """

    counts: IntArray
    """(n_ids,) how often each token id occurs."""
    n_vocabulary: int
    """|Σ|: how many tokens there are to share the probability."""
    tokenizer: str
    tokenizer_sha256: str
    """Its fingerprint: the counts mean nothing with another tokenizer."""
    n_documents: int
    documents_sha256: str
    """Hash of all documents, in order."""
    source: dict[str, Any]
    smoothing: float
    """k of the additive smoothing."""
    languages: tuple[str, ...] = ()
    """Languages of the documents (BCP-47); none = not known, of a file that an old version wrote."""

    def covers(self, language: str) -> bool:
        """Return whether the counts are of this language, whatever its script or region; of unknown ones, always.

        >>> import dataclasses
        >>> from pairbank.scoring.models.fake import FakeScorer
        >>> table = count_unigrams(["abba"], FakeScorer(), language="zh")
        >>> table.covers("zh-Hant"), table.covers("en"), dataclasses.replace(table, languages=()).covers("en")
        (True, False, True)
        """
        covered = {language_of_text.partition("-")[0] for language_of_text in self.languages}
        return not covered or language.partition("-")[0] in covered

    @property
    def n_tokens(self) -> int:
        return int(self.counts.sum())

    @property
    def signature(self) -> dict[str, Any]:
        return {
            "tokenizer": self.tokenizer,
            "tokenizer_sha256": self.tokenizer_sha256,
            "n_vocabulary": self.n_vocabulary,
            "n_documents": self.n_documents,
            "n_tokens": self.n_tokens,
            "documents_sha256": self.documents_sha256,
            "source": self.source,
            "smoothing": f"add-{self.smoothing:g}",
            "languages": list(self.languages),
        }

    @property
    def sha256(self) -> str:
        """Hash of all that decides its probabilities."""
        counts = hashlib.sha256(np.ascontiguousarray(self.counts, dtype="<i8").tobytes()).hexdigest()
        return sha256_of_text(counts, str(self.n_vocabulary), repr(self.smoothing), self.tokenizer_sha256)

    def logprobs_nats(self, ids: Sequence[int] | IntArray) -> FloatArray:
        """Return log p(token) in nats of each token id, shape (len(ids),)."""
        chosen = np.asarray(ids, dtype=np.int64)
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < len(self.counts):
            raise ScoringError(
                f"token ids {int(chosen.min())} to {int(chosen.max())}, but the unigram counts of {self.tokenizer} "
                f"have ids 0 to {len(self.counts) - 1}; count unigrams with this model's tokenizer"
            )
        total = math.log(self.n_tokens + self.smoothing * self.n_vocabulary)
        values: FloatArray = np.log(self.counts[chosen] + self.smoothing) - total
        return values

    def save(self, path: str | Path) -> Path:
        """Write one parquet file (token_id, count; seen tokens only) that carries the signature."""
        path = Path(path)
        seen = np.flatnonzero(self.counts)
        table = pa.table({"token_id": pa.array(seen, pa.int64()), "count": pa.array(self.counts[seen], pa.int64())})
        about = {**self.signature, "n_ids": len(self.counts), "smoothing": self.smoothing}
        metadata = {METADATA_KEY: json.dumps(about, ensure_ascii=False, sort_keys=True).encode()}
        with replaced_atomically(path) as temporary:
            pq.write_table(table.replace_schema_metadata(metadata), temporary)
        return path


def read_unigrams(path: str | Path) -> Unigrams:
    """Read what `Unigrams.save` wrote.

    >>> read_unigrams("unigrams.npz").counts  # doctest: +SKIP
    """
    path = Path(path)
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(
            f"{path}: no readable unigram counts ({error}); make them with `pairbank unigrams`"
        ) from error
    metadata = table.schema.metadata or {}
    if METADATA_KEY not in metadata:
        raise CorpusError(f"{path}: carries no unigram signature; give a file that `pairbank unigrams` wrote")
    about = json.loads(metadata[METADATA_KEY])
    counts = np.zeros(about.pop("n_ids"), dtype=np.int64)
    counts[table["token_id"].to_numpy()] = table["count"].to_numpy()
    if int(counts.sum()) != about.pop("n_tokens"):
        raise CorpusError(f"{path}: the counts do not add up to what its signature says; make the file again")
    return Unigrams(counts=counts, **about | {"languages": tuple(about.get("languages", ()))})


def count_unigrams(
    documents: Documents | Iterable[Any] | Path,
    model: object,
    *,
    smoothing: float = 1.0,
    column: str = "text",
    language: str | None = None,
    progress: Callable[[int], None] = lambda _n_documents: None,
) -> Unigrams:
    """Count the tokens of some text as a model's tokenizer cuts it; no special token is added to a document.

    Args:
        documents: texts; or a `Path` or several (text with a document a line, `.jsonl`, `.parquet`); or a dataset of
            `datasets`; or `Documents`, for all that `pairbank.scoring.methods.documents` can read.
        model: a loaded model, a tokenizer, or a model's name (of which only the tokenizer is loaded).
        smoothing: k of the additive smoothing; above 0, or an unseen token would have no logarithm.
        column: the column of the text, for rows.
        language: of the text (BCP-47), which is that of the items that the counts are for; None = what `Documents`
            say (the items of a corpus know it), else English.
        progress: called with the number of documents just counted.

    Raises:
        CorpusError: no documents, or one that cannot be read.
        ScoringError: smoothing that is not above 0, or a model without a tokenizer.

    >>> from pairbank.scoring.models.fake import FakeScorer
    >>> table = count_unigrams(["abba", "b"], FakeScorer())
    >>> table.counts[[ord("a"), ord("b")]].tolist(), table.n_tokens, table.n_documents
    ([2, 3], 5, 2)
    """
    if not smoothing > 0 or math.isinf(smoothing):
        raise ScoringError(f"smoothing is {smoothing}; expected a number above 0: an unseen token needs a probability")
    vocabulary = vocabulary_of(model)
    read = _documents(documents, column)
    languages = (language_tag(language),) if language else read.languages or (DEFAULT_LANGUAGE,)
    counts = np.zeros(vocabulary.n_ids, dtype=np.int64)
    digest = hashlib.sha256()
    n_documents = 0
    texts = iter(read.texts)
    while batch := list(islice(texts, DOCUMENTS_A_BATCH)):
        for text in batch:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        ids = np.fromiter(chain.from_iterable(vocabulary.ids(batch)), dtype=np.int64)
        counts += np.bincount(ids, minlength=len(counts))
        n_documents += len(batch)
        progress(len(batch))
    if not counts.any():
        raise CorpusError(f"no token to count in {n_documents} documents ({read.source}); give some text")
    return Unigrams(
        counts=counts,
        n_vocabulary=vocabulary.n_tokens,
        tokenizer=vocabulary.name,
        tokenizer_sha256=vocabulary.fingerprint,
        n_documents=n_documents,
        documents_sha256=digest.hexdigest(),
        source=read.source,
        smoothing=float(smoothing),
        languages=languages,
    )


def tables_of(given: UnigramTables) -> list[Unigrams]:
    several = [given] if isinstance(given, Unigrams | str | Path) else list(given)
    return [table if isinstance(table, Unigrams) else read_unigrams(table) for table in several]


def unigrams_for(vocabulary: Vocabulary, given: UnigramTables, *, wanted_by: str) -> list[Unigrams]:
    """Return those of some tables that were counted with this tokenizer; none of none."""
    tables, fingerprint = tables_of(given), vocabulary.fingerprint
    chosen = [table for table in tables if table.tokenizer_sha256 == fingerprint]
    if chosen or not tables:
        return chosen
    counted_with = ", ".join(f"{table.tokenizer} ({table.tokenizer_sha256[:12]})" for table in tables)
    raise ScoringError(
        f"{wanted_by}: the unigram counts were made with the tokenizer of {counted_with}, but the model's is "
        f"{vocabulary.name} ({fingerprint[:12]}); count them again with this model: "
        "pairbank unigrams FILE --model MODEL --out unigrams.parquet"
    )


def _documents(given: Documents | Iterable[Any] | Path, column: str) -> Documents:
    if isinstance(given, Documents):
        return given
    if isinstance(given, str):
        raise CorpusError(f"documents is one string, {given[:40]!r}; expected a list of texts, or a Path for a file")
    if isinstance(given, Path):
        return documents_of_files([given], column=column)
    rows = iter(given)
    first = next(rows, None)
    if isinstance(first, Path):
        return documents_of_files([first, *rows], column=column)
    every = chain([] if first is None else [first], rows)
    if first is None or isinstance(first, str):
        return Documents(texts=every, source={"kind": "texts"})
    return Documents(texts=column_of(every, column, "the dataset"), source={"kind": "rows", "column": column})
