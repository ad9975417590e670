"""Studies: a TOML file that names corpora, methods and settings, and the run that makes a bank of it.

In: a study and models. Out: a bank with its report.
May use: every stage.
"""
