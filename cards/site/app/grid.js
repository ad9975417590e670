// The leaderboard: in, the summary and a view; out, a row a model, a column a corpus (or method, language, phenomenon).

import { growth } from "./charts.js";
import { aboutModel } from "./model.js";
import { figure, h, isolated, methodName, note, pager, pages, PAGE_ROWS, table, withTip } from "./dom.js";
import { BIASED, nothing } from "./board.js";
import { overallRanks, RANDOM, results, signatureOf, unreadOf } from "./results.js";
import { interval, labelOf, share, whole, words } from "./text.js";
import { DIRECT, HUMAN, pageOf, singleModel } from "./view.js";

const MOST_COLUMNS = 40;
const WIDE = 20; // columns, from which a page has half the rows: laying out a cell is what takes time
const LEVELS = 9; // of the colour of a cell
const SIZES = { small: [0, 1e9], middle: [1e9, 1e10], large: [1e10, Infinity] };
export const SIZE_LABELS = { small: "below 1 billion", middle: "1 to 10 billion", large: "10 billion and more" };

export const methodOf = (site, view) =>
  view.bmethod || (site.results.methods.includes(DIRECT) ? DIRECT : site.results.widest) || "";

// Whether a model passes the filters by what is declared about it.
export function passes(model, view) {
  if (view.family && (model.family ?? "undeclared") !== view.family) return false;
  if (view.type && (model.type ?? "undeclared") !== view.type) return false;
  if (!view.size) return true;
  const [low, high] = SIZES[view.size] ?? [NaN, NaN];
  return view.size === "undeclared" ? !model.size : model.size >= low && model.size < high;
}

// The grid: columns, and rows of {model, cells: column -> estimate, mean, n (columns that it has), best, worst}.
export async function gridOf(site, view) {
  const cells = await cellsOf(site, view);
  const columns = columnsOf(site, view, cells);
  const byModel = new Map();
  for (const cell of cells) {
    const name = cell.method === HUMAN ? "" : cell.model;
    if (!byModel.has(name)) byModel.set(name, new Map());
    byModel.get(name).set(cell.column, cell);
  }
  const ranks = view.across === "corpus" && !view.within ? await overallRanks(site, methodOf(site, view)) : {};
  const known = new Map(site.models.map((model) => [model.name, model]));
  const rows = [];
  for (const [name, found] of byModel) {
    const model = name ? known.get(name) ?? { name } : null;
    if (model && !passes(model, view)) continue;
    const values = columns.map((column) => found.get(column)?.value).filter(Number.isFinite);
    if (!values.length) continue;
    const only = columns.length === 1 ? found.get(columns[0]) : null;
    rows.push({
      model, name, cells: found, n: values.length, mean: values.reduce((a, b) => a + b, 0) / values.length,
      best: ranks[name]?.best ?? only?.best ?? 0, worst: ranks[name]?.worst ?? only?.worst ?? 0,
    });
  }
  return { columns, rows: inOrder(rows, view.sort, columns.length) };
}

// One estimate for each model and column; over several corpora a group's is pooled over all of its items.
async function cellsOf(site, view) {
  const method = methodOf(site, view);
  const within = (row) => !view.within || row.corpus === view.within;
  const unread = unreadOf(site);
  if (view.across === "method") {
    const corpus = view.within || site.corpora[0].name;
    const rows = await results(site, "board", "all", site.results.methods, view.draws);
    return rows.filter((row) => row.corpus === corpus).map((row) => ({ ...cell(row, row.method), unread: unread(row) })).filter((one) => one.method !== HUMAN);
  }
  const methods = [method, ...(site.results.methods.includes(HUMAN) ? [HUMAN] : [])];
  const by = view.across === "corpus" ? "all" : view.across;
  const rows = (await results(site, "board", by, methods, view.draws)).filter(within);
  if (view.across === "corpus") return rows.map((row) => ({ ...cell(row, row.corpus), unread: unread(row) }));
  return pooled(rows);
}

export const cell = (row, column) => ({ ...row.accuracy, column, model: row.model, method: row.method, corpus: row.corpus,
  best: row.best, worst: row.worst, biased: row.biased, source: signatureOf(row) });

function pooled(rows) {
  const found = new Map();
  for (const row of rows) {
    if (!Number.isFinite(row.accuracy.value)) continue;
    const key = JSON.stringify([row.model, row.method, row.group]);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return [...found.values()].map((same) => {
    if (same.length === 1) return cell(same[0], same[0].group);
    const n = same.reduce((sum, row) => sum + row.accuracy.n, 0);
    const value = same.reduce((sum, row) => sum + row.accuracy.value * row.accuracy.n, 0) / n;
    return { ...cell(same[0], same[0].group), value, n, low: NaN, high: NaN, best: 0, worst: 0, source: null, ci: "",
      reason: `pooled over ${same.length} corpora: ${same.map((row) => row.corpus).join(", ")}` };
  });
}

function columnsOf(site, view, cells) {
  const sizes = new Map();
  for (const one of cells) sizes.set(one.column, Math.max(sizes.get(one.column) ?? 0, one.n));
  if (view.across === "corpus") return site.corpora.map((one) => one.name).filter((name) => sizes.has(name));
  if (view.across === "method") return site.results.methods.filter((name) => sizes.has(name));
  return [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a)).slice(0, MOST_COLUMNS).sort();
}

// Models, then those with position bias everywhere, then those with random weights, then people.
const place = ({ model, cells }) => (!model ? 3 : model.random ? 2 : Number([...cells.values()].every((one) => one.biased)));

// By the mean, models that lack a column after those that have all.
function inOrder(rows, sort, nColumns) {
  const key = sort.replace(/^-/, "") || "mean", sign = sort && !sort.startsWith("-") ? 1 : -1;
  const valueOf = (row) => (key === "mean" ? row.mean : key === "n" ? row.n : row.cells.get(key)?.value ?? NaN);
  return rows.sort((a, b) => {
    if (place(a) !== place(b)) return place(a) - place(b);
    if (key === "model") return (sort.startsWith("-") ? -1 : 1) * (a.name < b.name ? -1 : 1);
    if (key === "mean" && (a.n < nColumns) !== (b.n < nColumns)) return a.n < nColumns ? 1 : -1;
    const [x, y] = [valueOf(a), valueOf(b)];
    return Number.isNaN(x) - Number.isNaN(y) || (Number.isNaN(x) ? 0 : sign * (x - y)) || (a.name < b.name ? -1 : 1);
  });
}

const rank = ({ best, worst }) => (!best ? "–" : best === worst ? String(best) : `${best}–${worst}`);

export async function panel(bank, view, found) {
  const { site } = bank;
  if (singleModel(site)) return aboutModel(bank, view);
  const { columns, rows } = await gridOf(site, view);
  if (!rows.length) return nothing(site);
  const several = columns.length > 1, shownAs = (name) => (view.across === "method" ? labelOf(name) : name);
  const headings = [
    { label: "Rank", kind: "num", tip: "From the best to the worst rank that paired tests leave a model; models that do not differ share ranks" },
    { label: "Model", key: "model", cls: "c-name" },
    ...(several ? [
      { label: "Mean", key: "mean", kind: "num", tip: "Of the columns that the model has, each with the same weight" },
      { label: "Has", key: "n", kind: "num", tip: "Columns with a result, of all" },
    ] : []),
    ...columns.map((name) => ({ label: several ? shownAs(name) : `Accuracy, ${shownAs(name)}`, tip: shownAs(name) === name ? "" : name, key: name, kind: several ? "num" : "fig" })),
  ];
  const asked = view.q.toLowerCase();
  const models = rows.filter((row) => row.model && row.name.toLowerCase().includes(asked));
  if (!models.length) return [h("p.pb-sub", {}, `No model is called “${view.q}”. Clear the search to see all ${rows.filter((row) => row.model).length}.`)];
  const size = columns.length > WIDE ? PAGE_ROWS / 2 : PAGE_ROWS;
  const page = pageOf(view, found, pages(models.length, size));
  const shown = [...models.slice((page - 1) * size, page * size), ...rows.filter((row) => !row.model)];
  const sizes = new Map(columns.map((name) => [name, Math.max(...models.map((row) => row.cells.get(name)?.n ?? 0))]));
  const body = shown.map((row) => line(row, columns, several, sizes));
  const board = h("div", {},
    table("Leaderboard", headings, body, "pb-grid", view.sort || "-mean"),
    pager(page, models.length, "model", size),
    note("Models that share a rank do not differ (95%, Holm-corrected).", marksOf(shown, columns)),
    h("details.pb-note", {}, h("summary", {}, "How accuracy and ranks are computed"), h("ul", {}, NOTES.map((text) => h("li", {}, text)))),
    h("p.pb-note", {}, h("button.pb-link", { type: "button", "data-pick": "csv", "data-value": "grid" }, "This table as CSV")));
  return [h("p.pb-sub", {}, what(site, view)), h("div.pb-beside", {}, board, charts(rows, columns))];
}

const NOTES = [
  "Accuracy: as each method’s paper defines it (items with a positive difference, ties one half, or orders pooled). Chance is 0.50.",
  "Ranks: McNemar’s exact tests of all pairs of models on their common items, Holm-corrected over all pairs of a method. Ranks of means: z tests of the mean paired difference.",
  "Together, rank intervals contain the true ranks with a probability of 95%. From ten paradigms on, a t test over paradigms must agree.",
  "Ranks are among all models of the bank, whatever the filters.",
  "Models with missing columns follow those with all columns, because their means are of other items.",
];

export const NULLS = "Models with random weights (null models) have no rank: what they reach is due to length, repeated words and the like.";

function marksOf(rows, columns) {
  const cells = rows.flatMap((row) => columns.map((name) => row.cells.get(name))).filter(Boolean);
  const unread = cells.some((one) => one.unread) ? ["† The model’s tokenizer cannot read some of these items: the tip says how many."] : [];
  const people = rows.some((row) => !row.model) ? ["n: number of items with human judgments, where models have more."] : [];
  const biased = cells.some((one) => one.biased) ? [BIASED] : [];
  const nulls = rows.some((row) => row.model?.random) ? [NULLS] : [];
  return [...nulls, ...biased, ...unread, ...people].map((text) => ` ${text}`).join("");
}

function what(site, view) {
  const method = methodOf(site, view);
  if (view.across === "method") return ["Accuracy by method on ", isolated(view.within || site.corpora[0].name)];
  const where = view.within ? [" on ", isolated(view.within)] : [];
  return ["Accuracy with ", methodName(method), ...where, view.across === "corpus" ? "" : `, by ${words(view.across)}`];
}

function line(row, columns, several, sizes) {
  const isPeople = !row.model;
  const cells = columns.map((name) => gridCell(row.cells.get(name), several, isPeople ? sizes.get(name) : 0));
  return h(
    "tr", { class: isPeople ? "people" : row.model.random ? "null" : null },
    h("td.num.c-rank", {}, isPeople ? "" : rank(row)),
    h("th.c-name", { scope: "row" }, isPeople ? h("em", {}, "people") : isolated(row.name), isPeople ? null : features(row.model)),
    several ? [h("td.num", {}, h("b", {}, share(row.mean))), h("td.num", {}, `${row.n}/${columns.length}`)] : null,
    cells,
  );
}

export function features(model) {
  const told = [model.random ? RANDOM : "", model.family, model.size ? sizeText(model.size) : "", model.type].filter(Boolean).join(" · ");
  return told ? h("small", {}, told) : null;
}

// `ofModels`: how many items models have there; said of a row that has others, people's.
export function gridCell(found, several, ofModels) {
  if (!found || !Number.isFinite(found.value)) return h("td.num.none", { "data-tip": found?.reason || "no result" }, "–");
  const unread = found.unread ? h("sup", { "data-tip": found.unread }, "†") : null;
  const mark = found.biased ? h("sup", { "data-tip": BIASED }, "‡") : null;
  const size = ofModels && found.n !== ofModels ? h("small.pb-size", {}, `n ${whole(found.n)}`) : null;
  if (!several) return h("td.fig", {}, figure(found, found.source), mark, unread, size);
  // By hand, for a leaderboard has thousands of these.
  const element = document.createElement("td");
  element.className = `num shaded ${found.value >= 0.5 ? "up" : "down"} w${Math.min(LEVELS, Math.round(Math.abs(found.value - 0.5) * 2 * LEVELS))}`;
  element.textContent = share(found.value);
  if (mark) element.append(h("sup", {}, "‡"));
  if (unread) element.append(h("sup", {}, "†"));
  if (size) element.append(size);
  if (found.source) {
    element.className += " pb-figure";
    element.tabIndex = 0;
    element.dataset.pick = "sig";
    element.dataset.value = found.source;
  }
  withTip(element, () => tipFor(found));
  return element;
}

const tipFor = (found) => [
  `${share(found.value)} ${interval(found.low, found.high)}, n = ${whole(found.n)}`,
  found.best ? `rank ${rank(found)}` : "",
  found.reason,
  found.biased ? BIASED : "",
  found.unread,
  found.source ? "Click: its signature" : "",
].filter(Boolean).join("\n");

export const sizeText = (size) => {
  for (const [unit, letter] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return `${Number((size / unit).toPrecision(3))}${letter}`;
  }
  return String(size);
};

// Accuracy against size, and against the training step of checkpoints, where that is known of two models or more.
function charts(rows, columns) {
  const narrow = window.innerWidth < 700;
  const complete = rows.filter((row) => row.model && row.n === columns.length && !row.model.random);
  const single = columns.length === 1 ? columns[0] : null;
  const point = (row, x, label) => ({ x, y: row.mean, low: single ? row.cells.get(single).low : NaN, high: single ? row.cells.get(single).high : NaN, tip: `${row.name}\n${label}: ${share(row.mean)}` });
  const drawn = [];
  const sized = complete.filter((row) => row.model.size && !row.model.step);
  if (new Set(sized.map((row) => row.model.size)).size > 1) {
    const series = grouped(sized, (row) => `${row.model.family ?? ""} ${row.model.type ?? ""}`).map((same) => ({ points: same.map((row) => point(row, row.model.size, sizeText(row.model.size))) }));
    drawn.push(h("h2", {}, "Accuracy against size"), note("One line per family and type; models with every column."), growth({ series, label: "parameters", format: sizeText, narrow }));
  }
  const stepped = complete.filter((row) => row.model.step !== undefined && row.model.step > 0);
  if (stepped.length > 1) {
    const series = grouped(stepped, (row) => row.model.run ?? "").map((same) => ({ points: same.map((row) => point(row, row.model.step, `step ${whole(row.model.step)}`)) }));
    drawn.push(h("h2", {}, "Accuracy against training step"), note("One line per run; models with every column."), growth({ series, label: "training step", format: whole, narrow }));
  }
  return drawn.length ? h("section.pb-growths", {}, drawn) : null;
}

function grouped(rows, keyOf) {
  const found = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return [...found.values()];
}
