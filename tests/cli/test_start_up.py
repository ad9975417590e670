"""Commands that run no model import none of the libraries that take long to start."""

import sys
from pathlib import Path

import pytest

import command_line

CODE = """
import sys
from command_line import run
HEAVY = {"torch", "transformers", "statsmodels", "scipy.stats", "scipy.optimize", "scipy.io", "sklearn", "sympy"}
for line in sys.stdin:
    run(*line.split())
    print(line.split()[0], sorted(HEAVY & set(sys.modules)))
"""
COMMANDS = """check BANK
site BANK --out site
import judged.csv --model m --score judge=decision,good=A,bad=B --out imported
bank imported/m.parquet --licence judged=cc-by-4.0 --out other
merge BANK other --out merged
report imported/m.parquet --out report
words --help
"""


@pytest.mark.ci
def test_commands_that_run_no_model_import_no_torch(three_models: Path, tmp_path: Path) -> None:
    lines = [f"The {n} dogs bark.,The {n} dogs barks.,{'AB'[n % 2]}" for n in range(6)]
    (tmp_path / "judged.csv").write_text("\n".join(["good,bad,judge", *lines]), encoding="utf-8")
    code = f"import sys; sys.path.append({str(Path(command_line.__file__).parent)!r})\n{CODE}"
    typed = COMMANDS.replace("BANK", str(three_models))
    printed = command_line.printed_by([sys.executable, "-c", code], input=typed, cwd=tmp_path)
    assert printed.splitlines() == [f"{line.split()[0]} []" for line in COMMANDS.splitlines()]
