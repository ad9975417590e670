// Elements: in, a tag with classes ("td.num"), attributes, children; out, nodes. A string is a text, never markup.

import { labelOf, share, interval, visible, whole } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
export const PAGE_ROWS = 50;

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.setAttribute("class", `${element.getAttribute("class") ?? ""} ${value}`.trim());
    else element.setAttribute(name, value === true ? "" : visible(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : visible(child));
  }
}

export function h(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return filled(element, attributes, children);
}

export function s(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElementNS(SVG, name);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return filled(element, attributes, children);
}

// Attributes of an element that can be picked; `key` finds it again after its value has changed.
export const pick = (what, value, key = "") => ({ "data-pick": what, "data-value": value, "data-key": key || null });

// Text in a direction of its own, so that right-to-left text and overrides end with it.
export const isolated = (text, language = "") => h("bdi", { lang: language || null }, text);
export const marked = (parts, language = "") =>
  h("bdi", { lang: language || null }, parts.map(([text, differs]) => (differs ? h("mark", {}, text) : text)));

const breakable = (name) => {
  const parts = name.split("_");
  return parts.flatMap((part, k) => (k < parts.length - 1 ? [`${part}_`, h("wbr")] : [part]));
};
// A name in code that may be broken after an underscore.
export const identifier = (name) => h("code", {}, breakable(name));
export function methodName(name) {
  const label = labelOf(name);
  if (name === "human") return h("em", {}, label);
  return label === name ? identifier(name) : h("span.pb-method", { "data-tip": name }, label);
}

// A tip that is made when it is shown: a large table has thousands.
const tips = new WeakMap();
export function withTip(element, make) {
  tips.set(element, make);
  element.dataset.tip = "";
}
export const tipOf = (element) => tips.get(element)?.() ?? element.dataset.tip;

export const note = (...text) => h("p.pb-note", {}, ...text);
// What stands between backticks is code.
const withCode = (text) => text.split("`").map((part, k) => (k % 2 ? h("code", {}, part) : part));
export const empty = (title, advice) => h("div.pb-empty", {}, h("strong", {}, title), h("p", {}, withCode(advice)));

// A heading: {label, key, kind ("num" or "fig"), tip}; with a key it sorts.
function heading({ label, key = "", kind = "", tip = "", firstUp = false, cls = "" }, sort) {
  const attributes = { class: `${kind} ${cls}`.trim() || null, scope: "col", "data-tip": tip || null };
  if (!key) return h("th", attributes, label);
  const isSorted = sort.replace(/^-/, "") === key;
  const down = sort.startsWith("-");
  const turned = isSorted ? (down ? key : `-${key}`) : kind && !firstUp ? `-${key}` : key;
  const order = isSorted ? (down ? "descending" : "ascending") : "none";
  const arrow = h("i", { "aria-hidden": "true" }, isSorted ? (down ? "↓" : "↑") : "");
  const button = h("button", { type: "button", ...pick("sort", turned, `sort:${key}`) }, breakable(label), arrow);
  return h("th", { ...attributes, "aria-sort": order }, button);
}

// A table that scrolls sideways by itself where it is too wide.
export function table(label, headings, rows, kind = "", sort = "") {
  const head = h("thead", {}, h("tr", {}, headings.map((one) => heading(one, sort))));
  return h(
    "div.pb-scroll",
    { tabindex: "0", role: "region", "aria-label": label },
    h("table.pb-table", { class: kind || null }, head, h("tbody", {}, rows)),
  );
}

export const pages = (nRows, size = PAGE_ROWS) => Math.max(1, Math.ceil(nRows / size));

export function pager(page, nRows, noun = "item", size = PAGE_ROWS) {
  const n = pages(nRows, size);
  if (n === 1) return null;
  const button = (label, to, usable, key) =>
    h("button.pb-button", { type: "button", ...pick("page", to, key), disabled: !usable }, label);
  const first = (page - 1) * size + 1;
  const last = Math.min(page * size, nRows);
  return h(
    "nav.pb-pager",
    { "aria-label": "Pages of the list" },
    h("span", {}, `${noun}s ${whole(first)}–${whole(last)} of ${whole(nRows)}`),
    h("span", {}, button("← Previous", page - 1, page > 1, "previous"), button("Next →", page + 1, page < n, "next")),
  );
}

// An estimate with its interval; why either is missing, or how the interval was made, is its tip.
export function figure({ value, low, high, reason, ci, n }, source = null) {
  const tip = [reason, ci && Number.isFinite(low) ? `95% interval: ${ci}` : "", n ? `n = ${whole(n)}` : ""];
  const told = tip.filter(Boolean).join("\n");
  const number = h("b", {}, share(value));
  const attributes = { type: "button", "data-tip": `${told}\nClick: its signature`, ...(source ? pick("sig", source) : {}) };
  const shown = source && Number.isFinite(value) ? h("button.pb-figure", attributes, number) : h("span", { "data-tip": told || null }, number);
  return [shown, " ", h("small", {}, interval(low, high))];
}

// A button that opens and closes an element on a narrow page; on a wide one it is not there, and all is open.
export function fold(label, element) {
  const button = h("button.pb-fold", { type: "button", "aria-expanded": "false", "aria-controls": element.id }, label);
  button.addEventListener("click", () => button.setAttribute("aria-expanded", String(element.classList.toggle("open"))));
  return button;
}

export function option(value, label, selected) {
  const element = h("option", { value, title: label === value ? null : value }, label);
  element.selected = selected;
  return element;
}
