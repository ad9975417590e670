"""The bank on disk: where things stand, what fits together, its tables, and what of them may leave the machine.

In: names, tables, licences. Out: paths, parquet files, tables without texts.
May use: nothing of cards.
"""
