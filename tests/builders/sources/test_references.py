"""Whom to cite: every work once, in one file, and whole."""

import re
from importlib import resources
from pathlib import Path

import pytest

from pairbank.builders import CORPORA
from pairbank.builders.sources.source import bibtex, entries, references
from pairbank.errors import PairbankError, UnknownNameError

ROOT = Path(__file__).resolve().parents[3]
FIELD = re.compile(r"\s*(\w+)\s*=\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})\s*(?:,|$)")
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "year"},
    "software": {"author", "title", "year"},
}


def fields_of(entry: str) -> dict[str, str]:
    """Read an entry strictly: `name = {braced text}`, commas between, nothing else."""
    body = entry[entry.index(",") + 1 : entry.rindex("}")]
    fields: dict[str, str] = {}
    while body.strip():
        field = FIELD.match(body)
        assert field, f"not a field: {body[:60]!r} in {entry!r}"
        assert field[1].lower() not in fields, f"{field[1]} twice in {entry!r}"
        fields[field[1].lower()] = field[2][1:-1]
        body = body[field.end() :]
    return fields


@pytest.mark.parametrize("key", references())
def test_every_entry_parses_and_says_who_what_where_and_when(key: str) -> None:
    entry = references()[key]
    kind = entry[1 : entry.index("{")]
    fields = fields_of(entry)
    assert fields.keys() >= NEEDED[kind]
    assert all(text.strip() for text in fields.values())
    assert re.fullmatch(r"(19|20)\d\d", fields["year"])
    year_in_key = re.search(r"\d{4}", key)
    assert year_in_key is None or year_in_key[0] == fields["year"]


def test_the_entries_stand_in_the_order_of_their_keys_and_no_work_stands_twice() -> None:
    assert list(references()) == sorted(references())
    titles = [re.sub(r"[\W_]+", " ", fields_of(entry)["title"]).casefold() for entry in references().values()]
    assert len(set(titles)) == len(titles)


def test_every_citation_of_a_corpus_comes_from_the_file() -> None:
    for corpus in CORPORA.values():
        cited = entries(corpus.source.citation)
        assert cited, corpus.name
        assert dict(cited).items() <= references().items(), corpus.name
        assert "\n".join(entry for _, entry in cited) == corpus.source.citation


def test_no_entry_stands_in_code() -> None:
    entry = re.compile(r"@(inproceedings|article|misc)\{")
    code = [path for room in ("builders", "scoring", "stats", "cards") for path in (ROOT / room).rglob("*.py")]
    assert len(code) > 100
    assert [str(path) for path in code if entry.search(path.read_text(encoding="utf-8"))] == []


def test_entries_are_joined_in_the_order_of_the_keys() -> None:
    two = bibtex("warstadt2020blimp", "hu2023prompting")
    assert two == references()["warstadt2020blimp"] + "\n\n" + references()["hu2023prompting"]
    assert [key for key, _ in entries(two)] == ["warstadt2020blimp", "hu2023prompting"]


def test_an_unknown_key_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="no reference 'warstadt2020blmip'; did you mean 'warstadt2020blimp'"):
        bibtex("hu2023prompting", "warstadt2020blmip")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("% ours\n@misc{a, year = {2020}}\n@misc{a, year = {2021}}\n", "a more than once"),
        ("% ours\n@misc{a, year = {2020}}\n@misc{b, year = {2021}\n", "1 whole entries, but 2 lines start one"),
        ("% ours\n@misc{a, year = {2020}\n@misc{b, year = {2021}}\n", "1 whole entries, but 2 lines start one"),
        ("% ours\n@misc{a, year = {2020}}\n@misc{, year = {2021}}\n", "1 whole entries, but 2 lines start one"),
    ],
)
def test_a_broken_file_of_references_is_an_error(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "references.bib").write_text(text)
    monkeypatch.setattr(resources, "files", lambda _package: tmp_path)
    references.cache_clear()
    with pytest.raises(PairbankError, match=message):
        references()
    references.cache_clear()
