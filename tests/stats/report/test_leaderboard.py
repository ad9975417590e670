"""A leaderboard from logs: ranks are those of paired tests, aggregates have none, wrong items are left out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.stats.measures.rank_intervals import pair_counts, rank_intervals
from pairbank.stats.report.leaderboard import aggregates, leaderboard

LINE = (
    '{{"doc_id": {n}, "doc": {{"UID": "p{p}"}}, "target": 0, "arguments": [["", " good {n}"], ["", " bad {n}"]], '
    '"resps": [[[{a}, false]], [[{b}, false]]]}}\n'
)


def logs(root: Path, rates: dict[str, float], *, n: int = 120, n_paradigms: int = 1) -> Path:
    """Write logs of lm-evaluation-harness of models that are right so often."""
    rng = np.random.default_rng(1)
    for model, rate in rates.items():
        folder = root / "logs" / model
        folder.mkdir(parents=True)
        right = rng.permutation(n) < rate * n
        lines = [LINE.format(n=k, p=k % n_paradigms, a=-1.0 if right[k] else -3.0, b=-2.0) for k in range(n)]
        (folder / "samples_pairs_2026-11-26T10-00-00.000000.jsonl").write_text("".join(lines))
    return root / "logs"


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def test_logs_of_three_models_are_ranked_in_two_commands(tmp_path: Path) -> None:
    folder = logs(tmp_path, {"model-a": 0.95, "model-b": 0.6, "model-c": 0.58})
    run("import", "--from", "lm-eval", folder, "--out", tmp_path / "imported")
    text = run("leaderboard", *sorted((tmp_path / "imported").glob("*.parquet")), "--out", tmp_path / "board.csv")
    board = pd.read_csv(tmp_path / "board.csv")
    direct = board[board["method"] == "direct_space"]
    assert direct["model"].tolist() == ["model-a", "model-b", "model-c"]
    assert direct["ranks"].tolist() == ["1", "2-3", "2-3"]
    assert direct["accuracy"].tolist() == pytest.approx([0.95, 0.6, 70 / 120], abs=0.005)
    assert {"per_char_space", "per_byte_space"} <= set(board["method"])
    assert "model-a" in text
    tables = [pairbank.read_scored(path) for path in sorted((tmp_path / "imported").glob("*.parquet"))]
    credit = [(np.array(table["direct_space_delta"]) > 0).astype(float) for table in tables]
    ranks = rank_intervals(pair_counts(credit))
    assert [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(ranks.best, ranks.worst, strict=True)] == [
        "1", "2-3", "2-3",
    ]  # fmt: skip


def test_items_known_to_be_wrong_are_left_out_by_sentence_and_id(tmp_path: Path) -> None:
    folder = logs(tmp_path, {"model-a": 1.0, "model-b": 0.5}, n=40)
    run("import", "--from", "lm-eval", folder, "--out", tmp_path / "imported")
    paths = sorted((tmp_path / "imported").glob("*.parquet"))
    tables = {table.model: table for table in map(pairbank.read_scored, paths)}
    other = tables["model-b"].to_pandas()
    wrong = other[other["direct_space_delta"] < 0]
    named = [*wrong["target_bad"][:5], *wrong["item_id"][5:]]
    (tmp_path / "wrong.txt").write_text("\n".join(named))
    text = run("leaderboard", *paths, "--leave-out", tmp_path / "wrong.txt", "--out", tmp_path / "board.csv")
    assert "20 of 40 items left out" in text
    board = pd.read_csv(tmp_path / "board.csv")
    assert set(board["accuracy"]) == {1.0}
    assert set(board["n"]) == {20}
    (tmp_path / "wrong.txt").write_text("no such item")
    done = CliRunner().invoke(app, ["leaderboard", str(paths[0]), "--leave-out", str(tmp_path / "wrong.txt")])
    assert done.exit_code == 1
    assert "'no such item'" in done.output + str(done.exception)


def test_aggregates_are_listed_with_what_they_lack(tmp_path: Path) -> None:
    results = [
        {
            "evaluation_name": "scala-nl",
            "source_data": {"dataset_name": "scala-nl"},
            "metric_config": {"metric_name": "mcc"},
            "score_details": {"score": 0.4},
        }
    ]
    whole = {"schema_version": "0.2.1", "model_info": {"name": "model-x"}, "evaluation_results": results}
    (tmp_path / "a.json").write_text(json.dumps(whole))
    run("leaderboard", tmp_path / "a.json", "--out", tmp_path / "board.csv")
    (row,) = pd.read_csv(tmp_path / "board.csv").to_dict("records")
    assert (row["model"], row["accuracy"], row["ranks"]) == ("model-x", 0.4, "–")
    assert row["note"] == "aggregate, lacks items (no paired test, no rank), an interval, n"


def test_records_of_euroeval_are_shares_and_its_repetitions_are_no_items(tmp_path: Path) -> None:
    """Two lines as EuroEval writes them: scores of 100, `num_samples` counts its ten repetitions."""
    interval = {"confidence_interval": {"lower": 61.0, "upper": 66.0}, "num_samples": 10}
    lines = []
    for name, score, uncertainty in (("org/m", 63.5, interval), ("org/k", 12.5, {"num_samples": 10})):
        result = {
            "evaluation_name": "test_mcc",
            "source_data": {"dataset_name": "scala-da"},
            "metric_config": {"min_score": 0, "max_score": 100},
            "score_details": {"score": score, "uncertainty": uncertainty},
        }
        whole = {"model_info": {"name": name}, "source_metadata": {"source_name": "EuroEval"}}
        lines.append(json.dumps({**whole, "evaluation_results": [result]}))
    (tmp_path / "results.jsonl").write_text("\n".join(lines) + "\n")
    first, second = aggregates([tmp_path / "results.jsonl"])
    assert (first["accuracy"], first["low"], first["high"], first["n"]) == (0.635, 0.61, 0.66, None)
    assert (second["accuracy"], second["low"]) == (0.125, None)
    assert second["note"] == "aggregate, lacks items (no paired test, no rank), an interval, n (10 repetitions)"


def test_models_that_do_not_differ_share_all_ranks() -> None:
    items = pairbank.load_corpus([(f"good {n}", f"bad {n}") for n in range(60)])
    board = leaderboard([pairbank.score(items, f"fake:{name}") for name in "abc"])
    assert board["ranks"].tolist() == ["1-3"] * 3
    assert (board["low"] <= board["accuracy"]).all()
