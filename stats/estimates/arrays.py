"""Checks on the arrays that every statistic takes: in, anything array-like; out, finite float64 vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import BankError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def finite_vector(values: ArrayLike, *, name: str) -> FloatArray:
    """Return the values as a one-dimensional float64 array, refusing NaN and infinity.

    Args:
        values: One number per item, shape (n,); n may be 0.
        name: What the values are, for the message.

    Raises:
        BankError: If the shape is not (n,), or a value is NaN or infinite.

    >>> finite_vector([1, 2], name="delta_nats")
    array([1., 2.])
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise BankError(f"{name} has shape {vector.shape}; expected one number per item, shape (n,)")
    refuse_non_finite(vector, name=name)
    return vector


def refuse_non_finite(values: FloatArray, *, name: str) -> None:
    """Raise if any value of an array (any shape) is NaN or infinite, naming the first one.

    Raises:
        BankError: With the position and the value found.
    """
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = ", ".join(str(i) for i in bad[0])
        raise BankError(
            f"{name}[{where}] is {values[tuple(bad[0])]}; expected finite numbers ({len(bad)} are not). "
            "Leave out the rows a method does not apply to, and score the others again"
        )


def paired_vectors(x: ArrayLike, y: ArrayLike, *, names: tuple[str, str]) -> tuple[FloatArray, FloatArray]:
    """Return two finite vectors of one length: row i of both belongs to the same item.

    Raises:
        BankError: If the lengths differ, or either is not a finite vector.
    """
    first, second = finite_vector(x, name=names[0]), finite_vector(y, name=names[1])
    if first.size != second.size:
        raise BankError(
            f"{names[0]} has {first.size} values, {names[1]} has {second.size}; expected one of each per item"
        )
    return first, second


def check_level(level: float) -> None:
    """Raise unless the confidence level is a share between 0 and 1.

    Raises:
        BankError: For instance for 95, which was meant as 0.95.
    """
    if not 0 < level < 1:
        raise BankError(f"level is {level!r}; expected a share between 0 and 1, such as 0.95")


def mean_of_known(values: FloatArray) -> FloatArray:
    """Return the mean of each row over its numbers; NaN where it has none.

    >>> mean_of_known(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    sums = np.where(known, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0))
