// The attention in a trace. In: its JSON. Out: kinds of attention, each with the names of its rows
// (who looks) and columns (at whom), and its layers: a matrix for each head.

const TITLES = {
  self_attention: 'Self-attention',
  causal_attention: 'Causal attention',
  cross_attention: 'Cross-attention',
  alignment: 'Alignment',
  pooling: 'Attention pooling',
};
const FREE = 4; // tokens that a row sees at least, if it has a choice
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

// The weight that has the strongest colour: the largest of all rows that have a choice. The first rows
// of causal attention see next to nothing, and would make all others pale.
export function strongest(matrix) {
  const free = matrix.filter((row) => row.filter((weight) => weight > 0).length >= FREE);
  return largest(free.length > 0 ? free : matrix) || 1;
}

export function largest(matrix) {
  return matrix.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0);
}

// What a head does on the whole, in words: of tokens that look at one another, which one has the most
// weight on average; otherwise over how many tokens the weight is spread, e to the entropy.
export function habit(matrix, square) {
  if (!square) {
    const spread = matrix.map((row) => Math.exp(row.reduce(
      (sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0)));
    return `spread over ${average(spread).toFixed(1)} tokens`;
  }
  const shifted = (by) => matrix.map((row, i) => row[i + by]).filter((weight) => weight !== undefined);
  const positions = {
    'the token itself': shifted(0),
    'the token before': shifted(-1),
    'the token after': shifted(1),
    'the first token': matrix.slice(2).map((row) => row[0]),
  };
  const shares = Object.entries(positions).map(([where, weights]) => [where, average(weights)]);
  const [where, share] = shares.sort((a, b) => b[1] - a[1])[0];
  return `${where} ${share.toFixed(2)}`;
}

function average(values) {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
}
