"""Raters beside models.

In: scored tables, and what single raters said of the items. Out: a section.
May use: estimates, measures, scored_table, figures.
"""
