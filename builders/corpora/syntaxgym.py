"""SyntaxGym's suites as pairs, as regions, and those in Mandarin. Files in, items out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import decode, delimited
from pairbank.builders.sources.source import LocatedFile, member_texts
from pairbank.errors import CorpusError
from pairbank.files import reading

SYNTAXGYM_ARCHIVE = "test_suites.tar.gz"
SYNTAXGYM_PATTERN = "test_suites/csv/*.csv"
SYNTAXGYM_REQUIRED = ("item_number", "condition_name", "region_number", "region_name", "content")
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
REGIONS = ("before", "critical", "after")
_CRITICAL = REGIONS.index("critical") + 1
_DE = "的"
_GRAMMATICAL = ("grammatical", "ungrammatical")
_PAIR = (("ungrammatical", "grammatical"),)
_GARDEN = (("general_classifier", "specific_classifier"),)
SUITES_PATTERN = "test_suites/json/*.json"
CLOSED_UP = (",", ".", "?", "!", ";", ":", "'s", "n't")
"""A region that begins with one of these follows without a space."""
_GARDEN_PATH, _LICENSING = "garden_path_effects", "licensing"


def syntaxgym_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs suite by suite, an item's contrasts side by side, as the published recipe numbers them.

    Hu & Levy (2023, section 5.1) made them of 23 suites: an item's regions under a better and a worse condition, joined
    to two whole sentences. `in_hu_levy_sample` marks the 345 that they scored: 15 a suite, drawn with their seed.
    """
    path = files[SYNTAXGYM_ARCHIVE].path
    texts = {
        name.rsplit("/", 1)[-1].removesuffix(".csv"): (name, text)
        for name, text in member_texts(path, SYNTAXGYM_PATTERN)
    }
    if missing := [suite for suite in SUITES if suite not in texts]:
        raise CorpusError(f"{path}: lacks the suites {', '.join(missing)}; get all of {SYNTAXGYM_PATTERN} again")
    n_before = 0
    for suite in SUITES:
        name, text = texts[suite]
        pairs = list(_pairs(suite, text, f"{path}:{name}", n_before))
        n_before += len(pairs)
        if is_requested(suite, options):
            yield from pairs


def _pairs(suite: str, text: str, where: str, n_before: int) -> Iterator[Item]:
    phenomenon, contrasts = SUITES[suite]
    sentences = _sentences(text, where)
    # the pairs that Hu & Levy drew: those of `DataFrame.sample(n=15, random_state=1111)`
    n_pairs, draw = len(sentences) * len(contrasts), np.random.RandomState(SAMPLE_SEED)
    sampled = frozenset(draw.choice(n_pairs, size=min(SAMPLE_SIZE, n_pairs), replace=False).tolist())
    index = 0
    for item_number, by_condition in sorted(sentences.items()):
        for good, bad in contrasts:
            if missing := [condition for condition in (good, bad) if condition not in by_condition]:
                raise CorpusError(
                    f"{where}: item {item_number} has no condition {' and no '.join(missing)}; "
                    f"found {', '.join(by_condition)}; get the suite again"
                )
            yield item_of(
                ("syntaxgym", suite, index + 1),
                by_condition[good],
                by_condition[bad],
                phenomenon=phenomenon,
                paradigm=suite,
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
    for line, row in delimited(text, SYNTAXGYM_REQUIRED, where=where):
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


@dataclass(frozen=True, slots=True)
class _Kind:
    phenomenon: str
    conditions: tuple[str, ...]
    """In the order of an item's lines."""
    higher: tuple[tuple[str, str], ...]
    """(condition whose critical words are more surprising, condition that it is compared with)."""
    first: int | None
    """Place of the first critical word, from the end; None = the last 的."""
    n_words: int = 1

    def regions(self, words: Sequence[str], where: str) -> tuple[str, str, str]:
        if self.first is None:
            if _DE not in words:
                raise CorpusError(f"{where}: no {_DE} in {' '.join(words)[:60]!r}; get the file again")
            start = len(words) - 1 - list(reversed(words)).index(_DE)
        else:
            start = len(words) + self.first
        if start < 1:
            raise CorpusError(f"{where}: {' '.join(words)[:60]!r} is too short for its suite; get the file again")
        end = start + self.n_words
        before, critical, after = ("".join(part) for part in (words[:start], words[start:end], words[end:]))
        return before, critical, after


KINDS = {
    "Classifier": _Kind(
        "classifiers",
        ("grammatical_1", "ungrammatical_1", "grammatical_2", "ungrammatical_2"),
        tuple((f"ungrammatical_{bad}", f"grammatical_{good}") for bad, good in ((1, 1), (2, 2), (2, 1), (1, 2))),
        first=-2,
        n_words=2,
    ),
    "GP_obj": _Kind("garden_path_object", ("specific_classifier", "general_classifier"), _GARDEN, first=-4),
    "GP_sub": _Kind("garden_path_subject", ("specific_classifier", "general_classifier"), _GARDEN, first=None),
    "Missing_Object": _Kind("missing_object", ("ungrammatical", "grammatical"), _PAIR, first=-1),
    "Subordination": _Kind("subordination", _GRAMMATICAL, _PAIR, first=-1),
    "Verb_Noun": _Kind("verb_noun", _GRAMMATICAL, _PAIR, first=-2, n_words=2),
}


def mandarin_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences suite by suite, an item's conditions side by side, written without spaces, in three regions.

    These are what precedes the critical words, these words, and the rest. Which words are critical, and whose surprisal
    must be higher, is what the authors' notebook computes.
    """
    for suite, name in SYNTAXGYM_MANDARIN.subset_files.items():
        if not is_requested(suite, options):
            continue
        file, kind = files[str(name)], KINDS[str(name).split("/", 1)[0]]
        lines = decode(file.path.read_bytes(), str(file.path)).splitlines()
        if len(lines) % len(kind.conditions):
            raise CorpusError(
                f"{file.path}: {len(lines)} lines, expected {len(kind.conditions)} per item; get the file again"
            )
        shared = {
            "region_names": json.dumps(REGIONS),
            "formulas": json.dumps([f"({_CRITICAL};%{high}%) > ({_CRITICAL};%{low}%)" for high, low in kind.higher]),
        }
        for place, line in enumerate(lines):
            number, condition = place // len(kind.conditions) + 1, kind.conditions[place % len(kind.conditions)]
            contents = kind.regions(line.split(), f"{file.path}, row {place + 1}")
            ends = (0, *(len("".join(contents[:n])) for n in range(1, len(contents) + 1)))
            yield item_of(
                ("syntaxgym-mandarin", suite, f"{number}-{condition}"),
                "".join(contents),
                language="zh",
                phenomenon=kind.phenomenon,
                paradigm=suite,
                pair_id=str(number),
                extra={
                    "item_number": number,
                    "condition": condition,
                    "words": line,
                    "regions": json.dumps(contents, ensure_ascii=False),
                    "region_spans": json.dumps(list(pairwise(ends))),
                    **shared,
                },
            )


def suite_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences suite by suite, an item's conditions side by side, with their regions and the formulas.

    Formulas compare sums of surprisals over regions of conditions, `(6;%np_match%)`: differences of differences too.
    """
    path = files[SYNTAXGYM_ARCHIVE].path

    def asked(name: str) -> bool:
        return is_requested(_suite(name), options)

    for name, text in member_texts(path, SUITES_PATTERN, asked):
        where = f"{path}:{name}"
        if _suite(name) not in SYNTAXGYM_SUITES.subsets:
            raise CorpusError(f"{where}: no suite of the release; take away other files")
        with reading(where, CorpusError, saying="not JSON"):
            suite = json.loads(text)
        yield from _suite_sentences(suite, _suite(name), where)


def _suite(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".json")


def phenomenon_of(suite: str) -> str:
    """Return the circuit of Hu et al. 2020 that a suite belongs to.

    >>> phenomenon_of("npz_obj"), phenomenon_of("cleft"), phenomenon_of("npi_orc_any")
    ('garden_path_effects', 'long_distance_dependencies', 'licensing')
    """
    if suite in SUITES:
        return SUITES[suite][0]
    return _LICENSING if suite.startswith("npi") else _GARDEN_PATH


def _suite_sentences(suite: Mapping[str, Any], name: str, where: str) -> Iterator[Item]:
    names = json.dumps([label for _, label in sorted(suite["region_meta"].items(), key=lambda pair: int(pair[0]))])
    formulas = json.dumps([prediction["formula"] for prediction in suite["predictions"]])
    for item in suite["items"]:
        for condition in item["conditions"]:
            regions = condition["regions"]
            if [region["region_number"] for region in regions] != list(range(1, len(suite["region_meta"]) + 1)):
                raise CorpusError(
                    f"{where}: item {item['item_number']}, {condition['condition_name']}: regions not in order"
                )
            contents = [region["content"] for region in regions]
            sentence, spans = joined_with_spans(contents)
            yield item_of(
                ("syntaxgym-suites", name, f"{item['item_number']}-{condition['condition_name']}"),
                sentence,
                phenomenon=phenomenon_of(name),
                paradigm=name,
                pair_id=str(item["item_number"]),
                extra={
                    "item_number": item["item_number"],
                    "condition": condition["condition_name"],
                    "regions": json.dumps(contents, ensure_ascii=False),
                    "region_spans": json.dumps(spans),
                    "region_names": names,
                    "formulas": formulas,
                },
            )


def joined_with_spans(contents: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Return the sentence of some regions, and the characters of each in it."""
    sentence, spans = "", []
    for content in contents:
        if content and sentence and not content.startswith(CLOSED_UP):
            sentence += " "
        spans.append((len(sentence), len(sentence) + len(content)))
        sentence += content
    return sentence, spans


SYNTAXGYM = declared("syntaxgym", syntaxgym_rows)
SYNTAXGYM_MANDARIN = declared("syntaxgym-mandarin", mandarin_rows)
SYNTAXGYM_SUITES = declared("syntaxgym-suites", suite_rows)
