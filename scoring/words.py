"""Surprisal of every word of a text: in, texts cut into words, and a model; out, a table with one row per word.

    log P(w_k | words before it) = Σ log p(tokens of w_k) − b(k) + b(k + 1)

White space belongs to the word that follows it. b(k) is the log-probability that a word begins where w_k does: the
correction of Pimentel & Meister 2024 and Oh & Schuler 2024 (`word_boundaries`). It makes the probabilities of all words
at a place sum to one, and the words of a text sum to its score by `direct_wb`. Nothing is corrected where words are not
marked: in languages without spaces, tokenizers that mark the ends of words, and masked models, whose words have
pseudo-log-likelihoods (`masked`). A text longer than the model's context is read through windows of that length, each
beginning where one half of the one before ends, with the BOS in front.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from pairbank.arrays import FloatArray
from pairbank.builders.schema.language_tags import separator
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.names import FIRST_TOKEN_UNSCORED
from pairbank.scoring.api.requests import Request, owners_of, token_offsets
from pairbank.scoring.engine.batching import default_batch_tokens, in_batches, packing_window, padded
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.engine.logprobs import BLOCK_LOGITS, BLOCK_LOGITS_ACCELERATOR, finite
from pairbank.scoring.engine.threads import n_parallel_passes
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.load import scorer_of
from pairbank.scoring.models.masked import MaskedScorer
from pairbank.scoring.models.word_boundaries import WordMarks, word_marks
from pairbank.scoring.run.store import VERSIONS, stored_or_made
from pairbank.scoring.texts import Text, plain_word, text_in_words
from pairbank.scoring.versions import WORDS_VERSION

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer

logger = logging.getLogger(__name__)

LAGGED = ("surprisal_bits", "n_characters", "n_occurrences")
"""What `lags` repeats of the words before: reading slows down after long, rare and surprising words (spillover)."""
SPLIT_TOKEN = "split_token"  # noqa: S105 - a flag
"""Flag: a token reaches into the word from the one before; its probability is counted there."""
SHARD_CHARACTERS = 1 << 14
"""Of the texts that are read and stored together, unless one is longer; a kill can lose some 3,000 words."""
SCORED = pa.schema(
    [
        ("n_tokens", pa.int64()),
        ("tokens", pa.string()),
        ("logprob_nats", pa.float64()),
        ("rank", pa.float64()),
        ("entropy_bits", pa.float64()),
        ("top", pa.string()),
        ("flags", pa.string()),
    ]
)
LOWEST_NATS = -80.0
"""Below the most probable token: less is nothing to a sum in float32."""


def words(
    texts: str | Iterable[str | Text],
    model: Scorer | str | Path,
    *,
    language: str = "en",
    lags: int = 0,
    top: int = 0,
    correct: bool = True,
    window_tokens: int | None = None,
) -> pd.DataFrame:
    """Return the surprisal of every word.

    Args:
        texts: texts (numbered from 1), or what `text_in_words` and `text_of_words` made: one or several.
        model: a causal or a masked model, loaded or named.
        language: decides whether spaces part words (BCP-47 tag).
        lags: words before whose surprisal and length are beside each word's, as columns `…_lag1`, …
        top: number of most probable next tokens to list at the beginning of each word.
        correct: whether the probability of a word's end is part of it (equations above); causal models only.
        window_tokens: longest sequence; None = what the model accepts.

    Returns:
        One row per word: model, text_id, word_number (from 1, or as its file numbers them), word, region, start, end
        (characters of the text), n_characters, n_occurrences (of the word in all texts), n_tokens, tokens (JSON list),
        logprob_nats, surprisal_bits, rank (of the word's first token, 1 = most probable), entropy_bits (of the next
        token, before the word), top (JSON), flags. NaN where a value is not defined: the first word of a model without
        BOS, ranks and entropies of masked models.

    Raises:
        ScoringError: a model of another kind, a tokenizer without words' marks, or NaN from the model.

    >>> words("The keys to the cabinet are here.", "demo")["surprisal_bits"]  # doctest: +SKIP
    """
    all_texts = _texts_of(texts, language)
    model = scorer_of(model)
    corrected = correct and separator(language) == " "
    if isinstance(model, CausalScorer):
        read = partial(_causal, scorer=model, top=top, corrected=corrected, window_tokens=window_tokens)
    elif isinstance(model, MaskedScorer):
        read = partial(_masked, model=model)
    else:
        raise ScoringError(
            f"{model.info.name}: words are read from causal and masked models of transformers, whose tokens are those "
            f"of the text in order; this is scored by the back end {model.info.backend!r}"
        )
    asked = [model.info.key, "words", VERSIONS, corrected, top, window_tokens]
    if math.isfinite(packing_window(model.model.config)):
        asked.append(WORDS_VERSION)  # the words of all other models were right before there was this version
    starts = itertools.accumulate((len(text.text) for text in all_texts), initial=0)
    tables = []
    for _, shard in itertools.groupby(zip(starts, all_texts, strict=False), key=lambda at: at[0] // SHARD_CHARACTERS):
        together = [text for _, text in shard]
        key = sha256_of_text(json.dumps(asked), json.dumps([[text.text, text.spans] for text in together]))
        n_words = sum(len(text.spans) for text in together)
        tables.append(stored_or_made(key, SCORED, _rows(together, read), n_rows=n_words))
    return _table(all_texts, pa.concat_tables(tables).to_pandas(), model=model.info.name, lags=lags, top=top)


def _texts_of(given: Any, language: str) -> list[Text]:  # noqa: ANN401 - what a caller takes for texts
    """Return the texts that were given, cut into words; say which are not read as they were written."""
    several = [given] if isinstance(given, str | Text) or not isinstance(given, Iterable) else list(given)
    if not several or hasattr(given, "columns") or not all(isinstance(text, str | Text) for text in several):
        kind = type(several[0] if several and not isinstance(several[0], str) else given).__name__
        kind = kind if several else f"an empty {kind}"
        raise ScoringError(f"expected a text or a list of texts; got {kind}: words(list(frame['sentence']), model)")
    all_texts = [
        text_in_words(str(n), text, language=language) if isinstance(text, str) else text
        for n, text in enumerate(several, 1)
    ]
    if respaced := [text.id for text in all_texts if text.is_respaced]:
        logger.warning(
            "%d of %d texts have white space that is not one space between two words (the first: text %s); they are "
            "read with one space there, so their sums are not those of direct for the text as it was written",
            len(respaced),
            len(all_texts),
            respaced[0],
        )
    return all_texts


def _table(texts: Sequence[Text], scored: pd.DataFrame, *, model: str, lags: int, top: int) -> pd.DataFrame:
    """Return one row per word: what needs no model beside what it says, and both of the words before."""
    scored.insert(SCORED.names.index("rank"), "surprisal_bits", -scored["logprob_nats"] / np.log(2))
    counts = Counter(plain_word(text.text[slice(*span)]) for text in texts for span in text.spans)
    own_columns = [
        {
            "text_id": text.id,
            "word_number": text.numbers[number] if text.numbers else number + 1,
            "word": text.text[first:last],
            "region": text.regions[number],
            "start": first,
            "end": last,
            "n_characters": last - first,
            "n_occurrences": counts[plain_word(text.text[first:last])],
        }
        for text in texts
        for number, (first, last) in enumerate(text.spans)
    ]
    table: pd.DataFrame = pd.concat([pd.DataFrame(own_columns), scored], axis=1)
    table.insert(0, "model", model)
    by_text = table.groupby("text_id", sort=False)
    for lag in range(1, lags + 1):
        for column in LAGGED:
            table[f"{column}_lag{lag}"] = by_text[column].shift(lag)
    if not top:
        table = table.drop(columns="top")
    return table if any(text.regions != ("",) * len(text.spans) for text in texts) else table.drop(columns="region")


@dataclass(slots=True, kw_only=True)
class _Reading:
    """What a model says of each token of a text, NaN where it says nothing."""

    offsets: list[int]
    """Characters between which the tokens stand (`token_offsets`); (n_tokens + 1,)."""
    values: FloatArray
    """log-probability in nats, rank, and entropy in bits; (3, n_tokens)."""
    begins: FloatArray
    """log-probability that a word begins at the token (the last one: after the text); (n_tokens + 1,)."""
    tops: list[str]


def _rows(texts: list[Text], read: Callable[[list[Text]], list[_Reading]]) -> Iterator[dict[str, Any]]:
    """Yield what is stored of each word; the model reads the texts first."""
    for text, reading in zip(texts, read(texts), strict=True):
        owners = np.array(owners_of(text.text, text.spans, reading.offsets))
        pieces = [text.text[start:end] for start, end in itertools.pairwise(reading.offsets)]
        for number in range(len(text.spans)):
            tokens = np.flatnonzero(owners == number)
            logprob, rank, entropy, flag, top = np.nan, np.nan, np.nan, SPLIT_TOKEN, ""
            if len(tokens):
                first, last = tokens[0], tokens[-1]
                _, rank, entropy = reading.values[:, first]
                logprob = float(reading.values[0, tokens].sum())
                logprob += float(np.nan_to_num(reading.begins[last + 1]) - np.nan_to_num(reading.begins[first]))
                flag = FIRST_TOKEN_UNSCORED if np.isnan(logprob) else ""
                top = reading.tops[first] if reading.tops else ""
            yield {
                "n_tokens": len(tokens),
                "tokens": json.dumps([pieces[i] for i in tokens], ensure_ascii=False),
                "logprob_nats": logprob,
                "rank": rank,
                "entropy_bits": entropy,
                "top": top,
                "flags": flag,
            }


def _masked(texts: Sequence[Text], *, model: MaskedScorer) -> list[_Reading]:
    encoded = model.encode([Request(context="", target=text.text, where=f"text {text.id}") for text in texts])
    logprobs = model.token_logprobs(encoded, progress=lambda _n: None)
    return [
        _Reading(
            offsets=list(request.offsets or ()),
            values=np.vstack([of_text, np.full((2, len(of_text)), np.nan)]),
            begins=np.zeros(len(of_text) + 1),
            tops=[],
        )
        for of_text, request in zip(logprobs, encoded, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """A part of a text that goes through the model at once."""

    text: int
    ids: tuple[int, ...]
    start: int
    """Token of the text that is the first to be scored here."""
    tokens: tuple[int, ...]
    """The tokens that are scored here; the last rows tell them, and one row more what follows the text, if `ends`."""
    ends: bool


def _windows(
    texts: Sequence[Sequence[int]], prefix: tuple[int, ...], most: int | None, *, ends: bool, longest_short: float
) -> Iterator[_Window]:
    for number, text in enumerate(texts):
        room = len(text) if most is None else max(2, most - len(prefix))
        begin, start = 0, 0 if prefix else 1
        while start < len(text):
            stop = min(begin + room, len(text))
            ids, tokens = (*prefix, *text[begin:stop]), tuple(text[start:stop])
            is_last = ends and stop == len(text)
            if is_last and len(ids) - 1 <= longest_short < len(ids):
                # what follows the text takes a longer pass than its tokens, which would switch rotary embeddings
                yield _Window(text=number, ids=ids[:-1], start=start, tokens=tokens, ends=False)
                yield _Window(text=number, ids=ids, start=stop, tokens=(), ends=True)
            else:
                yield _Window(text=number, ids=ids if is_last else ids[:-1], start=start, tokens=tokens, ends=is_last)
            begin, start = stop - room // 2, stop


def _causal(
    texts: Sequence[Text], *, scorer: CausalScorer, top: int, corrected: bool, window_tokens: int | None
) -> list[_Reading]:
    encoding: Any = scorer.tokenizer(
        [text.text for text in texts], add_special_tokens=False, return_offsets_mapping=True
    )
    all_ids: list[list[int]] = encoding["input_ids"]
    results = [
        _Reading(
            offsets=token_offsets(places),
            values=np.full((3, len(ids)), np.nan),
            begins=np.zeros(len(ids) + 1),
            tops=[""] * len(ids),
        )
        for ids, places in zip(all_ids, encoding["offset_mapping"], strict=True)
    ]
    n_outputs = int(scorer.model.config.get_text_config().vocab_size)
    marks = word_marks(scorer.tokenizer, n_outputs=n_outputs, name=scorer.info.name) if corrected else None
    forward = _Forward(scorer=scorer, marks=None if marks is None or marks.marks_ends else marks, top=top)
    most = min((n for n in (window_tokens, scorer.info.max_length) if n is not None), default=None)
    longest_short = packing_window(scorer.model.config)
    windows = _windows(all_ids, scorer.info.prefix, most, ends=forward.marks is not None, longest_short=longest_short)
    with scoring_mode(scorer.model):
        for batch in in_batches(
            sorted(windows, key=lambda window: len(window.ids)),
            width=lambda window: len(window.ids),
            budget_tokens=1 if scorer.one_at_a_time else default_batch_tokens(scorer.model),
            compute=forward,
            model_name=scorer.info.name,
            window=longest_short,
            at_once=n_parallel_passes(scorer.model),
        ):
            for window, rows in batch:
                _put(results[window.text], window, rows, ids=all_ids[window.text], marks=forward.marks)
    for read in results:
        finite(read.values[0, 0 if scorer.info.prefix else 1 :], scorer.info.name)
    return results


def _put(read: _Reading, window: _Window, rows: _Rows, *, ids: Sequence[int], marks: WordMarks | None) -> None:
    """Store what a window says of its own tokens, and, of a text's last window, what follows it."""
    n, part = len(window.tokens), slice(window.start, window.start + len(window.tokens))
    *values, edges = rows.values
    read.values[:, part] = np.array(values)[:, :n]
    if rows.tops:
        read.tops[part] = rows.tops[:n]
    if marks is None:
        return
    begins_word = np.isin(ids[part], marks.begin_word)
    read.begins[part] = np.where(begins_word, edges[:n], 0.0)
    if window.start == 0 and not begins_word[0]:
        read.begins[0] = rows.unmarked
    if window.ends:
        read.begins[-1] = edges[n]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """What is read in each row of a window."""

    values: FloatArray
    """As a reading's, and the log-probability of the tokens that begin a word, or end the text; (4, n_rows)."""
    unmarked: float
    """log-probability of all tokens but those that begin a word, in the first row alone."""
    tops: list[str]


@dataclass(frozen=True, kw_only=True)
class _Forward:
    scorer: CausalScorer
    marks: WordMarks | None
    top: int

    def __call__(self, windows: list[_Window]) -> list[tuple[_Window, _Rows]]:
        model = self.scorer.model
        ids, mask = padded([window.ids for window in windows], pad_id=0, device=input_device(model))
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        results = []
        for row, window in enumerate(windows):
            n_ids = len(window.ids)
            read = self._read(window, logits[row, n_ids - len(window.tokens) - window.ends : n_ids])
            results.append((window, read))
        return results

    def _read(self, window: _Window, logits: torch.Tensor) -> _Rows:
        # what follows a text is no token: the first column of its row is read, and left out by `_put`
        tokens = torch.tensor([*window.tokens, 0][: len(logits)], device=logits.device)
        most = BLOCK_LOGITS.get(logits.device.type, BLOCK_LOGITS_ACCELERATOR)
        n_rows = max(1, most // logits.shape[-1])
        parts = [
            self._chunk(rows.float(), of_rows)
            for rows, of_rows in zip(torch.split(logits, n_rows), torch.split(tokens, n_rows), strict=True)
        ]
        values = torch.cat([part for part, _ in parts], dim=1).cpu().numpy().astype(np.float64)
        values[2] /= np.log(2)
        unmarked = np.nan
        if self.marks is not None and window.start == 0:
            first, others = logits[0].float(), torch.from_numpy(self.marks.others).to(logits.device)
            unmarked = float(first[others].logsumexp(-1) - first.logsumexp(-1))
        return _Rows(values=values, unmarked=unmarked, tops=[text for _, texts in parts for text in texts])

    def _chunk(self, rows: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, list[str]]:
        """Return (4, n_rows): log-probability, rank, entropy in nats, edge; and the most probable tokens."""
        chosen = rows.gather(-1, tokens[:, None])[:, 0]
        ranks = (rows > chosen[:, None]).sum(-1) + 1
        highest = rows.amax(-1)
        shifted = rows - highest[:, None]
        weights = shifted.exp()  # one exponential serves all sums
        total, edge = (weights @ self._sums).unbind(-1)
        log_total = total.log()
        if shifted.isneginf().any():  # 0 times minus infinity is 0 here
            shifted.clamp_(min=LOWEST_NATS)
        entropies = log_total - torch.linalg.vecdot(weights, shifted) / total
        values = [chosen - highest - log_total, ranks.to(rows.dtype), entropies, edge.log() - log_total]
        tops = []
        if self.top:
            best, decode = (weights / total[:, None]).topk(min(self.top, rows.shape[-1])), self.scorer.tokenizer.decode
            for ids, shares in zip(best.indices.tolist(), best.values.tolist(), strict=True):
                texts = {str(decode([token])): round(share, 4) for token, share in zip(ids, shares, strict=True)}
                tops.append(json.dumps(texts, ensure_ascii=False))
        return torch.stack(values), tops

    @functools.cached_property
    def _sums(self) -> torch.Tensor:
        """(vocabulary, 2): ones, and which tokens begin a word or end the text."""
        sums = torch.ones((int(self.scorer.model.config.get_text_config().vocab_size), 2))
        if self.marks is not None:
            sums[:, 1] = 0.0
            sums[torch.from_numpy(np.union1d(self.marks.begin_word, self.marks.end_text)), 1] = 1.0
        head: Any = self.scorer.model.get_output_embeddings()  # type: ignore[no-untyped-call]
        return sums.to(head.weight.device)
