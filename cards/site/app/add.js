// How to add a model: in, the site's manifest; out, the commands, filled in for this bank.

import { h, isolated, note } from "./dom.js";
import { HUMAN } from "./view.js";

const isHub = (name) => /^[\w.-]+\/[\w.-]+$/.test(name) && !name.startsWith(".");
const quoted = (text) => (/^[\w./@=:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// The commands that score this bank's corpora with a model and propose the result.
export function commands(site) {
  const methods = site.results.methods.filter((name) => name !== HUMAN).map((name) => `-m ${quoted(name)}`).join(" ");
  const corpora = site.corpora.filter((one) => one.n_models || !site.models.length);
  const files = corpora.map((one) => `${one.config}.parquet`);
  const score = corpora.map((one, k) => `pairbank score ${quoted(one.name)} --model ORG/MODEL ${methods} --out ${quoted(files[k])}`);
  const bank = `pairbank bank ${files.map(quoted).join(" ")} --out my-bank`;
  const hub = isHub(site.name) ? site.name : "ORG/NAME";
  return { score, bank, check: "pairbank check my-bank", merge: `pairbank merge ${quoted(hub)} my-bank --out merged`, propose: `hf upload ${quoted(hub)} merged . --repo-type dataset --create-pr`, hub };
}

export async function panel({ site }) {
  const { score, bank, check, merge, propose, hub } = commands(site);
  const code = (id, lines) => h("div.pb-code", {}, h("pre", { id, tabindex: 0 }, lines.join("\n")), h("button.pb-button", { type: "button", "data-copy": id }, "Copy"));
  return h(
    "article.pb-add", {},
    h("h2", {}, "Add a model to ", isolated(hub === "ORG/NAME" ? "this bank" : hub)),
    h("p", {}, "Score the bank’s corpora with the methods that it has, make a bank of it, check that, and propose it as a pull request. Write the model’s name on the Hub, or its folder, in the place of ORG/MODEL."),
    h("h3", {}, "1. Score"), code("pb-score", score),
    note("A run that was cut off continues where it stopped. The texts of corpora whose terms forbid to publish them are read from your own copy: add --data-dir."),
    h("h3", {}, "2. Make a bank and check it"), code("pb-bank", [bank, check]),
    h("h3", {}, "3. Merge it and propose it"), code("pb-propose", [merge, "pairbank check merged", propose]),
    note("Merging refuses other versions of a corpus, and two models of one name that differ. The pull request is open for the bank’s owners to read, check and merge."),
  );
}
