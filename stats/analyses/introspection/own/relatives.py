"""Whom a model is compared with: in, declared features or similarities; out, comparisons of a model with a relative.

A comparison has three sides: the model that is asked, a relative of it, and yardsticks, other models whose direct
differences say how noisy those of the first two are (`own_advantage` needs that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES, OTHER, match_type

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures

_UNRELATED = MATCH_TYPES.index(OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One model beside one relative; all are positions in the list of models."""

    asked: int
    relative: int
    yardsticks: tuple[int, ...]
    """Models whose direct differences tell how reliable those of the two are; at least one."""


def closest_relatives(
    models: Sequence[str], features: Mapping[str, ModelFeatures | None], *, read: Sequence[int]
) -> tuple[Comparison, ...]:
    """Return each model beside its closest declared relatives.

    Closest are the relatives of the first match type that occurs: seed variants, else base and instruct, else the
    same family. Yardsticks are all other models but those that are closer to one of the two than the two are to each
    other: what such a model shares with one of them would count as that one's reliability. A pair without a yardstick
    is left out.

    Args:
        models: Names.
        features: By name; None or absent where nothing is declared.
        read: Positions of the models whose direct differences vary.

    >>> from pairbank.stats.analyses.introspection.model_features import shipped_features
    >>> names = ["HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-360M", "openai-community/gpt2"]
    >>> closest_relatives(names, shipped_features(), read=[0, 1, 2])[0]
    Comparison(asked=0, relative=1, yardsticks=(2,))
    """
    kinds = {
        (a, b): MATCH_TYPES.index(match_type(models[a], features.get(models[a]), models[b], features.get(models[b])))
        for a in read
        for b in read
    }
    found = []
    for asked in read:
        closest = min((kinds[asked, other] for other in read if other != asked), default=_UNRELATED)
        if closest >= _UNRELATED:
            continue
        for relative in (other for other in read if other != asked and kinds[asked, other] == closest):
            yardsticks = tuple(
                k for k in read if k not in (asked, relative) and min(kinds[k, asked], kinds[k, relative]) >= closest
            )
            if yardsticks:
                found.append(Comparison(asked=asked, relative=relative, yardsticks=yardsticks))
    return tuple(found)


def most_similar(direct_direct: FloatArray, *, read: Sequence[int], asked: Sequence[int]) -> tuple[Comparison, ...]:
    """Return each asked model beside the one whose direct differences correlate most with its own, declared or not.

    Args:
        direct_direct: Correlations of the models' direct differences, shape (models, models).
        read: Positions of the models whose direct differences vary.
        asked: Positions of the models to compare.

    >>> r = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.4], [0.3, 0.4, 1.0]])
    >>> [found.relative for found in most_similar(r, read=[0, 1, 2], asked=[0, 1, 2])]
    [1, 0, 1]
    """
    found = []
    for model in asked:
        others = [k for k in read if k != model]
        if len(others) < 2:
            continue
        nearest = others[int(np.argmax(direct_direct[model, others]))]
        yardsticks = tuple(k for k in others if k != nearest)
        found.append(Comparison(asked=model, relative=nearest, yardsticks=yardsticks))
    return tuple(found)
