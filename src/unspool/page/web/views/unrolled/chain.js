// The cell unrolled in time: a column for each token, the token below, the cell with the number of
// its step in the middle, arrows in the order of reading, and what is answered there above.
//
// In: the answer `steps`, the width of a column. Out: an element; a click on it chooses a column.

import { el, svg } from '../../dom.js';
import { short, visible } from '../../tokens.js';

const LETTER = 8; // pixels of a character, about: words that are wider than a column are turned
const LONGEST = 16; // characters of a word
const BAR = 28; // pixels of a probability of 1
const BOX = 26;

export function chain(data, { column, gutter, onchoose }) {
  const words = data.given ?? data.tokens;
  const each = data.choices.length === words.length && data.part === answering(data)
    && data.choices[0].measure === 'probability'; // numbers have no bars
  const width = words.length * column;
  const top = each ? BAR + 6 : 4;
  const middle = top + 16 + BOX / 2;
  const side = Math.min(BOX, column - 6) / 2;
  const x = (i) => (i + 0.5) * column;
  const parts = [];
  words.forEach((word, i) => {
    parts.push(
      svg('line', { class: 'wire', x1: x(i), x2: x(i), y1: middle + BOX / 2 + 12, y2: middle - BOX / 2 - 12 }),
      svg('rect', { class: 'box', x: x(i) - side, y: middle - BOX / 2, width: 2 * side, height: BOX, rx: 5 }),
      svg('text', { x: x(i), y: middle + 4, 'text-anchor': 'middle', text: stepNumber(data, i) }),
    );
    if (i + 1 < words.length && !data.starts.includes(data.window.first + i + 1)) {
      parts.push(joint(x(i) + side, x(i + 1) - side, middle, data.backwards));
    }
    if (each) {
      const high = BAR * data.choices[i].answer_value;
      parts.push(svg('rect', { class: 'chance', x: x(i) - side, y: top - 4 - high, width: 2 * side, height: high }));
    }
  });
  const height = middle + BOX / 2 + 12;
  const order = data.backwards ? 'right to left' : 'left to right';
  const element = el('div', {
    class: 'chain', style: { 'margin-left': `${gutter}px` },
    onclick: (event) => {
      const left = element.getBoundingClientRect().left;
      onchoose(Math.floor((event.clientX - left) / column));
    },
  },
  each ? wordRow(data.choices.map(({ answer }) => answer), column, data.choices) : null,
  svg('svg', {
    width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': `The ${data.cell} cell, ${words.length} times, read from ${order}`,
  }, parts),
  wordRow(words, column));
  return element;
}

// The number of a step in the order of reading, from 1 on; in each text where two are read one by one.
export function stepNumber(data, i) {
  const at = data.window.first + i;
  const start = data.starts.findLast((own) => own <= at);
  const stop = data.starts.find((own) => own > at) ?? data.steps;
  return data.backwards ? stop - at : at - start + 1;
}

// The part whose steps answer: of a translator its decoder, of other models all there is.
function answering(data) {
  return data.layers.some((layer) => layer.part === 'decoder') ? 'decoder' : 'encoder';
}

function joint(from, to, y, backwards) {
  const [tail, tip] = backwards ? [to, from] : [from, to];
  const back = tip > tail ? -5 : 5;
  return svg('g', null,
    svg('line', { class: 'wire', x1: tail, x2: tip + back / 2, y1: y, y2: y }),
    svg('polygon', { class: 'tip', points: `${tip},${y} ${tip + back},${y - 3.5} ${tip + back},${y + 3.5}` }));
}

// Words in columns: what is read, or what is answered with which probability.
export function wordRow(words, column, choices = null) {
  const shown = words.map((word) => short(word, LONGEST));
  const longest = Math.max(...shown.map((word) => word.length));
  return el('div', {
    class: ['word-row', choices && 'answered', longest * LETTER + 4 > column && 'turned'].filter(Boolean).join(' '),
    style: { '--column': `${column}px`, '--longest': `${longest + 1}ch` },
  }, words.map((word, i) => el('span', {
    class: 'token',
    title: visible(word) + (choices ? `, probability ${choices[i].answer_value.toFixed(4)}` : ''),
    text: shown[i],
  })));
}
