"""Log-likelihood of each participant's responses, given their session so far: ratings and a model in, a table out.

A session is one text: instructions, then the trials in their order, each with the person's response (`sessions.toml`).
All models read the same text, without a chat template. One forward pass per session reads the response options at
every response where each option is one token; else options are scored one by one, with the shared prefix computed once.
A session longer than the model's context is cut at trials: it goes on after the instructions and as many of the last
trials as fill half of the context.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pairbank.arrays import FloatArray
from pairbank.builders.ratings import BINARY, FORCED_CHOICE, TRIAL
from pairbank.builders.schema.language_tags import joined
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.forward import rows_at, scoring_mode
from pairbank.scoring.engine.logprobs import head_logprobs_nats, read_logprobs_nats
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.load import scorer_of
from pairbank.scoring.run.store import VERSIONS, stored_or_made

if TYPE_CHECKING:
    from pathlib import Path

    import datasets

    from pairbank.scoring.api.model import Scorer

LEAST_TRIALS, MOST_OPTIONS = 5, 11
"""Of a participant, and of a trial."""
SHARD_PROMPTS = 64
STORED = pa.schema([("logprobs_nats", pa.list_(pa.float64())), ("n_before", pa.int64())])


class Kind(NamedTuple):
    """How a scale is asked and answered: the response options as the ratings, and as the session, have them."""

    name: str
    values: tuple[float, ...]
    options: tuple[str, ...]


class Trial(NamedTuple):
    """What a participant sees up to the response, and which of the options it is."""

    item_id: str
    side: str
    value: float
    prompt: str
    options: tuple[str, ...]
    values: tuple[float, ...]
    response: int

    @property
    def text(self) -> str:
        return f"{self.prompt}{self.options[self.response]}>>.\n\n"

    @property
    def targets(self) -> tuple[str, ...]:
        """What is scored of each option: the mark behind it too where one option begins another, as 1 begins 10."""
        begins = any(a != b and b.startswith(a) for a, b in itertools.permutations(self.options, 2))
        return tuple(f"{option}>>" for option in self.options) if begins else self.options


class Session(NamedTuple):
    rater: int
    scale: str
    head: str
    trials: list[Trial]


def kind_of(scale: str, values: Sequence[float]) -> Kind:
    if scale in (BINARY, FORCED_CHOICE):
        return Kind(scale, (0.0, 1.0), tuple(_wording()[scale]["options"]))
    likert = re.fullmatch(r"likert(\d+)", scale)
    first, last = (1, int(likert[1])) if likert else (min(values), max(values))
    if last - first >= MOST_OPTIONS or any(value % 1 or not first <= value <= last for value in values):
        raise ScoringError(
            f"ratings on the scale {scale!r} go from {min(values):g} to {max(values):g}; expected whole numbers "
            f"on a scale of at most {MOST_OPTIONS} response options (likert7), binary, or forced-choice"
        )
    points = np.arange(first, last + 1.0).tolist()
    return Kind("rating", tuple(points), tuple(f"{x:g}" for x in points))


@cache
def _wording() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("pairbank.scoring") / "sessions.toml").read_text(encoding="utf-8"))


def sessions_of(
    items: datasets.Dataset, ratings: datasets.Dataset, *, instructions: str = "", most: int | None = None
) -> list[Session]:
    """Return the session of each participant with enough trials, by the trial numbers of the ratings or their order."""
    rows = {row["item_id"]: row for row in items}
    table = ratings.to_pandas()
    table = table[table["item_id"].isin(rows.keys())]
    table = table[table["rater"].isin(sorted(table["rater"].unique())[:most])]
    if TRIAL.name in table:
        table = table.sort_values(TRIAL.name, kind="stable")
    results, most_trials = list[Session](), 0
    for (scale, rater), given in table.groupby(["scale", "rater"], sort=True):
        most_trials = max(most_trials, len(given))
        if len(given) >= LEAST_TRIALS:
            kind = kind_of(str(scale), table.loc[table["scale"] == scale, "value"].tolist())
            told = instructions or _wording()[kind.name]["instructions"]
            told = told.replace("{first}", kind.options[0]).replace("{last}", kind.options[-1])
            trials = [_trial(rows[one.item_id], one, kind) for one in given.itertuples()]
            results.append(Session(int(rater), str(scale), f"{told}\n\n", trials))
    if not results:
        n = most_trials
        raise ScoringError(f"no participant has {LEAST_TRIALS} ratings of these items; the most that one has is {n}")
    return results


def _trial(row: Mapping[str, Any], given: Any, kind: Kind) -> Trial:  # noqa: ANN401 - a row of the ratings
    sides = {
        side: joined(row[f"context_{side}"] or "", row[f"target_{side}"], row["language"])
        for side in ("good", "bad")
        if row[f"target_{side}"] is not None
    }
    values, response = kind.values, kind.values.index(given.value)
    texts = {"text": sides.get(given.side, "")}
    if kind.name == FORCED_CHOICE:  # the better side is first for half of the items, another half for each participant
        is_first = int(sha256_of_text(given.item_id, str(given.rater))[:8], 16) % 2 == 0
        values = (1.0, 0.0) if is_first else (0.0, 1.0)
        response = values.index(given.value)
        order = ("good", "bad") if is_first else ("bad", "good")
        texts = dict(zip(("first", "second"), (sides[side] for side in order), strict=True))
    prompt = _wording()[kind.name]["trial"].format(**texts)
    return Trial(given.item_id, given.side, given.value, prompt, kind.options, values, response)


def participants(
    items: datasets.Dataset,
    ratings: datasets.Dataset,
    model: Scorer | str | Path,
    *,
    instructions: str = "",
    window_tokens: int | None = None,
    most: int | None = None,
    progress: Callable[[int, int], None] = lambda _n, _of: None,
) -> pd.DataFrame:
    """Return one row per response with its log-likelihood given the session; docs/participants.md has the columns.

    Args:
        items: items of a corpus.
        ratings: individual ratings of them (`load_ratings(…, trials=True)`).
        model: a model that reads from left to right, loaded or named.
        instructions: how a session begins; empty = a sentence that fits the scale.
        window_tokens: longest text; None = what the model accepts.
        most: only the first so many participants; None = all.
        progress: told after each participant, how many are done and how many there are.

    Raises:
        ScoringError: another kind of model, ratings on another scale, or a trial longer than the model's context.

    >>> items = pairbank.load_corpus("sprouse-2016", data_dir="corpora")  # doctest: +SKIP
    >>> ratings = pairbank.load_ratings("sprouse-2016", data_dir="corpora", trials=True)  # doctest: +SKIP
    >>> participants(items, ratings, "demo").groupby("rater")["loglik_nats"].mean()  # doctest: +SKIP
    """
    sessions, scorer = sessions_of(items, ratings, instructions=instructions, most=most), scorer_of(model)
    if scorer.info.pll or scorer.info.seq2seq_mode:
        raise ScoringError(
            f"participants need a causal model, which reads the session up to a response. {scorer.info.name} "
            f"({scorer.info.architecture}) is none; choose a causal model"
        )
    limit = min((n for n in (window_tokens, scorer.info.max_length) if n is not None), default=None)
    asked = json.dumps([scorer.info.key, "participants", VERSIONS, limit])
    alone = _alone(sessions, scorer, asked)
    rows: list[dict[str, Any]] = []
    for n_done, session in enumerate(sessions, 1):
        trials = json.dumps([[trial.text, trial.options] for trial in session.trials])
        key, made = sha256_of_text(asked, session.head, trials), _read(session, scorer, limit)
        rows += _rows(session, stored_or_made(key, STORED, made, n_rows=len(session.trials)).to_pylist(), alone)
        progress(n_done, len(sessions))
    table = pd.DataFrame(rows)
    table.insert(0, "corpus", items["corpus"][0])
    table.insert(0, "model", scorer.info.name)
    return table


def _rows(
    session: Session, read: Sequence[dict[str, Any]], alone: Mapping[str, FloatArray]
) -> Iterator[dict[str, Any]]:
    for number, (trial, row) in enumerate(zip(session.trials, read, strict=True), 1):
        among_all, option = np.array(row["logprobs_nats"]), trial.response
        yield {
            "rater": session.rater, "trial": number, "n_before": row["n_before"], "item_id": trial.item_id,
            "side": trial.side, "scale": session.scale, "n_options": len(trial.options), "value": trial.value,
            "option": option, "loglik_nats": _among(among_all)[option], "logprob_nats": among_all[option],
            "alone_nats": _among(alone[session.head + trial.prompt])[option], "predicted": int(among_all.argmax()),
        }  # fmt: skip


def _among(logprobs_nats: FloatArray) -> FloatArray:
    return np.asarray(logprobs_nats - np.logaddexp.reduce(logprobs_nats))


def _alone(sessions: Sequence[Session], scorer: Scorer, asked: str) -> dict[str, FloatArray]:
    """Return the log-probabilities of the options of each distinct trial, right after the instructions."""
    trials = {session.head + trial.prompt: trial for session in sessions for trial in session.trials}
    listed, results = list(trials.items()), dict[str, FloatArray]()
    for first in range(0, len(listed), SHARD_PROMPTS):
        shard = listed[first : first + SHARD_PROMPTS]
        key = sha256_of_text(asked, "alone", json.dumps([[text, trial.options] for text, trial in shard]))
        made = ({"logprobs_nats": values.tolist(), "n_before": 0} for values in _one_by_one(shard, scorer))
        values = stored_or_made(key, STORED, made, n_rows=len(shard))["logprobs_nats"].to_pylist()
        results |= {text: np.array(of_text) for (text, _), of_text in zip(shard, values, strict=True)}
    return results


def _one_by_one(prompts: Sequence[tuple[str, Trial]], scorer: Scorer) -> Iterator[FloatArray]:
    requests = [
        Request(context=text, target=target, where=f"{trial.item_id} ({trial.side})")
        for text, trial in prompts
        for target in trial.targets
    ]
    answers = scorer.token_logprobs(scorer.encode(requests), progress=lambda _n: None)
    sums = iter([float(np.sum(answer)) for answer in answers])
    for _, trial in prompts:
        yield np.array([next(sums) for _ in trial.options])


def _read(session: Session, scorer: Scorer, limit: int | None) -> Iterator[dict[str, Any]]:
    """Yield how many trials were read before a response, and the log-probabilities of its options."""
    for begin, first, stop in _windows(session, scorer, limit):
        texts = itertools.accumulate((trial.text for trial in session.trials[begin:stop]), initial=session.head)
        asked = [(text + trial.prompt, trial) for text, trial in zip(texts, session.trials[begin:stop], strict=False)]
        asked = asked[first - begin :]
        values = _in_one_pass(asked, scorer) if isinstance(scorer, CausalScorer) else None
        for n_before, logprobs in enumerate(values or _one_by_one(asked, scorer), first - begin):
            yield {"logprobs_nats": logprobs.tolist(), "n_before": n_before}


def _windows(session: Session, scorer: Scorer, limit: int | None) -> Iterator[tuple[int, int, int]]:
    """Yield the first trial that is read, the first that is scored, and one past the last."""
    texts = [session.head, *(trial.text for trial in session.trials)]
    head, *sizes = (len(request.ids) for request in scorer.encode([Request(context="", target=x) for x in texts]))
    limit = sum(sizes) + head if limit is None else limit
    begin = first = 0
    while first < len(sizes):
        stop = first
        while stop < len(sizes) and head + sum(sizes[begin : stop + 1]) <= limit:
            stop += 1
        if stop == first == begin:
            raise ScoringError(
                f"{session.trials[first].item_id}: instructions and trial have {head + sizes[first]} tokens, and "
                f"{scorer.info.name} reads {limit}; choose a model with a longer context, or shorter instructions"
            )
        if stop == first:  # a long trial: fewer of those before it are repeated
            begin += 1
            continue
        yield begin, first, stop
        begin = first = stop
        while begin and head + sum(sizes[begin - 1 : stop]) <= limit / 2:
            begin -= 1


def _in_one_pass(prompts: Sequence[tuple[str, Trial]], scorer: CausalScorer) -> list[FloatArray] | None:
    """Return what `_one_by_one` does of prompts that continue each other; None where an option is not one token."""
    text, last = prompts[-1]
    [whole] = scorer.encode([Request(context="", target=text + last.options[last.response])])
    ids_of = dict[tuple[str, ...], tuple[int, ...]]()
    for options in {trial.options for _, trial in prompts}:  # as tokens where a response stands
        encoded = scorer.encode([Request(context="\nYou answer <<", target=option) for option in options])
        if any(one.n_scored != 1 or one.flags for one in encoded) or len({one.ids[:-1] for one in encoded}) > 1:
            return None
        ids_of[options] = tuple(one.ids[-1] for one in encoded)
    place_of = {start: place for place, start in enumerate(whole.offsets or (), whole.start)}
    rows, tokens = [], []
    for before, trial in prompts:
        place, ids = place_of.get(len(before), 0), ids_of[trial.options]
        is_alone = place_of.get(len(before) + len(trial.options[trial.response])) == place + 1
        if trial.targets != trial.options or not is_alone or whole.ids[place] != ids[trial.response]:
            return None
        rows.append(place - 1)
        tokens.append(ids)
    sizes, name, head = [len(ids) for ids in tokens], scorer.info.name, scorer.head
    where: dict[str, Any] = {"rows": np.repeat(np.arange(len(sizes)), sizes), "tokens": np.concatenate(tokens)}
    with scoring_mode(scorer.model):
        kept = rows_at(scorer.model, whole.ids[:-1], np.array(rows), hidden=head is not None)
        read = partial(read_logprobs_nats, kept) if head is None else partial(head_logprobs_nats, head, kept)
        values = read(**where, model_name=name)()
    return np.split(values, np.cumsum(sizes)[:-1])
