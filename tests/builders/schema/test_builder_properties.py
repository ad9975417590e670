"""Whatever the words are: files in upstream's format give rows that the validator and the Features accept."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.registry import corpus_named
from pairbank.builders.dataset import builder_class, features
from pairbank.builders.schema.columns import Item
from pairbank.builders.schema.validation import Validator
from pairbank.builders.sources.source import LocatedFile

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(lambda text: any(map(str.isalpha, text)))
LINE = TEXT.map(lambda text: " ".join(text.split()))
RATING = st.floats(1, 7)
LOG_FREQUENCY = st.floats(0, 20)


def build(corpus: Corpus, folder: Path, *, repair: bool) -> list[Item]:
    """Return the corpus's items from the files in a folder, checked as a build checks them."""
    files = {file.name: file.name for file in corpus.source.files if (folder / file.name).exists()}
    located = {name: LocatedFile(path=folder / name, name=name, sha256="", verified=False) for name in files.values()}
    validator = Validator(corpus.name, corpus.extra_columns)
    return list(validator.checked(corpus.rows(located, BuildOptions(repair=repair))))


def accepted(corpus: Corpus, write: Any) -> list[Item]:  # noqa: ANN401 - a function of a folder
    """Build mended and as it is; return the mended items."""
    with TemporaryDirectory() as name:
        write(Path(name))
        as_is = build(corpus, Path(name), repair=False)
        items = build(corpus, Path(name), repair=True)
    schema = features(corpus.extra_columns).arrow_schema
    for made in (as_is, items):
        assert pa.Table.from_pylist([item.row() for item in made], schema=schema).num_rows == len(made)
    assert [item.item_id for item in items] == [item.item_id for item in as_is]
    assert all(item.corpus == corpus.name and item.task in corpus.tasks for item in items)
    assert all(item.language in corpus.languages for item in items)
    return items


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]], first_line: str = "") -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write(first_line)
        csv.writer(out).writerows([header, *rows])


@given(st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT, RATING, RATING), min_size=1, max_size=5))
@settings(max_examples=40)
def test_dtfit_rows_are_valid_and_say_what_people_rated(pairs: list[tuple[str, str, str, str, float, float]]) -> None:
    def write(folder: Path) -> None:
        header = ("item_id", "prefix", "good_continuation", "bad_continuation", "category")
        cells = [(n, prefix, good, cut, "c", x, y) for n, (prefix, good, _, cut, x, y) in enumerate(pairs)]
        write_csv(folder / "corpus.csv", (*header, "good_human_score", "bad_human_score"), cells)
        rated = [
            (f"{prefix} {word}.", label, score, n)
            for n, (prefix, good, bad, _, x, y) in enumerate(pairs)
            for word, label, score in ((good, "Plausible", x), (bad, "Implausible", y))
        ]
        write_csv(folder / "clean_DTFit_human_dat.csv", ("Sentence", "Plausibility", "Score", "ItemNum"), rated)

    items = accepted(corpus_named("dtfit"), write)
    assert [(item.target_good, item.target_bad) for item in items] == [(good, bad) for _, good, bad, *_ in pairs]
    assert [item.extra["source_bad"] for item in items] == [None if cut == bad else cut for _, _, bad, cut, *_ in pairs]


@given(st.lists(st.tuples(TEXT, TEXT, TEXT, LOG_FREQUENCY, LOG_FREQUENCY), min_size=1, max_size=5))
@settings(max_examples=40)
def test_nonsense_rows_are_valid(pairs: list[tuple[str, str, str, float, float]]) -> None:
    header = ("item_id", "prefix", "good_continuation", "bad_continuation", "log_freq", "log_freq_alter")
    rows = [(f"jabberwocky_{n}", *pair) for n, pair in enumerate(pairs)]
    items = accepted(corpus_named("nonsense"), lambda folder: write_csv(folder / "jabberwocky.csv", header, rows))
    assert all("no_truth" in item.flags for item in items)
    assert [(x.context_good, x.target_good, x.target_bad) for x in items] == [pair[:3] for pair in pairs]
    assert [item.extra["log_freq_bad"] for item in items] == [pair[4] for pair in pairs]


CONCEPT_PAIR = st.fixed_dictionaries(
    {
        "property": TEXT,
        "acceptable_concept": TEXT,
        "unacceptable_concept": TEXT,
        "prefix_acceptable": TEXT,
        "prefix_unacceptable": TEXT,
        "property_phrase": TEXT,
        "negative_sample_type": st.sampled_from(("taxonomic", "overlap", "co-occurrence", "random")),
    },
    optional={
        "similarity": st.none() | st.floats(0, 1),
        "base_id": st.integers(0, 9),
        "nonsense_words": TEXT | st.lists(TEXT, max_size=2),
        "distraction_type": st.none() | TEXT,
    },
)


@given(st.lists(CONCEPT_PAIR, min_size=1, max_size=4))
@settings(max_examples=40)
def test_comps_rows_are_valid_and_differ_from_the_source_in_a_capital_at_most(rows: list[dict[str, Any]]) -> None:
    def write(folder: Path) -> None:
        text = "".join(json.dumps({"id": n, **row}, ensure_ascii=False) + "\n" for n, row in enumerate(rows))
        for file in corpus_named("comps").source.files:
            (folder / file.name).write_text(text, encoding="utf-8", newline="")

    items = accepted(corpus_named("comps"), write)
    assert len(items) == 4 * len(rows)
    for item, row in zip(items, rows, strict=False):
        source = f"{row['prefix_acceptable']} {row['property_phrase']}"
        assert item.target_good.endswith(source[1:])


SENTENCE_PAIR = st.fixed_dictionaries(
    {"acceptable_sent": TEXT, "unacceptable_sent": TEXT, "negative_sample_type": TEXT},
    optional={"acceptable_concept": TEXT, "unacceptable_concept": TEXT, "property": TEXT | st.none()},
)
FACTS = ("concept_good", "concept_bad", "property")


@given(st.dictionaries(LINE, SENTENCE_PAIR, min_size=1, max_size=4))
@settings(max_examples=40)
def test_xcomps_rows_are_valid_and_know_all_of_concepts_and_property_or_nothing(rows: Mapping[str, Any]) -> None:
    def write(folder: Path) -> None:
        for file in corpus_named("xcomps").source.files:
            (folder / file.name).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8", newline="")

    items = accepted(corpus_named("xcomps"), write)
    assert len(items) == 17 * len(rows)
    for item in items:
        n_known = sum(item.extra[name] is not None for name in FACTS)
        assert n_known in (0, 3)
        assert ("no_concepts" in item.flags) == (n_known == 0)


COLUMNS = ("MetaTemplateID", "TemplateID", "ConceptA", "ConceptB", "TargetDiff", "ContextDiff", "ContextType")


@given(st.lists(st.tuples(*[LINE] * 7, *[LINE] * 4), min_size=1, max_size=4))
@settings(max_examples=40)
def test_ewok_rows_are_valid_and_swap_the_contexts(rows: list[tuple[str, ...]]) -> None:
    header = ("Domain", *COLUMNS, "Target1", "Target2", "Context1", "Context2")
    cells = [("social_relations", *row) for row in rows]
    items = accepted(
        corpus_named("ewok"), lambda folder: write_csv(folder / "ewok-core-1.0.csv", header, cells, "a canary\n")
    )
    assert len(items) == 2 * len(rows)
    for first, second in zip(items[::2], items[1::2], strict=True):
        assert (first.context_good, first.context_bad) == (second.context_bad, second.context_good)
        assert first.target_good == first.target_bad != "" != second.target_good == second.target_bad


def test_streaming_and_several_processes_give_the_same_rows(tmp_path: Path) -> None:
    rows = [(number, f"Sentence {number} ends in", f"word{number}") for number in range(50)]
    write_csv(tmp_path / "corpus.csv", ("item_id", "prefix", "continuation"), rows)
    corpus = corpus_named("p18")
    file = LocatedFile(path=tmp_path / "corpus.csv", name="corpus.csv", sha256="", verified=False)
    tables = []
    for name, n_processes in (("one", None), ("two", 2)):
        builder = builder_class(corpus)(files={file.name: file}, cache_dir=str(tmp_path / name), dataset_name="p18")
        builder.download_and_prepare(num_proc=n_processes)
        tables.append(builder.as_dataset(split="items").to_list())
    streamed = builder_class(corpus)(files={file.name: file}, cache_dir=str(tmp_path / "s"), dataset_name="p18")
    stream = streamed.as_streaming_dataset(split="items")
    assert isinstance(stream, datasets.IterableDataset)
    assert list(stream) == tables[0] == tables[1]
    assert len(tables[0]) == 50
