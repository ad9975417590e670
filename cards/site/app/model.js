// The page of a bank with one model: in, the summary, the model's tables and a view; out, its accuracy by every method,
// by group, and the items that a method gets most wrong.

import { figure, h, isolated, methodName, note, pick, table } from "./dom.js";
import { BIASED } from "./board.js";
import { cell, features, gridCell, methodOf, NULLS } from "./grid.js";
import { SHORT_COLUMNS, sides } from "./items.js";
import { RANDOM, results, signatureOf, unreadOf } from "./results.js";
import { count, labelOf, nats, share, whole, words } from "./text.js";
import { HUMAN, singleModel } from "./view.js";

const WORST = 10;
const GROUPING = "phenomenon";

// The corpus that groups and items are of, and what the corpus is broken down by.
export function partOf(site, view) {
  const scored = site.corpora.filter((one) => one.n_models).map((one) => one.name);
  const groupings = site.results.groupings.slice(1);
  return {
    within: scored.includes(view.within) ? view.within : scored[0] ?? "",
    by: groupings.includes(view.by) ? view.by : groupings.includes(GROUPING) ? GROUPING : groupings[0] ?? "",
  };
}

export async function aboutModel(bank, view) {
  const { site } = bank;
  const model = singleModel(site);
  const part = partOf(site, view);
  const [overall, groups, items] = await Promise.all([accuracies(site, model, view), byGroup(site, model, part, view), worst(bank, model, part, view)]);
  return [h("h2", {}, isolated(model.name)), features(model), overall, groups, items];
}

// Columns are methods, rows are corpora; a model with random weights has rows of its own below.
async function accuracies(site, model, view) {
  const rows = await results(site, "board", "all", site.results.methods, view.draws);
  const unread = unreadOf(site);
  const methods = site.results.methods.filter((name) => rows.some((row) => row.method === name));
  const nulls = site.models.filter((one) => one.random);
  const body = site.corpora.flatMap(({ name }) => [model, ...nulls].map((one) => {
    const own = methods.map((method) => rows.find((row) => row.corpus === name && row.method === method && (method === HUMAN ? one === model : row.model === one.name)));
    if (!own.some((row) => row && row.method !== HUMAN)) return null;
    const label = one.random ? [isolated(one.name), h("small", {}, `${RANDOM}, ${name}`)] : isolated(name);
    return h("tr", { class: one.random ? "null" : null }, h("th.c-name", { scope: "row" }, label), own.map((row) => estimate(row, row ? unread(row) : "")));
  })).filter(Boolean);
  const headings = [{ label: "Corpus", cls: "c-name" }, ...methods.map(heading)];
  const found = rows.filter((row) => methods.includes(row.method));
  return [
    table("Accuracy by method", headings, body, "pb-grid"),
    note("Accuracy by the definition of each method’s paper, with its 95% interval and the number of items; chance is 0.50.",
      found.some((row) => row.biased) ? ` ${BIASED}` : "", nulls.length ? ` ${NULLS}` : "", found.some(unread) ? " † The model’s tokenizer cannot read some of these items: the tip says how many." : ""),
  ];
}

const heading = (name) => ({ label: labelOf(name), tip: labelOf(name) === name ? "" : name, kind: "fig" });

function estimate(row, unread) {
  if (!row || !Number.isFinite(row.accuracy.value)) return h("td.fig.none", { "data-tip": row?.accuracy.reason || "no result" }, "–");
  const marks = [row.biased ? h("sup", { "data-tip": BIASED }, "‡") : null, unread ? h("sup", { "data-tip": unread }, "†") : null];
  return h("td.fig", {}, figure(row.accuracy, signatureOf(row)), marks, h("small.pb-size", {}, `n = ${whole(row.accuracy.n)}`));
}

// One row per group of a corpus, the lowest by the chosen method first.
async function byGroup(site, model, { within, by }, view) {
  if (!by) return null;
  const rows = (await results(site, "board", by, site.results.methods, view.draws)).filter((row) => row.corpus === within && (row.method === HUMAN || row.model === model.name));
  const groups = new Map();
  for (const row of rows) {
    if (!groups.has(row.group)) groups.set(row.group, new Map());
    groups.get(row.group).set(row.method, cell(row, row.method));
  }
  if (groups.size < 2) return null;
  const methods = site.results.methods.filter((name) => rows.some((row) => row.method === name));
  const key = view.sort.replace(/^-/, "");
  const column = methods.includes(key) ? key : methodOf(site, view);
  const valueOf = ([, cells]) => cells.get(column)?.value ?? NaN;
  const down = view.sort.startsWith("-") ? -1 : 1;
  const inOrder = [...groups].sort((a, b) => Number.isNaN(valueOf(a)) - Number.isNaN(valueOf(b)) || down * (valueOf(a) - valueOf(b)) || (a[0] < b[0] ? -1 : 1));
  const body = inOrder.map(([group, cells]) => h("tr", {}, h("th.c-name", { scope: "row" }, isolated(words(group))), methods.map((name) => gridCell(cells.get(name), true, 0))));
  const headings = [{ label: words(by).replace(/^./u, (letter) => letter.toUpperCase()), cls: "c-name" }, ...methods.map((name) => ({ ...heading(name), kind: "num", key: name, firstUp: true }))];
  return [h("h2", {}, `Accuracy by ${words(by)}, `, isolated(within)), table(`Accuracy by ${words(by)}`, headings, body, "pb-grid", view.sort || column)];
}

// The items whose difference by a method is the most negative: the worse side is far more probable.
async function worst(bank, model, { within }, view) {
  const corpus = await bank.corpus(within);
  const slug = corpus.slugs().find((one) => corpus.nameOf(one) === model.name);
  if (slug === undefined || corpus.more.one_sided) return null;
  const method = methodOf(bank.site, view);
  const data = await bank.table(corpus, slug);
  const values = await data.delta(method);
  const wrong = [];
  values.forEach((value, row) => { if (value < 0 && data.isChoice(row)) wrong.push(row); });
  const title = h("h2", {}, "Worst items with ", methodName(method), ", ", isolated(within));
  if (!wrong.length) return [title, note(values.some((value) => value >= 0) ? "This method is right about every item." : "This method has no scores on this corpus.")];
  const positions = wrong.sort((a, b) => values[a] - values[b] || a - b).slice(0, WORST);
  const rows = await data.rows(positions, SHORT_COLUMNS);
  const state = { corpus: within, model: slug, method };
  const body = rows.map((row, k) => h("tr", { tabindex: 0, ...pick("rows", JSON.stringify({ ...state, item: row.item_id })) },
    h("td", {}, sides(row), h("small", {}, isolated(words(row.phenomenon || row.subset || "")), " · ", isolated(row.item_id))),
    h("td.num.down", {}, nats(values[positions[k]]))));
  const unit = data.unit(method);
  const all = pick("rows", JSON.stringify({ ...state, show: "wrong", sort: method }));
  return [
    title,
    table("Worst items", [{ label: `${rows.length} of ${whole(wrong.length)} wrong` }, { label: "Good − bad", kind: "num", tip: unit }], body, "pb-items"),
    h("p.pb-note", {}, h("button.pb-link", { type: "button", ...all }, `All ${count(wrong.length, "item")} with a negative difference (${share(wrong.length / values.filter((value) => Number.isFinite(value)).length)} of those scored) →`)),
  ];
}
