"""Memory stays flat: ten times the items, through `pairbank.score`, in little more memory.

PAIRBANK_MEMORY_PAIRS=6700,67000 makes it 13,400 and 134,000 sentences (511 and 529 MB; 488 after 400 sentences,
most of it torch and transformers).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiny_models import ARCHITECTURES, saved_model

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.is_file(), reason="no /proc/self/status on this system")
ALLOWED = 1.15
SCRIPT = """
import json, re, sys
import datasets
datasets.disable_progress_bars()
import pairbank
def peak():  # of this program alone: ru_maxrss would begin with the peak of the process that started it
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
model = pairbank.load_model(sys.argv[1], device="cpu")
peaks, n_items = [], []
for file in sys.argv[2:]:
    items = pairbank.load_corpus(file)
    if not peaks:
        pairbank.score(items.select(range(200)), model)
        peaks.append(peak())
    n_items.append(len(pairbank.score(items, model)))
    peaks.append(peak())
print(json.dumps({"n_items": n_items, "peaks": peaks}))
"""


def written(path: Path, n_pairs: int) -> Path:
    """Write minimal pairs of made-up sentences of eight to ten words, no two alike."""
    nouns = ("key", "dog", "cabinet", "author", "story", "table", "book", "night", "morning", "library")
    with path.open("w", encoding="utf-8") as file:
        file.write("good,bad\n")
        for i in range(n_pairs):
            one, two, three = nouns[i % 10], nouns[i // 10 % 10], nouns[i // 100 % 10]
            start = f"The {one} to the {two} {i // 1000} and the {three}"
            file.write(f"{start} are here.,{start} is here.\n")
    return path


def peaks(few: int, many: int, folder: Path, model: Path) -> tuple[int, int]:
    """Return the peak of resident memory, in kilobytes, of a process that has scored few pairs, and then many more."""
    files = [str(written(folder / f"pairs_{n}.csv", n)) for n in (few, many)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(model), *files],
        env=os.environ | {"PAIRBANK_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["n_items"] == [few, many]
    before, small, large = result["peaks"]
    assert large >= small >= before > 0
    return int(small), int(large)


@pytest.mark.ci
def test_ten_times_the_sentences_take_the_same_memory(tmp_path: Path) -> None:
    model = saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2")
    few, many = (int(n) for n in os.environ.get("PAIRBANK_MEMORY_PAIRS", "500,5000").split(","))
    small, large = peaks(few, many, tmp_path, model)
    assert large <= ALLOWED * small, f"{2 * few} sentences: {small} kB, {2 * many} sentences: {large} kB"
