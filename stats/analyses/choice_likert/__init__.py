"""CHOICE, LIKERT and LOGPROBS on the same items, as Ivanova et al. 2024.

In: scored tables of context pairs. Out: a section, its tables and figures.
May use: what analyses may.
"""
