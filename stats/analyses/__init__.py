"""One question of a report a module.

In: scored tables. Out: a section: text, tables, figures, definitions.
May use: estimates, measures, scored_table, figures.
"""
