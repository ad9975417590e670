// The summary: in, the site's manifest and which part, grouping and methods; out, rows with the metrics side by side.

import { loaded } from "./chunks.js";
import { HUMAN } from "./view.js";

const COLUMN = { accuracy: "accuracy", human_accuracy: "accuracy", accuracy_pooled: "pooled", position_bias: "first",
  pearson_human: "pearson", spearman_human: "spearman" };
const NONE = { value: NaN, low: NaN, high: NaN, reason: "", ci: "", n: 0 };

// One row for each model, corpus, group and method: the estimates by column, n, ranks.
export async function results(site, part, by, methods = site.results.methods) {
  const paths = methods.map((method) => site.results[part][by]?.[method] ?? null);
  const found = await Promise.all(paths.map((path, k) => (path ? loaded(path, (value) => value).then((raw) => rowsOf(raw, by, methods[k])) : [])));
  return found.flat();
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
  for (let i = 0; i < columns.value.length; i++) {
    const at = (name) => columns[name].at(i);
    const key = JSON.stringify([at("model"), at("corpus"), at("group")]);
    if (!rows.has(key)) {
      rows.set(key, { model: at("model"), corpus: at("corpus"), by, group: at("group"), method, n: 0,
        accuracy: NONE, pooled: NONE, first: NONE, pearson: NONE, spearman: NONE, best: 0, worst: 0 });
    }
    const row = rows.get(key);
    row[COLUMN[at("metric")]] = {
      value: columns.value.values[i], low: columns.low.values[i], high: columns.high.values[i],
      reason: at("reason") ?? "", ci: at("ci_method") ?? "", n: at("n"),
    };
    row.n = Math.max(row.n, at("n"));
    row.best ||= at("best");
    row.worst ||= at("worst");
  }
  raw.rows = [...rows.values()];
  return raw.rows;
}

// What a number's signature is found by; people's have the corpus's.
export const signatureOf = (row) => JSON.stringify([row.corpus, row.method === HUMAN ? "" : row.model, row.method]);

const text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Rows by one column, what has no value last; else by the order given.
export function sortedBy(rows, sort, columns, usual) {
  const key = sort.replace(/^-/, "");
  if (!columns.includes(key)) return [...rows].sort(usual);
  const sign = sort.startsWith("-") ? -1 : 1;
  const valueOf = (row) => (typeof row[key] === "object" ? row[key].value : row[key]);
  return [...rows].sort((a, b) => {
    const [x, y] = [valueOf(a), valueOf(b)];
    if (typeof x === "string") return sign * text(x, y);
    return Number.isNaN(x) - Number.isNaN(y) || (Number.isNaN(x) ? 0 : sign * (x - y));
  });
}

export const byText = (...names) => (a, b) => {
  for (const name of names) {
    const order = text(a[name], b[name]);
    if (order) return order;
  }
  return 0;
};

export const highestFirst = (name) => (a, b) => {
  const [x, y] = [a[name].value, b[name].value];
  return Number.isNaN(x) - Number.isNaN(y) || (Number.isNaN(x) ? 0 : y - x);
};
