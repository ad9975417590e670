"""Raters beside models.

In: scored tables, and individual ratings of the items. Out: a section.
May use: estimates, measures, scored_table, figures.
"""
