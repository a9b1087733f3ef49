// The attention in a trace. In: its JSON. Out: kinds of attention, each with the names of its rows
// (who looks) and columns (at whom), and its layers: a matrix for each head. Over a story of which one
// answer is made, who looks are `hops`.

import { short } from '../../tokens.js';

export const TITLES = {
  self_attention: 'Self-attention',
  causal_attention: 'Causal attention',
  cross_attention: 'Cross-attention',
  pair_attention: 'Attention between the texts',
  alignment: 'Alignment',
  pooling: 'Attention pooling',
};
const ENDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]; // of a scale
const MOSTLY = 0.5; // of all weight: what has as much is what a head does
const FREE = 4; // tokens that a row sees at least, if it has a choice
const SPECIAL = ['(cls)', '<s>', '</s>', '[CLS]', '[SEP]'];
const BEGIN = '<s>'; // what a decoder reads before it has written anything

// [{key, title, rows: {axis, names, first}, columns: the same, layers: [{layer, heads: [matrix]}]}],
// that which says how a translation was written first; without those that a window of a long text has
// nothing of.
export function kindsOf(trace) {
  const kinds = new Map();
  const own = trace.arrays.filter((array) => array.kind in TITLES);
  for (const array of own) {
    const key = `${array.part}-${array.kind}`;
    if (!kinds.has(key)) kinds.set(key, kindOf(key, array, trace));
    kinds.get(key).layers.push({ layer: array.layer ?? 1, heads: headsOf(array) });
  }
  const across = (kind) => kind.rows.axis === 'written' && kind.columns.axis === 'read';
  const seen = ({ rows, columns }) => rows.names.length > 0 && columns.names.length > 0;
  return [...kinds.values()].filter(seen).sort((a, b) => across(b) - across(a));
}

function kindOf(key, array, trace) {
  const { first, tokens } = trace.window;
  const side = (axis, names) => (
    { axis, first: Math.min(first, names.length), names: names.slice(first, first + tokens) });
  const columns = array.axes.at(-1);
  const rows = array.axes.length > 1 ? array.axes.at(-2) : null;
  // What a decoder looks back at is what it has read: the tokens written before, one position earlier.
  const inputs = columns === 'written' ? [BEGIN, ...trace.written.slice(0, -1)] : trace.tokens;
  const where = trace.written.length > 0 && rows === columns ? ` in the ${array.part}` : '';
  return {
    key,
    title: TITLES[array.kind] + where,
    rows: rows === null
      ? { axis: null, first: 0, names: ['the text'] }
      : side(rows, rows === 'written' ? trace.written : trace.tokens),
    columns: side(columns, inputs),
    hops: rows === 'written' && trace.choices[0]?.asked === '',
    layers: [],
  };
}

function headsOf(array) {
  if (array.axes.length === 3) return array.values;
  return array.axes.length === 2 ? [array.values] : [[array.values]];
}

// The mean of several matrices.
export function mean(heads) {
  return heads[0].map((row, i) => row.map(
    (_, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
}

// Where the colour scale of a kind of attention ends: one for all its layers and heads, so that they can
// be compared. That is 1, or less where all weights are small, as in a long text.
export function scaleEnd({ layers }) {
  const most = Math.max(...layers.flatMap(({ heads }) => heads.map(strongest)));
  return ENDS.find((end) => most <= end) ?? 1;
}

// The largest weight of all rows that have a choice. The first rows of causal attention see next to
// nothing, and would make all others pale.
function strongest(matrix) {
  const free = matrix.filter((row) => row.filter((weight) => weight > 0).length >= FREE);
  return largest(free.length > 0 ? free : matrix);
}

export function largest(matrix) {
  return matrix.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0);
}

// The row with the largest weight on another token than its own; special tokens are left out.
export function keenest(matrix, { rows, columns }) {
  const own = (i) => (rows.axis === columns.axis ? i : -1);
  const most = matrix.map((row, i) => (SPECIAL.includes(rows.names[i]) ? -1 : Math.max(
    ...row.filter((_, j) => j !== own(i) && !SPECIAL.includes(columns.names[j])), -1)));
  return most.indexOf(Math.max(...most));
}

// Where the weight of a head lies on the whole, in words: on one token, or of tokens that look at one
// another on one position, if that has most of it; otherwise over how many tokens it is spread, e to the
// entropy, and which has the most.
export function habit(matrix, { square, names }) {
  const tokens = names.map((name, j) => [`“${short(name, 12)}”`, average(matrix.map((row) => row[j]))]);
  const [where, share] = first([...(square ? positions(matrix) : []), ...tokens]);
  if (share >= MOSTLY) return `${where} ${share.toFixed(2)}`;
  const spread = average(matrix.map((row) => Math.exp(row.reduce(
    (sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0))));
  const [token, most] = first(tokens);
  return `spread over ${spread.toFixed(1)} tokens, most on ${token} ${most.toFixed(2)}`;
}

// The mean weights of some positions, by what these are called.
function positions(matrix) {
  const shifted = (by) => matrix.map((row, i) => row[i + by]).filter((weight) => weight !== undefined);
  return Object.entries({
    'the token itself': shifted(0),
    'the token before': shifted(-1),
    'the token after': shifted(1),
    'the first token': matrix.slice(2).map((row) => row[0]),
  }).map(([where, weights]) => [where, average(weights)]);
}

function first(shares) {
  return shares.reduce((best, each) => (each[1] > best[1] ? each : best));
}

function average(values) {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
}
