// Agreement of every two methods: in, the rows a view keeps; out, a heat map, and a pair in full.

import { closer } from "./compare.js";
import { empty, h, methodName, note, pick } from "./dom.js";
import { chosen } from "./rows.js";
import { compare, kappa, matrix, pearson, signs } from "./statistics.js";
import { count, interval, labelOf, pValue, share, whole } from "./text.js";
import { MEASURES } from "./view.js";

const NOTES = {
  pearson: "Pearson r between the differences, over the items that both methods have.",
  kappa: "Cohen’s κ between which side each method prefers; ties left out.",
  raw_agreement: "Share of items on which both prefer the same side; ties left out.",
};
const MOST_BESIDE = 8; // with more methods than this the selected pair stands below the heat map
const STRONG = 0.7; // from here on the cell is dark enough for light text (and light enough for dark text in the dark)

export async function panel(bank, view, { table }) {
  const names = table.axes();
  if (names.length < 2) {
    return empty("There is only one method here.", "Score the corpus with `direct` and at least one prompt to compare.");
  }
  const [deltas, earned] = await Promise.all([usable(table, view, names, "delta"), usable(table, view, names, "credit")]);
  const wide = names.length > MOST_BESIDE ? "pb-wide" : null;
  return h(
    "div.pb-split.pb-agree", { class: wide },
    h("div", {}, h("h2", {}, `${MEASURES[view.measure]} between methods`), heatMap(names, deltas, view), legend(), note(NOTES[view.measure])),
    h("div.pb-side", { class: view.cell ? "chosen" : null, "data-of": view.cell || null }, pair(table, names, deltas, earned, view)),
  );
}

// The differences, or credits, by each method on the rows of the view whose sides differ.
async function usable(table, view, names, what) {
  const keep = await chosen(table, view);
  const rows = [];
  for (let i = 0; i < keep.length; i++) if (keep[i] && table.isChoice(i)) rows.push(i);
  const all = await Promise.all(names.map((name) => table[what](name)));
  return all.map((values) => taken(values, rows));
}

function taken(values, rows) {
  const found = new Float64Array(rows.length);
  for (let k = 0; k < rows.length; k++) found[k] = values[rows[k]];
  return found;
}

function heatMap(names, deltas, view) {
  const found = matrix(deltas, view.measure);
  const head = names.map((name, k) => h("th", { scope: "col", "data-tip": labelOf(name) }, String(k + 1)));
  const rows = names.map((name, i) => h("tr", {},
    h("th", { scope: "row" }, h("i", {}, String(i + 1)), " ", methodName(name)),
    names.map((_, j) => cell(names, found, i, j, view.cell))));
  return h(
    "div.pb-scroll", { tabindex: 0, role: "region", "aria-label": "Agreement between methods" },
    h("table.pb-heat", {}, h("thead", {}, h("tr", {}, h("td"), head)), h("tbody", {}, rows)),
  );
}

function cell(names, found, i, j, selected) {
  if (i === j) return h("td.same");
  const value = found.values[i][j], n = found.n[i][j];
  const both = `${names[i]}~${names[j]}`;
  const tip = `${labelOf(names[i])} and ${labelOf(names[j])}: ${share(value)}, n = ${whole(n)}`;
  const kind = Number.isFinite(value) ? shade(value) : "none";
  const element = h("td", { class: both === selected ? `${kind} on` : kind, tabindex: 0, ...pick("cell", both), "data-tip": tip }, share(value));
  element.style.setProperty("--w", depth(value));
  return element;
}

// How much of the colour a cell has; none between the two sides of STRONG, where neither light nor dark text is readable.
const depth = (value) => {
  const size = Math.min(Math.abs(value), 1);
  return `${Math.round(size > STRONG ? 85 + 50 * (size - STRONG) : (48 * size) / STRONG)}%`;
};

const shade = (value) => (value >= 0 ? "up" : "down") + (Math.abs(value) > STRONG ? " strong" : "");

function legend() {
  return h("div.pb-legend", { "aria-hidden": "true" }, [-1, -0.6, -0.3, 0, 0.3, 0.6, 1].map((value) => {
    const step = h("span", { class: shade(value) }, share(value, 1));
    step.style.setProperty("--w", depth(value));
    return step;
  }));
}

function pair(table, names, deltas, earned, view) {
  const chosenPair = view.cell.split("~");
  const places = chosenPair.map((name) => names.indexOf(name));
  if (places.length !== 2 || places.includes(-1) || places[0] === places[1]) {
    return h("div.pb-hint", {}, "Choose a cell to see the pair in full.");
  }
  const [all, others] = places.map((k) => deltas[k]);
  const both = [];
  for (let i = 0; i < all.length; i++) if (Number.isFinite(all[i]) && Number.isFinite(others[i])) both.push(i);
  const [a, b] = [all, others].map((values) => taken(values, both));
  const test = compare(...places.map((k) => taken(earned[k], both)));
  const biased = chosenPair.filter((name) => table.biased(name));
  return h(
    "article.pb-card", {},
    closer(),
    h("h3", {}, methodName(chosenPair[0]), " and ", methodName(chosenPair[1])),
    h("table.pb-table.small", {}, h("tbody", {}, estimate("Pearson r", pearson(a, b)), estimate("Cohen’s κ", kappa(a, b)))),
    h("h4", {}, "Which side is preferred"),
    counts(chosenPair, a, b),
    biased.length ? note(`Accuracies not compared: with ${biased.map(labelOf).join(" and ")} the model picks the same option in 95% of the presentations or more.`) : paired(chosenPair, test),
    h("button.pb-link", { type: "button", ...pick("compare", view.cell) }, "Plot them →"),
  );
}

export function estimate(name, found) {
  return h("tr", {},
    h("td.label", {}, name),
    h("td.num", {}, h("b", {}, share(found.value)), ` ${interval(found.low, found.high)} `, found.reason ? h("small", {}, found.reason) : null),
    h("td.num", {}, `n = ${whole(found.n)}`));
}

// With a row and a column of ties where there are any, so that tests can be done again from the table.
export function counts(names, a, b, titles = names.map((name) => methodName(name))) {
  const found = signs(a, b);
  const hasTies = found[1].some(Boolean) || found.some((row) => row[1]);
  const shown = [["better", 0], ...(hasTies ? [["tie", 1]] : []), ["worse", 2]];
  const line = ([name, i]) => h("tr", {}, h("th", { scope: "row" }, titles[0].cloneNode(true), `: ${name}`), shown.map(([, j]) => h("td.num", {}, whole(found[i][j]))));
  const head = shown.map(([name, j]) => h("th.num", { scope: "col" }, j ? name : [titles[1], `: ${name}`]));
  return h("table.pb-table.small.pb-signs", {}, h("thead", {}, h("tr", {}, h("td"), head)), h("tbody", {}, shown.map(line)));
}

// What the test does with ties; nothing where there are none.
export const halfGains = ({ onlyA, onlyB, halfA, halfB, finer }, first, second) => (finer
  ? "Items earn the mean over their presentations; the test goes over all signs that the gains could have had."
  : halfA + halfB
  ? `A tie of one of the two, or an item that it has right in half of the presentations, is half a gain for the other. ${first}: ${count(onlyA, "gain")}, ${count(halfA, "half gain")}; ${second}: ${whole(onlyB)} and ${whole(halfB)}. The test asks how often fair coins would give gains and half gains such a sum.`
  : `${count(onlyA, "item")} only ${first}, ${whole(onlyB)} only ${second}.`);

// Whether one of the two is right more often, in a line.
function paired(names, found) {
  if (!found.n) return null;
  const [first, second] = names.map(labelOf);
  const tested = Number.isFinite(found.exact) ? pValue(found.exact) : "no item is right for one and wrong for the other";
  return note(`Accuracy ${first} − ${second}, ties one half: ${share(found.difference.value)} ${interval(found.difference.low, found.difference.high)}; McNemar, exact: ${tested}. ${halfGains(found, first, second)}`);
}
