"""The logs of other tools and the tables of papers, a module a format: files to `Log`s, a model each."""
