"""Scores computed elsewhere: the published table of Hu & Frank 2024, and small files wide and long."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from own_files import write_frame
from pairbank.cli import app
from pairbank.errors import CorpusError, UnknownNameError
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.profile import load_profile
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import signature_line
from pairbank.stats.report.page import pages_of
from shared_files import present

PUBLISHED_SHA256 = "b15001433e9d0d1af14651c1951e60b837e4b5babbc50d1526f6d2c047309723"
# ANALYSES.md 3.5: Hu & Frank 2024, `log_odds_diff` of the 13 models as they published it
LOG_ODDS_DIFF = {
    "Gemma 2B": 1.648001,
    "Gemma 7B": 0.383956,
    "Llama-2 7B": 1.447034,
    "Llama-2 13B": 1.731899,
    "Llama-2 70B": 0.049771,
    "Mistral 7B": 0.546117,
    "OLMo 1B": 1.668527,
    "OLMo 7B": 1.710465,
    "Pythia 1B": 1.574133,
    "Pythia 1.4B": 1.721142,
    "Pythia 2.8B": 1.764666,
    "Pythia 6.9B": 1.855979,
    "Pythia 12B": 1.867829,
}
DIRECT, ASKED = "logprob_minicons", "hf24_paired"
QUESTION = "meta_question_simple"
ANSWERS = [f"{QUESTION}:{order}:{option}" for order in ("good_first", "bad_first") for option in (1, 2)]


@pytest.fixture(scope="module")
def published(shared: Path) -> list[Scored]:
    return pairbank.import_scores(present(shared / "published" / "hu_frank_2024_syntax.csv"), profile="hu-frank-2024")


@pytest.fixture(scope="module")
def summary(published: list[Scored]) -> pd.DataFrame:
    whole = pairbank.report(published, n_resamples=20).summary
    return whole[(whole["group_by"] == "all") & (whole["versus"] == "")]


def logit(share: float) -> float:
    return math.log(share / (1 - share))


def answers_of(row: dict[str, Any]) -> list[tuple[float, float]]:
    """The log-probabilities of the correct and of the wrong answer in both orders."""
    good_1, good_2, bad_1, bad_2 = row[f"{ASKED}_logprobs"]
    return [(good_1, good_2), (bad_2, bad_1)]


def strict_count(estimate: Mapping[Any, Any], pairs: list[tuple[float, float]], *, trials_an_item: int) -> float:
    """Return how many trials of the reported items are right where a tie is wrong, as the paper counts them."""
    n_ties = sum(right == wrong for right, wrong in pairs)
    return float(estimate["value"] * estimate["n"] * trials_an_item - 0.5 * n_ties)


@pytest.mark.ci
@pytest.mark.upstream
@pytest.mark.parametrize("model", LOG_ODDS_DIFF)
def test_the_report_gives_the_published_log_odds_differences(
    published: list[Scored], summary: pd.DataFrame, model: str
) -> None:
    rows = next(table for table in published if table.model == model).dataset.to_list()
    assert len(rows) == 725
    # One DGL pair has the same sentence twice. The report leaves it out (n = 724); the paper counts it.
    identical = [row for row in rows if "identical_sides" in row["flags"]]
    assert [row["subset"] for row in identical] == ["dgl"]
    used = [row for row in rows if row not in identical]
    mine = {(e["method"], e["metric"]): e for e in summary[summary["model"] == model].to_dict("records")}
    direct_estimate, asked_estimate = mine[DIRECT, "accuracy"], mine[ASKED, "accuracy_pooled"]
    assert (direct_estimate["n"], direct_estimate["n_excluded"]) == (724, 1)
    sides = [(row[f"{DIRECT}_good"], row[f"{DIRECT}_bad"]) for row in used]
    direct = strict_count(direct_estimate, sides, trials_an_item=1)
    asked = strict_count(asked_estimate, [pair for r in used for pair in answers_of(r)], trials_an_item=2)
    direct += sum(row[f"{DIRECT}_good"] > row[f"{DIRECT}_bad"] for row in identical)
    asked += sum(right > wrong for row in identical for right, wrong in answers_of(row))
    assert logit(direct / 725) - logit(asked / 1450) == pytest.approx(LOG_ODDS_DIFF[model], abs=5e-7)


@pytest.mark.ci
@pytest.mark.upstream
def test_averaging_over_orders_and_pooling_them_differ_by_up_to_a_quarter(summary: pd.DataFrame) -> None:
    asked = summary[summary["method"] == ASKED].pivot_table(index="model", columns="metric", values="value")
    gap = (asked["accuracy"] - asked["accuracy_pooled"]).abs()
    # ANALYSES.md 3.5: averaging the difference over orders changes accuracy by up to .26. There a tie is wrong; here
    # it is one half: Llama-2 13B has 19 ties in 725 items (2 of them -2e-16 for rounding), .0131 more.
    assert gap.idxmax() == "Llama-2 13B"
    assert gap.max() == pytest.approx(0.26 + 0.5 * 19 / 725, abs=0.006)
    assert asked.loc["Llama-2 13B", "accuracy_pooled"] == 0.5
    assert asked.loc["Llama-2 13B", "position_bias"] == 1.0


@pytest.mark.upstream
def test_the_signature_says_imported_and_claims_nothing_about_the_model(published: list[Scored]) -> None:
    assert [table.model for table in published] == list(dict.fromkeys(t.model for t in published))
    assert {table.model for table in published} == LOG_ODDS_DIFF.keys()
    table = published[0]
    assert table.corpus == "hu-frank-2024-syntax"
    assert table.methods == (DIRECT, ASKED)
    assert table.signature["imported"]["sha256"] == PUBLISHED_SHA256
    assert table.signature["model"]["revision"] == table.signature["model"]["dtype"] == "unknown"
    assert signature_line(table.signature).endswith(f"|imported:{PUBLISHED_SHA256[:12]}")
    assert table.signature["corpus"]["manifest"]["n_by_subset"] == {"dgl": 75, "blimp": 650}
    assert len({row["phenomenon"] for row in table.dataset}) == 13 + 8


def pairs(**more: object) -> dict[str, Any]:
    """Two items that one model scored, directly and when asked."""
    table: dict[str, Any] = {
        "model": "closed-1",
        "pair_id": ["a", "b"],
        "good": ["The hens cluck.", "Ann knits."],
        "bad": ["The hens clucks.", "Ann knit it the."],
        "direct_good": [-10.5, -8.0],
        "direct_bad": [-12.0, -7.5],
    }
    numbers = [[-0.5, -0.9], [-1.5, -0.7], [-1.0, -0.4], [-0.6, -1.1]]
    return table | dict(zip(ANSWERS, numbers, strict=True)) | more


def write(folder: Path, name: str, **table: Any) -> Path:  # noqa: ANN401
    return write_frame(folder / name, pd.DataFrame(table))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_columns_that_bear_our_names_need_no_map(tmp_path: Path, suffix: str) -> None:
    (table,) = pairbank.import_scores(write(tmp_path, f"closed models{suffix}", **pairs()))
    assert (table.corpus, table.model, table.methods) == ("closed_models", "closed-1", ("direct", QUESTION))
    first, second = table.dataset
    assert first["item_id"] == "closed_models/all/a"
    assert (first["target_good"], first["target_bad"]) == ("The hens cluck.", "The hens clucks.")
    assert (first["direct_delta"], second["direct_delta"]) == (1.5, -0.5)
    assert first[f"{QUESTION}_logprobs"] == [-0.5, -1.5, -1.0, -0.6]
    # equation 1 of Song et al. 2025: mean of the two orders, (-.5 - -1.5 + -.6 - -1.0) / 2
    assert first[f"{QUESTION}_delta"] == pytest.approx(0.7, abs=1e-12)
    assert first["direct_good_n"] is None


def test_a_long_file_gives_the_same_table_as_a_wide_one(tmp_path: Path) -> None:
    wide = pd.DataFrame(pairs())
    scores = ["direct_good", "direct_bad", *ANSWERS]
    melted = wide.melt(["model", "pair_id", "good", "bad"], scores, var_name="score", value_name="value")
    same = pairbank.import_scores(write(tmp_path, "closed.csv", **pairs()))
    (long,) = pairbank.import_scores(write(tmp_path, "long.csv", **melted), corpus="closed")
    assert long.dataset.to_list() == same[0].dataset.to_list()
    named = melted.assign(
        kind=[name.split(":")[0] if ":" in name else "sentence" for name in melted["score"]],
        part=[name.split(":", 1)[1] if ":" in name else name.removeprefix("direct_") for name in melted["score"]],
    ).drop(columns="score")
    path = write(tmp_path, "named.csv", **named.rename(columns={"value": "lp"}))
    columns = {"score": ["kind", "part"], "value": "lp", "direct_good": "sentence:good", "direct_bad": "sentence:bad"}
    (table,) = pairbank.import_scores(path, columns=columns, corpus="closed")
    assert table.dataset.to_list() == same[0].dataset.to_list()


def test_scores_of_a_corpus_that_pairbank_has_join_its_items(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility")
    ids = [items[3]["item_id"], items[1]["item_id"]]
    path = write(tmp_path, "closed.csv", id=ids, good=[-1.0, -2.0], bad=[-3.0, -1.0])
    columns = {"item_id": "id", "direct_good": "good", "direct_bad": "bad"}
    (table,) = pairbank.import_scores(path, items=items, columns=columns, model="closed-2")
    assert table.dataset["item_id"][:] == ids[::-1]
    assert table.dataset["direct_delta"][:] == [-1.0, 2.0]
    assert table.dataset[0]["context_good"] == items[1]["context_good"]
    assert (table.corpus, table.signature["corpus"]["manifest"]["corpus"]) == ("starter", "starter")
    path = write(tmp_path, "closed.csv", item_id=["starter/plausibility/0815"], direct_good=-1.0, direct_bad=-3.0)
    with pytest.raises(ScoreImportError, match=r"row 2: no item 'starter/plausibility/0815'.* items of starter"):
        pairbank.import_scores(path, items=items, model="closed-2")


def test_an_item_without_numbers_is_left_out_of_the_method_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "closed.csv", **pairs(direct_good=[-1.0, None], direct_bad=[-2.0, None]))
    (table,) = pairbank.import_scores(path)
    assert table.dataset["direct_delta"][:] == [1.0, None]
    assert table.dataset["direct_flags"][:] == [[], None]
    assert table.signature["n_by_flag"] == {"direct": {"not_imported": 1}, QUESTION: {}}
    assert len(pairbank.report([table], n_resamples=10).summary)


def test_imported_tables_are_saved_read_and_banked_like_ours(tmp_path: Path) -> None:
    rows = [pd.DataFrame(pairs(model=name)) for name in ("lab/closed-1", "closed-2")]
    tables = pairbank.import_scores(write(tmp_path, "closed.csv", **pd.concat(rows)))
    assert [table.model_slug for table in tables] == ["closed_1", "closed_2"]
    read = pairbank.read_scored(tables[0].save(tmp_path / "one.parquet"))
    assert read.dataset.to_list() == tables[0].dataset.to_list()
    assert read.signature == json.loads(json.dumps(tables[0].signature))
    bank = pairbank.write_bank(tmp_path / "a-bank", scored=tables)
    items = pd.read_parquet(bank / "data/closed/items.parquet")
    assert not [name for name in items.columns if name.startswith(("direct", QUESTION))]
    assert "|imported:" in (bank / "README.md").read_text()


def test_a_profile_of_ones_own_may_bring_its_prompt(tmp_path: Path) -> None:
    shipped = Path(pairbank.__file__).parent / "scoring" / "prompts" / "hf24.toml"
    (tmp_path / "ask.toml").write_text(
        shipped.read_text().replace("hf24_paired", "asked").replace("hf24_lambada", "word")
    )
    (tmp_path / "mine.toml").write_text(
        'corpus = "mine"\nprompts = "ask.toml"\n[columns]\n'
        + "".join(f'"asked:{order}_first:{n}" = "{order[0]}{n}"\n' for order in ("good", "bad") for n in (1, 2))
    )
    path = write(tmp_path, "x.csv", good=["A b."], bad=["B a."], g1=[-1.0], g2=[-2.0], b1=[-2.0], b2=[-1.5])
    (table,) = pairbank.import_scores(path, profile=str(tmp_path / "mine.toml"), model="closed-3")
    assert (table.corpus, table.methods) == ("mine", ("asked",))
    assert table.dataset[0]["asked_delta"] == pytest.approx(0.75, abs=1e-12)
    assert table.layouts[0]["presentations"] == ["good_first", "bad_first"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direct_bad": [-1.0, "low"]}, r"closed\.csv, row 3: direct_bad is 'low', expected a log-probability in nats"),
        ({"direct_good": [10.5, 8.0]}, r"row 2: direct_good is '10\.5', .* a surprisal needs its sign changed"),
        ({"direct_good": [-1.0, "-inf"]}, r"row 3: direct_good is '-inf', expected a log-probability"),
        ({"direct_good": [-1.0, "-1e300"]}, r"row 3: direct_good is '-1e300', expected a log-probability"),
        ({ANSWERS[2]: ["inf", -1.0]}, rf"row 2: {ANSWERS[2]} is 'inf', expected a log-probability"),
        (
            {"direct_good": ["", None]},
            r"no scores of direct in any row \(0 empty, 2 half empty\); looked .*'direct_good'",
        ),
        ({"model": ["closed-1", ""]}, r"row 3: no model; fill the cell"),
        ({"model": ["closed 1", "closed-1"]}, r"models closed 1, closed-1 have the same file name; rename one"),
    ],
)
def test_a_bad_cell_is_one_clear_error(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreImportError, match=message):
        pairbank.import_scores(write(tmp_path, "closed.csv", **pairs(**changes)))


def test_a_half_empty_row_is_flagged_and_counted_and_the_others_are_imported(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"direct_good": [-1.0, None], ANSWERS[2]: [None, -1.0]}
    (table,) = pairbank.import_scores(write(tmp_path, "closed.csv", **pairs(**changes)))
    first, second = table.dataset
    assert (first["direct_delta"], first["direct_flags"]) == (11.0, [])
    assert [second[f"direct_{x}"] for x in ("good", "bad", "delta", "flags")] == [None, None, None, ["half_empty"]]
    assert [first[f"{QUESTION}_{x}"] for x in ("delta", "logprobs", "flags")] == [None, None, ["half_empty"]]
    assert second[f"{QUESTION}_flags"] == []
    assert table.signature["n_by_flag"] == {"direct": {"half_empty": 1}, QUESTION: {"half_empty": 1}}
    made = pairbank.report([table], n_resamples=10)
    assert made.summary.query("method == 'direct' and metric == 'accuracy' and group_by == 'all'")["n"].item() == 1
    assert "closed-1 on closed (1 half empty)" in pages_of(made)["appendix/how.md"]


def test_a_model_without_any_number_is_an_error_and_one_without_a_method_is_not(tmp_path: Path) -> None:
    both = {name: [*cells] * 2 if isinstance(cells, list) else [cells] * 4 for name, cells in pairs().items()}
    both |= {"model": ["a", "a", "b", "b"], "direct_good": [-1, -2, None, None], "direct_bad": [-2, -1, None, None]}
    tables = pairbank.import_scores(write(tmp_path, "closed.csv", **both))
    assert [table.signature["n_by_flag"]["direct"] for table in tables] == [{}, {"not_imported": 2}]
    alone = {name: cells for name, cells in both.items() if name not in ANSWERS}
    with pytest.raises(ScoreImportError, match=r"no scores of b in any row of direct; leave its rows out"):
        pairbank.import_scores(write(tmp_path, "closed.csv", **alone))


def without(*names: str) -> dict[str, Any]:
    return {name: cells for name, cells in pairs().items() if name not in names}


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        (without("model"), {}, r"which model\? name its column .* or the model \(model=\)"),
        (without(ANSWERS[3]), {}, rf"{QUESTION} lacks {ANSWERS[3]}; map them to columns"),
        (without("direct_good", "direct_bad", *ANSWERS), {}, r"no scores; map columns to direct_good and direct_bad"),
        (without("direct_good", "direct_bad", *ANSWERS), {}, r"Columns in the file: model, pair_id, good, bad"),
        (pairs(), {"direct_good": "lp"}, r"no column 'lp' for direct_good; found model, pair_id"),
        (pairs(), {"direct_god": "lp"}, r"columns: no name 'direct_god'; did you mean 'direct_good'"),
        (pairs(), {f"{QUESTION}:good_first:3": "lp"}, r"did you mean 'meta_question_simple:good_first:"),
        (pairs(), {"direct_good": []}, r"column of direct_good is \[\], expected a name or a list of names"),
        (without("good", "bad"), {}, r"row 2: no sentences; map columns to target_good and target_bad, or give the"),
        (
            {"model": "m", "pair_id": [1, 1], "score": "direct_good", "value": [-1.0, -2.0]},
            {},
            r"row 3: direct_good of this item is in an earlier row too",
        ),
        (
            {"model": "m", "pair_id": [1], "score": "surprisal", "value": [-1.0]},
            {},
            r"row 2: score is 'surprisal', which is no number of a method; name it",
        ),
        ({"model": "m", "value": [-1.0]}, {}, r"a long file \(with 'value'\) needs columns for score and for item_id"),
    ],
)
def test_a_file_that_cannot_be_told_is_one_clear_error(
    tmp_path: Path, table: dict[str, Any], columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScoreImportError, match=message):
        pairbank.import_scores(write(tmp_path, "closed.csv", **table), columns=columns)


def test_an_item_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"closed/all/a: item_id is a repeated id"):
        pairbank.import_scores(write(tmp_path, "closed.csv", **pairs(pair_id=["a", "a"])))
    items = pairbank.load_corpus("starter", subset="plausibility")
    twice = {"item_id": [items[0]["item_id"]] * 2, "direct_good": -1.0, "direct_bad": -2.0}
    with pytest.raises(ScoreImportError, match=r"row 3: .* of m is in .*row 2 too"):
        pairbank.import_scores(write(tmp_path, "closed.csv", **twice), items=items, model="m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus = ", r"mine\.toml: not TOML"),
        (
            'korpus = "x"',
            r"mine\.toml: unknown key 'korpus'; did you mean 'corpus'\? Known keys: citation, cites, columns",
        ),
        ("corpus = 3", r"mine\.toml: corpus is 3; expected a text"),
        ('cites = ["x"]', r"mine\.toml: cites has no reference 'x'"),
        ('task = "guessing"', r"mine\.toml: task is 'guessing'; expected 'sentence_pair'"),
        ('prompts = "none.toml"', r"mine\.toml: no file .*none\.toml of prompts"),
        ('[columns]\ndirect_god = "x"', r"mine\.toml: no name 'direct_god'; did you mean 'direct_good'"),
    ],
)
def test_a_malformed_profile_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ScoreImportError, match=message):
        load_profile(str(tmp_path / "mine.toml"))


def test_profiles_are_found_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no profile 'hu-frank'; did you mean 'hu-frank-2024'"):
        load_profile("hu-frank")
    with pytest.raises(ScoreImportError, match=r"no profile .*none\.toml; shipped ones are .*hu-frank-2024"):
        load_profile(str(tmp_path / "none.toml"))
    with pytest.raises(ScoreImportError, match=r"no file .*none\.csv; expected a \.csv, \.tsv"):
        pairbank.import_scores(tmp_path / "none.csv")


def test_the_command_line_imports_one_file_a_model(tmp_path: Path) -> None:
    path = write(tmp_path, "closed.csv", **without("model"))
    shown = CliRunner().invoke(app, ["import", str(path), "--model", "closed-9", "--out", str(tmp_path / "out")])
    assert shown.exit_code == 0, shown.output
    assert "closed_9.parquet: 2 items with direct, meta_question_simple" in shown.output.replace("\n", "")
    assert pairbank.read_scored(tmp_path / "out" / "closed_9.parquet").model == "closed-9"
    assert "Example: pairbank import" in CliRunner().invoke(app, ["import", "--help"]).output


def test_an_id_never_pairs_a_row_with_another_text(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    rows = [
        {"item_id": row["item_id"], "good": row["target_good"], "bad": row["target_bad"], "direct_good": -1 - n,
         "direct_bad": -2.5 - n}
        for n, row in enumerate(items.to_list())
    ]  # fmt: skip
    path = tmp_path / "theirs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    [table] = pairbank.import_scores(path, items=items, model="theirs")
    assert table.dataset["direct_good"][:] == [-1.0 - n for n in range(len(items))]
    swapped = [rows[0] | {"item_id": rows[1]["item_id"]}, rows[1] | {"item_id": rows[0]["item_id"]}]
    pd.DataFrame(swapped).to_csv(path, index=False)
    with pytest.raises(ScoreImportError, match=r"theirs.csv, row 2: .* is .*, and the row has .*; correct the ids"):
        pairbank.import_scores(path, items=items, model="theirs")
    turned = [rows[0] | {"good": rows[0]["bad"], "bad": rows[0]["good"]}]
    pd.DataFrame(turned).to_csv(path, index=False)
    with pytest.raises(ScoreImportError, match="correct the ids"):
        pairbank.import_scores(path, items=items, model="theirs")


def test_a_profile_may_rename_models(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"{name},De hond blaft.,De hond blaffen.,-{n}.0,-{n + 2}.0" for n, name in enumerate(("a/x", "b"), 3)]
    path.write_text("\n".join(["model,good,bad,direct_good,direct_bad", *rows]), encoding="utf-8")
    profile = tmp_path / "mine.toml"
    profile.write_text('corpus = "mine"\nlanguage = "nl"\n[models]\n"a/x" = "X 1B"\n', encoding="utf-8")
    tables = pairbank.import_scores(path, profile=str(profile))
    assert [(table.model, table["direct_good"][:]) for table in tables] == [("X 1B", [-3.0]), ("b", [-4.0])]
    profile.write_text('corpus = "mine"\n[models]\n"a/x" = 1\n', encoding="utf-8")
    with pytest.raises(ScoreImportError, match=r"models\.a/x is 1; expected a text"):
        pairbank.import_scores(path, profile=str(profile))
