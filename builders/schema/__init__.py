"""The shared schema, one row one choice between a better and a worse side.

In: what a builder made of one source row. Out: columns, items, Features, and every problem a row has.
May use: nothing of pairbank beside errors, files and records.
"""
