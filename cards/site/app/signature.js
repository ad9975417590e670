// The signature of a number: in, its corpus, model and method; out, all that decides how it came about.

import { loaded } from "./chunks.js";
import { h, isolated, methodName, note } from "./dom.js";
import { HUMAN } from "./view.js";

function asked(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) && found.length === 3 && found.every((one) => typeof one === "string") ? found : null;
  } catch {
    return null;
  }
}

// The content of the dialog, or null where the link names what is not here.
export async function signature(bank, text) {
  const [corpus, model, method] = asked(text) ?? [];
  const facts = bank.site.corpora.find((one) => one.name === corpus);
  if (!facts) return null;
  const all = await loaded(`corpora/${facts.config}/signatures.json.gz`, (value) => value).catch(() => ({}));
  const found = Object.values(all).find((one) => one.model.name === model);
  const title = h("h2", { id: "pb-sig-title" }, "Where this number comes from");
  if (!found) {
    return [title, h("p", {}, method === HUMAN || !model ? "Mean judgments of people, as the corpus has them" : "No signature of this model", " · ", isolated(corpus)), table({ corpus, version: facts.version, licence: facts.licence, judgments: facts.human, items: facts.n_items })];
  }
  const definition = found.methods[method];
  const { line } = (await bank.corpus(corpus)).more.tables[Object.keys(all).find((slug) => all[slug] === found)] ?? {};
  const own = found.corpus;
  return [
    title,
    h("p", {}, isolated(model), method ? [" with ", methodName(method)] : "", " on ", isolated(corpus)),
    h("pre", { id: "pb-sig-line", tabindex: 0 }, line ?? ""),
    h("button.pb-button", { type: "button", "data-copy": "pb-sig-line" }, "Copy"),
    h("h3", {}, "Model"), table(found.model),
    definition ? [h("h3", {}, "Method"), table({ name: method, paper: definition.paper, sha256: definition.sha256, kind: definition.layout.kind, presentations: definition.layout.presentations?.join("; "), options: definition.layout.options?.join(" / ") })] : null,
    h("h3", {}, "Corpus"), table({ name: own.name, version: own.version, items: own.n_items, items_sha256: own.items_sha256, licence: facts.licence }),
    h("h3", {}, "Software"), table({ pairbank: found.pairbank, seed: found.seed, ...(found.versions ?? {}), ...(found.imported ?? {}) }),
    note("The parquet file’s metadata and the bank’s manifest have the same signature."),
  ];
}

function table(values) {
  const rows = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "" && typeof value !== "object");
  return h("table.pb-table.small", {}, h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name.replaceAll("_", " ")), h("td.pb-any", {}, String(value))))));
}
