"""The filter by edit distance on the corpus of the paper."""

from pathlib import Path

import pandas as pd
import pytest

import pairbank
from pairbank.scoring.minimalness import add_edit_distance
from pairbank.stats.analyses.by_distance import close_pairs
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table


@pytest.mark.upstream
@pytest.mark.parametrize(("repair", "n_pairs", "n_rated"), [(False, 1883, 1791), (True, 1884, 1792)])
def test_the_close_pairs_of_li_are_those_of_the_paper(repair: bool, n_pairs: int, n_rated: int, shared: Path) -> None:
    # Hu et al. 2026, Table 1a: 1,883 pairs, of the text as the source has it
    items = pairbank.load_corpus("li", data_dir=shared / "corpora", repair=repair)
    frame = add_edit_distance(items).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    (close,), (said,) = close_pairs([ScoredFrame(corpus="li", model="m", frame=frame, layouts=())], ["li", "hll"])
    used = read_table(close).choices.frame
    assert len(used) == n_pairs
    assert (used["human_good"] - used["human_bad"]).notna().sum() == n_rated
    assert said == {"corpus": "li", "n_close": n_pairs, "n": 2378, "limit": 18}
