// A drawing of a pen. In: points, and where the pen is lifted. Out: an element with its lines, which
// can be coloured by a number for each point, and with one point marked.

import { diverging } from './colour.js';
import { el, svg } from './dom.js';

const WIDE = 560; // pixels at most
const TALL = 240;
const EDGE = 14; // pixels around it
const THIN = 2;
const THICK = 9; // pixels of a line

// Scales points into a box: { width, height, at(i) -> [x, y] }
export function fitted(x, y, wide = WIDE, tall = TALL) {
  const [left, right, top, bottom] = [least(x), most(x), least(y), most(y)];
  const scale = Math.min((wide - 2 * EDGE) / (right - left || 1), (tall - 2 * EDGE) / (bottom - top || 1));
  return {
    width: Math.round((right - left) * scale + 2 * EDGE),
    height: Math.round((bottom - top) * scale + 2 * EDGE),
    at: (i) => [EDGE + (x[i] - left) * scale, EDGE + (y[i] - top) * scale],
  };
}

function least(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function most(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

export class Drawing {
  // x, y, up: a number a point; onchoose(point): it was clicked on
  constructor({ x, y, up, label, onchoose }) {
    Object.assign(this, { x, y, up });
    this.box = fitted(x, y);
    const { width, height } = this.box;
    this.lines = svg('g');
    this.dot = svg('circle', { class: 'pen-now', r: 6 });
    this.caption = el('p', { class: 'note' });
    this.element = el('figure', { class: 'drawing' },
      svg('svg', {
        viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label,
        onclick: (event) => onchoose?.(this.nearest(event)),
      }, this.lines, this.dot),
      el('figcaption', null, this.caption));
    this.plain();
  }

  // In one colour.
  plain() {
    this.draw(() => ['var(--ink)', THIN]);
    this.caption.textContent = '';
  }

  // Each line by the number of the point at its end.
  colour(values, caption) {
    const largest = Math.max(...values.map(Math.abs)) || 1;
    this.draw((i) => [diverging(values[i] / largest), THIN + (THICK - THIN) * Math.abs(values[i] / largest)], true);
    this.caption.textContent = caption;
  }

  // below: with the bare lines under the coloured ones, which may be as light as the page
  draw(look, below = false) {
    const parts = this.x.map((_, i) => {
      const [colour, width] = look(i);
      const [x2, y2] = this.box.at(i);
      const [x1, y1] = i > 0 && this.up[i - 1] < 0.5 ? this.box.at(i - 1) : [x2, y2];
      const line = (stroke, wide) => svg('line', { x1, y1, x2, y2, stroke, 'stroke-width': wide, 'stroke-linecap': 'round' });
      return [below ? line('var(--edge)', width + 1) : null, line(colour, width)];
    });
    this.lines.replaceChildren(...parts.map(([own]) => own).filter((own) => own !== null), ...parts.map(([, own]) => own));
  }

  // Marks a point.
  at(i) {
    const inside = i >= 0 && i < this.x.length;
    this.dot.setAttribute('visibility', inside ? 'visible' : 'hidden');
    if (!inside) return;
    const [x, y] = this.box.at(i);
    this.dot.setAttribute('cx', x);
    this.dot.setAttribute('cy', y);
  }

  nearest(event) {
    const frame = event.currentTarget.getBoundingClientRect();
    const scale = this.box.width / frame.width;
    const [x, y] = [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
    const far = this.x.map((_, i) => Math.hypot(this.box.at(i)[0] - x, this.box.at(i)[1] - y));
    return far.indexOf(Math.min(...far));
  }
}
