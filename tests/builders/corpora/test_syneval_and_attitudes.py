"""LM-SynEval, MegaVeridicality, MegaNegRaising and MELA, on made files of the same form as upstream's."""

import pickle
import zipfile
from pathlib import Path

import pytest

import pairbank
from pairbank.builders.corpora.registry import corpus_named
from pairbank.builders.sources.formats import NOTHING_SAID, table_rows_of
from pairbank.builders.sources.source import member_bytes
from pairbank.errors import CorpusError

LOCKED = (
    "504b0304140001000000000021004e818847100000000400000005000000612e7478746157bed6de727a967d3ceefdffe9f3"
    "ce504b01021400140001000000000021004e8188471000000004000000050000000000000000000000000000000000612e74"
    "7874504b0506000000000100010033000000330000000000"
)
AGREEMENT = {
    "sing_MS_MV": [("the pilot lands", "the pilot land")],
    "plur_MS_MV": [("the pilots land", "the pilots lands")],
}
POLARITY = {"past": [("no pilots have ever flown", "the pilots have ever flown", "most pilots have ever flown")]}


def syneval(root: Path) -> Path:
    folder = root / "lm-syneval"
    folder.mkdir(parents=True)
    for file in corpus_named("lm-syneval").source.files:
        made = POLARITY if "npi" in file.name else AGREEMENT
        (folder / file.name).write_bytes(pickle.dumps(made))
    return root


def test_templates_of_lm_syneval_become_pairs_with_their_phenomenon(tmp_path: Path) -> None:
    items = pairbank.load_corpus("lm-syneval", data_dir=syneval(tmp_path)).to_pandas().set_index("item_id")
    first = items.loc["lm-syneval/simple_agrmt/2"]
    assert (first["target_good"], first["target_bad"]) == ("the pilots land", "the pilots lands")
    assert (first["condition"], first["phenomenon"]) == ("plur_MS_MV", "subject-verb agreement")
    assert items.loc["lm-syneval/reflexives_across/1", "phenomenon"] == "reflexives"
    assert items.loc["lm-syneval/simple_reflexives/1", "phenomenon"] == "reflexives"
    polarity = items.loc["lm-syneval/npi_across_anim/1"]
    assert polarity["phenomenon"] == "negative polarity items"
    assert (polarity["target_bad"], polarity["without_licensor"]) == (POLARITY["past"][0][1], POLARITY["past"][0][2])
    assert items["paradigm"].nunique() == len(list((tmp_path / "lm-syneval").iterdir()))


class Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("run",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps({"x": [Attack()]}), r"it names builtins\.print, and only plain data are read"),
        (b"\x80\x04not a pickle", "not a pickle of plain data"),
        (pickle.dumps(["a"]), "expected a dict from conditions to lists"),
        (pickle.dumps({"x": ["ab"]}), "row 1: 'ab', expected a tuple of sentences"),
        (pickle.dumps({"x": [("a", 1)]}), "row 1: .*expected a tuple of sentences"),
    ],
)
def test_a_pickle_that_could_run_code_or_holds_something_else_is_refused(
    data: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CorpusError, match=message):
        list(table_rows_of(data, ".pickle", NOTHING_SAID, "x.pickle"))
    assert capsys.readouterr().out == ""


VERIDICALITY = """\
participant\tlist\tpresentationorder\tverb\tframe\tpolarity\tconditional\tsentence\tveridicality\tacceptability\tnativeenglish
7\t0\t1\thope\tNP Ved that S\tnegative\tFalse\tNobody didn\\'t hope that it rained\tmaybe\t6\tTrue
8\t0\t1\thope\tNP Ved that S\tnegative\tFalse\tNobody didn\\'t hope that it rained\tno\t3\tTrue
7\t0\t2\tsay\tNP Ved that S\tpositive\tFalse\tSomebody said "it rained"\tyes\t7\tTrue
"""
NEGRAISING = """\
participant\tlist\tpresentationorder\tverb\tframe\ttense\tsubject\tsentence1\tsentence2\tnegraising\tacceptability\tnativeenglish
1\t8\t8\thope\tNP V that S\tpast\tfirst\tI didn't hope that it rained.\tI hoped that it didn't rain.\t0.3\t0.9\tTrue
2\t8\t8\thope\tNP V that S\tpast\tfirst\tI didn't hope that it rained.\tI hoped that it didn't rain.\t0.1\t0.4\tTrue
"""


def attitudes(root: Path, name: str, archive: str, member: str, text: str) -> Path:
    (root / name).mkdir(parents=True)
    with zipfile.ZipFile(root / name / archive, "w") as made:
        made.writestr(f"{member.removesuffix('.tsv')}/{member}", text)
        made.writestr(f"{member.removesuffix('.tsv')}/{member.removesuffix('.tsv')}-normalized.tsv", "verb\n")
    return root


def test_ratings_of_mega_veridicality_and_mega_negraising_are_means_and_single_ones(tmp_path: Path) -> None:
    attitudes(tmp_path, "mega-veridicality", "mega-veridicality-v2.1.zip", "mega-veridicality-v2.1.tsv", VERIDICALITY)
    attitudes(tmp_path, "mega-negraising", "mega-negraising-v1.zip", "mega-negraising-v1.tsv", NEGRAISING)
    items = pairbank.load_corpus("mega-veridicality", data_dir=tmp_path)
    assert items["target_good"][:] == ["Nobody didn't hope that it rained", 'Somebody said "it rained"']
    assert (items["human_good"][:], items["human_n"][:]) == ([4.5, 7.0], [2, 1])
    assert items["flags"][:] == [["repaired:backslash"], []]
    assert (items[0]["verb"], items[0]["paradigm"]) == ("hope", "NP Ved that S")
    ratings = pairbank.load_ratings("mega-veridicality", data_dir=tmp_path)
    assert list(zip(ratings["rater"][:], ratings["value"][:], strict=True)) == [(0, 6.0), (1, 3.0), (0, 7.0)]
    items = pairbank.load_corpus("mega-negraising", data_dir=tmp_path)
    assert items["human_good"][:] == pytest.approx([0.65])
    assert items["sentence2"][:] == ["I hoped that it didn't rain."]


def test_a_rating_off_the_scale_of_a_shipped_corpus_is_refused(tmp_path: Path) -> None:
    text = VERIDICALITY.replace("\tyes\t7\t", "\tyes\t8\t")
    attitudes(tmp_path, "mega-veridicality", "mega-veridicality-v2.1.zip", "mega-veridicality-v2.1.tsv", text)
    with pytest.raises(CorpusError, match="row 4: column 'acceptability' holds 8, expected a rating from 1 to 7"):
        pairbank.load_corpus("mega-veridicality", data_dir=tmp_path)


def test_mela_is_read_by_language_and_may_not_be_published(tmp_path: Path) -> None:
    (tmp_path / "mela").mkdir()
    with zipfile.ZipFile(tmp_path / "mela" / "data.zip", "w") as made:
        made.writestr("data/v1.1/de/dev.csv", "idx,label,sentence\n0,1,Der Hund bellt.\n1,0,Der Hund bellen.\n")
        made.writestr("data/v1.1/zh/test.csv", "sentence,label\n狗在叫。,1\n")
        made.writestr("data/v1.0/de/dev.csv", "x\n")
    items = pairbank.load_corpus("mela", data_dir=tmp_path)
    assert items["item_id"][:] == ["mela/de/dev-1", "mela/de/dev-2", "mela/zh/test-1"]
    assert (items["label"][:], items["language"][:]) == ([1, 0, 1], ["de", "de", "zh"])
    corpus = corpus_named("mela")
    assert not corpus.source.redistributable


def test_an_encrypted_archive_needs_its_password(tmp_path: Path) -> None:
    # a.txt is "abc\n", encrypted as APPNOTE.TXT 6.1 says with the password 200240
    path = tmp_path / "locked.zip"
    path.write_bytes(bytes.fromhex(LOCKED))
    assert list(member_bytes(path, "*.txt", password="200240")) == [("a.txt", b"abc\n")]
    with pytest.raises(CorpusError, match="is encrypted; unpack it with its password"):
        list(member_bytes(path, "*.txt"))
    with pytest.raises(CorpusError, match="the password is wrong, or the file damaged"):
        list(member_bytes(path, "*.txt", password="1"))
