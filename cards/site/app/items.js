// The items: in, the rows a view keeps; out, a page of them beside everything about the selected one.

import { empty, h, isolated, marked, methodName, pager, pages, PAGE_ROWS, pick, table } from "./dom.js";
import { detail } from "./item.js";
import { ordered, TEXTS } from "./rows.js";
import { bothMarked, clipped, count, labelOf, logprob, nats, words } from "./text.js";
import { HUMAN, pageOf, referenceOf } from "./view.js";

export const SHORT_COLUMNS = ["item_id", ...TEXTS, "language", "phenomenon", "subset"];
const SHORT_TEXT = 240; // characters of a text in a list; the whole stands beside it once selected

export async function panel(bank, view, found) {
  const data = found.table;
  const rows = await ordered(data, view);
  const beside = await detail(bank, found, view);
  if (!rows.length) {
    return [empty("No item fits.", "Clear the search, or widen the filters above."), view.item ? beside : null];
  }
  const page = pageOf(view, found, pages(rows.length));
  const here = rows.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  const axes = data.axes();
  const shown = [...new Set([referenceOf(axes), view.method, HUMAN])].filter((name) => axes.includes(name));
  const [cells, ...deltas] = await Promise.all([data.rows(here, SHORT_COLUMNS), ...shown.map((name) => data.delta(name))]);
  const columns = [
    { label: count(rows.length, "item") },
    ...shown.map((name) => ({ label: labelOf(name), key: name, kind: "num", tip: tip(name, data) })),
  ];
  const body = cells.map((row, k) => line(row, here[k], shown, deltas, view));
  return h(
    "div.pb-split.pb-browse", {},
    h("div", {}, table("Items", columns, body, "pb-items", view.sort), pager(page, rows.length)),
    h("div.pb-side", { class: view.item ? "chosen" : null, "data-of": view.item || null }, beside),
  );
}

// The good and the bad text of a row as two lines, what differs marked.
export function sides(row) {
  const language = row.language ?? "";
  const good = clipped(row.target_good ?? "", SHORT_TEXT);
  if (!good) return [h("p.pb-good", {}, isolated(row.item_id)), h("p.pb-context", {}, "text not published")];
  const contexts = ["good", "bad"].map((side) => clipped(row[`context_${side}`] ?? "", SHORT_TEXT));
  if (row.target_bad === null || row.target_bad === undefined) {
    return side("good", joined(contexts[0], isolated(contexts[0]), isolated(good, language)));
  }
  const [left, right] = bothMarked(good, clipped(row.target_bad, SHORT_TEXT));
  const [before, after] = bothMarked(contexts[0], contexts[1]);
  return [
    side("good", joined(contexts[0], marked(before, language), marked(left, language))),
    side("bad", joined(contexts[1], marked(after, language), marked(right, language))),
  ];
}

export const joined = (context, shown, target) => (context ? [h("span.pb-context", {}, shown), " ", target] : target);

export const side = (name, content) =>
  h(`p.pb-${name}`, {}, h("i", { role: "img", "aria-label": name }, name === "good" ? "✓" : "✗"), h("span", { dir: "auto" }, content));

function line(row, position, shown, deltas, view) {
  const kind = words(row.phenomenon || row.subset || "");
  const place = h("small", {}, isolated(kind), ` · ${row.language ?? ""} · `, clipped(row.item_id, 60));
  const on = row.item_id === view.item;
  return h(
    "tr", { class: on ? "on" : null, "aria-selected": on ? "true" : null, tabindex: 0, ...pick("item", row.item_id) },
    h("td", {}, sides(row), place),
    shown.map((name, k) => deltaCell(name, deltas[k][position])),
  );
}

function deltaCell(name, value) {
  const sign = value > 0 ? "up" : value < 0 ? "down" : "none";
  const exact = Math.abs(value) < 0.005 && value ? { "data-tip": String(value) } : {};
  return h(`td.num.${sign}`, exact, name === HUMAN ? logprob(value) : nats(value));
}

function tip(name, data) {
  const what = data.oneSided ? (data.unit(name) === "nats" ? "Log-probability" : "Score") : "Good − bad";
  return `${labelOf(name) === name || name === HUMAN ? "" : `${name}: `}${what}, ${name === HUMAN ? "on the scale of the judgments" : data.unit(name)}`;
}

// What stands before a method's name: a difference of two sides, or one side's log-probability.
export const measured = (data, name) => (!data.oneSided ? "Δ " : data.unit(name) === "nats" ? "log P, " : "");

// A table's unit and name for an axis of a plot.
export function axisLabel(name, data) {
  if (name !== HUMAN) return `${measured(data, name)}${labelOf(name)} (${data.unit(name)})`;
  const scales = data.valuesOf("human_scale");
  return `Δ people (${scales.length === 1 ? scales[0] : "judgments"})`;
}

export const who = (name, shown = false) => (shown && name !== HUMAN ? methodName(name) : labelOf(name));
