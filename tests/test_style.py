"""How pairbank writes for its users, as far as it can be counted: README, docs, help, errors, golden reports.

Sentences and paragraphs have a greatest length, numbers one style (0.54, but p = .020), headings are words, and phrases
that paraphrase a standard term are not used. Golden reports may still break the rules as often as `GOLDEN` says.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CAPTIONS = ROOT / "docs" / "gallery.md"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "reports" / "README.md",
    *sorted({*(ROOT / "docs").glob("*.md")} - {CAPTIONS}),
]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
GOLDEN_PAGES = [CAPTIONS, *sorted((ROOT / "tests" / "golden").glob("**/*.md"))]
TEMPLATES = sorted((ROOT / "stats").rglob("*.md.j2"))
APP = sorted((ROOT / "cards/site/app").glob("*.js"))
CARDS = sorted((ROOT / "cards/card/templates").glob("*.md.j2"))
PACKAGES = ("builders", "scoring", "stats", "cards", "src")

WORDS_OF_A_SENTENCE = 35
WORDS_OF_A_HELP_SENTENCE = 25
WORDS_OF_A_PARAGRAPH = 100

PHRASES = {
    r"an? (?:row|column|line|file|table|number|model|item) an? (?:item|method|model|column|row|corpus)": "one … per …",
    r"one (?:row|column|folder|file|line|number|score|answer|sentence|point|bar) an? \w+": "one … per …",
    r"nobody needs": "readable without …",
    r"what single raters said|(?:of|by) single raters": "individual ratings",
    r"(?:what )?would fool": "common artefacts",
    r"defensible choices": "robust to defensible analysis choices (specification curve)",
    r"over ours": "relative to pairbank",
    r"teach(?:es)? your shell": "installs shell completion",
    r"mend(?:s|ed|ing)?": "repaired",
    r"rooms?": "sub-packages",
    r"pass(?:es)? on the two|passed on": "redistribute",
    r"mere liking": "bias",
    r"is refused with|are refused with": "raises an error that …",
    r"let go": "unloaded",
    r"asks no other host": "makes no third-party requests",
    r"(?:is|are|was|were) told|told apart|(?:cannot|not) (?:to )?be told|not told": "reported, stated; inconclusive",
    r"found 4 in 5|found four times in five": "detectable with 80% power (minimum detectable effect)",
    r"own over relatives": "self − relatives (Δr)",
    r"is shown to be as good as": "passes the alternative-annotator test",
    r"falls with every word": "decreases with length",
    r"nothing is drawn": "no resampling is used",
    r"everything else": "appendix; all other …",
    r"drew lots|draws? lots": "chance",
    r"get it again": "download the file again",
    r"by place|names a place": "position bias",
    r"(?:is|are) said|said (?:of|by)|is asked for|are asked for": "active voice, named subject",
    r"lies? (?:between|above|below)|stands? (?:beside|beneath|in (?:for|the))": "is …",
    r"one order is no order": "ask in both orders",
    r"whoever|anybody's": "anyone who …",
}
"""What the field does not say, and what it says."""
ANY_PHRASE = re.compile(rf"(?<!\w)(?:{'|'.join(PHRASES)})(?!\w)", flags=re.IGNORECASE)

P_VALUE = re.compile(r"(?:(?:&lt;|<|>) )?\.\d{3,4}")
NUMBER = re.compile(r"(?<![\w.`/\\-])(?<!\bp [=<>≤≥] )(?<!\bp &lt; )[−+-]?\.\d+(?![\w]|\.\d)")
PERCENT = re.compile(r"[\dX](?: |\\u2009)%")

GOLDEN: dict[str, int] = {}
"""How often golden reports and the captions of the gallery still break a rule; these numbers only fall."""


def prose(text: str) -> str:
    """Return Markdown without code, quotations, comments and addresses."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?<=\n\n)(?: {4}.*\n)+", "\n", text)
    text = re.sub(r"^\s*>.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "CODE", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def paragraphs(text: str) -> Iterator[str]:
    """Yield every paragraph, item of a list and cell of a table, without headings."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#|\|))", prose(text)):
        if block.lstrip().startswith("|"):
            yield from (cell.strip() for cell in block.split("|") if cell.strip(" -:\n"))
        elif block.strip() and not block.lstrip().startswith(("#", "!", "<")):
            yield " ".join(block.split())


def sentences(paragraph: str) -> list[str]:
    result = re.split(r"(?<=[.!?])[)\"*”]*\s+(?=[A-Z(*_\[\"“]|pairbank|log P)", paragraph)
    return [one for one in result if one.count(", ") < len(one.split()) / 2]


def headings(text: str) -> Iterator[str]:
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)


def messages(source: str) -> Iterator[str]:
    """Yield the texts of the errors that a module raises; what is put into them counts as one word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
                texts = [str(one.value) if isinstance(one, ast.Constant) else "X" for one in parts]
                yield "".join(texts)


def offences(text: str, *, words: int = WORDS_OF_A_SENTENCE) -> list[tuple[str, str]]:
    result = []
    for paragraph in paragraphs(text):
        result += [("long sentence", one) for one in sentences(paragraph) if len(one.split()) > words]
        if not P_VALUE.fullmatch(paragraph):
            result += [("bare decimal", _around(paragraph, one)) for one in NUMBER.finditer(paragraph)]
        result += [("space before %", _around(paragraph, one)) for one in PERCENT.finditer(paragraph)]
        result += phrases(paragraph)
    result += [("heading in code", one) for one in headings(text) if re.search(r"[a-z]_[a-z]", one) and " " in one]
    return result


def phrases(text: str) -> list[tuple[str, str]]:
    """Return every phrase of `PHRASES` in a text, with what the field says instead, and the passage."""
    return (
        []
        if not ANY_PHRASE.search(text)
        else [
            (f"{one.group().lower()} → {better}", _around(text, one))
            for phrase, better in PHRASES.items()
            for one in re.finditer(rf"(?<!\w)(?:{phrase})(?!\w)", text, flags=re.IGNORECASE)
        ]
    )


def _around(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 50) : match.end() + 50]


def test_offences_are_found_and_exceptions_left_alone() -> None:
    sentence = "It rose by .54 (p = .020), 80 % of `.54`. One row per item, not a row an item."
    page = f"# A b_c heading\n\n{sentence}\n\n| p |\n| --- |\n| .020 |\n"
    assert [rule for rule, _ in offences(page)] == [
        "bare decimal",
        "space before %",
        "a row an item → one … per …",
        "heading in code",
    ]
    assert [rule for rule, _ in offences("Many words " * 18 + "end. Short.")] == ["long sentence"]
    assert (
        offences("```sh\npairbank x .54\n```\n\n    " + "code " * 40 + "\n\n- Subsets: " + "`a`, " * 40 + "`b`") == []
    )


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_a_page_is_short_plain_and_in_the_terms_of_the_field(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    words = WORDS_OF_A_HELP_SENTENCE if page.name == "commands.md" else WORDS_OF_A_SENTENCE
    assert offences(text, words=words) == []
    long = [one for one in paragraphs(text) if len(one.split()) > WORDS_OF_A_PARAGRAPH]
    assert [one for one in long if sentences(one)] == [], f"paragraphs of more than {WORDS_OF_A_PARAGRAPH} words"


def template_prose(source: str) -> str:
    """Return the Markdown of a template: what is put in counts as one word, each branch as a paragraph of its own."""
    source = re.sub(r"\{#.*?#\}", "", source, flags=re.DOTALL)
    source = re.sub(r"\{\{.*?\}\}", "X", source, flags=re.DOTALL)
    source = re.sub(r"\{%-? *(?:el|macro|endmacro|for|endfor).*?%\}", "\n\n", source, flags=re.DOTALL)
    return re.sub(r" *\{%.*?%\}", "", source, flags=re.DOTALL)


@pytest.mark.parametrize("template", TEMPLATES, ids=[path.name for path in TEMPLATES])
def test_templates_of_analyses_are_short_and_in_the_terms_of_the_field(template: Path) -> None:
    source = template.read_text(encoding="utf-8")
    assert offences(template_prose(source)) == []
    counts = re.findall(
        r"\{\{ (?!(?:[a-z_]+\.)?[A-Z_]+(?:\|whole)? \}\})[^}]*(?<!\|n) \}\}\s(?:pairs|items|models|cases|paradigms)\b",
        source,
    )
    assert not counts, "so that 0, 1 and 2 read right: {{ n|plural('item') }}"


def texts_of_script(source: str) -> Iterator[str]:
    """Yield the texts of a page's script, as they are written; a comment is none."""
    for one in re.finditer(r"""//[^\n]*|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`""", source):
        text = one[1] or one[2] or ""
        if " " in text.strip() and re.search(r"[A-Za-z]{2}", text):
            yield text


UNCOUNTED = re.compile(r"\$\{(?:whole\([^}]*\)|[\w.]*(?:length|\bn|_n)\b|n)\} (?:[a-z]+ )?[a-z]+s\b")


@pytest.mark.parametrize("file", APP, ids=[path.name for path in APP])
def test_the_site_has_the_style_of_pages(file: Path) -> None:
    result = []
    for text in texts_of_script(file.read_text(encoding="utf-8")):
        plain = re.sub(r"\$\{[^{}]*\}", "X", text)
        result += [*phrases(plain), *[("bare decimal", text) for _ in NUMBER.finditer(plain)]]
        result += [("long sentence", one) for one in sentences(plain) if len(one.split()) > WORDS_OF_A_SENTENCE]
        result += [("space before %", text) for _ in PERCENT.finditer(plain)]
        result += [("count(n, noun): 1 is no plural", one.group()) for one in UNCOUNTED.finditer(text)]
    assert result == []


def test_what_a_script_says_is_found() -> None:
    source = "// a row a model\nnote(`${whole(n)} items lie at .54, one point an item`);"
    [text] = texts_of_script(source)
    assert UNCOUNTED.search(text)
    assert NUMBER.search(text)
    assert [rule for rule, _ in phrases(text)] == ["one point an item → one … per …"]


@pytest.mark.parametrize("template", CARDS, ids=[path.name for path in CARDS])
def test_cards_and_pages_of_a_space_have_the_numbers_and_terms_of_pages(template: Path) -> None:
    found = offences(template_prose(template.read_text(encoding="utf-8")), words=1000)
    assert found == []


def test_messages_of_errors_are_short_and_in_the_terms_of_the_field() -> None:
    result = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for message in messages(path.read_text(encoding="utf-8")):
                parts = re.split(r"(?<=[.;:?!])\s+|\n", message)
                long = any(len(one.split()) > WORDS_OF_A_HELP_SENTENCE for one in parts)
                result += [(path.name, message)] if long or phrases(message) else []
    assert result == []


def test_golden_reports_break_the_rules_no_more_often_than_before() -> None:
    texts = [page.read_text(encoding="utf-8") for page in GOLDEN_PAGES]
    result = Counter(rule for text in texts for rule, _ in offences(text))
    assert len(texts) > 50
    more = {rule: n for rule, n in result.items() if n > GOLDEN.get(rule, 0)}
    assert not more, f"more than the {sum(GOLDEN.values())} of GOLDEN allow: {more}"
