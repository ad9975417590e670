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

from PIL import Image

REPORTS = Path(__file__).parents[2] / "docs" / "reports"
STARTER = "starter:contexts"
RUNS: Mapping[str, tuple[str, ...]] = {
    "hu-levy-2023": ("studies/hu-levy-2023.toml", "--models", "models.toml", "--models", "not-causal.toml"),
    "introspection": ("introspection", "--models", "models.toml", "--limit", "1"),
    "introspection-2": ("studies/introspection-2.toml", "--models", "models.toml"),
    "xcomps": ("xcomps", "--models", "models.toml", "--corpus", "starter:concepts"),
    "ivanova-2024": ("ivanova-2024", "--models", "models.toml", "--corpus", STARTER, "--limit", "6"),
    "ewok-plausibility": ("ewok-plausibility", "--models", "models.toml", "--corpus", STARTER, "--limit", "6"),
    "grammaticality": ("studies/grammaticality.toml", "--models", "models.toml", "--models", "not-causal.toml"),
    "raters": ("studies/raters.toml", "--models", "models.toml"),
    "syntaxgym": ("syntaxgym", "--models", "models.toml"),
}
"""Report -> study and options; names of files stand in docs/reports."""
WIDTH, COLOURS = 1100, 256
"""Of the copied figures, in pixels: reports have them at 300 dpi. With fewer colours, colour bars lose their ends."""
FIGURE = re.compile(r"!\[[^\]]*\]\(([^)]+\.png)\)")


def command(name: str, *, data_dir: Path, banks: Path) -> list[str]:
    """Return the command line of one report."""
    options = [str(REPORTS / part) if part.endswith(".toml") else part for part in RUNS[name]]
    return ["pairbank", "run", *options, "--data-dir", str(data_dir), "--out", str(banks / name)]


def copy_pages(report: Path, target: Path) -> int:
    """Copy a report's pages and, smaller, the figures that they show; return the bytes."""
    shutil.rmtree(target, ignore_errors=True)
    for page in [report / "report.md", *sorted((report / "appendix").glob("*.md"))]:
        copy = target / page.relative_to(report)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, copy)
        for link in FIGURE.findall(page.read_text(encoding="utf-8")):
            figure = (page.parent / link).resolve()
            _shrink(figure, target / figure.relative_to(report.resolve()))
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def _shrink(figure: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(figure) as image:
        drawn = image.convert("RGB")
        drawn.thumbnail((WIDTH, 4 * WIDTH))
        drawn.quantize(COLOURS).save(copy, optimize=True)


def main() -> None:
    """Run the studies that were asked for and copy their pages."""
    parser = argparse.ArgumentParser(description="Make the example reports anew.")
    parser.add_argument("names", nargs="*", metavar="report", help=f"of {', '.join(RUNS)}; default: all")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--banks", type=Path, required=True)
    parser.add_argument("--pages-only", action="store_true", help="copy what the banks have, run nothing")
    asked = parser.parse_args()
    for name in asked.names or RUNS:
        run = command(name, data_dir=asked.data_dir, banks=asked.banks)
        print(" ".join(run), flush=True)  # noqa: T201 - a script
        if not asked.pages_only:
            subprocess.run([sys.executable, "-m", *run], check=True)
        (report,) = (asked.banks / name / "reports").iterdir()
        n_bytes = copy_pages(report, REPORTS / name)
        print(f"{name}: {n_bytes / 1e6:.1f} MB of pages", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
