// A matrix of weights as a picture on a canvas. In: rows of numbers from 0 on. Out: a small picture
// of one head, or a large one with names beside it, in which a row can be pointed at and chosen.

import { el } from '../../dom.js';
import { sequential } from '../../colour.js';
import { short } from '../../tokens.js';

const SMALLEST = 6; // pixels of a cell
const LARGEST = 28;
const RING = '#d55e00'; // stands out from every weight
const SENTENCE = 32; // characters of a sentence above its column
const LABEL = 13; // pixels that a name needs

// One pixel a weight; CSS makes it as large as wanted.
export function picture(matrix, most) {
  const [height, width] = [matrix.length, matrix[0].length];
  const canvas = el('canvas', { width, height });
  const pixels = new ImageData(width, height);
  const colours = palette();
  matrix.forEach((row, i) => row.forEach((weight, j) => {
    const at = Math.round(255 * Math.min(1, weight / most));
    pixels.data.set(colours.subarray(4 * at, 4 * at + 4), 4 * (i * width + j));
  }));
  canvas.getContext('2d').putImageData(pixels, 0, 0);
  return canvas;
}

function palette() {
  const colours = new Uint8ClampedArray(4 * 256);
  for (let i = 0; i < 256; i += 1) {
    colours.set([...sequential(i / 255).match(/\d+/g).map(Number), 255], 4 * i);
  }
  return colours;
}

function isCharacter(name) {
  return [...name].length === 1;
}

// The large picture. `onpoint(row, column)` follows the pointer and ends with (null, null);
// `onchoose(row)` is a click. Rows and columns count from 0 in the matrix.
export class Matrix {
  constructor({ rows, columns, width, onpoint, onchoose }) {
    this.rows = rows.map((name) => short(name, 12));
    this.columns = columns.map((name) => short(name, /\S\s+\S/.test(name) ? SENTENCE : 12));
    // Characters need no turning; the end of the text, behind them, does.
    this.upright = this.columns.slice(0, -1).every(isCharacter);
    this.canvas = el('canvas', { class: 'matrix', role: 'img' });
    this.context = this.canvas.getContext('2d');
    const style = window.getComputedStyle(document.documentElement);
    this.font = `12px ${style.getPropertyValue('--mono')}`;
    this.colours = Object.fromEntries(
      ['ink', 'soft', 'accent', 'line'].map((n) => [n, style.getPropertyValue(`--${n}`)]));
    this.measure(width);
    this.canvas.addEventListener('pointermove', (event) => onpoint(...this.at(event)));
    this.canvas.addEventListener('pointerleave', () => onpoint(null, null));
    this.canvas.addEventListener('click', (event) => {
      const [row] = this.at(event);
      if (row !== null) onchoose(row);
    });
  }

  measure(width) {
    this.context.font = this.font;
    const room = (names) => Math.ceil(
      8 + Math.max(...names.map((name) => this.context.measureText(name).width)));
    this.left = room(this.rows);
    this.top = this.columns.every(isCharacter) ? LABEL + 6 : room(this.columns);
    const fits = Math.floor((width - this.left - 2) / this.columns.length);
    this.cell = Math.max(SMALLEST, Math.min(LARGEST, fits));
    this.width = this.left + this.cell * this.columns.length + 2;
    this.height = this.top + this.cell * this.rows.length + 2;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.context.scale(ratio, ratio);
  }

  // `marks`: [row, column] of cells that get a ring, what was copied.
  draw(matrix, most, row, column, marks = []) {
    const { context, cell, left, top, colours } = this;
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(picture(matrix, most),
      left, top, cell * this.columns.length, cell * this.rows.length);
    context.strokeStyle = colours.line;
    context.strokeRect(left - 0.5, top - 0.5,
      cell * this.columns.length + 1, cell * this.rows.length + 1);
    this.names(row, column);
    this.rings(marks);
    if (row !== null) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 2;
      context.strokeRect(left - 1, top + row * cell - 1, cell * this.columns.length + 2, cell + 2);
      context.lineWidth = 1;
    }
  }

  rings(marks) {
    const { context, cell, left, top } = this;
    context.strokeStyle = RING;
    context.lineWidth = 2;
    for (const [i, j] of marks) {
      context.beginPath();
      context.arc(left + (j + 0.5) * cell, top + (i + 0.5) * cell, Math.max(2, cell / 2 - 2), 0, 2 * Math.PI);
      context.stroke();
    }
    context.lineWidth = 1;
  }

  // Every name, or every n-th where there is no room; always that of the row and of the column.
  names(row, column) {
    const { context, cell, left, top, colours } = this;
    const every = Math.ceil(LABEL / cell);
    context.font = this.font;
    context.textBaseline = 'middle';
    const near = (i, chosen) => chosen !== null && i !== chosen && Math.abs(i - chosen) < every;
    const write = (name, i, chosen) => {
      if ((i % every !== 0 && i !== chosen) || near(i, chosen)) return;
      context.fillStyle = i === chosen ? colours.accent : colours.soft;
      context.fillText(name, 0, 0);
    };
    this.rows.forEach((name, i) => this.turned(0, left - 6, top + (i + 0.5) * cell, 'right',
      () => write(name, i, row)));
    this.columns.forEach((name, j) => {
      const [angle, align, y] = this.upright && isCharacter(name)
        ? [0, 'center', top - 10] : [-Math.PI / 2, 'left', top - 6];
      this.turned(angle, left + (j + 0.5) * cell, y, align, () => write(name, j, column));
    });
  }

  turned(angle, x, y, align, draw) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate(angle);
    this.context.textAlign = align;
    draw();
    this.context.restore();
  }

  at(event) {
    const row = Math.floor((event.offsetY - this.top) / this.cell);
    const column = Math.floor((event.offsetX - this.left) / this.cell);
    const inside = row >= 0 && row < this.rows.length;
    return [inside ? row : null,
      inside && column >= 0 && column < this.columns.length ? column : null];
  }
}
