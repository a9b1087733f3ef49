// Numbers and formulas as the page writes them.
//
// A formula is a string such as 'h_t = o_t tanh(c_{t-1})': single letters become italic, what follows
// a _ becomes an index.

import { el } from './dom.js';

// 0.1234 -> '0.123', with a real minus; -0.0001 is '0.000'.
export function fixed(x, digits = 3) {
  const written = Math.abs(x).toFixed(digits);
  return x < 0 && Number(written) !== 0 ? `−${written}` : written;
}

// The same with its sign: 0.1234 -> '+0.123'.
export function signed(x, digits = 3) {
  const written = fixed(x, digits);
  return written.startsWith('−') ? written : `+${written}`;
}

// Two figures: 0.000012 -> '1.2·10⁻⁵', 0.3 -> '0.30'.
export function power(x) {
  if (x === null || !Number.isFinite(x)) return 'no number any more';
  if (x === 0) return '0';
  if (x >= 0.001 && x < 10000) return x < 99.5 ? x.toPrecision(2) : x.toFixed(0);
  const [head, exponent] = x.toExponential(1).split('e');
  return `${head}·10${raised(Number(exponent))}`;
}

export function raised(exponent) {
  return String(exponent).replace('-', '⁻').replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]);
}

// The nodes of a formula.
export function maths(formula) {
  const nodes = [];
  let done = 0;
  for (const found of formula.matchAll(/([A-Za-zα-ω]+)(′?)(?:_(\{[^}]*\}|\w))?/g)) {
    const [whole, name, prime, index] = found;
    nodes.push(minus(formula.slice(done, found.index)));
    nodes.push(name.length === 1 && name !== 'σ' ? el('i', { text: name }) : name, prime);
    if (index) nodes.push(el('sub', { text: minus(index.replace(/[{}]/g, '')) }));
    done = found.index + whole.length;
  }
  nodes.push(minus(formula.slice(done)));
  return nodes.filter((node) => node !== '');
}

function minus(text) {
  return text.replaceAll('-', '−');
}
