"""Corpus files to items: `load_corpus` and the facts about each corpus. Importing this imports no datasets."""

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.registry import CORPORA, corpus_named
from pairbank.builders.load import load_corpus, load_ratings
from pairbank.builders.schema.columns import COLUMNS, Column, Item
from pairbank.builders.sources.source import Source, SourceFile

__all__ = [
    "COLUMNS",
    "CORPORA",
    "BuildOptions",
    "Column",
    "Corpus",
    "Item",
    "Source",
    "SourceFile",
    "corpus_named",
    "load_corpus",
    "load_ratings",
]
