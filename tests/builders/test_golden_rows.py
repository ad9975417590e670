"""The rows of every corpus, as they were when its version was given: a move that nobody announces is an error.

Prepared rows are kept under the corpus's `version` and `BUILDERS_VERSION`, not under a hash of source text. So a change
of code that moves rows must raise one of the two, else users go on with the rows that they have. This test says when.
`golden_rows.json` holds, for each corpus that ships or stands in `$PAIRBANK_SHARED/corpora`: its version, its number of
rows, and one sha256 of all its rows (mended, and of corpora up to 10,000 rows also as the source has them), of its
columns with their types and of the facts in its manifest. `builders/data/paradigms.tsv` has how its items spread over
paradigms, for docs/corpora.md. `python tests/builders/test_golden_rows.py` writes both files anew.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pairbank.builders.catalogue import counted_paradigms, paradigm_row
from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.corpora.tabular import tabular_corpus
from pairbank.builders.corpora.tabular_items import TabularOptions
from pairbank.builders.dataset import BUILDERS_VERSION
from pairbank.builders.load import located_files
from pairbank.builders.schema.columns import Item
from pairbank.builders.schema.validation import Validator
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusFileNotFoundError
from pairbank.files import read_json, sha256_of_texts, write_json

PARADIGMS = Path(__file__).parents[2] / "builders" / "data" / "paradigms.tsv"
GOLDEN = Path(__file__).with_name("golden_rows.json")
FLAGS = {  # as CORPORA.md, section 1, and pandas count them in the files
    "li": "6 duplicate_pair, 1 identical_sides, 32 no_final_punctuation_bad, 26 no_final_punctuation_good, "
    "104 no_human_rating, 3 repaired:double_space_bad, 4 repaired:double_space_good, 41 repaired:mojibake_bad, "
    "40 repaired:mojibake_good, 38 repaired:untrimmed_bad, 42 repaired:untrimmed_good",
    "li-adger": "28 discarded_by_compilers, 8 duplicate_pair, 2 identical_sides, 2 no_human_rating, "
    "1 rated_text_differs_bad, 1 rated_text_differs_good",
    "blimp-li": "1 known_error, 4 no_final_punctuation_bad, 2 no_final_punctuation_good, 3 repaired:untrimmed_bad, "
    "4 repaired:untrimmed_good",
    "cola": "41 duplicate_pair, 1 unacceptable_without_mark",
    "syntaxgym": "25 duplicate_pair",
    "scamp": "12 duplicate_pair",
    "zhoblimp": "85 duplicate_pair",
    "sling": "6 duplicate_pair, 24 identical_sides, 12000 repaired:paradigm_name",
    "dtfit": "3 human_contradicts, 1 human_tie, 1 repaired:split_bad",
    "p18": "",
    "news-2023": "10 continuation_not_alphanumeric, 2 duplicate_pair, 1 untrimmed_prefix",
    "wikipedia": "",
    "news-2024": "1 duplicate_pair",
    "nonsense": "1000 no_truth",
    "randomseq": "1000 no_truth",
}
COMMAND = "python tests/builders/test_golden_rows.py"
SMALL = 10_000
TABLE = """\
good,bad,context,subset,phenomenon,paradigm,human_good,human_bad,human_n,language,id,topic
The owls hoot.,The owls hoots.,,agreement,number,regular,1.5,-0.25,7,en,a1,birds
owls.,owl.,I saw two,agreement,number,,NA,,,en,a2,
"«Да», сказал он.","«Да» сказал, он.",,commas,,,,,,ru,,speech
"""


def _items(corpus: Corpus, files: Mapping[str, LocatedFile], *, repair: bool) -> Iterator[Item]:
    rows = corpus.rows(files, BuildOptions(repair=repair))
    return Validator(corpus.name, corpus.extra_columns, own=corpus.own).checked(rows)


def _record(corpus: Corpus, files: Mapping[str, LocatedFile]) -> tuple[dict[str, Any], dict[str, Counter[str | None]]]:
    """Return what the file holds, and how many items have each paradigm, subset, language and flag."""
    mended, counts = [], {name: Counter[str | None]() for name in ("paradigm", "subset", "language", "flags")}
    for item in _items(corpus, files, repair=True):
        mended.append(json.dumps(item.row()))
        for name in ("paradigm", "subset", "language"):
            counts[name][getattr(item, name)] += 1
        counts["flags"].update(item.flags)
    as_is = [json.dumps(x.row()) for x in _items(corpus, files, repair=False)] if len(mended) <= SMALL else []
    columns = [f"{column.name}:{column.type}" for column in corpus.extra_columns]
    facts = json.dumps(dict(corpus.metadata(files)), sort_keys=True)
    sha256 = sha256_of_texts((*columns, facts, *mended, *as_is))
    return {"version": corpus.version, "n_rows": len(mended), "sha256": sha256}, counts


def _move(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say what is wrong with a corpus's rows, and what to do; "" = nothing."""
    announced = before["builders_version"] != BUILDERS_VERSION or before["version"] != now["version"]
    if (before["n_rows"], before["sha256"]) == (now["n_rows"], now["sha256"]):
        return f"{name}: a version was raised; run {COMMAND}" if announced else ""
    moved = f"{name}: its rows moved ({before['n_rows']} before, {now['n_rows']} now)"
    if announced:
        return f"{moved} and its version was raised; run {COMMAND}"
    return (
        f"{moved}, but neither the corpus's version ({now['version']}) nor BUILDERS_VERSION ({BUILDERS_VERSION}) was "
        "raised: users would go on with the rows in their caches. If they are to move, raise `version` in the corpus's "
        f"file, or, where the rows of many corpora moved, BUILDERS_VERSION in builders/dataset.py; then run {COMMAND}"
    )


def _files_of(corpus: Corpus, root: Path) -> Mapping[str, LocatedFile]:
    """Return the files under a root of corpora; without the pinned ones there is nothing to compare."""
    files = located_files(corpus, root)
    if not files:
        raise CorpusFileNotFoundError(f"{corpus.name}: none of its files stands under {root}")
    if others := [file.name for file in files.values() if not file.verified]:
        raise CorpusFileNotFoundError(f"{corpus.name}: {', '.join(others)} under {root} is not the pinned version")
    return files


def _table(folder: Path) -> tuple[Corpus, Mapping[str, LocatedFile]]:
    path = folder / "my_pairs.csv"
    path.write_text(TABLE, encoding="utf-8")
    return tabular_corpus(path, TabularOptions())


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if CORPORA[name].embedded else pytest.mark.upstream) for name in CORPORA]
)
def test_rows_move_only_with_a_version(name: str) -> None:
    golden = read_json(GOLDEN)
    try:
        files = _files_of(CORPORA[name], _root())
    except CorpusFileNotFoundError as error:
        pytest.skip(str(error).split(";", 1)[0])
    assert name in golden, f"{name} has no golden rows yet; run {COMMAND}"
    corpus = CORPORA[name]
    record, counts = _record(corpus, files)
    assert _move(name, golden[name], record) == ""
    spread = paradigm_row(name, counts["paradigm"].elements())
    assert spread in counted_paradigms(), f"paradigms.tsv is out of step; run {COMMAND}"
    declared = {subset: n for subset, n in corpus.n_by_subset.items() if subset in counts["subset"]}
    assert not corpus.n_by_subset or counts["subset"] == declared
    assert counts["flags"]["identical_sides"] == corpus.n_identical
    flags = ", ".join(f"{n} {flag}" for flag, n in sorted(counts["flags"].items()))
    assert flags == FLAGS.get(name, flags)
    assert counts["language"].keys() <= set(corpus.languages)
    if name != "multiblimp":  # of which this folder may hold some languages only
        assert (record["n_rows"], {*counts["language"]}) == (corpus.n_items, set(corpus.languages))


def test_rows_of_a_file_of_your_own_move_only_with_a_version(tmp_path: Path) -> None:
    assert _move("tabular", read_json(GOLDEN)["tabular"], _record(*_table(tmp_path))[0]) == ""


def test_a_move_says_what_to_raise_and_what_to_run() -> None:
    before = {"builders_version": BUILDERS_VERSION, "version": "1.0.0", "n_rows": 3, "sha256": "a"}
    now = {"version": "1.0.0", "n_rows": 3, "sha256": "a"}
    assert _move("p18", before, now) == ""
    silent = _move("p18", before, now | {"sha256": "b"})
    assert "neither the corpus's version (1.0.0) nor BUILDERS_VERSION" in silent
    assert silent.endswith(f"then run {COMMAND}")
    for announced in (now | {"sha256": "b", "version": "1.0.1"}, now | {"version": "1.0.1"}):
        assert _move("p18", before, announced).endswith(f"run {COMMAND}")
        assert "neither" not in _move("p18", before, announced)
    assert "raised; run" in _move("p18", before | {"builders_version": BUILDERS_VERSION - 1}, now | {"sha256": "b"})


def test_the_file_holds_no_corpus_that_there_is_not() -> None:
    assert read_json(GOLDEN).keys() <= {*CORPORA, "tabular"}


def _root() -> Path:
    shared = os.environ.get("PAIRBANK_SHARED") or Path(__file__).resolve().parents[3] / "shared"
    return Path(shared) / "corpora"


def _rewrite() -> None:
    """Write the file anew; corpora whose files are not here keep what it says, and silent moves are refused."""
    import tempfile

    golden: dict[str, Any] = read_json(GOLDEN) if GOLDEN.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        records = {"tabular": _record(*_table(Path(folder)))[0]}
    spreads = {}
    for name, corpus in CORPORA.items():
        try:
            records[name], counts = _record(corpus, _files_of(corpus, _root()))
            spreads[name] = paradigm_row(name, counts["paradigm"].elements())
        except CorpusFileNotFoundError as error:
            sys.stderr.write(f"{str(error).split(';', 1)[0]}: left as it is\n")
    counted = {row["corpus"]: row for row in counted_paradigms()} | spreads
    lines = [
        "\t".join(paradigm_row("", ())),
        *("\t".join(counted[name].values()) for name in CORPORA if name in counted),
    ]
    PARADIGMS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, record in records.items():
        if name in golden and "neither" in (wrong := _move(name, golden[name], record)):
            sys.exit(wrong)
        golden[name] = record | {"builders_version": BUILDERS_VERSION}
    write_json(GOLDEN, {name: golden[name] for name in golden if name in {*CORPORA, "tabular"}})


if __name__ == "__main__":
    _rewrite()
