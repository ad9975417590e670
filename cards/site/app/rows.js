// Which rows: in, a table and a view; out, those that its filters keep, and their order.

import { loaded } from "./chunks.js";
import { sign } from "./statistics.js";
import { FILTERS, HUMAN, referenceOf } from "./view.js";

export const TEXTS = ["context_good", "target_good", "context_bad", "target_bad"];

// Which rows the view's filters keep, one byte a row.
export async function chosen(table, view) {
  return table.once(chosenKey(view), () => keptBy(table, view));
}

export const chosenKey = (view) => JSON.stringify([view.q, view.show, view.show === "all" ? "" : view.method, ...FILTERS.map((name) => view[name])]);

async function keptBy(table, view) {
  const keep = new Uint8Array(table.nRows).fill(1);
  for (const name of FILTERS) {
    if (!view[name]) continue;
    const column = table.corpus.filters[name];
    if (column?.kind === "codes") {
      const code = column.values.indexOf(view[name]);
      for (let i = 0; i < keep.length; i++) if (column.codes[table.place(i)] !== code) keep[i] = 0;
    } else {
      for (let i = 0; i < keep.length; i++) if (column?.at(table.place(i)) !== view[name]) keep[i] = 0;
    }
  }
  if (view.q) and(keep, await containing(table, view.q));
  if (view.show !== "all") and(keep, await ofKind(table, view));
  return keep;
}

function and(keep, other) {
  for (let i = 0; i < keep.length; i++) keep[i] &= other[i];
}

// The rows whose id or texts contain a string, whatever the case. All texts are read for it, once.
export async function containing(table, text) {
  const wanted = text.toLowerCase();
  const hay = await haystack(table);
  const found = new Uint8Array(table.nRows);
  for (let i = 0; i < found.length; i++) found[i] = hay[table.place(i)].includes(wanted) ? 1 : 0;
  return found;
}

function haystack(table) {
  const { corpus } = table;
  corpus.more.haystack ??= (async () => {
    const ids = await table.ids();
    const hay = new Array(ids.length);
    const size = corpus.more.page_rows;
    const nPages = Math.ceil(ids.length / size);
    let next = 0;
    const worker = async () => {
      while (next < nPages) {
        const page = next++;
        const { columns } = await loaded(`${table.folder}/items/${page}.json.gz`);
        const texts = TEXTS.map((name) => columns[name]).filter(Boolean);
        const end = Math.min(ids.length, (page + 1) * size);
        for (let i = page * size; i < end; i++) {
          let all = ids[i];
          for (const column of texts) all += `\n${column.at(i % size) ?? ""}`;
          hay[i] = all.toLowerCase();
        }
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    return hay;
  })();
  return corpus.more.haystack;
}

// The rows of the kind that the view asks for; a row without the scores in question is none.
async function ofKind(table, view) {
  const found = new Uint8Array(table.nRows);
  if (view.show === "any") {
    const all = await Promise.all(table.methods.map((one) => table.delta(one.name)));
    for (let i = 0; i < found.length; i++) {
      found[i] = all.some((values) => values[i] > 0) && all.some((values) => values[i] < 0) ? 1 : 0;
    }
    return found;
  }
  const method = await table.delta(view.method);
  const other = view.show === "wrong" ? null : await table.delta(view.show === "people" ? HUMAN : referenceOf(table.axes()));
  for (let i = 0; i < found.length; i++) {
    const differs = other ? sign(method[i]) * sign(other[i]) < 0 : sign(method[i]) < 0;
    found[i] = differs ? 1 : 0;
  }
  return found;
}

// The chosen rows' positions in the view's order: as in the file, or by a difference, what has none last.
export async function ordered(table, view) {
  const keep = await chosen(table, view);
  const column = view.sort.replace(/^-/, "");
  const known = column === HUMAN || table.methods.some((one) => one.name === column);
  const order = column && known ? await sorted(table, column, view.sort.startsWith("-")) : null;
  const rows = [];
  for (let i = 0; i < keep.length; i++) {
    const row = order ? order[i] : i;
    if (keep[row]) rows.push(row);
  }
  return rows;
}

// All rows by a difference; equals stay in the file's order.
function sorted(table, column, down) {
  return table.once(`sorted ${column} ${down}`, async () => {
    const values = await table.delta(column);
    const n = values.length;
    const finite = [], rest = [];
    for (let i = 0; i < n; i++) (Number.isNaN(values[i]) ? rest : finite).push(i);
    const order = Float64Array.from(finite);
    const sign = down ? -1 : 1;
    order.sort((a, b) => sign * (values[a] - values[b]) || a - b);
    return [...order, ...rest];
  });
}
