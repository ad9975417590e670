"""Importing pairbank.stats loads numpy and pandas, and nothing heavier."""

import subprocess
import sys

HEAVY = ("scipy", "sklearn", "statsmodels", "matplotlib", "torch", "transformers", "datasets")


def test_importing_the_stage_loads_nothing_heavy() -> None:
    code = f"import sys, pairbank.stats; print([x for x in {HEAVY!r} if x in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "[]", "")
