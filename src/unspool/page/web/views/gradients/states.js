// How much an answer depends on the hidden state at each token: bars above the words, a row for each
// layer and direction.
//
// In: the answer `states`, the width that there is. Out: elements.

import { seriesColour } from '../../chart.js';
import { el, svg } from '../../dom.js';
import { power } from '../../maths.js';
import { visible } from '../../tokens.js';
import { wordRow } from '../unrolled/chain.js';
import { titleOf } from '../unrolled/choosing.js';

const COLUMN = [26, 96]; // pixels of a word, at least and at most
const HIGH = 64;
const ROOM = 16; // pixels above the bars, for their numbers
const WRITTEN = 56; // pixels of a column from which on numbers fit
const NUMBERS = 600; // that are written, at most
const ROWS = 300; // of the table, at most

export function stateBars(data, width) {
  const count = data.tokens.length;
  const column = Math.max(COLUMN[0], Math.min(COLUMN[1], Math.floor((width - 34) / count)));
  const largest = Math.max(...data.states.flatMap((state) => state.norms)) || 1;
  const written = column >= WRITTEN && count * data.states.length <= NUMBERS;
  return el('div', { class: 'scroll surface', tabindex: '0', role: 'region', 'aria-label': 'Dependence on each state' },
    data.states.map((state) => el('figure', { class: 'state', dataset: { layer: `${state.layer} ${state.direction}` } },
      el('figcaption', { class: 'caption', text: titleOf(state, false) }),
      bars(state, { column, largest, written }))),
    wordRow(data.tokens, column));
}

function bars({ norms, layer, direction }, { column, largest, written }) {
  const wide = Math.min(36, column - 6);
  const high = (norm) => HIGH * norm / largest;
  const x = (i) => (i + 0.5) * column;
  const path = norms.map((norm, i) => {
    const up = high(norm).toFixed(1);
    return `M${x(i) - wide / 2} ${ROOM + HIGH}v-${up}h${wide}v${up}z`;
  });
  return svg('svg', {
    class: 'chart', width: norms.length * column, height: ROOM + HIGH + 1, role: 'img',
    'aria-label': `${titleOf({ layer, direction }, false)}: the numbers are in the table below`,
  },
  svg('path', { class: 'bars', fill: seriesColour(0), d: path.join('') }),
  svg('line', { class: 'axis', x1: 0, x2: norms.length * column, y1: ROOM + HIGH + 0.5, y2: ROOM + HIGH + 0.5 }),
  written ? norms.map((norm, i) => svg('text', {
    x: x(i), y: ROOM + HIGH - high(norm) - 4, 'text-anchor': 'middle', text: power(norm),
  })) : null);
}

// Of a long text, the tokens on which the answer depends most.
export function stateTable(data) {
  const strength = data.tokens.map((_, i) => Math.max(...data.states.map((state) => state.norms[i])));
  const weakest = [...strength].sort((a, b) => b - a)[ROWS - 1] ?? 0;
  const shown = data.tokens.map((_, i) => i).filter((i) => strength[i] >= weakest).slice(0, ROWS);
  const most = shown.length < data.tokens.length ? ', those where it is largest' : '';
  return el('table', null,
    el('caption', { text: `Norm of the gradient at the hidden states of ${shown.length} tokens${most}` }),
    el('thead', null, el('tr', null, el('th', { scope: 'col', text: 'token' }),
      data.states.map((state) => el('th', { scope: 'col', class: 'number', text: titleOf(state, false) })))),
    el('tbody', null, shown.map((i) => el('tr', null,
      el('th', { scope: 'row', class: 'token', text: visible(data.tokens[i]) }),
      data.states.map((state) => el('td', { class: 'number', text: power(state.norms[i]) }))))));
}
