"""Reports: every number of some scored tables, and a folder that a reader can open.

In: scored tables, names of analyses. Out: summary, tables, figures, page.
May use: every room of stats.
"""
