"""The example reports of docs/reports: in, trained models and corpora; out, the pages and the figures they show.

    python tests/support/trained_models.py trained
    python tests/support/example_reports.py --data-dir CORPORA --banks banks          # all; or: … hu-levy-2023 xcomps

Each study runs by the public command, which is printed, in the folder that holds `trained`; of its report the pages and
the PNG figures that they show are copied beside docs/reports/README.md.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPORTS = Path(__file__).parents[2] / "docs" / "reports"
STARTER = "starter:contexts"
RUNS: Mapping[str, tuple[str, ...]] = {
    "hu-levy-2023": ("studies/hu-levy-2023.toml", "--models", "models.toml", "--models", "not-causal.toml"),
    "introspection": ("introspection", "--models", "models.toml", "--limit", "1"),
    "introspection-2": ("studies/introspection-2.toml", "--models", "models.toml"),
    "xcomps": ("xcomps", "--models", "models.toml", "--corpus", "starter:concepts"),
    "ivanova-2024": ("ivanova-2024", "--models", "models.toml", "--corpus", STARTER),
    "ewok-plausibility": ("ewok-plausibility", "--models", "models.toml", "--corpus", STARTER),
    "grammaticality": ("studies/grammaticality.toml", "--models", "models.toml", "--models", "not-causal.toml"),
}
"""Report -> study and options; names of files stand in docs/reports."""
FIGURE = re.compile(r"!\[[^\]]*\]\(([^)]+\.png)\)")


def command(name: str, *, data_dir: Path, banks: Path) -> list[str]:
    """Return the command line of one report."""
    options = [str(REPORTS / part) if part.endswith(".toml") else part for part in RUNS[name]]
    return ["pairbank", "run", *options, "--data-dir", str(data_dir), "--out", str(banks / name)]


def copy_pages(report: Path, target: Path) -> int:
    """Copy a report's pages and the figures that they show; return the bytes."""
    shutil.rmtree(target, ignore_errors=True)
    for page in [report / "report.md", *sorted((report / "appendix").glob("*.md"))]:
        shown = [(page.parent / link).resolve() for link in FIGURE.findall(page.read_text(encoding="utf-8"))]
        for path in [page, *shown]:
            copy = target / path.relative_to(report.resolve() if path in shown else report)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def main() -> None:
    """Run the studies that were asked for and copy their pages."""
    parser = argparse.ArgumentParser(description="Make the example reports anew.")
    parser.add_argument("names", nargs="*", metavar="report", help=f"of {', '.join(RUNS)}; default: all")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--banks", type=Path, required=True)
    asked = parser.parse_args()
    for name in asked.names or RUNS:
        run = command(name, data_dir=asked.data_dir, banks=asked.banks)
        print(" ".join(run), flush=True)  # noqa: T201 - a script
        done = subprocess.run([sys.executable, "-m", *run], check=False)
        (report,) = (asked.banks / name / "reports").iterdir()
        n_bytes = copy_pages(report, REPORTS / name)
        print(f"{name}: exit code {done.returncode}, {n_bytes / 1e6:.1f} MB of pages", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
