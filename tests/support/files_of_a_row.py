"""Which files of the package one BLiMP row passes, from corpus to site: one line for each of which a function ran.

What runs when a module is imported is not counted. `python files_of_a_row.py FOLDER_OF_CORPORA`, in an empty folder.
"""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path
from types import FrameType

import pairbank

PACKAGE = Path(pairbank.__file__).parent
PASSED: set[str] = set()


def _look(frame: FrameType, event: str, _: object) -> None:
    code, caller = frame.f_code, frame.f_back
    is_function = bool(code.co_flags & inspect.CO_NEWLOCALS and code.co_flags & inspect.CO_OPTIMIZED)
    if event != "call" or not is_function or not code.co_filename.startswith(f"{PACKAGE}/"):
        return
    while caller and caller.f_code.co_name.startswith("<") and caller.f_code.co_name != "<module>":
        caller = caller.f_back  # a comprehension is of where it stands
    if code.co_name.startswith("<") and not (caller and caller.f_code.co_flags & inspect.CO_OPTIMIZED):
        return
    PASSED.add(str(Path(code.co_filename).relative_to(PACKAGE)))


def pass_one_row(corpora: str) -> None:
    """Load, score with a made-up model, report, write a bank and its site."""
    items = pairbank.load_corpus("blimp", data_dir=corpora, subset="adjunct_island", limit=2)
    scored = pairbank.score(items, pairbank.load_model("fake:a"), methods=["direct", "meta_question_simple"])
    report = pairbank.report([scored])
    report.save("report")
    pairbank.write_bank("bank", scored=[scored], reports={"mine": report})
    pairbank.write_site("bank", "site")


if __name__ == "__main__":
    threading.setprofile(_look)
    sys.setprofile(_look)
    pass_one_row(sys.argv[1])
    sys.setprofile(None)
    sys.stdout.write("\n".join(sorted(PASSED)) + "\n")
