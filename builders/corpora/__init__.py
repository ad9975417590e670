"""One file a corpus: a pinned source and a pure function from its files to items.

In: located files. Out: items of the shared schema, by way of the registry of corpora.
May use: schema, sources, languages.
"""
