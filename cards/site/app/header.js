// The page's head and tabs: in, the site's manifest; out, what the bank is, its versions and signatures, how to cite it.

import { loaded } from "./chunks.js";
import { fold, h, isolated, pick } from "./dom.js";
import { count } from "./text.js";
import { referenceOf, tabLabel, tabsOf } from "./view.js";

export function header(site) {
  const items = site.corpora.reduce((sum, one) => sum + one.n_items, 0);
  const nulls = site.models.filter((model) => model.random).length;
  const sizes = [count(items, "item"), count(site.corpora.length, "corpus", "corpora"), count(site.models.length - nulls, "model"),
    nulls ? count(nulls, "null model") : "", count(site.n_methods, "method")].filter(Boolean);
  const head = h("header.pb-head", { id: "pb-about" });
  head.append(
    h("div", {},
      h("div.pb-top", {}, h("p.pb-brand", {}, "pairbank"), fold("About this bank", head)),
      h("h1", {}, isolated(site.title)),
      site.authors.length ? h("p.pb-authors", {}, site.authors.flatMap((name, k) => [k ? ", " : "", isolated(name)])) : null,
      lead(site),
      h("p.pb-sizes", {}, sizes.join(" · ")),
      problems(site.problems ?? [])),
    h("div.pb-about", {},
      h("p.pb-note", {}, "Bank ", h("code", {}, site.revision.slice(0, 12)), `, written by pairbank ${site.pairbank}`),
      versions(site),
      h("details", {}, h("summary", {}, "How to cite"), h("div.pb-open", {},
        h("p", {}, "Cite the bank’s revision above, pairbank, and the corpora and methods that you use."),
        h("pre", { id: "pb-bibtex", tabindex: 0 }, site.bibtex),
        h("button.pb-button", { type: "button", "data-copy": "pb-bibtex" }, "Copy BibTeX"))),
      h("button.pb-button", { type: "button", "data-copy": "link" }, "Copy link to this view")),
  );
  return head;
}

// What the bank has: of direct and prompted scores, and of people's judgments.
function lead(site) {
  const direct = referenceOf(site.methods) ? [h("b", {}, "directly"), " (the log-probability of a string)"] : [];
  const prompted = site.prompted ? [h("b", {}, "when prompted"), direct.length ? " (of an answer to a question)" : " (an answer to a question)"] : [];
  const people = Object.keys(site.results.people).length ? ", beside what people say" : "";
  return h("p.pb-lead", {}, "What language models say about linguistic judgment items", direct.length || prompted.length ? ", " : "", direct, direct.length && prompted.length ? " and " : "", prompted, people, ".");
}

// What is wrong with a bank that is not whole.
function problems(lines) {
  if (!lines.length) return null;
  return h("details.pb-notice", { open: true }, h("summary", {}, "This bank is not whole: do not rely on its numbers"), h("ul", {}, lines.map((line) => h("li", {}, isolated(line)))));
}

// The signatures are read when they are asked for.
function versions(site) {
  const scored = h("ul");
  const corpora = site.corpora.map((one) => h("li", {}, h("b", {}, isolated(one.name)), `${one.version ? ` ${one.version}` : ""}, ${count(one.n_items, "item")}, licence: ${one.licence}${one.texts_left_out ? "; texts left out" : ""}`));
  const element = h("details", {}, h("summary", {}, "Versions and signatures"), h("div.pb-open", {}, h("h4", {}, "Corpora"), h("ul", {}, corpora), site.models.length ? h("h4", {}, "Scores") : null, scored));
  element.addEventListener("toggle", async () => {
    if (!element.open || scored.children.length) return;
    for (const one of site.corpora.filter((facts) => facts.n_models)) {
      const { tables } = await loaded(`corpora/${one.config}/corpus.json.gz`, (value) => value);
      scored.append(...Object.values(tables).map((facts) => h("li", {}, h("code", {}, facts.line ?? facts.problem))));
    }
  });
  return element;
}

// The tabs; arrow keys move between them.
export function navigation(view, site) {
  const tabs = tabsOf(site, view.tab).map((name) => {
    const on = name === view.tab;
    return h("button", { type: "button", role: "tab", id: `pb-tab-${name}`, "aria-selected": String(on), "aria-controls": "pb-main", tabindex: on ? 0 : -1, ...pick("tab", name) }, tabLabel(name, site));
  });
  return h("nav", { "aria-label": "Pages" }, h("div.pb-tabs", { role: "tablist", "aria-label": "Pages" }, tabs));
}
