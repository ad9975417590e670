"""What a study asks of a model: in, a study and a tokenizer; out, the work of each corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.study.corpora import corpora_of

if TYPE_CHECKING:
    from pairbank.scoring.costs import TokensOnly, Work
    from pairbank.scoring.models.load import Kind
    from pairbank.study.declaration import Study


def costs_of(study: Study, tokens: TokensOnly, *, kind: Kind, data_dir: str | Path | None = None) -> dict[str, Work]:
    """Return the work of each corpus of a study, by name.

    Args:
        study: what is to be done.
        tokens: the model's tokenizer.
        kind: of the model.
        data_dir: where upstream files are; None downloads them.
    """
    from pairbank.scoring.costs import work_of

    found: dict[str, Work] = {}
    for one in corpora_of(study, data_dir, None).found:
        work = work_of(one.items, tokens, methods=study.methods, prompts=study.prompts, seed=study.seed, kind=kind)
        found[one.name] = work
    return found
