"""The version of the statistics: a bank states it beside its results (`statistics` in the manifest).

Raise it when an estimate, an interval or a p-value of a summary moves, and only then; results of an earlier version are
computed anew. 1 (none stated): intervals over paradigms from ten paradigms on, of any sizes. 2: Holm's family of
`comparisons` was all pairs of models by any method, a mean agreement took checkpoints for models, and intervals of
`introspection` over paradigms and of `languages` over properties of uneven sizes were too narrow.
"""

from __future__ import annotations

STATISTICS_VERSION = 3
