"""Generated answers: a prompt whose answer the model writes, found in its text by a regular expression.

Ivanova et al. 2024 (appendix B, "free"): up to 20 tokens, and the first valid answer among them counts. m_answers has
the option found after each presentation (null where there is none, or where it is not asked), m_good and m_bad:

- forced choice: the shares of the asked presentations that pick each side (an unparsed one picks neither);
- judgment: of each side, the share of its parsed answers that say yes (the option of the larger weight);
- rating: the mean rating of each side, in points of the scale.

With `@10samples` texts and answers are presentations x draws, row-major, and the scores are of all of them. A score
that rests on no answer is null, never 0. Thinking is no answer: a text that ends inside of it is flagged `truncated`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Row, WritingMethod
from pairbank.scoring.api.model import Ask, Continuation, Draw, OverLength, Scorer, thinking_characters
from pairbank.scoring.api.names import OVER_LENGTH, TRUNCATED, UNPARSED, MethodName
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.prompts.prompt import Presentation, fill, slot_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    n: int
    temperature: float
    seed: int

    def draws(self, prompt: str, model: str) -> list[Draw]:
        """Return the draws of answers to a prompt: as many more leave the first ones as they are.

        Models and prompts have draws of their own: with common numbers, models that know nothing would agree.
        """
        seeds = (sha256_of_text(str(self.seed), model, prompt, str(number)) for number in range(self.n))
        return [Draw(temperature=self.temperature, seed=int(seed[:16], 16)) for seed in seeds]


@dataclass(frozen=True)
class Generated(Prompted):
    """A prompt that the model answers in its own words."""

    sampled: Sampled | None = None
    """How answers are drawn; None = one to each presentation, greedily."""

    @property
    def name(self) -> str:
        name, drawn = MethodName(id=self.prompt.id, in_chat=self.in_chat), self.sampled
        return str(name if drawn is None else replace(name, n_samples=drawn.n, temperature=drawn.temperature))

    @property
    def definition(self) -> dict[str, Any]:
        result = super().definition
        result |= {"layout": result["layout"] | {"readout": "generation"}}
        if self.sampled is None:
            return result
        layout, drawn = result["layout"], self.sampled
        layout |= {"samples": drawn.n}
        if self.prompt.label:
            heat = f", T = {drawn.temperature:g}" if drawn.temperature != 1 else ""
            layout |= {"label": f"{self._label()}, {drawn.n} samples{heat}"}
        how = asdict(drawn)
        return result | {"sha256": sha256_of_text(result["sha256"], repr(how)), "sampled": how, "layout": layout}

    @property
    def columns(self) -> dict[str, ColumnKind]:
        c = ScoreColumns(self.name)
        drawn = (c.draws,) if self.sampled else ()
        return c.kinds(c.good, c.bad, c.delta, c.answers, *drawn, c.texts, c.unparsed, c.flags)

    @property
    def max_new_tokens(self) -> int:
        return self.prompt.max_new_tokens

    @property
    def sought(self) -> str:
        drawn = f"; {self.sampled.n} answers are drawn" if self.sampled else ""
        return f"up to {self.max_new_tokens} tokens; the first match of {self.prompt.pattern} is the answer{drawn}"

    def asks(self, row: Row, scorer: Scorer) -> list[Ask]:
        if self.missing(row):
            return []
        chat, of = self.uses_chat(scorer), f"{row['item_id']} ({self.name},"
        model = f"{scorer.info.model_id}@{scorer.info.revision}"
        return [
            Ask(text=context, chat=chat, where=f"{of} {p.name})", draw=draw)
            for context, p in zip(self.contexts(row, scorer), self.shown(row), strict=True)
            for draw in (self.sampled.draws(context, model) if self.sampled else [None])
        ]

    def written(self, texts: Sequence[Continuation], row: Row) -> dict[str, Any]:
        values = slot_values(row)
        written = self.prompt.written_options(row["language"])
        options = {fill(wording, values): option for wording, option in zip(written, self.prompt.options, strict=True)}
        answers = [None if text.text is None else self._answer(text, [*options]) for text in texts]
        n_unparsed = sum(answer is None and text.text is not None for answer, text in zip(answers, texts, strict=True))
        flags = dict.fromkeys(flag for text in texts for flag in text.flags)
        if n_unparsed:
            flags[UNPARSED] = None
        chosen = [None if answer is None else options[answer] for answer in answers]
        n = self.sampled.n if self.sampled else 1
        shown = [p for p in self.shown(row) for _ in range(n)]
        good, bad = (np.nan, np.nan) if OVER_LENGTH in flags else self._scores(shown, chosen)
        numbers = map(self._value, shown, chosen)
        given = iter(zip(answers, (text.text for text in texts), numbers, strict=True))
        cells = [next(given) if is_asked else (None, None, np.nan) for is_asked in self.asked_of(row) for _ in range(n)]
        c = ScoreColumns(self.name)
        return {
            **({c.draws: [number for _, _, number in cells]} if self.sampled else {}),
            c.good: good,
            c.bad: bad,
            c.delta: None if good is None or bad is None else good - bad,
            c.answers: [answer for answer, _, _ in cells],
            c.texts: [text for _, text, _ in cells],
            c.unparsed: n_unparsed,
            c.flags: [*flags],
        }

    def _answer(self, written: Continuation, options: Sequence[str]) -> str | None:
        """Return the option found behind the thinking, if there is any; None in a text that ends before."""
        text = written.text or ""
        n_thinking = thinking_characters(text)
        if n_thinking is None or TRUNCATED in written.flags:
            return None
        return first_answer(text[n_thinking:], self.prompt.pattern, options)

    def _scores(self, shown: Sequence[Presentation], given: Sequence[str | None]) -> tuple[float | None, float | None]:
        pairs = [(p, option) for p, option in zip(shown, given, strict=True) if option is not None]
        if self.prompt.kind != "forced_choice":
            sides = ([self._value(p, o) for p, o in pairs if p.shows_worse == worse] for worse in (False, True))
            good, bad = (float(np.mean(values)) if values else None for values in sides)
            return good, bad
        if not pairs:
            return None, None
        n_right = sum(option == p.correct for p, option in pairs)
        return n_right / len(shown), (len(pairs) - n_right) / len(shown)

    def _value(self, p: Presentation, option: str | None) -> float:
        """Return what an answer says of the side shown; of a forced choice, whether it is the better side."""
        if option is None:
            return np.nan
        if self.prompt.kind == "forced_choice":
            return float(option == p.correct)
        if self.prompt.kind == "rating":
            return float(option)
        weights = p.bad if p.shows_worse else p.good
        return float(weights[self.prompt.options.index(option)] == max(weights))


def _flagged(written: Continuation, ask: Ask) -> Continuation:
    """Return what was written, flagged where it ended before its thinking did."""
    if written.text is None or TRUNCATED in written.flags:
        return written
    if thinking_characters(written.text, prompt=ask.text) is not None:
        return written
    return replace(written, flags=(*written.flags, TRUNCATED))


def first_answer(text: str, pattern: str, options: Sequence[str]) -> str | None:
    """Return the first match of a pattern that is one of the options, whatever its case; None if there is none."""
    known = {option.strip().casefold(): option for option in options}
    matches = (match[0].strip().casefold() for match in re.finditer(pattern, text))
    return next((known[match] for match in matches if match in known), None)


def generated_records(
    method: WritingMethod,
    rows: Sequence[Row],
    scorer: Scorer,
    *,
    over_length: OverLength,
    on_progress: Callable[[float], None],
) -> list[Mapping[str, Any] | None]:
    """Return the columns of each item, or None for one that is not asked; all prompts go to the model together."""
    from pairbank.scoring.models.generation import write

    by_row = [method.asks(row, scorer) if method.applies_to(row) else [] for row in rows]
    prompts = [ask for asks in by_row for ask in asks]
    if not prompts:
        return [None] * len(rows)
    n_done = 0

    def on_share(n: int) -> None:
        nonlocal n_done
        n_done += n
        on_progress(n_done / len(prompts))

    n_new = method.max_new_tokens + scorer.info.thinking_tokens
    written = write(scorer, prompts, max_new_tokens=n_new, over_length=over_length, progress=on_share)
    texts = iter([_flagged(text, ask) for text, ask in zip(written, prompts, strict=True)])
    return [
        method.written([next(texts) for _ask in range(len(asks))], row) if asks else None
        for row, asks in zip(rows, by_row, strict=True)
    ]
