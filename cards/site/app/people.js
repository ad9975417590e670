// Correlation with people: in, the summary and a view; out, a table of corpus x method x model with intervals.

import { empty, figure, h, isolated, methodName, note, pager, pages, PAGE_ROWS, table } from "./dom.js";
import { whisker } from "./charts.js";
import { groupedBy, results, signatureOf, sortedBy } from "./results.js";
import { whole, words } from "./text.js";
import { pageOf } from "./view.js";

const NOTE =
  "Correlation over items between a method’s difference and that of the mean human judgments, good − bad. Pearson r " +
  "and Spearman’s ρ with jackknife intervals at level 0.95.";

// The rows in the view's order.
export async function correlations(site, view) {
  const all = await Promise.all(site.results.groupings.map((by) => results(site, "people", by, site.results.methods, view.draws)));
  const rows = all.flat().filter((row) => !view.within || row.corpus === view.within);
  const usual = groupedBy(["corpus", "by", "group"], "pearson");
  return sortedBy(rows, view.sort, ["corpus", "method", "model", "pearson", "spearman", "n"], usual);
}

export async function panel(bank, view, found) {
  const { site } = bank;
  const rows = await correlations(site, view);
  if (!rows.length) return nothing(site, view);
  const page = pageOf(view, found, pages(rows.length));
  const shown = rows.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  const columns = [
    { label: "Corpus", key: "corpus" },
    { label: "Method", key: "method" },
    { label: "Model", key: "model" },
    { label: "Pearson r", key: "pearson", kind: "fig" },
    { label: "", tip: "−1 to 1, with the 95% interval; the tick is no correlation" },
    { label: "Spearman’s ρ", key: "spearman", kind: "fig" },
    { label: "n", key: "n", kind: "num", tip: "Items with a score and human judgments of both sides" },
  ];
  const named = new Set(rows.map((row) => row.corpus));
  const scales = site.corpora.filter((one) => named.has(one.name) && one.human).map((one) => `${one.name}: ${one.human}`);
  return [
    table("Correlation with people", columns, shown.map(line), "pb-people", view.sort),
    pager(page, rows.length, "row"),
    note(NOTE, scales.length ? ` Judgments: ${scales.join("; ")}.` : ""),
  ];
}

function line(row) {
  const part = row.by === "all" ? null : h("small", {}, `${words(row.by)}: `, isolated(row.group));
  return h(
    "tr", {},
    h("td.c-corpus", {}, isolated(row.corpus), " ", part),
    h("td.c-method", {}, methodName(row.method)),
    h("td.c-model", {}, isolated(row.model)),
    h("td.fig.c-figure", {}, figure(row.pearson, signatureOf(row))),
    h("td.plot", {}, whisker(row.pearson, [-1, 1], 0)),
    h("td.fig.c-pooled", { "data-label": "Spearman’s ρ" }, figure(row.spearman, signatureOf(row))),
    h("td.num.c-n", {}, whole(row.n)),
  );
}

function nothing(site, view) {
  const where = view.within ? `The corpus ${view.within}` : "This bank";
  const judged = site.corpora.filter((one) => one.human).map((one) => one.name);
  const others = judged.length ? ` Corpora here with judgments: ${judged.join(", ")}.` : "";
  return empty(
    `${where} has no items with human judgments of both sides and a model's scores.`,
    `\`pairbank corpora\` lists the corpora that have them; li, dtfit and cola are some.${others}`,
  );
}
