"""How long ten pairs take from the shell: in, a model; out, processor seconds beside torch and transformers alone.

    python tests/scale/start_up.py [--model demo] [--repeats 3]

Each run is a process of its own: `bare` imports torch and transformers, loads the same weights and runs twenty forward
passes; `first` scores ten pairs by a model that was never loaded (it is tried then); `again` ten other pairs; `stored`
the same pairs once more, for which no model is loaded. The runs take turns; the table has medians.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from pairbank.scoring.models.checkpoints import located

BARE = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
with torch.inference_mode():
    for n in range(20):
        model(**tokenizer(f"The keys to the cabinet are on the table {n}.", return_tensors="pt"))
"""


def spent(command: list[str]) -> float:
    """Run a command; return its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    folder = located(asked.model, gguf_file=None).path  # the demo model is unpacked here, once
    cache = Path(os.environ.get("PAIRBANK_CACHE", Path.home() / ".cache" / "pairbank"))
    result: dict[str, list[float]] = {name: [] for name in ("bare", "first", "again", "stored")}
    with tempfile.TemporaryDirectory() as scratch:
        for repeat in range(asked.repeats):
            result["bare"].append(spent([sys.executable, "-c", BARE, folder]))
            shutil.rmtree(cache / "checks", ignore_errors=True)
            shutil.rmtree(cache / "known_models", ignore_errors=True)
            for step, pairs in (("first", 0), ("again", 1), ("stored", 1)):
                file = Path(scratch) / f"pairs-{os.getpid()}-{repeat}-{pairs}.csv"
                lines = [
                    f"The {n} keys of {file.stem} are here.,The {n} keys of {file.stem} is here." for n in range(10)
                ]
                file.write_text("\n".join(["good,bad", *lines]), encoding="utf-8")
                words = ["score", str(file), "--model", asked.model, "-m", "direct", "--out", f"{scratch}/out.parquet"]
                result[step].append(spent([sys.executable, "-m", "pairbank", *words]))
            print(json.dumps({name: round(values[-1], 1) for name, values in result.items()}), flush=True)  # noqa: T201
    print(json.dumps({name: round(statistics.median(values), 1) for name, values in result.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
