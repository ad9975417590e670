"""A small bank that holds what a page can break on: markup, formulae, right-to-left text, long text, missing values."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import datasets

import pairbank
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.scoring.models.fake import FakeScorer

METHODS = ["direct", "meta_question_simple", "acceptability_judgment_i"]
LABELS = ["Direct", "MetaQuestionSimple", "AcceptabilityJudgment(I)"]
LONG = "word " * 1_999 + "end.."
HOSTILE = {
    "markup": "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> & \"quoted\"",
    "template": "{{constructor.constructor('window.hacked = 1')()}} ${window.hacked = 1} `ticks`",
    "markdown": "[a link](javascript:alert(1)) **bold** | pipe | <b>bold</b>",
    "formula": '=HYPERLINK("http://localhost/evil","click")',
    "override": "\u202egnisrever si sihT\u0000 and a bell \u0007",
    "arabic": "أكلت القطة السمكة، ثم نامت.",
    "long": LONG,
}
"""Item number's name -> the better side's text."""


class QuickScorer(FakeScorer):
    """A fake that looks at some 60 tokens of the prefix: all of it takes a minute with 10,000 tokens."""

    def _logprob(self, ids: Sequence[int]) -> float:
        some = [*ids[:: max(1, len(ids) // 50)], *ids[-10:]]
        digest = hashlib.sha256(f"{self.name} {some}".encode()).digest()
        return -10 * int.from_bytes(digest[:8]) / 2**64


class LikesOne(QuickScorer):
    """Answers "1" whatever it stands for."""

    def _logprob(self, ids: Sequence[int]) -> float:
        return super()._logprob(ids) / 100 - 5 * (ids[-1] == ord("2"))


def hard_items() -> datasets.Dataset:
    """Return 60 plain pairs, most with human judgments, then one item for each hostile text."""
    items = [
        made_item(
            f"hard/{'even' if n % 2 == 0 else 'odd'}/{n}",
            f"The pilot number {n} sees the river.",
            f"The pilot number {n} see the river.",
            phenomenon="agreement" if n % 3 else "binding",
            human_good=None if n % 10 == 0 else 5.0 + (n % 7) / 10,
            human_bad=None if n % 10 == 0 else 4.5 + (n % 5) / 10,
            human_scale="likert7",
            human_n=20,
        )
        for n in range(60)
    ]
    items += [
        made_item(
            f'hard/hostile/{name}"><i>',
            text,
            f"{text} not",
            language="ar" if name == "arabic" else "en",
            phenomenon="<u>odd</u>",
        )
        for name, text in HOSTILE.items()
    ]
    return datasets.Dataset.from_list([item.row() for item in items], features=features())


def write_hard_bank(folder: Path) -> Path:
    items = hard_items()
    scored = [
        pairbank.score(items, QuickScorer(name=name), methods=METHODS, per_token=True) for name in ("fake-1", "fake<2>")
    ]
    return pairbank.write_bank(folder, scored=scored, corpora=[pairbank.load_corpus("starter", limit=1)])
