"""Every command that pairbank prints runs as printed: on cards, in sites and in messages, for five kinds of bank."""

import contextlib
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from hub_emulator import FakeHub
from pairbank.cards.bank.layout import read_manifest
from pairbank.cards.card.add_model import commands_for
from pairbank.cards.site.site import SiteServer
from pairbank.cli import app

PAIRS = "good,bad\nThe dogs bark.,The dogs barks.\nShe has slept.,She have slept.\nNobody lied.,Nobody lie.\n"
SINGLE = "sentence,mean_rating\nThe dogs bark.,6.5\nThe dogs barks.,2.5\nShe has slept.,6.0\nShe have slept.,1.5\n"
PROMPT = """
[[prompts]]
id = "lecturer"
design = "both_orders"
tasks = ["sentence_pair"]
languages = ["en"]
options = ["A", "B"]
template = "A lecturer corrects A: {first} or B: {second}"
"""
JUDGED = "participant,item,sentence,grammatical,rating\n" + "".join(
    f"r{rater},{item},{sentence},{ok},{rating}\n"
    for rater in range(4)
    for item, sentence, ok, rating in (
        ("i1", "The dogs bark.", "yes", 7 - rater % 2),
        ("i1", "The dogs barks.", "no", 2 + rater % 2),
        ("i2", "She has slept.", "yes", 6),
        ("i2", "She have slept.", "no", 3 - rater % 3),
        ("check", "Please choose 7.", "", 7 if rater < 3 else 2),
    )
)


@dataclass
class Session:
    patch: pytest.MonkeyPatch
    printed: list[str] = field(default_factory=list)

    def type(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        self.patch.setattr("sys.argv", words)
        if words[:2] == ["python", "-c"]:
            exec(words[2], {})  # noqa: S102 - the line that pairbank prints
            return ""
        assert words[0] == "pairbank", line
        result = completed(words[1:])
        self.printed.append(result.output)
        return result.output

    def type_what_was_printed(self, **filled: str) -> list[str]:
        """Run each command of all messages so far; return them."""
        lines = [line for text in self.printed for line in commands_in(text)]
        for line in dict.fromkeys(lines):
            self.type(replaced(line, filled))
        return lines


def commands_in(text: str) -> Iterator[str]:
    """Yield the commands of a message: indented, or after a colon or comma; a bracket ends one."""
    for line in text.splitlines():
        if match := re.match(r"\s*(python -c .*|pairbank \w+ .*)$", line):
            yield match[1]
        else:
            yield from re.findall(r"(?:[:,(] ?|then |type |`)(pairbank [a-z]+ [^`;)(]+)", line)


def replaced(line: str, filled: dict[str, str]) -> str:
    for place, value in filled.items():
        line = line.replace(place, value)
    return line


def with_an_own_prompt(session: Session) -> None:
    Path("pairs.csv").write_text(PAIRS, encoding="utf-8")
    Path("own.toml").write_text(PROMPT, encoding="utf-8")
    for model in "ab":
        session.type(
            f"pairbank score pairs.csv --language en --model fake:{model} --prompts own.toml -m direct -m lecturer "
            f"--out {model}.parquet"
        )
    session.type("pairbank bank a.parquet b.parquet --out bank")


def with_imported_numbers(session: Session) -> None:
    Path("pairs.csv").write_text(PAIRS, encoding="utf-8")
    rows = [f"{line},-3.5,-4.5,0.3,0.1" for line in PAIRS.splitlines()[1:]]
    head = "good,bad,direct_good,direct_bad,slor_own_good,slor_own_bad"
    Path("theirs.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    session.type(
        "pairbank import theirs.csv --corpus pairs --model a --score slor_own=score,direction=higher --out imported"
    )
    session.type("pairbank bank imported/a.parquet --out bank")


def that_was_merged(session: Session) -> None:
    Path("pairs.csv").write_text(PAIRS, encoding="utf-8")
    for model in "ab":
        session.type(f"pairbank score pairs.csv --language en --model fake:{model} -m direct --out {model}.parquet")
        session.type(f"pairbank bank {model}.parquet --out bank-{model}")
    session.type("pairbank bank --out bank-a --licence pairs=cc-by-4.0")
    session.type("pairbank merge bank-a bank-b --out bank")


def of_single_sentences(session: Session) -> None:
    Path("rated.csv").write_text(SINGLE, encoding="utf-8")
    refused = CliRunner().invoke(app, ["score", "rated.csv", "--model", "fake:a", "--out", "a.parquet"])
    [advice] = [line for line in commands_in(str(refused.exception)) if " map " in line]
    session.type(advice)
    session.type("pairbank score rated.csv --language en --model fake:a --out a.parquet")
    session.type("pairbank bank a.parquet --out bank")


def with_ratings_per_rater(session: Session) -> None:
    Path("judged.csv").write_text(JUDGED, encoding="utf-8")
    session.type("pairbank new map judged.csv")
    session.type("pairbank score judged.csv --language en --model fake:a --out a.parquet")
    session.type("pairbank bank a.parquet --out bank --licence judged=cc-by-4.0")


KINDS = [with_an_own_prompt, with_imported_numbers, that_was_merged, of_single_sentences, with_ratings_per_rater]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: FakeHub) -> Session:
    """Stand in an empty folder; a web server stops at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SiteServer, "serve_forever", lambda _self: None)
    monkeypatch.setattr("typer.launch", lambda _url: 0)
    assert not hub.repos
    return Session(patch=monkeypatch)


def numbers_of(manifest_line: str, ids: list[str]) -> str:
    """Return a file with the columns that a card's comment names, a number in each cell."""
    columns = manifest_line.split(" columns ")[1].split(", ")
    cells = ["-3.5" if name.startswith("direct") else "0.2" for name in columns[1:]]
    return "\n".join([",".join(columns), *(",".join([entry, *cells]) for entry in ids)])


@pytest.mark.ci
@pytest.mark.parametrize("made", KINDS, ids=lambda kind: kind.__name__)
def test_every_command_of_messages_card_and_site_runs_as_printed(
    made: Callable[[Session], None], session: Session
) -> None:
    made(session)
    bank = Path("bank")
    manifest = read_manifest(bank)
    (corpus,) = manifest["corpora"]
    prompted = sorted(path.stem for path in bank.glob("prompts/*.toml"))
    lines = session.type_what_was_printed(**{"ORG/NAME": "lab/bank", "--model demo": "--model fake:a"})
    assert any(line.startswith("pairbank browse bank") for line in lines)
    card = (bank / "README.md").read_text(encoding="utf-8")
    add, again = (card.split(f"\n## {title}")[1].split("\n## ")[0] for title in ("Add your model", "Make it again"))
    inline = [line for line in re.findall(r"`(pairbank [a-z]+[^`]*)`", card) if len(line.split()) > 2]
    shown = commands_for(manifest, "bank")
    assert [line.replace("THIS_BANK", "bank") for line in lines_of(add)] == [*shown.score, *shown.bank, *shown.merge]
    make_it_again(session, lines_of(again))
    for line in [*inline, *lines_of(add)]:
        if line.startswith("#"):
            ids = list(pairbank.load_corpus(f"bank/data/{corpus}/items.parquet")["item_id"])
            Path("NUMBERS.csv").write_text(numbers_of(line, ids), encoding="utf-8")
            continue
        for method in prompted if "METHOD" in line else [""]:
            session.type(replaced(line, {"THIS_BANK": "bank", "ORG/MODEL": "fake:c", "METHOD": method}))
    models = read_manifest(Path("merged"))["scores"][corpus]
    assert len(models) == len(manifest["scores"][corpus]) + 1


def lines_of(section: str) -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL) for line in block.splitlines()]


def make_it_again(session: Session, lines: list[str]) -> None:
    """Run the commands that made the bank beside copies of the files they read; the bank has the same files."""
    made = read_manifest(Path("bank"))
    Path("again").mkdir()
    for path in [*Path().glob("*.parquet"), *Path().glob("imported")]:
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, Path("again") / path.name)
    with contextlib.chdir("again"):
        for line in lines:
            session.type(line)
        assert read_manifest(Path("bank"))["files"] == made["files"]
