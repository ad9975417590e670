"""The page of methods: in step with the registry, with every method's own definition on it."""

from pathlib import Path

from typer.testing import CliRunner

from pairbank.cli import app
from pairbank.scoring.methods.page import delta_in_words, methods_markdown
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.prompts.registry import prompts
from prompt_files import prompt_text

PAGE = Path(__file__).resolve().parents[3] / "docs" / "methods.md"


def test_the_page_of_methods_is_in_step_with_the_registry() -> None:
    remedy = "docs/methods.md is out of step; run: pairbank methods --markdown > docs/methods.md"
    assert PAGE.read_text(encoding="utf-8") == methods_markdown(), remedy
    assert CliRunner().invoke(app, ["methods", "--markdown"]).output == methods_markdown()


def test_delta_in_words_is_what_is_computed() -> None:
    """Log-probabilities -1, -2, -4, -8 … in row-major order; the sums are worked out from the words by hand."""
    by_hand = {
        # ½ [log P(1) − log P(2)] in good_first + ½ [log P(2) − log P(1)] in bad_first
        "meta_question_simple": (0.5 * (-1 + 2) + 0.5 * (-8 + 4), "½ [log P(1) − log P(2)] in good_first + ½"),
        # log P(Yes) in good − log P(Yes) in bad
        "hl23_sent_judge_meta_instruct": (-1 + 4, "`log P(Yes) in good − log P(Yes) in bad`"),
        # Its options are "2" and "1", in this order: ½ [log P(2) − log P(1)] + ½ [log P(1) − log P(2)]
        "meta_question_simple_labels_21": (0.5 * (-1 + 2) + 0.5 * (-8 + 4), "½ [log P(2) − log P(1)] in good_first"),
    }
    for name, (delta, words) in by_hand.items():
        prompt = prompts()[name]
        values = Prompted(prompt).readout([-1.0, -2.0, -4.0, -8.0], [])
        assert values[f"{name}_delta"] == delta
        assert words in delta_in_words(prompt)


def test_a_prompt_of_ones_own_gets_a_section(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = prompt_text("mine", "yes_no", ("Aye", "Nay"), "Is this English? {sentence}", stem="I say")
    file.write_text(text, encoding="utf-8")
    page = CliRunner().invoke(app, ["methods", "--markdown", "--prompts", str(file)]).output
    section = page.split("\n## mine\n", 1)[1]
    assert "- Δ: `log P(Aye) in good − log P(Aye) in bad`" in section
    assert "Is this English? {good}\nI say ⟦Aye⟧ or ⟦Nay⟧" in section
