// Text and numbers for the page: in, anything a corpus may hold; out, strings, never markup.

const LONGEST_DIFFED = 600;
const MOST_PIECES = 120; // more, and only what both begin and end with is left unmarked: the search below takes their cube
const PIECES = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

// Control characters become visible pictures; characters that are invisible or turn the direction of writing their
// names. Joiners (U+200C, U+200D) are left: Persian and Hindi are written with them.
export const visible = (text) =>
  String(text)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, (c) => (c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))))
    .replace(/[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g, (c) => `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

export const clipped = (text, limit) => {
  const letters = text.length <= limit ? null : Array.from(text);
  return !letters || letters.length <= limit ? text : letters.slice(0, limit - 1).join("") + "…";
};

// A number with so many decimals; an exact half goes to the even neighbour, as in the card and the reports.
export function fixed(value, digits) {
  const halves = Math.abs(value) * 2 ** (digits + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
  const unit = 10 ** digits;
  const low = Math.floor(Math.abs(value) * unit);
  return (Math.sign(value) * (low % 2 ? low + 1 : low) / unit).toFixed(digits);
}

const minus = (text) => text.replace("-", "−");

export function share(value, digits = 2) {
  if (!Number.isFinite(value)) return "–";
  const text = fixed(Math.abs(value), digits);
  return (value < 0 && Number(text) ? "−" : "") + text;
}

export const interval = (low, high) => (Number.isFinite(low) ? `[${share(low)}, ${share(high)}]` : "");

const TIE = 1e-9; // as in statistics.js

// A difference with its sign, which also one below 0.005 has; a tie has none.
export function nats(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (Math.abs(value) <= TIE) return "0.00";
  return (value > 0 ? "+" : "−") + fixed(Math.abs(value), 2);
}

export function logprob(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  return value === 0 ? "0.00" : (value < 0 ? "−" : "") + fixed(Math.abs(value), 2);
}

// By hand, for the first use of a locale costs a browser half a second on a busy machine.
export const whole = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
export const count = (n, noun, many = `${noun}s`) => `${whole(n)} ${n === 1 ? noun : many}`;
export const words = (name) => name.replaceAll("_", " ");

// What people call each method, as in reports; a method without a name has its id.
let labels = {};
export const setLabels = (named) => { labels = named ?? {}; };
export const labelOf = (method) => (method === "human" ? "people" : labels[method] ?? method);

export function pValue(p) {
  if (!Number.isFinite(p)) return "–";
  if (p < 0.001) return "p < .001";
  return `p = ${fixed(p, 3).replace(/^0/, "")}`;
}

export function niceTicks(low, high, most = 6) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10, 20].map((k) => power * k).find((width) => span / width <= most);
  const ticks = [];
  for (let k = Math.ceil(low / step); k <= Math.floor(high / step); k++) ticks.push(k * step + 0);
  return ticks;
}

const LONGEST_TICK = 6;
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// The texts of an axis's ticks, and its label: numbers that would take too much room are in units of a power of ten.
export function tickTexts(ticks, label) {
  const plain = ticks.map((tick) => tickText(tick, ticks));
  const most = Math.max(...ticks.map(Math.abs));
  if (!(most > 0) || plain.every((text) => text.length <= LONGEST_TICK)) return { texts: plain, label };
  const power = Math.floor(Math.log10(most) + 1e-9);
  const inUnits = ticks.map((tick) => tick / 10 ** power);
  const unit = `10${Array.from(String(power), (digit) => RAISED[digit]).join("")}`;
  const named = /\)$/.test(label) ? label.replace(/\(([^()]*)\)$/, `(${unit} $1)`) : `${label} (${unit})`;
  return { texts: inUnits.map((tick) => tickText(tick, inUnits)), label: named };
}

export function tickText(value, ticks) {
  let step = ticks.length > 1 ? Infinity : 1;
  for (let k = 1; k < ticks.length; k++) step = Math.min(step, ticks[k] - ticks[k - 1]);
  return minus(value.toFixed(step > 0 ? Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) : 0));
}

// Good and bad as lists of [text, whether it differs from the other side].
export function bothMarked(good, bad) {
  if (Math.max(good.length, bad.length) > LONGEST_DIFFED) return [[[good, false]], [[bad, false]]];
  const a = good.match(PIECES) ?? [];
  const b = bad.match(PIECES) ?? [];
  const left = [], right = [];
  const add = (into, pieces, differs) => {
    const text = pieces.join("");
    const inner = text.trim();
    if (!text) return;
    if (!differs || !inner) { into.push([text, false]); return; }
    const start = text.indexOf(inner);
    for (const [part, marked] of [[text.slice(0, start), false], [inner, true], [text.slice(start + inner.length), false]]) {
      if (part) into.push([part, marked]);
    }
  };
  let i = 0, j = 0;
  for (const [k, l, size] of [...blocks(a, b), [a.length, b.length, 0]]) {
    add(left, a.slice(i, k), true);
    add(right, b.slice(j, l), true);
    add(left, a.slice(k, k + size), false);
    add(right, b.slice(l, l + size), false);
    i = k + size;
    j = l + size;
  }
  return [left, right];
}

// What both begin with, and what both end with.
function ends(a, b) {
  const least = Math.min(a.length, b.length);
  let first = 0, last = 0;
  while (first < least && a[first] === b[first]) first++;
  while (last < least - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  return [[0, 0, first], [a.length - last, b.length - last, last]].filter(([, , size]) => size);
}

// The matching blocks of Ratcliff and Obershelp, longest first, then left and right of it (as Python's difflib).
function blocks(a, b) {
  if (Math.max(a.length, b.length) > MOST_PIECES) return ends(a, b);
  const places = new Map();
  b.forEach((piece, j) => places.set(piece, [...(places.get(piece) ?? []), j]));
  const found = [];
  const queue = [[0, a.length, 0, b.length]];
  while (queue.length) {
    const [alo, ahi, blo, bhi] = queue.pop();
    let best = [alo, blo, 0];
    let lengths = new Map();
    for (let i = alo; i < ahi; i++) {
      const next = new Map();
      for (const j of places.get(a[i]) ?? []) {
        if (j < blo) continue;
        if (j >= bhi) break;
        const size = (lengths.get(j - 1) ?? 0) + 1;
        next.set(j, size);
        if (size > best[2]) best = [i - size + 1, j - size + 1, size];
      }
      lengths = next;
    }
    const [i, j, size] = best;
    if (!size) continue;
    found.push(best);
    if (alo < i && blo < j) queue.push([alo, i, blo, j]);
    if (i + size < ahi && j + size < bhi) queue.push([i + size, ahi, j + size, bhi]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}
