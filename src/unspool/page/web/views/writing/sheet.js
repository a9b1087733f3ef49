// The sheet that is written on. In: points, and where the pen is lifted. Out: an element that shows the
// drawing up to a point.

import { fitted } from '../../drawing.js';
import { el, svg } from '../../dom.js';

const TALL = 240; // pixels

export class Sheet {
  constructor({ x, y, up, text }, signal) {
    Object.assign(this, { x, y, up });
    this.line = svg('path', { class: 'ink', fill: 'none' });
    this.pen = svg('circle', { class: 'pen-now', r: 5 });
    this.sheet = svg('svg', { role: 'img', 'aria-label': text === '' ? 'The drawing' : `“${text}”, written by hand` }, this.line, this.pen);
    this.element = el('div', { class: 'sheet' }, this.sheet);
    this.at = 0;
    const observer = new ResizeObserver(() => this.fit());
    observer.observe(this.element);
    signal.addEventListener('abort', () => observer.disconnect());
  }

  // Fills the width that there is.
  fit() {
    const wide = this.element.clientWidth;
    if (wide === 0 || wide === this.wide) return;
    this.wide = wide;
    this.box = fitted(this.x, this.y, wide, TALL);
    this.sheet.setAttribute('width', this.box.width);
    this.sheet.setAttribute('height', this.box.height);
    this.show(this.at);
  }

  show(point) {
    this.at = point;
    if (this.box === undefined) return;
    let path = '';
    for (let i = 0; i <= point; i += 1) {
      const begins = i === 0 || this.up[i - 1] === 1;
      const [x, y] = this.box.at(i).map((value) => value.toFixed(1));
      path += begins ? `M${x} ${y}` : `L${x} ${y}`;
      if (begins && (this.up[i] === 1 || i === point)) path += `L${x} ${y}`; // a dot
    }
    this.line.setAttribute('d', path);
    const [x, y] = this.box.at(point);
    this.pen.setAttribute('cx', x);
    this.pen.setAttribute('cy', y);
    this.pen.classList.toggle('lifted', this.up[point] === 1);
  }
}
