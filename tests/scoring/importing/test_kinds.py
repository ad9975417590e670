"""Scores of every kind: surprisals, perplexities, ratings, classifiers' scores; said and converted, never guessed."""

import json
import math
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.cli import app
from pairbank.errors import BankError
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.cut import cut_alike, filled_alike
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.profile import load_profile
from pairbank.scoring.importing.sides import sides_method
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import signature_line
from pairbank.stats.report.page import pages_of

SENTENCES = {
    "good": ["The hens cluck.", "Ann knits.", "Bo ran."],
    "bad": ["The hens clucks.", "Ann knit it.", "Bo run."],
}
SCORE = {"kind": "score", "direction": "higher"}
RATING = {"kind": "rating", "direction": "higher", "scale": [1, 7]}


def imported(folder: Path, scores: dict[str, Any], **columns: Any) -> Scored:  # noqa: ANN401
    path = folder / "theirs.csv"
    pd.DataFrame(SENTENCES | columns).to_csv(path, index=False)
    (table,) = pairbank.import_scores(path, scores=scores, model="m")
    return table


def layout_of(table: Scored, method: str) -> dict[str, Any]:
    layout: dict[str, Any] = table.signature["methods"][method]["layout"]
    return layout


def test_surprisals_in_bits_are_log_probabilities_in_nats_with_their_sign_changed(tmp_path: Path) -> None:
    said = {"direct": {"kind": "surprisal", "unit": "bits"}}
    table = imported(tmp_path, said, direct_good=[10.0, 8.0, 0.0], direct_bad=[12.0, 7.0, 1.0])
    nats = np.array([[-10.0, -12.0], [-8.0, -7.0], [0.0, -1.0]]) * math.log(2)
    assert table.dataset["direct_good"][:] == pytest.approx(nats[:, 0], abs=1e-15)
    assert table.dataset["direct_delta"][:] == pytest.approx(nats[:, 0] - nats[:, 1], abs=1e-15)
    assert "surprisals in bits, lower is better" in table.signature["methods"]["direct"]["paper"]
    assert "|unit:nats|" in signature_line(table.signature)
    # it is what pairbank's own `direct` is, so that both may stand in one bank
    own = imported(tmp_path, {}, direct_good=nats[:, 0], direct_bad=nats[:, 1])
    assert own.signature["methods"]["direct"]["sha256"] == table.signature["methods"]["direct"]["sha256"]
    assert layout_of(own, "direct") == layout_of(table, "direct")


def test_a_perplexity_becomes_the_mean_log_probability_of_a_token(tmp_path: Path) -> None:
    table = imported(tmp_path, {"ppl": "perplexity"}, ppl_good=[10.0, 40.0, 1.0], ppl_bad=[1000.0, 20.0, 1.0])
    assert table.dataset["ppl_good"][:] == pytest.approx([-math.log(10), -math.log(40), 0.0], abs=1e-15)
    # ln PPL(bad) - ln PPL(good)
    assert table.dataset["ppl_delta"][:] == pytest.approx([math.log(100), -math.log(2), 0.0], abs=1e-14)
    assert layout_of(table, "ppl")["unit"] == "nats per token"
    assert "difference = ln perplexity(bad) - ln perplexity(good)" in table.signature["methods"]["ppl"]["paper"]


def test_log_probabilities_that_were_scored_otherwise_have_a_name_of_their_own(tmp_path: Path) -> None:
    good, bad = [-9.0, -8.0, -7.0], [-9.5, -8.5, -6.5]
    nats = {"kind": "logprob", "unit": "nats"}
    label = "without BOS: the first token is not scored"
    with pytest.raises(ScoreImportError, match="what is scored otherwise has a name of its own: call it direct_NAME"):
        imported(tmp_path, {"direct": nats | {"label": label}}, direct_good=good, direct_bad=bad)
    usual = imported(tmp_path, {"direct": nats}, direct_good=good, direct_bad=bad)
    other = imported(
        tmp_path, {"direct_no_bos": nats | {"label": label}}, direct_no_bos_good=good, direct_no_bos_bad=bad
    )
    definition = other.signature["methods"]["direct_no_bos"]
    assert definition["sha256"] != usual.signature["methods"]["direct"]["sha256"]
    assert label in definition["paper"]
    renamed = Scored.of(other.dataset, {**other.signature, "model": {**other.signature["model"], "name": "n"}})
    with pytest.raises(BankError, match="share no method in the same wording"):
        cut_alike([usual, renamed])
    assert [table.methods for table in filled_alike([usual, renamed])] == [("direct", "direct_no_bos")] * 2
    made = pairbank.report([usual, renamed], n_resamples=20, analyses=["audit"])
    assert made.sections[0].tables["findings"]["found"].str.contains("is another method than `direct`").any()
    pages = "\n".join(pages_of(pairbank.report([other], n_resamples=20)).values())
    assert label in pages


def test_hu_and_franks_direct_scores_are_minicons_own() -> None:
    hashes = set()
    for name in ("hu-frank-2024", "hu-frank-2024-lambada"):
        (score,) = load_profile(name).scores
        assert score.name == "logprob_minicons"
        assert "none for Pythia and OLMo" in score.label
        hashes.add(sides_method(score).definition["sha256"])
    assert Direct().definition["sha256"] not in hashes


def test_a_score_of_which_the_lower_is_better_has_its_sign_changed(tmp_path: Path) -> None:
    columns = {"slor_good": [1.5, -2.0, 0.5], "slor_bad": [0.5, 1.0, 0.5]}
    high = imported(tmp_path, {"slor": SCORE | {"label": "SLOR"}}, **columns)
    low = imported(tmp_path, {"slor": SCORE | {"direction": "lower", "unit": "odd points"}}, **columns)
    assert high.dataset["slor_delta"][:] == [1.0, -3.0, 0.0]
    assert low.dataset["slor_delta"][:] == [-1.0, 3.0, 0.0]
    assert low.dataset["slor_good"][:] == [-1.5, 2.0, -0.5]
    assert high.signature["methods"]["slor"]["paper"].startswith(
        "imported: SLOR, scores of each side, higher is better"
    )
    assert "lower is better: stored with the sign changed, in odd points" in low.signature["methods"]["slor"]["paper"]
    assert (layout_of(high, "slor")["unit"], layout_of(low, "slor")["unit"]) == ("units of slor", "odd points")
    assert "|unit:odd-points|" in signature_line(low.signature)


def test_ratings_keep_what_was_not_parsed_as_an_outcome_of_its_own(tmp_path: Path) -> None:
    said = {"likert": RATING | {"answers": {"unparsed": ["?", "-"]}}}
    table = imported(tmp_path, said, likert_good=["6", "?", "4"], likert_bad=["2", "3", "4"])
    assert table.dataset["likert_delta"][:] == [4.0, None, 0.0]
    assert table.dataset["likert_bad"][:] == [2.0, 3.0, 4.0]
    assert table.dataset["likert_unparsed"][:] == [0, 1, 0]
    assert table.dataset["likert_flags"][:] == [[], ["unparsed"], []]
    assert layout_of(table, "likert")["kind"] == "rating"
    rows = pairbank.report([table], n_resamples=20).summary.to_dict("records")
    result: dict[str, Any] = {row["metric"]: (row["value"], row["n"]) for row in rows}
    assert result == {"accuracy": (0.75, 2), "unparsed": (pytest.approx(1 / 6), 3)}


def test_only_log_probabilities_make_statistics_in_nats(tmp_path: Path) -> None:
    starter = pairbank.load_corpus("starter", subset="plausibility").select(range(4))
    one_sided = {"task": "word_prediction", "context_bad": None, "target_bad": None}
    items = datasets.Dataset.from_list([row | one_sided for row in starter.to_list()], features=starter.features)
    path = tmp_path / "theirs.csv"
    numbers = {"direct_good": [-1.0, -2.0, -3.0, -4.0], "slor_good": [0.1, 0.2, 0.3, 0.4]}
    pd.DataFrame({"item_id": items["item_id"][:], "slor_bad": None, "direct_bad": None} | numbers).to_csv(
        path, index=False
    )
    (table,) = pairbank.import_scores(path, scores={"slor": SCORE}, items=items, model="m")
    assert table.dataset["slor_good"][:] == numbers["slor_good"]
    summary = pairbank.report([table], n_resamples=20).summary
    assert summary.loc[summary["metric"] == "mean_logprob", "method"].unique().tolist() == ["direct"]


def test_the_report_and_the_card_say_what_the_numbers_are(tmp_path: Path) -> None:
    said = {"ppl": "perplexity", "slor": SCORE | {"label": "SLOR <b>", "direction": "lower"}}
    columns = {
        "ppl_good": [10.0, 40.0, 2.0],
        "ppl_bad": [20.0, 20.0, 3.0],
        "slor_good": 1.0,
        "slor_bad": [2.0, 0.5, 4.0],
    }
    table = imported(tmp_path, said, **columns)
    page = pages_of(pairbank.report([table], n_resamples=20))["appendix/how.md"]
    assert "## Scores computed elsewhere" in page
    assert "`ppl`: imported: perplexities, lower is better: stored as -ln(perplexity)" in page
    assert "Difference (good - bad) in nats per token. m on theirs." in page
    assert "SLOR <b>" not in page
    card = (pairbank.write_bank(tmp_path / "bank", scored=[table]) / "README.md").read_text()
    assert "perplexities, lower is better: stored as -ln(perplexity)" in card
    assert "unit:nats-per-token+units-of-slor" in card
    manifest = json.loads((tmp_path / "bank" / "manifest.json").read_text())
    kept = manifest["scores"]["theirs"]["m"]["methods"]["slor"]["imported"]
    assert kept == {"kind": "score", "direction": "lower", "unit": "", "label": "SLOR <b>"}


def test_a_profile_and_the_command_line_declare_scores_alike(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    pd.DataFrame(SENTENCES | {"a": [6, 5, 4], "b": [2, 5, 7], "sg": [3.0, 4.0, 5.0], "sb": 4.0}).to_csv(
        path, index=False
    )
    (tmp_path / "mine.toml").write_text(
        'model = "m"\n[scores.likert]\nkind = "rating"\ndirection = "higher"\nscale = [1, 7]\n'
        '[scores.cost]\nkind = "surprisal"\nunit = "bits"\n'
        '[columns]\nlikert_good = "a"\nlikert_bad = "b"\ncost_good = "sg"\ncost_bad = "sb"\n'
    )
    (table,) = pairbank.import_scores(path, profile=str(tmp_path / "mine.toml"))
    assert table.methods == ("likert", "cost")
    options = [f"--column={x}" for x in ("likert_good=a", "likert_bad=b", "cost_good=sg", "cost_bad=sb")]
    options += ["--score=likert=rating,direction=higher,scale=1-7", "--score=cost=surprisal,unit=bits"]
    completed(["import", str(path), *options, "--model=m", f"--out={tmp_path / 'out'}"])
    same = pairbank.read_scored(tmp_path / "out" / "m.parquet")
    assert same.dataset.to_list() == table.dataset.to_list()
    assert same.signature["methods"] == json.loads(json.dumps(table.signature["methods"]))
    for bad in ("likert=rating,scale", "likert=rating,scale=seven", "=rating"):
        refused = CliRunner().invoke(app, ["import", str(path), f"--score={bad}", "--out", str(tmp_path)])
        assert refused.exit_code == 2, bad


@pytest.mark.parametrize(
    ("score", "cell", "message"),
    [
        (
            {"kind": "surprisal", "unit": "nats"},
            "-1",
            r"row 3: x_good is '-1', expected a surprisal in nats \(finite, at",
        ),
        ({"kind": "logprob", "unit": "bits"}, "1", r"x_good is '2', expected a log-probability in bits"),
        ("perplexity", "0.5", r"x_good is '0\.5', expected a perplexity \(from 1 to 1e\+30\)"),
        ("perplexity", "inf", r"x_good is 'inf', expected a perplexity"),
        (SCORE, "inf", r"x_good is 'inf', expected a finite number of at most 1e\+09"),
        (SCORE, "1e300", r"x_good is '1e300', expected a finite number"),
        (SCORE, "A", r"x_good is 'A', expected a finite number"),
        (RATING, "8", r"x_good is '8', expected a rating from 1 to 7, or `unparsed`"),
    ],
)
def test_a_number_that_its_kind_cannot_have_is_refused_with_its_row(
    tmp_path: Path, score: str | dict[str, Any], cell: str, message: str
) -> None:
    with pytest.raises(ScoreImportError, match=message):
        imported(tmp_path, {"x": score}, x_good=["2", cell, "2"], x_bad=["3", "3", "3"])


def test_probabilities_too_small_to_differ_are_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ScoreImportError, match=r"3 of 3 differences of p are no larger than 1e-09.* their logarithms"):
        imported(tmp_path, {"p": SCORE}, p_good=[1e-20, 2e-20, 3e-20], p_bad=[1e-22, 4e-20, 1e-30])


@pytest.mark.parametrize(
    ("name", "said", "message"),
    [
        ("x", "odds", r"scores: scores\.x: kind is 'odds'; expected 'logprob', 'surprisal', 'perplexity', 'score'"),
        (
            "x",
            {"kind": "score", "units": "z"},
            r"scores\.x: unknown key 'units'; did you mean 'unit'\? Known keys: answers",
        ),
        ("x", 3, r"scores\.x: it is 3; expected a table"),
        (
            "x",
            {"kind": "decision", "answers": {"good": None}},
            r"answers\.good is None; expected a text or a whole number",
        ),
        ("x", "score", r"scores\.x\.direction is None; of a score expected 'higher' or 'lower': which end"),
        ("x", {"kind": "rating", "scale": [1, 7]}, r"direction is None; of a rating expected"),
        ("x", {"kind": "surprisal", "unit": "nats", "direction": "higher"}, r"of a surprisal expected 'lower'"),
        ("x", {"kind": "decision", "direction": "higher"}, r"a decision has none"),
        ("x", {"kind": "score", "of_probability": True}, r"of_probability is true; a score has none, a decision may"),
        ("x", "surprisal", r"scores\.x\.unit is not stated; expected unit=nats, unit=bits, unit=log10"),
        ("x", {"kind": "perplexity", "unit": "bits"}, r"unit is 'bits'; a perplexity has none"),
        (
            "x",
            RATING | {"scale": [7, 1]},
            r"scale is \[7\.0, 1\.0\]; expected the lowest and the highest rating: \[1, 7\]",
        ),
        ("x", SCORE | {"scale": [1, 7]}, r"scale is \[1\.0, 7\.0\]; a score has none"),
        ("x", SCORE | {"label": 3}, r"label is 3; expected a text"),
        ("x", SCORE | {"answers": {"good": "A"}}, r"answers has \['good'\]; of a score expected nothing"),
        ("x", {"kind": "decision", "answers": {"good": "A", "bad": "a "}}, r"answers: 'a' stands for two things"),
        ("direct", SCORE, r"`direct` is log P\(target \| context\): give this score another name"),
        ("human", SCORE, r"scores\.human: the name is not free"),
        ("meta_question_simple", SCORE, r"the name is not free"),
        ("a b", SCORE, r"the name is not free; expected a new one of letters, digits and _"),
        ("x", SCORE, r"x lacks x_good, x_bad; map them to columns"),
    ],
)
def test_a_declaration_that_leaves_something_open_is_one_clear_error(
    tmp_path: Path, name: str, said: str | dict[str, Any], message: str
) -> None:
    with pytest.raises(ScoreImportError, match=message):
        imported(tmp_path, {name: said}, y=1.0)


def test_decisions_by_probability_are_no_answers_to_prompts(tmp_path: Path) -> None:
    judge = {"kind": "decision", "answers": {"good": "1", "bad": "0"}}
    table = imported(tmp_path, {"p": judge | {"of_probability": True}, "q": judge}, p=[1, 1, 0], q=[0, 0, 1])
    p, q = (MethodLayout.from_dict(table.signature["methods"][name]["layout"]) for name in ("p", "q"))
    assert (p.is_of_probability, p.is_answer) == (True, False)
    assert (q.is_of_probability, q.is_answer) == (False, True)
    answer = pairbank.report([table], n_resamples=10).overview.answer
    assert "other functions of probability" in answer.lower()
