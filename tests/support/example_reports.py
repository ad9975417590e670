"""The example reports of docs/reports: in, trained models and corpora; out, the pages and the figures they show.

    python tests/support/trained_models.py trained
    python tests/support/example_reports.py --data-dir CORPORA --banks banks          # all; or: … hu-levy-2023 xcomps
    python tests/support/example_reports.py --published BANK     # of `pairbank run published`: pages and site

Each study runs by the public command, which is printed, in the folder that holds `trained`; of its report the pages and
the PNG figures that they show are copied beside docs/reports/README.md.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from pairbank.stats.version import STATISTICS_VERSION

REPORTS = Path(__file__).parents[2] / "docs" / "reports"
STARTER = "starter:contexts"
RUNS: Mapping[str, tuple[str, ...]] = {
    "hu-levy-2023": ("studies/hu-levy-2023.toml", "--models", "models.toml", "--models", "not-causal.toml"),
    "introspection": ("introspection", "--models", "models.toml", "--limit", "1"),
    "introspection-2": ("studies/introspection-2.toml", "--models", "models.toml"),
    "xcomps": ("xcomps", "--models", "models.toml", "--corpus", "starter:concepts", "--limit", "2"),
    "ivanova-2024": ("ivanova-2024", "--models", "models.toml", "--corpus", STARTER, "--limit", "6"),
    "ewok-plausibility": ("ewok-plausibility", "--models", "models.toml", "--corpus", STARTER, "--limit", "6"),
    "grammaticality": ("studies/grammaticality.toml", "--models", "models.toml", "--models", "not-causal.toml"),
    "syntaxgym": ("syntaxgym", "--models", "models.toml"),
}
"""Report -> study and options; names of files stand in docs/reports."""
EXAMPLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "people": (("kauf-2023", "hu-2024-dgl-sentences"), ("people",)),
    "raters": (("qfrblimp", "hu-2024-dgl-sentences", "kauf-2023"), ("raters",)),
    "trajectories": (("hu-frank-2024-lambada", "multiblimp"), ("trajectories",)),
    "mixed": (("hu-frank-2024-syntax",), ("mixed",)),
    "items": (("qfrblimp",), ("items",)),
}
"""Report on published results -> corpora of the study `published`, and analyses."""
TITLES = {
    "people": "Do scores and answers follow people's judgments? Events and constructions",
    "raters": "Is a published system as good as one more person?",
    "trajectories": "What do OLMo 7B and a small GPT learn when?",
    "mixed": "Do prompts cost accuracy beyond these items? 13 models on 75 paradigms",
    "items": "Which items are hard, and which are suspect? 1,743 French pairs over 85 systems",
}
SITE, LEFT_OUT = REPORTS.parent / "published", ("hu-frank-2024-lambada",)
"""The static site of the published results; corpora that it leaves out for their size."""
APP = REPORTS.parents[1] / "cards" / "site" / "app"
MOST_BYTES_OF_A_PAGE = 100_000
MADE_BY = "Made with [statistics of version {}](../../releasing.md)."
WIDTH, COLOURS = 1100, 256
"""Of the copied figures, in pixels: reports have them at 300 dpi. With fewer colours, colour bars lose their ends."""
FIGURE = re.compile(r"!\[[^\]]*\]\(([^)]+\.png)\)")


def command(name: str, *, data_dir: Path, banks: Path) -> list[str]:
    options = [str(REPORTS / part) if part.endswith(".toml") else part for part in RUNS[name]]
    return ["pairbank", "run", *options, "--data-dir", str(data_dir), "--out", str(banks / name)]


def copy_pages(report: Path, target: Path) -> int:
    shutil.rmtree(target, ignore_errors=True)
    for page in [report / "report.md", *sorted((report / "appendix").glob("*.md"))]:
        copy = target / page.relative_to(report)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, copy)
        for link in FIGURE.findall(page.read_text(encoding="utf-8")):
            figure = (page.parent / link).resolve()
            _shrink(figure, target / figure.relative_to(report.resolve()))
    with (target / "report.md").open("a", encoding="utf-8") as page_of_report:
        page_of_report.write(f"\n{MADE_BY.format(STATISTICS_VERSION)}\n")
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def publish(bank: Path) -> None:
    """Copy the report of the published results, reports on parts of them, and their site without texts."""
    import pairbank
    from pairbank.scoring.scored import open_scored

    copy_pages(bank / "reports" / "published", REPORTS / "published")
    _leave_out_long_pages(REPORTS / "published")
    with tempfile.TemporaryDirectory() as folder:
        for name, (corpora, analyses) in EXAMPLES.items():
            files = [str(path) for corpus in corpora for path in sorted((bank / "scores" / corpus).glob("*.parquet"))]
            options = [part for analysis in analyses for part in ("--analysis", analysis)]
            made = Path(folder) / name
            run = ["pairbank", "report", *files, *options, "--title", TITLES[name], "--out", str(made)]
            subprocess.run([sys.executable, "-m", *run], check=True)
            copy_pages(made, REPORTS / name)
            _leave_out_long_pages(REPORTS / name)
        kept = sorted(path.name for path in (bank / "scores").iterdir() if path.name not in LEFT_OUT)
        tables = [open_scored(path) for name in kept for path in sorted((bank / "scores" / name).glob("*.parquet"))]
        small = pairbank.write_bank(
            Path(folder) / "bank", scored=tables, title="Published item-level results", texts="redistributable"
        )
        shutil.rmtree(SITE, ignore_errors=True)
        pairbank.write_site(small, SITE, name="published")
    for file in APP.iterdir():  # the site's code stands once in the repository
        (SITE / file.name).unlink()
        (SITE / file.name).symlink_to(os.path.relpath(file, SITE))


def _leave_out_long_pages(report: Path) -> None:
    """Remove pages of thousands of rows, and their lines in the list of pages."""
    page = report / "report.md"
    for long in sorted((report / "appendix").glob("*.md")):
        if long.stat().st_size > MOST_BYTES_OF_A_PAGE:
            lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if f"](appendix/{long.name})" not in line]
            page.write_text("".join(kept), encoding="utf-8")
            long.unlink()


def _shrink(figure: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(figure) as image:
        drawn = image.convert("RGB")
        drawn.thumbnail((WIDTH, 4 * WIDTH))
        drawn.quantize(COLOURS).save(copy, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the example reports anew.")
    parser.add_argument("names", nargs="*", metavar="report", help=f"of {', '.join(RUNS)}; default: all")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--banks", type=Path)
    parser.add_argument(
        "--published", type=Path, metavar="BANK", help="of `pairbank run published`; makes its pages alone"
    )
    parser.add_argument("--pages-only", action="store_true", help="copy what the banks have, run nothing")
    asked = parser.parse_args()
    if asked.published is not None:
        publish(asked.published)
        return
    if asked.data_dir is None or asked.banks is None:
        parser.error("--data-dir and --banks are needed, or --published")
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
