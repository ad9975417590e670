"""The filter by edit distance on the corpus of the paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import pairbank
from pairbank.scoring.minimalness import add_edit_distance
from pairbank.stats.analyses.close_pairs import close_pairs
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table


@pytest.mark.upstream
def test_the_close_pairs_of_li_are_those_of_the_paper(shared: Path) -> None:
    # Hu et al. 2026, Table 1a: 1,883 pairs. Of 104 pairs of the corpus a rating is missing.
    frame = add_edit_distance(pairbank.load_corpus("li", data_dir=shared / "corpora")).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    (close,), (said,) = close_pairs([ScoredFrame(corpus="li", model="m", frame=frame, layouts=())], ["li", "hll"])
    used = read_table(close).choices.frame
    assert len(used) == 1883
    assert (used["human_good"] - used["human_bad"]).notna().sum() == 1792
    assert said == "Of li, the 1,883 of 2,378 pairs at most 18 edits apart are used (75th percentile)."
