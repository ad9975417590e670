"""Files of the cache that are cut, emptied, changed or gone: set aside with one line, and made anew, equal."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import pairbank
from pairbank.scoring.minimalness import add_minimalness


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    replaced(path, bytes(content))


def replaced(path: Path, content: bytes) -> None:
    """Write another file in its place: the old one may still be mapped into memory."""
    path.unlink()
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: replaced(path, path.read_bytes()[: path.stat().st_size // 2]),
    "emptied": lambda path: replaced(path, b""),
    "a bit flipped": flipped,
    "text": lambda path: replaced(path, b"<html>"),
    "gone": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["*.arrow", "dataset_info.json", "pairbank_rows.json"])
def test_a_damaged_corpus_in_the_cache_is_built_anew(
    kind: str, damage: str, private_cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "own.csv"
    file.write_text("good,bad\n" + "".join(f"Good {i}.,Bad {i}.\n" for i in range(50)), encoding="utf-8")
    before = pairbank.load_corpus(file).to_pandas()
    (path,) = (private_cache / "corpora").glob(f"own/*/*/*/{kind}")
    DAMAGES[damage](path)
    with caplog.at_level(logging.WARNING):
        after = pairbank.load_corpus(file)
    assert after.to_pandas().equals(before)
    if damage != "gone" and (kind, damage) != ("dataset_info.json", "a bit flipped"):
        assert any("is set aside as" in record.getMessage() for record in caplog.records)
    caplog.clear()
    assert pairbank.load_corpus(file).to_pandas().equals(before)
    assert not any("set aside" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "gone"])
def test_damaged_embeddings_are_made_anew(damage: str, private_cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Letters:
        id = "letters@1"

        def is_too_long(self, texts: Sequence[str]) -> list[bool]:
            return [False] * len(texts)

        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return np.array([[1.0, len(text), text.count("e")] for text in texts], dtype=np.float32)

    items = pairbank.load_corpus("starter", limit=1)
    before = add_minimalness(items, Letters())["cosine_distance"][:]
    (path,) = (private_cache / "embeddings").glob("*/*.npy")
    DAMAGES[damage](path)
    with caplog.at_level(logging.WARNING):
        assert add_minimalness(items, Letters())["cosine_distance"][:] == before
    assert "is damaged; its texts are embedded anew" in caplog.text


def test_what_a_user_selects_of_a_corpus_is_no_damage(
    private_cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "own.csv"
    file.write_text("good,bad\n" + "".join(f"Good {i}.,Bad {i}.\n" for i in range(50)), encoding="utf-8")
    items = pairbank.load_corpus(file)
    pairbank.load_corpus(file)  # sealed
    items.filter(lambda row: row["item_id"].endswith("1"))
    assert list(private_cache.rglob("cache-*.arrow"))
    assert pairbank.load_corpus(file).to_pandas().equals(items.to_pandas())
    assert "set aside" not in caplog.text
