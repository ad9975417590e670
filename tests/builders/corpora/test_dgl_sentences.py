"""DGL: sentences that are labelled, and judged ten times by each rater; on made files of upstream's form."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairbank
from corpus_files import known_manifest
from pairbank.errors import CorpusError, CorpusFileNotFoundError
from shared_files import present

SENTENCES = (
    ("Agreement", "TS 1", "grammatical", "The duck waddles"),
    ("Agreement", "TS 2", "ungrammatical", "The ducks waddles"),
    ("Order", "TS 1", "grammatical", "I fed an old grey goose"),
)
ACCEPTED = {("The duck waddles", "Ann"): 4, ("The duck waddles", "Bob"): 3, ("The ducks waddles", "Ann"): 1}
"""Of four answers, those that accept."""


def made_files(root: Path, *, rater: str = "participant") -> Path:
    folder = root / "hu-2024-dgl"
    folder.mkdir(parents=True)
    stimuli = pd.DataFrame(SENTENCES, columns=["phenomenon", "test_item", "condition", "sentence"])
    stimuli.to_csv(folder / "stimuli.csv", index=False)
    rows = [
        {rater: who, "age": 34, "sentence": "Duck the", "phenomenon": "attention check", "condition": "ungrammatical"}
        | {"accuracy": 1, "repetition": 1}
        for who in ("Bob", "Ann")
    ]
    conditions = {text: condition for _, _, condition, text in SENTENCES}
    for (text, who), n in ACCEPTED.items():
        for repetition in range(4):
            agrees = (repetition < n) == (conditions[text] == "grammatical")
            rows.append({rater: who, "age": 34, "sentence": text, "phenomenon": "Agreement"})
            rows[-1] |= {"condition": conditions[text], "accuracy": int(agrees), "repetition": repetition}
    pd.DataFrame(rows).to_csv(folder / "dgl_people.csv", index=False, quoting=1)
    return root


@pytest.mark.parametrize("rater", ["participant", "rater"])
def test_each_rater_has_the_share_of_answers_that_accept_whatever_the_label(tmp_path: Path, rater: str) -> None:
    root = made_files(tmp_path, rater=rater)
    items = pairbank.load_corpus("dgl", data_dir=root).to_pandas().set_index("target_good")
    assert items["label"].to_dict() == {"The duck waddles": 1, "The ducks waddles": 0, "I fed an old grey goose": 1}
    assert items.loc["The duck waddles", "human_good"] == pytest.approx(7 / 8)
    assert items.loc["The ducks waddles", "human_good"] == pytest.approx(1 / 4)
    assert np.isnan(items.loc["I fed an old grey goose", "human_good"])
    assert set(items["human_scale"].dropna()) == {"share that accepts"}
    ratings = pairbank.load_ratings("dgl", data_dir=root).to_pandas()
    assert ratings[["item_id", "rater", "value"]].to_numpy().tolist() == [
        ["dgl/all/1", 0, 1.0],
        ["dgl/all/1", 1, 0.75],
        ["dgl/all/2", 0, 0.25],
    ]
    assert "Ann" not in ratings.to_csv()


def test_labels_alone_are_read_where_the_file_of_people_is_not_there(tmp_path: Path) -> None:
    root = made_files(tmp_path)
    (root / "hu-2024-dgl" / "dgl_people.csv").unlink()
    items = pairbank.load_corpus("dgl", data_dir=root)
    assert (items["label"][:], items["human_good"][:]) == ([1, 0, 1], [None] * 3)
    with pytest.raises(CorpusFileNotFoundError, match=r"the files dgl_people\.csv are not there"):
        pairbank.load_ratings("dgl", data_dir=root)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("stimuli.csv", "TS 2,ungrammatical", "TS 2,bad", "condition is 'bad', expected grammatical or ungrammatical"),
        ("stimuli.csv", "test_item", "item", r"missing column\(s\) test_item"),
        ("dgl_people.csv", "The ducks waddles", "A duck", "'A duck' is no sentence of stimuli.csv"),
        ("dgl_people.csv", '"participant"', '"who"', "no column participant or rater"),
        ("dgl_people.csv", '"1","3"', '"7","3"', "accuracy is '7', expected 0 or 1"),
    ],
)
def test_files_of_another_form_are_refused_with_the_row(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    path = made_files(tmp_path) / "hu-2024-dgl" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"{file}, row \d+: {message}"):
        pairbank.load_corpus("dgl", data_dir=tmp_path)


@pytest.mark.upstream
def test_the_published_files_give_80_raters_and_the_shares_that_pandas_finds(shared: Path) -> None:
    folder = present(shared / "published" / "hu-2024-dgl")
    items = pairbank.load_corpus("dgl", data_dir=shared / "published")
    people = pd.read_csv(folder / "dgl_people.csv", encoding="utf-8-sig")
    accepts = people["accuracy"].eq(1) == people["condition"].eq("grammatical")
    shares = accepts.groupby(people["sentence"]).mean()
    assert items["human_good"][:] == pytest.approx(shares[items["target_good"][:]].to_list(), abs=1e-6)
    assert (len(items), sum(items["label"][:]), set(items["human_n"][:])) == (80, 40, {10})
    manifest = known_manifest(items)
    assert manifest["files"]["stimuli.csv"]["verified"]
    ratings = pairbank.load_ratings("dgl", data_dir=shared / "published").to_pandas()
    assert (len(ratings), ratings["rater"].nunique()) == (800, 80)
