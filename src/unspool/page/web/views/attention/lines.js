// Attention as lines between words. In: the names of rows and columns, and a matrix of weights. Out:
// two columns of words with a line from each word on the left to those on the right that it looks
// at; the wider and the stronger, the more. One row can be lit.

import { svg } from '../../dom.js';
import { short } from '../../tokens.js';

const STEP = 24; // pixels between words
const CHARACTER = 7.9; // pixels of a character
const SPAN = 190; // pixels that names on the other side and the lines need
const FAINT = 0.1; // of the largest weight: what is below is drawn only in the row that is lit
const MOST = 900; // lines at once

export class Lines {
  constructor({ rows, columns, width, onpoint, onchoose }) {
    const [left, right] = [rows, columns].map((names) => {
      const most = namesRoom(names, width);
      return names.map((name) => short(name, most));
    });
    const longest = (names) => Math.max(...names.map((name) => [...name].length)) * CHARACTER;
    const height = STEP * Math.max(left.length, right.length);
    this.from = longest(left) + 10;
    this.to = Math.max(this.from + 90, Math.min(width - longest(right) - 10, this.from + 420));
    const whole = this.to + longest(right) + 10;
    this.behind = svg('g', { class: 'faint' });
    this.front = svg('g', { class: 'lit' });
    const word = (text, i, side) => svg('text', {
      x: side === 'row' ? this.from - 6 : this.to + 6,
      y: middle(i), 'text-anchor': side === 'row' ? 'end' : 'start', 'dominant-baseline': 'central',
      class: side, dataset: { at: i }, text,
    });
    this.rows = left.map((text, i) => word(text, i, 'row'));
    this.columns = right.map((text, i) => word(text, i, 'column'));
    this.band = svg('rect', { class: 'band', x: 0, width: this.from, height: STEP - 4, rx: 4 });
    this.element = svg('svg', {
      class: 'lines', role: 'img', width: whole, height, viewBox: `0 0 ${whole} ${height}`,
    }, this.band, this.behind, this.front, this.rows, this.columns);
    const rowAt = (event) => {
      const box = this.element.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top) / STEP);
      return event.clientX - box.left <= this.from && row < left.length ? row : null;
    };
    this.element.addEventListener('pointermove', (event) => onpoint(rowAt(event), null));
    this.element.addEventListener('pointerleave', () => onpoint(null, null));
    this.element.addEventListener('click', (event) => {
      if (rowAt(event) !== null) onchoose(rowAt(event));
    });
  }

  // All weights that are worth a line, the strongest on top; the largest, `most`, is the widest.
  draw(matrix, most) {
    this.most = most;
    const strong = matrix.flatMap((row, i) => row.map((weight, j) => ({ i, j, weight })))
      .filter((line) => line.weight >= FAINT * this.most)
      .sort((a, b) => b.weight - a.weight).slice(0, MOST).reverse();
    this.behind.replaceChildren(...strong.map((line) => this.line(line)));
  }

  light(matrix, row) {
    const own = row === null ? [] : matrix[row];
    this.front.replaceChildren(...own.map((weight, j) => ({ i: row, j, weight }))
      .filter((line) => line.weight >= 0.02 * this.most).map((line) => this.line(line)));
    this.element.classList.toggle('one', row !== null);
    this.band.setAttribute('visibility', row === null ? 'hidden' : 'visible');
    if (row !== null) this.band.setAttribute('y', middle(row) - STEP / 2 + 2);
    this.rows.forEach((word, i) => word.classList.toggle('chosen', i === row));
    const most = Math.max(...own, 0);
    this.columns.forEach((word, j) => {
      const share = most > 0 ? own[j] / most : 0;
      word.classList.toggle('chosen', row !== null && share > 0.5);
      word.classList.toggle('dim', row !== null && share < 0.1);
    });
  }

  line({ i, j, weight }) {
    const share = Math.min(1, weight / this.most);
    return svg('line', {
      x1: this.from, y1: middle(i), x2: this.to, y2: middle(j),
      'stroke-width': (0.5 + 3.5 * share).toFixed(2),
      'stroke-opacity': (0.1 + 0.9 * share).toFixed(3),
    });
  }

  // Where a row is, for the box that scrolls.
  top(row) {
    return middle(row) - STEP / 2;
  }
}

// Characters of a name, at most. Sentences, which often begin alike, get as many as there is room for.
function namesRoom(names, width) {
  if (names.some((name) => /\S\s+\S/.test(name))) return Math.max(11, Math.floor((width - SPAN) / CHARACTER));
  return width < 420 ? 11 : 14;
}

function middle(i) {
  return (i + 0.5) * STEP;
}
