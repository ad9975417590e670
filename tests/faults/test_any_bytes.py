"""Whatever the bytes: each reader gives what the file says or an error of ours; two writers always leave a whole bank.

`pytest tests/faults/test_any_bytes.py --hypothesis-profile=long` tries 500 files per reader and 100 interleavings.
"""

import io
import itertools
import json
import os
import re
import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import pairbank
from own_files import damaged, read
from pairbank.builders.corpora.maps import read_map
from pairbank.cards.check import check_bank
from pairbank.errors import PairbankError
from pairbank.scoring.importing.profile import load_profile
from pairbank.scoring.importing.scores import import_logs, import_scores
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.scoring.scored import Scored
from pairbank.study.declaration import load_study
from pairbank.study.model_list import load_list

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "tests/scoring/importing/logs"
IS_LONG = settings.get_current_profile_name() == "long"
GENERATED = (Phase.explicit, Phase.generate)
"""Files are not made smaller: the message shows what was read."""
TABLE = b"Nr;Satz A;Satz B;richtig\n1;Die Hunde bellt.;Die Hunde bellen.;b\n2;Er schl\xc3\xa4ft.;Er schlafen.;A\n"
SCORES = b"model,good,bad,direct_good,direct_bad\nm,A dog barks.,A dog bark.,-3.5,-4.25\nm,A cat.,A cats.,-1,-2e1\n"
MAP = b"""[reading]
delimiter = ";"

[columns]
pair_id = "Nr"

[fixed]
language = "de"

[label]
column = "richtig"
sides = ["Satz A", "Satz B"]
first = ["A"]
second = ["B"]
"""
STUDY = b"""title = "Two"
methods = ["direct", "meta_question_simple"]
seed = 3
analyses = ["comparisons"]

[[corpora]]
name = "starter"
limit = 2

[[models]]
id = "fake:a"
name = "b"
max_length = 10
"""
LIST = b"""[[models]]
id = "fake:a"
name = "a"
dtype = "float32"

[[models]]
id = "org/model"
revision = "v1"
max_length = 128
"""
PROMPT = b"""[[prompts]]
id = "asked"
paper = "own"
design = "yes_no_log_odds"
tasks = ["sentence"]
languages = ["en"]
options = ["A", "B"]
template = "{sentence} A or B?"
"""
ODD = (
    *(b"null", b"NaN", b"1e999", b"-1", b"0", b'""', b'"x"', b"[]", b"{}", b"true", b"\xff", b"\0", b"1979-05-27"),
    *(b"9" * 5_000, b"0." + b"9" * 5_000, b"[" * 3_000, b"[" * 3_000 + b"]" * 3_000, b'"' + b"x" * 9_000 + b'"'),
    *("\u202e".encode(), b"'''", b"0x10", b'"\\ud800"', b"\r", b"=1+1", b'[{"a": [1, {}]}]'),
)
"""What may stand in the place of any value."""
_VALUE = re.compile(rb'"[^"\n]*"|-?\d+(?:\.\d+)?|\b(?:true|false|null)\b|(?<=[,;>])[^,;<>\n]+')


def workbook() -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(
            (("good", "bad", "human_good"), ("A dog barks.", "A dog bark.", 6.5), ("C.", "D."))
        ):
            sheet.write_row(number, 0, row)
    return out.getvalue()


@st.composite
def spoiled(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return a file of text in which values are others, lines are gone, or bytes are changed."""
    for _ in range(draw(st.integers(1, 3))):
        values = [*_VALUE.finditer(whole)]
        kind = draw(st.sampled_from(("value", "value", "line", "bytes")))
        if kind == "value" and values:
            result = draw(st.sampled_from(values))
            whole = whole[: result.start()] + draw(st.sampled_from(ODD)) + whole[result.end() :]
        elif kind == "line":
            lines = whole.splitlines(keepends=True)
            at = draw(st.integers(0, len(lines)))
            whole = b"".join(lines[:at] + lines[at + 1 :] + draw(st.sampled_from([[], lines[:at]])))
        else:
            whole = draw(damaged(whole))
    return whole


@st.composite
def spoiled_workbook(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return a workbook of which one part is spoiled: its checksums are right."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from([name for name in parts if "docProps" not in name and "theme" not in name]))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, draw(spoiled(content)) if part == name else content)
    return out.getvalue()


def read_items(path: Path) -> None:
    result = read(path)
    assert f"; {len(result.rows)} rows" in result.said
    assert all(good.strip() and bad.strip() for good, bad in result.pairs)


def read_mapped(path: Path) -> None:
    table = path.with_name("table.csv")
    table.write_bytes(TABLE)
    assert {pair for pair in read(table, map=read_map(path)).pairs} <= {  # noqa: C416 - as sets, whatever the order
        *(("Die Hunde bellen.", "Die Hunde bellt."), ("Die Hunde bellt.", "Die Hunde bellen.")),
        *(("Er schläft.", "Er schlafen."), ("Er schlafen.", "Er schläft.")),
    }


def read_scores(path: Path) -> None:
    for table in import_scores(path):
        assert all(text.strip() for text in table["target_good"][:])


def read_log(kind: str) -> Callable[[Path], None]:
    def read_one(path: Path) -> None:
        for table in import_logs(path, kind).tables:
            assert len(table)

    return read_one


def read_harness(path: Path) -> None:
    folder = path.parent / "tiny-opt"
    folder.mkdir()
    for file in (LOGS / "lm_eval/tiny-opt").glob("results_*"):
        shutil.copy(file, folder)
    shutil.move(path, folder / f"samples_starter_pairs_{next(iter(folder.iterdir())).stem.partition('_')[2]}.jsonl")
    read_log("lm-eval")(folder)


READERS: dict[str, tuple[bytes, str, Callable[[Path], object]]] = {
    "workbook": (workbook(), ".xlsx", read_items),
    "JSON": (json.dumps([{"good": "A.", "bad": "B.", "human_n": 2}] * 2).encode(), ".json", read_items),
    "column map": (MAP, ".toml", read_mapped),
    "study": (STUDY, ".toml", lambda path: load_study(str(path))),
    "model list": (LIST, ".toml", lambda path: load_list(str(path))),
    "prompts": (PROMPT, ".toml", lambda path: prompts_of([path])),
    "profile": (
        (ROOT / "scoring/importing/profiles/hu-frank-2024.toml").read_bytes(),
        ".toml",
        lambda path: load_profile(str(path)),
    ),
    "scores": (SCORES, ".csv", read_scores),
    "inspect_ai": ((LOGS / "inspect_ai/one-order.json").read_bytes(), ".json", read_log("inspect-ai")),
    "lm-eval": (next((LOGS / "lm_eval/tiny-opt").glob("samples_starter_pairs_*")).read_bytes(), ".jsonl", read_harness),
    "minicons": (b"\n".join((LOGS / "minicons/pairs.csv").read_bytes().splitlines()[:6]), ".csv", read_log("minicons")),
}


@pytest.mark.ci
@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
@settings(max_examples=500 if IS_LONG else 15, phases=GENERATED)
def test_any_bytes_are_read_as_they_say_or_refused(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole, suffix, reader = READERS[kind]
    path = tmp_path_factory.mktemp("any") / f"mine{suffix}"
    path.write_bytes(data.draw(spoiled_workbook(whole) if kind == "workbook" else spoiled(whole)))
    try:
        reader(path)
    except PairbankError as error:
        assert str(error)  # noqa: PT017 - what is read is checked by the readers


@pytest.mark.parametrize("kind", READERS)
def test_the_whole_file_is_read(kind: str, tmp_path: Path) -> None:
    whole, suffix, reader = READERS[kind]
    path = tmp_path / f"mine{suffix}"
    path.write_bytes(whole)
    reader(path)


@pytest.fixture(scope="module")
def bank(upstream_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert upstream_cache.is_dir()
    return Path(pairbank.write_bank(tmp_path_factory.mktemp("whole") / "bank", scored=[scored_by("a")]))


def scored_by(name: str) -> Scored:
    folder = pairbank.load_corpus("starter", subset="plausibility", limit=1)
    return pairbank.score(folder, pairbank.load_model(f"fake:{name}"))


@pytest.mark.ci
@given(data=st.data())
@settings(max_examples=500 if IS_LONG else 10, phases=GENERATED)
def test_a_bank_with_any_file_spoiled_is_whole_or_refused(
    data: st.DataObject, bank: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("any") / "bank"
    shutil.copytree(bank, copy)
    path = data.draw(st.sampled_from(sorted(path for path in copy.rglob("*") if path.is_file())))
    whole = path.read_bytes()
    path.write_bytes(data.draw(spoiled(whole) if path.suffix != ".parquet" else damaged(whole)))
    try:
        check_bank(copy, depth="quick")
    except PairbankError:
        return
    if path.suffix == ".parquet":
        assert path.read_bytes() == whole


class Turns:
    """Lets one of two threads go on at a time, in a given order, from one operation of files to the next."""

    def __init__(self, order: list[bool]) -> None:
        self._order, self._ended = itertools.chain(order, itertools.cycle((False, True))), set[bool]()
        self._free = threading.Condition()
        self._turn: bool | None = None
        self._waiting = set[bool]()

    def wait(self, who: bool) -> None:
        with self._free:
            self._waiting.add(who)
            self._next()
            if not self._free.wait_for(lambda: self._turn is who, timeout=60):
                raise TimeoutError
            self._waiting.discard(who)
            self._turn = None

    def end(self, who: bool) -> None:
        with self._free:
            self._ended.add(who)
            self._next()

    def _next(self) -> None:
        """Choose who goes on, once both wait or have ended."""
        if self._turn is None and self._waiting and self._waiting | self._ended == {False, True}:
            chosen = next(self._order)
            self._turn = chosen if chosen in self._waiting else not chosen
            self._free.notify_all()


@pytest.mark.ci
@given(order=st.lists(st.booleans(), max_size=60))
@settings(max_examples=100 if IS_LONG else 4, phases=GENERATED)
def test_two_writers_in_any_order_leave_a_whole_bank(
    order: list[bool], bank: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("two") / "bank"
    shutil.copytree(bank, copy)
    tables = {False: scored_by("b"), True: scored_by("c")}
    turns, faults = Turns(order), list[BaseException]()
    threads: dict[int, bool] = {}

    def write(who: bool) -> None:
        threads[threading.get_ident()] = who
        try:
            pairbank.write_bank(copy, scored=[tables[who]])
        except BaseException as fault:  # noqa: BLE001 - for the test to show
            faults.append(fault)
        finally:
            turns.end(who)

    def taking_turns(function: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **named: object) -> object:
            if (who := threads.get(threading.get_ident())) is not None:
                turns.wait(who)
            return function(*arguments, **named)

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairbank.cards.bank.lock.time.sleep", taking_turns(lambda _seconds: None))
        for owner, name in ((os, "link"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (Path, "rename")):
            patch.setattr(owner, name, taking_turns(getattr(owner, name)))
        running = [threading.Thread(target=write, args=(who,)) for who in (False, True)]
        for one in running:
            one.start()
        for one in running:
            one.join()
    assert not faults, faults
    manifest = check_bank(copy)
    assert len([*copy.glob("scores/*/*.parquet")]) == 3, manifest["files"]
    assert not [path for path in copy.rglob(".*") if path.is_file()]
