"""One file a corpus: a pinned source and a pure function from its files to items."""
