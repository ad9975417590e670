"""One claim under every defensible choice that scored tables hold.

In: scored tables, made here or imported, and a claim. Out: a section with the specification curve and its tests.
May use: estimates, measures, scored_table, figures.
"""
