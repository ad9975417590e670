"""Direct against asked, over everybody's systems: in, scored tables, run or imported; out, tables and a figure.

Of a system the accuracy by probability (`direct`, or `preferred` where only the preferred sentence is known) and the
accuracy when it was asked (a prompt, or `asked`), on the items that have both; their difference with an interval for
pairs, and McNemar's mid-p test with Holm's correction over all systems of a source.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pairbank
from pairbank.scoring.scored import Scored
from pairbank.stats.analyses.introspection.model_features import find_features
from pairbank.stats.estimates.shares import share_of_items
from pairbank.stats.estimates.ties import signs
from pairbank.stats.figures.style import COLOURS, DOUBLE, drawing, reference, styled
from pairbank.stats.measures.paired_tests import compare, corrected

DIRECT, ASKED = ("direct", "preferred"), ("hf24_paired", "asked")
HARDLY_EVER = 0.05
"""Asked accuracy below which hardly any answer can have been read: a system that answered at random would have .5."""
SIGNIFICANCE = 0.05
SOURCES = {"qfrblimp": ("QFrBLiMP", "fr-CA"), "hu-frank-2024-syntax": ("Hu & Frank 2024", "en")}


def row_of(table: Scored) -> dict[str, Any] | None:
    """Return the numbers of a system; None where it was not both measured and asked."""
    direct = next((name for name in DIRECT if name in table.methods), None)
    asked = next((name for name in ASKED if name in table.methods), None)
    if direct is None or asked is None:
        return None
    frame = table.to_pandas()
    x, y = (frame[f"{name}_delta"].to_numpy(dtype=float) for name in (direct, asked))
    differ = np.array(["identical_sides" not in flags for flags in frame["flags"]])
    both = ~np.isnan(x + y) & differ
    found = compare(y[both], x[both])
    shares = [share_of_items((signs(values[both]) + 1) / 2) for values in (x, y)]
    source, language = SOURCES.get(table.corpus, ("ours, the items of Hu & Frank", "en"))
    return {
        "source": source,
        "language": language,
        "model": table.model,
        "size_billions": size_of(table),
        "n": found.n,
        "direct": shares[0].value,
        "direct_low": shares[0].low,
        "direct_high": shares[0].high,
        "asked": shares[1].value,
        "asked_low": shares[1].low,
        "asked_high": shares[1].high,
        "difference": found.difference.value,
        "low": found.difference.low,
        "high": found.difference.high,
        "p_mid": found.p_mid,
        "hardly_ever": shares[1].value < HARDLY_EVER,
    }


def size_of(table: Scored) -> float:
    """Return billions of parameters: as the import knows it, as it is declared, or as the name has it."""
    known = table.signature["model"].get("size_billions")
    declared = find_features(table.model, corpus=table.corpus)
    if known is not None or declared is not None:
        return float(known if known is not None else declared.size_billions if declared else np.nan)
    experts = re.search(r"(\d+)x(\d+)B", table.model)
    plain = re.search(r"(\d+(?:\.\d+)?)([BM])(?![a-zA-Z])", table.model)
    if experts:
        return float(experts[1]) * float(experts[2])
    return float(plain[1]) / (1000 if plain[2] == "M" else 1) if plain else np.nan


def summary(found: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what the page says of each source."""
    for source, part in found.groupby("source", sort=False):
        read = part[~part["hardly_ever"]]
        below = (part["p_holm"] < SIGNIFICANCE) & (part["difference"] < 0)
        above = (part["p_holm"] < SIGNIFICANCE) & (part["difference"] > 0)
        sized = read[read["size_billions"].notna()]
        yield {
            "source": source,
            "systems": len(part),
            "items": int(part["n"].max()),
            "hardly_ever": int(part["hardly_ever"].sum()),
            "asked_worse": int(below.sum()),
            "asked_worse_of_the_others": int((below & ~part["hardly_ever"]).sum()),
            "asked_better": int(above.sum()),
            "asked_above_chance": int((read["asked_low"] > 0.5).sum()),
            "direct_from": part["direct"].min(),
            "direct_to": part["direct"].max(),
            "asked_from": read["asked"].min(),
            "asked_to": read["asked"].max(),
            "median_difference": read["difference"].median(),
            "rho_size_direct": sized["size_billions"].corr(sized["direct"], method="spearman"),
            "rho_size_asked": sized["size_billions"].corr(sized["asked"], method="spearman"),
            "rho_direct_asked": read["direct"].corr(read["asked"], method="spearman"),
            "n_sized": len(sized),
        }


def consistency(signs_of: dict[str, tuple[pd.Series[float], pd.Series[float]]]) -> dict[str, float]:
    """Return how far the answers of systems go together, and with their own probabilities: medians and extremes."""
    near = {name: both for name, both in signs_of.items() if abs((both[1] > 0).mean() - 0.5) < 0.1}
    answers = pd.DataFrame({name: both[1] for name, both in near.items()}).dropna() > 0
    direct = pd.DataFrame({name: both[0] for name, both in near.items()}).dropna() > 0

    def pairwise(frame: pd.DataFrame) -> pd.Series[float]:
        return pd.Series([(frame[a] == frame[b]).mean() for a, b in itertools.combinations(frame, 2)])

    asked, own = pairwise(answers), [both[0].gt(0).corr(both[1].gt(0)) for both in near.values()]
    return {
        "systems_near_one_half": len(near),
        "agreement_of_answers_median": asked.median(),
        "agreement_of_answers_least": asked.min(),
        "agreement_of_answers_most": asked.max(),
        "agreement_of_preferences_median": pairwise(direct).median(),
        "phi_of_answers_with_own_preferences_median": float(np.median(own)),
    }


def signs_in(table: Scored) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return the signs of both differences of a system, by item."""
    frame = table.to_pandas().set_index("item_id")
    direct = next(name for name in DIRECT if name in table.methods)
    asked = next(name for name in ASKED if name in table.methods)
    return frame[f"{direct}_delta"], frame[f"{asked}_delta"]


def main() -> None:
    """Write systems.csv, summary.json and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scored", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, help="with corpora/qfrblimp, for what people chose")
    given = parser.parse_args()
    tables = [pairbank.read_scored(path) for path in given.scored]
    known = [(table, row) for table in tables if (row := row_of(table)) is not None]
    found = pd.DataFrame([row for _, row in known])
    together = {
        source: consistency({row["model"]: signs_in(table) for table, row in known if row["source"] == source})
        for source in found["source"].unique()
        if (found["source"] == source).sum() > 1
    }
    for _, part in found.groupby("source"):
        found.loc[part.index, "p_holm"] = corrected(part["p_mid"]).holm
    found = found.sort_values(["source", "size_billions", "model"], ignore_index=True)
    given.out.mkdir(parents=True, exist_ok=True)
    found.to_csv(given.out / "systems.csv", index=False, float_format="%.6g")
    people = {} if given.data_dir is None else {"QFrBLiMP": people_of("qfrblimp", given.data_dir)}
    text = json.dumps(
        {"sources": list(summary(found)), "people": people, "answers": together},
        indent=1,
        ensure_ascii=False,
        default=float,
    )
    (given.out / "summary.json").write_text(text + "\n", encoding="utf-8")
    (given.out / "figures").mkdir(exist_ok=True)
    draw(found, people).savefig(given.out / "figures" / "direct_vs_asked.png", dpi=150)


def draw(found: pd.DataFrame, people: dict[str, float]) -> Any:  # noqa: ANN401 - matplotlib's
    """Draw both accuracies of every system over its size, joined by a line; a panel a source, people above."""
    sized = found[found["size_billions"].notna() & ~found["source"].str.startswith("ours")]
    sources = list(dict.fromkeys(sized["source"]))
    with styled():
        made = drawing(DOUBLE, 3.4)
        for nth, source in enumerate(sources):
            part = sized[sized["source"] == source]
            axes = made.add_subplot(1, len(sources), nth + 1)
            axes.set_xscale("log")
            axes.set_title(f"{source} (n = {len(part)})", fontsize=9)
            axes.vlines(part["size_billions"], part["asked"], part["direct"], color="0.8", linewidth=0.7)
            axes.scatter(part["size_billions"], part["direct"], s=12, color=COLOURS[0], label="direct")
            axes.scatter(part["size_billions"], part["asked"], s=12, color=COLOURS[1], marker="s", label="asked")
            reference(axes, y=0.5, dashed=True)
            if source in people:
                axes.axhline(people[source], color="0.3", linewidth=0.9, linestyle=":")
                axes.annotate("one person", (part["size_billions"].min(), people[source]), fontsize=7, va="bottom")
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlabel("billions of parameters")
            axes.set_ylabel("accuracy")
            axes.legend(fontsize=7, loc="lower right")
    return made


def people_of(corpus: str, data_dir: Path) -> float:
    """Return how often a single person chooses the better side, of the pairs whose sides differ."""
    items = pairbank.load_corpus(corpus, data_dir=data_dir).to_pandas()
    differ = {
        one for one, flags in zip(items["item_id"], items["flags"], strict=True) if "identical_sides" not in flags
    }
    ratings = pairbank.load_ratings(corpus, data_dir=data_dir).to_pandas()
    mine = ratings[ratings["item_id"].isin(differ)]
    return float(mine["value"].mean())


if __name__ == "__main__":
    main()
