"""`probe`: items and a model to Neuro, the third of XCOMPS's measures beside Direct and Meta (He et al. 2025).

In: items in the shared schema and a model with hidden states. Out: F1 and accuracy of a probe at every layer, for
each group of items, with the control task beside them; and summary rows that stand beside those of `summarise`
(method `neuro`). A sentence is its whole string, context and target joined.

Folds are `grouped`: no sentence stands on both sides of a split; `plain` ones part the sentences at random, as the
paper's words allow, so that a probe is tested on sentences that it has seen. Layers are fitted side by side on all
processors, each process reading its own states from disk.

Layer 0 is the embedding: it is in the table of layers, and left out of every choice among layers, since it has only
the last token, often the same full stop: accuracy is then .5 and F1 is 0, all sentences being called worse. The
paper says "every layer" and does not mention it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from pairbank.builders.schema.language_tags import joined
from pairbank.errors import BankError
from pairbank.stats.analyses import neuro
from pairbank.stats.measures import probes
from pairbank.stats.report.summary import on_all_cores
from pairbank.stats.scored_table.scored_table import DTYPES, SummaryRow
from pairbank.stats.wording import magnitude, number

if TYPE_CHECKING:
    import datasets

    from pairbank.arrays import IntArray
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.models.hidden_states import HiddenStates

logger = logging.getLogger(__name__)
NEURO = "neuro"
ALL = "all"
FINAL_MARKS = ".!?…؟۔。！？"
"""What `cut_stop` takes from the end of a sentence."""
Folds = Literal["grouped", "plain"]
FOLDS_IN_WORDS = {
    "grouped": "whole components of pairs with common sentences",
    "plain": "sentences at random, as many better as worse ones in each; a sentence may stand on both sides",
}
Precision = Literal["float32", "float16"]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""
OPERATIONS_A_FIT = 400
"""By rows and coordinates: 100 passes, each a product forth and one back."""
OPERATIONS_A_SECOND = 1.5e9
LABEL_SETS = 2
"""Real labels and the control task."""


def cost_in_words(
    n_texts: int, pairs_of_groups: Sequence[int], *, n_layers: int, n_hidden: int, n_folds: int, n_bytes: int
) -> str:
    """Return what the probes of one corpus and model take: fits on all processors together, and hidden states on disk.

    >>> cost_in_words(488_600, [3_593] * 72, n_layers=33, n_hidden=4096, n_folds=5, n_bytes=2)
    'some 41 CPU hours, 132 GB on disk'
    """
    operations = 0.0
    for n_pairs in pairs_of_groups:
        rows = 2 * n_pairs * (n_folds - 1) / n_folds
        operations += OPERATIONS_A_FIT * rows * min(n_hidden, rows) * n_folds * LABEL_SETS * n_layers
    hours = operations / OPERATIONS_A_SECOND / 3_600
    shown = number(hours, digits=0) if hours >= 10 else magnitude(max(hours, 0.01), digits=2)
    return f"some {shown} CPU hours, {magnitude(max(n_texts * n_layers * n_hidden * n_bytes / 1e9, 0.01))} GB on disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """The pairs of a group: numbers of their sentences among the texts, and what was left out."""

    group: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    good_text: IntArray
    bad_text: IntArray
    n_rows: int


def probe(
    items: datasets.Dataset,
    model: Scorer,
    *,
    groups: str | Sequence[str] = "subset",
    n_folds: int = probes.N_FOLDS,
    folds: Folds = "grouped",
    cut_stop: bool = False,
    standardise: bool = True,
    precision: Precision = "float32",
    seed: int = 0,
    progress: Progress | None = None,
) -> neuro.Probed:
    """Probe a model's hidden states for which sentence of a pair is the better one.

    Items with one side, or with identical sides, are left out and counted (`n_excluded`).

    Args:
        items: a Dataset in the shared schema, of one corpus.
        model: what `load_model` gives.
        groups: the column whose values are probed one by one, several of them (XCOMPS: `language` and
            `negative_type`), or `all` for one probe of everything.
        n_folds: folds of the cross-validation.
        folds: `grouped` keeps pairs with a common sentence together, `plain` parts sentences at random.
        cut_stop: read sentences without their final punctuation mark, so that the last token is of the last word.
        standardise: whether each coordinate of the states gets the mean 0 and the spread 1 of the training rows.
        precision: how hidden states are stored.
        seed: of folds and control labels; the same seed gives the same bytes.
        progress: called after every file of states and every group; the name of the first task says the cost of all.

    Raises:
        BankError: no pair to probe, a column that is not there, or a regression that does not converge.
        ScoringError: a model without hidden states, or a text longer than it accepts.

    >>> probe(load_corpus("starter"), load_model("demo")).summary  # doctest: +SKIP
    """
    columns = () if groups == ALL else (groups,) if isinstance(groups, str) else tuple(groups)
    if seed < 0 or n_folds < 2 or folds not in FOLDS_IN_WORDS:
        raise BankError(
            f"seed is {seed}, n_folds {n_folds}, folds {folds!r}; expected a seed of 0 or more, 2 folds or more, and "
            "grouped or plain"
        )
    how = _Settings(columns, n_folds, folds, cut_stop, standardise, precision, seed)
    notify = progress or (lambda _what, _done, _total: None)
    frame, texts, item_ids = _pairs_frame(items, columns)
    if cut_stop:
        texts = [text[:-1] if text.endswith(tuple(FINAL_MARKS)) else text for text in texts]
    groups_of_pairs = list(_groups(frame, columns))
    place = SummaryRow(
        model=model.info.name, corpus=str(items["corpus"][0]), group_by=how.group_by, group="", method=NEURO
    )
    n_pairs = [len(pairs.good) for pairs in groups_of_pairs]
    states = _states(texts, item_ids, model, how, place=place, n_pairs=n_pairs, told=notify)
    by_layer: list[dict[str, Any]] = []
    by_group: list[dict[str, Any]] = []
    for n_done, pairs in enumerate(groups_of_pairs, 1):
        of_group = replace(place, group=pairs.group)
        scores = _group_scores(pairs, states, of_group.rng(seed), how)
        by_layer += neuro.layer_rows(scores, of_group, n_layers=states.n_layers, n_pairs=len(pairs.good))
        by_group += neuro.summary_rows(scores, of_group, n_pairs=len(pairs.good), n_rows=pairs.n_rows)
        notify("probes", n_done, len(groups_of_pairs))
    summary = _frame(by_group, DTYPES)
    if len(groups_of_pairs) > 1:
        summary = pd.concat([_frame(neuro.mean_rows(summary, place), DTYPES), summary], ignore_index=True)
    return neuro.Probed(
        layers=_frame(by_layer, neuro.LAYER_DTYPES), summary=summary, signature=_signature(items, model, how)
    )


def _frame(rows: Iterable[dict[str, Any]], dtypes: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(dtypes)).astype(dtypes)


@dataclass(frozen=True, slots=True)
class _Settings:
    columns: tuple[str, ...]
    n_folds: int
    folds: Folds
    cut_stop: bool
    standardise: bool
    precision: Precision
    seed: int

    @property
    def group_by(self) -> str:
        return "+".join(self.columns) or ALL


def _states(
    texts: Sequence[str],
    item_ids: Sequence[str],
    model: Scorer,
    how: _Settings,
    *,
    place: SummaryRow,
    n_pairs: Sequence[int],
    told: Progress,
) -> HiddenStates:
    from pairbank.scoring.models.hidden_states import last_token_states, state_shape

    n_texts, n_read = len(set(texts)), 0
    n_layers, n_hidden = state_shape(texts[0], model)
    n_bytes = np.dtype(how.precision).itemsize
    cost = cost_in_words(n_texts, n_pairs, n_layers=n_layers, n_hidden=n_hidden, n_folds=how.n_folds, n_bytes=n_bytes)
    logger.info("probes of %s by %s: %s", place.corpus, place.model, cost)
    told(reading := f"hidden states ({cost})", 0, n_texts)

    def on_share(n: int) -> None:
        nonlocal n_read
        n_read += n
        told(reading, n_read, n_texts)

    return last_token_states(texts, model, where=item_ids, precision=how.precision, progress=on_share)


def _pairs_frame(items: datasets.Dataset, columns: Sequence[str]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return all rows (those to probe with numbers of their texts), all texts, and the item of each text."""
    if missing := [name for name in columns if name not in items.column_names]:
        raise BankError(f"items have no column {missing[0]!r} to group by; they have {', '.join(items.column_names)}")
    if len(set(items["corpus"][:])) > 1:
        raise BankError("items of several corpora; probe one corpus at a time")
    sides = [f"{part}_{side}" for side in ("good", "bad") for part in ("context", "target")]
    names = list(dict.fromkeys(["item_id", "language", *sides, *columns]))
    frame: pd.DataFrame = items.select_columns(names).to_pandas()
    frame = frame.sort_values("item_id", kind="stable", ignore_index=True)
    two_sided = frame["target_bad"].notna()
    for side in ("good", "bad"):
        parts = zip(frame[f"context_{side}"], frame[f"target_{side}"], frame["language"], two_sided, strict=True)
        frame[side] = [joined(context, target, language) if two else "" for context, target, language, two in parts]
    frame["is_pair"] = two_sided & (frame["good"] != frame["bad"])
    pairs = frame[frame["is_pair"]]
    if pairs.empty:
        raise BankError(f"none of the {len(frame)} items is a pair of two different sentences; nothing to probe")
    texts = [*pairs["good"], *pairs["bad"]]
    frame.loc[pairs.index, "good_text"] = np.arange(len(pairs))
    frame.loc[pairs.index, "bad_text"] = np.arange(len(pairs), 2 * len(pairs))
    return frame, texts, [*pairs["item_id"]] * 2


def _groups(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[_Pairs]:
    keys = ["/".join(map(str, row)) for row in frame[list(columns)].itertuples(index=False)] if columns else ""
    for name, rows in frame.assign(key=keys).groupby("key", sort=True):
        pairs = rows[rows["is_pair"]]
        yield _Pairs(
            group=str(name),
            good=tuple(pairs["good"]),
            bad=tuple(pairs["bad"]),
            good_text=pairs["good_text"].to_numpy(dtype=np.int64),
            bad_text=pairs["bad_text"].to_numpy(dtype=np.int64),
            n_rows=len(rows),
        )


def _group_scores(
    pairs: _Pairs, states: HiddenStates, rng: np.random.Generator, how: _Settings
) -> neuro.ProbeScores | str:
    """Return the scores of every layer, or why there are none."""
    n_pairs = len(pairs.good)
    components = np.arange(n_pairs) if how.folds == "plain" else probes.pair_components(pairs.good, pairs.bad)
    if problem := probes.fold_problem(components, n_folds=how.n_folds):
        return problem
    if how.folds == "plain":
        folds = probes.plain_folds(n_pairs, rng=rng, n_folds=how.n_folds)
    else:
        folds = np.tile(probes.pair_folds(components, rng=rng, n_folds=how.n_folds), 2)
    labels = [np.repeat([True, False], n_pairs), probes.exchanged(n_pairs, rng=rng)]
    texts = np.concatenate([pairs.good_text, pairs.bad_text])
    by_layer = on_all_cores(
        lambda layer: probes.cross_validated(states.layer(layer, texts), labels, folds, standardise=how.standardise),
        range(states.n_layers),
    )
    real, control = (
        {metric: np.array([getattr(scores[number], metric) for scores in by_layer]) for metric in neuro.METRICS}
        for number in (0, 1)
    )
    return neuro.ProbeScores(real=real, control=control)


def _signature(items: datasets.Dataset, model: Scorer, how: _Settings) -> dict[str, Any]:
    from pairbank.builders.dataset import manifest_of
    from pairbank.scoring.signature import corpus_signature

    return {
        "pairbank": version("pairbank"),
        "model": model.info.to_dict() | {"slug": model.info.slug},
        "corpus": corpus_signature(items, manifest_of(items) or {}),
        "method": {
            "name": NEURO,
            "paper": "He et al. 2025, XCOMPS, section 4.1",
            "states": f"last token of each sentence{' without its final punctuation mark' if how.cut_stop else ''}, "
            f"every layer, stored as {how.precision}",
            "probe": f"{'standardised' if how.standardise else 'states as they are'}, logistic regression, L2, C = 1; "
            f"scikit-learn {version('scikit-learn')}",
            "folds": f"{how.n_folds}, {FOLDS_IN_WORDS[how.folds]}",
            "control": "labels of each pair exchanged by a fair coin",
            "group_by": how.group_by,
        },
        "seed": how.seed,
    }
