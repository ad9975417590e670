// All results: in, the summary and a view; out, a table of model x corpus x method with intervals.

import { empty, figure, h, isolated, methodName, note, pager, pages, PAGE_ROWS, table } from "./dom.js";
import { whisker } from "./charts.js";
import { groupedBy, RANDOM, randomOf, results, signatureOf, sortedBy, unreadOf } from "./results.js";
import { whole, words } from "./text.js";
import { pageOf } from "./view.js";

const NOTE =
  "Accuracy as each method’s paper defines it, with its 95% interval; the tick is chance. First option: 0.50 without position bias.";
export const BIASED =
  "‡ Position bias: the model picks the same option in 95% of the presentations or more; its accuracy pools both " +
  "orders, is near one half whatever it knows, and is not ranked or compared.";
const KEYS = ["model", "corpus", "group", "method", "n", "accuracy", "pooled", "first"];

let last = { key: "", rows: [] }; // so that a page of the list does not sort them all anew

// The rows in the view's order.
export async function board(site, view) {
  const methods = view.bmethod ? [view.bmethod] : site.results.methods;
  let rows = await results(site, "board", view.by, methods, view.draws);
  if (view.task) rows = await ofTask(site, view, rows, methods);
  if (view.within) rows = rows.filter((row) => row.corpus === view.within);
  if (view.group) rows = rows.filter((row) => row.group === view.group);
  if (view.bmodel) rows = rows.filter((row) => row.model === view.bmodel || !row.model);
  const key = JSON.stringify(["by", "task", "within", "group", "bmodel", "bmethod", "draws", "sort"].map((name) => view[name]));
  if (last.key !== key) last = { key, rows: sortedBy(rows, view.sort, KEYS, groupedBy(["corpus", "group"], "accuracy")) };
  return last.rows;
}

// Rows of a task: of its items, or of all where a corpus is not broken down by task.
async function ofTask(site, view, rows, methods) {
  const withIt = new Set(site.corpora.filter((one) => one.tasks.includes(view.task)).map((one) => one.name));
  if (view.by !== "all") return rows.filter((row) => withIt.has(row.corpus));
  const split = await results(site, "board", "task", methods, view.draws);
  const isSplit = new Set(split.map((row) => row.corpus));
  return [
    ...split.filter((row) => row.group === view.task),
    ...rows.filter((row) => withIt.has(row.corpus) && !isSplit.has(row.corpus)),
  ];
}

// The groups that the list can be limited to.
export async function groupsOf(site, view) {
  const rows = await results(site, "board", view.by);
  const kept = rows.filter((row) => row.group && (!view.within || row.corpus === view.within));
  return [...new Set(kept.map((row) => row.group))].sort();
}

export async function panel(bank, view, found) {
  const { site } = bank;
  const rows = await board(site, view);
  if (!rows.length) return nothing(site);
  const page = pageOf(view, found, pages(rows.length));
  const shown = rows.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  const columns = [
    { label: "Model", key: "model" },
    { label: "Corpus", key: "corpus" },
    ...(view.by === "all" ? [] : [{ label: capital(words(view.by)), key: "group" }]),
    { label: "Method", key: "method" },
    { label: "Accuracy", key: "accuracy", kind: "fig" },
    { label: "", tip: "0 to 1, with the 95% interval; the tick is chance" },
    { label: "Orders pooled", key: "pooled", kind: "fig", tip: "Every presentation is one trial" },
    { label: "First option", key: "first", kind: "fig", tip: "Position bias: 0.50 is none" },
    { label: "n", key: "n", kind: "num", tip: "Items used" },
  ];
  const unread = unreadOf(site), isRandom = randomOf(site);
  const body = shown.map((row) => line(row, view, unread(row), isRandom(row.model)));
  return [
    table("All results", columns, body, "pb-board", view.sort),
    pager(page, rows.length, "row"),
    note(NOTE, shown.some((row) => row.biased) ? ` ${BIASED}` : "", shown.some((row) => unread(row)) ? " † The model’s tokenizer cannot read some of the corpus: the tip says how much." : ""),
    h("p.pb-note", {}, h("button.pb-link", { type: "button", "data-pick": "csv", "data-value": "summary" }, "This table as CSV")),
  ];
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function line(row, view, unread, isRandom) {
  const more = [["pooled", "orders pooled"], ["first", "first option"]].map(([name, label]) =>
    h(`td.fig.c-${name}`, { class: Number.isNaN(row[name].value) ? "na" : null, "data-label": label }, figure(row[name], signatureOf(row))));
  return h(
    "tr", {},
    h("td.c-model", {}, isolated(row.model), isRandom ? h("small.pb-random", {}, RANDOM) : null),
    h("td.c-corpus", {}, isolated(row.corpus), unread ? h("sup", { "data-tip": `Tokenizer: ${unread}` }, "†") : null),
    view.by === "all" ? null : h("td.c-group", {}, isolated(words(row.group))),
    h("td.c-method", {}, methodName(row.method)),
    h("td.fig.c-figure", {}, figure(row.accuracy, signatureOf(row)), row.biased ? h("sup", { "data-tip": BIASED }, "‡") : null),
    h("td.plot", {}, whisker(row.accuracy, [0, 1], 0.5)),
    more,
    h("td.num.c-n", {}, whole(row.n)),
  );
}

export function nothing(site) {
  if (!site.models.length) {
    return empty("No model has been scored yet.",
      "The bank holds items only. Score them with `pairbank score`, and add the file with `pairbank bank`.");
  }
  return empty("No results with these filters.", "Choose another group, or all corpora.");
}
