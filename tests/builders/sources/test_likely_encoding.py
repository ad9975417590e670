"""A file that is not UTF-8 is told the encoding of its script."""

from pathlib import Path

import pytest

import pairbank
from pairbank.errors import CorpusError

WRITTEN = {
    "cp932": ("犬が寝る。", "犬を寝る。"),
    "cp949": ("개가 잔다.", "개를 잔다."),
    "gb18030": ("他把书看完了。", "他把书看完。"),
}


@pytest.mark.parametrize("encoding", WRITTEN)
def test_the_encoding_of_a_script_is_named_and_reads_the_file(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes("\n".join(["good,bad", ",".join(WRITTEN[encoding])]).encode(encoding))
    with pytest.raises(CorpusError, match=rf"--encoding {encoding} "):
        pairbank.load_corpus(str(file))
    assert pairbank.load_corpus(str(file), encoding=encoding)["target_good"][:] == [WRITTEN[encoding][0]]


def test_a_file_of_one_byte_per_letter_is_told_no_script(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes("good,bad\nКошки спят.,Кошки спит.\n".encode("cp1251"))
    with pytest.raises(CorpusError, match="or say what it is: --encoding") as caught:
        pairbank.load_corpus(str(file))
    assert "it reads as" not in str(caught.value)
