"""Direct against asked, over everybody's systems: in, scored tables, run or imported; out, tables and a figure.

Of a system the accuracy by probability (`direct`, or `preferred` where only the preferred sentence is known) and the
accuracy when it was asked (a prompt, or `asked`), on the items that have both and two sides; their difference with an
interval for pairs, and McNemar's mid-p test with Holm's correction over all systems of a source.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pairbank
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.scored import Scored
from pairbank.stats import summarise
from pairbank.stats.estimates.shares import share_of_items, signs, varies
from pairbank.stats.figures.style import COLOURS, DOUBLE, drawing, reference, styled
from pairbank.stats.measures.paired_tests import compare, corrected
from pairbank.stats.scored_table.model_features import find_features

DIRECT, ASKED = ("direct", "logprob_minicons", "preferred"), ("hf24_paired", "asked")
HARDLY_EVER = 0.05
"""Asked accuracy below which hardly any answer can have been read: a system that answered at random would have .5."""
SIGNIFICANCE = 0.05
HU_FRANK = "Hu & Frank 2024"
SOURCES = {"qfrblimp": ("QFrBLiMP", "fr-CA"), "hu-frank-2024-syntax": (HU_FRANK, "en")}
OURS = f"ours, the items of {HU_FRANK}"
NEAR = 0.1
"""Of one half: asked accuracies that are no further from it are looked at for what the answers follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that was both measured and asked."""

    table: Scored
    choices: pd.DataFrame
    """What it prefers (`direct`) and answers (`asked`) by item, of items with both and two sides: 1, -1 or 0, a tie."""
    answers_vary: bool
    """Whether its answers differ between items by more than rounding."""
    as_written: dict[str, float]
    """Over both orders, of what it would write: the share of right answers, and of the first option; undefined where
    the source has its decisions alone."""


def system_of(table: Scored) -> System | None:
    """Return what a system prefers and answers; None where it was not both measured and asked."""
    direct = next((name for name in DIRECT if name in table.methods), None)
    asked = next((name for name in ASKED if name in table.methods), None)
    if direct is None or asked is None:
        return None
    frame = table.to_pandas().set_index("item_id")
    differ = np.array(["identical_sides" not in flags for flags in frame["flags"]])
    both = pd.DataFrame({"direct": frame[f"{direct}_delta"], "asked": frame[f"{asked}_delta"]})[differ].dropna()
    if both.empty:  # in a bank, the table of a system that was not asked has the column, without numbers
        return None
    layouts = [MethodLayout.from_dict(one) for one in table.layouts if one["method"] == asked]
    result = summarise(frame.reset_index(), layouts, model=table.model).set_index(["group_by", "metric"])["value"]
    return System(
        table=table,
        choices=both.apply(signs),
        answers_vary=bool(varies(both["asked"])),
        as_written={
            name: float(result.get(("all", metric), np.nan))
            for name, metric in (("as_written", "accuracy_pooled"), ("first_option", "position_bias"))
        },
    )


def row_of(system: System, sizes: Mapping[str, float]) -> dict[str, Any]:
    """Return the numbers of a system."""
    table, choices = system.table, system.choices
    result = compare(choices["asked"], choices["direct"])
    shares = [share_of_items((choices[name] + 1) / 2) for name in ("direct", "asked")]
    source, language = SOURCES.get(table.corpus, (OURS, "en"))
    return {
        "source": source,
        "language": language,
        "model": table.model,
        "size_billions": sizes.get(table.model, size_of(table)),
        "n": result.n,
        "direct": shares[0].value,
        "direct_low": shares[0].low,
        "direct_high": shares[0].high,
        "asked": shares[1].value,
        "asked_low": shares[1].low,
        "asked_high": shares[1].high,
        "difference": result.difference.value,
        "low": result.difference.low,
        "high": result.difference.high,
        "p_mid": result.p_mid,
        "hardly_ever": shares[1].value < HARDLY_EVER,
        **system.as_written,
        "answers_vary": system.answers_vary,
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


def summary(result: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what the page says of each source."""
    for source, part in result.groupby("source", sort=False):
        read = part[~part["hardly_ever"]]
        below = (part["p_holm"] < SIGNIFICANCE) & (part["difference"] < 0)
        above = (part["p_holm"] < SIGNIFICANCE) & (part["difference"] > 0)
        sized = read[read["size_billions"].notna()]
        yield {
            "source": source,
            "systems": len(part),
            "items": int(part["n"].max()),
            "hardly_ever": int(part["hardly_ever"].sum()),
            "never": int((part["asked"] == 0).sum()),
            "asked_worse": int(below.sum()),
            "asked_worse_of_the_others": int((below & ~part["hardly_ever"]).sum()),
            "asked_better": int(above.sum()),
            "asked_above_chance": int((read["asked_low"] > 0.5).sum()),
            "asked_below_chance": int((read["asked_high"] < 0.5).sum()),
            "direct_from": part["direct"].min(),
            "direct_to": part["direct"].max(),
            "asked_from": read["asked"].min(),
            "asked_to": read["asked"].max(),
            "median_difference": part["difference"].median(),
            "median_difference_of_the_others": read["difference"].median(),
            "rho_size_direct": sized["size_billions"].corr(sized["direct"], method="spearman"),
            "rho_size_asked": sized["size_billions"].corr(sized["asked"], method="spearman"),
            "rho_direct_asked": read["direct"].corr(read["asked"], method="spearman"),
            "n_sized": len(sized),
            "always_first": int((part["first_option"] == 1).sum()),
            "as_written_from": part["as_written"].min(),
            "as_written_to": part["as_written"].max(),
        }


def consistency(systems: list[System]) -> dict[str, float]:
    """Return how far the answers of systems near one half go together, and with their own probabilities.

    Medians and extremes over pairs of systems, and systems; of the items where neither ties. Systems whose answers
    differ by rounding alone are left out.
    """
    near = {
        one.table.model: one.choices
        for one in systems
        if one.answers_vary and abs((one.choices["asked"].mean() + 1) / 2 - 0.5) <= NEAR
    }

    def pairwise(column: str) -> pd.Series[float]:
        sides = pd.DataFrame({name: one[column].replace(0, np.nan) for name, one in near.items()})
        both = [sides[[a, b]].dropna() for a, b in itertools.combinations(sides, 2)]
        return pd.Series([(one.iloc[:, 0] == one.iloc[:, 1]).mean() for one in both], dtype=float)

    asked = pairwise("asked")
    own = [one[(one != 0).all(axis=1)].corr().loc["direct", "asked"] for one in near.values()]
    return {
        "systems_near_one_half": len(near),
        "pairs_of_them": len(asked),
        "agreement_of_answers_median": asked.median(),
        "agreement_of_answers_least": asked.min(),
        "agreement_of_answers_most": asked.max(),
        "agreement_of_preferences_median": pairwise("direct").median(),
        "phi_of_answers_with_own_preferences_median": float(np.median(own)),
        "phi_of_answers_with_own_preferences_least": min(own),
        "phi_of_answers_with_own_preferences_most": max(own),
    }


def declared_sizes(path: Path | None) -> dict[str, float]:
    """Return the billions of parameters that a list of models declares, by name."""
    models = tomllib.loads(path.read_text(encoding="utf-8"))["models"] if path else []
    return {Path(one["id"]).name: one["size_billions"] for one in models}


def main() -> None:
    """Write systems.csv, summary.json and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scored", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, help="with corpora/qfrblimp, for what people chose")
    parser.add_argument("--models", type=Path, action="append", default=[], help="lists that declare sizes of our own")
    given = parser.parse_args()
    sizes = {name: size for path in given.models for name, size in declared_sizes(path).items()}
    tables = [pairbank.read_scored(path) for path in given.scored]
    known = [system for table in tables if (system := system_of(table)) is not None]
    result = pd.DataFrame([row_of(system, sizes) for system in known])
    systems_of: dict[str, list[System]] = {}
    for system, source in zip(known, result["source"], strict=True):
        systems_of.setdefault(source, []).append(system)
    together = {source: consistency(systems) for source, systems in systems_of.items()}
    for _, part in result.groupby("source"):
        result.loc[part.index, "p_holm"] = corrected(part["p_mid"]).holm
    result = result.sort_values(["source", "size_billions", "model"], ignore_index=True)
    given.out.mkdir(parents=True, exist_ok=True)
    result.to_csv(given.out / "systems.csv", index=False, float_format="%.6g")
    people = {} if given.data_dir is None else {"QFrBLiMP": people_of("qfrblimp", given.data_dir)}
    above = {
        name: int((result.loc[result["source"] == name, "direct"] > share).sum()) for name, share in people.items()
    }
    said = {"sources": list(summary(result)), "people": people, "direct_above_people": above, "answers": together}
    text = json.dumps(without_nan(said), indent=1, ensure_ascii=False, default=float)
    (given.out / "summary.json").write_text(text + "\n", encoding="utf-8")
    (given.out / "figures").mkdir(exist_ok=True)
    draw(result, people).savefig(given.out / "figures" / "direct_vs_asked.png", dpi=150)


def without_nan(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return what JSON has: null for a number that is undefined."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def draw(result: pd.DataFrame, people: dict[str, float]) -> Any:  # noqa: ANN401 - matplotlib's
    """Draw both accuracies of every system over its size, joined by a line; a panel a source, people above.

    Ours stand, hollow, in the panel of the source whose items they were asked.
    """
    sized = result[result["size_billions"].notna()]
    ours = sized[sized["source"] == OURS]
    sources = [name for name in dict.fromkeys(sized["source"]) if name != OURS]
    with styled():
        made = drawing(DOUBLE, 3.4)
        for nth, source in enumerate(sources):
            part = sized[sized["source"] == source]
            axes = made.add_subplot(1, len(sources), nth + 1)
            axes.set_xscale("log")
            more = f"; {len(ours)} of ours hollow" if source == HU_FRANK and len(ours) else ""
            axes.set_title(f"{source} ({len(part)} systems{more})", fontsize=9)
            axes.vlines(part["size_billions"], part["asked"], part["direct"], color="0.8", linewidth=0.7, zorder=0)
            axes.scatter(part["size_billions"], part["direct"], s=12, color=COLOURS[0], label="direct")
            axes.scatter(part["size_billions"], part["asked"], s=12, color=COLOURS[1], marker="s", label="asked")
            if source == HU_FRANK:
                axes.vlines(ours["size_billions"], ours["asked"], ours["direct"], color="0.8", linewidth=0.7)
                for column, colour, mark in (("direct", COLOURS[0], "o"), ("asked", COLOURS[1], "s")):
                    axes.scatter(
                        ours["size_billions"], ours[column], s=14, facecolors="none", edgecolors=colour, marker=mark
                    )
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
