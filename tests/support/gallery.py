"""The gallery of figures: in, the starter corpus scored by made-up models; out, docs/gallery.md and its images.

`python -m gallery`, from this folder, makes it anew. Scores and ratings are drawn, not measured: the page shows what
figures look like.
"""

import io
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import pairbank
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.minimalness import add_edit_distance
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.registry import analysis_named
from pairbank.stats.figures.style import Figure, named, styled
from pairbank.stats.report.overview import layouts_of, method_labels, overview
from pairbank.stats.report.page import in_words
from pairbank.stats.report.summary import summarise
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import choice

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, IMAGES = DOCS / "gallery.md", DOCS / "gallery"
DPI = 70
ONE, THREE = ("gpt2-tiny",), ("gpt2-tiny", "llama-tiny", "qwen-tiny")
LABELS = {"direct": "", "mean_logprob": "mean log P", "slor": "SLOR"}
SHOWN: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "overview": (THREE, ("accuracy_starter", "agreement_starter", "scatter_starter")),
    "grammaticality": (
        THREE,
        (
            "grammaticality_auc",
            "grammaticality_scatter_gpt2-tiny",
            "grammaticality_bins_starter_edit_distance",
            "grammaticality_distributions_starter",
            "grammaticality_roc_starter",
        ),
    ),
    "people": (ONE, ("people_pearson_human", "people_scatter", "people_bins_starter_edit_distance")),
    "comparisons": (THREE, ()),
    "paradigms": (THREE, ("paradigms_starter_direct",)),
    "multiverse": (THREE, ()),
}
"""Analysis -> models and the figures shown; none = its first one."""


def scored_starter(model: str, seed: int) -> ScoredFrame:
    items = add_edit_distance(pairbank.load_corpus("starter", subset="minimal-pairs"))
    frame = items.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    n_items = len(frame)
    message, good, bad, people, asked = np.random.default_rng(seed).normal(size=(5, n_items))
    words = np.random.default_rng(0).normal(size=n_items)  # what people and models share
    scores = {"direct": (-35 + 8 * message + good + words, -36 + 8 * message + bad)}
    n_tokens = np.array([len(text.split()) + 1.0 for text in frame["target_good"]])
    scores["mean_logprob"] = (scores["direct"][0] / n_tokens, scores["direct"][1] / n_tokens)
    scores["slor"] = (good + words, bad - 0.6)
    for name, (better, worse) in scores.items():
        frame[f"{name}_good"], frame[f"{name}_bad"], frame[f"{name}_delta"] = better, worse, better - worse
    delta = 0.4 * (good + words - bad) + asked
    frame["meta_question_simple_delta"] = delta
    answers = np.column_stack([delta / 2 - 9, np.full(n_items, -9.0), np.full(n_items, -9.0), delta / 2 - 9])
    frame["meta_question_simple_logprobs"] = list(answers)
    frame["human_good"], frame["human_bad"] = 0.8 + 0.5 * words + 0.3 * people, -0.8
    direct = [
        MethodLayout(method=name, kind="direct", presentations=(), options=(), correct=(), label=shown)
        for name, shown in LABELS.items()
    ]
    question = choice("meta_question_simple", label="MetaQuestionSimple")
    return ScoredFrame(corpus="starter", model=model, frame=frame, layouts=(*direct, question))


@cache
def sections() -> dict[str, list[Figure]]:
    tables = {model: scored_starter(model, nth) for nth, model in enumerate(THREE, 1)}
    result: dict[str, list[Figure]] = {}
    for analysis, (models, names) in SHOWN.items():
        chosen = [tables[model] for model in models]
        if analysis == "overview":
            parts = [summarise(t.frame, t.layouts, model=t.model) for t in chosen]
            made = overview(chosen, summary=pd.concat(parts, ignore_index=True))
        else:
            made = analysis_named(analysis)(chosen, Context(n_resamples=20))
        result[analysis] = [one for one in made.figures if one.name in names] if names else [made.figures[0]]
    return result


def labels() -> dict[str, str]:
    return method_labels(layouts_of([scored_starter(ONE[0], 1)]))


def page() -> str:
    parts = [
        "# Gallery of figures",
        (
            "Each kind of figure, and the command that makes it. Scores and ratings of the starter corpus are "
            "simulated for three invented models: the figures show no results. `make gallery` writes this page."
        ),
        (
            "Reports write every figure in three formats: PNG (300 dpi), SVG (with text as text) and PDF (with "
            "embedded TrueType fonts). Widths are one (3.5 inches) or two columns (7.2 inches) of a journal; colours "
            "are those of Okabe and Ito. Solid line: no difference; dashed: chance. Each model has its own "
            "line, mark or panel; a mean over models has the lowest and the highest model beside it. `captions.json` "
            "has a caption for each figure."
        ),
    ]
    for analysis, figures in sections().items():
        option = "" if analysis == "overview" else f" --analysis {analysis}"
        parts.append(f"## {analysis.capitalize()}")
        parts.append(f"```sh\npairbank report scored-*.parquet{option} --out report\n```")
        for figure in figures:
            parts.append(f"![{figure.name}](gallery/{figure.name}.png)")
            parts.append(in_words(figure.caption, labels()))
    return "\n\n".join(parts) + "\n"


def image(figure: Figure) -> bytes:
    out = io.BytesIO()
    with named(labels()), styled():
        figure.draw().savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for stale in IMAGES.glob("*.png"):
        stale.unlink()
    for figures in sections().values():
        for figure in figures:
            (IMAGES / f"{figure.name}.png").write_bytes(image(figure))
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
