// Two differences against each other: in, the rows a view keeps; out, a scatter plot, r, and what is selected in it.

import { axisOf, hexagons, MOST_DOTS, scatter } from "./charts.js";
import { empty, h, note, pick } from "./dom.js";
import { axisLabel, SHORT_COLUMNS, sides, who } from "./items.js";
import { chosen, chosenKey } from "./rows.js";
import { pearson } from "./statistics.js";
import { clipped, count, interval, logprob, nats, share, whole } from "./text.js";
import { HUMAN } from "./view.js";

const MOST_LISTED = 12;
const TIP_LENGTH = 110;
const valueOf = (name, value) => (name === HUMAN ? logprob(value) : nats(value));

// The items of the view that are a choice and have both differences, and their correlation: {rows, x, y, r}.
export async function shared(table, view, x, y) {
  const keep = await chosen(table, view);
  const key = JSON.stringify(["shared", chosenKey(view), view.method, view.versus, view.tab, view.against]);
  return table.once(key, () => both(table, keep, x, y));
}

function both(table, keep, x, y) {
  const rows = new Int32Array(keep.length), first = new Float64Array(keep.length), second = new Float64Array(keep.length);
  let n = 0;
  for (let i = 0; i < keep.length; i++) {
    if (!keep[i] || !Number.isFinite(x[i]) || !Number.isFinite(y[i]) || !table.isChoice(i)) continue;
    rows[n] = i;
    first[n] = x[i];
    second[n] = y[i];
    n++;
  }
  const found = { rows: rows.slice(0, n), x: first.slice(0, n), y: second.slice(0, n) };
  return { ...found, r: pearson(found.x, found.y) };
}

export async function panel(bank, view, { table }) {
  if (!view.method || !view.versus) {
    return empty("There are no two differences to compare.",
      "Score the corpus with `direct` and at least one prompt, or choose one with human judgments.");
  }
  const [x, y] = await Promise.all([table.delta(view.versus), table.delta(view.method)]);
  const found = await shared(table, view, x, y);
  if (!found.rows.length) {
    return empty(`No item has both ${who(view.versus)} and ${who(view.method)} under these filters.`,
      "A prompt applies to some tasks and languages only: choose another method, or widen the filters.");
  }
  const names = [view.versus, view.method];
  const short = (name) => (name === HUMAN ? "people" : table.method(name)?.is_prompted ? "asked" : who(name));
  let [xName, yName] = names.map(short);
  if (xName === yName) [xName, yName] = names.map((name) => who(name));
  const plot = {
    names,
    axes: [axisOf(axisLabel(view.versus, table), found.x), axisOf(axisLabel(view.method, table), found.y)],
    corners: table.oneSided ? [] : ["both right", `only ${yName}`, `only ${xName}`, "both wrong"],
  };
  const binned = found.rows.length <= MOST_DOTS ? "" : ", counted in hexagons (darker: more, on a log scale)";
  const subject = h("p.pb-sub", {}, who(view.method, true), " against ", who(view.versus, true), `, one point per item${binned}.`);
  return split(titleOf(found), subject, await plotOf(table, view, found, plot), await selected(table, view, found, plot), view);
}

export function titleOf(found) {
  const { r } = found;
  const value = Number.isFinite(r.value) ? `r = ${share(r.value)} ${interval(r.low, r.high)}`.trim() : `r undefined: ${r.reason}`;
  return `${value}, n = ${whole(found.rows.length)}`;
}

export function split(title, subject, plot, beside, view, more = null) {
  const has = view.item || view.cell;
  return h(
    "div.pb-split.pb-compare", {},
    h("div", {}, h("h2", {}, title), subject, more, plot),
    h("div.pb-side", { class: has ? "chosen" : null, "data-of": view.item || view.cell || null }, beside),
  );
}

export async function plotOf(table, view, found, { names, axes, corners }) {
  const few = found.rows.length <= MOST_DOTS;
  const cells = few ? await table.rows(Array.from(found.rows), ["item_id", "target_good"]) : [];
  const tipOf = (k) => {
    const text = clipped(cells[k].target_good || cells[k].item_id, TIP_LENGTH);
    return `${text}\n${who(names[0])} ${valueOf(names[0], found.x[k])}, ${who(names[1])} ${valueOf(names[1], found.y[k])}`;
  };
  return scatter({
    x: found.x, y: found.y, xAxis: axes[0], yAxis: axes[1], corners, tipOf, idOf: (k) => cells[k].item_id,
    selected: few ? view.item : view.cell, narrow: window.innerWidth < 700,
  });
}

export async function selected(table, view, found, plot) {
  if (view.item) {
    const position = await table.position(view.item);
    return listed(table, position === null ? [] : [position], "Selected item", found, plot);
  }
  const few = found.rows.length <= MOST_DOTS;
  if (view.cell && !few) {
    const { codes, cells } = hexagons(found.x.map(plot.axes[0].at), found.y.map(plot.axes[1].at));
    const cell = cells.find((one) => one.name === view.cell);
    if (cell) {
      const inside = Array.from(found.rows.filter((_, k) => codes[k] === cell.code));
      const head = `${count(inside.length, "item")} here`;
      return [
        await listed(table, inside.slice(0, MOST_LISTED), head, found, plot),
        inside.length > MOST_LISTED ? note(`The first ${MOST_LISTED} in the corpus's order.`) : null,
      ];
    }
  }
  return h("div.pb-hint", {}, `Choose a ${few ? "point to read its item" : "hexagon to read its items"}.`);
}

async function listed(table, rows, head, found, { names }) {
  const cells = await table.rows(rows, SHORT_COLUMNS);
  const cards = cells.map((row, k) => {
    const place = found.rows.indexOf(rows[k]);
    const values = place < 0 ? [NaN, NaN] : [found.x[place], found.y[place]];
    const deltas = names.map((name, j) => h("span", {}, who(name, true), " ", h("b", {}, valueOf(name, values[j]))));
    const open = h("button.pb-link", { type: "button", ...pick("open", row.item_id) }, `${row.item_id} →`);
    return h("article.pb-card", {}, sides(row), h("div.pb-deltas", {}, deltas), open);
  });
  return [closer(), h("h3", {}, head), ...cards];
}

export const closer = () => h("button.pb-close", { type: "button", ...pick("unchoose", ""), "aria-label": "Close" }, "×");
