"""Which files and functions of the package one BLiMP row passes, from corpus to site: one line for each file.

A file counts if any of its functions runs, also while modules are imported; comprehensions and lambdas are functions.
Module and class bodies are not. `python files_of_a_row.py FOLDER_OF_CORPORA`, in an empty folder, with an empty cache.
"""

import inspect
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType

import pairbank

PACKAGE = f"{Path(pairbank.__file__).parent}/"
PASSED: dict[str, set[tuple[str, int]]] = defaultdict(set)
"""Of each file the functions that ran, by name and first line."""


def _look(frame: FrameType, event: str, _: object) -> None:
    code, name = frame.f_code, frame.f_code.co_filename
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and name.startswith(PACKAGE) and name.endswith(".py"):
        PASSED[name.removeprefix(PACKAGE)].add((code.co_name, code.co_firstlineno))


def pass_one_row(corpora: str) -> None:
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
    sys.stdout.writelines(f"{name}\t{len(functions)}\n" for name, functions in sorted(PASSED.items()))
