"""Logs of other tools: the numbers are the sources' own, joined by text; the rest is listed, doubts are errors."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.errors import BankError, CorpusError
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.logs.lm_eval import Variant
from pairbank.scoring.importing.profile import load_profile, profile_names
from pairbank.scoring.importing.scores import READERS, Imports, import_logs
from pairbank.scoring.importing.sides import sides_method
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from shared_files import present

LOGS = Path(__file__).parent / "logs"
HARNESS = LOGS / "lm_eval"
MODELS = ["tiny-llama", "tiny-opt"]


@pytest.fixture(scope="module")
def starter() -> Any:  # noqa: ANN401 - a Dataset
    return pairbank.load_corpus("starter")


@pytest.fixture(scope="module")
def harness(starter: Any) -> Imports:  # noqa: ANN401
    return import_logs(HARNESS, "lm-eval", items=starter)


def accuracy(table: Scored, method: str) -> pd.Series[float]:
    """Return a report's accuracies by subset."""
    summary = pairbank.report([table], n_resamples=10).summary
    chosen = summary[(summary["metric"] == "accuracy") & (summary["group_by"] == "subset")]
    return chosen[chosen["method"] == method].set_index("group")["value"]


def printed(model: str) -> dict[str, Any]:
    (file,) = (HARNESS / model).glob("results_*.json")
    result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["results"]
    return result


def test_every_reader_has_a_profile() -> None:
    readers = {load_profile(name).reader for name in profile_names()}
    assert readers == {*READERS, "table"}


@pytest.mark.parametrize("place", [0, 1])
def test_accuracy_is_the_one_that_the_harness_prints_to_the_digit(harness: Imports, place: int) -> None:
    table = harness.tables[place]
    assert table.model == MODELS[place]
    stated = printed(table.model)
    pairs = [row for row in table.dataset.to_list() if row["subset"] == "minimal-pairs"]
    assert len(pairs) == 14
    for method, metric in (("direct", "acc,none"), ("per_char", "acc_norm,none"), ("per_byte", "acc_bytes,none")):
        share = sum(row[f"{method}_space_delta"] > 0 for row in pairs) / len(pairs)
        assert share == stated["starter_pairs"][metric]
    result = pd.concat([accuracy(table, name) for name in ("direct_space", "direct_bos_unstated")])
    for subset, task in (("minimal-pairs", "pairs"), ("plausibility", "plausible"), ("contexts", "contexts")):
        assert result[subset] == stated[f"starter_{task}"]["acc,none"]
    assert result["concepts"] == stated["starter_dutch"]["acc,none"]


def test_a_question_about_the_sentences_is_a_score_of_its_own_beside_direct(harness: Imports) -> None:
    for table in harness.tables:
        asked = [row for row in table.dataset.to_list() if row["starter_which_delta"] is not None]
        share = sum(row["starter_which_delta"] > 0 for row in asked) / len(asked)
        assert share == printed(table.model)["starter_which"]["acc,none"]
        assert all(row["direct_space_delta"] is not None for row in asked)
        assert "starter_which" in table.signature["methods"]["starter_which"]["paper"]


@pytest.mark.ci
def test_what_the_harness_scored_is_never_taken_for_direct(
    harness: Imports,
    starter: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    """A sentence with a space before it is another string: another id, hash and label, in `cut`, `bank`, `report`."""
    theirs = harness.tables[0]
    definition = theirs.signature["methods"]["direct_space"]
    assert "the sentence alone, with ' ' before it, after BOS or EOS" in definition["paper"]
    known = {*theirs["item_id"]}
    items = starter.select([place for place, item_id in enumerate(starter["item_id"]) if item_id in known])
    ours = pairbank.score(items, FakeScorer(name="ours"), methods=["direct"])
    assert definition["sha256"] != ours.signature["methods"]["direct"]["sha256"]
    with pytest.raises(BankError, match="share no method in the same wording"):
        pairbank.cut_alike([ours, theirs])
    with pytest.raises(BankError, match="scored with different methods, or other wordings of them"):
        pairbank.write_bank(tmp_path / "bank", scored=[ours, theirs])
    section, audit = pairbank.report([ours, theirs], analyses=["comparisons", "audit"], n_resamples=10).sections
    findings = audit.tables["findings"]
    result = findings[findings["found"].str.contains("is another method than `direct`, which `ours` has")]
    assert result["where"].str.contains("direct_space").any()
    between = section.tables.get("comparisons", pd.DataFrame({"compared": []}))
    assert "models" not in {*between["compared"]}
    joined = Variant(delimiter="", has_context=False, bos="bos")
    assert [score.name for score in joined.scores()] == ["per_char", "per_byte"], "the rest is `direct` itself"
    hashes = {
        sides_method(score).definition["sha256"]
        for variant in (joined, Variant(delimiter=" ", has_context=False, bos="bos"))
        for score in variant.scores()
    }
    assert len(hashes) == 5


def test_every_number_that_a_source_prints_is_found_again(harness: Imports) -> None:
    assert len(harness.stated) == 2 * 6 * 3
    assert all(one.is_same for one in harness.stated)


def test_rows_that_are_no_pairs_are_listed_with_file_count_and_examples(harness: Imports) -> None:
    said = [str(one) for one in harness.left_out]
    assert len(said) == 2
    assert all("3 row(s) not imported: 3 options, a pair has two (row 1; row 2; row 3)" in one for one in said)


def test_the_signature_says_tool_version_and_settings_as_the_log_does(harness: Imports) -> None:
    model, origin = (harness.tables[0].signature[part] for part in ("model", "imported"))
    assert (model["dtype"], model["revision"]) == ("float32", "main")
    assert origin["tool"] == {"name": "lm-evaluation-harness", "version": "0.4.13"}
    assert origin["settings"]["model_args"]["pretrained"] == "tiny-llama"
    assert origin["settings"]["target_delimiter"] == " "
    assert origin["join"]["n_joined"] == 14 + 8 + 10 + 8
    assert len(origin["files"]) == 7


def test_without_a_corpus_items_are_made_of_the_log(tmp_path: Path) -> None:
    result = import_logs(HARNESS / "tiny-opt", "lm-eval", corpus="mine")
    (table,) = result.tables
    assert (table.corpus, len(table)) == ("mine", 14 + 8 + 10 + 8 + 14)
    assert {*table["task"]} == {"sentence_pair", "continuation_pair", "context_pair"}
    table.save(tmp_path / "t.parquet")
    assert pairbank.read_scored(tmp_path / "t.parquet").signature == json.loads(json.dumps(table.signature))


def changed(tmp_path: Path, task: str, change: Any) -> Path:  # noqa: ANN401
    """Return a folder with one file of samples, each of its lines changed."""
    (file,) = (HARNESS / "tiny-opt").glob(f"samples_{task}_*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "tiny-opt" / file.name
    path.parent.mkdir()
    path.write_text("".join(json.dumps(change(n, line)) + "\n" for n, line in enumerate(lines)), encoding="utf-8")
    return path


def test_texts_join_over_white_space_alone_and_others_are_listed(tmp_path: Path, starter: Any) -> None:  # noqa: ANN401
    def change(n: int, line: dict[str, Any]) -> dict[str, Any]:
        if n == 0:
            line["arguments"]["gen_args_0"]["arg_1"] += "  "
        if n == 1:
            line["arguments"]["gen_args_0"]["arg_1"] = line["arguments"]["gen_args_0"]["arg_1"].upper()
        return line

    result = import_logs(changed(tmp_path, "starter_pairs", change), "lm-eval", items=starter)
    assert len(result.tables[0]) == 13
    assert result.tables[0].signature["imported"]["join"]["n_only_normalised"] == 1
    assert [(one.n, "no item of starter has these texts" in one.reason) for one in result.left_out] == [(1, True)]


def test_a_log_whose_better_side_is_the_worse_one_of_the_corpus_is_refused(tmp_path: Path, starter: Any) -> None:  # noqa: ANN401
    def turned(_n: int, line: dict[str, Any]) -> dict[str, Any]:
        return {**line, "target": "1"}

    with pytest.raises(ScoreImportError, match=r"14 row\(s\) whose item is in doubt.*better side is the worse one"):
        import_logs(changed(tmp_path, "starter_pairs", turned), "lm-eval", items=starter)


def test_two_rows_of_one_item_are_refused(tmp_path: Path, starter: Any) -> None:  # noqa: ANN401
    first: list[dict[str, Any]] = []

    def repeated(n: int, line: dict[str, Any]) -> dict[str, Any]:
        first.append(line)
        return first[0] if n == 1 else line

    with pytest.raises(ScoreImportError, match="its item has a row already"):
        import_logs(changed(tmp_path, "starter_pairs", repeated), "lm-eval", items=starter)


def test_an_accuracy_of_inspect_that_is_no_number_is_refused_and_one_in_quotes_is_compared(tmp_path: Path) -> None:
    document = json.loads((LOGS / "inspect_ai" / "one-order.json").read_text(encoding="utf-8"))
    accuracy, path = document["results"]["scores"][0]["metrics"]["accuracy"], tmp_path / "one-order.json"
    accuracy["value"] = str(accuracy["value"])
    path.write_text(json.dumps(document), encoding="utf-8")
    (stated,) = import_logs(path, "inspect-ai").stated
    assert stated.is_same
    accuracy["value"] = None
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ScoreImportError, match="not as inspect-ai writes it"):
        import_logs(path, "inspect-ai")


def test_an_option_with_an_empty_text_is_named_with_its_row(tmp_path: Path, starter: Any) -> None:  # noqa: ANN401
    def emptied(n: int, line: dict[str, Any]) -> dict[str, Any]:
        if n == 1:
            line["arguments"]["gen_args_1"]["arg_1"] = " "
        return line

    path = changed(tmp_path, "starter_pairs", emptied)
    with pytest.raises(CorpusError, match=rf"{re.escape(path.name)}, row 2: column 'target_bad' is empty"):
        import_logs(path, "lm-eval")
    result = import_logs(path, "lm-eval", items=starter)
    assert len(result.tables[0]) == 13
    assert [(one.n, "row 2" in one.examples[0]) for one in result.left_out] == [(1, True)]


def test_a_number_that_the_rows_do_not_give_is_said_loudly(tmp_path: Path) -> None:
    shutil.copytree(HARNESS / "tiny-llama", tmp_path / "m")
    (results,) = (tmp_path / "m").glob("results_*.json")
    text = results.read_text(encoding="utf-8")
    said = json.loads(text)["results"]["starter_pairs"]["acc,none"]
    results.write_text(text.replace(f'"acc,none": {said}', '"acc,none": 0.123', 1), encoding="utf-8")
    wrong = [str(one) for one in import_logs(tmp_path / "m", "lm-eval").stated if not one.is_same]
    assert len(wrong) == 1
    assert "from its rows: NOT the same" in wrong[0]


def test_files_of_another_kind_are_refused_with_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ScoreImportError, match="log_samples"):
        import_logs(tmp_path, "lm-eval")
    with pytest.raises(ScoreImportError, match="no file or folder"):
        import_logs(tmp_path / "nowhere", "lm-eval")
    with pytest.raises(ScoreImportError, match="no object"):
        import_logs(tmp_path / "a.json", "inspect-ai")


# Inspect ------------------------------------------------------------------------------------------------------------


def test_inspect_answers_in_both_orders_keep_the_order_and_what_cannot_be_parsed(starter: Any) -> None:  # noqa: ANN401
    result = import_logs(LOGS / "inspect_ai" / "both-orders.json", "inspect-ai", items=starter)
    (table,) = result.tables
    assert (len(table), table.methods) == (10, ("both_orders",))
    assert table.signature["methods"]["both_orders"]["layout"]["presentations"] == ["good_first", "bad_first"]
    assert sum(table["both_orders_unparsed"]) == 3
    assert result.stated[0].is_same
    assert result.stated[0].stated == pytest.approx(9 / 21)
    assert result.left_out[0].reason == "3 choices, a pair has two"
    assert table.signature["imported"]["tool"] == {"name": "inspect_ai", "version": "0.3.285"}


def test_inspect_epochs_are_scores_of_their_own(starter: Any) -> None:  # noqa: ANN401
    result = import_logs(LOGS / "inspect_ai" / "two-epochs.json", "inspect-ai", items=starter)
    assert result.tables[0].methods == ("two_epochs_epoch1", "two_epochs_epoch2")
    assert all(one.is_same for one in result.stated)


def test_eval_files_need_inspect_and_say_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "a.eval").write_bytes(b"PK")
    message = "not a log" if importlib.util.find_spec("inspect_ai") else r"pip install 'pairbank\[inspect\]'"
    with pytest.raises(ScoreImportError, match=message):
        import_logs(tmp_path / "a.eval", "inspect-ai")


# BabyLM and minicons ------------------------------------------------------------------------------------------------


def test_babylm_predictions_are_the_accuracies_of_its_own_report() -> None:
    for part in ("english", "dutch"):
        items = pairbank.load_corpus(LOGS / "babylm" / f"{part}.jsonl")
        result = import_logs(LOGS / "babylm", "babylm", items=items)
        assert [table.model for table in result.tables] == MODELS
        assert [one.what for one in result.stated] == [part, part]
        assert all(one.is_same for one in result.stated)
        assert {one.reason for one in result.left_out} == {
            f"the corpus has no part {'dutch' if part == 'english' else 'english'!r}"
        }


def test_babylm_predictions_need_the_corpus() -> None:
    with pytest.raises(ScoreImportError, match="--items"):
        import_logs(LOGS / "babylm", "babylm")


def test_minicons_rows_of_pairs_and_of_tokens_give_the_same_sums(starter: Any) -> None:  # noqa: ANN401
    pairs = import_logs(LOGS / "minicons" / "pairs.csv", "minicons", items=starter).tables
    tokens = import_logs(LOGS / "minicons" / "tokens.csv", "minicons", items=starter).tables
    assert [table.model for table in pairs] == [table.model for table in tokens] == MODELS
    for whole, part in zip(pairs, tokens, strict=True):
        assert whole.methods == ("mean_logprob_minicons", "logprob_minicons")
        sums = dict(zip(whole["item_id"], whole["logprob_minicons_delta"], strict=True))
        assert len(part) == 5
        for item_id, delta in zip(part["item_id"], part["logprob_minicons_delta"], strict=True):
            assert delta == pytest.approx(sums[item_id], abs=1e-4)


def test_minicons_columns_must_say_what_their_number_is(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sentence,score\nHi.,-3\n", encoding="utf-8")
    with pytest.raises(ScoreImportError, match="a mean unless its reduction sums"):
        import_logs(path, "minicons")
    names = ",".join(f"{kind}_{side}" for kind in ("logprob_bos", "surprisal_bos") for side in ("good", "bad"))
    path.write_text(f"sentence_good,sentence_bad,{names}\nHi.,Ih.,-3,-4,5,6\n", encoding="utf-8")
    with pytest.raises(ScoreImportError, match="logprob_bos, surprisal_bos are one score, direct; leave one"):
        import_logs(path, "minicons")
    path.write_text("sentence_good,sentence_bad,logprob_bos_good,logprob_bos_bad\nHi.,Ih.,-3,-4\n", encoding="utf-8")
    assert import_logs(path, "minicons").tables[0].methods == ("direct",)


# papers' tables -----------------------------------------------------------------------------------------------------


@pytest.mark.upstream
def test_checkpoints_of_multiblimp_are_right_as_often_as_published(shared: Path) -> None:
    folder = present(shared / "corpora" / "multiblimp-checkpoints")
    files = [folder / f"EN_50k-{step}.tsv.gz" for step in (0, 600, 1200)]
    result = import_logs(files, "multiblimp-checkpoints")
    shares = [sum(delta > 0 for delta in table["logprob_minicons_delta"]) / len(table) for table in result.tables]
    assert [round(share, 3) for share in shares] == [0.631, 0.787, 0.801]
    assert [table.signature["model"]["step"] for table in result.tables] == [0, 600, 1200]


@pytest.mark.upstream
def test_decisions_of_qfrblimp_are_their_columns(shared: Path, tmp_path: Path) -> None:
    folder = present(shared / "corpora" / "qfrblimp")
    requested = ["id", "Annotateurs", "gpt2", "gpt2_prompting", "almanach_camembert-base"]
    whole = pd.read_csv(folder / "decisions.csv")
    whole[[name for name in requested if name in whole.columns]].to_csv(tmp_path / "decisions.csv", index=False)
    shutil.copy(folder / "models_size.json", tmp_path)
    items = pairbank.load_corpus("qfrblimp", data_dir=shared / "corpora")
    result = import_logs(tmp_path, "qfrblimp", items=items)
    assert [table.model for table in result.tables] == ["gpt2", "almanach/camembert-base"]
    first = result.tables[0]
    assert (len(first), first.methods) == (1761, ("preferred", "asked"))
    assert sum(first["preferred_good"]) == whole["gpt2"].sum()
    assert sum(first["asked_good"]) == whole["gpt2_prompting"].sum()
    assert [one.reason for one in result.left_out] == ["the column Annotateurs is no model"]


# the command line, and Every Eval Ever both ways --------------------------------------------------------------------


def test_an_export_to_every_eval_ever_counts_answers_that_were_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    answers = ["good", "unparsed", "bad", "unparsed", "tie"]
    lines = [f"The hen clucks {n}.,The hen cluck {n}.,{answer}" for n, answer in enumerate(answers)]
    path.write_text("\n".join(["good,bad,judge", *lines]) + "\n", encoding="utf-8")
    tables = pairbank.import_scores(path, scores={"judge": "decision"}, model="m")
    [whole] = pairbank.export_results(tables, tmp_path / "eee", at=0)
    [result] = json.loads(whole.read_text(encoding="utf-8"))["evaluation_results"]
    assert result["score_details"]["score"] == 0.5
    assert result["score_details"]["details"] == {"n_items_of_table": "5", "n_items_unparsed": "2"}
    said = result["metric_config"]["evaluation_description"]
    assert "Of 5 items, 2 without a parsable answer are left out" in said


def test_what_their_converter_makes_of_a_harness_log_is_what_the_log_itself_says(
    starter: Any,  # noqa: ANN401
    harness: Imports,
) -> None:
    """A record for each metric; the reference is a place counted from 0; contexts are inputs."""
    result = import_logs(LOGS / "every_eval_ever", "every-eval-ever", items=starter)
    assert [table.model for table in result.tables] == ["tiny/tiny-llama", "tiny/tiny-opt"]
    assert {one.reason for one in result.left_out} == {"another metric of an answer that is imported"}
    assert sum(one.n for one in result.left_out) == 2 * 2 * (14 + 8)
    assert result.stated
    assert all(one.computed == pytest.approx(one.stated) for one in result.stated)
    for theirs, own in zip(result.tables, sorted(harness.tables, key=lambda table: table.model), strict=True):
        both = (
            theirs.to_pandas()
            .set_index("item_id")
            .join(own.to_pandas().set_index("item_id")[["direct_space_delta", "direct_bos_unstated_delta"]])
        )
        for decided, scored, n in (
            ("starter_pairs", "direct_space", 14),
            ("starter_plausible", "direct_bos_unstated", 8),
        ):
            known = both[[f"{decided}_delta", f"{scored}_delta"]].dropna().astype(float)
            assert len(known) == n
            assert (np.sign(known.iloc[:, 0]) == np.sign(known.iloc[:, 1])).all()


def test_what_is_exported_to_every_eval_ever_comes_back_as_it_was(tmp_path: Path, harness: Imports) -> None:
    for table in harness.tables:
        table.save(tmp_path / f"{table.model_slug}.parquet")
    runner, files = CliRunner(), [str(path) for path in sorted(tmp_path.glob("*.parquet"))]
    out = runner.invoke(app, ["export", *files, "--to", "every-eval-ever", "--out", str(tmp_path / "eee")])
    assert out.exit_code == 0, out.output
    said = runner.invoke(
        app,
        ["import", "--from", "every-eval-ever", str(tmp_path / "eee"), "--items", "starter", "--out", str(tmp_path)],
    )
    assert said.exit_code == 0, said.output
    assert "NOT the same" not in said.output
    for table in harness.tables:
        again = pairbank.read_scored(tmp_path / f"{table.model_slug}.parquet")
        assert again.methods == table.methods
        for method in table.methods:
            assert again[f"{method}_delta"] == table[f"{method}_delta"]


REQUIRED = {
    *("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "interaction_type", "input"),
    *("answer_attribution", "evaluation"),
}
ALLOWED = REQUIRED | {
    *("evaluation_result_id", "sample_hash", "output", "messages", "token_usage", "performance", "metadata")
}


def test_exported_records_have_the_keys_of_the_schema(tmp_path: Path, harness: Imports) -> None:
    (path,) = pairbank.export_results(harness.tables[:1], tmp_path, at=0)
    whole = json.loads(path.read_text(encoding="utf-8"))
    samples = tmp_path / whole["detailed_evaluation_results"]["file_path"]
    records = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert whole["detailed_evaluation_results"]["total_rows"] == len(records)
    assert all(REQUIRED <= record.keys() <= ALLOWED for record in records)
    assert all(isinstance(value, str) for record in records for value in record["metadata"].values())
    assert {record["evaluation_id"] for record in records} == {whole["evaluation_id"]}
    assert pairbank.export_results(harness.tables[:1], tmp_path / "again", at=0)[0].name == path.name


def test_texts_that_may_not_be_passed_on_stay_here(tmp_path: Path, harness: Imports) -> None:
    table = harness.tables[0]
    signature = {**table.signature, "corpus": {**table.signature["corpus"], "name": "ewok"}}
    (path,) = pairbank.export_results([Scored.of(table.dataset, signature)], tmp_path, at=0)
    samples = path.with_name(path.name.replace(".json", "_samples.jsonl")).read_text(encoding="utf-8")
    assert not any(text in samples for text in table["target_good"])


def test_records_of_others_are_decisions_by_text_or_letter(tmp_path: Path, starter: Any) -> None:  # noqa: ANN401
    pairs = [row for row in starter if row["subset"] == "minimal-pairs"][:3]
    lines = []
    for n, (row, said) in enumerate(zip(pairs, ["A", pairs[1]["target_bad"], "no idea"], strict=True)):
        good, bad = row["target_good"], row["target_bad"]
        attribution = {"turn_idx": 0, "source": "output.raw", "extracted_value": said, "extraction_method": "regex"}
        lines.append(
            {
                "schema_version": "0.3.0",
                "evaluation_id": "which/m/0",
                "model_id": "org/m",
                "evaluation_name": "which-sentence",
                "sample_id": str(n),
                "interaction_type": "single_turn",
                "input": {"raw": f"Which? A) {good} B) {bad}", "reference": [good], "choices": [good, bad]},
                "output": {"raw": [said]},
                "answer_attribution": [{**attribution, "is_terminal": True}],
                "evaluation": {"score": float(n == 0), "is_correct": n == 0},
            }
        )
    path = tmp_path / "0_samples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (table,) = import_logs(path, "every-eval-ever", items=starter).tables
    assert (table.model, table["which_sentence_good"], table["which_sentence_unparsed"]) == (
        "org/m", [1.0, 0.0, None], [0, 0, 1]
    )  # fmt: skip
    assert table.signature["methods"]["which_sentence"]["layout"]["asked"] == "one"


def test_from_does_not_go_with_the_options_of_a_table(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    said = CliRunner().invoke(app, ["import", str(HARNESS), "--from", "lm-eval", "--profile", "x", *out])
    assert said.exit_code == 2
    assert "leave out --profile" in said.output
    assert CliRunner().invoke(app, ["import", "a.csv", "b.csv", *out]).exit_code == 2
