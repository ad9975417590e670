"""The gradio app: in, a bank's folder or its name on the Hub; out, a page that shows it.

`pairbank browse` launches it, and so does the Space that `publish` makes: `build_app(source).launch()`.
The query string is the whole state: each event sends it with the controls, and gets back the new one.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import gradio as gr

from pairbank.cards.browser import agreement, compare, download, items, leaderboard, people
from pairbank.cards.browser.controls import LABELS, Control, controls
from pairbank.cards.browser.data import Bank, open_bank
from pairbank.cards.browser.export import routes
from pairbank.cards.browser.header import header, navigation, title_of
from pairbank.cards.browser.parts import empty
from pairbank.cards.browser.source import Folder
from pairbank.cards.browser.text import esc
from pairbank.cards.browser.view import BOARD_FIELDS, ROW_TABS, Resolved, View, resolved
from pairbank.errors import PairbankError
from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from collections.abc import Callable

NARROW_PIXELS = 700
_READ_ADDRESS = "(query, width) => [window.location.search, String(window.innerWidth)]"


class BrowserBlocks(gr.Blocks):
    """The page, with the launch options that it needs: its style, its download addresses, and no traffic of its own."""

    bank: Bank

    def launch(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as gradio's
        """Serve the page; options as `gr.Blocks.launch` takes them.

        Raises:
            ValueError: with `auth`, which does not guard the downloads.
        """
        if options.get("auth") is not None or options.get("auth_dependency") is not None:
            raise ValueError(
                "gradio's auth does not guard the downloads; put the page behind a server that asks for it"
            )
        fixed: dict[str, Any] = {
            "theme": _theme(),
            # In the head, since gradio would put its own selector before each rule, and none could ask for `.dark`.
            "head": f"<style>{_asset('browser.css')}</style>",
            "footer_links": [],
            "run_history": False,
            "ssr_mode": False,
            "share": False,
            "app_kwargs": {"routes": routes(self.bank), "docs_url": None, "redoc_url": None},
        }
        threading.Thread(target=warm_up, args=[self.bank], daemon=True).start()
        return super().launch(*args, **(fixed | options))


def warm_up(bank: Bank) -> None:
    """Import what the statistics need and read the first corpus, so that the first clicks wait for neither."""
    importlib.import_module("scipy.stats")
    importlib.import_module("statsmodels.stats.inter_rater")
    if isinstance(bank.source, Folder):
        rendered(bank, View(tab="compare"), narrow=False)
        with contextlib.suppress(PairbankError):  # whoever asks for this page is told
            first = resolved(bank, View(tab="items")).view
            ids = bank.table(first.corpus, first.model).column("item_id")
            rendered(bank, first.having(item=str(ids[0])), narrow=False)


def build_app(source: str, *, revision: str | None = None) -> BrowserBlocks:
    """Return the page of a bank.

    Args:
        source: a bank's folder, or ORG/NAME of one on the Hub (its files are downloaded when first looked at).
        revision: a commit, branch or tag of the Hub's; None = the newest.

    Raises:
        BankError: there is no bank.
    """
    bank = open_bank(source, revision)
    app = BrowserBlocks(title=f"{title_of(bank)} · pairbank", analytics_enabled=False, fill_width=True)
    app.bank = bank
    with app:
        query = gr.Textbox("", visible="hidden", elem_id="pb-query")
        width = gr.Textbox("", visible="hidden", elem_id="pb-width")
        gr.HTML(header(bank), js_on_load=_asset("browser.js"), elem_classes="pb", apply_default_css=False)
        tabs = gr.HTML(
            navigation(View()), js_on_load=_asset("browser.js"), elem_classes="pb pb-nav", apply_default_css=False
        )
        bars, fields = _fields()
        main = gr.HTML(
            "<div class='pb-wait'>Reading the bank …</div>",
            js_on_load=_asset("browser.js"),
            elem_classes="pb pb-main",
            apply_default_css=False,
        )
        parts = _Parts(query=query, width=width, pages=[tabs, main], bars=bars, fields=fields)
        _wire(app, bank, parts)
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The components that events read or write."""

    query: gr.Textbox
    """The state of the page: a query string."""
    width: gr.Textbox
    """Of the window, in pixels."""
    pages: list[gr.HTML]
    bars: list[gr.Row]
    fields: dict[str, Any]


def _fields() -> tuple[list[gr.Row], dict[str, Any]]:
    """Return the bars of controls and the controls by field of the view."""
    bars: list[gr.Row] = []
    fields: dict[str, Any] = {}
    for names in (BOARD_FIELDS, tuple(name for name in LABELS if name not in BOARD_FIELDS)):
        with gr.Row(visible=False, elem_classes="pb-bar") as bar:
            for name in names:
                fields[name] = _field(name)
        bars.append(bar)
    return bars, fields


def _field(name: str) -> Any:  # noqa: ANN401 - a gradio component
    label, elem_id = LABELS[name], f"pb-{name}"
    if name == "q":
        return gr.Textbox(
            placeholder="a word, or an item’s id", max_lines=1, max_length=200, label=label, elem_id=elem_id
        )
    is_long = name not in ("measure", "show")
    return gr.Dropdown([], value=None, visible=False, filterable=is_long, label=label, elem_id=elem_id)


def _wire(app: BrowserBlocks, bank: Bank, parts: _Parts) -> None:
    names = list(parts.fields)
    inputs = [parts.query, parts.width, *parts.fields.values()]
    outputs = [parts.query, *parts.pages, *parts.bars, *parts.fields.values()]
    quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": 8}

    def gathered(query: str, values: tuple[Any, ...]) -> View:
        shown = dict(zip(names, values, strict=True))
        view = View.from_query(query)
        known = {name: str(value) for name, value in shown.items() if value is not None}
        changes = {name: value for name, value in known.items() if value != getattr(view, name)}
        return view.having(**changes) if changes else view

    def answer(view: View, width: str) -> list[Any]:
        return rendered(bank, view, narrow=width.isdecimal() and int(width) < NARROW_PIXELS)

    def opened(query: str, width: str) -> list[Any]:
        view = View.from_query(query)
        found = answer(view, width)
        if view.q:
            place = outputs.index(parts.fields["q"])
            found[place] = gr.update(**(found[place] | {"value": view.q}))
        return [width, *found]

    def changed(query: str, width: str, *values: Any) -> list[Any]:  # noqa: ANN401 - what the controls hold
        return answer(gathered(query, values), width)

    def picked(event: gr.EventData, query: str, width: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return answer(after_pick(gathered(query, values), str(event.what), str(event.value)), width)

    app.load(opened, [parts.query, parts.width], [parts.width, *outputs], js=_READ_ADDRESS, **quick)
    for field in parts.fields.values():
        field.input(changed, inputs, outputs, trigger_mode="always_last", **quick)
    for page in parts.pages:
        page.select(picked, inputs, outputs, trigger_mode="always_last", **quick)


def after_pick(view: View, what: str, value: str) -> View:
    """Return the view after something was picked in a panel.

    >>> after_pick(View(tab="compare"), "open", "c/1")
    View.from_query('?tab=items&item=c%2F1')
    """
    if what == "open":
        return view.having(tab="items").having(item=value)
    if what == "compare":
        pair = value.split("~")
        method, versus = pair if pair[0] != HUMAN else reversed(pair)
        return view.having(tab="compare", method=method, versus=versus)
    if what == "page":
        return view.having(page=int(value) if value.isdecimal() else 1)
    if what in ("tab", "sort", "item", "cell"):
        return view.having(**{what: value})
    return view


def rendered(bank: Bank, asked: View, *, narrow: bool) -> list[Any]:
    """Return the permalink, the tabs and the panel as HTML, the bars' and the controls' states."""
    try:
        found = resolved(bank, asked)
        body = panel(bank, found.view, narrow=narrow)
        states = controls(bank, found.view)
        address = link(bank, found.view)
    except PairbankError as error:
        found, body = Resolved(view=asked), empty("This cannot be shown.", str(error))
        states = dict.fromkeys(LABELS, Control(choices=[], value="", is_visible=False))
        address = asked.query
    view = found.view
    notices = "".join(f'<p class="pb-notice" role="status">{esc(text)}</p>' for text in found.notices)
    opening = f'<section class="pb-panel pb-page-{esc(view.tab)}" data-query="{esc(address)}">'
    main = f"{opening}{notices}{body}</section>"
    bars = [gr.update(visible=view.tab in tabs) for tabs in (("leaderboard", "people"), ROW_TABS)]
    return [view.query, navigation(view), main, *bars, *(_update(name, state) for name, state in states.items())]


def _update(name: str, state: Control) -> Any:  # noqa: ANN401 - a gradio update
    if name == "q":
        # Never its value: an answer to the first letters would overwrite the next ones, and gradio takes the first
        # change after an update that changed nothing for its own.
        return gr.update(visible=state.is_visible)
    value = state.value if state.choices else None
    return gr.update(choices=state.choices, value=value, visible=state.is_visible)


def panel(bank: Bank, view: View, *, narrow: bool) -> str:
    """Return the panel of the view's tab as HTML."""
    if view.tab == "leaderboard":
        return leaderboard.panel(bank, view)
    if view.tab == "people":
        return people.panel(bank, view)
    table = bank.table(view.corpus, view.model)
    panels: dict[str, Callable[[], str]] = {
        "compare": lambda: compare.panel(table, view, narrow=narrow),
        "items": lambda: items.panel(bank, table, view),
        "agreement": lambda: agreement.panel(table, view),
        "download": lambda: download.panel(bank, table, view),
    }
    return panels[view.tab]()


def link(bank: Bank, view: View) -> str:
    """Return the permalink's query: what the view's tab looks at, without what the bank's defaults say anyway."""
    if view.tab not in ROW_TABS:
        kept = {name: getattr(view, name) for name in ("tab", "sort", "page", *BOARD_FIELDS)}
        return View(**kept).query
    plain = resolved(bank, View(tab=view.tab, corpus=view.corpus)).view
    names = [name for name in ("model", "method", "versus") if getattr(view, name) == getattr(plain, name)]
    if view.corpus == next(iter(bank.corpora)):
        names.append("corpus")
    dropped: dict[str, Any] = dict.fromkeys((*names, *BOARD_FIELDS), "") | {"by": "all"}
    return replace(view, **dropped).query


def _theme() -> gr.themes.Base:
    # The font comes with gradio and is served by it: the page asks nothing of any other host. Its weight 600 lacks
    # most letters.
    sans: list[Any] = [
        gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)),
        "Noto Sans",
        "Segoe UI",
        "system-ui",
        "sans-serif",
    ]
    mono: list[Any] = [gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "monospace"]
    return gr.themes.Base(
        primary_hue="blue", neutral_hue="slate", radius_size="sm", spacing_size="sm", font=sans, font_mono=mono
    )


def _asset(name: str) -> str:
    return (resources.files("pairbank.cards.browser") / "templates" / name).read_text(encoding="utf-8")
