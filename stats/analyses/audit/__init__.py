"""Common artefacts in scored tables.

In: scored tables, made here or imported. Out: a section: one line a finding, what was looked for and what was not.
May use: estimates, measures, scored_table, figures.
"""
