// Texts as ids, from the JSON of a tokenizer. Python's rules: its white space, its letters, and
// strings as code points.

export const UNKNOWN = 1;

const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const LETTER = '[\\p{L}\\p{N}_]';
const CHUNK = new RegExp(`[^${SPACE}]+`, 'gu');
const GAP = new RegExp(`[${SPACE}]+`, 'gu');
const WORD = new RegExp(
  `<unk>|${LETTER}+(?:['’]${LETTER}+)*|['’](?:s|m|d|t|re|ve|ll)(?!${LETTER})|(?!${LETTER})[^${SPACE}]`,
  'giu',
);
const MARK = /[\p{M}\u200c\u200d]/gu;
const PIECE = new RegExp(`[${SPACE}]*[^${SPACE}]+|[${SPACE}]+`, 'gu');
// Words of byte-level byte pairs, as GPT-2 splits them; white space is Unicode's.
const GAP_IN_BYTES = SPACE.replace('\\x1c-\\x20', '\\x20');
const BYTE_WORD = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${GAP_IN_BYTES}\\p{L}\\p{N}]+`
    + `|[${GAP_IN_BYTES}]+(?![^${GAP_IN_BYTES}])|[${GAP_IN_BYTES}]+`,
  'gu',
);

const all = (text, pattern) => Array.from(text.matchAll(pattern), (match) => match[0]);

export const chunks = (text) => all(text, CHUNK);

export const solid = (word) => word.replace(GAP, '_');

// Words and punctuation marks; combining marks belong to their word.
export function splitWords(text) {
  return chunks(text).flatMap((chunk) => {
    // A mark outside of the first plane has two units, and so has its stand-in.
    const shape = chunk.replace(MARK, (mark) => (mark.length === 1 ? 'a' : '𝐚'));
    return Array.from(shape.matchAll(WORD), ({ index, 0: word }) =>
      chunk.slice(index, index + word.length));
  });
}

export function normal(text, form, lowercase) {
  const name = { nfc: 'NFC', nfkc: 'NFKC' }[form];
  const normalised = name ? text.normalize(name) : text;
  return lowercase ? normalised.toLowerCase() : normalised;
}

export class Tokenizer {
  constructor(stored) {
    this.kind = stored.kind;
    this.stored = stored;
    this.first = (stored.specials ?? ['<pad>', '<unk>']).length;
    this.vocab = stored.vocab ?? [];
    this.index = new Map();
    this.vocab.forEach((token, i) => i >= this.first && this.index.set(token, i));
    if (this.kind === 'bpe') this.pairs = new BytePairs(stored.model.model);
  }

  normal(text) {
    return normal(text, this.stored.normalize, this.stored.lowercase);
  }

  pieces(text) {
    const normalised = this.normal(text);
    if (this.kind === 'char') return Array.from(normalised);
    return this.stored.split === 'space' ? chunks(normalised) : splitWords(normalised);
  }

  ids(text) {
    if (this.kind === 'bpe') {
      return all(this.normal(text), PIECE).flatMap((chunk) =>
        this.pairs.ids(chunk).map((id) => id + this.first));
    }
    return this.pieces(text).map((piece) => this.index.get(piece) ?? UNKNOWN);
  }
}

// The character that stands for each byte.
function byteLetters() {
  const letters = [];
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const shown = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    letters.push(String.fromCodePoint(shown ? byte : next++));
  }
  return letters;
}

class BytePairs {
  constructor({ vocab, merges }) {
    this.vocab = vocab;
    this.letters = byteLetters();
    this.ranks = new Map();
    merges.forEach((pair, rank) => {
      this.ranks.set(Array.isArray(pair) ? pair.join(' ') : pair, rank);
    });
    this.known = new Map();
  }

  ids(text) {
    return all(text, BYTE_WORD).flatMap((word) => this.word(word));
  }

  word(word) {
    if (!this.known.has(word)) {
      if (this.known.size > 10000) this.known.clear();
      this.known.set(word, this.merged(word));
    }
    return this.known.get(word);
  }

  // The pair that was learnt first is merged first.
  merged(word) {
    const parts = Array.from(new TextEncoder().encode(word), (byte) => this.letters[byte]);
    for (;;) {
      let best = Infinity;
      let at = -1;
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return parts.map((part) => this.vocab[part]);
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
  }
}
