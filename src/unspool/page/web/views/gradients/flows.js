// What is left of a gradient by its distance from the output, on a logarithmic scale: bars, a chart
// for each cell, or lines in one chart.
//
// In: the flows of the answer `gradients`, a distance to point at. Out: elements; a click on a chart
// points at another distance.

import { DASHES, seriesColour } from '../../chart.js';
import { el, svg } from '../../dom.js';
import { power, raised } from '../../maths.js';

const LEAST = -12; // powers of ten below which a gradient is nothing, and above which it is anything
const MOST = 12;
const THOUSANDTH = -3;
const SIZE = { width: 340, height: 160, left: 38, right: 4, top: 8, bottom: 36 };
const LABELS = 140; // pixels for the names of lines
const APART = 15; // pixels between these

// What becomes of the gradient of a cell, in words.
export function verdict(flow) {
  const last = flow.norms.length - 1;
  const share = flow.norms[last] === null ? null : flow.norms[last] / flow.norms[0];
  if (flow.verdict === 'vanishes') {
    return `vanishes: ${steps(flow.reach + 1)} back, less than a thousandth is left`;
  }
  if (flow.verdict === 'lasts') return `lasts: after ${steps(last)} ${power(share)} of it is left`;
  const grown = share === null ? 'too large for a number' : `${power(share)} times as long`;
  return `explodes: after ${steps(last)} it is ${grown}`;
}

function steps(count) {
  return count === 1 ? '1 step' : `${count} steps`;
}

// A chart of bars for each flow; `series` is the number of its colour.
export function barCharts(flows, at, onpoint) {
  const scale = scaleOf(flows.map(({ flow }) => flow));
  return el('div', { class: 'columns flows' }, flows.map(({ flow, series }) => {
    const frame = new Frame(flow.norms.length, scale, SIZE);
    return el('figure', { class: 'surface', dataset: { cell: flow.name } },
      el('figcaption', null, el('strong', { text: flow.name }), el('p', null, verdict(flow), singular(flow))),
      frame.draw(flow.name, onpoint,
        svg('path', { class: 'bars', fill: seriesColour(series), d: frame.bars(flow.norms) }),
        svg('path', { class: 'bar-at', d: frame.bars(flow.norms, at) })),
      el('p', { class: 'pointed note', text: `${at} steps before the output: ${power(flow.norms[at])}` }));
  }));
}

// All flows as lines of one chart, their names at their ends.
export function linesTogether(flows, at, onpoint) {
  const frame = new Frame(flows[0].flow.norms.length, scaleOf(flows.map(({ flow }) => flow)),
    { ...SIZE, width: 940, height: 320, right: LABELS });
  const names = apart(flows.map(({ flow, series }) => ({
    name: flow.name, series, y: frame.y(flow.norms.findLast((norm) => norm !== null)),
  })), frame.floor);
  const lines = flows.map(({ flow, series }) => svg('polyline', {
    class: 'curve', points: frame.line(flow.norms), stroke: seriesColour(series), 'stroke-dasharray': DASHES[series],
  }));
  const labels = names.map(({ name, series, y }) => svg('text', {
    class: 'line-name', style: { color: seriesColour(series) }, x: frame.right + 8, y: y + 4, text: name,
  }));
  return el('figure', {
    class: 'surface flows scroll', tabindex: '0', role: 'region', 'aria-label': 'Gradients of all cells',
  },
    frame.draw(flows.map(({ flow }) => flow.name).join('; '), onpoint, ...lines, ...labels,
      svg('line', { class: 'at', x1: frame.x(at), x2: frame.x(at), y1: SIZE.top, y2: frame.floor })),
    el('ul', { class: 'verdicts' }, flows.map(({ flow }) => el('li', null,
      el('strong', { text: flow.name }), ' ', verdict(flow), '; ',
      el('span', { class: 'pointed', text: `${at} steps before the output: ${power(flow.norms[at])}` })))));
}

function singular(flow) {
  const [only, ...more] = flow.largest_singular_values;
  return only === undefined || more.length > 0
    ? '' : `. The largest singular value of U is ${only.toFixed(2)}`;
}

// The powers of ten that the axis goes from and to.
function scaleOf(flows) {
  const logs = flows.flatMap((flow) => flow.norms.filter((norm) => norm > 0).map(Math.log10));
  const low = Math.max(LEAST, Math.min(THOUSANDTH - 1, Math.floor(Math.min(...logs))));
  return [low, Math.min(MOST, Math.max(1, Math.ceil(Math.max(...logs))))];
}

// Axes, and where a distance and a norm are between them.
class Frame {
  constructor(count, [low, high], size) {
    Object.assign(this, { count, low, high, size });
    this.right = size.width - size.right;
    this.floor = size.height - size.bottom;
  }

  x(distance) {
    const { left } = this.size;
    return left + (distance + 0.5) * (this.right - left) / this.count;
  }

  y(norm) {
    const log = norm > 0 ? Math.log10(norm) : this.low;
    const share = (Math.min(this.high, Math.max(this.low, log)) - this.low) / (this.high - this.low);
    return this.floor - share * (this.floor - this.size.top);
  }

  // The bars of all distances, or of one.
  bars(norms, only = null) {
    const wide = Math.max(0.75, 0.8 * (this.right - this.size.left) / this.count);
    return norms.map((norm, i) => {
      if (norm === null || (only !== null && i !== only)) return '';
      const left = this.x(i) - wide / 2;
      return `M${left.toFixed(1)} ${this.floor}V${this.y(norm).toFixed(1)}h${wide.toFixed(2)}V${this.floor}z`;
    }).join('');
  }

  // Up to where nothing is left.
  line(norms) {
    return norms.map((norm, i) => (norm === null || norm < 10 ** this.low
      ? '' : `${this.x(i).toFixed(1)},${this.y(norm).toFixed(1)}`)).join(' ');
  }

  draw(name, onpoint, ...shapes) {
    const { size, low, high, floor, right } = this;
    const at = (p) => this.y(10 ** p);
    const every = high - low > 8 ? 6 : 3;
    const powers = Array.from({ length: high - low + 1 }, (_, i) => low + i)
      .filter((p) => p % every === 0 || p === THOUSANDTH);
    const chart = svg('svg', {
      class: 'chart', viewBox: `0 0 ${size.width} ${size.height}`, role: 'img',
      'aria-label': `Norm of the gradient by distance: ${name}. The numbers are in the table below`,
      onclick: (event) => {
        const box = chart.getBoundingClientRect();
        const x = (event.clientX - box.left) / box.width * size.width;
        const distance = Math.floor((x - size.left) / (right - size.left) * this.count);
        onpoint(Math.max(0, Math.min(this.count - 1, distance)));
      },
    },
    powers.map((p) => [
      svg('line', { class: p === THOUSANDTH ? 'axis limit' : 'axis', x1: size.left, x2: right, y1: at(p), y2: at(p) }),
      svg('text', { x: size.left - 6, y: at(p) + 4, 'text-anchor': 'end', text: p === 0 ? '1' : `10${raised(p)}` }),
    ]).flat(),
    shapes,
    [0, Math.floor(this.count / 2), this.count - 1].map((d) => svg('text', {
      x: this.x(d), y: floor + 14, 'text-anchor': d === 0 ? 'start' : d === this.count - 1 ? 'end' : 'middle', text: d,
    })),
    svg('text', { x: (size.left + right) / 2, y: floor + 28, 'text-anchor': 'middle', text: 'steps before the output' }));
    return chart;
  }
}

// Names pushed downwards until none stands on another, and up again from below the floor.
function apart(names, floor) {
  const sorted = [...names].sort((a, b) => a.y - b.y);
  sorted.forEach((each, i) => {
    if (i > 0) each.y = Math.max(each.y, sorted[i - 1].y + APART);
  });
  sorted.reverse().forEach((each, i) => {
    each.y = Math.min(each.y, i > 0 ? sorted[i - 1].y - APART : floor);
  });
  return sorted;
}

// The numbers at some distances, as a table.
export function flowTable(flows) {
  const last = flows[0].flow.norms.length - 1;
  const shown = [1, 2, 5, 10, 20, 50, 100, 200, 500].filter((d) => d < last).concat(last);
  return el('table', null,
    el('caption', { text: 'What is left of a gradient, so many steps before the output' }),
    el('thead', null, el('tr', null, el('th', { scope: 'col', text: 'cell' }),
      shown.map((d) => el('th', { scope: 'col', class: 'number', text: d })))),
    el('tbody', null, flows.map(({ flow }) => el('tr', null, el('th', { scope: 'row', text: flow.name }),
      shown.map((d) => el('td', { class: 'number', text: power(flow.norms[d]) }))))));
}
