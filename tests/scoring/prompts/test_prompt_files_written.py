"""A prompt that is written to a file is read back as the same prompt: every one that ships, and hostile wordings."""

import json
from pathlib import Path

import pytest

from pairbank.scoring.prompts.registry import files_not_known, prompts, prompts_of
from pairbank.scoring.prompts.toml import parse_prompts, prompt_entry, prompt_from_entry, prompt_toml
from prompt_files import BOTH_ORDERS

HOSTILE = BOTH_ORDERS.replace("A: {first}", r"Says \"x\" \\ \t \u007F é 😀: {first}")


@pytest.mark.parametrize("name", sorted(prompts()))
def test_every_prompt_that_ships_is_read_back_from_its_file_and_its_signature(name: str) -> None:
    prompt = prompts()[name]
    [again] = parse_prompts(prompt_toml(prompt), Path("again.toml"))
    stored = prompt_from_entry(json.loads(json.dumps(prompt_entry(prompt))), "a signature")
    for one in (again, stored):
        assert one.sha256 == prompt.sha256
        assert (one.paper, one.label, one.note, one.cites, one.tasks) == (
            prompt.paper,
            prompt.label,
            prompt.note,
            prompt.cites,
            prompt.tasks,
        )


@pytest.mark.parametrize("text", [BOTH_ORDERS, HOSTILE])
def test_a_prompt_of_ones_own_is_read_back_whatever_it_says(text: str, tmp_path: Path) -> None:
    for prompt in parse_prompts(text, Path("mine.toml")):
        path = tmp_path / f"{prompt.id}.toml"
        path.write_text(prompt_toml(prompt), encoding="utf-8")
        assert prompts_of([path])[prompt.id].sha256 == prompt.sha256
        assert files_not_known([path]) == (path,)
        assert files_not_known([path], [path]) == ()
