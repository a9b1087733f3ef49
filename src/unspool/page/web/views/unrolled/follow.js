// One unit followed across the tokens: its gates, and its candidate and states, as lines.
//
// In: the answer `steps`, a unit. Out: two charts with the columns of the strips, and on demand a
// table of all numbers.

import { DASHES, seriesColour } from '../../chart.js';
import { clear, el, svg } from '../../dom.js';
import { fixed } from '../../maths.js';
import { visible } from '../../tokens.js';
import { stepNumber } from './chain.js';
import { plain } from './strips.js';

const HIGH = 96;
const DOTS = 64; // of a line, at most
const ROOM = 10; // above and below the lines
const APART = 12; // pixels between numbers of the axis

export class Follow {
  constructor(data, { column, gutter }) {
    Object.assign(this, { data, column, gutter });
    const gates = data.arrays.filter((array) => array.kind.endsWith('gate'));
    const states = data.arrays.filter((array) => !array.kind.endsWith('gate'));
    this.groups = [gates, states].filter((group) => group.length > 0);
    this.element = el('div', { class: 'follow' });
    this.rows = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Numbers of the unit' });
    this.table = el('details', { ontoggle: () => this.fill() },
      this.summary = el('summary'), this.rows);
    this.unit = null;
  }

  show(step, unit) {
    if (unit !== this.unit) {
      this.unit = unit;
      this.values = [];
      clear(this.element).append(...this.groups.map((group) => this.chart(group)));
      this.summary.textContent = `All numbers of unit ${this.data.units[unit]}`;
      this.fill();
    }
    for (const { array, value } of this.values) value.textContent = fixed(array.values[step][unit]);
  }

  chart(group) {
    const { column, gutter, unit } = this;
    const name = `${group.map((array) => plain(array.kind)).join(', ')} of unit ${this.data.units[unit]}`;
    const gates = group[0].kind.endsWith('gate');
    const all = group.flatMap((array) => array.values.map((own) => own[unit]));
    const [low, high] = gates ? [0, 1] : [Math.min(0, ...all), Math.max(0, ...all)];
    const y = (value) => ROOM + HIGH * (1 - (value - low) / (high - low || 1));
    const x = (i) => gutter + (i + 0.5) * column;
    const width = gutter + group[0].values.length * column;
    const ticks = [0, ...[low, high].filter((end) => Math.abs(y(end) - y(0)) > APART)];
    const legend = el('p', { class: 'legend caption', style: { 'padding-left': `${gutter}px` } },
      group.map((array, i) => {
        const value = el('span', { class: 'value' });
        this.values.push({ array, value });
        return el('span', null, sample(i), ' ', plain(array.kind), ' ', el('i', { text: array.letter }), ' ', value);
      }));
    return el('figure', null, legend, svg('svg', {
      class: 'chart', width, height: HIGH + 2 * ROOM, role: 'img',
      'aria-label': `${name}; the numbers are in the table below`,
    },
    ticks.map((tick) => [
      svg('line', { class: 'axis', x1: gutter, x2: width, y1: y(tick), y2: y(tick) }),
      svg('text', {
        x: gutter - 4, y: y(tick) + 4, 'text-anchor': 'end', text: fixed(tick, gates || tick === 0 ? 0 : 1),
      }),
    ]).flat(),
    group.map((array, nth) => [
      curve(nth, array.values.map((own, i) => `${x(i)},${y(own[unit])}`).join(' ')),
      ...(array.values.length > DOTS ? [] : array.values.map((own, i) => svg('circle', {
        cx: x(i), cy: y(own[unit]), r: 2.5, fill: seriesColour(nth),
      }))),
    ]).flat()));
  }

  // The table is made when somebody opens it.
  fill() {
    clear(this.rows);
    if (!this.table.open || this.unit === null) return;
    const { arrays, tokens } = this.data;
    this.rows.append(el('table', null,
      el('caption', { text: `Unit ${this.data.units[this.unit]}, step by step` }),
      el('thead', null, el('tr', null, ['step', 'token', ...arrays.map((array) => plain(array.kind))]
        .map((name, i) => el('th', { scope: 'col', class: i === 1 ? null : 'number', text: name })))),
      el('tbody', null, tokens.map((token, i) => el('tr', null,
        el('td', { class: 'number', text: stepNumber(this.data, i) }),
        el('th', { scope: 'row', class: 'token', text: visible(token) }),
        arrays.map((array) => el('td', { class: 'number', text: fixed(array.values[i][this.unit]) })))))));
  }
}

function sample(nth) {
  return svg('svg', { class: 'sample', width: 28, height: 8, 'aria-hidden': 'true' }, curve(nth, '0,4 28,4'));
}

function curve(nth, points) {
  return svg('polyline', {
    class: 'curve', points, stroke: seriesColour(nth), 'stroke-dasharray': DASHES[nth % DASHES.length],
  });
}
