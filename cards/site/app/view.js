// What is being looked at, and its permalink: in, the query of a URL; out, a view, and back.

import { count, whole } from "./text.js";

export const TABS = {
  grid: "Leaderboard",
  leaderboard: "All results",
  compare: "Direct vs prompted",
  versus: "Head to head",
  items: "Items",
  agreement: "Agreement",
  people: "People",
  reports: "Reports",
  download: "Download",
  add: "Add a model",
};
export const LISTS = ["grid", "leaderboard", "items", "people"]; // tabs whose rows stand on pages
export const ROW_TABS = ["compare", "versus", "items", "agreement", "download"];
const BOARD_FIELDS = ["within", "by", "group", "task", "bmodel", "bmethod", "across", "draws", "family", "type", "size", "sig"];
export const SHOWN = ["all", "direct", "any", "wrong", "people"];
export const MEASURES = { pearson: "Pearson r", kappa: "Cohen’s κ", raw_agreement: "Same choice" };
export const FILTERS = ["subset", "phenomenon", "language"];
export const HUMAN = "human";
// The method that others are compared with by probability: `direct`, else log P of the strings as another tool scored
// them; as `reference_of` in pairbank.scoring.api.names.
export const DIRECT = "direct";
const SCORED_ELSEWHERE = /^(?!direct_wb$)(direct|logprob)_./;
export const referenceOf = (names) => (names.includes(DIRECT) ? DIRECT : names.find((name) => SCORED_ELSEWHERE.test(name)) ?? "");
const LONGEST = 500;

export const DEFAULTS = {
  tab: "leaderboard", corpus: "", model: "", method: "", versus: "", against: "", subset: "", phenomenon: "", language: "",
  q: "", show: "all", sort: "", page: 1, item: "", cell: "", within: "", by: "all", group: "", task: "",
  measure: "pearson", bmodel: "", bmethod: "", across: "corpus", draws: "", family: "", type: "", size: "", report: "", sig: "",
};

// The view of a link; keys that are not ours are left alone. A bare address opens the leaderboard.
export function fromQuery(query) {
  const view = { ...DEFAULTS };
  let any = false;
  for (const [key, value] of new URLSearchParams(query)) {
    if (!(key in DEFAULTS) || !value) continue;
    any = true;
    if (key === "page" && /^[1-9]\d{0,14}$/.test(value)) view.page = Number(value);
    else view[key] = Array.from(value).slice(0, key === "sig" ? 4 * LONGEST : LONGEST).join("");
  }
  return any ? view : { ...view, tab: "grid" };
}

// The permalink's query: what differs from the defaults.
export function toQuery(view) {
  const query = new URLSearchParams();
  for (const [key, usual] of Object.entries(DEFAULTS)) {
    if (view[key] !== usual) query.set(key, view[key]);
  }
  if (query.size === 1 && view.tab === "grid") return "";
  // So that a link to the list with nothing chosen does not open what a bare address does.
  if (!query.size) query.set("tab", view.tab);
  return `?${query}`;
}

// The model that a bank is about, where it has only one besides those with random weights; else null.
export function singleModel(site) {
  const models = site.models.filter((model) => !model.random);
  return models.length === 1 ? models[0] : null;
}

// The tabs that the bank has something for, and the one that a link asks for.
export function tabsOf({ models, corpora, results, reports }, asked) {
  const people = Object.keys(results.people).length > 0;
  const most = Math.max(0, ...corpora.map((one) => one.methods.length));
  const has = { compare: most + people > 1, versus: models.length > 1 || most > 1, agreement: most + people > 1, people, reports: reports.length > 0 };
  return Object.keys(TABS).filter((name) => name === asked || (has[name] ?? true));
}

export const tabLabel = (tab, site) => (tab === "grid" && singleModel(site) ? "Model" : TABS[tab]);

// The page of a list that a view asks for. One that the list has not becomes the last, and the reader learns why.
export function pageOf(view, found, n) {
  if (view.page <= n) return view.page;
  found.notices.push(`This link asks for page ${whole(view.page)}, but the list has ${count(n, "page")}; showing page ${n}.`);
  view.page = n;
  return n;
}

// The view after a change of the user's: back on page 1, and nothing selected that is gone.
export function having(view, changes) {
  const keys = Object.keys(changes);
  const has = (...names) => names.some((name) => keys.includes(name));
  let forgotten = {};
  if (keys.some((key) => !["item", "cell", "page", "sig"].includes(key))) forgotten = { page: 1, cell: "" };
  if (has("tab", "corpus", "across")) forgotten = { ...forgotten, sort: "" };
  if (has("tab") && [view.tab, changes.tab].includes("grid")) forgotten = { ...forgotten, q: "" }; // there it is of models
  if (has("tab")) forgotten = { ...forgotten, sig: "" };
  // Two models are compared by one method until somebody says otherwise, whatever was beside it on another page.
  if (has("tab") && [view.tab, changes.tab].includes("versus") && view.tab !== changes.tab) forgotten = { ...forgotten, versus: "" };
  if (has("corpus")) forgotten = { ...forgotten, item: "", subset: "", phenomenon: "", language: "", against: "" };
  if (has("by")) forgotten = { ...forgotten, group: "" };
  return { ...view, ...forgotten, ...changes };
}

// The view with every empty or unknown name replaced by the nearest default, and what had to be.
export function resolvedBoard(site, view) {
  const names = new Names(view);
  names.oneOf("tab", Object.keys(TABS), "grid");
  names.oneOf("within", ["", ...site.corpora.map((one) => one.name)], "");
  names.oneOf("by", site.results.groupings, "all");
  names.oneOf("across", ["corpus", "method", ...site.results.groupings.slice(1)], "corpus");
  names.oneOf("draws", site.results.nested ? ["", "paradigms"] : [""], "");
  const methods = site.results.methods;
  names.oneOf("bmethod", ["", ...methods], "");
  names.oneOf("bmodel", ["", ...site.models.map((one) => one.name)], "");
  names.oneOf("report", ["", ...site.reports.map((one) => one.name)], site.reports[0]?.name ?? "");
  names.page();
  return names;
}

// The corpus that a view of rows starts with: one on which two methods can be compared, where there is one.
function firstCorpus(site) {
  const several = site.corpora.filter((one) => one.methods.length > 1);
  return (several.find((one) => referenceOf(one.methods)) ?? several[0] ?? site.corpora[0]).name;
}

export async function resolvedRows(bank, view) {
  const names = new Names(view);
  const corpora = bank.site.corpora.map((one) => one.name);
  const corpus = await bank.corpus(names.oneOf("corpus", corpora, firstCorpus(bank.site)));
  const slugs = corpus.slugs();
  const slug = names.oneOf("model", slugs, slugs[0] ?? "");
  const table = await bank.table(corpus, slug);
  const axes = table.axes();
  const methods = axes.filter((name) => name !== HUMAN);
  const method = names.oneOf("method", methods, mainMethod(table, methods, view.tab));
  if (view.tab === "versus") {
    const others = slugs.filter((one) => one !== slug);
    names.oneOf("against", slugs, others[0] ?? slug);
    names.oneOf("versus", methods, names.chosen.against === slug ? methods.find((one) => one !== method) ?? method : method);
  } else {
    names.oneOf("versus", axes, [referenceOf(axes), HUMAN, ...axes].find((one) => axes.includes(one) && one !== method) ?? "");
  }
  names.oneOf("show", SHOWN, "all");
  names.oneOf("measure", Object.keys(MEASURES), "pearson");
  for (const name of FILTERS) names.oneOf(name, ["", ...table.valuesOf(name)], "");
  names.page();
  if (view.item && (await table.position(view.item)) === null) {
    names.notices.push(`There is no item “${view.item}” in ${names.chosen.corpus}.`);
    names.chosen.item = "";
  }
  return { view: names.view(), notices: names.notices, table, corpus };
}

function mainMethod(table, methods, tab) {
  const prompted = methods.filter((name) => table.method(name).is_prompted);
  return (tab === "versus" ? methods : [...prompted, ...methods])[0] ?? "";
}

class Names {
  constructor(view) {
    this.asked = view;
    this.chosen = {};
    this.notices = [];
  }

  oneOf(name, known, usual) {
    const value = this.asked[name];
    if (value && !known.includes(value)) {
      this.notices.push(`This link asks for ${name} “${value}”, which is not here; showing ${usual || "all"} instead.`);
    }
    this.chosen[name] = known.includes(value) ? value : usual;
    return this.chosen[name];
  }

  // A page that is no number, or of a tab without pages.
  page() {
    const { page, tab } = { ...this.asked, ...this.chosen };
    const hasPages = LISTS.includes(tab);
    if (page === 1 || (hasPages && typeof page === "number")) return;
    this.notices.push(hasPages ? `This link asks for page “${page}”, which is not a page number; showing page 1.` : `This link asks for page “${page}”, but this tab has one page.`);
    this.chosen.page = 1;
  }

  view() {
    return { ...this.asked, ...this.chosen };
  }
}

// The permalink: what the view's tab looks at, without what the bank's defaults say anyway.
export async function link(bank, view) {
  if (!ROW_TABS.includes(view.tab)) {
    const kept = { ...DEFAULTS };
    if (view.tab === "grid") kept.q = view.q;
    for (const name of ["tab", "sort", "page", "report", ...BOARD_FIELDS]) kept[name] = view[name];
    if (view.tab !== "reports") kept.report = "";
    return toQuery(kept);
  }
  const plain = (await resolvedRows(bank, { ...DEFAULTS, tab: view.tab, corpus: view.corpus })).view;
  const dropped = {};
  for (const name of ["model", "method", "versus", "against"]) {
    if (view[name] === plain[name]) dropped[name] = "";
  }
  if (view.tab !== "versus") dropped.against = "";
  if (view.corpus === firstCorpus(bank.site)) dropped.corpus = "";
  for (const name of ["report", ...BOARD_FIELDS]) dropped[name] = DEFAULTS[name];
  return toQuery({ ...view, ...dropped });
}
