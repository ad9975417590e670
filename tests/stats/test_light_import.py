"""Importing pairbank.stats and its tables of languages loads numpy and pandas and nothing heavier."""

import subprocess
import sys

HEAVY = ("scipy", "sklearn", "statsmodels", "matplotlib", "torch", "transformers", "datasets")
CODE = f"""
import sys, pairbank.stats, pairbank.stats.analyses.languages.section
print([x for x in {HEAVY!r} if x in sys.modules])
import pairbank.cli, pairbank.stats.report.report, pairbank.stats.measures.associations
print("pingouin" in sys.modules)
"""


def test_importing_the_stage_loads_nothing_heavy_and_pingouin_is_left_to_who_asks_for_it() -> None:
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.split("\n"), result.stderr) == (0, ["[]", "False", ""], "")
