// Positions: what tells a model where a token stands. In: the answer `positions`. Out: the vectors
// of all positions as a heatmap, some of their elements as curves, and one position beside all
// others: its vector, and its product with theirs.

import { diverging } from '../colour.js';
import { lineChart } from '../chart.js';
import { el } from '../dom.js';
import { heatmap } from '../heatmap.js';
import { rangeField, selectField } from '../fields.js';
import { isOfSentences } from '../inputs.js';

const LENGTHS = [16, 32, 64, 128, 256];
const CURVES = 5;

const KINDS = {
  sinusoidal: 'Sinusoidal: sines and cosines from fast to slow, which are added to the vectors of the tokens.',
  learned: 'Learned: a vector for each position, trained like any weight and added to that of the token.',
  rotary: 'Rotary: queries and keys are turned, pair by pair. Shown is what becomes of (1, 0, 1, 0, …).',
  ages: 'Ages: a vector for each age of a sentence, 0 the latest. It is added to the key of the sentence, which the question is compared with; older sentences share the last one.',
  sentences: 'This model has no positions: it reads one sentence after the other. Shown are the sinusoidal ones of a Transformer.',
  none: 'This model has no positions: it reads one token after the other, or windows of them. Shown are the sinusoidal ones of a Transformer.',
};

export const positions = {
  name: 'positions',
  title: 'Positions',
  about: (run) => 'Attention alone does not see order. These vectors tell '
    + `${isOfSentences(run) ? 'a memory how old a sentence is, or ' : ''}a Transformer where a token stands.`,
  applies: (run) => run.views.includes('positions'),

  async show(root, context) {
    const length = context.params.get('length') ?? '64';
    const answer = await context.ask('positions', { length });
    root.append(...drawn(answer, length, context));
  },
};

function drawn({ kind, limit, values }, length, context) {
  const count = values.length;
  const what = kind === 'ages' ? 'age' : 'position';
  const at = Math.min(Number(context.params.get('position') ?? Math.floor(count / 4)), count - 1) || 0;
  const one = el('div', { class: 'columns' });
  const slider = rangeField('position', what === 'age' ? 'Age' : 'Position', { min: 0, max: count - 1, value: at }, (value) => {
    context.set({ position: value });
    showPosition(one, values, value, what);
  });
  showPosition(one, values, at, what);
  const lengths = selectField('length', what === 'age' ? 'Ages shown' : 'Positions shown', LENGTHS, length, (value) => {
    context.go({ length: value, position: null });
  });
  return [
    el('p', { class: 'note', text: KINDS[kind] }),
    el('div', { class: 'controls' }, lengths),
    limit === null ? null : el('p', { class: 'note', text: `There are ${limit} of them: no longer text can be read.` }),
    el('div', { class: 'columns' }, matrix(values, what), curves(values, what)),
    el('h2', { text: `One ${what}` }),
    el('div', { class: 'controls' }, slider),
    one,
  ].filter((node) => node !== null);
}

function matrix(values, what) {
  const most = largest(values);
  return el('figure', { class: 'surface' },
    el('figcaption', null, el('h3', { text: `All ${what}s` }),
      el('p', { class: 'note', text: `A row is ${what === 'age' ? 'an age' : 'a position'}, a column an element of the vectors.` })),
    heatmap({
      values,
      colour: (x) => diverging(x / most),
      label: `${values.length} ${what}s by ${values[0].length} elements, from ${fixed(-most)} to ${fixed(most)}`,
      rows: what, columns: 'element', cell: (x) => fixed(x),
    }),
    scale(most));
}

function curves(values, what) {
  const width = values[0].length;
  const chosen = [...new Set(Array.from({ length: CURVES }, (_, i) => Math.round((i * (width - 1)) / (CURVES * 2))))];
  return el('figure', { class: 'surface' },
    el('figcaption', null, el('h3', { text: 'Some elements' }),
      el('p', { class: 'note', text: `The columns of the matrix as curves over the ${what}s.` })),
    lineChart({
      label: `Elements of the vectors over the ${what}s`, x: what, y: 'value',
      series: chosen.map((i) => ({ name: `element ${i}`, points: values.map((row, t) => [t, row[i]]) })),
    }));
}

function showPosition(node, values, at, what) {
  const products = values.map((row) => dot(row, values[at]));
  const others = products.map((value, t) => [value, t]).filter(([, t]) => t !== at).sort((a, b) => b[0] - a[0]);
  node.replaceChildren(
    el('figure', { class: 'surface' },
      el('figcaption', null, el('h3', { text: `The vector of ${what} ${at}` })),
      lineChart({
        label: `The vector of ${what} ${at}`, x: 'element', y: 'value',
        series: [{ name: `${what} ${at}`, points: values[at].map((value, i) => [i, value]) }],
      })),
    el('figure', { class: 'surface' },
      el('figcaption', null, el('h3', { text: `Its product with every ${what}` })),
      lineChart({
        label: `Products of ${what} ${at} with all ${what}s`, x: what, y: 'product',
        series: [{ name: `with ${what} ${at}`, points: products.map((value, t) => [t, value]) }],
        marks: [{ x: at, text: `itself, ${fixed(products[at])}` }],
      }),
      el('p', {
        class: 'note',
        text: `With itself ${fixed(products[at])}; most alike besides: ${what} ${others[0][1]}, ${fixed(others[0][0])}; `
          + `least: ${what} ${others.at(-1)[1]}, ${fixed(others.at(-1)[0])}.`,
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
