// Downloads: in, a table and a view; out, what is chosen, a button that makes CSV of it, and the same rows in Python.

import { h, isolated, note } from "./dom.js";
import { gridOf } from "./grid.js";
import { board } from "./board.js";
import { chosen } from "./rows.js";
import { count, whole, words } from "./text.js";
import { FILTERS } from "./view.js";

const COLUMNS_NOTE =
  "All columns of the table, then the model and the signature. In CSV, lists (option log-probabilities, flags) are " +
  "JSON, and a text that a spreadsheet would run as a formula starts with an apostrophe.";
const BATCH_ROWS = 4_096;
const BOM = "\ufeff"; // so that a spreadsheet reads it as UTF-8

export function filtersOf(view) {
  const found = Object.fromEntries([...FILTERS, "q"].filter((name) => view[name]).map((name) => [name, view[name]]));
  return view.show === "all" ? found : { ...found, show: view.show, method: view.method };
}

export async function panel(bank, view, { table, corpus }) {
  const keep = await chosen(table, view);
  const n = keep.reduce((a, b) => a + b, 0);
  const told = Object.entries(filtersOf(view)).filter(([name]) => name !== "method");
  const kept = told.length ? [", with ", ...told.flatMap(([name, value], k) => [k ? "; " : "", `${words(name)}: `, isolated(value)])] : [", all of them"];
  const button = n
    ? h("button.pb-button.strong", { type: "button", "data-pick": "csv", "data-value": "rows" }, "Download CSV")
    : h("span.pb-hint", {}, "No item fits: widen the filters above.");
  return h(
    "div.pb-card.pb-download", {},
    h("h2", {}, `${whole(n)} of ${count(table.nRows, "item")}`),
    h("p", {}, isolated(corpus.name), table.model ? [" scored by ", isolated(table.model)] : "", kept, "."),
    h("p.pb-buttons", {}, button),
    note(COLUMNS_NOTE),
    h("h3", {}, "The same rows in Python"),
    h("pre", { tabindex: 0 }, pythonCode(bank.site, corpus, view)),
  );
}

const literal = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
// As Python writes a string: in single quotes where that needs no escape.
const python = (text) => (/^[^'\\\u0000-\u001f\u007f]*$/.test(text) ? `'${text}'` : literal(text));

// Lines that load the chosen rows with `datasets`; the text search is not part of them.
export function pythonCode(site, corpus, view) {
  const config = view.model ? `${corpus.facts.config}_scored` : corpus.facts.config;
  const split = view.model || "items";
  const lines = ["from datasets import load_dataset", `rows = load_dataset(${python(site.name)}, ${python(config)}, split=${python(split)})`];
  const tests = FILTERS.filter((name) => view[name]).map((name) => `row[${python(name)}] == ${python(view[name])}`);
  if (tests.length) lines.push(`rows = rows.filter(lambda row: ${tests.join(" and ")})`);
  return lines.join("\n");
}

const defused = (text) => (/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);

// The shortest decimal that is this number as 32 bits.
function short(value) {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}

function csvCell(value, isShort) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return isShort ? short(value) : String(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return `"${defused(value).replaceAll('"', '""')}"`;
  const list = Array.from(value, (one) => (Number.isNaN(one) ? null : one));
  return `"${JSON.stringify(list).replaceAll(",", ", ").replaceAll('"', '""')}"`;
}

const csvLine = (cells, isShort = []) => `${cells.map((value, k) => csvCell(value, isShort[k])).join(",")}\r\n`;

// The chosen rows as CSV, a few thousand at a time, and the file's name; `tell` hears how far it is.
export async function rowsAsCsv(table, view, tell) {
  const keep = await chosen(table, view);
  const rows = [];
  for (let i = 0; i < keep.length; i++) if (keep[i]) rows.push(i);
  const marks = table.facts ? [["model", table.model], ["signature", table.facts.line]].filter(([name]) => !table.columns.includes(name)) : [];
  const names = [...table.columns, ...marks.map(([name]) => name)];
  const floats = table.columns.map((name) => name === "human_good" || name === "human_bad");
  const parts = [BOM, csvLine(names)];
  for (let start = 0; start < rows.length; start += BATCH_ROWS) {
    const some = rows.slice(start, start + BATCH_ROWS);
    const cell = await table.cells(some);
    parts.push(some.map((_, k) => csvLine([...table.columns.map((name) => cell(name, k)), ...marks.map(([, value]) => value)], floats)).join(""));
    tell(Math.min(start + BATCH_ROWS, rows.length), rows.length);
  }
  return { text: parts, name: fileName([table.corpus.name, table.model, ...Object.entries(filtersOf(view)).map((pair) => pair.join("="))]) };
}

const fileName = (parts) => `${parts.filter(Boolean).join("--").replace(/[^A-Za-z0-9._=-]+/g, "_").slice(0, 120)}.csv`;

// The list of all results as CSV, in the view's order.
export async function summaryAsCsv(site, view) {
  const figures = ["accuracy", "pooled", "first"];
  const names = ["model", "corpus", "group", "method", "n", ...figures.flatMap((name) => [name, `${name}_low`, `${name}_high`, `${name}_reason`])];
  const rows = (await board(site, view)).map((row) => csvLine([row.model, row.corpus, row.group, row.method, row.n,
    ...figures.flatMap((name) => [row[name].value, row[name].low, row[name].high, row[name].reason || null])]));
  return { text: [BOM, csvLine(names), ...rows], name: "summary.csv" };
}

export async function gridAsCsv(site, view) {
  const { columns, rows } = await gridOf(site, view);
  const names = ["model", "rank_best", "rank_worst", "mean", "columns", ...columns.flatMap((name) => [name, `${name} low`, `${name} high`, `${name} n`])];
  const lines = rows.map((row) => csvLine([row.name || "people", row.best || null, row.worst || null, row.mean, row.n,
    ...columns.flatMap((name) => ["value", "low", "high", "n"].map((part) => row.cells.get(name)?.[part] ?? null))]));
  return { text: [BOM, csvLine(names), ...lines], name: "leaderboard.csv" };
}

export function save({ text, name }) {
  const url = URL.createObjectURL(new Blob(text, { type: "text/csv;charset=utf-8" }));
  const anchor = h("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
