"""How quick a site is, and how large: in, sizes of a made-up bank; out, the tables of docs/site.md.

    python tests/scale/site.py            3 models x 134,000 items x 4 methods with tokens, then 200 models x 30 corpora
    python tests/scale/site.py --keep DIR  leaves banks and sites there

Times are taken in Chromium, from a click to the second frame after the page has changed; each interaction once while
its data come, once when they are there. The first view is the middle one of five. Banks are made on all cores.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import pairbank
from pairbank.cards.bank.layout import SUMMARY, items_path, scores_path
from pairbank.files import write_json, write_parquet
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.signature import METADATA_KEY, signature_json
from site_pages import CHROMIUM, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

VIEWS = 5
"""First views, each in a window that keeps nothing of the one before."""
METHODS = ["direct", "meta_question_simple", "acceptability_judgment_i", "acceptability_judgment"]
WORDS = ["the", "a", "every", "pilot", "river", "child", "sees", "see", "has", "have", "walking", "old", "green", "not"]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of a bank."""

    models: int
    corpora: int
    items: int
    tokens: int


SIZES = {
    "large": Size(models=3, corpora=1, items=134_000, tokens=12),
    "wide": Size(models=200, corpora=30, items=300, tokens=0),
}


def write_made_up_bank(folder: Path, size: Size) -> Path:
    """Write a bank with the files and types of a real one and random numbers."""
    base = pairbank.score(
        pairbank.load_corpus("starter", subset="minimal-pairs", limit=1), FakeScorer(), methods=METHODS
    )
    manifest: dict[str, Any] = {"pairbank": pairbank.__version__, "corpora": {}, "scores": {}, "files": {}}
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor() as pool:
        numbers = range(size.corpora)
        made = pool.map(_write_corpus, repeat(folder), repeat(size), repeat(dict(base.signature)), numbers)
        for corpus, facts, signatures, estimates in made:
            manifest["corpora"][corpus], manifest["scores"][corpus] = facts, signatures
            rows += estimates
    (folder / SUMMARY).parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False), folder / SUMMARY)
    write_json(folder / "manifest.json", manifest)
    return folder


def _write_corpus(
    folder: Path, size: Size, base: dict[str, Any], number: int
) -> tuple[str, dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Write the tables of one corpus; return its name, facts, signatures and estimates."""
    rng = np.random.default_rng([1, number])
    corpus = f"corpus-{number:02d}"
    items = _items(corpus, size.items, rng)
    write_parquet(folder / items_path(corpus), items)
    facts = {"n_items": size.items, "tasks": ["sentence_pair"], "languages": ["en"], "title": corpus}
    groups = {"all": np.full(size.items, ""), "phenomenon": items["phenomenon"].to_numpy()}
    difficulty = rng.normal(size=size.items)
    signatures: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for m in range(size.models):
        signature = _signature(base, f"model-{m:03d}", corpus, size.items)
        scores = _scores(difficulty, 0.2 + 1.2 * m / size.models, size, rng)
        table = pa.table(dict(zip(items.column_names, items.columns, strict=True)) | scores)
        write_parquet(
            folder / scores_path(corpus, f"model_{m:03d}"),
            table.replace_schema_metadata({METADATA_KEY: signature_json(signature)}),
        )
        signatures[f"model_{m:03d}"] = signature
        for method in METHODS:
            rows += _estimates(f"model-{m:03d}", corpus, method, scores[f"{method}_delta"].to_numpy(), groups)
    return corpus, facts, signatures, rows


def _items(corpus: str, n: int, rng: np.random.Generator) -> pa.Table:
    words = np.array(WORDS)
    good = [" ".join(words[k]).capitalize() + "." for k in rng.integers(len(words), size=(n, 8))]
    phenomena = rng.integers(12, size=n)
    nothing = pa.nulls(n, pa.float32())
    return pa.table(
        {
            "item_id": [f"{corpus}/subset-{k % 67:02d}/{k}" for k in range(n)],
            "corpus": [corpus] * n,
            "subset": [f"subset-{k % 67:02d}" for k in range(n)],
            "language": ["en"] * n,
            "task": ["sentence_pair"] * n,
            "phenomenon": [f"phenomenon_{k}" for k in phenomena],
            "paradigm": pa.nulls(n, pa.string()),
            "context_good": [""] * n,
            "target_good": good,
            "context_bad": [""] * n,
            "target_bad": [text.replace(" see ", " sees ") + " not" for text in good],
            "human_good": nothing,
            "human_bad": nothing,
            "human_scale": pa.nulls(n, pa.string()),
            "human_n": pa.nulls(n, pa.int32()),
            "pair_id": pa.nulls(n, pa.string()),
            "flags": pa.array([[]] * n, pa.list_(pa.string())),
        }
    )


def _scores(difficulty: np.ndarray, skill: float, size: Size, rng: np.random.Generator) -> dict[str, pa.Array]:
    n = len(difficulty)
    result: dict[str, pa.Array] = {}
    for method in METHODS:
        good = np.float32(rng.normal(-60, 9, size=n)).astype(np.float64)
        delta = difficulty + skill + rng.normal(size=n)
        result |= {
            f"{method}_good": pa.array(good),
            f"{method}_bad": pa.array(good - delta),
            f"{method}_delta": pa.array(delta),
        }
        if method == "direct":
            result |= {f"{method}_{side}_n": pa.array(np.full(n, 12, dtype=np.int32)) for side in ("good", "bad")}
            if size.tokens:
                ends = pa.array(np.arange(0, size.tokens * (n + 1), size.tokens, dtype=np.int32))
                for side in ("good", "bad"):
                    tokens = np.float32(-rng.exponential(5, size=n * size.tokens)).astype(np.float64)
                    result[f"{method}_{side}_tokens"] = pa.ListArray.from_arrays(ends, pa.array(tokens))
        else:
            ends = pa.array(np.arange(0, 4 * (n + 1), 4, dtype=np.int32))
            logprobs = np.float32(-rng.exponential(3, size=4 * n)).astype(np.float64)
            result[f"{method}_logprobs"] = pa.ListArray.from_arrays(ends, pa.array(logprobs))
            result[f"{method}_first_choice"] = pa.array(rng.integers(3, size=n) / 2)
        result[f"{method}_flags"] = pa.array([[]] * n, pa.list_(pa.string()))
    return result


def _signature(base: Any, model: str, corpus: str, n: int) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    signature: dict[str, Any] = copy.deepcopy(dict(base))
    signature["model"] |= {"name": model, "slug": model.replace("-", "_"), "model_id": f"org/{model}"}
    signature["corpus"] |= {"name": corpus, "n_items": n, "manifest": {}}
    return signature


def _estimates(
    model: str, corpus: str, method: str, delta: np.ndarray, groups: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    result = []
    for by, values in groups.items():
        names, places = np.unique(values, return_inverse=True)
        counts = np.bincount(places)
        means = np.bincount(places, weights=(np.sign(delta) + 1) / 2) / counts
        for group, value, n in zip(names.tolist(), means.tolist(), counts.tolist(), strict=True):
            half = 1.96 * (value * (1 - value) / n) ** 0.5
            row = {
                "model": model,
                "corpus": corpus,
                "group_by": by,
                "group": group,
                "method": method,
                "versus": "",
                "reason": None,
            }
            numbers = {"value": value, "low": value - half, "high": value + half, "n": int(n), "n_excluded": 0}
            metrics = ["accuracy"] if method == "direct" else ["accuracy", "accuracy_pooled", "position_bias"]
            result += [row | numbers | {"metric": metric, "ci_method": "wilson"} for metric in metrics]
    return result


# --- in the browser ---

ACT = """async ([selector, value, at]) => {
    const panel = document.querySelector(".pb-panel"), dialog = document.querySelector("dialog"), open = dialog.open;
    const element = document.querySelectorAll(selector)[at];
    const start = performance.now();
    if (value === null) element.dispatchEvent(new MouseEvent("click", {bubbles: true}));
    else {
        element.value = value;
        element.dispatchEvent(new Event(element.localName === "input" ? "input" : "change"));
    }
    while (panel.isConnected && dialog.open === open) await new Promise((done) => setTimeout(done, 1));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start - (element.localName === "input" ? 120 : 0);
}"""


DRAWN = """() => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
})"""


def act(page: Page, selector: str, value: str | None = None, at: int = 0) -> float:
    """Do something and return the milliseconds until its result is drawn; a search waits 120 for more letters first."""
    return float(page.evaluate(ACT, [selector, value, at]))


LARGE = {
    "Items": ("[data-value=items]", None),
    "sorted by a difference": ("th button[data-key='sort:direct']", None),
    "only where asked and direct disagree": ("#pb-show", "direct"),
    "one phenomenon": ("#pb-phenomenon", "phenomenon_3"),
    "search": ("#pb-q", "green river"),
    "no search": ("#pb-q", ""),
    "all phenomena": ("#pb-phenomenon", ""),
    "all items": ("#pb-show", "all"),
    "one item in full": ("tr[data-pick=item]", None),
    "next page": ("[data-key=next]", None),
    "another model": ("#pb-model", "model_001"),
    "plot of 134,000": ("[data-value=compare]", None),
    "another method in it": ("#pb-method", "acceptability_judgment"),
    "a hexagon": (".hex", None),
    "agreement of all methods": ("[data-value=agreement]", None),
    "by Cohen’s κ": ("#pb-measure", "kappa"),
    "head to head": ("[data-value=versus]", None),
    "by method": ("[data-value=grid]", None),
}
WIDE = {
    "sorted by a corpus": ("th button[data-key='sort:corpus-05']", None),
    "another method": ("#pb-bmethod", "acceptability_judgment"),
    "a column a method": ("#pb-across", "method"),
    "a column a phenomenon": ("#pb-across", "phenomenon"),
    "a column a corpus": ("#pb-across", "corpus"),
    "a signature": (".pb-figure", None),
    "no signature": ("dialog .pb-close", None),
    "all results": ("[data-value=leaderboard]", None),
    "by phenomenon": ("#pb-by", "phenomenon"),
    "sorted by accuracy": ("th button[data-key='sort:accuracy']", None),
    "the leaderboard": ("[data-value=grid]", None),
}


class Opened(NamedTuple):
    """A page that was opened, and what it took."""

    page: Page
    session: CDPSession
    sizes: list[float]
    milliseconds: float


def first_view(browser: Browser, address: str) -> Opened:
    """Open a site in a page of its own."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address)
    page.wait_for_selector(".pb-panel")
    return Opened(page=page, session=session, sizes=sizes, milliseconds=page.evaluate(DRAWN))


def measured(site: Path, steps: dict[str, tuple[str, str | None]]) -> dict[str, Any]:
    """Return what a reader waits for and loads."""
    from playwright.sync_api import sync_playwright

    with serving(site) as address, sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = [first_view(browser, address) for _ in range(VIEWS)]
        page, session, sizes, _ = opened[-1]
        views = [one.milliseconds for one in opened]
        result: dict[str, Any] = {"first view, ms": statistics.median(views), "first bytes, kB": sum(sizes) / 1000}
        for name in ("first", "again"):
            result[name] = {step: act(page, *how) for step, how in steps.items()}
        session.send("Performance.enable")
        metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        result["memory of the page, MB"] = metrics["JSHeapUsedSize"] / 1e6
        result["all bytes, MB"] = sum(sizes) / 1e6
        browser.close()
    return result


def bytes_of(folder: Path, pattern: str) -> int:
    """Return the size of some files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def main() -> None:
    """Measure both banks and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", choices=SIZES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name, size in SIZES.items():
            if given.only in (None, name):
                folder = (given.keep or Path(temporary)) / name
                bank, site = folder / "bank", folder / "site"
                if not (bank / "manifest.json").is_file():
                    write_made_up_bank(bank, size)
                start = time.perf_counter()
                pairbank.write_site(bank, site, texts="all")
                seconds = time.perf_counter() - start
                result = measured(site, LARGE if name == "large" else WIDE)
                result |= {"parquet, MB": bytes_of(bank, "*.parquet") / 1e6, "site, MB": bytes_of(site, "*") / 1e6}
                result |= {"written in, s": seconds, "files": sum(path.is_file() for path in site.rglob("*"))}
                print_table(size, result)


COLUMNS = ("parquet, MB", "site, MB", "files", "written in, s", "first view, ms", "first bytes, kB")
MEMORY = "memory of the page, MB"


def print_table(size: Size, result: dict[str, Any]) -> None:
    """Print a bank's figures as the rows of docs/site.md."""
    tokens = ", with tokens" if size.tokens else ""
    corpora = f" x {size.corpora} corpora" if size.corpora > 1 else ""
    bank = f"{size.models} models{corpora} x {size.items:,} items x {len(METHODS)} methods{tokens}"
    lines = [f"\n| bank | {' | '.join((*COLUMNS, MEMORY))} |", f"| {' | '.join(['---'] * (len(COLUMNS) + 2))} |"]
    lines.append(f"| {bank} | {' | '.join(f'{result[name]:,.0f}' for name in (*COLUMNS, MEMORY))} |")
    lines += [f"\n| interaction, {bank} | while its data come, ms | when they are there, ms |", "| --- | --- | --- |"]
    lines += [f"| {step} | {result['first'][step]:.0f} | {result['again'][step]:.0f} |" for step in result["first"]]
    print("\n".join(lines), flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main()
