// An answer as a table. In: the JSON of an answer of any task. Out: an element: plain values a row each,
// numbers by name as bars, lists and other objects as short JSON.

import { el } from './dom.js';

const ROWS = 12;
const SHORT = 400; // characters

export function answerOf(answer) {
  const rows = Object.entries(answer).map(([name, value]) => el('tr', null, el('th', { scope: 'row', text: name.replaceAll('_', ' ') }), el('td', null, valueOf(value))));
  return el('table', { class: 'served-answer' }, el('tbody', null, rows));
}

function valueOf(value) {
  if (value === null) return 'none';
  if (typeof value === 'number') return number(value);
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value);
  const shares = !Array.isArray(value) && entries.length > 0 && entries.every(([, each]) => typeof each === 'number' && each >= 0 && each <= 1);
  if (shares) return bars(entries);
  const text = JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(number(each)) : each));
  return el('code', { text: text.length > SHORT ? `${text.slice(0, SHORT)}…` : text });
}

function number(value) {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
}

function bars(entries) {
  const sorted = [...entries].sort(([, a], [, b]) => b - a).slice(0, ROWS);
  return el('dl', { class: 'shares' }, sorted.flatMap(([name, value]) => [
    el('dt', { text: name }),
    el('dd', null, el('meter', { min: 0, max: 1, value, 'aria-label': name }), ` ${value.toFixed(3)}`),
  ]));
}
