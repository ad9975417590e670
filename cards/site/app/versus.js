// Head to head: in, a corpus and two of its models and methods; out, the paired test, a plot and the items they differ on.

import { counts, halfGains } from "./agreement.js";
import { axisOf } from "./charts.js";
import { plotOf, selected, shared, split, titleOf } from "./compare.js";
import { empty, h, isolated, methodName, note } from "./dom.js";
import { measured } from "./items.js";
import { compare } from "./statistics.js";
import { count, labelOf, pValue, share, whole } from "./text.js";

export async function panel(bank, view, { table, corpus }) {
  if (!view.method || !view.versus || !view.model) {
    return empty("There is nothing to compare here.", "Score the corpus with a model, or choose another one.");
  }
  const sameModel = view.against === view.model;
  if (sameModel && view.method === view.versus) {
    return empty("A model with one method is compared with itself.", "Choose another model, or another method, on the other side.");
  }
  const other = sameModel ? table : await bank.table(corpus, view.against);
  const [a, theirs, earnedA, earnedTheirs] = await Promise.all([
    table.delta(view.method), other.delta(view.versus), table.credit(view.method), other.credit(view.versus)]);
  const of = (values) => (sameModel ? values : aligned(table, other, values));
  const [b, earnedB] = [of(theirs), of(earnedTheirs)];
  const found = await shared(table, view, b, a);
  const names = labels(view, table, other);
  if (!found.rows.length) {
    return empty(`No item has both ${names[0]} and ${names[1]} under these filters.`, "Choose another method, or widen the filters.");
  }
  const biased = [[table, view.method], [other, view.versus]].filter(([one, method]) => one.biased(method));
  const [first, second] = [earnedA, earnedB].map((values) => Float64Array.from(found.rows, (row) => values[row]));
  const test = compare(first, second);
  const unit = (one, name, method) => `${measured(one, method)}${name} (${one.unit(method)})`;
  const plot = {
    names: [names[1], names[0]],
    axes: [axisOf(unit(other, names[1], view.versus), found.x), axisOf(unit(table, names[0], view.method), found.y)],
    corners: table.oneSided ? [] : ["both right", "only the first", "only the second", "both wrong"],
  };
  const title = table.oneSided ? titleOf(found) : biased.length ? "Not compared: position bias" : verdict(test, names);
  const subject = h("p.pb-sub", {}, "First: ", ...side(table, view.method), ". Second: ", ...side(other, view.versus), `. ${count(found.rows.length, "item")} that both have.`);
  const more = table.oneSided ? null : biased.length ? [
    note(biased.map(([one]) => one.model).join(" and "), " picks the same option in 95% of the presentations or more, so that its accuracy is near one half whatever it knows. The plot shows degrees of certainty, not answers."),
  ] : [
    results(test, names),
    counts(["first", "second"], found.y, found.x, [h("span", {}, "first"), h("span", {}, "second")]),
    note("Accuracy is by the definition of each method’s paper; ties count one half. ", halfGains(test, "the first", "the second"), " The interval of the difference is an adjusted Wald interval for pairs. One comparison: looking at many needs a correction, as the leaderboard’s ranks have. Differences (good − bad) of the two: ", titleOf(found), "."),
  ];
  return split(title, subject, await plotOf(table, view, found, plot), await selected(table, view, found, plot), view, more);
}

// The other table's differences in the order of this one's rows.
function aligned(table, other, values) {
  if (!table.places && !other.places) return values;
  const rowOf = new Map();
  for (let i = 0; i < other.nRows; i++) rowOf.set(other.place(i), i);
  return Float64Array.from({ length: table.nRows }, (_, i) => values[rowOf.get(table.place(i))] ?? NaN);
}

function labels(view, table, other) {
  if (view.model === view.against) return [labelOf(view.method), labelOf(view.versus)];
  if (view.method === view.versus) return [table.model, other.model];
  return [`${table.model}, ${labelOf(view.method)}`, `${other.model}, ${labelOf(view.versus)}`];
}

const side = (table, method) => [isolated(table.model), " with ", methodName(method)];

function verdict(test, names) {
  if (!Number.isFinite(test.exact)) return "No item is right for one and wrong for the other";
  if (test.exact >= 0.05) return `These items do not tell them apart (${pValue(test.exact)})`;
  return `${test.difference.value > 0 ? names[0] : names[1]} is right more often (${pValue(test.exact)})`;
}

function results(test, names) {
  const { difference } = test;
  const line = (label, value, why = "") => h("tr", {}, h("td.label", {}, label), h("td.num", {}, value), h("td", {}, h("small", {}, why)));
  return h("table.pb-table.small.pb-test", {}, h("tbody", {},
    line(["Accuracy of ", isolated(names[0])], h("b", {}, share(test.accuracyA, 3))),
    line(["Accuracy of ", isolated(names[1])], h("b", {}, share(test.accuracyB, 3))),
    line("Difference", [h("b", {}, share(difference.value, 3)), ` [${share(difference.low, 3)}, ${share(difference.high, 3)}]`], "95% interval"),
    line("McNemar’s test, exact", pValue(test.exact), test.halfA + test.halfB ? "over whole and half gains" : ""),
    line("the same, mid-p", pValue(test.mid)),
    line("Detectable difference", share(test.detectable, 3), "that so many items would show with power 0.80"),
  ));
}

