// The bank's tables, read lazily: in, the site's manifest; out, one column or one row at a time.

import { SiteError, loaded, piece } from "./chunks.js";
import { randomOf } from "./results.js";
import { credits } from "./statistics.js";
import { setLabels } from "./text.js";
import { HUMAN } from "./view.js";

const asIs = (value) => value;
const END = ".json.gz";
const MOST_KEPT = 48;

export class Bank {
  constructor(site) {
    this.site = site;
    setLabels(site.labels);
    this.tables = new Map();
  }

  async corpus(name) {
    const facts = this.site.corpora.find((one) => one.name === name);
    if (!facts) throw new SiteError(`There is no corpus “${name}” here.`);
    const folder = `corpora/${facts.config}`;
    const [more, filters] = await Promise.all([
      loaded(`${folder}/corpus${END}`, asIs),
      loaded(`${folder}/filters${END}`),
    ]);
    return new Corpus(facts, more, filters.columns, randomOf(this.site));
  }

  // A corpus's items (no slug), or with the scores of one model.
  async table(corpus, slug = "") {
    const key = JSON.stringify([corpus.name, slug]);
    if (!this.tables.has(key)) this.tables.set(key, new Table(corpus, slug));
    const table = this.tables.get(key);
    await table.open();
    return table;
  }
}

class Corpus {
  constructor(facts, more, filters, isRandom) {
    Object.assign(this, { facts, more, filters, isRandom, name: facts.name, folder: `corpora/${facts.config}` });
  }

  // Models with random weights last: no view starts with one.
  slugs() {
    const isNull = (slug) => Number(this.isRandom(this.nameOf(slug)));
    return Object.keys(this.more.tables).sort((a, b) => isNull(a) - isNull(b));
  }

  nameOf(slug) {
    return this.more.tables[slug]?.name ?? "";
  }
}

export class Table {
  constructor(corpus, slug) {
    Object.assign(this, { corpus, slug, folder: corpus.folder, places: null });
    this.facts = slug ? corpus.more.tables[slug] : null;
    if (slug && !this.facts) throw new SiteError(`There is no model “${slug}” here.`);
    if (this.facts?.problem) throw new SiteError(this.facts.problem);
    this.model = this.facts?.name ?? "";
    this.nRows = this.facts?.n_rows ?? corpus.more.n_items;
    this.methods = (this.facts?.methods ?? []).map(({ use, ...own }) => ({ ...corpus.more.methods[use], ...own }));
    this.columns = this.facts?.columns ?? corpus.more.columns;
    this.oneSided = corpus.more.one_sided;
    this.kept = new Map();
    this.values = new Map();
  }

  // Read where the rows stand among the items, once.
  async open() {
    if (this.facts?.places && !this.places) {
      this.places = (await this.piece("places")).columns.place.values;
    }
  }

  // Some columns of the model's own table: in a file of many pieces, or one of their own.
  piece(name) {
    const pack = this.facts.packs[name];
    if (pack === undefined) return loaded(`${this.folder}/models/${this.slug}/${name}${END}`);
    return piece(`${this.folder}/packs/${pack}${END}`, `${this.slug}/${name}`);
  }

  place(row) {
    return this.places ? this.places[row] : row;
  }

  method(name) {
    return this.methods.find((one) => one.name === name);
  }

  // What differences the table holds: the methods that scored any item, then people if they judged any.
  axes() {
    const names = this.methods.filter((one) => one.any).map((one) => one.name);
    const judged = this.facts ? this.facts.human : this.corpus.more.human;
    return judged ? [...names, HUMAN] : names;
  }

  // What a method's numbers are measured in.
  unit(name) {
    return this.method(name)?.unit ?? "";
  }

  // Good - bad by a method, or by people on their scale; of one-sided items the score of the one side.
  async delta(name) {
    if (name === HUMAN) return this.once("human", () => this.human());
    const k = this.methods.findIndex((one) => one.name === name);
    if (k < 0) return new Float64Array(this.nRows).fill(NaN);
    return (await this.piece(`axis-${k}`)).columns.value.values;
  }

  // What each row earns by the definition of the method's paper: 1 right, 0 wrong; as `pairbank.stats` has it.
  async credit(name) {
    const k = this.methods.findIndex((one) => one.name === name);
    if (k >= 0 && this.methods[k].credit) return (await this.piece(`credit-${k}`)).columns.value.values;
    return credits(await this.delta(name));
  }

  // Whether the model answers by position: its accuracy is then near one half whatever it knows.
  biased(name) {
    return this.method(name)?.first !== undefined;
  }

  async human() {
    const found = new Float64Array(this.nRows).fill(NaN);
    if (!this.corpus.more.has_human) return found;
    const { human_good: good, human_bad: bad } = (await loaded(`${this.folder}/human${END}`)).columns;
    for (let i = 0; i < found.length; i++) found[i] = good.values[this.place(i)] - bad.values[this.place(i)];
    return found;
  }

  // What is made of the columns, kept for the next click; the least recently used goes when there is too much.
  async once(key, make) {
    const found = this.kept.get(key) ?? make();
    this.kept.delete(key);
    this.kept.set(key, found);
    if (this.kept.size > MOST_KEPT) this.kept.delete(this.kept.keys().next().value);
    return found;
  }

  // The different values of a text column of the rows, sorted.
  valuesOf(name) {
    const column = this.corpus.filters[name];
    if (!column) return [];
    if (!this.values.has(name)) {
      const found = new Set();
      for (let i = 0; i < this.nRows; i++) found.add(column.at(this.place(i)));
      this.values.set(name, [...found].filter((value) => value !== null).sort());
    }
    return this.values.get(name);
  }

  isChoice(row) {
    return this.corpus.filters.choice.values[this.place(row)] === 1;
  }

  async ids() {
    return (await loaded(`${this.folder}/ids${END}`)).columns.item_id.values;
  }

  // The row of an item, or null.
  async position(id) {
    const ids = await this.ids();
    const found = ids.indexOf(id);
    if (found < 0) return null;
    if (!this.places) return found;
    const row = this.places.indexOf(found);
    return row < 0 ? null : row;
  }

  // The file and the number in it where a row of the items, or of the scores, stands.
  itemPage(page) {
    return loaded(`${this.folder}/items/${page}${END}`);
  }

  // Some columns of some rows, in their order; a column that the table lacks is null.
  async rows(positions, names) {
    const size = this.corpus.more.page_rows;
    const ids = names.includes("item_id") ? await this.ids() : null;
    const needed = new Set(positions.map((row) => Math.floor(this.place(row) / size)));
    const pages = new Map(await Promise.all([...needed].map(async (page) => [page, await this.itemPage(page)])));
    return positions.map((row) => {
      const place = this.place(row);
      const page = pages.get(Math.floor(place / size)).columns;
      const cell = (name) => {
        if (name === "item_id") return ids[place];
        if (this.corpus.filters[name]) return this.corpus.filters[name].at(place);
        return page[name] ? page[name].at(place % size) : null;
      };
      return Object.fromEntries(names.map((name) => [name, cell(name)]));
    });
  }

  // One row, all its columns, in the table's order.
  async row(position) {
    return (await this.wholeRows([position]))[0];
  }

  async wholeRows(positions) {
    const cells = await this.cells(positions);
    return positions.map((_, k) => Object.fromEntries(this.columns.map((name) => [name, cells(name, k)])));
  }

  // A function that gives any cell of some rows: (column, k-th row) -> value.
  async cells(positions) {
    const { corpus } = this;
    const size = corpus.more.page_rows;
    const some = async (read, rows) => {
      const needed = new Set(rows.map((row) => Math.floor(row / size)));
      return new Map(await Promise.all([...needed].map(async (page) => [page, await read(page)])));
    };
    const places = positions.map((row) => this.place(row));
    const [ids, items, scores, human, ...axes] = await Promise.all([
      this.ids(),
      some((page) => this.itemPage(page), places),
      this.facts ? some((page) => this.piece(`rows/${page}`), positions) : new Map(),
      corpus.more.has_human ? loaded(`${this.folder}/human${END}`) : null,
      ...this.methods.map((one) => this.delta(one.name)),
    ]);
    const axisOf = new Map((this.facts?.axes ?? []).map((name, k) => [name, axes[k]]));
    return (name, k) => {
      const row = positions[k], place = places[k];
      if (name === "item_id") return ids[place];
      if (name === "corpus") return corpus.name;
      if (axisOf.has(name)) return Number.isNaN(axisOf.get(name)[row]) ? null : axisOf.get(name)[row];
      if (corpus.filters[name]) return corpus.filters[name].at(place);
      if (human?.columns[name]) return human.columns[name].at(place);
      const item = items.get(Math.floor(place / size))?.columns[name];
      if (item) return item.at(place % size);
      return scores.get(Math.floor(row / size))?.columns[name]?.at(row % size) ?? null;
    };
  }

  // The differences of every method and model for one item: [{slug, name, values: method -> difference}].
  async others(row) {
    const { corpus } = this;
    const size = corpus.more.others_rows;
    if (!size) return [];
    const place = this.place(row);
    const { columns } = await loaded(`${this.folder}/others/${Math.floor(place / size)}${END}`);
    return corpus.slugs().filter((slug) => slug !== this.slug).map((slug) => {
      const values = this.methods.map((one) => columns[`${one.name}~${slug}`]?.at(place % size) ?? null);
      return { slug, name: corpus.nameOf(slug), values };
    }).filter((one) => one.values.some((value) => value !== null));
  }
}
