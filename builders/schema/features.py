"""The types of the columns as `datasets` has them: in, columns of the schema; out, explicit `Features`."""

from __future__ import annotations

from collections.abc import Sequence

import datasets

from pairbank.builders.schema.columns import COLUMNS, Column
from pairbank.errors import CorpusError


def features(extra: Sequence[Column] = ()) -> datasets.Features:
    """Return the explicit Features of a corpus: shared columns, `flags`, and its extension columns.

    Explicit types matter: a column that is null throughout a first shard would otherwise get the null
    type and break every later shard.

    Raises:
        CorpusError: an extension column repeats a shared name.
    """
    shared = {column.name for column in COLUMNS} | {"flags"}
    if repeated := [column.name for column in extra if column.name in shared]:
        raise CorpusError(f"extension columns {repeated} repeat shared columns; rename them")
    types = {column.name: datasets.Value(column.type) for column in COLUMNS}
    types["flags"] = datasets.List(datasets.Value("string"))
    types |= {column.name: datasets.Value(column.type) for column in extra}
    return datasets.Features(types)
