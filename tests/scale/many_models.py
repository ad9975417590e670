"""How long the report of Song et al.'s 21 models takes: in, corpora; out, processor seconds of reading and reporting.

    PYTHONPATH=src python tests/scale/many_models.py --data-dir CORPORA     the paper's 1,048 pairs and nine methods

Scores are made up, with the names of the paper's models, so that all that is known of these is declared. The limit is
30 seconds beyond reading the tables; the report has all sections and figures of the study `introspection`.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from joblib.externals.loky import get_reusable_executor

import pairbank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.scored_table.model_features import features_in_paper
from pairbank.study.declaration import load_study

MODELS = tuple(features_in_paper("song-2025"))


def spent() -> tuple[float, float]:
    """Return processor seconds of this process and its children so far, and the wall's."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used), time.perf_counter()


def main() -> None:
    """Make the tables, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--models", type=int, default=len(MODELS))
    parser.add_argument("--keep", type=Path, help="where to leave the tables and the report")
    asked = parser.parse_args()
    study = load_study("introspection")
    items = pairbank.load_corpus("blimp-li", data_dir=asked.data_dir)
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        paths: list[Path] = []
        for name in MODELS[: asked.models]:
            path = folder / f"{len(paths):02d}.parquet"
            if not path.exists():
                pairbank.score(items, FakeScorer(name=name), methods=study.methods).save(path)
            paths.append(path)
        marks = [spent()]
        tables = [pairbank.read_scored(path) for path in paths]
        marks.append(spent())
        pairbank.report(tables, title=study.title, analyses=study.analyses).save(folder / "report")
        get_reusable_executor().shutdown(wait=True)  # processes count when they have ended
        marks.append(spent())
        seconds = {
            name: {"cpu": round(marks[n + 1][0] - marks[n][0], 1), "wall": round(marks[n + 1][1] - marks[n][1], 1)}
            for n, name in enumerate(("reading", "report"))
        }
        n_figures = len(list((folder / "report" / "figures").glob("*.png")))
        print(json.dumps({"models": len(paths), "items": len(items), "figures": n_figures, "seconds": seconds}))  # noqa: T201


if __name__ == "__main__":
    main()
