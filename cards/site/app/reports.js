// Reports: in, a tree of elements made when the site was written; out, the report as a page.

import { loaded } from "./chunks.js";
import { empty, h } from "./dom.js";

const TAGS = new Set("a blockquote br code em h1 h2 h3 h4 h5 h6 hr img li ol p pre s strong table tbody td th thead tr ul".split(" "));

export async function panel(bank, view) {
  const { site } = bank;
  const report = site.reports.find((one) => one.name === view.report) ?? site.reports[0];
  if (!report) return empty("There are no reports in this bank.", "`pairbank run` and `pairbank report` write them; add one with `pairbank bank --report`.");
  const tree = await loaded(report.path, (value) => value);
  return h("article.pb-report", {}, tree.map(built));
}

// A text, or [tag, attributes, children]; the only attributes are where a link leads and where a figure is.
function built(part) {
  if (typeof part === "string") return part;
  const [tag, { href, src, alt, align }, children] = part;
  const name = TAGS.has(tag) ? tag : "p";
  if (name === "img") return src ? h("img", { src: place(src), alt: alt ?? "", loading: "lazy" }) : alt ?? "";
  if (name === "a") return href && (/^https?:/.test(href) || place(href)) ? h("a", { href: /^https?:/.test(href) ? href : place(href), rel: "noopener noreferrer" }, children.map(built)) : h("span", {}, children.map(built));
  if (name === "table") return h("div.pb-scroll", { tabindex: 0, role: "region", "aria-label": "Table" }, h("table.pb-table.small", {}, children.map(built)));
  // The page has a heading of its own above the report's.
  const level = /^h[1-6]$/.test(name) ? `h${Math.min(6, Number(name[1]) + 1)}` : name;
  return h(level, { class: align === "right" ? "num" : null }, children.map(built));
}

// A path of the site's own; nothing that could lead elsewhere.
const place = (path) => (/^[\w][^:?#]*$/u.test(path) && !path.includes("..") ? path.split("/").map((part) => encodeURIComponent(decoded(part))).join("/") : null);

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
