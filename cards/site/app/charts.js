// Charts as SVG that follow the page's colours in light and in dark: in, numbers; out, elements.
// Blue is for agreement or the better side, orange for the other (Okabe & Ito 2008); each also has a place or a sign.

import { pick, s } from "./dom.js";
import { count, nats, niceTicks, share, tickTexts } from "./text.js";

export const MOST_DOTS = 900; // with more points than this the plot counts them in hexagons
export const PLOT_WIDTH = 600;
export const PLOT_HEIGHT = 400;
const HEX_RADIUS = 9;
const LEVELS = 6;
const MOST_ROWS = 64; // of hexagons; the plot has 31
const MOST_CODES = 64 * MOST_ROWS; // and 40 columns
const MOST_TOKENS = 160;

// An axis that holds all values and 0, with some room.
export function axisOf(label, values) {
  let low = 0, high = 0;
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  const room = (high - low) * 0.04 || 1;
  low -= room;
  high += room;
  return { label, low, high, at: (value) => (value - low) / (high - low) };
}

const even = (value) => { // to the nearest integer, a half to the even one, as numpy rounds
  const down = Math.floor(value);
  const rest = value - down;
  return rest > 0.5 || (rest === 0.5 && down % 2) ? down + 1 : down;
};

// Points counted in a grid of hexagons; x and y are shares of the axes.
export function hexagons(x, y) {
  const dx = HEX_RADIUS * Math.sqrt(3), dy = HEX_RADIUS * 1.5;
  const codes = new Int32Array(x.length);
  const counts = new Int32Array(MOST_CODES);
  for (let k = 0; k < x.length; k++) {
    const px = x[k] * PLOT_WIDTH, py = (1 - y[k]) * PLOT_HEIGHT;
    // The nearer of the two rectangular lattices that a hexagonal grid is made of.
    const j0 = even(py / dy / 2) * 2, i0 = even(px / dx);
    const j1 = Math.floor(py / dy / 2) * 2 + 1, i1 = Math.floor(px / dx);
    const far0 = (px - i0 * dx) ** 2 + (py - j0 * dy) ** 2;
    const far1 = (px - (i1 + 0.5) * dx) ** 2 + (py - j1 * dy) ** 2;
    codes[k] = far0 <= far1 ? i0 * MOST_ROWS + j0 : i1 * MOST_ROWS + j1;
    counts[codes[k]]++;
  }
  const cells = [];
  for (let code = 0; code < MOST_CODES; code++) {
    if (!counts[code]) continue;
    const column = Math.floor(code / MOST_ROWS), row = code - column * MOST_ROWS;
    cells.push({ code, name: `${column}.${row}`, x: (column + 0.5 * (row & 1)) * dx, y: row * dy, n: counts[code] });
  }
  return { codes, cells };
}

// Two differences against each other: {x, y, xAxis, yAxis, marks (idOf, tipOf of a point), corners, selected}.
export function scatter({ x, y, xAxis, yAxis, idOf, tipOf, corners, selected, narrow }) {
  const scale = narrow ? 0.5 : 1;
  const [left, bottom, top, right] = narrow ? [62, 46, 30, 8] : [62, 50, 30, 12];
  const width = PLOT_WIDTH * scale, height = PLOT_HEIGHT * scale;
  const parts = frame(xAxis, yAxis, width, height, narrow ? 4 : 7);
  const marks = x.length <= MOST_DOTS
    ? dots({ x, y, xAxis, yAxis, idOf, tipOf, selected, width, height, scale })
    : hexes({ x, y, xAxis, yAxis, selected, scale });
  return s(
    "svg.pb-chart.pb-scatter",
    { viewBox: `0 0 ${left + width + right} ${top + height + bottom}`, role: "img", "aria-label": `${yAxis.label} against ${xAxis.label}` },
    s("g", { transform: `translate(${left} ${top})` }, parts, marks, corners.length ? cornersOf(x, y, corners, width, height) : null),
  );
}

function frame(xAxis, yAxis, width, height, mostTicks) {
  const parts = [];
  const across = niceTicks(xAxis.low, xAxis.high, mostTicks);
  const below = tickTexts(across, xAxis.label);
  for (const [k, tick] of across.entries()) {
    const x = (xAxis.at(tick) * width).toFixed(1);
    parts.push(s(`path.${tick === 0 ? "zero" : "grid"}`, { d: `M${x} 0V${height}` }));
    parts.push(s("text", { x, y: height + 16, "text-anchor": "middle" }, below.texts[k]));
  }
  const up = niceTicks(yAxis.low, yAxis.high, mostTicks);
  const beside = tickTexts(up, yAxis.label);
  for (const [k, tick] of up.entries()) {
    const y = (1 - yAxis.at(tick)) * height;
    parts.push(s(`path.${tick === 0 ? "zero" : "grid"}`, { d: `M0 ${y.toFixed(1)}H${width}` }));
    parts.push(s("text", { x: -7, y: (y + 4).toFixed(1), "text-anchor": "end" }, beside.texts[k]));
  }
  parts.push(s("text.axis", { x: width / 2, y: height + 38, "text-anchor": "middle" }, below.label));
  parts.push(s("text.axis", { transform: `translate(-48 ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, beside.label));
  return parts;
}

function cornersOf(x, y, labels, width, height) {
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    if (!x[i] || !y[i]) continue;
    counts[(x[i] > 0 ? 0 : 1) + (y[i] > 0 ? 0 : 2)]++;
  }
  const places = [[width, -9, "end"], [0, -9, "start"], [width - 6, height - 8, "end"], [6, height - 8, "start"]];
  return places.map(([px, py, anchor], k) =>
    s("text.corner", { x: px, y: py, "text-anchor": anchor }, `${labels[k]} ${Math.round((100 * counts[k]) / x.length)}%`));
}

function dots({ x, y, xAxis, yAxis, idOf, tipOf, selected, width, height, scale }) {
  const found = [], last = [];
  for (let k = 0; k < x.length; k++) {
    const id = idOf(k), on = id === selected;
    const kind = x[k] * y[k] > 0 ? "agree" : "differ";
    (on ? last : found).push(s(`circle.${kind}${on ? ".on" : ""}`, {
      cx: (xAxis.at(x[k]) * width).toFixed(1), cy: ((1 - yAxis.at(y[k])) * height).toFixed(1), r: scale === 1 ? 3.2 : 2.6,
      ...pick("item", id), "data-tip": tipOf(k),
    }));
  }
  return [...found, ...last];
}

function hexes({ x, y, xAxis, yAxis, selected, scale }) {
  const { cells } = hexagons(x.map(xAxis.at), y.map(yAxis.at));
  let most = 0;
  for (const cell of cells) most = Math.max(most, cell.n);
  const points = [0, 1, 2, 3, 4, 5].map((k) => {
    const at = (f) => (HEX_RADIUS * scale * f((Math.PI / 3) * k)).toFixed(1);
    return `${at(Math.sin)},${at(Math.cos)}`;
  }).join(" ");
  return cells.sort((a, b) => (a.name === selected) - (b.name === selected)).map((cell) => {
    const level = Math.ceil((Math.log1p(cell.n) / Math.log1p(most)) * LEVELS);
    return s(`polygon.hex.level${level}${cell.name === selected ? ".on" : ""}`, {
      points, transform: `translate(${(cell.x * scale).toFixed(1)} ${(cell.y * scale).toFixed(1)})`,
      ...pick("cell", cell.name), "data-tip": count(cell.n, "item"),
    });
  });
}

// A dot with its interval on a line, for a cell of a table; nothing where there is no value.
export function whisker({ value, low, high }, domain, reference) {
  if (!Number.isFinite(value)) return null;
  const width = 150, room = 5;
  const at = (number) => {
    const part = (Math.min(Math.max(number, domain[0]), domain[1]) - domain[0]) / (domain[1] - domain[0]);
    return (room + part * (width - 2 * room)).toFixed(1);
  };
  return s(
    "svg.pb-whisker",
    { viewBox: `0 0 ${width} 18`, "aria-hidden": "true" },
    s("path.line", { d: `M${room} 9H${width - room}` }),
    s("path.reference", { d: `M${at(reference)} 2V16` }),
    Number.isFinite(low) ? s("path.bar", { d: `M${at(low)} 9H${at(high)}` }) : null,
    s(`circle.${value >= reference ? "up" : "down"}`, { cx: at(value), cy: 9, r: 3.6 }),
  );
}

// The surprisal of each token of both sides as bars, one row a side, on one scale.
export function tokenBars(good, bad, pieces) {
  const n = Math.min(Math.max(good.length, bad.length, 1), MOST_TOKENS);
  const sides = [["good", good.slice(0, n)], ["bad", bad.slice(0, n)]];
  const highest = Math.max(0, ...sides.flatMap(([, values]) => values.map((x) => -x))) || 1;
  const step = 560 / Math.max(n, 12), height = 54, width = 600;
  const parts = [];
  sides.forEach(([side, values], row) => {
    if (!values.length && side === "bad") return;
    const base = (row + 1) * (height + 14);
    if (values.length) parts.push(s("text", { x: 0, y: base - 2 }, side));
    parts.push(s("path.grid", { d: `M38 ${base}H${width}` }));
    values.forEach((x, k) => {
      const tall = Math.max((-x / highest) * height, 0.8);
      parts.push(s(`rect.${side}`, {
        x: (38 + k * step + 0.5).toFixed(1), y: (base - tall).toFixed(1), width: Math.max(step - 1.5, 0.8).toFixed(1),
        height: tall.toFixed(1), "data-tip": `${side}, token ${k + 1}${pieces[row][k] ? ` “${pieces[row][k].shown}”` : ""}: ${nats(x)} nats`,
      }));
    });
  });
  const total = bad.length ? 2 * (height + 14) + 4 : height + 18;
  return { chart: s("svg.pb-chart.pb-tokens", { viewBox: `0 0 ${width} ${total}`, role: "img", "aria-label": "surprisal of each token" }, parts), most: MOST_TOKENS };
}

// Accuracy against a number of each model on a logarithmic axis; points of one series are joined.
export function growth({ series, label, format, narrow }) {
  const width = narrow ? 300 : 600, height = narrow ? 190 : 260;
  const all = series.flatMap((one) => one.points);
  const logs = all.map((point) => Math.log10(point.x));
  let [low, high] = [Math.min(...logs), Math.max(...logs)];
  const room = (high - low) * 0.06 || 0.5;
  low -= room;
  high += room;
  const atX = (x) => ((Math.log10(x) - low) / (high - low)) * width;
  const atY = (y) => (1 - y) * height;
  const parts = [];
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(s(`path.${tick === 0.5 ? "zero" : "grid"}`, { d: `M0 ${atY(tick)}H${width}` }));
    parts.push(s("text", { x: -7, y: atY(tick) + 4, "text-anchor": "end" }, share(tick)));
  }
  let ticks = [];
  for (let power = Math.floor(low) - 1; power <= Math.ceil(high); power++) ticks.push(...[1, 2, 5].map((k) => k * 10 ** power));
  ticks = ticks.filter((x) => Math.log10(x) >= low && Math.log10(x) <= high);
  while (ticks.length > (narrow ? 4 : 8)) ticks = ticks.filter((_, k) => k % 2 === 0);
  for (const tick of ticks) {
    parts.push(s("path.grid", { d: `M${atX(tick)} 0V${height}` }));
    parts.push(s("text", { x: atX(tick), y: height + 16, "text-anchor": "middle" }, format(tick)));
  }
  for (const { points } of series) {
    const ordered = [...points].sort((a, b) => a.x - b.x);
    if (ordered.length > 1) {
      parts.push(s("path.join", { d: `M${ordered.map((p) => `${atX(p.x).toFixed(1)} ${atY(p.y).toFixed(1)}`).join("L")}` }));
    }
    for (const point of ordered) {
      if (Number.isFinite(point.low)) parts.push(s("path.bar", { d: `M${atX(point.x)} ${atY(point.low)}V${atY(point.high)}` }));
      parts.push(s("circle.agree", { cx: atX(point.x).toFixed(1), cy: atY(point.y).toFixed(1), r: 4, "data-tip": point.tip, tabindex: 0 }));
    }
  }
  parts.push(s("text.axis", { x: width / 2, y: height + 38, "text-anchor": "middle" }, label));
  parts.push(s("text.axis", { transform: `translate(-48 ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, "accuracy"));
  return s("svg.pb-chart.pb-growth", { viewBox: `0 0 ${width + 74} ${height + 62}`, role: "img", "aria-label": `accuracy against ${label}` }, s("g", { transform: "translate(62 12)" }, parts));
}
