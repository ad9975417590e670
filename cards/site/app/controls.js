// The controls above a panel: in, a bank and a resolved view; out, what each offers, holds, and whether it is there.

import { groupsOf } from "./board.js";
import { methodOf, SIZE_LABELS } from "./grid.js";
import { partOf } from "./model.js";
import { fold, h, option } from "./dom.js";
import { labelOf, words } from "./text.js";
import { FILTERS, HUMAN, MEASURES, referenceOf, ROW_TABS, singleModel } from "./view.js";

// Field of the view -> what the control is called, in the order of the page.
const LABELS = {
  across: "One column per", within: "Corpus", by: "Broken down by", group: "Group", task: "Task", bmethod: "Method", bmodel: "Model", draws: "Intervals for",
  family: "Family", size: "Size", type: "Type", report: "Report",
  corpus: "Corpus", model: "Model", method: "Method", against: "Against model", versus: "Against", measure: "Measure",
  subset: "Subset", phenomenon: "Phenomenon", language: "Language", show: "Which items", q: "Search the text",
};

const FEW_MODELS = 10; // more, and a model can be searched for

const all = (label, values) => [[label, ""], ...values.map((value) => [words(value), value])];
const labelled = (name) => [labelOf(name), name];

// Field -> choices [label, value]; a control with no choice is not there.
async function choicesOf(bank, view, found) {
  const { site } = bank;
  if (ROW_TABS.includes(view.tab)) return rowChoices(bank, view, found);
  if (view.tab === "reports") return { report: site.reports.map((one) => [one.name, one.name]) };
  const corpora = site.corpora.map((one) => one.name);
  const within = corpora.length > 1 ? all("All corpora", corpora) : [];
  const draws = site.results.nested ? [["these paradigms", ""], ["paradigms like these", "paradigms"]] : [];
  if (view.tab === "people") return { within, draws };
  if (view.tab === "leaderboard") return { ...(await listChoices(site, view)), within, draws };
  if (view.tab !== "grid") return {};
  if (singleModel(site)) return modelChoices(site, draws);
  const methods = site.results.methods.filter((name) => name !== HUMAN);
  const declared = (name) => [...new Set(site.models.map((one) => one[name] ?? "undeclared"))].sort();
  const sizes = site.models.some((one) => one.size) ? [["Any size", ""], ...Object.entries(SIZE_LABELS).map(([value, label]) => [label, value])] : [];
  return {
    across: ["corpus", "method", ...site.results.groupings.slice(1)].map((name) => [words(name), name]),
    within: view.across === "method" ? corpora.map((name) => [name, name]) : within,
    draws,
    bmethod: view.across === "method" ? [] : methods.map(labelled),
    family: declared("family").length > 1 ? all("All families", declared("family")) : [],
    type: declared("type").length > 1 ? all("Any type", declared("type")) : [],
    size: sizes,
  };
}

function modelChoices({ corpora, results }, draws) {
  const names = (all) => all.map((name) => [name, name]);
  return {
    within: names(corpora.filter((one) => one.n_models).map((one) => one.name)),
    by: results.groupings.slice(1).map((name) => [words(name), name]),
    bmethod: results.methods.filter((name) => name !== HUMAN).map(labelled),
    draws,
  };
}

async function listChoices(site, view) {
  const tasks = [...new Set(site.corpora.flatMap((one) => one.tasks))].sort();
  return {
    by: site.results.groupings.map((name) => [name === "all" ? "whole corpus" : words(name), name]),
    group: view.by === "all" ? [] : all("All groups", await groupsOf(site, view)),
    task: site.corpora.length > 1 && tasks.length > 1 ? all("Any task", tasks) : [],
    bmethod: [["All methods", ""], ...site.results.methods.map(labelled)],
    bmodel: [["All models", ""], ...site.models.map((one) => [one.name, one.name])],
  };
}

async function rowChoices(bank, view, { table, corpus }) {
  const axes = table.axes();
  const methods = axes.filter((name) => name !== HUMAN);
  const named = (slugs) => slugs.map((slug) => [corpus.nameOf(slug), slug]);
  const isDuel = view.tab === "versus";
  const choices = {
    corpus: bank.site.corpora.map((one) => [one.name, one.name]),
    model: named(corpus.slugs()),
    method: methods.map(labelled),
    show: shown(axes, view.method),
    ...Object.fromEntries(FILTERS.map((name) => [name, filter(table, name)])),
  };
  if (isDuel) {
    choices.against = named(corpus.slugs());
    const other = view.against === view.model || !view.against ? table : await bank.table(corpus, view.against);
    choices.versus = other.axes().filter((name) => name !== HUMAN).map(labelled);
  }
  if (view.tab === "compare") choices.versus = axes.filter((name) => name !== view.method).map(labelled);
  if (view.tab === "agreement") choices.measure = Object.entries(MEASURES).map(([name, label]) => [label, name]);
  if (["all", "any"].includes(view.show) && !["compare", "items", "versus"].includes(view.tab)) delete choices.method;
  return choices;
}

function filter(table, name) {
  const values = table.valuesOf(name);
  return values.length > 1 ? all(name === "phenomenon" ? "All phenomena" : `All ${name}s`, values) : [];
}

function shown(axes, method) {
  const found = [["All items", "all"]];
  if (!method) return found;
  const reference = referenceOf(axes);
  if (reference && method !== reference) found.push([`Method and ${labelOf(reference)} disagree`, "direct"]);
  if (axes.filter((name) => name !== HUMAN).length > 2) found.push(["Any two methods disagree", "any"]);
  found.push(["Method is wrong", "wrong"]);
  if (axes.includes(HUMAN)) found.push(["Method and people disagree", "people"]);
  return found;
}

// The bar of controls, made once; `changed(field, value)` hears of each change, `isTyped()` says whether a search goes on.
export function controlBar(bar, changed, isTyped) {
  const fields = {}, content = h("div.pb-fields", { id: "pb-fields" }), button = fold("Filters", content);
  bar.append(button, content);
  for (const [name, label] of Object.entries(LABELS)) {
    const control = name === "q"
      ? h("input", { type: "search", id: "pb-q", placeholder: "a word, or an item’s id", maxlength: 200, autocomplete: "off" })
      : h("select", { id: `pb-${name}` });
    control.addEventListener(name === "q" ? "input" : "change", () => changed(name, control.value));
    fields[name] = { control, field: h("div.pb-field", { hidden: true }, h("label", { for: control.id }, label), control), held: "" };
    content.append(fields[name].field);
  }
  return async (bank, view, found) => {
    const choices = await choicesOf(bank, view, found);
    const values = { ...view, bmethod: view.tab === "grid" ? methodOf(bank.site, view) : view.bmethod };
    if (view.tab === "grid" && view.across === "method") values.within ||= bank.site.corpora[0].name;
    if (view.tab === "grid" && singleModel(bank.site)) Object.assign(values, partOf(bank.site, view));
    return () => {
      const set = [];
      for (const [name, { control, field }] of Object.entries(fields)) {
        if (name === "q") {
          const isBoard = view.tab === "grid" && !singleModel(bank.site) && bank.site.models.length > FEW_MODELS;
          field.hidden = !isBoard && !ROW_TABS.includes(view.tab);
          control.placeholder = isBoard ? "a model’s name" : "a word, or an item’s id";
          // Never while it is typed in: an answer to the first letters would overwrite the next ones.
          if (document.activeElement !== control || !isTyped()) control.value = view.q;
          if (!field.hidden && view.q) set.push(`“${view.q}”`);
          continue;
        }
        const offered = choices[name] ?? [];
        field.hidden = offered.length < 2;
        const held = JSON.stringify(offered);
        if (fields[name].held !== held) control.replaceChildren(...offered.map(([label, value]) => option(value, label, false)));
        fields[name].held = held;
        control.value = values[name];
        if (offered.length > 1 && control.selectedIndex > 0) set.push(control.selectedOptions[0].text);
      }
      button.textContent = set.length ? `Filters: ${set.join(" · ")}` : "Filters";
    };
  };
}
