"""Columns as a page reads them: in, arrays of Arrow; out, gzipped JSON whose numbers are typed and exact.

A number column is base64 of little-endian numbers, 32 bits where that holds every value exactly, else 64; null is NaN.
Texts are a list, or a list of different values with the place of each row's in it. Equal columns give equal bytes.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.files import write_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX = ".json.gz"
_MOST_EXACT = 2**53
"""From here on a float64, which is all the numbers that a page has, skips integers."""
_TEXTS_A_PART = 16_384
_GZIP = 31
"""As zlib counts its formats."""
_FEW = 2
"""Texts are listed once where there are this many rows a text, or more."""


def encoded(column: pa.Array | pa.ChunkedArray) -> dict[str, Any]:
    """Return a column as JSON values; `t` says how they are to be read.

    >>> encoded(pa.array(["a", "b", "a", None, "a", "b"]))
    {'t': 'codes', 'v': ['a', 'b', None], 'd': {'t': 'u1', 'd': 'AAEAAgAB'}}
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_floating(kind):
        return numbers(column.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind):
        return _integers(column)
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if is_list and (pa.types.is_floating(kind.value_type) or pa.types.is_int32(kind.value_type)):
        lengths = pc.fill_null(pc.list_value_length(column), -1)
        flat = pc.list_flatten(column)
        return {"t": "lists", "n": numbers(lengths.to_numpy(zero_copy_only=False)), "d": encoded(flat)}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        coded = column.dictionary_encode(null_encoding="encode")
        return _listed(coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False))
    return _values([plain(value) for value in column.to_pylist()])


def numbers(values: NDArray[Any]) -> dict[str, Any]:
    """Return numbers in the smallest type that holds them all exactly.

    >>> numbers(np.array([0, 300])), numbers(np.array([0.5]))["t"], numbers(np.array([0.1]))["t"]
    ({'t': 'u2', 'd': 'AAAsAQ=='}, 'f4', 'f8')
    """
    if np.issubdtype(values.dtype, np.integer):
        low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
        sizes = (("u1", 0, 2**8), ("u2", 0, 2**16), ("i4", -(2**31), 2**31))
        kind = next((name for name, least, end in sizes if least <= low and high < end), "f8")
    else:
        with np.errstate(over="ignore"):
            is_short = np.array_equal(values.astype(np.float32).astype(np.float64), values, equal_nan=True)
        kind = "f4" if is_short else "f8"
    return {"t": kind, "d": base64.b64encode(values.astype(f"<{kind}").tobytes()).decode()}


def _integers(column: pa.Array) -> dict[str, Any]:
    largest = max((abs(x) for x in pc.min_max(column).as_py().values() if x is not None), default=0)
    if largest >= _MOST_EXACT:
        return _values([plain(value) for value in column.to_pylist()])
    if column.null_count:
        return numbers(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return numbers(column.to_numpy(zero_copy_only=False))


def _values(values: list[Any]) -> dict[str, Any]:
    """Return JSON values as a list, or each different one once."""
    places: dict[str | tuple[str], int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    different: list[Any] = []
    for k, value in enumerate(values):
        key = value if isinstance(value, str) else (repr(value),)
        codes[k] = place = places.setdefault(key, len(different))
        if place == len(different):
            different.append(value)
    return _listed(different, codes)


def _listed(different: list[Any], codes: NDArray[Any]) -> dict[str, Any]:
    """Return the values of all rows, or the different ones and the place of each row's among them."""
    if len(codes) < _FEW * len(different):
        return {"t": "list", "v": [different[code] for code in codes]}
    return {"t": "codes", "v": different, "d": numbers(codes.astype(np.int64))}


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a value of a cell as JSON knows it; what JSON has no form for becomes text.

    >>> plain([1.5, float("nan"), 2**60, b"a"])
    [1.5, None, '1152921504606846976', "b'a'"]
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < _MOST_EXACT else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value)


def write_chunk(path: Path, columns: Mapping[str, Any], **more: Any) -> None:  # noqa: ANN401 - JSON is any
    """Write a file of columns of one length, and what else is to be read with them."""
    write_packed(path, {"columns": dict(columns), **more})


def write_list(path: Path, name: str, values: pa.Array) -> None:
    """Write a file of one column of texts, as `write_chunk` would, without making a list of them all."""

    def parts() -> Iterator[str]:
        yield f'{{"columns":{{{_json(name)}:{{"t":"list","v":['
        for start in range(0, len(values), _TEXTS_A_PART):
            texts = _json(values.slice(start, _TEXTS_A_PART).to_pylist())[1:-1]
            yield texts if start == 0 else f",{texts}"
        yield "]}}}"

    _write_packed_parts(path, parts())


def write_packed(path: Path, value: Any) -> None:  # noqa: ANN401 - JSON is any
    """Write JSON, gzipped; the same value gives the same bytes."""
    write_text_packed(path, _json(value))


def write_text_packed(path: Path, text: str) -> None:
    """Write JSON that is text already, gzipped."""
    _write_packed_parts(path, (text,))


def _json(value: Any) -> str:  # noqa: ANN401 - JSON is any
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _write_packed_parts(path: Path, parts: Iterable[str]) -> None:
    """Write JSON that comes in parts, gzipped without a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    press = zlib.compressobj(6, wbits=_GZIP)
    packed = [press.compress(part.encode("utf-8", "surrogatepass")) for part in parts]
    write_bytes(path, b"".join([*packed, press.flush()]))
