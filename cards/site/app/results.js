// The summary: in, the site's manifest and which part, grouping and methods; out, rows with the metrics side by side.

import { loaded } from "./chunks.js";
import { count } from "./text.js";
import { HUMAN } from "./view.js";

const COLUMN = { accuracy: "accuracy", human_accuracy: "accuracy", accuracy_pooled: "pooled", position_bias: "first",
  pearson_human: "pearson", spearman_human: "spearman",
  pearson_human_sentence: "pearson", spearman_human_sentence: "spearman" };
const NONE = { value: NaN, low: NaN, high: NaN, reason: "", ci: "", n: 0 };

// One row for each model, corpus, group and method: the estimates by column, n, ranks. `draws`: which intervals.
export async function results(site, part, by, methods = site.results.methods, draws = "") {
  const paths = methods.map((method) => site.results[part][by]?.[method] ?? null);
  const found = await Promise.all(paths.map((path, k) => (path ? loaded(path, (value) => value).then((raw) => rowsOf(raw, by, methods[k])) : [])));
  return draws === "paradigms" ? found.flat().map(overParadigms) : found.flat();
}

const FIGURES = ["accuracy", "pooled", "first", "pearson", "spearman"];

// The same row with the intervals for paradigms like these; where paradigms cannot be the draws there are none.
function overParadigms(row) {
  const turned = Object.fromEntries(FIGURES.filter((name) => row[name] !== NONE).map((name) => [name, { ...row[name], ...row[name].over }]));
  return { ...row, ...turned };
}

function over(columns, i) {
  const n = columns.n_paradigms?.values[i] ?? 0;
  if (!n) return { low: NaN, high: NaN, ci: "", reason: "too few paradigms, or of too uneven sizes: no interval for paradigms like these" };
  return { low: columns.low_paradigms.values[i], high: columns.high_paradigms.values[i], ci: `over ${count(n, "paradigm")}` };
}

export async function overallRanks(site, method) {
  const path = site.results.board.all?.[method];
  return path ? (await loaded(path, (value) => value)).overall : {};
}

async function rowsOf(raw, by, method) {
  if (raw.rows) return raw.rows;
  const { columnOf } = await import("./chunks.js");
  const columns = Object.fromEntries(Object.entries(raw.columns).map(([name, column]) => [name, columnOf(column)]));
  const rows = new Map();
  const [model, corpus, group] = ["model", "corpus", "group"].map((name) => numbered(columns[name]));
  for (let i = 0; i < columns.value.length; i++) {
    const at = (name) => columns[name].at(i);
    const key = (model[i] * 65_536 + corpus[i]) * 65_536 + group[i];
    let row = rows.get(key);
    if (!row) {
      row = { model: at("model"), corpus: at("corpus"), by, group: at("group"), method, n: 0,
        accuracy: NONE, pooled: NONE, first: NONE, pearson: NONE, spearman: NONE, best: 0, worst: 0, biased: false };
      rows.set(key, row);
    }
    const metric = at("metric");
    // Of a corpus with pairs and single sentences the pairs count: they come first.
    if (metric.endsWith("_sentence") && row[COLUMN[metric]] !== NONE) continue;
    row[COLUMN[metric]] = {
      value: columns.value.values[i], low: columns.low.values[i], high: columns.high.values[i],
      reason: at("reason") ?? "", ci: at("ci_method") ?? "", n: at("n"), over: over(columns, i),
    };
    row.n = Math.max(row.n, at("n"));
    row.best ||= at("best");
    row.worst ||= at("worst");
    row.biased ||= columns.biased !== undefined && at("biased") === 1;
  }
  raw.rows = [...rows.values()];
  return raw.rows;
}

// A number for each different text of a column.
function numbered(column) {
  if (column.kind === "codes") return column.codes;
  const known = new Map();
  return column.values.map((value) => {
    if (!known.has(value)) known.set(value, known.size);
    return known.get(value);
  });
}

// What a number's signature is found by; people's have the corpus's.
export const signatureOf = (row) => JSON.stringify([row.corpus, row.method === HUMAN ? "" : row.model, row.method]);

// What of a row's corpus its model's tokenizer cannot read, "" for little or nothing.
export function unreadOf(site) {
  const known = new Map(site.models.map((model) => [model.name, model.unread ?? {}]));
  return (row) => known.get(row.model)?.[row.corpus] ?? "";
}

export const RANDOM = "random weights";
// Whether a model is a null: its weights are as before training.
export function randomOf(site) {
  const nulls = new Set(site.models.filter((model) => model.random).map((model) => model.name));
  return (name) => nulls.has(name);
}

const text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Rows by one column, what has no value last; else by the order given.
export function sortedBy(rows, sort, columns, usual) {
  const key = sort.replace(/^-/, "");
  if (!columns.includes(key)) return usual(rows);
  const sign = sort.startsWith("-") ? -1 : 1;
  const values = rows.map((row) => (typeof row[key] === "object" ? row[key].value : row[key]));
  if (typeof values[0] === "string") return byPlace(rows, inOrderOf(values), sign);
  return byPlace(rows, values, sign);
}

// The place of each text among the different ones: numbers are compared quicker.
function inOrderOf(values) {
  const places = new Map([...new Set(values)].sort(text).map((value, k) => [value, k]));
  return values.map((value) => places.get(value));
}

// Rows by a number each, NaN last, equals in their order.
function byPlace(rows, values, sign) {
  const known = [], rest = [];
  values.forEach((value, k) => (Number.isNaN(value) ? rest : known).push(k));
  const order = Float64Array.from(known).sort((a, b) => sign * (values[a] - values[b]) || a - b);
  return [...Array.from(order, (k) => rows[k]), ...rest.map((k) => rows[k])];
}

// Rows group by group in the order of some texts, in each the highest of a column first.
export function groupedBy(names, column) {
  return (rows) => {
    const groups = new Map();
    for (const row of rows) {
      const key = names.map((name) => row[name]).join("\u0000");
      const found = groups.get(key);
      if (found) found.push(row);
      else groups.set(key, [row]);
    }
    const order = [...groups.values()].sort((a, b) => byText(...names)(a[0], b[0]));
    return order.flatMap((same) => byPlace(same, same.map((row) => row[column].value), -1));
  };
}

const byText = (...names) => (a, b) => {
  for (const name of names) {
    const order = text(a[name], b[name]);
    if (order) return order;
  }
  return 0;
};
