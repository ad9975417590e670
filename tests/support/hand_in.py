"""A process that hands in for several groups, one after the other: `python hand_in.py JOBS.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pairbank
from store_submissions import propose


def main() -> None:
    """Submit tables as the client does, or open pull requests past it."""
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        if "table" in job:
            pairbank.submit(job["table"], job["repo"], submitter=job["group"])
        else:
            propose(
                job["repo"], {path: Path(file).read_bytes() for path, file in job["files"].items()}, title=job["group"]
            )


if __name__ == "__main__":
    main()
