// A sheet to draw on. Out: an element, and what was drawn on it as JSON: the way to each point, and 1
// where the pen is lifted after it.

import { el, svg } from './dom.js';

const WIDTH = 320;
const HEIGHT = 200;
const APART = 4; // pixels between two points at least

export class Pad {
  constructor() {
    this.strokes = [];
    this.sheet = svg('svg', {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, class: 'pad', role: 'img', 'aria-label': 'A sheet to draw on',
      onpointerdown: (event) => this.begin(event),
      onpointermove: (event) => this.move(event),
      onpointerup: () => { this.down = false; },
      onpointercancel: () => { this.down = false; },
    });
    this.element = el('div', null, this.sheet);
  }

  begin(event) {
    event.preventDefault();
    event.currentTarget.setPointerCapture?.(event.pointerId);
    this.down = true;
    this.strokes.push([]);
    this.line = svg('polyline', { fill: 'none', stroke: 'var(--ink)', 'stroke-width': 3, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' });
    this.sheet.append(this.line);
    this.add(event);
  }

  move(event) {
    if (this.down) this.add(event);
  }

  add(event) {
    const box = this.sheet.getBoundingClientRect();
    const point = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    const own = this.strokes.at(-1);
    const last = own.at(-1);
    if (last !== undefined && Math.hypot(point[0] - last[0], point[1] - last[1]) < APART) return;
    own.push(point.map((value) => Math.round(value * 10) / 10));
    const shown = own.length > 1 ? own : [...own, ...own];
    this.line.setAttribute('points', shown.map((each) => each.join(',')).join(' '));
  }

  clear() {
    this.strokes = [];
    this.sheet.replaceChildren();
  }

  read() {
    const points = this.strokes.flatMap((own) => own.map((xy, i) => [...xy, i === own.length - 1 ? 1 : 0]));
    if (points.length < 2) throw new Error('there is no drawing yet. Draw one, then look');
    const values = points.map(([x, y, up], i) => (i === 0 ? [0, 0, up]
      : [Math.round(10 * (x - points[i - 1][0])) / 10, Math.round(10 * (y - points[i - 1][1])) / 10, up]));
    return JSON.stringify({ values, name: 'drawn' });
  }
}
