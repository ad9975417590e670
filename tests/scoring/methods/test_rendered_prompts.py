"""A table carries each prompt as its model read it, and a bank of it has them in one file, without any item's text."""

import json
from pathlib import Path

import pytest

import pairbank
from bank_fixtures import Score
from pairbank.cards.bank.layout import RENDERED
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.prompts.prompt import fill, slot_values
from pairbank.scoring.scored import Scored, read_scored
from tiny_models import ARCHITECTURES, saved_model

ASKED = ("meta_question_simple", "hl23_sent_comp_meta_instruct", "hl23_sent_comp_meta_instruct@chat")
FAMILIES = ("gpt2", "llama", "qwen2")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
INST = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


@pytest.mark.parametrize("template", ["", CHATML, INST], ids=["base", "chatml", "inst"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_rendered_prompt_has_the_tokens_that_the_model_read(family: str, template: str, tmp_path: Path) -> None:
    folder = saved_model(ARCHITECTURES[family], tmp_path / family)
    (folder / "chat_template.jinja").write_text(template or CHATML)
    model = pairbank.load_model(str(folder), prompt_format="chat" if template else "base")
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(2))
    scored = pairbank.score(items, model, methods=ASKED)
    assert {p.method for p in scored.prompts} == set(scored.methods)
    for name in scored.methods:
        method, row = method_named(name), items[0]
        requests = method.requests(row, model)
        shown = [p for p in scored.prompts if p.method == name and p.language == row["language"]]
        for prompt, encoded in zip(shown, model.encode(requests)[::2], strict=True):
            text = fill(prompt.text, slot_values(row)) + requests[0].target
            assert model.tokenizer(text, add_special_tokens=False)["input_ids"] == list(encoded.ids)
        is_in_chat = bool(template) and name != ASKED[1]
        assert all(("<|im_start|>" in p.text or "[user]" in p.text) == is_in_chat for p in shown)


def test_the_prompts_are_those_of_a_stored_run_and_of_the_file(scored_by: Score, tmp_path: Path) -> None:
    scored = scored_by("fake-1", methods=ASKED[:1])
    again = scored_by("fake-1", methods=ASKED[:1])
    assert scored.prompts == again.prompts == read_scored(scored.save(tmp_path / "a.parquet")).prompts != ()
    assert b"pairbank prompts" in (again.table.schema.metadata or {})
    assert "prompts" not in json.dumps([*scored.signature])


def test_examples_before_a_question_are_open_too() -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=12)
    shots = pairbank.score(items, "fake:a", methods=["meta_question_simple@2shot"])
    (first, *_) = shots.prompts
    assert "{good of example 1}" in first.text
    assert "{bad of example 2}" in first.text
    assert "{good}" in first.text.rpartition("of example 2}")[2]


def test_a_bank_has_the_prompts_of_all_models_and_no_text_of_an_item(scored_by: Score, tmp_path: Path) -> None:
    tables: list[Scored] = [scored_by(name) for name in ("fake-1", "fake-2")]
    root = pairbank.write_bank(tmp_path / "bank", scored=tables)
    lines = [json.loads(line) for line in (root / RENDERED).read_text().splitlines()]
    assert {line["model"] for line in lines} == {"fake-1", "fake-2"}
    assert {line["presentation"] for line in lines} == {"good_first", "bad_first"}
    texts = [row["target_good"] for row in tables[0].dataset]
    assert not any(text in line["text"] for text in texts for line in lines)
    pairbank.check_bank(root)
    pairbank.remove_model(root, "fake-2")
    assert "fake-2" not in (root / RENDERED).read_text()
    assert "rendered.jsonl" in (root / "README.md").read_text()


def test_a_bank_without_texts_keeps_its_prompts(tmp_path: Path) -> None:
    scored = pairbank.score([("Secret hens cluck.", "Secret hens clucks.")], "fake:a", methods=ASKED[:1])
    root = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    public = pairbank.strip_texts(root, tmp_path / "public")
    assert (public / RENDERED).read_bytes() == (root / RENDERED).read_bytes()
    assert not any(b"Secret" in file.read_bytes() for file in public.rglob("*") if file.is_file())
