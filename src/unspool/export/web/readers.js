// Items as the inputs of a graph: {name: {type, data, dims}}, a row an item.

import { Tokenizer, UNKNOWN, chunks, normal, solid, splitWords } from './tokenizer.js';

const int64 = (data, dims) => ({ type: 'int64', data: BigInt64Array.from(data, BigInt), dims });

// Lists of ids as one array, padded with 0, and their lengths.
function padded(rows) {
  const width = Math.max(1, ...rows.map((row) => row.length));
  const flat = rows.flatMap((row) => [...row, ...Array(width - row.length).fill(0)]);
  return [int64(flat, [rows.length, width]), int64(rows.map((row) => row.length), [rows.length])];
}

const cut = (list, room) => (room === null ? list : list.slice(0, room));

class TextItems {
  constructor(settings) {
    this.settings = settings;
    this.tokenizer = new Tokenizer(settings.tokenizer);
  }

  batch(items) {
    const [before, after] = this.settings.frame;
    const [ids, lengths] = padded(items.map((item) => {
      const tokens = this.tokenizer.ids(item);
      return [...before, ...cut(tokens.length ? tokens : [UNKNOWN], this.settings.room), ...after];
    }));
    return { ids, lengths };
  }
}

// Two texts: a list of two, or one string with ||| between them.
const sides = (item) => (
  typeof item === 'string' ? item.split('|||').map((text) => text.trim()) : item
);

class PairItems extends TextItems {
  sequence(item) {
    let [first, second] = sides(item).map((text) => this.tokenizer.ids(text));
    const { room, fill, frame: [before, between, after] } = this.settings;
    if (room !== null) {
      const kept = Math.min(first.length, Math.max(Math.ceil(room / 2), room - second.length));
      first = first.slice(0, kept);
      second = second.slice(0, room - kept);
    }
    if (!second.length && fill !== null) second = [fill];
    const start = [...before, ...first, ...between];
    return [[...start, ...second, ...after], start.length];
  }

  batch(items) {
    const rows = items.map((item) => this.sequence(item));
    const [ids, lengths] = padded(rows.map(([row]) => row));
    return { ids, lengths, firsts: int64(rows.map(([, first]) => first), [rows.length]) };
  }
}

// The words of a sentence, a string or a list, and the characters of each.
class WordItems extends TextItems {
  constructor(settings) {
    super(settings);
    this.spelling = settings.spelling && new Tokenizer(settings.spelling);
  }

  words(item) {
    if (Array.isArray(item)) return item.map(solid);
    return this.tokenizer.stored.split === 'space' ? chunks(item) : splitWords(item);
  }

  batch(items) {
    const sentences = items.map((item) => this.words(item));
    const { index } = this.tokenizer;
    const [ids, lengths] = padded(sentences.map((words) =>
      words.map((word) => index.get(this.tokenizer.normal(word)) ?? UNKNOWN)));
    if (!this.spelling) return { ids, lengths };
    const distinct = new Map();
    const which = ids.data.map(() => 0n);
    const width = ids.dims[1];
    sentences.forEach((words, i) => words.forEach((word, j) => {
      const form = normal(word, this.spelling.stored.normalize, false);
      if (!distinct.has(form)) distinct.set(form, distinct.size);
      which[i * width + j] = BigInt(distinct.get(form));
    }));
    const [spellings, sizes] = padded(Array.from(distinct.keys(), (word) =>
      Array.from(word).slice(0, this.settings.longest)
        .map((char) => this.spelling.index.get(char) ?? UNKNOWN)));
    return { ids, lengths, spellings, sizes, which: { type: 'int64', data: which, dims: ids.dims } };
  }
}

// The n-grams of a text and how often each occurs.
class NgramItems {
  constructor(settings) {
    this.settings = settings;
    this.tokenizer = new Tokenizer(settings.tokenizer);
    const { first, vocab } = this.tokenizer;
    const tokens = vocab.slice(first).slice(0, settings.tokens);
    this.index = new Map([...tokens, ...settings.ngrams].map((token, i) => [token, i]));
    this.spelling = new Map(settings.spelling.map((ngram, i) => [ngram, i + this.index.size]));
  }

  pieces(item) {
    const texts = this.settings.pair ? sides(item) : [item];
    const [first, ...rest] = texts.map((text) => this.tokenizer.pieces(text));
    const second = rest.flat().map((piece) => this.settings.second + piece);
    return cut([...first, ...second], this.settings.room);
  }

  counts(item) {
    const counts = new Map();
    const pieces = this.pieces(item);
    const add = (number) => counts.set(number, (counts.get(number) ?? 0) + 1);
    for (let i = 0; i < pieces.length; i++) {
      for (let n = 1; n < 6 && i + n <= pieces.length; n++) {
        const number = this.index.get(pieces.slice(i, i + n).join(this.settings.separator));
        if (number === undefined) break;
        add(number);
      }
    }
    if (this.spelling.size) {
      for (const piece of pieces) {
        const word = Array.from(` ${piece} `).slice(0, 1000);
        for (let n = 2; n <= Math.min(5, word.length); n++) {
          for (let i = 0; i + n <= word.length; i++) {
            const number = this.spelling.get(word.slice(i, i + n).join(''));
            if (number !== undefined) add(number);
          }
        }
      }
    }
    return Array.from(counts).sort(([a], [b]) => a - b);
  }

  batch(items) {
    const rows = items.map((item) => this.counts(item));
    const [ids] = padded(rows.map((row) => row.map(([number]) => number)));
    const counts = new Float64Array(ids.data.length);
    rows.forEach((row, i) => row.forEach(([, count], j) => { counts[i * ids.dims[1] + j] = count; }));
    return { ids, counts: { type: 'float64', data: counts, dims: ids.dims } };
  }
}

// Vectors over time: a list of steps, each a list of numbers; null where none was measured.
class SeriesItems {
  constructor(settings) {
    this.settings = settings;
  }

  batch(items) {
    const { gappy, room, channels } = this.settings;
    const rows = items.map((item) => cut(item, room));
    const steps = Math.max(1, ...rows.map((row) => row.length));
    const size = channels.length + gappy.length;
    const values = new Float32Array(rows.length * steps * size);
    rows.forEach((row, i) => {
      const { mean, std } = this.settings.mean ? this.settings : moments(row, channels.length);
      row.forEach((step, t) => {
        const known = step.map((value) => value !== null && !Number.isNaN(value));
        const scaled = step.map((value, c) => (known[c] ? (value - mean[c]) / std[c] : 0));
        values.set([...scaled, ...gappy.map((c) => Number(known[c]))], (i * steps + t) * size);
      });
    });
    return {
      values: { type: 'float32', data: values, dims: [rows.length, steps, size] },
      lengths: int64(rows.map((row) => row.length), [rows.length]),
    };
  }
}

// The mean and standard deviation of each channel of a series; of one that never moves 1.
function moments(row, channels) {
  const mean = [];
  const std = [];
  for (let c = 0; c < channels; c++) {
    const values = row.map((step) => step[c]).filter((x) => x !== null && !Number.isNaN(x)).map(Math.fround);
    const count = Math.max(1, values.length);
    const middle = values.reduce((a, b) => a + b, 0) / count;
    const spread = Math.sqrt(values.reduce((a, x) => a + (x - middle) ** 2, 0) / count);
    mean.push(middle);
    std.push(spread > 1e-12 * Math.max(1, Math.abs(middle)) ? spread : 1);
  }
  return { mean, std };
}

// The inputs of each model of an ensemble.
class JoinedItems {
  constructor(settings) {
    this.members = settings.members.map(reader);
  }

  batch(items) {
    return Object.fromEntries(this.members.flatMap((member, number) =>
      Object.entries(member.batch(items)).map(([name, value]) => [`${name}_${number + 1}`, value])));
  }
}

const READERS = {
  text: TextItems,
  pair: PairItems,
  words: WordItems,
  ngrams: NgramItems,
  series: SeriesItems,
  joined: JoinedItems,
};

export function reader(settings) {
  return new READERS[settings.kind](settings);
}
