"""Kauf et al. 2023: sentences are paired by item and voice; accuracies are those that the files give by hand."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest

import pairbank
from pairbank.errors import CorpusError
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.scores import Imports, import_logs
from shared_files import present

SET = """ItemNum,Sentence,Plausibility,Voice,TrialType
1,The gardener watered the roses.,Plausible,active,AI
1,The roses watered the gardener.,Implausible,active,AI
1,The roses were watered by the gardener.,Plausible,passive,AI
1,The gardener was watered by the roses.,Implausible,passive,AI
2,The clown greeted the juggler.,Plausible,active,AAR
2,The juggler greeted the clown.,Implausible,active,AAR
"""
RATINGS = """rater,Sentence,Score
0,The gardener watered the roses.,7
1,The gardener watered the roses.,6
1,The roses watered the gardener.,NA
2,The roses watered the gardener.,1
0,The clown greeted the juggler.,5
"""
SCORES = [-20.0, -26.0, -24.0, -23.5, -21.0, -21.5]


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """Files as they are published, about events of our own."""
    (tmp_path / "Made").mkdir()
    (tmp_path / "Made_SentenceSet.csv").write_text(SET, encoding="utf-8")
    (tmp_path / "Made_ratings.csv").write_text(RATINGS, encoding="utf-8")
    texts = [line.split(",")[1] for line in SET.splitlines()[1:]]
    for name, more in (("gpt-x.sentence-LL", 0.0), ("bert-y.v2.sentence-PLL", 1.0), ("bert-y.v2.verb-PLL", 2.0)):
        lines = [
            f"{n}\t{text}\t{score - more}\t7\t5" for n, (text, score) in enumerate(zip(texts, SCORES, strict=True))
        ]
        lines.append("6\tThe moon sang.\t-9.0\t5\t3")
        (tmp_path / "Made" / f"made.{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_sentences_are_paired_by_item_and_voice_with_peoples_means(made_up: Path) -> None:
    result = import_logs(made_up, "kauf-2023")
    tables = {table.model: table for table in result.tables}
    assert {name: table.methods for name, table in tables.items()} == {
        "bert-y.v2": ("sentence_pll",),
        "gpt-x": ("sentence_ll",),
    }
    data = tables["gpt-x"].dataset
    assert data["sentence_ll_delta"][:] == [6.0, -0.5, None, None]
    assert data["task"][:] == ["sentence_pair", "sentence_pair", "sentence", "sentence"]
    assert data["sentence_ll_good"][:] == [-20.0, -24.0, -21.0, -21.5]
    assert (data["human_good"][:], data["human_bad"][:]) == ([6.5, None, 5.0, None], [1.0, None, None, None])
    assert data["human_n"][:] == [1, None, 1, None]
    ratings = result.ratings["kauf-2023"]
    assert ratings[["side", "rater", "value", "scale"]].to_numpy().tolist() == [
        ["good", "Made 0", 7.0, "plausibility7"],
        ["good", "Made 1", 6.0, "plausibility7"],
        ["bad", "Made 2", 1.0, "plausibility7"],
        ["good", "Made 0", 5.0, "plausibility7"],
    ]
    assert ratings["item_id"].to_list() == [data["item_id"][place] for place in (0, 0, 0, 2)]
    assert data["paradigm"][1] == "animate-inanimate, passive"
    assert tables["bert-y.v2"].dataset["sentence_pll_good"][0] == -21.0
    reasons = {(one.file, one.n, one.reason) for one in result.left_out}
    assert ("Made", 1, "files that hold no score of whole sentences in nats") in reasons
    assert ("made.gpt-x.sentence-LL.txt", 1, "the sentence is not in Made_SentenceSet.csv") in reasons
    summary = pairbank.report([tables["gpt-x"]], n_resamples=10).summary
    accuracy = summary[(summary["metric"] == "accuracy") & (summary["group_by"] == "all")]
    assert accuracy["value"].to_list() == [0.5]


def test_workers_of_the_repositorys_own_files_become_numbers(made_up: Path) -> None:
    before, path = import_logs(made_up, "kauf-2023").ratings["kauf-2023"], made_up / "Made_ratings.csv"
    path.write_text(re.sub("^([0-9])", r"A\1SECRET", RATINGS, flags=re.MULTILINE).replace("rater", "WorkerId"))
    ratings = import_logs(made_up, "kauf-2023").ratings["kauf-2023"]
    assert ratings["value"].tolist() == before["value"].tolist()
    assert "SECRET" not in ratings.to_csv()


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("Made_SentenceSet.csv", ",Implausible,passive", ",Plausible,passive", "has a second good side"),
        ("Made_SentenceSet.csv", ",Plausible,active,AI", ",Likely,active,AI", "'Likely', 'AI'; expected Plausible"),
        ("Made/made.gpt-x.sentence-LL.txt", "-20.0", "much", "expected number, sentence and score"),
        (
            "Made/made.gpt-x.sentence-LL.txt",
            "The moon sang.",
            "The roses watered the gardener.",
            "another score before",
        ),
        ("Made_ratings.csv", ",7\n", ",high\n", "'high', expected a rating"),
        ("Made_ratings.csv", ",7\n", ",70\n", "expected a rating from 1 to 7"),
    ],
)
def test_what_is_not_as_published_is_refused(made_up: Path, file: str, old: str, new: str, message: str) -> None:
    path = made_up / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises((ScoreImportError, CorpusError), match=message):
        import_logs(made_up, "kauf-2023")


# the published files ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared: Path) -> Path:
    return present(shared / "published" / "kauf-2023")


@pytest.fixture(scope="module")
def result(published: Path) -> Imports:
    return import_logs(published, "kauf-2023")


@pytest.mark.upstream
def test_all_1215_pairs_of_the_paper_are_there(result: Imports) -> None:
    """395 of DTFit, 782 of EventsAdapt and 38 of EventsRev, of which 268 pairs are of reversible events."""
    tables = {table.model: table.dataset.to_pandas() for table in result.tables}
    assert len(tables) == 7
    whole = tables["gpt-j"]
    n_pairs = (whole["task"] == "sentence_pair").groupby(whole["subset"]).sum().to_dict()
    assert n_pairs == {"DTFit": 395, "EventsAdapt": 514, "EventsRev": 38}
    assert sum(n_pairs.values()) + (whole["task"] == "sentence").sum() / 2 == 1215
    assert {name for name, table in tables.items() if len(table) < len(whole)} == {"gpt2-xl", "mpt-7b", "mpt-30b"}
    assert whole["human_good"].notna().all()
    assert (whole["human_good"] > whole["human_bad"])[whole["task"] == "sentence_pair"].mean() > 0.95


@pytest.mark.upstream
def test_accuracies_are_those_of_the_files_by_hand(result: Imports, published: Path) -> None:
    """Possible against impossible is told nearly always, likely against unlikely less often (the paper's result)."""
    files = {"sentence_ll": "sentence-LL", "sentence_pll": "sentence-PLL", "sentence_pll_l2r": "sentence-l2r-PLL"}
    n_compared = 0
    for table in result.tables:
        data = table.dataset.to_pandas()
        for method in table.methods:
            for name in ("DTFit", "EventsAdapt", "EventsRev"):
                for file in (published / name).glob(f"*.{table.model}.{files[method]}.txt"):
                    here = data[data["subset"] == name]
                    right = (here[f"{method}_delta"] > 0).groupby(here["phenomenon"]).sum().to_dict()
                    expected = _by_hand(published / "people" / f"{name}_SentenceSet.csv", file)
                    assert {kind: n for kind, n in right.items() if n} == expected
                    n_compared += 1
    assert n_compared == 24
    gpt_j = next(table.dataset.to_pandas() for table in result.tables if table.model == "gpt-j")
    right = (gpt_j["sentence_ll_delta"] > 0).groupby(gpt_j["phenomenon"]).sum().to_dict()
    assert {kind: right[kind] for kind in ("DTFit", "animate-inanimate", "animate-animate", "EventsRev")} == {
        "DTFit": 351,
        "animate-inanimate": 242,
        "animate-animate": 194,
        "EventsRev": 31,
    }


def _by_hand(sentences: Path, scores: Path) -> dict[str, int]:
    """Return how many plausible sentences have the higher score, by kind, without the reader."""
    known = {
        line.split("\t")[1]: float(line.split("\t")[2]) for line in scores.read_text(encoding="utf-8").splitlines()
    }
    pairs: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    with sentences.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            kind = row.get("TrialType", "")
            if kind != "AAR":
                pairs[kind, row["ItemNum"], row["Voice"]][row["Plausibility"]] = known[row["Sentence"]]
    names = {"AI": "animate-inanimate", "AAN": "animate-animate", "": sentences.name.split("_")[0]}
    right: dict[str, int] = defaultdict(int)
    for (kind, _, _), pair in pairs.items():
        right[names[kind]] += pair["Plausible"] > pair["Implausible"]
    return dict(right)
