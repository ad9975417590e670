"""Where upstream files come from.

In: pinned addresses, a local folder. Out: checked files on disk, and their rows, with errors that name file and row.
May use: schema.
"""
