"""LI-Adger, CoLA, BLIMPLI and Hu & Levy's BLiMP sample, in the upstream formats with sentences of our own."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import pairbank
from corpus_files import known_manifest, table, write_tree
from pairbank.errors import CorpusError, CorpusFileNotFoundError

PAIRS_HEADER = (
    *("dataset", "discard", "notes", "phenomenon", "gramm_id", "gramm_sentence", "ungramm_id", "ungramm_sentence"),
)
SENTENCES_HEADER = ("dataset", "notes", "typo?", "id", "sentence", "judgement")
PAIRS = [
    ("LI", "", "VERIFY", "", "40.1.own.1a.g.01", "Ann sings.", "40.1.own.1b.?*.01", "Ann sing."),
    ("Adger", "X", "", "", "ch9.7.g.01", "We left.", "ch9.7.*.02", "We leaved."),
]
SENTENCES = [
    ("LI", "", "", "40.1.own.1a.g.01", "Ann sings.", 1.25),
    ("LI", "(odd)", "'sings'", "40.1.own.1b.?*.01", "Ann sing..", -0.5),
    ("Adger", "", "", "ch9.7.g.01", "We left.", 0.75),
    ("Adger", "", "", "ch9.7.*.02", "We leaved.", "#N/A"),
]


def write_li_adger(folder: Path, pairs: object = PAIRS, sentences: object = SENTENCES) -> None:
    (folder / "li-adger_min_pairs.csv").write_text(table(PAIRS_HEADER, pairs))  # type: ignore[arg-type]
    (folder / "human_ME_results_li-adger_sentences.csv").write_text(
        table(SENTENCES_HEADER, sentences)  # type: ignore[arg-type]
    )


def test_li_adger_pairs_get_the_judgments_of_their_sentences(tmp_path: Path) -> None:
    write_li_adger(tmp_path)
    items = pairbank.load_corpus("li-adger", data_dir=tmp_path)
    first, second = items
    assert (first["item_id"], second["item_id"]) == ("li-adger/li/1", "li-adger/adger/2")
    assert (first["human_good"], first["human_bad"]) == (1.25, -0.5)
    assert first["human_scale"] == "magnitude-estimation-z"
    assert (first["good_mark"], first["bad_mark"]) == ("g", "?*")
    assert (first["paradigm"], second["paradigm"]) == ("40.1.own.1a | 40.1.own.1b", "ch9.7")
    assert (first["notes"], first["notes_bad"], first["typo_bad"]) == ("VERIFY", "(odd)", "'sings'")
    assert (first["target_bad"], first["rated_bad"], first["rated_good"]) == ("Ann sing.", "Ann sing..", None)
    assert first["flags"] == ["rated_text_differs_bad"]
    assert second["flags"] == ["discarded_by_compilers", "no_human_rating"]
    assert (second["human_good"], second["human_bad"]) == (0.75, None)
    only = pairbank.load_corpus("li-adger", data_dir=tmp_path, subset="adger")
    assert only["item_id"][:] == ["li-adger/adger/2"]


@pytest.mark.parametrize(
    ("pairs", "sentences", "message"),
    [
        (PAIRS, SENTENCES[:3], r"min_pairs\.csv, row 3: ungramm_id 'ch9\.7\.\*\.02' is not among the 3 sentences of"),
        (PAIRS, [*SENTENCES, SENTENCES[0]], r"sentences\.csv, row 6: id '40\.1\.own\.1a\.g\.01' occurs twice"),
        ([("CoLA", *PAIRS[0][1:])], SENTENCES, r"min_pairs\.csv, row 2: dataset is 'CoLA', expected one of LI, Adger"),
    ],
)
def test_malformed_li_adger_files_are_one_clear_error(
    tmp_path: Path, pairs: object, sentences: object, message: str
) -> None:
    write_li_adger(tmp_path, pairs, sentences)
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("li-adger", data_dir=tmp_path)


def test_li_adger_needs_both_files(tmp_path: Path) -> None:
    write_li_adger(tmp_path)
    (tmp_path / "human_ME_results_li-adger_sentences.csv").unlink()
    with pytest.raises(
        CorpusFileNotFoundError, match=r"no file 'human_ME_results.*get it from https://github\.com/hjvm"
    ):
        pairbank.load_corpus("li-adger", data_dir=tmp_path)


COLA = {
    "cola_public/raw/in_domain_train.tsv": 'own1\t1\t\tShe said "go.\nown1\t0\t*\tSaid "go she.\nown1\t0\t\tGo said.\n',
    "cola_public/raw/in_domain_dev.tsv": "own1\t1\t\tNA\n",
    "cola_public/raw/out_of_domain_dev.tsv": 'own2\t1\t \tShe said "go.\n',
    "cola_public/tokenized/in_domain_dev.tsv": "own1\t1\t\tnot this one\n",
}


def write_cola(folder: Path, texts: dict[str, str]) -> None:
    with zipfile.ZipFile(folder / "cola_public.zip", "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)


@pytest.mark.parametrize("packed", [True, False])
def test_cola_rows_are_single_labelled_sentences_read_without_quoting(tmp_path: Path, packed: bool) -> None:
    if packed:
        write_cola(tmp_path, COLA)
    else:
        write_tree(tmp_path, COLA)
    items = pairbank.load_corpus("cola", data_dir=tmp_path)
    assert items["target_good"][:] == ['She said "go.', 'Said "go she.', "Go said.", "NA", 'She said "go.']
    assert set(items["target_bad"][:]) == {None}
    assert set(items["task"][:]) == {"sentence"}
    assert items["label"][:] == [1, 0, 0, 1, 1]
    assert items["mark"][:] == [None, "*", None, None, " "]
    assert items["flags"][:] == [[], [], ["unacceptable_without_mark"], [], ["duplicate_pair"]]
    assert items["item_id"][3:] == ["cola/in_domain_dev/1", "cola/out_of_domain_dev/1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("own1\t1\t\tFine.\n3\tA test row.\n", r"in_domain_dev\.tsv, row 2: 2 cells, .*is it a test set"),
        ("own1\tyes\t\tFine.\n", r"in_domain_dev\.tsv, row 1: 4 cells, the second \['yes'\]; expected source, label"),
        ("own1\t1\t\t\n", r"cola/in_domain_dev/1: target_good is '', expected a non-empty text"),
    ],
)
def test_a_malformed_cola_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    write_cola(tmp_path, COLA | {"cola_public/raw/in_domain_dev.tsv": text})
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("cola", data_dir=tmp_path)


BLIMPLI_HEADER = (
    *("sentence_grammatical", "sentence_ungrammatical", "source", "paradigm", "phenomenon", "LS_grammatical"),
    *("LS_ungrammatical", "LS_diff", "pair_ID"),
)
BLIMPLI = [
    ("The owls hoot.", "The owls hoots.", "blimp", "regular_1", "agreement", "", "", "", 0),
    ("I saw him. ", "I saw he.", "li", "40.1.own.1a-1b", "LI_2015", 0.5, -1.0, 1.5, 1),
]
HU_LEVY_HEADER = ("good_sentence", "bad_sentence", "category", "category_fine", "blimp_UID", "blimp_pairID", "item_id")
HU_LEVY = [
    ("The owls hoot.", "The owls hoots.", "morphology", "subject_verb_agreement", "regular_1", 7, 1),
    ("Owls that hoot fly.", "Owls that hoots fly.", "syntax/semantics", "binding", "principle_1", 9, 2),
]


def write_blimp_li(folder: Path, rows: object = BLIMPLI) -> None:
    (folder / "BLIMPLI.csv").write_text(table(BLIMPLI_HEADER, rows))  # type: ignore[arg-type]


def write_hu_levy(folder: Path, rows: object = HU_LEVY) -> None:
    (folder / "corpus.csv").write_text(table(HU_LEVY_HEADER, rows))  # type: ignore[arg-type]


def test_blimp_li_has_ratings_in_its_li_part_only(tmp_path: Path) -> None:
    write_blimp_li(tmp_path)
    items = pairbank.load_corpus("blimp-li", data_dir=tmp_path)
    assert items["item_id"][:] == ["blimp-li/blimp/0", "blimp-li/li/1"]
    assert items["human_good"][:] == [None, 0.5]
    assert items["human_scale"][:] == [None, "likert7-z"]
    assert items[1]["target_good"] == "I saw him."
    assert (items[1]["source_good"], items[1]["flags"]) == ("I saw him. ", ["repaired:untrimmed_good"])
    as_is = pairbank.load_corpus("blimp-li", data_dir=tmp_path, repair=False)
    assert (as_is[1]["target_good"], as_is[1]["flags"]) == ("I saw him. ", ["defect:untrimmed_good"])


def test_hu_levy_pairs_name_their_item_in_blimp(tmp_path: Path) -> None:
    write_hu_levy(tmp_path)
    items = pairbank.load_corpus("hu-levy-blimp", data_dir=tmp_path)
    assert items["blimp_item_id"][:] == ["blimp/regular_1/7", "blimp/principle_1/9"]
    assert items["field"][:] == ["morphology", "syntax_semantics"]
    assert items["field_source"][:] == [None, "syntax/semantics"]
    assert items["flags"][:] == [[], ["repaired:field_spelling"]]
    as_is = pairbank.load_corpus("hu-levy-blimp", data_dir=tmp_path, subset="binding", repair=False)
    assert as_is["field"][:] == ["syntax/semantics"]


@pytest.mark.parametrize(
    ("corpus", "write", "row", "message"),
    [
        (
            "blimp-li",
            write_blimp_li,
            (*BLIMPLI[1][:6], "", "", 1),
            r"BLIMPLI\.csv, row 2: a pair of li without both ratings",
        ),
        (
            "blimp-li",
            write_blimp_li,
            ("A.", "B.", "cola", *BLIMPLI[0][3:]),
            r"BLIMPLI\.csv, row 2: source is 'cola', expected one of blimp, li",
        ),
        (
            "hu-levy-blimp",
            write_hu_levy,
            (*HU_LEVY[0][:3], "syntax", *HU_LEVY[0][4:]),
            r"corpus\.csv, row 2: category_fine is 'syntax', expected one of anaphor_agreement.*another corpus\.csv",
        ),
    ],
)
def test_a_malformed_table_is_one_clear_error(
    tmp_path: Path, corpus: str, write: Callable[[Path, object], None], row: tuple[object, ...], message: str
) -> None:
    write(tmp_path, [row])
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus(corpus, data_dir=tmp_path)


@pytest.mark.upstream
def test_the_li_part_of_blimp_li_is_derived_from_li_exactly(shared: Path) -> None:
    items = pairbank.load_corpus("blimp-li", data_dir=shared / "corpora", repair=False)
    manifest = known_manifest(items)
    assert manifest["files"]["BLIMPLI.csv"]["verified"]
    part = items.filter(lambda row: row["subset"] == "li").to_pandas()
    assert dict(part.phenomenon.value_counts()) == {"LI_2015": 211, "LI-Adger": 167}
    # CORPORA.md 1.8: rated, as many words, exactly one different (380), each pair once (378), in the order of li
    li = pairbank.load_corpus("li", data_dir=shared / "corpora", repair=False).to_pandas()
    words = [(good.split(), bad.split()) for good, bad in zip(li.target_good, li.target_bad, strict=True)]
    one_differs = [len(g) == len(b) and sum(x != y for x, y in zip(g, b, strict=True)) == 1 for g, b in words]
    derived = li[pd.Series(one_differs) & li.human_good.notna() & li.human_bad.notna()]
    assert len(derived) == 380
    columns = ["target_good", "target_bad", "human_good", "human_bad", "phenomenon", "paradigm"]
    derived = derived.drop_duplicates(["target_good", "target_bad"])[columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(derived, part[columns])


@pytest.mark.slow
@pytest.mark.upstream
def test_hu_levy_pairs_are_blimps_own(shared: Path) -> None:
    items = pairbank.load_corpus("hu-levy-blimp", data_dir=shared / "corpora")
    manifest = known_manifest(items)
    assert manifest["files"]["corpus.csv"]["verified"]
    blimp = pairbank.load_corpus("blimp", data_dir=shared / "corpora").to_pandas().set_index("item_id")
    same = ["target_good", "target_bad", "phenomenon", "paradigm", "field"]
    ours = items.to_pandas()
    theirs = blimp.loc[ours.blimp_item_id, same].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours[same], theirs)
