"""Does a model's answer follow its own probabilities more than another's? Song, Hu & Mahowald 2025.

In: scored tables of several models and their declared features. Out: a section with verdict, tables, figures.
May use: what analyses may.
"""
