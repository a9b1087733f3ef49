// Positions: what tells a model where a token stands. In: the answer `positions`. Out: the vectors
// of all positions as a heatmap, some of their elements as curves, and one position beside all
// others: its vector, and its product with theirs.

import { diverging } from '../colour.js';
import { lineChart } from '../chart.js';
import { el } from '../dom.js';
import { heatmap } from '../heatmap.js';
import { rangeField, selectField } from '../fields.js';

const LENGTHS = [16, 32, 64, 128, 256];
const CURVES = 5;

const KINDS = {
  sinusoidal: 'Sinusoidal: sines and cosines from fast to slow, which are added to the vectors of the tokens.',
  learned: 'Learned: a vector for each position, trained like any weight and added to that of the token.',
  rotary: 'Rotary: queries and keys are turned, pair by pair. Shown is what becomes of (1, 0, 1, 0, …).',
  none: 'This model has no positions: it reads one token after the other, or windows of them. Shown are the sinusoidal ones of a Transformer.',
};

export const positions = {
  name: 'positions',
  title: 'Positions',
  about: 'Attention alone does not see order. These vectors tell a Transformer where a token stands.',
  applies: (run) => run.views.includes('positions'),

  async show(root, context) {
    const length = context.params.get('length') ?? '64';
    const answer = await context.ask('positions', { length });
    root.append(...drawn(answer, length, context));
  },
};

function drawn({ kind, limit, values }, length, context) {
  const count = values.length;
  const at = Math.min(Number(context.params.get('position') ?? Math.floor(count / 4)), count - 1) || 0;
  const one = el('div', { class: 'columns' });
  const slider = rangeField('position', 'Position', { min: 0, max: count - 1, value: at }, (value) => {
    context.set({ position: value });
    showPosition(one, values, value);
  });
  showPosition(one, values, at);
  const lengths = selectField('length', 'Positions shown', LENGTHS, length, (value) => {
    context.go({ length: value, position: null });
  });
  return [
    el('p', { class: 'note', text: KINDS[kind] }),
    el('div', { class: 'controls' }, lengths),
    limit === null ? null : el('p', { class: 'note', text: `There are ${limit} of them: no longer text can be read.` }),
    el('div', { class: 'columns' }, matrix(values), curves(values)),
    el('h2', { text: 'One position' }),
    el('div', { class: 'controls' }, slider),
    one,
  ].filter((node) => node !== null);
}

function matrix(values) {
  const most = largest(values);
  return el('figure', { class: 'surface' },
    el('figcaption', null, el('h3', { text: 'All positions' }),
      el('p', { class: 'note', text: 'A row is a position, a column an element of the vectors.' })),
    heatmap({
      values,
      colour: (x) => diverging(x / most),
      label: `${values.length} positions by ${values[0].length} elements, from ${fixed(-most)} to ${fixed(most)}`,
      rows: 'position', columns: 'element', cell: (x) => fixed(x),
    }),
    scale(most));
}

function curves(values) {
  const width = values[0].length;
  const chosen = [...new Set(Array.from({ length: CURVES }, (_, i) => Math.round((i * (width - 1)) / (CURVES * 2))))];
  return el('figure', { class: 'surface' },
    el('figcaption', null, el('h3', { text: 'Some elements' }),
      el('p', { class: 'note', text: 'The columns of the matrix as curves over the positions.' })),
    lineChart({
      label: 'Elements of the vectors over the positions', x: 'position', y: 'value',
      series: chosen.map((i) => ({ name: `element ${i}`, points: values.map((row, t) => [t, row[i]]) })),
    }));
}

function showPosition(node, values, at) {
  const products = values.map((row) => dot(row, values[at]));
  const others = products.map((value, t) => [value, t]).filter(([, t]) => t !== at).sort((a, b) => b[0] - a[0]);
  node.replaceChildren(
    el('figure', { class: 'surface' },
      el('figcaption', null, el('h3', { text: `The vector of position ${at}` })),
      lineChart({
        label: `The vector of position ${at}`, x: 'element', y: 'value',
        series: [{ name: `position ${at}`, points: values[at].map((value, i) => [i, value]) }],
      })),
    el('figure', { class: 'surface' },
      el('figcaption', null, el('h3', { text: `Its product with every position` })),
      lineChart({
        label: `Products of position ${at} with all positions`, x: 'position', y: 'product',
        series: [{ name: `with position ${at}`, points: products.map((value, t) => [t, value]) }],
        marks: [{ x: at, text: `itself, ${fixed(products[at])}` }],
      }),
      el('p', {
        class: 'note',
        text: `With itself ${fixed(products[at])}; most alike besides: position ${others[0][1]}, ${fixed(others[0][0])}; `
          + `least: position ${others.at(-1)[1]}, ${fixed(others.at(-1)[0])}.`,
      })));
}

function scale(most) {
  return el('p', { class: 'legend' }, [-1, -0.5, 0, 0.5, 1].map((x) => el('span', null,
    el('span', { class: 'swatch', style: { background: diverging(x) } }), ` ${fixed(x * most)}`)));
}

function largest(values) {
  return Math.max(...values.map((row) => Math.max(...row.map(Math.abs)))) || 1;
}

function dot(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

function fixed(value) {
  return value.toFixed(2).replace('-', '−');
}
