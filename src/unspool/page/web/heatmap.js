// A matrix in colours. In: values (rows of numbers) and a colour for each. Out: a canvas that fills
// its place, with a cursor that tells the value of one cell: it follows the pointer and the arrow
// keys.
//
// options: { values, colour(x), label, rows, columns (what a row and a column are called), cell(x) }

import { el } from './dom.js';

const LARGEST = 360; // pixels of height

export function heatmap({ values, colour, label, rows, columns, cell }) {
  const [height, width] = [values.length, values[0].length];
  let at = [0, 0];
  const canvas = el('canvas', { width, height, 'aria-hidden': 'true' });
  const pen = canvas.getContext('2d');
  values.forEach((row, y) => row.forEach((value, x) => {
    pen.fillStyle = colour(value);
    pen.fillRect(x, y, 1, 1);
  }));
  const frame = el('div', { class: 'heatmap-cursor' });
  const readout = el('p', { class: 'readout' });
  const map = el('div', {
    class: 'heatmap', role: 'slider', tabindex: '0', 'aria-label': `${label}. Arrow keys move in it.`,
    'aria-valuemin': '0', 'aria-valuemax': String(width * height - 1),
    style: { height: `${Math.min(LARGEST, Math.max(120, height * 8))}px` },
    onkeydown: onKey, onpointermove: onPointer, onpointerdown: onPointer,
  }, canvas, frame);

  function point(y, x) {
    at = [Math.min(height - 1, Math.max(0, y)), Math.min(width - 1, Math.max(0, x))];
    const said = `${rows} ${at[0]}, ${columns} ${at[1]}: ${cell(values[at[0]][at[1]])}`;
    readout.textContent = said;
    map.setAttribute('aria-valuenow', String(at[0] * width + at[1]));
    map.setAttribute('aria-valuetext', said);
    const share = (part, whole) => `${(100 * part) / whole}%`;
    frame.style.inset = `${share(at[0], height)} auto auto ${share(at[1], width)}`;
    frame.style.width = share(1, width);
    frame.style.height = share(1, height);
  }

  function onKey(event) {
    const [y, x] = at;
    const moves = {
      ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
      Home: [y, 0], End: [y, width - 1], PageUp: [0, x], PageDown: [height - 1, x],
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    point(...moves[event.key]);
  }

  function onPointer(event) {
    const box = map.getBoundingClientRect();
    point(
      Math.floor(((event.clientY - box.top) / box.height) * height),
      Math.floor(((event.clientX - box.left) / box.width) * width),
    );
  }

  point(0, 0);
  return el('div', null, map, readout);
}
