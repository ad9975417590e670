"""The corpora of some thirty languages: upstream's counts, and their layouts with sentences of our own."""

import json
from pathlib import Path

import pytest

import pairbank
from corpus_files import write_tree
from pairbank.builders.corpora.corpus_map import corpus_map
from pairbank.builders.corpora.declared import corpus_files
from pairbank.builders.corpora.registry import CORPORA, MAPS, OURS
from pairbank.builders.corpora.syntaxgym import joined_with_spans
from pairbank.errors import CorpusError, CorpusFileNotFoundError


def test_a_file_of_facts_is_enough_for_a_corpus() -> None:
    assert set(MAPS) < set(corpus_files()) == set(OURS)
    assert {"jblimp", "rucola"} <= set(MAPS)
    assert not {"blimp", "ewok"} & set(MAPS)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_in_data_says_all_of_a_corpus(name: str) -> None:
    result = corpus_map(name)
    assert result.facts.source().licence
    assert result.facts.source().citation.startswith("@")
    assert result.facts.n_items == CORPORA[name].n_items
    for file in result.facts.source().files:
        assert any(one.archive == file.name or one.fits(file.name) for one in result.tables), file.name
        assert len(file.sha256) == 64 or name == "multiblimp"


def built(folder: Path, name: str, **options: str) -> list[dict[str, object]]:
    return list(pairbank.load_corpus(name, data_dir=folder, **options))  # type: ignore[arg-type]


def test_of_multiblimp_a_folder_may_hold_some_languages(tmp_path: Path) -> None:
    header = "sen\twrong_sen\tphenomenon\tprefix\thead\tswap_head\tchild\tfeature_vals\tdistance\tnum_attractors"
    header += "\thas_attractors\two\tinflect_item\n"
    row = "Kissat nukkuvat.\tKissat nukkuu.\tSV-#\tKissat\tnukkuvat\tnukkuu\tKissat\tPlur -> Sing\t1\t0\tFalse"
    row += "\tSV\tverb\n"
    write_tree(tmp_path, {"fin/data.tsv": header + row, "nds/data.tsv": header + row})
    items = built(tmp_path, "multiblimp")
    assert [item["language"] for item in items] == ["fi", "nds"]
    assert [item["item_id"] for item in items] == ["multiblimp/fi/1", "multiblimp/nds/1"]
    assert (items[0]["distance"], items[0]["has_attractors"]) == (1, False)
    assert [item["language"] for item in built(tmp_path, "multiblimp", language="fin")] == ["fi"]
    with pytest.raises(CorpusFileNotFoundError, match="nor any other of its 101"):
        built(write_tree(tmp_path / "empty", {"x": ""}), "multiblimp")


def test_a_file_without_a_column_that_is_kept_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path, {"fin/data.tsv": "sen\twrong_sen\tphenomenon\nA b.\tA c.\tSV-#\n"})
    with pytest.raises(CorpusError, match="no file has the column 'child' that its map keeps"):
        built(tmp_path, "multiblimp")


def test_the_label_of_xcopa_picks_the_better_choice(tmp_path: Path) -> None:
    row = {
        "premise": "P.",
        "choice1": "A.",
        "choice2": "B.",
        "question": "cause",
        "label": 1,
        "idx": 4,
        "changed": True,
    }
    names = [file.name for file in CORPORA["xcopa"].source.files]
    items = built(write_tree(tmp_path, {name: json.dumps(row) + "\n" for name in names}), "xcopa", language="qu")
    assert [(item["item_id"], item["target_good"], item["target_bad"]) for item in items] == [
        ("xcopa/qu/test-4", "B.", "A."),
        ("xcopa/qu/val-4", "B.", "A."),
    ]
    assert {(item["task"], item["context_bad"], item["question"]) for item in items} == {
        ("continuation_pair", "P.", "cause")
    }


def test_sentences_that_blimp_nl_quotes_twice_are_mended_and_flagged(tmp_path: Path) -> None:
    header = "Number (phenomenon),Phenomenon,Number (paradigm),Paradigm,Item,Grammaticality,Sentence"
    header += ",Critical word(s),Cue word(s)\n"
    start = "1,A,1,number,1,"
    plain = f"{start}Grammatical,Ik zie mezelf.,mezelf,Ik\n{start}Ungrammatical,Wij zien mezelf.,mezelf,Wij\n"
    odd = f'{start}Grammatical,""Ik leer, hoor."",leer,Ik\n{start}Ungrammatical,""Wij leer, hoor."",leer,Wij\n'
    files = {f"Phenomenon{n:02}.csv": header + (odd if n == 3 else plain) for n in range(1, 23)}
    items = built(write_tree(tmp_path, files), "blimp-nl", subset="phenomenon-03")
    assert [(item["target_good"], item["target_bad"], item["flags"]) for item in items] == [
        ("Ik leer, hoor.", "Wij leer, hoor.", ["repaired:quotes"])
    ]
    assert (items[0]["cue_good"], items[0]["cue_bad"]) == ("Ik", "Wij")


def test_a_cut_file_of_clams_is_an_error(tmp_path: Path) -> None:
    clams = CORPORA["clams"].source.files
    files = {file.name: "True\tder Hund bellt\nFalse\tder Hund bellen\n" for file in clams}
    files["de_evalset/vp_coord.txt"] = "True\tder Hund bellt\n"
    with pytest.raises(CorpusError, match=r"vp_coord\.txt, row 1: 1 better and 0 worse rows"):
        built(write_tree(tmp_path, files), "clams", subset="de")


def test_nocola_keeps_the_code_of_the_error(tmp_path: Path) -> None:
    text = "Ungrammatical:\nJeg har leste den.\tF\n\nGrammatical:\nDe sier:\n"
    write_tree(tmp_path, {"NoCoLa_class_dev.txt": text, "NoCoLa_class_test.txt": "Ungrammatical:\nUten kode.\n"})
    items = built(tmp_path, "nocola", subset="dev")
    assert [(item["target_good"], item["label"], item["error_code"]) for item in items] == [
        ("Jeg har leste den.", 0, "F"),
        ("De sier:", 1, None),
    ]
    with pytest.raises(CorpusError, match=r"row 2: 'Uten kode\.', expected one of the headings"):
        built(tmp_path, "nocola", subset="test")


def test_nocola_zero_pairs_an_error_with_its_correction(tmp_path: Path) -> None:
    text = "# a comment\n\nJeg har leste den.\tJeg har lest den.\tINFL\nHun kom ikke\tHun kom ikke.\tPUNCM\r\n"
    items = built(write_tree(tmp_path, {"NoCoLa_zero.txt": text}), "nocola-zero")
    assert [(item["target_good"], item["target_bad"], item["phenomenon"], item["paradigm"]) for item in items] == [
        ("Jeg har lest den.", "Jeg har leste den.", "inflection", "INFL"),
        ("Hun kom ikke.", "Hun kom ikke", "punctuation", "PUNCM"),
    ]


@pytest.mark.parametrize("line", ["Hun kom.\tF", "Hun kom.\t\tF", "a\tb\tc\td"])
def test_a_line_of_nocola_zero_without_three_cells_is_refused(tmp_path: Path, line: str) -> None:
    write_tree(tmp_path, {"NoCoLa_zero.txt": f"Jeg har leste.\tJeg har lest.\tF\n{line}\n"})
    with pytest.raises(CorpusError, match=r"row 2: .*expected a sentence with an error, its correction and the code"):
        built(tmp_path, "nocola-zero")


EVENTS = "item_id,good_sentence,bad_sentence,good_human_score,bad_human_score,trial_type,voice\n"
RATED = "WorkerId,Score,Plausibility,ItemNum,Sentence,TrialType,Voice\n"
STORIES = "item_id,condition,context,prefix,continuation,sentence\n"


def test_workers_of_events_adapt_become_numbers(tmp_path: Path) -> None:
    events, ratings = (
        "single_sentences/EventsAdapt/corpus.csv",
        "single_sentences/EventsAdapt/clean_EventsAdapt_human_dat.csv",
    )
    files = {
        events: EVENTS + "1,A ate B.,B ate A.,7,1,AI,active\n",
        ratings: RATED
        + "A2XYZ,7,Plausible,1,A ate B.,AI,active\nA9QRS,5,Plausible,1,A ate B.,AI,active\n"
        + "A9QRS,2,Implausible,1,B ate A.,AI,active\nA2XYZ,4,Plausible,9,A met B.,AAR,active\n"
        + "A2XYZ,,Plausible,9,A met B.,AAR,active\n",
        "single_sentences/DTFit/corpus.csv": EVENTS.replace(",trial_type,voice", "") + "1,A won.,A lost.,6,2\n",
        "context_plus_sentence/SocialN400/corpus.csv": STORIES
        + "1.0,Control,C.,A big,car,A big car.\n1.0,SemAnom,S.,A big,boat,A big boat.\n"
        + "1.0,Critical,K.,A big,boat,A big boat.\n",
    }
    items = {str(item["item_id"]): item for item in built(write_tree(tmp_path, files), "kauf-2024")}
    assert [*items] == [
        "kauf-2024/events-adapt/1",
        "kauf-2024/dtfit/1",
        "kauf-2024/social-n400/1.0-critical-semanom",
        "kauf-2024/social-n400/1.0-control-semanom",
        "kauf-2024/events-adapt-reversible/3",
    ]
    first, _, critical, control, alone = items.values()
    assert (first["human_good"], first["human_bad"], first["human_n"]) == (6.0, 2.0, 2)
    assert (critical["task"], critical["context_good"], critical["context_bad"]) == ("context_pair", "K.", "S.")
    assert (control["task"], control["target_good"], control["target_bad"]) == (
        "continuation_pair",
        "A big car.",
        "A big boat.",
    )
    assert (alone["task"], alone["human_good"]) == ("sentence", 4.0)
    ratings_of = pairbank.load_ratings("kauf-2024", data_dir=tmp_path)
    assert ratings_of["rater"][:] == [0, 1, 1, 0]
    assert not any("A2XYZ" in json.dumps(row) for row in [*items.values(), *ratings_of])


def test_regions_of_syntaxgym_stand_where_their_spans_say() -> None:
    contents = ["After", "the dog", ", which barked ,", "", "slept", "."]
    sentence, spans = joined_with_spans(contents)
    assert sentence == "After the dog, which barked , slept."
    assert [sentence[start:end] for start, end in spans] == contents
