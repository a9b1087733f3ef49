// Curves. In: series of points. Out: an element with the curves, axes and a cursor that tells the
// values at one x: it follows the pointer, and the arrow keys, Home and End.
//
// options: { label, x, y, series: [{ name, points: [[x, y]], dots }], marks: [{ x, text }],
//            format(y), formatX(x), log (y on a logarithmic scale), low, high (of y) }
// The curves differ in colour and in their dashes; the legend names them.

import { el, svg } from './dom.js';

const HEIGHT = 252;
const MARGIN = { top: 24, right: 16, bottom: 40, left: 56 };
export const DASHES = ['none', '7 3', '2 3', '9 3 2 3', '4 4', '12 4'];

export function lineChart(options) {
  const series = options.series.map((each) => ({
    ...each, points: each.points.filter(([x, y]) => x !== null && Number.isFinite(y) && (!options.log || y > 0)),
  })).filter((each) => each.points.length > 0);
  if (series.length === 0) return el('p', { class: 'note', text: 'There is nothing to draw yet.' });
  return new LineChart({ formatX: plain, format: plain, marks: [], ...options, series }).node;
}

class LineChart {
  constructor(options) {
    this.options = options;
    const xs = options.series.flatMap(({ points }) => points.map(([x]) => x));
    this.xs = [...new Set(xs)].sort((a, b) => a - b);
    this.at = this.xs.length - 1;
    this.readout = el('p', { class: 'readout' });
    this.picture = el('div', { class: 'picture' });
    this.slider = el('div', {
      class: 'plot', role: 'slider', tabindex: '0', 'aria-label': `${options.label}. Arrow keys move along it.`,
      'aria-valuemin': '0', 'aria-valuemax': String(this.xs.length - 1),
      onkeydown: (event) => this.onKey(event),
      onpointermove: (event) => this.onPointer(event),
      onpointerdown: (event) => this.onPointer(event),
    }, this.picture);
    this.node = el('div', { class: 'chart' }, legend(options.series), this.slider, this.readout);
    this.width = 480;
    this.draw();
    new ResizeObserver(([entry]) => {
      const width = Math.round(entry.contentRect.width);
      if (width > 0 && width !== this.width) {
        this.width = width;
        this.draw();
      }
    }).observe(this.slider);
  }

  draw() {
    const { series, marks, x, y, format, formatX, log } = this.options;
    const ys = series.flatMap(({ points }) => points.map(([, value]) => value));
    this.alongX = scale([this.xs[0], this.xs.at(-1)], [MARGIN.left, this.width - MARGIN.right]);
    const ends = [Math.min(this.options.low ?? Infinity, ...ys), Math.max(this.options.high ?? -Infinity, ...ys)];
    const rows = log ? powers(ends) : ticks(ends, 5);
    const bounds = log ? ends.map(Math.log10) : [Math.min(ends[0], rows[0]), Math.max(ends[1], rows.at(-1))];
    const linear = scale(bounds, [HEIGHT - MARGIN.bottom, MARGIN.top]);
    this.alongY = (value) => linear(log ? Math.log10(value) : value);
    const columns = ticks([this.xs[0], this.xs.at(-1)], Math.max(3, Math.floor(this.width / 110)))
      .filter((value) => value >= this.xs[0] && value <= this.xs.at(-1));
    this.cursor = svg('g', { class: 'cursor' });
    this.picture.replaceChildren(svg('svg', { width: this.width, height: HEIGHT, 'aria-hidden': 'true' },
      rows.map((value) => [
        svg('line', { class: 'axis', x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.alongY(value), y2: this.alongY(value) }),
        svg('text', { x: MARGIN.left - 8, y: this.alongY(value) + 4, 'text-anchor': 'end', text: format(value) }),
      ]).flat(),
      columns.map((value) => svg('text', { x: this.alongX(value), y: HEIGHT - MARGIN.bottom + 18, 'text-anchor': 'middle', text: formatX(value) })),
      svg('text', { x: this.width - MARGIN.right, y: HEIGHT - 4, 'text-anchor': 'end', text: x }),
      svg('text', { x: MARGIN.left, y: HEIGHT - 4, text: `↑ ${y}` }),
      marks.map((mark) => this.mark(mark)).flat(),
      series.map((each, i) => this.curve(each, i)).flat(),
      this.cursor));
    this.point(this.at);
  }

  curve({ points, dots }, i) {
    const path = points.map(([x, y], n) => `${n ? 'L' : 'M'}${this.alongX(x).toFixed(1)} ${this.alongY(y).toFixed(1)}`).join('');
    const colour = seriesColour(i);
    const line = svg('path', { d: path, fill: 'none', stroke: colour, 'stroke-width': 1.75, 'stroke-dasharray': DASHES[i % DASHES.length], 'stroke-linejoin': 'round' });
    if (!dots && points.length > 1) return [line];
    return [line, ...points.map(([x, y]) => svg('circle', { cx: this.alongX(x), cy: this.alongY(y), r: 2.5, fill: colour }))];
  }

  mark({ x, text }) {
    const at = this.alongX(x);
    const right = at > this.width * 0.6;
    return [
      svg('line', { class: 'mark', x1: at, x2: at, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
      svg('text', { x: at + (right ? 4 : -4), y: MARGIN.top - 10, 'text-anchor': right ? 'end' : 'start', text }),
    ];
  }

  // Puts the cursor on the n-th x and says what is there.
  point(n) {
    this.at = Math.min(this.xs.length - 1, Math.max(0, n));
    const { series, format, formatX, x: name } = this.options;
    const x = this.xs[this.at];
    const here = series.map((each, i) => [each, i, each.points.find((point) => point[0] === x)]).filter((each) => each[2]);
    const said = `${name} ${formatX(x)}: ${here.map(([each, , point]) => `${each.name} ${format(point[1])}`).join(', ')}`;
    this.readout.textContent = said;
    this.slider.setAttribute('aria-valuenow', String(this.at));
    this.slider.setAttribute('aria-valuetext', said);
    const at = this.alongX(x);
    this.cursor.replaceChildren(
      svg('line', { x1: at, x2: at, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
      ...here.map(([, i, point]) => svg('circle', { cx: at, cy: this.alongY(point[1]), r: 4, fill: seriesColour(i) })));
  }

  onKey(event) {
    const page = Math.ceil(this.xs.length / 20);
    const moves = {
      ArrowRight: this.at + 1, ArrowLeft: this.at - 1, ArrowUp: this.at + 1, ArrowDown: this.at - 1,
      PageUp: this.at + page, PageDown: this.at - page, Home: 0, End: this.xs.length - 1,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation(); // the view may have uses for these keys elsewhere
    this.point(moves[event.key]);
  }

  onPointer(event) {
    const x = event.clientX - this.picture.getBoundingClientRect().left;
    const far = this.xs.map((value) => Math.abs(this.alongX(value) - x));
    this.point(far.indexOf(Math.min(...far)));
  }
}

export function seriesColour(i) {
  return `var(--series-${(i % 6) + 1})`;
}

// The curves by name, each with a piece of its line.
export function legend(series) {
  if (series.length < 2) return null;
  return el('p', { class: 'legend' }, series.map(({ name }, i) => el('span', null,
    svg('svg', { width: 28, height: 8, 'aria-hidden': 'true', class: 'sample' },
      svg('line', { x1: 0, x2: 28, y1: 4, y2: 4, stroke: seriesColour(i), 'stroke-width': 2, 'stroke-dasharray': DASHES[i % DASHES.length] })),
    ` ${name}`)));
}

// Round numbers that reach over both ends.
export function ticks([low, high], count) {
  if (low === high) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// Powers of ten inside, some of them where they are many.
function powers([low, high]) {
  const first = Math.ceil(Math.log10(low));
  const last = Math.floor(Math.log10(high));
  const every = Math.max(1, Math.ceil((last - first) / 6));
  const found = [];
  for (let power = first; power <= last; power += every) found.push(10 ** power);
  return found.length > 0 ? found : [low];
}

function scale([from, to], [start, end]) {
  return (value) => (to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start));
}

// A number of at most four significant digits, with a true minus.
export function plain(value) {
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(1) : String(Number(value.toPrecision(4)));
  return text.replace('-', '−').replace('e−', 'e-');
}
