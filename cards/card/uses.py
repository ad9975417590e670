"""What a bank is for, and what it is not for: sentences that the card and the Croissant file share."""

from __future__ import annotations

INTENDED = (
    "Comparing what a language model's probabilities prefer with what it answers when asked, item by item.",
    "Comparing models, methods or wordings of a question on the same items, with paired tests.",
    "Relating scores to people's judgments of the same sentences, where a corpus has them.",
    "Looking at single items: which contrast a model gets wrong, and by how much.",
)
UNSUITABLE = (
    "Training or tuning a model that is then evaluated on these corpora: its scores would say nothing any more.",
    'One number for "knows the language": a minimal pair tests one contrast, and a corpus some of them.',
    "Reading log-probabilities of different strings as grades of acceptability: length and word frequency go in.",
    "Judging people: texts and judgments are about sentences, and say nothing about who wrote or speaks in some way.",
)
LIMITATIONS = (
    "A score is of one model version, tokenizer and BOS policy: compare numbers only where their signatures agree.",
    "Minimal pairs test a contrast, not a grammar; automatically generated items can be odd in meaning.",
    "Texts that are public may stand in a model's training data.",
    "An interval is over items, not over corpora or wordings of a question.",
)
BIASES = (
    "Corpora describe the variety that their authors chose, mostly written standard language; worse is worse in it.",
    "Languages and phenomena are covered very unevenly: a mean over corpora weighs what was easy to collect.",
)
SENSITIVE = (
    "No personal data are collected; individual raters are numbered; sentences from newspapers may name people.",
)
