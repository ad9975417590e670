// How to add a model: in, the commands that were filled in for this bank when the site was written; out, the page.

import { h, isolated, note } from "./dom.js";

export async function panel({ site }) {
  const { fetch, score, bank, merge, propose, own_copy: ownCopy } = site.add;
  const code = (id, lines) => h("div.pb-code", {}, h("pre", { id, tabindex: 0 }, lines.join("\n")), h("button.pb-button", { type: "button", "data-copy": id }, "Copy"));
  return h(
    "article.pb-add", {},
    h("h2", {}, "Add a model to ", isolated(site.name)),
    h("p", {}, "Score this bank’s items with its methods (both are read from the bank), make a bank of the scores, check it, and merge the two. Write the model’s name on the Hub, or its folder, in the place of ORG/MODEL."),
    propose.length ? h("p", {}, h("a", { href: `https://huggingface.co/datasets/${site.name}/discussions/new?title=Evaluate%20ORG%2FMODEL` }, "Or ask the bank’s owners to evaluate it.")) : null,
    h("h3", {}, "1. Score"), code("pb-score", [...fetch, ...score]),
    note("A run that was cut off continues where it stopped."),
    ownCopy.length ? note(`The bank has no texts of ${ownCopy.join(", ")}: they are read from your own copy of the source (--data-dir).`) : null,
    h("h3", {}, "2. Make a bank and check it"), code("pb-bank", bank),
    h("h3", {}, propose.length ? "3. Merge it and propose it" : "3. Merge it"), code("pb-propose", [...merge, ...propose]),
    note("Merging refuses other versions of a corpus, and two models of one name that differ.",
      propose.length ? " The pull request is open for the bank’s owners to read, check and merge." : " Send the merged bank to the owners of this one, who check and publish it."),
  );
}
