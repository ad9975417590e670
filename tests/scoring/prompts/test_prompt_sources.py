"""Every published prompt is in the registry, and what is sent is its text, byte for byte."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.prompt import Presentation, Prompt
from pairbank.scoring.prompts.registry import prompts
from shared_files import present

GOOD, BAD = "arrow", "interview"
PREFIX, TARGET = "The archer released the", "Everyone clapped."
COLUMNS = {"property": "can fly", "concept_good": "a wren", "concept_bad": "a tortoise", "target_number": 1}


def item(task: str, language: str) -> dict[str, Any]:
    """An item of the task whose sentences are distinct in every slot."""
    contexts, targets = (PREFIX, PREFIX), (GOOD, BAD)
    if task == "context_pair":
        contexts, targets = (GOOD, BAD), (TARGET, TARGET)
    row = {"item_id": "toy/1", "task": task, "language": language, **COLUMNS}
    row |= dict(zip(("context_good", "context_bad"), contexts, strict=True))
    row |= dict(zip(("target_good", "target_bad"), targets, strict=True))
    return row | ({"context_bad": None, "target_bad": None} if task == "word_prediction" else {})


def whole(row: Mapping[str, Any], side: str) -> str:
    return f"{row[f'context_{side}']} {row[f'target_{side}']}"


def published(line: Mapping[str, Any], p: Presentation, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the strings that the authors sent for a presentation, one an answer."""
    name = p.name
    sides = ("bad", "good") if name == "bad_first" else ("good", "bad")
    side = "bad" if name.startswith("bad") else "good"
    original = not name.endswith("_yes_is_2")
    answers = {"good": row["target_good"], "bad": row["target_bad"], "word": row["target_good"]}
    template = line["t"]
    if line["id"].startswith("song25"):
        answer_words = ("would", "would not") if "[PLC1]" in template else ("", "not ")
        words = answer_words if original else answer_words[::-1]
        exp2 = "exp2" in line["id"]
        own = answers[side] if "(unused)" in line["id"] else answers[sides[0]]
        filled = {
            "[GRAM]": whole(row, sides[0] if "[UNGRAM]" in template else "good"),
            "[UNGRAM]": whole(row, sides[1] if "[GRAM]" in template else "bad"),
            "[PRE]": row["context_good"],
            "[ANS1]": own if exp2 else words[0],
            "[ANS2]": (own if "(unused)" in line["id"] else answers[sides[1]]) if exp2 else words[1],
            "[PLC1]": words[0],
            "[PLC2]": words[1],
        }
        asked = re.sub(r"\[[A-Z]+\d?\]", lambda result: filled[result[0]], template) + line["tail"]
        for option in line["opt"]:
            yield f"{asked} {answers[option.strip('[]')] if option.startswith('[') else option}"
        return
    texts = {
        "prefix": row["context_good"],
        "opt1": answers[sides[0]],
        "opt2": answers[sides[1]],
        "sent1": whole(row, sides[0]),
        "sent2": whole(row, sides[1]),
        "sentence1": whole(row, sides[0]),
        "sentence2": whole(row, sides[1]),
        "sentence": whole(row, side),
        "context1": row[f"context_{sides[0]}"],
        "context2": row[f"context_{sides[1]}"],
        "context": row[f"context_{side}"],
        "target": row[f"target_{side}"],
        "property": row["property"],
        "word1": row[f"concept_{sides[0]}"],
        "word2": row[f"concept_{sides[1]}"],
    }
    options = {
        "{cont}": row["target_good"],
        "{good}": row["target_good"],
        "{bad}": row["target_bad"],
        "{final_word}": row["target_good"],
        "{word_acc}": row["concept_good"],
        "{word_unacc}": row["concept_bad"],
    }
    for option in line["opt"]:
        answer = options.get(option, option)
        filled = texts | {"cont": answer, "ans": answer}
        text = re.sub(r"\{(\w+)\}", lambda result: filled[result[1]], template)  # noqa: B023 - called at once
        inside = "{cont}" in template or "{ans}" in template
        yield text if inside else f"{text}{line.get('sep', '')}{answer}"


def sent(prompt: Prompt, p: Presentation, row: Mapping[str, Any]) -> list[str]:
    """The strings that pairbank sends to a model that reads plain text."""
    requests = Prompted(prompt).requests(row, FakeScorer())
    return [r.context + r.target for r in requests if f", {p.name}, " in r.where]


@pytest.fixture(scope="module")
def lines(shared: Path) -> dict[str, dict[str, Any]]:
    path = present(shared / "prompts.jsonl")
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in rows}


def test_every_published_prompt_is_in_the_registry(lines: dict[str, Any]) -> None:
    assert len(lines) == 56
    covered = {source for prompt in prompts().values() for p in prompt.presentations for source in p.source}
    assert lines.keys() - covered == {"hl23/word_pred/direct"}, "the method `direct` is this one"
    assert covered <= lines.keys()


def test_the_registry_sends_every_published_string_byte_for_byte(lines: dict[str, Any]) -> None:
    n_compared = 0
    for prompt in prompts().values():
        for p in prompt.presentations:
            for source in p.source:
                language = source.rsplit("/", 1)[-1] if source.startswith("xcomps25") else "en"
                task = "continuation_pair" if "exp2" in source else prompt.tasks[0]
                row = item(task, language) | ({"target_number": p.when["target_number"]} if p.when else {})
                expected = list(published(lines[source], p, row))
                if p.name.startswith(("good_yes", "bad_yes")) and is_other_side(source, p):
                    continue
                assert sent(prompt, p, row) == expected, (source, p.name)
                n_compared += len(expected)
    assert n_compared == 220


def is_other_side(source: str, p: Presentation) -> bool:
    """Whether a published judgment is that of the other sentence: a line has one side, a prompt of ours both."""
    other = ("-ungram", "(I)-2") if p.name.startswith("good") else ("-gram", "(I)-1")
    return source.endswith(other)


def test_direct_is_the_published_direct_condition(lines: dict[str, Any]) -> None:
    from pairbank.scoring.methods.registry import method_named

    row = item("word_prediction", "en")
    [request] = method_named("direct").requests(row, FakeScorer())
    template = lines["hl23/word_pred/direct"]["t"]
    assert request.context + request.target == template.format(prefix=PREFIX, cont=GOOD)
    assert request.target == f" {GOOD}"


@pytest.mark.parametrize("language", sorted(prompts()["xcomps_meta"].languages))
def test_a_concept_pair_is_asked_in_its_own_language_in_both_orders(language: str) -> None:
    row = item("concept_pair", language)
    for name, ending in (("xcomps_meta", ""), ("xcomps_meta_closed", '"')):
        asked = Prompted(prompts()[name]).requests(row, FakeScorer())
        assert [r.target for r in asked] == [f"a wren{ending}", f"a tortoise{ending}"] * 2
        assert all(r.context.endswith('"') for r in asked)
        assert asked[0].context.index("wren") < asked[0].context.index("tortoise")
        assert asked[2].context.index("wren") > asked[2].context.index("tortoise")
