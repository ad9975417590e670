"""The page's head and tabs: in, a bank; out, what it is, its versions and signatures, and how to cite it."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from pairbank.cards.bank.redistribution import is_left_out
from pairbank.cards.browser.parts import pick
from pairbank.cards.browser.text import count, esc, isolated
from pairbank.cards.browser.view import TABS
from pairbank.scoring.signature import signature_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pairbank.cards.browser.data import Bank
    from pairbank.cards.browser.view import View

SOFTWARE = "pairbank: a bank of linguistic judgment items and of what language models say about them"


def header(bank: Bank) -> str:
    """Return the head of the page as HTML."""
    scores = bank.manifest["scores"]
    models = {name for corpus in bank.corpora for name in bank.models(corpus).values()}
    methods = {m for slugs in scores.values() for signature in slugs.values() for m in signature["methods"]}
    n_items = sum(facts["n_items"] for facts in bank.corpora.values())
    sizes = [count(n_items, "item"), _corpora(bank), count(len(models), "model"), count(len(methods), "method")]
    return (
        '<header class="pb-head"><div><p class="pb-brand">pairbank</p>'
        f"<h1>{isolated(title_of(bank))}</h1><p class='pb-lead'>What language models say about linguistic judgment "
        f"items, <b>directly</b> (the log-probability of a string) and <b>when asked</b> (of an answer to a question), "
        f"beside what people say.</p><p class='pb-sizes'>{' · '.join(sizes)}</p></div>"
        f'<div class="pb-about">{_version(bank)}{_signatures(bank)}{_cite(bank)}'
        '<button type="button" class="pb-button" data-copy="link">Copy link to this view</button></div></header>'
    )


def title_of(bank: Bank) -> str:
    """Return the corpora's titles, or the bank's name where they are many."""
    titles = [str(facts.get("title") or name) for name, facts in bank.corpora.items()]
    if len(titles) <= 3:
        return ", ".join(titles)
    return bank.source.name.rsplit("/", maxsplit=1)[-1]


def _corpora(bank: Bank) -> str:
    n = len(bank.corpora)
    return f"{n} corp{'us' if n == 1 else 'ora'}"


def _version(bank: Bank) -> str:
    made = f"pairbank {esc(bank.manifest.get('pairbank', ''))}"
    return f"<p class='pb-note'>Bank <code>{esc(bank.source.revision[:12])}</code>, written by {made}</p>"


def _signatures(bank: Bank) -> str:
    lines = [
        f"<li><code>{esc(signature_line(signature))}</code></li>"
        for slugs in bank.manifest["scores"].values()
        for signature in slugs.values()
    ]
    corpora = "".join(f"<li>{_corpus(name, facts)}</li>" for name, facts in bank.corpora.items())
    scored = f"<h4>Scores</h4><ul>{''.join(lines)}</ul>" if lines else ""
    return f"<details><summary>Versions and signatures</summary><h4>Corpora</h4><ul>{corpora}</ul>{scored}</details>"


def _corpus(name: str, facts: Mapping[str, Any]) -> str:
    source = facts.get("source") or {}
    licence = source.get("licence") or "unknown"
    release = f" {facts['version']}" if facts.get("version") else ""
    texts = "; texts left out" if is_left_out(facts) else ""
    return f"<b>{isolated(name)}</b>{esc(release)}, {count(facts['n_items'], 'item')}, licence: {esc(licence)}{texts}"


def _cite(bank: Bank) -> str:
    return (
        "<details><summary>How to cite</summary><p>Cite the bank’s revision above, pairbank, and the corpora and "
        f'methods that you use.</p><pre id="pb-bibtex">{esc(citations(bank))}</pre>'
        '<button type="button" class="pb-button" data-copy="pb-bibtex">Copy BibTeX</button></details>'
    )


def citations(bank: Bank) -> str:
    """Return BibTeX of pairbank and of every corpus in the bank, each once."""
    found = [
        facts["source"]["citation"] for facts in bank.corpora.values() if (facts.get("source") or {}).get("citation")
    ]
    if not any("@software{pairbank" in text for text in found):
        found.insert(0, f"@software{{pairbank,\n  title = {{{SOFTWARE}}},\n  version = {{{version('pairbank')}}}\n}}")
    return "\n\n".join(dict.fromkeys(found))


def navigation(view: View) -> str:
    """Return the tabs as HTML."""
    tabs = "".join(
        f'<button type="button" role="tab" aria-selected="{str(name == view.tab).lower()}" {pick("tab", name)}>'
        f"{esc(label)}</button>"
        for name, label in TABS.items()
    )
    return f'<nav class="pb-tabs" role="tablist" aria-label="Pages">{tabs}</nav>'
