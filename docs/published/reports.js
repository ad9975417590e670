// Reports: in, a tree of elements made when the site was written; out, the report as a page.

import { loaded } from "./chunks.js";
import { empty, h, pick } from "./dom.js";

const TAGS = new Set("a blockquote br code em h1 h2 h3 h4 h5 h6 hr img li ol p pre s strong table tbody td th thead tr ul".split(" "));

export async function panel(bank, view) {
  const report = reportOf(bank, view);
  if (!report) return empty("There are no reports in this bank.", "`pairbank run` and `pairbank report` write them; add one with `pairbank bank --report`.");
  const tree = await treeOf(bank, view);
  const back = view.part && !leadsTo(tree, "") ? h("p", {}, linked({ page: "" }, "Back to the report")) : null;
  return h("article.pb-report", {}, back, tree.map(built), tables(report, view.part));
}

const reportOf = ({ site }, view) => site.reports.find((one) => one.name === view.report) ?? site.reports[0];
const treeOf = async (bank, view) => {
  const report = reportOf(bank, view);
  return report ? loaded(report.pages[view.part] ?? report.path, (value) => value) : [];
};

// The tables that belong to a page, to be saved: all of them on the first one.
function tables(report, part) {
  const id = part.split("/").at(-1);
  const found = report.tables.filter((path) => {
    const name = path.split("/").at(-1);
    return !part || name === `${id}.csv` || name.startsWith(`${id}_`);
  });
  if (!found.length) return null;
  return [h("h3", {}, part ? "Tables of this page as CSV" : "All tables as CSV"), h("ul.pb-files", {}, found.map((path) => h("li", {}, file(path, [path.split("/").at(-1)]))))];
}

// The content of the dialog: the figure that a view asks for, as large as it was drawn; null where its page has none such.
export async function figure(bank, view) {
  const found = figures(await treeOf(bank, view)).find(([, { src }]) => src === view.figure);
  const path = found && place(found[1].src);
  if (!path) return null;
  const [, { alt }] = found;
  return [
    h("h2", { id: "pb-sig-title" }, "Figure"),
    h("div.pb-scroll.pb-large", { tabindex: 0, role: "region", "aria-label": "The figure, as large as it was drawn" }, h("img", { src: path, alt: alt ?? "" })),
    h("p", {}, file(found[1].src, ["Save it as PNG"])),
  ];
}

const figures = (tree) => tree.flatMap((part) => (typeof part === "string" ? [] : part[0] === "img" ? [part] : figures(part[2])));

const file = (path, children) => h("a", { href: place(path), download: path.split("/").at(-1) }, children);

// A text, or [tag, attributes, children]; the only attributes are where a link leads and where a figure is.
function built(part) {
  if (typeof part === "string") return part;
  const [tag, { src, alt, align }, children] = part;
  const name = TAGS.has(tag) ? tag : "p";
  if (name === "img") {
    if (!src || !place(src)) return alt ?? "";
    return h("button.pb-drawn", { type: "button", ...pick("figure", src), "aria-label": `Enlarge. ${alt ?? ""}` }, h("img", { src: place(src), alt: alt ?? "", loading: "lazy" }));
  }
  if (name === "a") return linked(part[1], children.map(built));
  if (name === "table") return h("div.pb-scroll", { tabindex: 0, role: "region", "aria-label": "Table" }, h("table.pb-table.small", {}, children.map(built)));
  // The page has a heading of its own above the report's.
  const level = /^h[1-6]$/.test(name) ? `h${Math.min(6, Number(name[1]) + 1)}` : name;
  return h(level, { class: align === "right" ? "num" : null }, children.map(built));
}

const leadsTo = (tree, page) => tree.some((part) => typeof part !== "string" && (part[1].page === page || leadsTo(part[2], page)));

// Another page of the report, another site, a file of the report to be saved; else the text alone.
function linked({ href, page }, children) {
  if (page !== undefined) return h("button.pb-link", { type: "button", ...pick("part", page) }, children);
  if (/^https?:/.test(href ?? "")) return h("a", { href, rel: "noopener noreferrer" }, children);
  return href && place(href) ? file(href, children) : h("span", {}, children);
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
