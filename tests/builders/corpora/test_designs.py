"""Factorial designs in a user's table: `[design]` is read, its faults are named with row and column, none is silent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pairbank
from corpus_files import known_manifest
from island_designs import MAP, judgments, write
from pairbank.builders.corpora.maps import read_map
from pairbank.builders.corpora.proposed_map import proposed_map, tried_map
from pairbank.errors import PairbankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.design import design
from pairbank.stats.report.frames import scored_frame


def test_a_design_is_read_with_its_fillers_and_its_columns_are_kept(tmp_path: Path) -> None:
    items = pairbank.load_corpus(write(tmp_path, list(judgments())))
    manifest = known_manifest(items)
    assert manifest["facts"]["design"] == {
        "factors": [
            {"column": "structure", "levels": ["non-island", "island"]},
            {"column": "distance", "levels": ["short", "long"]},
        ],
        "item_set": "item",
        "by": [],
        "fillers": {"type": ["filler"]},
        "contrasts": [],
    }
    assert len(items) == 8 * 4 + 4
    assert {(row["structure"], row["distance"]) for row in items if row["type"] == "target"} == {
        ("non-island", "short"), ("non-island", "long"), ("island", "short"), ("island", "long")
    }  # fmt: skip
    assert sorted({row["item"] for row in items if row["type"] == "filler"}) == ["f1", "f2", "f3", "f4"]


def test_levels_are_as_declared(tmp_path: Path) -> None:
    text = MAP + '[design.levels]\nstructure = ["island", "non-island"]\n'
    items = pairbank.load_corpus(write(tmp_path, list(judgments()), map_text=text))
    manifest = known_manifest(items)
    assert manifest["facts"]["design"]["factors"][0]["levels"] == ["island", "non-island"]


Row = dict[str, str]
FAULTS: dict[str, tuple[Callable[[Row], Row], str, str]] = {
    "a level with another spelling": (
        lambda row: row | ({"distance": "Long"} if row["item"] == "4" and row["distance"] == "long" else {}),
        MAP,
        r"column 'distance' is 'Long'; expected a level of the design, spelled 'short', 'long'",
    ),
    "an empty cell": (
        lambda row: row | ({"structure": ""} if row["item"] == "3" else {}),
        MAP,
        r"row \d+: column 'structure' is empty; expected .* by its fillers \('type' is 'target', not 'filler'\)",
    ),
    "one level": (
        lambda row: row if row["type"] == "filler" or (row["distance"], row["structure"]) == ("long", "island") else {},
        MAP.replace('["structure", "distance"]', '["distance"]'),
        r"column 'distance' has 1 level \(long\); a factor of \[design\] needs two",
    ),
    "not crossed": (
        lambda row: {} if (row["structure"], row["distance"]) == ("island", "long") else row,
        MAP,
        r"rows 2 to \d+: no sentence has structure = island, distance = long; expected all levels of 'structure' and",
    ),
    "raters without fillers": (
        lambda row: {} if row["type"] == "filler" and row["participant"] in ("p3", "p7") else row,
        MAP,
        r"row 42: rater 'p3' rated no filler, nor did 1 others \(column 'type'\)",
    ),
    "two designs taken for one": (
        lambda row: row | ({"item": str((int(row["item"]) - 1) % 4 + 1)} if row["type"] == "target" else {}),
        MAP,
        r"'item' 1 has a sentence with structure = non-island, distance = short in row 2; .* under by in \[design\]",
    ),
    "no item set": (lambda row: row, MAP.replace('item = "item"\n', ""), r"needs item = \"COLUMN\" under \[columns\]"),
    "an unknown column": (lambda row: row, MAP.replace('"distance"]', '"dist"]'), r"'dist'.*distance"),
    "levels of no factor": (lambda row: row, MAP + '[design.levels]\nx = ["a", "b"]\n', r"factor in .*'x'"),
    "an unknown contrast": (
        lambda row: row,
        MAP.replace('"structure", "distance"]', '"distance"]\ncontrasts = [["long", "shrt"]]').replace(
            'item = "item"', 'item = "{item} {structure}"'
        ).replace("[design]", '[design]\nitem_set = "sentence"'),
        r"level of contrasts.*'shrt'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_design_is_refused_with_row_and_column(fault: str, tmp_path: Path) -> None:
    change, text, message = FAULTS[fault]
    rows = [changed for row in judgments() if (changed := change(row))]
    with pytest.raises(PairbankError, match=message):
        pairbank.load_corpus(write(tmp_path, rows, map_text=text))


def test_an_item_set_without_a_condition_is_named(tmp_path: Path) -> None:
    lacking = ("4", "island", "long")
    rows = [row for row in judgments() if (row["item"], row["structure"], row["distance"]) != lacking]
    manifest = known_manifest(pairbank.load_corpus(write(tmp_path, rows)))
    assert any(
        note.startswith("1 of 8 item sets lack a condition (first: 'item' 4, structure = island, distance = long)")
        for note in manifest["facts"]["reading"]
    )


def test_a_rater_with_a_column_who_rated_no_filler_is_named(tmp_path: Path) -> None:
    rows = ["item,type,cond,sentence,r1,r2"]
    rows += [f"{n},target,{c},The dog {c} {n}.,{n % 5 + 1},3" for n in range(4) for c in ("sleeps", "sleep")]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([*rows, "f,filler,,A cat.,5,"]), encoding="utf-8")
    text = 'layout = "sentences"\n[columns]\nsentence = "sentence"\nitem = "item"\n[ratings]\ncolumns = ["r1", "r2"]\n'
    text += 'scale = "likert7"\n[design]\nfactors = ["cond"]\nfillers = { type = "filler" }\n'
    path.with_name("wide.map.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PairbankError, match=r"row 2: rater 'r2' rated no filler \(column 'type'\)"):
        pairbank.load_corpus(path)


def test_where_leaves_fillers_out(tmp_path: Path) -> None:
    text = 'where = { type = "target" }\n' + MAP.replace('fillers = { type = "filler" }\n', "")
    assert len(pairbank.load_corpus(write(tmp_path, list(judgments()), map_text=text))) == 32


def test_a_map_is_proposed_with_crossed_factors_and_the_item_by_its_exact_name(tmp_path: Path) -> None:
    rows = list(judgments())
    body = proposed_map([*rows[0]], rows)
    assert 'item = "item"' in body
    assert 'factors = ["structure", "distance"]' in body
    assert '[design.fillers]\nItemType = ["filler"]' in body
    assert "FILL_IN" not in body
    path = tmp_path / "map.toml"
    path.write_text(body, encoding="utf-8")
    design = read_map(path).facts.design
    assert design is not None
    assert design.levels == {"structure": ("non-island", "island"), "distance": ("short", "long")}
    assert "design" not in proposed_map([*rows[0]], [row for row in rows if row["structure"] == "island"])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("distance", "lnog", r"row \d+: column 'distance' is 'lnog'; expected a level .* 'short', 'long'"),
        ("structure", "?", r"row \d+: column 'structure' is '\?'"),
        ("distance", "Long", r"row \d+: column 'distance' is 'Long'; expected a level"),
        ("item", "", "1 of 8 item sets lack a condition"),
    ],
)  # fmt: skip
def test_a_map_declares_the_design_of_a_table_with_a_misspelt_level(
    column: str, value: str, said: str, tmp_path: Path
) -> None:
    rows = list(judgments())
    cells = [row for row in rows if (row["item"], row["structure"], row["distance"]) == ("4", "island", "long")]
    rows = [row | {column: value} if row == cells[0] else row for row in rows if value or row not in cells]
    body = proposed_map([*rows[0]], rows)
    assert '[design.levels]\nstructure = ["non-island", "island"]\ndistance = ["short", "long"]' in body
    assert re.search(said, tried_map(write(tmp_path, rows), body))


def test_a_map_is_proposed_of_columns_whose_names_say_nothing() -> None:
    """Half of the sentences per list; raters, ratings, times and fillers are known by what the columns hold."""
    rows = [
        {"VP": f"v{who}", "Gruppe": str(who % 2), "Nummer": item, "Typ": typ, "Satzart": kind, "Abstand": distance,
         "Satz": f"Was {kind} {distance} {item} der Hund?", "Urteil": str((who + place) % 7 + 1),
         "Dauer": str(1500 + 37 * place + who), "Folge": str((place + who) % 20 + 1)}
        for who in range(12)
        for place, (item, typ, kind, distance) in enumerate(
            [(str(n), "Versuch", kind, distance) for n in range(8) for kind in ("dass", "ob")
             for distance in ("kurz", "lang") if (n + (kind == "ob") + (distance == "lang") + who) % 2]
            + [(f"F{n}", "Ablenker", "", "") for n in range(4)]
        )
    ]  # fmt: skip
    body = proposed_map([*rows[0]], rows)
    for line in (
        'sentence = "Satz"',
        'item = "Nummer"',
        'rater = "VP"',
        'rating = "Urteil"',
        'factors = ["Satzart", "Abstand"]',
        'Typ = ["Ablenker"]',
        'trial_order = "Folge"',
        'response_time = "Dauer"',
    ):
        assert line in body
    assert "FILL_IN" not in body


PAIRS = """
[columns]
target_good = "good"
target_bad = "bad"
pair_id = "set"

[design]
factors = ["attractor"]
"""
LONG = """
layout = "long"
pair = ["set", "attractor"]

[columns]
sentence = "sentence"
pair_id = "set"

[label]
column = "ok"
good = ["1"]
bad = ["0"]

[design]
factors = ["attractor"]
"""
AGREEMENT = [(n, a, f"The {x} near the {y} {v}.") for n, x in enumerate(("lamp", "key", "boat"))
             for a, y in (("none", "door"), ("plural", "doors")) for v in ("hums", "hum")]  # fmt: skip


@pytest.mark.parametrize("layout", ["pairs", "long"])
def test_pairs_have_the_side_as_a_factor_of_their_design(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "agreement.csv"
    if layout == "pairs":
        rows = [f"{n},{a},{good},{bad}" for (n, a, good), (_, _, bad) in zip(*[iter(AGREEMENT)] * 2, strict=True)]
        path.write_text("\n".join(["set,attractor,good,bad", *rows]), encoding="utf-8")
    else:
        rows = [f"{n},{a},{text},{1 - place % 2}" for place, (n, a, text) in enumerate(AGREEMENT)]
        path.write_text("\n".join(["set,attractor,sentence,ok", *rows]), encoding="utf-8")
    (tmp_path / "map.toml").write_text(PAIRS if layout == "pairs" else LONG, encoding="utf-8")
    scored = pairbank.score(pairbank.load_corpus(path), FakeScorer(name="a"), methods=["direct"])
    effects = design([scored_frame(scored, for_analyses=True)], Context(), raw=True).tables["effects"]
    found = {row["term"]: row for row in effects.to_dict("records")}
    assert found["side:attractor"]["contrast"] == "(bad - good) x (none - plural)"
    frame = scored.to_pandas()
    delta = frame["direct_good"] - frame["direct_bad"]
    expected = delta[frame["attractor"] == "plural"].mean() - delta[frame["attractor"] == "none"].mean()
    assert found["side:attractor"]["value"] == pytest.approx(expected)
    assert found["side"]["value"] == pytest.approx(delta.mean())
    if layout == "long":
        (tmp_path / "map.toml").write_text(LONG.replace('pair = ["set", "attractor"]', 'pair = ["set"]'))
        path.write_text("\n".join(["set,attractor,sentence,ok", *rows[::3]]), encoding="utf-8")
        with pytest.raises(PairbankError, match=r"column 'attractor' is 'none' of the better side and 'plural' of"):
            pairbank.load_corpus(path)
