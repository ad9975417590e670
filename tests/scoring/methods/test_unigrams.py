"""Unigram counts: against a naive counter, and from every kind of source."""

import json
import math
from collections import Counter
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import PreTrainedTokenizerFast

import pairbank
from pairbank.errors import CorpusError, CorpusFileNotFoundError, ModelLoadError, ScoringError
from pairbank.scoring.methods.documents import documents_of_dataset, documents_of_files, documents_of_items
from pairbank.scoring.methods.unigrams import Unigrams, count_unigrams, read_unigrams, unigrams_for
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.tokenizing import vocabulary_of
from tiny_tokenizers import TOKENIZERS

TEXTS = [
    "The keys to the cabinet are on the table.",
    "A dog barks, and the dogs bark again: 1 or 2?",
    "这本书很有意思。",
    "  Two  spaces,\ta tab\nand a line.",
]


def counted(table: Unigrams) -> dict[int, int]:
    return {int(i): int(table.counts[i]) for i in np.flatnonzero(table.counts)}


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
def test_counts_are_those_of_a_counter_over_documents_encoded_one_by_one(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    expected: Counter[int] = Counter()
    for text in TEXTS * 3:
        expected.update(tokenizer(text, add_special_tokens=False)["input_ids"])
    table = count_unigrams(TEXTS * 3, tokenizer)
    assert counted(table) == expected
    assert (table.n_documents, table.n_tokens) == (12, expected.total())
    assert table.n_vocabulary == len(tokenizer.get_vocab())


def test_add_one_smoothing_gives_every_token_a_share_and_sums_to_one() -> None:
    tokenizer = TOKENIZERS["byte_bpe_eos"]()
    table = count_unigrams(TEXTS, tokenizer)
    seen, unseen = int(table.counts.argmax()), int(np.flatnonzero(table.counts == 0)[0])
    probability = np.exp(table.logprobs_nats(np.arange(len(tokenizer))))
    n, size = table.n_tokens, len(tokenizer)
    assert probability[seen] == pytest.approx((table.counts[seen] + 1) / (n + size), abs=1e-15)
    assert probability[unseen] == pytest.approx(1 / (n + size), abs=1e-15)
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    half = count_unigrams(TEXTS, tokenizer, smoothing=0.5)
    assert half.logprobs_nats([unseen])[0] == pytest.approx(math.log(0.5 / (n + 0.5 * size)), abs=1e-12)
    assert half.sha256 != table.sha256


def test_a_table_is_read_back_as_it_was_saved(tmp_path: Path) -> None:
    table = count_unigrams(TEXTS, TOKENIZERS["metaspace_bpe"](), smoothing=2)
    again = read_unigrams(table.save(tmp_path / "deep" / "u.parquet"))
    assert np.array_equal(again.counts, table.counts)
    assert (again.signature, again.sha256) == (table.signature, table.sha256)
    assert again.signature["smoothing"] == "add-2"


def test_every_source_of_the_same_texts_gives_the_same_counts(tmp_path: Path) -> None:
    texts = [text for text in TEXTS if "\n" not in text]
    fake = FakeScorer()
    expected = count_unigrams(texts, fake)
    lines = tmp_path / "lines.txt"
    lines.write_text("\n\n".join(texts) + "\r\n", encoding="utf-8", newline="")
    rows = [{"body": text, "n": n} for n, text in enumerate(texts)]
    jsonl = tmp_path / "rows.jsonl"
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    parquet = tmp_path / "data" / "train.parquet"
    parquet.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), parquet)
    result = [
        count_unigrams(lines, fake),
        count_unigrams([jsonl], fake, column="body"),
        count_unigrams(documents_of_files([parquet], column="body"), fake),
        count_unigrams(datasets.Dataset.from_list(rows), fake, column="body"),
        count_unigrams(documents_of_dataset(str(parquet.parent), column="body"), fake),
        count_unigrams(documents_of_dataset(str(parquet.parent), column="body", streaming=False), fake),
    ]
    for table in result:
        assert counted(table) == counted(expected)
        assert table.documents_sha256 == expected.documents_sha256
        assert table.n_documents == len(texts)
    assert result[4].source == {
        "kind": "dataset",
        "dataset": "data",
        "config": None,
        "split": "train",
        "column": "body",
        "revision": None,
        "n_documents": None,
    }


def test_the_first_documents_alone_are_counted_where_a_number_is_given(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["aa", "b", "cccc"]}), path)
    fake = FakeScorer()
    for documents in (documents_of_files([path], n_documents=2), documents_of_dataset(str(tmp_path), n_documents=2)):
        table = count_unigrams(documents, fake)
        assert counted(table) == {ord("a"): 2, ord("b"): 1}
        assert table.n_documents == 2


def test_a_whole_file_is_one_document_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text("One line.\n\nAnother.\n", encoding="utf-8")
    table = count_unigrams(documents_of_files([path], plain_text="file"), FakeScorer())
    assert (table.n_documents, table.counts[ord("\n")]) == (1, 3)


def test_the_better_sentences_of_a_corpus_are_counted_once_each_and_no_worse_one() -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    table = count_unigrams(documents_of_items(items), FakeScorer())
    sentences = {f"{row['context_good']} {row['target_good']}" for row in items}
    assert table.n_documents == len(sentences)
    assert table.n_tokens == sum(map(len, sentences))
    labelled = items.add_column("label", [0] + [1] * (len(items) - 1))
    assert count_unigrams(documents_of_items(labelled), FakeScorer()).n_documents == len(sentences) - 1
    with pytest.raises(CorpusError, match="no item has a better side"):
        documents_of_items(items.add_column("label", [0] * len(items)))


def test_text_that_spells_a_special_token_is_counted_as_text_and_the_tokenizer_is_left_as_it_was() -> None:
    tokenizer = TOKENIZERS["byte_bpe_bos"]()
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    table = count_unigrams(["a </s> b and much more than three tokens"], tokenizer)
    assert table.counts[tokenizer.eos_token_id] == 0
    assert table.n_tokens > 9
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    assert (rules["truncation"]["max_length"], rules["padding"]["strategy"]) == (3, {"Fixed": 9})
    assert tokenizer.backend_tokenizer.encode_special_tokens is False


def test_counts_of_another_tokenizer_are_refused_and_of_several_tables_the_right_one_is_taken() -> None:
    tokenizers = {kind: TOKENIZERS[kind]() for kind in ("byte_bpe_eos", "metaspace_bpe")}
    tables = [count_unigrams(TEXTS, tokenizer) for tokenizer in tokenizers.values()]
    for table, tokenizer in zip(tables, tokenizers.values(), strict=True):
        assert unigrams_for(vocabulary_of(tokenizer), tables, wanted_by="slor") == [table]
    with pytest.raises(
        ScoringError, match=r"slor with m: the unigram counts were made with the tokenizer of .* pairbank"
    ):
        unigrams_for(vocabulary_of(tokenizers["metaspace_bpe"]), tables[0], wanted_by="slor with m")


def test_a_fingerprint_tells_a_changed_vocabulary_and_a_changed_way_of_cutting() -> None:
    plain, larger = TOKENIZERS["byte_bpe_eos"](), TOKENIZERS["byte_bpe_eos"]()
    prints = {vocabulary_of(plain).fingerprint}
    assert vocabulary_of(larger).fingerprint in prints
    larger.add_tokens(["zebra"])
    prints.add(vocabulary_of(larger).fingerprint)
    table = json.loads(plain.backend_tokenizer.to_str())
    table["pre_tokenizer"]["add_prefix_space"] = True
    other = PreTrainedTokenizerFast(tokenizer_object=type(plain.backend_tokenizer).from_str(json.dumps(table)))  # type: ignore[no-untyped-call]
    prints.add(vocabulary_of(other).fingerprint)
    assert len(prints) == 3


@pytest.mark.ci
def test_the_size_of_the_demo_vocabulary_is_that_of_its_model_card(demo_model: object) -> None:
    # SmolLM2: "vocab_size": 49152 in its config.json
    assert vocabulary_of(demo_model).n_tokens == 49152
    assert vocabulary_of("demo").fingerprint == vocabulary_of(demo_model).fingerprint


def test_what_cannot_be_counted_is_stated(tmp_path: Path) -> None:
    fake = FakeScorer()
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "a"}\n{"text": 3}\n', encoding="utf-8")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": \n', encoding="utf-8")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("café".encode("latin-1"))
    with pytest.raises(CorpusError, match=r"row 2: 'text' is int, expected a string"):
        count_unigrams(bad, fake)
    with pytest.raises(CorpusError, match=r"no column 'body'; it has text"):
        count_unigrams(bad, fake, column="body")
    with pytest.raises(CorpusError, match=r"line 1: not JSON"):
        count_unigrams(broken, fake)
    with pytest.raises(CorpusError, match="not UTF-8"):
        count_unigrams(latin, fake)
    with pytest.raises(CorpusFileNotFoundError, match=r"no file .*absent\.txt"):
        count_unigrams(tmp_path / "absent.txt", fake)
    with pytest.raises(CorpusError, match="no token to count in 0 documents"):
        count_unigrams([], fake)
    with pytest.raises(CorpusError, match="documents is one string"):
        count_unigrams("one text", fake)
    with pytest.raises(ScoringError, match="smoothing is 0"):
        count_unigrams(["a"], fake, smoothing=0)
    with pytest.raises(ScoringError, match="int has no tokenizer"):
        count_unigrams(["a"], 3)
    with pytest.raises(ModelLoadError, match="cannot load"):
        count_unigrams(["a"], str(tmp_path))
    with pytest.raises(CorpusError, match="cannot open the dataset"):
        documents_of_dataset(str(tmp_path / "none"))
    with pytest.raises(ScoringError, match=r"ids 0 to"):
        count_unigrams(["a"], fake).logprobs_nats([10**7])


def test_a_file_that_is_no_table_of_counts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(CorpusError, match="carries no unigram signature"):
        read_unigrams(path)
    with pytest.raises(CorpusError, match="no readable unigram counts"):
        read_unigrams(tmp_path / "none.parquet")
