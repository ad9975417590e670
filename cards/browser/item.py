"""One item: in, a table and an item's id; out, everything the bank holds about it, from every model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.cards.bank.redistribution import TEXTS, score_columns
from pairbank.cards.browser.charts import MOST_TOKENS, token_bars
from pairbank.cards.browser.parts import note
from pairbank.cards.browser.text import both_marked, esc, identifier, isolated, logprob, nats, words
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pairbank.arrays import FloatArray
    from pairbank.cards.browser.data import Bank, MethodFacts, Table
    from pairbank.cards.browser.view import View
    from pairbank.scoring.prompts.prompt import Presentation

FACTS = ("subset", "phenomenon", "paradigm", "language", "task", "pair_id")
_KNOWN = {*FACTS, *TEXTS, "item_id", "corpus", "human_good", "human_bad", "human_scale", "human_n", "flags"}


def detail(bank: Bank, table: Table, view: View) -> str:
    """Return the selected item as HTML, or how to select one."""
    position = table.position(view.item) if view.item else None
    if position is None:
        return '<div class="pb-hint">Choose an item to read all about it.</div>'
    row = table.row(position)
    parts = [
        f"<h3>{isolated(row['item_id'])}</h3>",
        _facts(table, row),
        _texts(row),
        _human(row),
        _scores(table, row),
        _prompts(table, row, view.method),
        _tokens(row),
        _other_models(bank, table, row, view),
    ]
    return f'<article class="pb-card pb-detail">{"".join(parts)}</article>'


def _facts(table: Table, row: Mapping[str, Any]) -> str:
    chips = [(words(name), row.get(name)) for name in FACTS]
    chips += [(words(name), row[name]) for name in own_columns(table, row)]
    shown = [f"<span><i>{esc(name)}</i> {isolated(words(str(value)))}</span>" for name, value in chips if _told(value)]
    flags = [f'<span class="flag"><i>flag</i> {esc(words(flag))}</span>' for flag in row.get("flags") or []]
    return f'<div class="pb-chips">{"".join(shown + flags)}</div>'


def own_columns(table: Table, row: Mapping[str, Any]) -> list[str]:
    """Return the corpus's own columns: those after the shared ones that no method made."""
    scores = score_columns(table.signature.get("methods", {}))
    return [name for name in row if name not in _KNOWN and name not in scores]


def _told(value: object) -> bool:
    return value not in (None, "", []) and not (isinstance(value, float) and math.isnan(value))


def _texts(row: Mapping[str, Any]) -> str:
    language = row.get("language") or ""
    if not row.get("target_good"):
        return note("The corpus's terms forbid publishing its text; build it from your own copy to read it.")
    good, bad = row["target_good"], row.get("target_bad")
    targets = [isolated(good, language), ""] if bad is None else both_marked(good, bad, language)
    first, second = (row.get(f"context_{side}") or "" for side in ("good", "bad"))
    contexts = [isolated(first, language), ""] if bad is None else both_marked(first, second, language)
    parts = []
    for side, target, text, context in zip(("good", "bad"), targets, (first, second), contexts, strict=True):
        if not target:
            continue
        before = f'<span class="pb-context">{context}</span> ' if text else ""
        sign = "✓" if side == "good" else "✗"
        parts.append(
            f'<p class="pb-{side}"><i aria-label="{side}">{sign}</i><span dir="auto">{before}{target}</span></p>'
        )
    return f'<div class="pb-texts">{"".join(parts)}</div>'


def _human(row: Mapping[str, Any]) -> str:
    good, bad = (_number(row.get(f"human_{side}")) for side in ("good", "bad"))
    if math.isnan(good) and math.isnan(bad):
        return ""
    about = ", ".join([row.get("human_scale") or "", *([f"{row['human_n']} raters"] if row.get("human_n") else [])])
    return (
        f"<h4>People</h4><p class='pb-line'>good <b>{logprob(good)}</b>, bad <b>{logprob(bad)}</b>, difference "
        f"<b>{logprob(good - bad)}</b> <small>{esc(about.strip(', '))}</small></p>"
    )


def _scores(table: Table, row: Mapping[str, Any]) -> str:
    lines = []
    for method in table.methods:
        columns = ScoreColumns(method.name)
        good, bad, delta = (_number(row.get(name)) for name in (columns.good, columns.bad, columns.delta))
        if math.isnan(good) and math.isnan(delta):
            continue
        sign = "up" if delta > 0 else "down" if delta < 0 else "none"
        tokens = [row.get(name) for name in (columns.good_n, columns.bad_n)]
        sizes = f"{' / '.join(str(n) for n in tokens if n is not None)} tokens" if _told(tokens[0]) else ""
        about = "points" if method.layout.kind == "rating" else sizes
        flags = "".join(f' <small class="flag">{esc(words(f))}</small>' for f in row.get(columns.flags) or [])
        lines.append(
            f"<tr><td>{identifier(method.name)} <small>{about}</small>{flags}</td><td class='num'>{logprob(good)}</td>"
            f"<td class='num'>{logprob(bad)}</td><td class='num {sign}'>{nats(delta)}</td></tr>"
        )
    if not lines:
        return note("No method scored this item.") if table.methods else ""
    head = (
        "<thead><tr><th>nats</th><th class='num'>good</th><th class='num'>bad</th><th class='num'>Δ</th></tr></thead>"
    )
    return (
        f"<h4>{isolated(table.model)}</h4><table class='pb-table small'>{head}<tbody>{''.join(lines)}</tbody></table>"
    )


def _prompts(table: Table, row: Mapping[str, Any], opened: str) -> str:
    asked = [
        method for method in table.methods if method.layout.is_prompted and row.get(ScoreColumns(method.name).logprobs)
    ]
    return "".join(_prompt(method, row, opened) for method in asked)


def _prompt(method: MethodFacts, row: Mapping[str, Any], opened: str) -> str:
    layout = method.layout
    [logprobs] = layout.reshape([row[ScoreColumns(method.name).logprobs]])
    head = "".join(f"<th class='num'>{esc(option)}</th>" for option in layout.options)
    templates = filled_templates(method, row)
    correct = layout.correct or (None,) * len(layout.presentations)
    body = []
    for name, values, right in zip(layout.presentations, logprobs, correct, strict=True):
        if np.isnan(values).any():  # not asked of this item, or too long for the model
            continue
        cells = "".join(_option(values, k, is_correct=k == right) for k in range(len(values)))
        asked = f' data-tip="{esc(templates[name])}"' if name in templates else ""
        body.append(f"<tr><td{asked}>{esc(words(name))}</td>{cells}</tr>")
    boxed = "Boxed: the option that picks the better side. " if layout.correct else ""
    told = f"{boxed}%: share among these options." if len(layout.options) > 1 else "Nats."
    is_open = " open" if method.name == opened else ""
    return (
        f"<details{is_open}><summary>{identifier(method.name)} <small>option log-probabilities</small></summary>"
        f"<div class='pb-scroll' tabindex='0'><table class='pb-table small'><thead><tr><th>presentation</th>{head}</tr>"
        f"</thead><tbody>{''.join(body)}</tbody></table></div>{note(told)}"
        f"{_asked(templates)}</details>"
    )


def _option(values: FloatArray, k: int, *, is_correct: bool) -> str:
    odds = np.exp(values - values.max())
    part = f"<small>{100 * odds[k] / odds.sum():.0f}&#8201;%</small>" if len(values) > 1 else ""
    kind = "num right" if is_correct else "num"
    return f"<td class='{kind}'>{logprob(float(values[k]))}{part}</td>"


def filled_templates(method: MethodFacts, row: Mapping[str, Any]) -> dict[str, str]:
    """Return what was asked in each presentation, before any chat template; empty where it isn't known.

    It is known if the registry's prompt of this name is the very one that was used, and the texts are there.
    """
    from pairbank.scoring.prompts.prompt import in_language
    from pairbank.scoring.prompts.registry import prompts
    from pairbank.scoring.prompts.slots import fill, slot_values

    prompt = prompts().get(method.name)
    if prompt is None or prompt.sha256 != method.sha256 or not set(TEXTS) <= row.keys() or not row["target_good"]:
        return {}
    values = slot_values(row)

    def text(presentation: Presentation) -> str:
        parts = [
            in_language(by_language, row["language"]) for by_language in (presentation.template, presentation.stem)
        ]
        return prompt.join.join(fill(part, values) for part in parts if part)

    return {p.name: text(p) for p in prompt.presentations if p.is_asked(row)}


def _asked(templates: Mapping[str, str]) -> str:
    if not templates:
        return ""
    name, text = next(iter(templates.items()))
    return f"<details><summary>What was asked, {esc(words(name))}</summary><pre dir='auto'>{esc(text)}</pre></details>"


def _tokens(row: Mapping[str, Any]) -> str:
    columns = ScoreColumns(DIRECT)
    kept = [row.get(name) or [] for name in (columns.tokens("good"), columns.tokens("bad"))]
    good, bad = ([x for x in tokens if x is not None] for tokens in kept)
    if not good or not all(map(math.isfinite, [*good, *bad])):
        return ""
    longest = max(len(good), len(bad))
    more = f" The first {MOST_TOKENS} of {longest:,}." if longest > MOST_TOKENS else ""
    told = (
        f"Nats, one bar a token, in the order of the text; the highest is {max(-x for x in (*good, *bad)):.1f}.{more}"
    )
    return f"<h4>Surprisal of each token</h4>{token_bars(good, bad)}{note(told)}"


def _other_models(bank: Bank, table: Table, row: Mapping[str, Any], view: View) -> str:
    others = [slug for slug in bank.models(table.corpus) if slug != view.model]
    lines = []
    for slug in others:
        other = bank.table(table.corpus, slug)
        position = other.position(row["item_id"])
        if position is None:
            continue
        cells = "".join(
            f"<td class='num'>{nats(float(other.delta(method.name)[position]))}</td>" for method in table.methods
        )
        lines.append(f"<tr><td>{isolated(other.model)}</td>{cells}</tr>")
    if not lines:
        return ""
    head = "".join(f"<th class='num'>{esc(method.name)}</th>" for method in table.methods)
    return (
        f"<h4>Other models, Δ in nats</h4><div class='pb-scroll' tabindex='0'><table class='pb-table small'><thead><tr>"
        f"<th>model</th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
