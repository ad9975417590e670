"""Counts of Ivanova et al. 2024, Figure 2: people chose context 1 (then: model 1, model 2), people chose 2 (…)."""

MODELS = ("gpt2_xl", "mpt_7b", "mpt_7b_chat", "mpt_30b", "mpt_30b_chat", "human")
FIGURE_2 = {
    "CHOICE": (
        (93, 80, 83, 94),
        (170, 3, 176, 1),
        (166, 7, 168, 9),
        (144, 29, 150, 27),
        (168, 5, 168, 9),
        (173, 0, 0, 177),
    ),
    "LIKERT": (
        (112, 61, 115, 62),
        (144, 29, 146, 31),
        (112, 61, 112, 65),
        (145, 28, 142, 35),
        (153, 20, 107, 70),
        (167, 6, 8, 169),
    ),
    "LOGPROBS": ((122, 51, 48, 129), (135, 38, 37, 140), (143, 30, 33, 144), (137, 36, 30, 147), (141, 32, 28, 149)),
}
# their Table 1; MPT_30B's LOGPROBS stand there as .82, but its cells (and the notebook) give 284 / 350 = .8114
TABLE_1 = {
    "CHOICE": (0.53, 0.49, 0.50, 0.49, 0.51, 1.0),
    "LIKERT": (0.50, 0.50, 0.51, 0.51, 0.64, 0.96),
    "LOGPROBS": (0.72, 0.79, 0.82, 0.8114, 0.83),
}
# recomputed from the cells of LOGPROBS, and of people's LIKERT
KAPPAS = (0.434, 0.571, 0.640, 0.623, 0.657, 0.920)
