// One item: in, a table and an item's id; out, everything the bank holds about it, from every model.

import { tokenBars } from "./charts.js";
import { h, isolated, marked, methodName, note, pick } from "./dom.js";
import { joined, side } from "./items.js";
import { bothMarked, count, labelOf, logprob, nats, whole, words } from "./text.js";

const FACTS = ["subset", "phenomenon", "paradigm", "language", "task", "pair_id"];
const TEXTS = ["context_good", "target_good", "context_bad", "target_bad"];
const KNOWN = new Set([...FACTS, ...TEXTS, "item_id", "corpus", "human_good", "human_bad", "human_scale", "human_n", "flags"]);
const number = (value) => (typeof value === "number" ? value : NaN);
const told = (value) => !(value === null || value === undefined || value === "" || Number.isNaN(value) || value?.length === 0);

export async function detail(bank, found, view) {
  const { table } = found;
  const position = view.item ? await table.position(view.item) : null;
  if (position === null) return h("div.pb-hint", {}, "Choose an item to read all about it.");
  const [row, others] = await Promise.all([table.row(position), table.others(position)]);
  return h(
    "article.pb-card.pb-detail", {},
    h("button.pb-close", { type: "button", ...pick("item", ""), "aria-label": "Close" }, "×"),
    h("h3", {}, isolated(row.item_id)),
    facts(table, row),
    texts(row),
    table.methods.filter((one) => one.is_prompted && row[`${one.name}_logprobs`]).map((one) => prompt(one, row, view.method, table.facts.rendered?.[one.name])),
    human(row),
    scores(table, row),
    tokens(row),
    otherModels(table, others),
    h("p.pb-note", {}, h("button.pb-link", { type: "button", ...pick("sig", JSON.stringify([table.corpus.name, table.model, ""])) }, "Signature of these scores")),
  );
}

function facts(table, row) {
  const own = [...table.corpus.more.columns.filter((name) => !KNOWN.has(name)), ...(table.facts?.own ?? [])];
  const chips = [...FACTS, ...own].filter((name) => told(row[name])).map((name) =>
    h("span", {}, h("i", {}, words(name)), " ", isolated(words(String(row[name])))));
  const flags = (row.flags ?? []).map((flag) => h("span.flag", {}, h("i", {}, "flag"), ` ${words(flag)}`));
  return h("div.pb-chips", {}, chips, flags);
}

function texts(row) {
  const language = row.language ?? "";
  const good = row.target_good, bad = row.target_bad ?? null;
  if (!good) return note("The corpus's terms forbid publishing its text; build it from your own copy to read it.");
  const before = [row.context_good ?? "", row.context_bad ?? ""];
  if (bad === null) {
    return h("div.pb-texts", {}, side("good", joined(before[0], isolated(before[0], language), isolated(good, language))));
  }
  const targets = bothMarked(good, bad), contexts = bothMarked(...before);
  return h("div.pb-texts", {}, ["good", "bad"].map((name, k) =>
    side(name, joined(before[k], marked(contexts[k], language), marked(targets[k], language)))));
}

function human(row) {
  const good = number(row.human_good), bad = number(row.human_bad);
  if (Number.isNaN(good) && Number.isNaN(bad)) return null;
  const about = [row.human_scale, row.human_n ? count(row.human_n, "rater") : ""].filter(Boolean).join(", ");
  const b = (value) => h("b", {}, logprob(value));
  return [h("h4", {}, "People"), h("p.pb-line", {}, "good ", b(good), ", bad ", b(bad), ", difference ", b(good - bad), " ", h("small", {}, about))];
}

function scores(table, row) {
  const lines = table.methods.map((method) => {
    const [good, bad, delta] = ["good", "bad", "delta"].map((end) => number(row[`${method.name}_${end}`]));
    if (Number.isNaN(good) && Number.isNaN(delta)) return null;
    const sizes = [row[`${method.name}_good_n`], row[`${method.name}_bad_n`]].filter((n) => told(n));
    const about = [method.unit, told(row[`${method.name}_good_n`]) ? `${sizes.join(" / ")} tokens` : ""].filter(Boolean).join(", ");
    const flags = (row[`${method.name}_flags`] ?? []).map((flag) => [" ", h("small.flag", {}, words(flag))]);
    const sign = delta > 0 ? "up" : delta < 0 ? "down" : "none";
    return h("tr", {}, h("td", {}, methodName(method.name), " ", h("small", {}, about), flags),
      h("td.num", {}, logprob(good)), h("td.num", {}, logprob(bad)),
      h(`td.num.${sign}`, delta && Math.abs(delta) < 0.005 ? { "data-tip": String(delta) } : {}, nats(delta)));
  }).filter(Boolean);
  if (!lines.length) return table.methods.length ? note("No method scored this item.") : null;
  const head = ["good", "bad", "Δ"].map((label) => h("th.num", { scope: "col" }, label));
  return [h("h4", {}, isolated(table.model)), h("table.pb-table.small", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "method, unit"), head)), h("tbody", {}, lines))];
}

function prompt(method, row, opened, rendered) {
  const logprobs = row[`${method.name}_logprobs`];
  const n = method.options.length;
  const asked = filledTemplates(method, row, rendered);
  const lines = method.presentations.map((name, k) => {
    const values = Array.from(logprobs.slice(k * n, (k + 1) * n));
    if (values.some(Number.isNaN)) return null; // not asked of this item, or too long for the model
    const tip = asked.has(name) ? { "data-tip": asked.get(name) } : {};
    return h("tr", {}, h("td", tip, words(name)), values.map((_, j) => option(values, j, j === method.correct[k])));
  });
  const boxed = method.correct.length ? "Boxed: the option that picks the better side. " : "";
  const shares = n > 1 ? `${boxed}%: share among these options.` : "Nats.";
  const head = h("tr", {}, h("th", { scope: "col" }, "presentation"), method.options.map((label) => h("th.num", { scope: "col" }, label)));
  const [first] = asked;
  const form = rendered?.[first?.[0]] ? "as the model read it, chat template and special tokens included" : "before any chat template";
  return h(
    "details", { open: method.name === opened },
    h("summary", {}, methodName(method.name), " ", h("small", {}, "what was asked, and option log-probabilities")),
    first ? [note(`${words(first[0])}, ${form}`), h("pre", { dir: "auto" }, first[1])] : null,
    h("div.pb-scroll", { tabindex: 0, role: "region", "aria-label": `Options of ${labelOf(method.name)}` },
      h("table.pb-table.small", {}, h("thead", {}, head), h("tbody", {}, lines))),
    note(shares),
  );
}

function option(values, k, isCorrect) {
  const odds = values.map((value) => Math.exp(value - Math.max(...values)));
  const sum = odds.reduce((a, b) => a + b, 0);
  const part = values.length > 1 ? h("small", {}, `${((100 * odds[k]) / sum).toFixed(0)}%`) : null;
  return h(isCorrect ? "td.num.right" : "td.num", {}, logprob(values[k]), part);
}

// What was asked in each presentation: as the model read it, or before any chat template; empty where it is not known.
export function filledTemplates(method, row, rendered = {}) {
  const asked = new Map();
  if (!method.prompt || !row.target_good) return asked;
  const values = slotValues(row, method.prompt.separators[row.language] ?? " ");
  const fill = (text) => text.replace(/\{(\w*)\}/g, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole));
  const tag = row.language.split("-")[0].toLowerCase();
  for (const { name, template, stem, when } of method.prompt.presentations) {
    if (!Object.entries(when).every(([column, value]) => String(row[column]) === value)) continue;
    const parts = [template, stem].map((texts) => texts["*"] ?? texts[tag] ?? "");
    const text = rendered[name]?.[row.language];
    asked.set(name, text ? fill(text) : parts.filter(Boolean).map(fill).join(method.prompt.join));
  }
  return asked;
}

function slotValues(row, space) {
  const values = {};
  for (const side of ["good", "bad"]) {
    const context = row[`context_${side}`] ?? "", target = row[`target_${side}`] ?? null;
    if (target === null) continue;
    values[side] = context ? context + space + target : target;
    values[`target_${side}`] = target;
    if (context) values[`context_${side}`] = context;
  }
  for (const part of ["context", "target"]) {
    const text = values[`${part}_good`];
    if (text !== undefined && (!("bad" in values) || text === values[`${part}_bad`])) values[part] = text;
  }
  for (const [slot, column] of [["property", "property"], ["word_good", "concept_good"], ["word_bad", "concept_bad"]]) {
    if (row[column]) values[slot] = row[column];
  }
  return values;
}

function tokens(row) {
  const [good, bad] = ["good", "bad"].map((side) => Array.from(row[`direct_${side}_tokens`] ?? []));
  if (!good.length || ![...good, ...bad].every(Number.isFinite)) return null;
  const pieces = ["good", "bad"].map((side) => piecesOf(row[`target_${side}`], row[`direct_${side}_offsets`]));
  const { chart, most } = tokenBars(good, bad, pieces);
  const longest = Math.max(good.length, bad.length);
  let highest = 0;
  for (const x of [...good, ...bad]) highest = Math.max(highest, -x);
  const more = longest > most ? ` The first ${most} of ${whole(longest)}.` : "";
  const lines = pieces.map((tokens, k) => tokens.length ? sentence(["good", "bad"][k], tokens, [good, bad][k], row[`direct_${["good", "bad"][k]}_ranks`], highest, row.language) : null);
  return [h("h4", {}, "Surprisal of each token"), lines, chart, note(`Nats, one bar per token, in the order of the text; the highest is ${highest.toFixed(1)}.${more}`)];
}

// The characters of each token; bytes of one character share it. Empty in banks that hold no places of tokens.
function piecesOf(text, offsets) {
  if (!text || !offsets?.length) return [];
  const letters = Array.from(text), found = [];
  for (let k = 1; k < offsets.length; k++) {
    const own = letters.slice(offsets[k - 1], offsets[k]).join("");
    found.push({ own, shown: own || found.at(-1)?.shown || "" });
  }
  return found;
}

// A side whose tokens can be pointed at; the darker, the more surprising.
const sentence = (name, tokens, values, ranks, highest, language) =>
  side(name, h("bdi.pb-tokenised", { lang: language || null }, tokens.map(({ own, shown }, k) =>
    own && h("span", { class: `grade-${Math.floor((-4 * values[k]) / (highest || 1))}`, "data-tip": `“${shown}”: ${logprob(values[k])} nats${ranks?.length ? `, rank ${whole(ranks[k])}` : ""}` }, own))));

function otherModels(table, others) {
  if (!others.length) return null;
  const head = h("tr", {}, h("th", { scope: "col" }, "model"), table.methods.map((one) => h("th.num", { scope: "col" }, methodName(one.name), " ", h("small", {}, one.unit))));
  const lines = others.map(({ name, values }) => h("tr", {}, h("td", {}, isolated(name)), values.map((value) => h("td.num", {}, nats(value)))));
  return [
    h("h4", {}, "Other models, Δ"),
    h("div.pb-scroll", { tabindex: 0, role: "region", "aria-label": "Other models" }, h("table.pb-table.small", {}, h("thead", {}, head), h("tbody", {}, lines))),
  ];
}
