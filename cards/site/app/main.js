// The page: in, the address; out, what it asks for. The query is the whole state: each click makes a new one.

import * as add from "./add.js";
import * as agreement from "./agreement.js";
import * as board from "./board.js";
import * as compare from "./compare.js";
import * as download from "./download.js";
import * as grid from "./grid.js";
import * as items from "./items.js";
import * as people from "./people.js";
import * as reports from "./reports.js";
import * as versus from "./versus.js";
import { loaded, SiteError } from "./chunks.js";
import { controlBar } from "./controls.js";
import { empty, h, tipOf } from "./dom.js";
import { visible } from "./text.js";
import { header, navigation } from "./header.js";
import { signature } from "./signature.js";
import { Bank } from "./tables.js";
import { fromQuery, having, HUMAN, link, resolvedBoard, resolvedRows, ROW_TABS, tabLabel, TABS, tabsOf, toQuery } from "./view.js";

const FORMAT = 3;
const PANELS = { grid, leaderboard: board, compare, versus, items, agreement, people, reports, download, add };
const PAUSE_MS = 120; // after a letter, before the search starts
const BUSY_MS = 150;
const LIKELY_NEXT = ["leaderboard", "items", "people"];
const MOST_ITEMS_AHEAD = 20_000; // of a corpus: its items are some megabytes

const main = document.getElementById("pb-main");
const nav = document.getElementById("pb-nav");
let bank, view, showControls, dialog;
let turn = 0, typing = null, isTyped = false;

// What is picked in a panel makes a new view.
export function afterPick(now, what, value) {
  if (what === "rows") return { ...having(now, { tab: "items" }), ...JSON.parse(value) };
  if (what === "open") return having(having(now, { tab: "items" }), { item: value });
  if (what === "compare") {
    const pair = value.split("~");
    const [method, against] = pair[0] === HUMAN ? pair.reverse() : pair;
    return having(now, { tab: "compare", method, versus: against });
  }
  if (what === "unchoose") return having(now, { item: "", cell: "" });
  if (what === "page") return having(now, { page: /^\d+$/.test(value) ? Number(value) : 1 });
  if (what === "item") return having(now, { item: value, cell: "" });
  if (what === "cell") return having(now, { cell: value, item: "" });
  if (what === "close") return having(now, { sig: "" });
  if (["tab", "sort", "sig"].includes(what)) return having(now, { [what]: value });
  return now;
}

// Everything that a view shows, without touching the page yet.
async function made(asked) {
  const isRows = ROW_TABS.includes(asked.tab);
  let found;
  if (isRows) {
    found = await resolvedRows(bank, asked);
  } else {
    const names = resolvedBoard(bank.site, asked);
    found = { view: names.view(), notices: names.notices };
    if (ROW_TABS.includes(found.view.tab)) found = await resolvedRows(bank, found.view);
  }
  const shown = found.view;
  const [content, setControls, dialogContent] = await Promise.all([
    PANELS[shown.tab].panel(bank, shown, found),
    showControls(bank, shown, found),
    shown.sig ? signature(bank, shown.sig) : null,
  ]);
  const address = await link(bank, shown); // with the page that the panel shows
  return { view: shown, notices: found.notices, content, setControls, address, dialogContent };
}

// Show a view; `history` says what becomes of the address: "push", "replace" or "keep".
async function show(asked, history) {
  const mine = ++turn;
  const busy = setTimeout(() => main.setAttribute("aria-busy", "true"), BUSY_MS);
  let page;
  try {
    page = onlyDialog(asked) ? await withDialog(asked) : await made(asked);
  } catch (error) {
    if (!(error instanceof SiteError)) throw error;
    const tab = TABS[asked.tab] ? asked.tab : "grid";
    page = { view: { ...asked, tab }, notices: [], content: empty("This cannot be shown.", error.message), setControls: null, address: null, dialogContent: null };
  } finally {
    clearTimeout(busy);
  }
  if (mine !== turn) return;
  view = page.view;
  if (page.content === null) {
    remember(page.address, history);
    showDialog(page.dialogContent);
    return;
  }
  remember(page.address, history);
  place(page);
}

// Whether a view differs from the one that is shown by its dialog only: the page below stays as it is.
function onlyDialog(asked) {
  return view !== undefined && asked.sig !== view.sig && toQuery({ ...asked, sig: "" }) === toQuery({ ...view, sig: "" });
}

async function withDialog(asked) {
  return { view: asked, content: null, address: await link(bank, asked), dialogContent: asked.sig ? await signature(bank, asked.sig) : null };
}

// Put a view's address where "push" or "replace" says; "keep" leaves it, and so does a view that could not be shown.
function remember(query, history) {
  if (history === "keep" || query === null) return;
  const found = new URLSearchParams(query);
  const theme = new URLSearchParams(location.search).get("__theme");
  if (theme) found.set("__theme", theme);
  const address = location.pathname + (found.size ? `?${found}` : "");
  if (address === location.pathname + location.search) return;
  window.history[history === "push" ? "pushState" : "replaceState"](null, "", address);
}

// Put a page where the old one is; focus and places of scrolling stay.
function place({ view: shown, notices, content, setControls, dialogContent }) {
  const before = remembered();
  const panel = h("section.pb-panel", { class: `pb-page-${shown.tab}`, role: "tabpanel", "aria-labelledby": `pb-tab-${shown.tab}` },
    notices.map((text) => h("p.pb-notice", { role: "status" }, text)), ...[content].flat(Infinity));
  nav.replaceChildren(navigation(shown, bank.site));
  setControls?.();
  main.replaceChildren(panel);
  main.removeAttribute("aria-busy");
  document.title = `${tabLabel(shown.tab, bank.site)} · ${bank.site.title} · pairbank`;
  hideTip();
  before();
  showDialog(dialogContent);
  const selected = nav.querySelector("[aria-selected=true]");
  selected.parentElement.scrollLeft = selected.offsetLeft + selected.offsetWidth / 2 - selected.parentElement.clientWidth / 2;
}

function remembered() {
  const keyOf = (element) => {
    const { pick, value, key } = element?.dataset ?? {};
    return element?.id ? `#${element.id}` : key || (pick ? JSON.stringify([pick, value]) : null);
  };
  const active = document.activeElement;
  const key = document.body.contains(active) && active !== document.body ? keyOf(active) : null;
  const sideOf = main.querySelector(".pb-side")?.dataset.of;
  const scrolled = [...main.querySelectorAll(".pb-scroll, .pb-side")].map((element) => [element.getAttribute("aria-label") ?? "side", element.scrollLeft, element.scrollTop]);
  return () => {
    for (const element of main.querySelectorAll(".pb-scroll, .pb-side")) {
      const label = element.getAttribute("aria-label") ?? "side";
      const old = scrolled.find(([name]) => name === label);
      if (old && (label !== "side" || element.dataset.of === sideOf)) [element.scrollLeft, element.scrollTop] = [old[1], old[2]];
    }
    if (!key || document.activeElement !== document.body) return;
    const again = [...document.querySelectorAll("[data-pick], [id]")].find((element) => keyOf(element) === key);
    again?.focus({ preventScroll: true });
  };
}

function showDialog(content) {
  if (!content) {
    if (dialog.open) dialog.close();
    return;
  }
  const close = h("button.pb-close", { type: "button", "data-pick": "close", "data-value": "", "aria-label": "Close" }, "×");
  dialog.replaceChildren(h("div.pb-dialog", {}, close, ...[content].flat(Infinity).filter(Boolean)));
  if (!dialog.open) dialog.showModal();
}

async function picked(what, value) {
  if (what === "csv") return saved(value);
  const next = afterPick(view, what, value);
  isTyped = false;
  await show(next, "push");
  if (["tab", "page", "open", "rows"].includes(what)) {
    const top = nav.getBoundingClientRect().top + window.scrollY;
    if (window.scrollY > top) window.scrollTo({ top });
  }
}

async function saved(what) {
  const button = main.querySelector("[data-pick=csv]");
  const label = button?.textContent;
  const tell = (n, all) => { if (button) button.textContent = n < all ? `${Math.round((100 * n) / all)}%` : label; };
  const makers = { rows: async () => download.rowsAsCsv(await bank.table(await bank.corpus(view.corpus), view.model), view, tell),
    summary: () => download.summaryAsCsv(bank.site, view), grid: () => download.gridAsCsv(bank.site, view) };
  download.save(await makers[what]());
}

function copied(button) {
  const text = button.dataset.copy === "link" ? location.href : document.getElementById(button.dataset.copy).textContent;
  const label = button.textContent;
  // Browsers offer no clipboard on a page that came over plain http from another machine.
  if (!navigator.clipboard) return void window.prompt("Copy this:", text);
  navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; }, () => window.prompt("Copy this:", text))
    .finally(() => setTimeout(() => { button.textContent = label; }, 1500));
}

const tip = h("div", { id: "pb-tip", role: "tooltip" });
const hideTip = () => tip.classList.remove("on");

function showTip(owner) {
  (owner.closest("dialog") ?? document.body).append(tip);
  tip.textContent = visible(tipOf(owner));
  tip.classList.add("on");
  const box = owner.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), window.innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
}

function listen() {
  document.addEventListener("click", (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) return copied(copy);
    const found = event.target.closest("[data-pick]");
    if (!found || found.disabled) return;
    // Text that is being selected in a row is not a click on it.
    if (found.matches("tr") && !window.getSelection().isCollapsed) return;
    picked(found.dataset.pick, found.dataset.value);
  });
  document.addEventListener("keydown", (event) => {
    if (["Enter", " "].includes(event.key) && event.target.matches("tr[data-pick], td[data-pick]")) {
      event.preventDefault();
      picked(event.target.dataset.pick, event.target.dataset.value);
    }
    if (event.key === "Escape" && !dialog.open && (view?.item || view?.cell) && window.innerWidth <= 900) picked("unchoose", "");
    if (event.target.matches("[role=tab]")) moveTab(event);
  });
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const owner = event.target.closest?.("[data-tip]");
      if (owner && (kind === "mouseover" || owner.matches(":focus-visible"))) showTip(owner);
      else if (kind === "mouseover" || !owner) hideTip();
    });
  }
  document.addEventListener("scroll", hideTip, { passive: true, capture: true });
  window.addEventListener("popstate", () => { isTyped = false; show(fromQuery(location.search), "keep"); });
  let wasNarrow = window.innerWidth < 700;
  window.addEventListener("resize", () => {
    if ((window.innerWidth < 700) === wasNarrow) return;
    wasNarrow = !wasNarrow;
    show(view, "keep");
  });
}

// Arrow keys, Home and End move between the tabs.
function moveTab(event) {
  const names = tabsOf(bank.site, view.tab), now = names.indexOf(view.tab);
  const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const name = names[(to + names.length) % names.length];
  picked("tab", name).then(() => document.getElementById(`pb-tab-${name}`)?.focus());
}

function changed(name, value) {
  clearTimeout(typing);
  typing = null;
  if (name !== "q") {
    isTyped = false;
    show(having(view, { [name]: value }), "push");
    return;
  }
  typing = setTimeout(() => {
    typing = null;
    show(having(view, { q: value }), isTyped ? "replace" : "push");
    isTyped = true;
  }, PAUSE_MS);
}

async function start() {
  const theme = new URLSearchParams(location.search).get("__theme");
  if (["dark", "light"].includes(theme)) document.documentElement.dataset.theme = theme;
  const site = await loaded("site.json.gz", (value) => value);
  if (site.format !== FORMAT) throw new SiteError("The page is of another version than its data; write the site again.");
  bank = new Bank(site);
  document.getElementById("pb-head").replaceChildren(header(site));
  showControls = controlBar(document.getElementById("pb-bar"), changed, () => typing !== null || isTyped);
  dialog = h("dialog", { id: "pb-signature", class: "pb", "aria-labelledby": "pb-sig-title" });
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); picked("close", ""); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) picked("close", ""); });
  document.body.append(dialog, tip);
  listen();
  await show(fromQuery(location.search), "replace");
  await readAhead(site);
}

// The data of the tabs that are likely next, one tab after the other, while the browser has nothing else to do.
async function readAhead(site) {
  if (navigator.connection?.saveData || site.corpora.some((one) => one.n_items > MOST_ITEMS_AHEAD)) return;
  const idle = window.requestIdleCallback ?? setTimeout;
  for (const tab of LIKELY_NEXT) {
    await new Promise((done) => idle(done));
    await made({ ...fromQuery(""), tab }).catch(() => {}); // whoever clicks there is told
  }
}

if (document.getElementById("pb")) {
  start().catch((error) => {
    if (!(error instanceof SiteError)) throw error;
    main.replaceChildren(empty("This cannot be shown.", error.message));
  });
}
