"""Scored tables of Hu & Levy's four tasks that tests make up: words, word pairs, sentences judged and compared."""

import numpy as np

from pairbank.scoring.api.layout import Kind, MethodLayout
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, items_frame

PROMPTS = ("MetaQuestionSimple", "MetaInstruct", "MetaQuestionComplex")
CORPORA = {
    "p18": ("word_prediction", ("Exp. 1",)),
    "news-2023": ("word_prediction", ("Exp. 1",)),
    "dtfit": ("continuation_pair", ("Exp. 2",)),
    "syntaxgym": ("sentence_pair", ("Exp. 3a", "Exp. 3b")),
    "hu-levy-blimp": ("sentence_pair", ("Exp. 3a", "Exp. 3b")),
}
SIZES = {"p18": 60, "news-2023": 40, "dtfit": 50, "syntaxgym": 45, "hu-levy-blimp": 90}


def layouts_of(task: str) -> list[MethodLayout]:
    kind: Kind = "prediction" if task == "Exp. 1" else "judgment" if task == "Exp. 3a" else "forced_choice"
    presentations = {"Exp. 1": ("word",), "Exp. 3a": ("good", "bad")}.get(task, ("good first", "bad first"))
    options = {"Exp. 1": ("{target}",), "Exp. 3a": ("Yes", "No")}.get(task, ("1", "2"))
    return [
        MethodLayout(
            method=f"{task[5:]}_{nth}",
            kind=kind,
            presentations=presentations,
            options=options,
            correct=() if kind == "prediction" else (0, 1),
            accuracy="averaged" if kind == "prediction" else "pooled",
            label=f"{prompt} ({task})",
        )
        for nth, prompt in enumerate(PROMPTS)
    ]


def asked_table(corpus: str, model: str, *, seed: int, shift: float = 0.3) -> ScoredFrame:
    """One corpus by one model: answers follow probabilities with noise, and less well the later the prompt."""
    rng = np.random.default_rng([seed, *corpus.encode()])
    kind, tasks = CORPORA[corpus]
    n = SIZES[corpus]
    layouts = [layout for task in tasks for layout in layouts_of(task)]
    direct = rng.normal(-4 if kind == "word_prediction" else 0.8, 2, n)
    columns: dict[str, object] = {"direct_good": direct, "direct_bad": None, "direct_delta": direct}
    if kind == "word_prediction":
        columns["direct_delta"] = None
    for nth, layout in enumerate(layouts):
        noise = rng.normal(-shift, 1 + nth, n)
        name = layout.method
        if layout.kind == "prediction":
            columns |= {f"{name}_good": direct + noise, f"{name}_delta": None}
            columns[f"{name}_logprobs"] = [[x] for x in direct + noise]
            continue
        bias = rng.normal(0, 1)
        first = direct + noise
        columns[f"{name}_logprobs"] = [
            [x / 4 + bias / 2 - 5, -x / 4 - bias / 2 - 5, -x / 4 + bias / 2 - 5, x / 4 - bias / 2 - 5] for x in first
        ]
        columns[f"{name}_delta"] = first
    columns |= {"task": kind, "target_bad": None if kind == "word_prediction" else "other"}
    frame = items_frame(n, corpus, subset="all", **columns)
    return ScoredFrame(
        corpus=corpus,
        model=model,
        frame=frame,
        layouts=(DIRECT, *layouts),
        signature={"model": {"name": model, "model_id": model}},
    )


def asked_tables(models: list[str]) -> list[ScoredFrame]:
    return [asked_table(corpus, model, seed=nth) for nth, model in enumerate(models) for corpus in CORPORA]
