"""Banks that were edited or damaged: each is a clear problem, and none is extended, stripped or published.

Most of the edits set every hash right again, as a careless editor's script or an attacker would.
"""

import functools
import json
import operator
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import rehashed
from pairbank.errors import PairbankError
from pairbank.scoring.signature import METADATA_KEY

ITEMS, SCORES, SUMMARY = "data/starter/items.parquet", "scores/starter/fake_1.parquet", "results/summary.parquet"
Edit = Callable[[Path], None]
Change = Callable[[pa.Table], pa.Table]
Cells = Callable[[list[Any]], list[Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole bank of two models, which no test changes."""
    items = pairbank.load_corpus("starter", subset="plausibility", limit=3)
    scored = [pairbank.score(items, f"fake:{name}", methods=["direct"]) for name in ("fake-1", "fake-2")]
    folder = tmp_path_factory.mktemp("whole") / "bank"
    return pairbank.write_bank(folder, scored=scored, reports={"demo": pairbank.report(scored)})


def of(path: str, what: str | Change, cells: Cells = list, kind: pa.DataType | None = None) -> Edit:
    """Change the cells of a column, or a whole table; its metadata stay."""

    def edit(bank: Path) -> None:
        table = pq.read_table(bank / path)
        metadata = table.schema.metadata
        if isinstance(what, str):
            values = pa.array(cells(table[what].to_pylist()), kind or table[what].type)
            table = table.set_column(table.column_names.index(what), what, values)
        else:
            table = what(table)
        pq.write_table(table.replace_schema_metadata(metadata), bank / path)
        rehashed(bank)

    return edit


def first(value: object) -> Cells:
    return lambda cells: [value, *cells[1:]]


def without(name: str) -> Change:
    return lambda table: table.drop_columns([name])


def of_both(cells: Cells) -> Edit:
    """Change scores and differences alike, so that they agree."""

    def edit(bank: Path) -> None:
        for column in ("direct_good", "direct_delta"):
            of(SCORES, column, cells)(bank)

    return edit


def of_manifest(change: Callable[[dict[str, Any]], object]) -> Edit:
    def edit(bank: Path) -> None:
        manifest = json.loads((bank / "manifest.json").read_text())
        change(manifest)
        (bank / "manifest.json").write_text(json.dumps(manifest))

    return edit


def stated(*path: str, value: object) -> Edit:
    def change(manifest: dict[str, Any]) -> None:
        functools.reduce(operator.getitem, path[:-1], manifest)[path[-1]] = value

    return of_manifest(change)


def of_bytes(path: str, change: Callable[[bytes], bytes], *, hashes: bool = True) -> Edit:
    def edit(bank: Path) -> None:
        (bank / path).write_bytes(change((bank / path).read_bytes()))
        if hashes:
            rehashed(bank)

    return edit


def of_signature(change: Callable[[bytes], bytes | None]) -> Edit:
    def edit(bank: Path) -> None:
        table = pq.read_table(bank / SCORES)
        metadata = table.schema.metadata
        signature = change(metadata.pop(METADATA_KEY))
        metadata |= {} if signature is None else {METADATA_KEY: signature}
        pq.write_table(table.replace_schema_metadata(metadata), bank / SCORES)
        rehashed(bank)

    return edit


def moved(path: str, to: str = "", *, link: bool = False) -> Edit:
    """Copy a file to another place, or put a link in its place; without a place it is gone."""

    def edit(bank: Path) -> None:
        (bank / to).parent.mkdir(parents=True, exist_ok=True)
        if to and not link:
            shutil.copyfile(bank / path, bank / to)
        else:
            (bank / path).rename(bank.parent / "outside")
        if link:
            (bank / to).symlink_to(bank.parent / "outside")
        rehashed(bank)

    return edit


S = ("scores", "starter", "fake_1")
C = ("corpora", "starter")
EDITS: dict[str, tuple[Edit, str]] = {
    # tables of scores, hashes right again
    "a delta with its sign flipped": (of(SCORES, "direct_delta", lambda d: [-d[0], *d[1:]]), "not good - bad in 1"),
    "all deltas NaN": (of(SCORES, "direct_delta", lambda d: [np.nan] * len(d)), "not good - bad in"),
    "all scores NaN": (of_both(lambda x: [np.nan] * len(x)), "column direct_good is NaN in 12 row"),
    "both numbers of a row edited": (of_both(lambda x: [x[0] - 99, *x[1:]]), "the tables give"),
    "deltas as text": (
        of(SCORES, "direct_delta", lambda d: [str(x) for x in d], pa.string()),
        "a score of direct is no number",
    ),
    "infinite deltas": (of(SCORES, "direct_delta", first(np.inf)), "direct_delta is infinite in 1"),
    "a score column is gone": (of(SCORES, without("direct_delta")), r"lacks the column\(s\) direct_delta of direct"),
    "all columns but the ids are gone": (
        of(SCORES, lambda t: t.select(["item_id"])),
        r"direct_flags of direct\n.*differ from scores",
    ),
    "no item_id": (of(SCORES, without("item_id")), "lacks the column item_id"),
    "some rows only": (of(SCORES, lambda t: t.slice(0, 3)), "3 rows, its signature says"),
    "no rows": (of(SCORES, lambda t: t.slice(0, 0)), "0 rows, its signature says"),
    "a row twice": (of(SCORES, lambda t: pa.concat_tables([t, t.slice(0, 1)])), "occurs in several rows"),
    "a row in the place of another": (
        of(SCORES, lambda t: pa.concat_tables([t.slice(1), t.slice(1, 1)])),
        "occurs in several rows",
    ),
    "unknown items": (of(SCORES, "item_id", first("x/1")), "does not have, as x/1"),
    "a null id": (of(SCORES, "item_id", first(None)), "an item_id is null"),
    "rows in another order": (of(SCORES, lambda t: t.take(list(reversed(range(len(t)))))), "ids and texts"),
    "texts unlike the items": (of(SCORES, "target_good", first("Other.")), "target_good is not that of the items"),
    "another language": (of(SCORES, "language", first("de")), "column language"),
    "flags unlike the items'": (of(SCORES, "flags", first(["odd"])), "column flags"),
    "subsets exchanged": (of(SCORES, "subset", first("other")), "column subset"),
    "ids of two rows exchanged": (of(SCORES, "item_id", lambda x: [x[1], x[0], *x[2:]]), "not that of the items"),
    "a table of integers": (
        of(SCORES, "direct_delta", lambda d: [int(x) for x in d], pa.int64()),
        "direct_delta is not good - bad in 12",
    ),
    # signatures
    "no signature": (of_signature(lambda _: None), "carries no signature"),
    "a broken signature": (of_signature(lambda text: text[:-20]), "its signature is not JSON"),
    "a signature that is a list": (of_signature(lambda _: b"[]"), "signature is none of pairbank's"),
    "a signature that is no UTF-8": (of_signature(lambda _: b"\xff\xfe{}"), "its signature is not JSON"),
    "a signature without a model": (of_signature(lambda _: b'{"methods": {}}'), "signature is none of pairbank's"),
    "another dtype in the signature": (
        of_signature(lambda text: text.replace(b'"float64"', b'"float32"')),
        "its signature is not the manifest's",
    ),
    # items
    "an item edited": (of(ITEMS, "target_bad", first("Other.")), "column target_bad"),
    "an item less": (of(ITEMS, lambda t: t.slice(1)), "rows, the manifest says"),
    "an item twice": (of(ITEMS, lambda t: pa.concat_tables([t.slice(1), t.slice(1, 1)])), "in several rows"),
    "items without texts": (of(ITEMS, without("target_good")), r"lacks the column\(s\) target_good of the shared"),
    "items of another corpus": (of(ITEMS, "corpus", lambda x: ["blimp"] * len(x)), "expected 'starter' only"),
    "a null target": (of(ITEMS, "target_good", first(None)), "null in 1"),
    "a human judgment that is NaN": (of(ITEMS, "human_good", first(np.nan)), "holds NaN or infinity"),
    "human judgments as text": (
        of(ITEMS, "human_good", lambda x: ["7"] * len(x), pa.string()),
        r"Value\('string'\), expected float32",
    ),
    # results
    "an estimate edited": (of(SUMMARY, "value", first(0.99)), "the card says 0.58 .*, the results 0.9900"),
    "an interval edited": (of(SUMMARY, "low", first(0.01)), r"the results 0.5833 \[0.0100, "),
    "n edited": (of(SUMMARY, "n_excluded", first(7)), "the tables give"),
    "an estimate less": (of(SUMMARY, lambda t: t.slice(0, len(t) - 1)), "fake-2 .* the results have no such number"),
    "an estimate twice": (of(SUMMARY, lambda t: pa.concat_tables([t, t.slice(0, 1)])), r"row\(s\) occur twice"),
    "no estimates": (of(SUMMARY, lambda t: t.slice(0, 0)), "fake-2 .* the results have no such number"),
    "results of a model that is not there": (of(SUMMARY, "model", first("gpt-9")), "gpt-9 .* not on the card"),
    "results without values": (of(SUMMARY, without("value")), "value are missing"),
    "values as text": (
        of(SUMMARY, "value", lambda x: [str(v) for v in x], pa.string()),
        "value are missing or of another type",
    ),
    # files
    "a truncated summary": (of_bytes(SUMMARY, lambda b: b[:100]), "not a readable parquet file"),
    "truncated scores": (of_bytes(SCORES, lambda b: b[: len(b) // 2]), "not a readable parquet file"),
    "truncated items": (of_bytes(ITEMS, lambda b: b[:-9]), "not a readable parquet file"),
    "empty scores": (of_bytes(SCORES, lambda _: b""), "not a readable parquet file"),
    "an HTML page as scores": (of_bytes(SCORES, lambda _: b"<html></html>"), "not a readable parquet file"),
    "a flipped bit": (
        of_bytes(SCORES, lambda b: b[:600] + bytes([b[600] ^ 1]) + b[601:], hashes=False),
        "changed since the bank was written",
    ),
    "no items": (moved(ITEMS), "missing"),
    "no card": (moved("README.md"), "missing"),
    "no summary": (moved(SUMMARY), "missing"),
    "an orphan table": (moved(SCORES, "scores/starter/fake_9.parquet"), "no table that the manifest says"),
    "an orphan folder": (moved(ITEMS, "data/other/items.parquet"), "no table that the manifest says"),
    "a stray file": (moved("README.md", "data/starter/notes.md"), "no table that the manifest says"),
    "a link to a file outside": (
        moved("reports/demo/report.md", "reports/demo/report.md", link=True),
        "a link, device",
    ),
    "a link to a folder outside": (
        lambda bank: (bank / "reports" / "mine").symlink_to(bank.parent, target_is_directory=True),
        "a link, device",
    ),
    "items that are a link": (moved(ITEMS, ITEMS, link=True), "a link, device"),
    "a pipe": (lambda bank: os.mkfifo(bank / "reports/demo/pipe.md"), "a link, device"),
    # the card
    "a card that is not UTF-8": (of_bytes("README.md", lambda b: b + b"\xff\xfe"), "README.md: not UTF-8"),
    "a card without a head": (of_bytes("README.md", lambda b: b.split(b"---\n", 2)[2]), "no YAML head"),
    "a card with configs that are none": (
        of_bytes("README.md", lambda b: b.replace(b"\nconfigs:", b"\nconfigs: [1]\nother:", 1)),
        "README.md: its configs are none of pairbank's",
    ),
    "a card with another licence": (
        of_bytes("README.md", lambda b: re.sub(rb"\nlicense:\n(- .*\n)+", b"\nlicense: cc0-1.0\n", b, count=1)),
        r"README.md: its licence is 'cc0-1.0', expected \['",
    ),
    "a card whose licence is a table": (
        of_bytes("README.md", lambda b: re.sub(rb"\nlicense:\n(- .*\n)+", b"\nlicense: {a: b}\n", b, count=1)),
        "README.md: its licence is {'a': 'b'}, expected",
    ),
    # the manifest
    "a manifest that is a list": (of_bytes("manifest.json", lambda _: b"[]", hashes=False), "lacks corpora or scores"),
    "a manifest cut off": (of_bytes("manifest.json", lambda b: b[:99], hashes=False), "not readable as JSON"),
    "corpora as a list": (stated("corpora", value=[]), "corpora is \\[\\]; expected a table"),
    "scores as text": (stated("scores", value="all"), "scores is 'all'; expected a table"),
    "files as a list": (stated("files", value=[]), "files is \\[\\]; expected a table"),
    "a hash that is a number": (stated("files", "README.md", value=7), "expected a sha256"),
    "facts as text": (stated(*C, value="starter"), "corpora.starter is 'starter'; expected a table"),
    "n_items as text": (stated(*C, "n_items", value="12"), "n_items is '12'; expected a whole number"),
    "n_items wrong": (stated(*C, "n_items", value=5), "12 rows, the manifest says 5"),
    "n_rows negative": (stated(*C, "n_rows", value=-1), "n_rows is -1; expected 0 or a larger number"),
    "languages as a number": (stated(*C, "languages", value=7), "languages is 7; expected a list"),
    "source as a list": (stated(*C, "source", value=["x"]), "source is \\['x'\\]; expected a table"),
    "redistributable as text": (stated(*C, "source", "redistributable", value="yes"), "expected true or false"),
    "a title of numbers": (stated(*C, "title", value=[1]), "title is \\[1\\]; expected a text"),
    "a version that is no text": (stated("pairbank", value=1), "pairbank is 1; expected a text"),
    "a command that is no text": (stated("command", value=["rm"]), "command is .*; expected a text"),
    "a signature as text": (stated(*S, value="x"), "scores.starter.fake_1 is 'x'; expected a table"),
    "a model as text": (stated(*S, "model", value="x"), "model is 'x'; expected a table"),
    "a slug of another": (stated(*S, "model", "slug", value="gpt2"), "that of 'gpt2' on 'starter'"),
    "methods as a list": (stated(*S, "methods", value=[]), "methods is \\[\\]; expected a table"),
    "a layout that is none": (
        stated(*S, "methods", "direct", "layout", value={"kind": "x"}),
        "direct.layout.method is missing",
    ),
    "a revision that is null": (stated(*S, "model", "revision", value=None), "model.revision is None"),
    "scores of a corpus that is not there": (
        of_manifest(lambda m: m["scores"].update(blimp={})),
        "scores of 'blimp', which is none of the corpora",
    ),
    "a slug that leads out": (
        of_manifest(lambda m: m["scores"]["starter"].update({"../../secret": m["scores"]["starter"]["fake_1"]})),
        "cannot name a split",
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", EDITS)
def test_an_edited_bank_is_a_clear_problem(whole: Path, tmp_path: Path, name: str) -> None:
    edit, expected = EDITS[name]
    bank = tmp_path / "bank"
    shutil.copytree(whole, bank)
    edit(bank)
    with pytest.raises(PairbankError, match=expected):
        pairbank.check_bank(bank)


@pytest.mark.parametrize("name", ["texts unlike the items", "an orphan table", "a link to a file outside", "a pipe"])
def test_a_bank_that_is_not_whole_is_neither_extended_nor_stripped_nor_published(
    whole: Path, tmp_path: Path, name: str
) -> None:
    edit, expected = EDITS[name]
    bank = tmp_path / "bank"
    shutil.copytree(whole, bank)
    edit(bank)
    for use in (
        lambda: pairbank.write_bank(bank),
        lambda: pairbank.strip_texts(bank, tmp_path / "public"),
        lambda: pairbank.merge_banks(bank, whole, out=tmp_path / "merged"),
        lambda: pairbank.publish(bank, "acme/bank", dry_run=True),
    ):
        with pytest.raises(PairbankError, match=f"{expected}|a link, device"):
            use()
    assert not (tmp_path / "public").exists()
    assert not (tmp_path / "merged").exists()
