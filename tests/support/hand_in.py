"""Processes that hand in for several groups each, all at once: `python hand_in.py JOBS.json...`, one a file."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

from huggingface_hub import constants

import pairbank.cards.submissions
from store_submissions import propose


def hand_in(jobs: Path) -> None:
    """Submit tables as the client does, or open pull requests past it, with a cache of this process's own."""
    constants.HF_HUB_CACHE = str(jobs.with_suffix(".cache"))
    for job in json.loads(jobs.read_text(encoding="utf-8")):
        if "table" in job:
            pairbank.submit(job["table"], job["repo"], submitter=job["group"])
        else:
            files = {path: Path(file).read_bytes() if file else None for path, file in job["files"].items()}
            propose(job["repo"], files, title=job["group"])


if __name__ == "__main__":
    children = []
    for name in sys.argv[1:]:  # forked, so that imports are made once for all
        child = os.fork()
        if not child:
            try:
                hand_in(Path(name))
            except BaseException:  # noqa: BLE001 - the parent says that it failed
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    sys.exit(bool(failed))
