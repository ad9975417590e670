"""`probe`, from items to tables; with a tiny model whose states tell some sentences apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import datasets
import numpy as np
import pandas as pd
import pytest

import pairbank
from command_line import completed
from pairbank.errors import BankError
from pairbank.probing import probe
from pairbank.scoring.models.hidden_states import HiddenStates
from pairbank.scoring.models.load import load_model
from pairbank.stats.analyses.neuro import LAYER_DTYPES, Probed
from pairbank.stats.scored_table.scored_table import DTYPES
from tiny_models import ARCHITECTURES, saved_model

if TYPE_CHECKING:
    from pairbank.scoring.models.load import LoadedModel

NOUNS = "dog cat bird fish horse cow goat duck fox wolf bear deer".split()  # noqa: SIM905 - reads better


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(saved_model(ARCHITECTURES["llama"], tmp_path_factory.mktemp("llama")), device="cpu")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 24 pairs whose last token decides, two identical sides and a group of three pairs."""
    rows = [
        {"good": f"The {a} barks", "bad": f"The {a} bark", "subset": subset}
        for subset, more in (("a", ""), ("b", "old "))
        for a in (more + noun for noun in NOUNS)
    ]
    rows += [{"good": "Same.", "bad": "Same.", "subset": "a"}] * 2
    rows += [{"good": f"{n} ends.", "bad": f"{n} end.", "subset": "few"} for n in NOUNS[:3]]
    path = tmp_path_factory.mktemp("toy") / "toy.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def items(toy: Path) -> datasets.Dataset:
    return pairbank.load_corpus(toy, columns={"subset": "subset"})


def cell(table: pd.DataFrame, **keys: object) -> Any:  # noqa: ANN401 - a row
    for name, value in keys.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


@pytest.fixture(scope="module")
def probed(items: datasets.Dataset, tiny: LoadedModel) -> Probed:
    return probe(items, tiny)


def test_tables_have_their_types_and_every_layer(probed: Probed) -> None:
    assert {n: str(t) for n, t in probed.layers.dtypes.items()} == LAYER_DTYPES
    assert {n: str(t) for n, t in probed.summary.dtypes.items()} == DTYPES
    # 3 groups x (embedding and 2 blocks) x 2 metrics x (real and control)
    assert len(probed.layers) == 3 * 3 * 2 * 2
    assert set(probed.summary["method"]) == {"neuro"}
    assert not probed.summary.duplicated(["group_by", "group", "metric"]).any()


def test_what_the_last_token_decides_is_found_at_every_layer(probed: Probed) -> None:
    for group in ("a", "b"):
        for layer in range(3):
            row = cell(probed.layers, group=group, layer=layer, metric="f1", control=False)
            assert (row["value"], row["n"]) == (1.0, 12)
        assert cell(probed.summary, group=group, metric="f1")["value"] == 1.0
        assert cell(probed.summary, group=group, metric="f1_chosen")["value"] == 1.0
        assert cell(probed.layers, group=group, layer=1, metric="accuracy", control=True)["value"] < 0.9


def test_identical_sides_are_left_out_and_counted(probed: Probed) -> None:
    row = cell(probed.summary, group="a", metric="f1")
    assert (row["n"], row["n_excluded"]) == (12, 2)


def test_too_few_pairs_have_no_value_and_a_reason(probed: Probed) -> None:
    row = cell(probed.summary, group="few", metric="f1")
    assert np.isnan(row["value"])
    assert row["reason"] == "3 groups of pairs without a common sentence; 5 folds need at least 5"
    assert probed.layers[probed.layers["group"] == "few"]["value"].isna().all()
    mean = cell(probed.summary, group_by="all", metric="f1")
    assert (mean["value"], mean["n"], mean["n_excluded"]) == (1.0, 27, 2)
    assert mean["reason"] == "mean of 2 probes of 3 groups; no interval"


def test_the_maximum_leaves_the_embedding_out(
    items: datasets.Dataset, tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = HiddenStates.layer

    def only_layers_0_and_2(self: HiddenStates, layer: int, texts: np.ndarray) -> np.ndarray:
        return real(self, layer, texts) * (layer != 1)

    monkeypatch.setattr(HiddenStates, "layer", only_layers_0_and_2)
    summary = probe(items, tiny).summary
    assert cell(summary, group="a", metric="f1_layer")["value"] == 2.0
    assert cell(summary, group="a", metric="f1")["ci_method"] == "corrected-t, best of 2 layers"


def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_items(
    items: datasets.Dataset, tiny: LoadedModel, probed: Probed, tmp_path: Path
) -> None:
    probed.save(tmp_path / "one")
    probe(items.shuffle(seed=3), tiny).save(tmp_path / "two")
    for name in ("neuro_layers.parquet", "neuro_summary.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    other = probe(items, tiny, seed=1).layers["value"]
    assert not other.equals(probed.layers["value"])
    signature = json.loads((tmp_path / "one" / "neuro.json").read_text())
    assert signature["model"]["name"] == tiny.info.name
    assert signature["method"]["group_by"] == "subset"
    assert signature["method"]["control"] == "labels of each pair exchanged by a fair coin"


def test_groups_may_be_several_columns_or_none(items: datasets.Dataset, tiny: LoadedModel) -> None:
    two = probe(items, tiny, groups=["language", "subset"]).summary
    assert set(two["group_by"]) == {"all", "language+subset"}
    assert "en/a" in set(two["group"])
    one = probe(items, tiny, groups="all").summary
    assert set(zip(one["group_by"], one["group"], strict=True)) == {("all", "")}
    assert cell(one, metric="accuracy")["n"] == 27
    with pytest.raises(BankError, match="no column 'nonsense' to group by"):
        probe(items, tiny, groups="nonsense")
    with pytest.raises(BankError, match="none of the 2 items is a pair"):
        probe(items.filter(lambda row: row["target_good"] == "Same."), tiny)


def test_the_command_prints_a_row_a_group_and_writes_the_tables(toy: Path, tmp_path: Path) -> None:
    folder = saved_model(ARCHITECTURES["llama"], tmp_path / "llama")
    line = ["neuro", toy, "--model", folder, "--out", tmp_path / "out", "--column", "subset=subset", "--device", "cpu"]
    result = completed([str(word) for word in line])
    lines = [line.split() for line in result.stdout.splitlines()]
    assert next(line for line in lines if line[:1] == ["a"])[:3] == ["a", "12", "1.0"]
    assert ["few", "3"] in lines
    summary = pd.read_csv(tmp_path / "out" / "neuro_summary.csv")
    assert len(summary[summary["group_by"] == "subset"]) == 3 * 10
    layers = pd.read_parquet(tmp_path / "out" / "neuro_layers.parquet")
    assert set(layers["layer"]) == {0, 1, 2}


def test_plain_folds_know_sentences_from_training_and_grouped_ones_do_not(tmp_path: Path, tiny: LoadedModel) -> None:
    """Each better sentence stands in four pairs, and which one is better is told by nothing else."""
    rng = np.random.default_rng(0)
    words = [f"{a} {b}" for a in NOUNS for b in NOUNS[:4]]
    better = rng.permutation(words)[:24]
    worse = [word for word in words if word not in set(better)]
    rows = [{"good": f"{better[i % 24]}.", "bad": f"{worse[i % 24]}."} for i in range(96)]
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = pairbank.load_corpus(path)
    plain, grouped = (probe(items, tiny, groups="all", folds=kind) for kind in ("plain", "grouped"))
    f1 = [cell(one.summary, metric="accuracy")["value"] for one in (plain, grouped)]
    assert f1[0] > f1[1] + 0.1
    assert "a sentence may stand on both sides" in plain.signature["method"]["folds"]
    assert "whole components" in grouped.signature["method"]["folds"]


def test_the_cost_is_told_before_the_first_text_is_read(items: datasets.Dataset, tiny: LoadedModel) -> None:
    on_share: list[tuple[str, int, int]] = []
    probe(items, tiny, progress=lambda *what: on_share.append(what))
    task, n_done, n_texts = on_share[0]
    assert (n_done, n_texts) == (0, 54)
    assert task == "hidden states (some 0.01 CPU hours, 0.01 GB on disk)"


def test_states_in_half_the_room_give_the_same_probes(items: datasets.Dataset, tiny: LoadedModel) -> None:
    full, half = (probe(items, tiny, precision=kind).summary for kind in ("float32", "float16"))
    f1 = [one[one["metric"] == "f1"]["value"].to_numpy() for one in (full, half)]
    np.testing.assert_allclose(f1[0], f1[1], atol=0.05)


def test_unknown_folds_are_refused(items: datasets.Dataset, tiny: LoadedModel) -> None:
    with pytest.raises(BankError, match="expected a seed of 0 or more, 2 folds or more, and grouped or plain"):
        probe(items, tiny, folds="other")  # type: ignore[arg-type]


def test_the_laboratory_s_recipe_reads_no_full_stop_and_states_as_they_are(
    items: datasets.Dataset, tiny: LoadedModel
) -> None:
    items = items.map(lambda row: {name: f"{row[name]}!" for name in ("target_good", "target_bad")})
    whole = pairbank.probe(items, tiny, groups="all")
    own = pairbank.probe(items, tiny, groups="all", cut_stop=True, standardise=False, folds="plain")
    method = own.signature["method"]
    assert "without its final punctuation mark" in method["states"]
    assert method["probe"].startswith("states as they are, logistic regression")
    assert "without" not in whole.signature["method"]["states"]
    texts: list[str] = []

    def remember(asked: Sequence[str], *_rest: object, **_options: object) -> object:
        texts.extend(asked)
        raise RuntimeError("enough")

    with mock.patch("pairbank.scoring.models.hidden_states.last_token_states", remember):
        for cut_stop in (True, False):
            texts.clear()
            with pytest.raises(RuntimeError, match="enough"):
                pairbank.probe(items, tiny, groups="all", cut_stop=cut_stop)
            assert any(text.endswith("!") for text in texts) is not cut_stop
