// Reports: in, where the pages of reports are; out, a report in a frame in which nothing runs, and its tables.

import { empty, h, note } from "./dom.js";

export function panel({ site }, view) {
  const report = site.reports.find((one) => one.name === view.report) ?? site.reports[0];
  if (!report) return empty("There are no reports in this bank.", "`pairbank run` and `pairbank report` write them; add one with `pairbank bank --report`.");
  return h("article.pb-report", {}, report.page ? framed(report) : note("This report has no HTML page; write it again with `pairbank report`."), tables(report));
}

const framed = ({ name, page }) => [
  h("p", {}, h("a", { href: place(page), target: "_blank", rel: "noopener" }, "Open the report by itself")),
  h("iframe", { src: place(page), title: `Report ${name}`, sandbox: "allow-popups allow-popups-to-escape-sandbox" }),
];

function tables({ tables: paths }) {
  if (!paths.length) return null;
  const files = paths.map((path) => h("li", {}, h("a", { href: place(path), download: path.split("/").at(-1) }, path.split("/").at(-1))));
  return [h("h3", {}, "All tables as CSV"), h("ul.pb-files", {}, files)];
}

// A path of the site's own; nothing that could lead elsewhere.
const place = (path) => (/^\w[^:?#]*$/u.test(path) && !path.includes("..") ? path.split("/").map(encodeURIComponent).join("/") : null);
