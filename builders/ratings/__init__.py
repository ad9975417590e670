"""Ratings of individual raters, and what an item's human judgment is made of.

In: what a builder reads of who judged what. Out: rows of the table of ratings; means, spread and n of the items.
May use: `schema`.
"""
