"""Facts that hold for every corpus: pinned sources, one builder config a subset, nothing that contradicts itself."""

import re

import pytest

from pairbank.builders import CORPORA, Corpus
from pairbank.builders.dataset import builder_class, features
from pairbank.builders.sources.source import pinned_members
from pairbank.files import sha256_of_text

every_corpus = pytest.mark.parametrize("corpus", CORPORA.values(), ids=lambda corpus: corpus.name)


@every_corpus
def test_a_file_is_pinned_as_its_members_are_or_says_that_it_is_not(corpus: Corpus) -> None:
    for file in corpus.source.files:
        assert re.fullmatch(r"[0-9a-f]{64}|", file.sha256)
        assert file.url.startswith("https://") or file.by_hand
        if file.members:
            pins = pinned_members(file)
            names = {name.rsplit("/", 1)[-1]: digest for name, digest in pins.items()}
            assert len(names) == len(pins)
            assert sha256_of_text(*(f"{name} {names[name]}" for name in sorted(names))) == file.sha256
    if corpus.source.files and all(file.sha256 for file in corpus.source.files) and not corpus.counted:
        pytest.fail(f"{corpus.name}: n_items can be counted in the pinned files")


@every_corpus
def test_a_corpus_states_its_facts_and_has_a_builder_config_a_subset(corpus: Corpus) -> None:
    names = [config.name for config in builder_class(corpus).BUILDER_CONFIGS]
    assert names == ["all", *corpus.subsets]
    assert len(set(names)) == len(names)
    assert not any(set(name) & set('<>:/\\|?*"') for name in names)
    assert features(corpus.extra_columns)
    assert 0 <= corpus.n_identical < corpus.n_items
    assert corpus.n_usable == corpus.n_items - corpus.n_identical
    assert corpus.source.licence
    assert corpus.source.redistributable <= (corpus.source.licence not in {"unknown", "other"})
