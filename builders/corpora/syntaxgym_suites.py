"""SyntaxGym whole: 34 English test suites, 842 items in two to six conditions. Hu, Gauthier et al. 2020; Gauthier 2020.

In: the suites as JSON, as an archive or a folder. Out: one item a condition of an item, its sentence as one side, with
what the suite's predictions need: its regions, where each stands in the sentence, and the formulas, which compare sums
of surprisals over regions of conditions, `(6;%np_match%)`: differences of differences among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.corpora.syntaxgym import ARCHIVE, SUITES
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError
from pairbank.files import reading

PATTERN = "test_suites/json/*.json"
CLOSED_UP = (",", ".", "?", "!", ";", ":", "'s", "n't")
"""A region that begins with one of these follows without a space."""
_GARDEN_PATH, _LICENSING = "garden_path_effects", "licensing"


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences suite by suite, an item's conditions side by side."""
    path = files[ARCHIVE].path

    def asked(name: str) -> bool:
        return wanted(_suite(name), options)

    for name, text in member_texts(path, PATTERN, asked):
        where = f"{path}:{name}"
        if _suite(name) not in SYNTAXGYM_SUITES.subsets:
            raise CorpusError(f"{where}: no suite of the release; take away other files")
        with reading(where, CorpusError, saying="not JSON"):
            suite = json.loads(text)
        yield from _sentences(suite, _suite(name), where)


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


def _sentences(suite: Mapping[str, Any], name: str, where: str) -> Iterator[Item]:
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
            yield Item(
                item_id=f"syntaxgym-suites/{name}/{item['item_number']}-{condition['condition_name']}",
                corpus="syntaxgym-suites",
                subset=name,
                language="en",
                task="sentence",
                phenomenon=phenomenon_of(name),
                paradigm=name,
                target_good=sentence,
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
    """Return the sentence of some regions, and where each stands in it.

    >>> joined_with_spans(["The cook", "", ", he said ,", "slept", "."])
    ('The cook, he said , slept.', [(0, 8), (8, 8), (8, 19), (20, 25), (25, 26)])
    """
    sentence, spans = "", []
    for content in contents:
        if content and sentence and not content.startswith(CLOSED_UP):
            sentence += " "
        spans.append((len(sentence), len(sentence) + len(content)))
        sentence += content
    return sentence, spans


SYNTAXGYM_SUITES = declared("syntaxgym-suites", rows)
