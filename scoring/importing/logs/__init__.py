"""The logs of other tools and the tables of papers, a module a format.

In: files or folders, and the profile that names their format. Out: `Log`s, a model each: rows under our names, what was
left out, what the source says of itself. May use: all of importing but `scores` and `model_table`; none of each other.
"""
