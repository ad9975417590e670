"""Prompt files: what ships holds together, and mistakes in a user's file are explained."""

from pathlib import Path

import pytest

from pairbank.errors import ScoringError, UnknownNameError
from pairbank.scoring.api.names import MethodName
from pairbank.scoring.methods.registry import in_order, method_named
from pairbank.scoring.prompts.prompt import PromptError
from pairbank.scoring.prompts.registry import prompts, prompts_of
from pairbank.scoring.prompts.toml import parse_prompts
from prompt_files import BOTH_ORDERS

PROMPT = """
[[prompts]]
id = "mine"
kind = "forced_choice"
paper = "none"
tasks = ["sentence_pair"]
languages = ["en"]
options = ["A", "B"]
counterbalanced = false
presentations = [{ name = "p", template = "{good} {bad}", correct = "A", good = [1, 0], bad = [0, 1] }]
"""
RATING = (
    BOTH_ORDERS.replace("both_orders", "rating")
    .replace('["A", "B"]', '["1", "2"]')
    .replace("A: {first} B: {second}", "{sentence}?")
)
YES_NO = BOTH_ORDERS.replace("both_orders", "yes_no").replace("A: {first} B: {second}", "{sentence}?")
FREE = BOTH_ORDERS + 'readout = "generation"\npattern = "[AB]"\nmax_new_tokens = 5\n'


def test_weights_favour_the_correct_option_and_add_up_to_one_difference() -> None:
    for prompt in prompts().values():
        if prompt.kind not in ("forced_choice", "judgment"):
            continue
        for p in prompt.presentations:
            contrast = [g - b for g, b in zip(p.good, p.bad, strict=True)]
            place = prompt.options.index(p.correct)
            assert contrast[place] >= max(contrast) or contrast[1 - place] < 0, (prompt.id, p.name)
        weight_of_an_item = sum(sum(map(abs, (*p.good, *p.bad))) for p in prompt.presentations if not p.when)
        assert weight_of_an_item in {0, 2, 4}, prompt.id


def test_a_note_does_not_change_the_hash_but_a_wording_does() -> None:
    [plain] = parse_prompts(PROMPT, Path("x.toml"))
    [noted] = parse_prompts(PROMPT + 'note = "n"\naccuracy = "pooled"\n', Path("x.toml"))
    [changed] = parse_prompts(PROMPT.replace("{good} {bad}", "{good}, {bad}"), Path("x.toml"))
    assert plain.sha256 == noted.sha256 != changed.sha256


def test_a_design_is_the_same_as_its_presentations_written_out() -> None:
    [short] = parse_prompts(BOTH_ORDERS, Path("x.toml"))
    shown = """presentations = [
      { name = "good_first", template = "A: {good} B: {bad}", correct = "A", good = [0.5, 0.0], bad = [0.0, 0.5] },
      { name = "bad_first", template = "A: {bad} B: {good}", correct = "B", good = [0.0, 0.5], bad = [0.5, 0.0] },
    ]"""
    written = PROMPT.split("presentations = ", maxsplit=1)[0].replace("counterbalanced = false\n", "") + shown
    [long] = parse_prompts(written, Path("x.toml"))
    assert short.sha256 == long.sha256


def test_works_to_cite_are_the_files_or_the_prompts_own_and_change_no_hash() -> None:
    [none] = parse_prompts(PROMPT, Path("x.toml"))
    [files] = parse_prompts('cites = ["hu2023prompting"]\n' + PROMPT, Path("x.toml"))
    [own] = parse_prompts('cites = ["hu2023prompting"]\n' + PROMPT + 'cites = ["pairbank"]\n', Path("x.toml"))
    assert [prompt.cites for prompt in (none, files, own)] == [(), ("hu2023prompting",), ("pairbank",)]
    assert none.sha256 == files.sha256 == own.sha256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[prompts", "x.toml: not TOML"),
        ("title = 1", "x.toml: prompts is missing; x.toml: unknown key 'title'"),
        (PROMPT + "note_ = 'x'\n", "prompt 'mine': unknown key 'note_'; did you mean 'note'"),
        (PROMPT + "chat = 'yes'\n", "prompt 'mine': chat is 'yes'; expected true or false"),
        ('cites = "x"\n' + PROMPT, "x.toml: cites is 'x'; expected a list"),
        (
            PROMPT + 'cites = ["hu2023promting"]\n',
            "cites has no reference 'hu2023promting'; did you mean 'hu2023prompting'",
        ),
        (PROMPT.replace('tasks = ["sentence_pair"]\n', ""), "prompt 'mine': tasks is missing"),
        (PROMPT.replace('kind = "forced_choice"\n', ""), "kind or presentations are missing; give both, or a design"),
        (PROMPT.replace("sentence_pair", "sentences"), r"tasks\.0 is 'sentences'; expected 'sentence_pair', "),
        (PROMPT.replace("{good} {bad}", "{goood}"), r"template slots are \['goood'\]"),
        (PROMPT.replace('correct = "A"', 'correct = "C"'), "correct is 'C', expected one of"),
        (PROMPT.replace("good = [1, 0]", "good = [1]"), "need one weight for each"),
        (PROMPT.replace('["A", "B"]', '["A", "A"]'), "expected at least two different options"),
        (PROMPT.replace('["A", "B"]', '["A", "{god}"]'), "an option has the slot 'god'"),
        (PROMPT.replace('"mine"', '"My prompt"'), "id must be lower case"),
        (PROMPT.replace("forced_choice", "choice"), "kind is 'choice'; expected 'forced_choice', 'judgment'"),
        (PROMPT.replace('["en"]', '"en"'), "languages is 'en'; expected a list"),
        (PROMPT.replace('name = "p", ', ""), r"presentations\.0\.name is missing"),
        (PROMPT.replace("good = [1, 0]", 'good = [1, 0], side = "good"'), "side is for ratings"),
        (PROMPT.replace("false", "true"), "exchanging good and bad changes what is asked; ask in both orders, or"),
        (
            PROMPT.replace("template =", "colour = 1, template ="),
            r"unknown key 'presentations\.0\.colour'\. Known keys: bad, correct",
        ),
        (PROMPT + PROMPT, "prompt id 'mine' occurs twice"),
        (BOTH_ORDERS + "counterbalanced = false\n", "does not change what is asked; write counterbalanced = true"),
        (BOTH_ORDERS.replace('"both_orders"', '"orders"'), "design is 'orders', expected one of both_orders"),
        (BOTH_ORDERS + 'kind = "rating"\n', "kind is 'rating', but design 'both_orders' is a forced_choice"),
        (BOTH_ORDERS + 'compare = "verbs"\n', "compare is 'verbs'; expected 'sentences', 'targets'"),
        (BOTH_ORDERS + 'answers = ["yes"]\n', "answers are"),
        (BOTH_ORDERS.replace('["A", "B"]', '["A"]'), "expected two for this design"),
        (BOTH_ORDERS + "template.de = 'x'\n", "not TOML"),
        (
            BOTH_ORDERS.replace('template = "A: {first} B: {second}"', "template = 3"),
            "template is 3; expected a text or a table",
        ),
        (
            BOTH_ORDERS.replace('template = "A: {first} B: {second}"', 'template = { de = "{first} {second}" }'),
            r"template and languages differ in \['de', 'en'\]",
        ),
        (RATING.replace('["1", "2"]', '["low", "high"]'), "expected numbers, which a rating averages"),
        (RATING.replace('["1", "2"]', '["1", "5", "10"]'), "option '1' begins option '10', so that its probability"),
        (RATING + 'pattern = "[12]"\n', 'pattern and max_new_tokens are for readout = "generation"'),
        (FREE.replace("max_new_tokens = 5", "max_new_tokens = 0"), "needs a pattern and max_new_tokens of 1 or more"),
        (FREE.replace("[AB]", "[A"), "is no regular expression"),
        (FREE.replace("[AB]", "A"), "does not find the option 'B'"),
        (
            FREE.replace("both_orders", "prediction").replace("A: {first} B: {second}", "{good}"),
            "kind is 'prediction'; a prediction cannot be generated",
        ),
        (
            BOTH_ORDERS.replace("sentence_pair", "sentence"),
            "forced_choice presentations show both sides; ask about one",
        ),
        (YES_NO + 'options_in = { de = ["Ja", "Nein"] }\n', "options_in has de = .* for one of en"),
    ],
)
def test_a_mistake_in_a_prompt_file_is_explained(text: str, message: str) -> None:
    with pytest.raises(PromptError, match=message) as caught:
        parse_prompts(text, Path("x.toml"))
    assert str(caught.value).startswith("x.toml")


def test_a_users_file_stands_beside_the_shipped_prompts(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(BOTH_ORDERS)
    assert list(prompts_of([mine]))[-1] == "mine"
    mine.write_text(BOTH_ORDERS.replace('"mine"', '"meta_question_simple"'))
    with pytest.raises(PromptError, match="prompt id 'meta_question_simple' is taken"):
        prompts_of([mine])
    with pytest.raises(PromptError, match=r"none.toml: cannot be read"):
        prompts_of([tmp_path / "none.toml"])


def test_names_say_how_a_prompt_is_asked() -> None:
    name = MethodName.parsed("hl23_sent_comp_meta_instruct@chat@3shot")
    assert (name.id, name.in_chat, name.n_shots) == ("hl23_sent_comp_meta_instruct", True, 3)
    assert str(name) == "hl23_sent_comp_meta_instruct@chat@3shot"
    asked = ["meta_question_simple@8shot", "direct", "meta_question_simple", "meta_question_simple@2shot"]
    assert in_order(asked) == [
        "direct",
        "meta_question_simple",
        "meta_question_simple@2shot",
        "meta_question_simple@8shot",
    ]
    for wrong in ("direct@2shot", "meta_question_simple@9shot", "meta_question_simple@0shot", "meta@chat"):
        with pytest.raises(UnknownNameError, match=f"no method '{wrong}'"):
            in_order([wrong])


def test_what_cannot_have_examples_says_so() -> None:
    for name in ("social24_likert@2shot", "social24_choice@2shot", "hl23_word_pred_meta_instruct@1shot"):
        with pytest.raises(
            ScoringError, match=r"only forced choices in both orders and judgments .*leave @\dshot away"
        ):
            method_named(name)


def test_generation_is_validated_data_and_has_a_method_of_its_own() -> None:
    free = prompts()["social24_likert_free"]
    assert (free.readout, free.pattern, free.max_new_tokens) == ("generation", "[1-5]", 20)
    assert type(method_named("social24_likert_free")).__name__ == "Generated"
    with pytest.raises(ScoringError, match="generated answers take no examples; leave @4shot away"):
        method_named("social24_likert_free@4shot")


def test_the_papers_own_reading_of_constrained_answers_comes_before_the_one_with_a_space() -> None:
    """Reports show the first method of a kind: [1-2] admits the digit alone."""
    names = list(prompts())
    for kind in ("choice", "likert"):
        assert names.index(f"social24_{kind}_regex") < names.index(f"social24_{kind}")
        assert prompts()[f"social24_{kind}_regex"].separator == ""
