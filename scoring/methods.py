"""Methods: an item to requests, and the requests' log-probabilities to the item's new columns.

Every method gives, in nats: m_good, m_bad, m_delta, and m_flags. `direct` adds the numbers of tokens scored
(direct_good_n, direct_bad_n); a prompted method m_logprobs (row-major: presentations x options) and
m_first_choice (the share of its presentations in which option 1 is the more probable).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from pairbank.builders.schema import ONE_SIDED_TASKS
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.backend import Scorer
from pairbank.scoring.registry import DIRECT, Prompt, prompt_named
from pairbank.scoring.requests import EncodedRequest, Request, joined, separator

IDENTICAL_TOKENS = "identical_tokens"
"""Flag: both sides have the same token ids; their difference is 0 by construction."""
OVER_LENGTH = "over_length"
"""Flag: longer than the model's context; the scores are NaN, as the user asked."""

ColumnKind = Literal["float64", "int32", "list<float64>", "list<string>"]
Row = Mapping[str, Any]
TokenScores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request after scoring; `logprobs_nats` is None where it was too long for the model."""

    request: EncodedRequest
    logprobs_nats: TokenScores | None

    @property
    def total_nats(self) -> float:
        """Sum over the scored tokens, in float64; NaN where there is none."""
        return float("nan") if self.logprobs_nats is None else float(self.logprobs_nats.sum())

    @property
    def tokens_nats(self) -> list[float] | None:
        """The scored tokens one by one."""
        return None if self.logprobs_nats is None else self.logprobs_nats.tolist()


class Method(Protocol):
    """One way of getting a preference out of a model."""

    @property
    def name(self) -> str:
        """The prefix of its columns."""

    @property
    def definition(self) -> dict[str, Any]:
        """What the signature records: paper, hash, and the layout of the log-probabilities."""

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Its columns."""

    def applies_to(self, row: Row) -> bool:
        """Return whether the method can score an item."""

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return what is asked of the model for one item."""

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return the item's columns from the answers to its requests."""


def method_named(name: str, *, per_token: bool = False) -> Method:
    """Return a method: `direct` (with the log-probability of each token, where asked), one made of it, or a prompt."""
    from pairbank.scoring.linking_methods import LINKING_METHODS, linking_method
    from pairbank.scoring.word_probability import DIRECT_WB, WordProbability

    if name == DIRECT:
        return Direct(per_token=per_token)
    if name == DIRECT_WB:
        return WordProbability()
    return linking_method(name) if name in LINKING_METHODS else Prompted(prompt_named(name))


@dataclass(frozen=True, slots=True)
class Direct:
    """log P(target | context) of each side; sums of conditional log-probabilities, no chat template."""

    name: str = DIRECT
    per_token: bool = False
    """Whether the log-probability of each token is kept (direct_good_tokens, direct_bad_tokens)."""

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, hash and (empty) layout."""
        return {
            "paper": "log P(target | context), summed over the target's tokens (Hu & Levy 2023, section 2)",
            "sha256": sha256_of_text("direct", "1", *(["per token"] if self.per_token else [])),
            "layout": {"method": DIRECT, "kind": "direct", "presentations": [], "options": [], "correct": []},
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores in nats, numbers of tokens, flags, and where asked the tokens' log-probabilities."""
        tokens: dict[str, ColumnKind] = {"direct_good_tokens": "list<float64>", "direct_bad_tokens": "list<float64>"}
        return {
            "direct_good": "float64",
            "direct_bad": "float64",
            "direct_delta": "float64",
            "direct_good_n": "int32",
            "direct_bad_n": "int32",
            "direct_flags": "list<string>",
            **(tokens if self.per_token else {}),
        }

    def applies_to(self, _row: Row) -> bool:
        """Every item can be scored directly."""
        return True

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        """Return one request a side."""
        sides = ("good",) if row["task"] in ONE_SIDED_TASKS and row["target_bad"] is None else ("good", "bad")
        found = []
        for side in sides:
            context, target = row[f"context_{side}"], row[f"target_{side}"]
            join = separator(row["language"]) if context else ""
            found.append(Request(context=context, target=join + target, where=f"{row['item_id']} ({side})"))
        return found

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return sums, difference, token counts and flags."""
        good, bad = answers[0], answers[1] if len(answers) > 1 else None
        flags = _flags(answers)
        if bad is not None and good.request.ids == bad.request.ids:
            flags.append(IDENTICAL_TOKENS)
        tokens = {"direct_good_tokens": good.tokens_nats, "direct_bad_tokens": None if bad is None else bad.tokens_nats}
        return {
            "direct_good": good.total_nats,
            "direct_bad": None if bad is None else bad.total_nats,
            "direct_delta": None if bad is None else good.total_nats - bad.total_nats,
            "direct_good_n": good.request.n_scored,
            "direct_bad_n": None if bad is None else bad.request.n_scored,
            "direct_flags": flags,
            **(tokens if self.per_token else {}),
        }


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt of the registry: every option after every presentation, read linearly."""

    prompt: Prompt

    @property
    def name(self) -> str:
        """The prompt's id."""
        return self.prompt.id

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, prompt hash and layout."""
        prompt = self.prompt
        return {
            "paper": prompt.paper,
            "sha256": prompt.sha256,
            "layout": {
                "method": prompt.id,
                "kind": prompt.kind,
                "presentations": [p.name for p in prompt.presentations],
                "options": list(prompt.options),
                "correct": [prompt.options.index(p.correct) for p in prompt.presentations],
            },
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores in nats, the options' log-probabilities, position bias, flags."""
        name = self.name
        return {
            f"{name}_good": "float64",
            f"{name}_bad": "float64",
            f"{name}_delta": "float64",
            f"{name}_logprobs": "list<float64>",
            f"{name}_first_choice": "float64",
            f"{name}_flags": "list<string>",
        }

    def applies_to(self, row: Row) -> bool:
        """The prompt's tasks and languages decide, and both sides must be there."""
        return row["target_bad"] is not None and self.prompt.applies_to(task=row["task"], language=row["language"])

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return presentations x options, row-major."""
        sides = {
            side: joined(row[f"context_{side}"], row[f"target_{side}"], row["language"]) for side in ("good", "bad")
        }
        found = []
        for p in self.prompt.presentations:
            user = fill(p.template, sides)
            context = scorer.render_prompt(system=self.prompt.system, user=user, stem=self.prompt.stem)
            found += [
                Request(
                    context=context,
                    target=self.prompt.separator + option,
                    chat=scorer.info.prompt_format == "chat",
                    where=f"{row['item_id']} ({self.name}, {p.name}, option {option!r})",
                )
                for option in self.prompt.options
            ]
        return found

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return the weighed scores; options whose tokens are the same are refused.

        Raises:
            ScoringError: two options have the same token ids.
        """
        prompt = self.prompt
        n_options = len(prompt.options)
        for first in range(0, len(answers), n_options):
            if len({a.request.ids for a in answers[first : first + n_options]}) < n_options:
                raise ScoringError(
                    f"{row['item_id']}: options {prompt.options} of {self.name} have the same tokens with this "
                    "tokenizer; use a prompt whose options it tells apart"
                )
        return self.readout([a.total_nats for a in answers], _flags(answers))

    def readout(self, logprobs_nats: Sequence[float], flags: Sequence[str]) -> dict[str, Any]:
        """Return the item's columns from the log-probabilities, row-major: presentations x options."""
        prompt = self.prompt
        logprobs = np.array(logprobs_nats, dtype=np.float64).reshape(-1, len(prompt.options))
        good = float((logprobs * np.array([p.good for p in prompt.presentations])).sum())
        bad = float((logprobs * np.array([p.bad for p in prompt.presentations])).sum())
        return {
            f"{self.name}_good": good,
            f"{self.name}_bad": bad,
            f"{self.name}_delta": good - bad,
            f"{self.name}_logprobs": logprobs.ravel().tolist(),
            f"{self.name}_first_choice": float(np.mean([_first_choice(row_) for row_ in logprobs])),
            f"{self.name}_flags": list(flags),
        }


def fill(template: str, sides: Mapping[str, str]) -> str:
    """Put the sentences into a template in one pass, so that braces in a sentence stay as they are.

    >>> fill("1: '{good}', 2: '{bad}'", {"good": "a {bad} b", "bad": "c"})
    "1: 'a {bad} b', 2: 'c'"
    """
    parts = template.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        slot, rest = part.split("}", 1)
        filled += [sides[slot], rest]
    return "".join(filled)


def _flags(answers: Sequence[Answered]) -> list[str]:
    flags = [flag for answer in answers for flag in answer.request.flags]
    flags += [OVER_LENGTH for answer in answers if answer.logprobs_nats is None]
    return list(dict.fromkeys(flags))


def _first_choice(option_logprobs: TokenScores) -> float:
    """Return 1 if option 1 is the most probable, 0 if not, 1/k in a k-way tie with it."""
    if np.isnan(option_logprobs).any():
        return float("nan")
    best = option_logprobs == option_logprobs.max()
    return float(best[0] / best.sum())
