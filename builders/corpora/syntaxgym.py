"""SyntaxGym: 1,018 English sentence pairs derived from the test suites. Hu, Gauthier et al. 2020; Hu & Levy 2023.

In: the 34 suites as CSV (`test_suites/csv/*.csv`, a region a row), as an archive or a folder. Out: the pairs that
Hu & Levy (2023, section 5.1) made of 23 suites: an item's regions under a better and a worse condition, joined to
two whole sentences. `in_hu_levy_sample` marks the 345 that they scored: 15 a suite, drawn with their seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.readers import delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

ARCHIVE = "test_suites.tar.gz"
PATTERN = "test_suites/csv/*.csv"
REQUIRED = ("item_number", "condition_name", "region_number", "region_name", "content")
SAMPLE_SEED, SAMPLE_SIZE = 1111, 15

Contrast = tuple[str, str]
"""The condition whose sentence is the better one, and the other."""

_PLAUSIBLE: tuple[Contrast, ...] = (("plaus", "implaus"),)
_CLEFT: tuple[Contrast, ...] = (("np_match", "np_mismatch"), ("vp_match", "vp_mismatch"))
_GAP: tuple[Contrast, ...] = (("that_nogap", "what_nogap"), ("what_gap", "that_gap"))
_EMBEDDED_GAP: tuple[Contrast, ...] = (("that_no-gap", "what_no-gap"), ("what_gap", "that_gap"))
_SUBJECT_GAP: tuple[Contrast, ...] = (("that_nogap", "what_nogap"), ("what_subjgap", "that_subjgap"))
_MATCH: tuple[Contrast, ...] = (("match_sing", "mismatch_sing"), ("match_plural", "mismatch_plural"))
_MATRIX: tuple[Contrast, ...] = (("no-sub_no-matrix", "sub_no-matrix"), ("sub_matrix", "no-sub_matrix"))

SUITES: dict[str, tuple[str, tuple[Contrast, ...]]] = {
    "center_embed": ("center_embedding", _PLAUSIBLE),
    "center_embed_mod": ("center_embedding", _PLAUSIBLE),
    "cleft": ("long_distance_dependencies", _CLEFT),
    "cleft_modifier": ("long_distance_dependencies", _CLEFT),
    "fgd-embed3": ("long_distance_dependencies", _EMBEDDED_GAP),
    "fgd-embed4": ("long_distance_dependencies", _EMBEDDED_GAP),
    "fgd_hierarchy": ("long_distance_dependencies", _SUBJECT_GAP),
    "fgd_object": ("long_distance_dependencies", _GAP),
    "fgd_pp": ("long_distance_dependencies", _GAP),
    "fgd_subject": ("long_distance_dependencies", _GAP),
    "number_orc": ("agreement", _MATCH),
    "number_prep": ("agreement", _MATCH),
    "number_src": ("agreement", _MATCH),
    "reflexive_orc_fem": ("licensing", _MATCH),
    "reflexive_orc_masc": ("licensing", _MATCH),
    "reflexive_prep_fem": ("licensing", _MATCH),
    "reflexive_prep_masc": ("licensing", _MATCH),
    "reflexive_src_fem": ("licensing", _MATCH),
    "reflexive_src_masc": ("licensing", _MATCH),
    "subordination": ("gross_syntactic_state", _MATRIX),
    "subordination_orc-orc": ("gross_syntactic_state", _MATRIX),
    "subordination_pp-pp": ("gross_syntactic_state", _MATRIX),
    "subordination_src-src": ("gross_syntactic_state", _MATRIX),
}
"""Suite -> its circuit in Hu et al. 2020, section 3, and its contrasts, in the order in which pairs are numbered."""


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs suite by suite, an item's contrasts side by side, as the published recipe numbers them."""
    path = files[ARCHIVE].path
    texts = {name.rsplit("/", 1)[-1].removesuffix(".csv"): (name, text) for name, text in member_texts(path, PATTERN)}
    if missing := [suite for suite in SUITES if suite not in texts]:
        raise CorpusError(f"{path}: lacks the suites {', '.join(missing)}; get all of {PATTERN} again")
    n_before = 0
    for suite in SUITES:
        name, text = texts[suite]
        pairs = list(_pairs(suite, text, f"{path}:{name}", n_before))
        n_before += len(pairs)
        if wanted(suite, options):
            yield from pairs


def _pairs(suite: str, text: str, where: str, n_before: int) -> Iterator[Item]:
    phenomenon, contrasts = SUITES[suite]
    sentences = _sentences(text, where)
    sampled = _sample(len(sentences) * len(contrasts))
    index = 0
    for item_number, by_condition in sorted(sentences.items()):
        for good, bad in contrasts:
            if missing := [condition for condition in (good, bad) if condition not in by_condition]:
                raise CorpusError(
                    f"{where}: item {item_number} has no condition {' and no '.join(missing)}; "
                    f"found {', '.join(by_condition)}; get the suite again"
                )
            yield Item(
                item_id=f"syntaxgym/{suite}/{index + 1}",
                corpus="syntaxgym",
                subset=suite,
                language="en",
                task="sentence_pair",
                phenomenon=phenomenon,
                paradigm=suite,
                target_good=by_condition[good],
                context_bad="",
                target_bad=by_condition[bad],
                pair_id=str(item_number),
                extra={
                    "good_condition": good,
                    "bad_condition": bad,
                    "hu_levy_id": n_before + index + 1,
                    "in_hu_levy_sample": index in sampled,
                },
            )
            index += 1


def _sentences(text: str, where: str) -> dict[int, dict[str, str]]:
    """Return item -> condition -> sentence: its regions that are not empty, joined and detokenised."""
    regions: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line, row in delimited(text, REQUIRED, where=where):
        if not row["item_number"].isdecimal():
            raise CorpusError(f"{where}, row {line}: item_number is {row['item_number']!r}, expected a whole number")
        condition = regions[int(row["item_number"])][row["condition_name"]]
        if row["content"]:
            condition.append(row["content"])
    return {
        item: {condition: join_regions(contents) for condition, contents in by_condition.items()}
        for item, by_condition in regions.items()
    }


def join_regions(contents: list[str]) -> str:
    """Return one sentence, punctuated as in the published recipe.

    >>> join_regions(["The cook", "who left", ", he said ,", "slept"])
    'The cook who left, he said, slept.'
    """
    sentence = " ".join(contents)
    if not sentence.endswith("."):
        sentence += "."
    return sentence.replace(" ,", ",").replace(" .", ".")


def _sample(n_pairs: int) -> frozenset[int]:
    """Return which of a suite's pairs Hu & Levy drew: what `DataFrame.sample(n=15, random_state=1111)` draws."""
    import numpy as np

    draw = np.random.RandomState(SAMPLE_SEED)
    return frozenset(draw.choice(n_pairs, size=min(SAMPLE_SIZE, n_pairs), replace=False).tolist())


SYNTAXGYM = declared("syntaxgym", rows)
