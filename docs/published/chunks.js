// Files of columns: in, a path below data/; out, its columns, typed. The least recently used go when they are too many.

export class SiteError extends Error {}

const MOST_BYTES = 640 * 2 ** 20;
const kept = new Map(); // path -> {promise, bytes}
let nBytes = 0;

// The parsed JSON of a file; a server may have inflated it already.
export async function packed(path) {
  let answer;
  try {
    answer = await fetch(`data/${path.split("/").map(encodeURIComponent).join("/")}`);
  } catch {
    throw new SiteError(`data/${path} cannot be had: the server does not answer. Reload the page.`);
  }
  if (!answer.ok) throw new SiteError(`data/${path} cannot be had (${answer.status}); write the site again.`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const plain = isPacked ? new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")) : bytes;
  try {
    return { value: JSON.parse(await new Response(plain).text()), bytes: bytes.length };
  } catch {
    throw new SiteError(`data/${path} is damaged; write the site again.`);
  }
}

// A file's value, made from its JSON once and kept.
export function loaded(path, make = columnsOf) {
  const found = kept.get(path);
  if (found) {
    kept.delete(path);
    kept.set(path, found);
    return found.promise;
  }
  const entry = { bytes: 0 };
  entry.promise = packed(path).then(
    ({ value, bytes }) => {
      entry.bytes = 6 * bytes;
      nBytes += entry.bytes;
      for (const [old, { bytes: size }] of kept) {
        if (nBytes <= MOST_BYTES || old === path) break;
        kept.delete(old);
        nBytes -= size;
      }
      return make(value);
    },
    (error) => {
      kept.delete(path);
      throw error;
    },
  );
  kept.set(path, entry);
  return entry.promise;
}

// One piece of a file that holds many, its columns made when it is first asked for.
export async function piece(path, name) {
  const held = await loaded(path, ({ pieces }) => ({ pieces, made: new Map() }));
  if (!held.made.has(name)) {
    if (!held.pieces?.[name]) throw new SiteError(`data/${path} is damaged; write the site again.`);
    held.made.set(name, columnsOf(held.pieces[name]));
    delete held.pieces[name];
  }
  return held.made.get(name);
}

const TYPES = { f8: Float64Array, f4: Float32Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array };

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// One column; `at(i)` is its cell, null where there is none.
export function columnOf({ t, d, v, n }) {
  if (t === "list") return { kind: "values", values: v, length: v.length, at: (i) => v[i] };
  if (t === "codes") {
    const codes = columnOf(d).values;
    return { kind: "codes", values: v, codes, length: codes.length, at: (i) => v[codes[i]] };
  }
  if (t === "lists") {
    const lengths = columnOf(n).values;
    const flat = columnOf(d).values;
    const ends = new Uint32Array(lengths.length);
    for (let i = 0, end = 0; i < lengths.length; i++) ends[i] = end += Math.max(0, lengths[i]);
    const at = (i) => (lengths[i] < 0 ? null : flat.subarray(ends[i] - lengths[i], ends[i]));
    return { kind: "lists", length: lengths.length, short: flat instanceof Float32Array, at };
  }
  const bytes = bytesOf(d);
  const values = new TYPES[t](bytes.buffer, 0, bytes.length / TYPES[t].BYTES_PER_ELEMENT);
  return { kind: "numbers", values, length: values.length, at: (i) => (Number.isNaN(values[i]) ? null : values[i]) };
}

export function columnsOf(value) {
  const columns = {};
  for (const [name, column] of Object.entries(value.columns)) columns[name] = columnOf(column);
  return { ...value, columns };
}
