// What the page computes itself, on the rows that are chosen: pairbank.stats' own formulas, level .95, held to it by a test.

import { whole } from "./text.js";

const Z_95 = 1.959963984540054;
const Z_POWER_80 = 0.8416212335729143;
const nothing = (reason, n) => ({ value: NaN, low: NaN, high: NaN, n, reason });
const withoutInterval = (value, reason, n) => ({ value, low: NaN, high: NaN, n, reason });

function standardised(values) {
  const n = values.length;
  let mean = 0;
  for (let i = 0; i < n; i++) mean += values[i];
  mean /= n;
  const found = new Float64Array(n);
  let squares = 0;
  for (let i = 0; i < n; i++) {
    found[i] = values[i] - mean;
    squares += found[i] * found[i];
  }
  const norm = Math.sqrt(squares);
  for (let i = 0; i < n; i++) found[i] /= norm;
  return { values: found, flat: norm <= 1e-11 * Math.abs(mean) };
}

// Pearson's r with a jackknife interval on Fisher's z scale.
export function pearson(x, y) {
  const n = x.length;
  if (n < 2) return nothing(`a correlation needs 2 items, there are ${n}`, n);
  const first = standardised(x), second = standardised(y);
  if (first.flat) return nothing("the first values do not vary", n);
  if (second.flat) return nothing("the second values do not vary", n);
  const a = first.values, b = second.values;
  let value = 0;
  for (let i = 0; i < n; i++) value += a[i] * b[i];
  value = Math.min(1, Math.max(-1, value));
  if (n < 4) return withoutInterval(value, `an interval needs 4 items, there are ${n}`, n);
  if (Math.abs(value) >= 1 - 1e-15) return withoutInterval(value, "r is exactly +-1, where Fisher's z is infinite", n);
  const factor = n / (n - 1);
  const z = new Float64Array(n);
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const leftX = 1 - factor * a[i] * a[i], leftY = 1 - factor * b[i] * b[i];
    if (Math.min(leftX, leftY) <= 1e-12) {
      return withoutInterval(value, "the values do not vary without one of the items", n);
    }
    const without = (value - factor * a[i] * b[i]) / Math.sqrt(leftX * leftY);
    if (Math.abs(without) >= 1 - 1e-12) return withoutInterval(value, "r is exactly +-1 without one of the items", n);
    sum += z[i] = Math.atanh(without);
  }
  const mean = sum / n;
  let total = 0, fourth = 0;
  for (let i = 0; i < n; i++) {
    const square = ((n - 1) / n) * (z[i] - mean) ** 2;
    total += square;
    fourth += square * square;
  }
  if (!(total > 0)) return withoutInterval(value, "the standard error is 0", n);
  const uncertainty = fourth / total ** 2 - 1 / n;
  let freedom = n - 2;
  if (uncertainty > 4 / freedom) freedom = Math.max(1, 4 / uncertainty);
  const half = studentQuantile(freedom) * Math.sqrt(total);
  return { value, low: Math.tanh(Math.atanh(value) - half), high: Math.tanh(Math.atanh(value) + half), n };
}

// The .975 quantile of Student's t: an expansion in 1 / freedom, or Newton's method on the incomplete beta function.
export function studentQuantile(freedom) {
  const z = Z_95, v = freedom;
  const expanded =
    z + (z ** 3 + z) / (4 * v) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * v ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * v ** 3) +
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / (92160 * v ** 4);
  if (v > 300) return expanded;
  let low = 0, high = 20;
  for (let k = 0; k < 200 && high - low > 1e-14 * high; k++) {
    const t = (low + high) / 2;
    if (upperTail(t, v) > 0.025) low = t;
    else high = t;
  }
  return (low + high) / 2;
}

// P(T > t), t > 0.
function upperTail(t, v) {
  return 0.5 * incompleteBeta(v / (v + t * t), v / 2, 0.5);
}

function incompleteBeta(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b;
}

// The continued fraction of the incomplete beta function, by Lentz's method.
function fraction(x, a, b) {
  const tiny = 1e-300;
  const away = (number) => (Math.abs(number) < tiny ? tiny : number);
  let c = 1, d = 1 / away(1 - ((a + b) * x) / (a + 1)), found = d;
  for (let m = 1; m < 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    found *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    found *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return found;
}

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  let sum = LANCZOS[0];
  for (let k = 1; k < 9; k++) sum += LANCZOS[k] / (x - 1 + k);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

// Cohen's kappa between choices, with the interval of the smoothed table on Fisher's z scale.
export function kappa(deltaA, deltaB) {
  const [upUp, upDown, downUp, downDown] = choices(deltaA, deltaB);
  const n = upUp + upDown + downUp + downDown;
  if (!n) return nothing("no items without a tie", 0);
  const margins = [upUp + upDown, downUp + downDown, upUp + downUp, upDown + downDown];
  if (!margins[0] || !margins[1]) return nothing("the first method makes one choice only", n);
  if (!margins[2] || !margins[3]) return nothing("the second method makes one choice only", n);
  const { value } = kappaOf([upUp, upDown, downUp, downDown]);
  const least = Math.min(...margins);
  if (least < 5) {
    return withoutInterval(value, `a method prefers one of the sides on ${least} items; an interval needs 5`, n);
  }
  const smoothed = kappaOf([upUp, upDown, downUp, downDown].map((cell) => cell + 0.5));
  const half = (Z_95 * smoothed.error) / (1 - smoothed.value ** 2);
  const [low, high] = [-1, 1].map((side) => Math.tanh(Math.atanh(smoothed.value) + side * half));
  return { value, low: Math.min(low, value), high: Math.max(high, value), n };
}

// How often both prefer the better side, A alone, B alone, neither; ties in either are left out.
export function choices(deltaA, deltaB) {
  let upUp = 0, upDown = 0, downUp = 0, downDown = 0;
  for (let i = 0; i < deltaA.length; i++) {
    const a = deltaA[i], b = deltaB[i];
    if (a > TIE) {
      if (b > TIE) upUp++;
      else if (b < -TIE) upDown++;
    } else if (a < -TIE) {
      if (b > TIE) downUp++;
      else if (b < -TIE) downDown++;
    }
  }
  return [upUp, upDown, downUp, downDown];
}

// How often a is better, tied and worse (rows) where b is better, tied and worse (columns).
export function signs(deltaA, deltaB) {
  const found = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];
  for (let i = 0; i < deltaA.length; i++) found[1 - sign(deltaA[i])][1 - sign(deltaB[i])]++;
  return found;
}

function kappaOf([upUp, upDown, downUp, downDown]) {
  const total = upUp + upDown + downUp + downDown;
  const shares = [[upUp / total, upDown / total], [downUp / total, downDown / total]];
  const rows = shares.map(([a, b]) => a + b);
  const columns = [0, 1].map((j) => shares[0][j] + shares[1][j]);
  const observed = shares[0][0] + shares[1][1];
  const expected = rows[0] * columns[0] + rows[1] * columns[1];
  let same = 0, other = 0;
  for (const i of [0, 1]) {
    same += shares[i][i] * (1 - expected - (rows[i] + columns[i]) * (1 - observed)) ** 2;
    other += shares[i][1 - i] * (columns[i] + rows[1 - i]) ** 2;
  }
  const rest = (observed * expected - 2 * expected + observed) ** 2;
  const variance = Math.max(0, (same + (1 - observed) ** 2 * other - rest) / (1 - expected) ** 4);
  return { value: (observed - expected) / (1 - expected), error: Math.sqrt(variance / total) };
}

// One measure between every two methods over the items that both have: {values, n}, each methods x methods.
export function matrix(deltas, measure) {
  const values = deltas.map(() => new Array(deltas.length).fill(NaN));
  const n = deltas.map(() => new Array(deltas.length).fill(0));
  for (let i = 0; i < deltas.length; i++) {
    for (let j = i; j < deltas.length; j++) {
      const found = measure === "pearson" ? correlation(deltas[i], deltas[j]) : agreement(deltas[i], deltas[j], measure);
      values[i][j] = values[j][i] = found.value;
      n[i][j] = n[j][i] = found.n;
    }
  }
  return { values, n };
}

function correlation(a, b) {
  let n = 0, meanA = 0, meanB = 0, squaresA = 0, squaresB = 0, products = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i], y = b[i];
    if (x !== x || y !== y) continue;
    n++;
    const dx = x - meanA, dy = y - meanB;
    meanA += dx / n;
    meanB += dy / n;
    squaresA += dx * (x - meanA);
    squaresB += dy * (y - meanB);
    products += dx * (y - meanB);
  }
  const flat = (squares, mean) => Math.sqrt(squares) <= 1e-11 * Math.abs(mean);
  if (n < 2 || flat(squaresA, meanA) || flat(squaresB, meanB)) return { value: NaN, n };
  return { value: Math.min(1, Math.max(-1, products / Math.sqrt(squaresA * squaresB))), n };
}

function agreement(a, b, measure) {
  const cells = choices(a, b);
  const n = cells[0] + cells[1] + cells[2] + cells[3];
  if (measure === "raw_agreement") return { value: n ? (cells[0] + cells[3]) / n : NaN, n };
  const one = [cells[0] + cells[1], cells[2] + cells[3], cells[0] + cells[2], cells[1] + cells[3]].some((m) => !m);
  return { value: one ? NaN : kappaOf(cells).value, n };
}

// Differences up to this are ties, as everywhere in pairbank (`pairbank.scoring.api.names.TIE`).
const TIE = 1e-9;
export const sign = (delta) => (Math.abs(delta) <= TIE ? 0 : Math.sign(delta));

const FINEST = 5040; // that 1 to 10 divide, as in `pairbank.stats.measures.paired_tests`
const MOST_EXACT = 2000;

// McNemar's test over all signs that the gains could have had; an item on which one of both ties is half a gain.
// `seen` is the sum of all gains without its sign, in half gains.
function gainTest(onlyA, onlyB, halves, seen) {
  if (!halves) return { exact: mcnemarExact(onlyA, onlyB), mid: mcnemarMid(onlyA, onlyB) };
  const n = onlyA + onlyB;
  let above = 0, same = 0;
  for (let of = 0; of <= halves; of++) {
    const weight = coins(of, halves).exactly;
    const left = (seen - (2 * of - halves) + 2 * n) / 4; // whole gains for A that reach it
    const least = Math.floor(left);
    if (least < 0) above += weight;
    else if (least < n) above += weight * coins(n - least - 1, n).upTo;
    if (left === least && least >= 0 && least <= n) same += weight * coins(least, n).exactly;
  }
  if (!seen) return { exact: 1, mid: 1 - same / 2 };
  return { exact: Math.min(1, 2 * (above + same)), mid: Math.min(1, 2 * above + same) };
}

// 1 right, 0 wrong, one half a tie; NaN where there is no difference.
export const credits = (delta) => Float64Array.from(delta, (one) => (sign(one) + 1) / 2);

// Is A better than B on the same items? Of what both earn on each: McNemar's test, exact and mid-p, and the paired
// difference in accuracy.
export function compare(creditA, creditB) {
  let n = 0, onlyA = 0, onlyB = 0, ties = 0, halfA = 0, halfB = 0, sum = 0, squares = 0, rightA = 0, rightB = 0, finer = false;
  for (let i = 0; i < creditA.length; i++) {
    const a = creditA[i], b = creditB[i], gain = a - b;
    if (gain !== gain) continue;
    n++;
    if (a === 0.5 || b === 0.5) ties++;
    else if (a > 0.5 && b < 0.5) onlyA++;
    else if (a < 0.5 && b > 0.5) onlyB++;
    if (gain === 0.5) halfA++;
    else if (gain === -0.5) halfB++;
    else if (gain !== 0 && gain !== 1 && gain !== -1) finer = true;
    sum += gain;
    squares += gain * gain;
    rightA += a;
    rightB += b;
  }
  const size = n + 1, centre = sum / size;
  const half = Z_95 * Math.sqrt(((squares + 1) / size - centre ** 2) / size);
  const value = sum / n;
  const tested = finer ? finerTest(creditA, creditB) : gainTest(onlyA, onlyB, halfA + halfB, Math.abs(Math.round(2 * sum)));
  return {
    n, onlyA, onlyB, ties, halfA, halfB, finer, accuracyA: rightA / n, accuracyB: rightB / n,
    difference: {
      value, n, low: Math.min(value, Math.max(-1, centre - half)), high: Math.max(value, Math.min(1, centre + half)),
    },
    ...tested,
    detectable: detectable(n, (onlyA + onlyB) / n),
  };
}

// P(Z > z), to seven digits (Press et al., Numerical Recipes, 6.2).
function normalTail(z) {
  const x = z / Math.SQRT2, t = 1 / (1 + x / 2);
  const terms = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
  return (t * Math.exp(terms.reduce((sum, one) => sum * t + one, 0) - x * x)) / 2;
}

// Of gains of any size, means over presentations: over all signs that they could have had; of many, normal.
function finerTest(creditA, creditB) {
  const gains = Array.from(creditA, (a, i) => Math.round((a - creditB[i]) * FINEST)).filter(Boolean);
  const sum = Math.abs(gains.reduce((x, y) => x + y, 0));
  if (gains.length > MOST_EXACT) {
    const p = 2 * normalTail(sum / Math.sqrt(gains.reduce((x, y) => x + y * y, 0)));
    return { exact: p, mid: p };
  }
  const unit = gains.reduce((x, y) => { while (y) [x, y] = [y, x % y]; return Math.abs(x); }, 0);
  let chance = new Float64Array([1]), all = 0;
  for (const gain of gains) {
    const step = Math.abs(gain) / unit;
    const spread = new Float64Array(chance.length + step);
    for (let k = 0; k < chance.length; k++) { spread[k] += chance[k] / 2; spread[k + step] += chance[k] / 2; }
    chance = spread;
    all += step;
  }
  const at = sum / unit;
  let same = 0, above = 0;
  for (let k = 0; k < chance.length; k++) {
    if (2 * k - all === at) same += chance[k];
    else if (2 * k - all > at) above += chance[k];
  }
  if (!sum) return { exact: 1, mid: 1 - same / 2 };
  return { exact: Math.min(1, 2 * (above + same)), mid: Math.min(1, 2 * above + same) };
}

// P(X <= k) of n fair coins, and P(X = k).
function coins(k, n) {
  let term = Math.exp(logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1) - n * Math.LN2);
  const exactly = term;
  let sum = 0;
  for (let j = k; j >= 0 && term > 1e-18 * sum; j--) {
    sum += term;
    term *= j / (n - j + 1);
  }
  return { upTo: sum, exactly };
}

export function mcnemarExact(onlyA, onlyB) {
  const n = onlyA + onlyB, fewer = Math.min(onlyA, onlyB);
  return n ? Math.min(1, 2 * coins(fewer, n).upTo) : NaN;
}

export function mcnemarMid(onlyA, onlyB) {
  const n = onlyA + onlyB, fewer = Math.min(onlyA, onlyB);
  if (!n) return NaN;
  const { upTo, exactly } = coins(fewer, n);
  return 2 * fewer === n ? 1 - exactly / 2 : Math.min(1, 2 * upTo - exactly);
}

function detectable(n, discordance) {
  const inner = n - Z_95 ** 2 + Z_POWER_80 ** 2;
  if (inner < 0) return NaN;
  const found = (Math.sqrt(discordance) * (Math.sqrt(n) * Z_95 + Z_POWER_80 * Math.sqrt(inner))) / (n + Z_POWER_80 ** 2);
  return found > 0 && found <= discordance ? found : NaN;
}

export const nOf = (n) => `n = ${whole(n)}`;
