"""What probes found in a model's hidden states: tables of layers and groups, and their signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pairbank.files import replaced_atomically, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What probes found in a model's hidden states."""

    layers: pd.DataFrame
    """A row a group, layer, metric, and real labels or control task; `LAYER_DTYPES`. Values are means over folds,
    `fold_sd` their spread, `low` and `high` a corrected-t interval; `n` counts pairs."""
    summary: pd.DataFrame
    """Rows like those of `summarise` (`pairbank.stats.scored_table.summary_row.DTYPES`), method `neuro`. Metrics: `f1`
    and `accuracy`, the maximum over layers (the paper's, optimistic); `..._layer`, the layer that has it;
    `..._chosen`, at the layer that the other folds choose (not optimistic); `..._control`, the control task's maximum;
    `..._selectivity`, `f1` or `accuracy` minus the control at the same layer. For several groups also the mean over
    them (group_by `all`)."""
    signature: Mapping[str, Any]
    """Model, corpus, method and seed."""

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.signature["model"]["name"])

    @property
    def corpus(self) -> str:
        """The corpus's name."""
        return str(self.signature["corpus"]["name"])

    def save(self, folder: str | Path) -> Path:
        """Write `neuro_layers.parquet`, `neuro_summary.csv` and `neuro.json` (the signature); return the folder."""
        root = Path(folder)
        with replaced_atomically(root / "neuro_layers.parquet") as temporary:
            self.layers.to_parquet(temporary, index=False)
        with replaced_atomically(root / "neuro_summary.csv") as temporary:
            self.summary.to_csv(temporary, index=False, lineterminator="\n")
        write_json(root / "neuro.json", self.signature)
        return root
