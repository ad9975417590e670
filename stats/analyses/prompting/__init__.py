"""Is asking a model a substitute for reading its probabilities? Hu & Levy 2023.

In: scored tables of some models, directly and with prompts. Out: a section with answer, tables, figures.
May use: what analyses may.
"""
