"""Languages beside phenomena.

In: scored tables of any corpora. Out: a section by language, family, resource level and phenomenon.
May use: estimates, measures, scored_table, figures.
"""
