// The n-grams of a text as strips below its words. In: the tokens, and groups of filters with the
// n-gram that each answers to. Out: a grid: the words across, a row for each filter, whose strip is
// as wide as its n-gram and the darker the more it answers.

import { ink, sequential } from '../../colour.js';
import { el } from '../../dom.js';
import { signed } from '../../maths.js';
import { short, visible } from '../../tokens.js';

const SHOWN = 60; // tokens of a text that is shown whole; of a longer one, what strips cover
const OUTSIDE = '·';

// groups: [{title, filters: [{filter, width, first, activation, label, weight}]}]
export function roll(tokens, groups, { most, onchoose }) {
  const filters = groups.flatMap((group) => group.filters);
  const { columns, columnOf } = laidOut(tokens, filters);
  const grid = el('div', { class: 'roll', style: { '--columns': columns.length } });
  columns.forEach((text, j) => grid.append(
    el('span', { class: 'roll-word token', style: { 'grid-column': j + 2, 'grid-row': 1 }, text })));
  let row = 2;
  for (const { title, filters: own } of groups) {
    if (title !== null) {
      grid.append(el('h3', { class: 'roll-title', style: { 'grid-row': row }, text: title }));
      row += 1;
    }
    for (const each of own) {
      grid.append(...strip(each, row, columnOf, tokens, most, onchoose));
      row += 1;
    }
  }
  return grid;
}

// The columns: the tokens, a dot for each position outside of the text that a strip covers, and in a
// long text an ellipsis for tokens that none covers. `columnOf` gives the column of a token.
function laidOut(tokens, filters) {
  const low = Math.min(0, ...filters.map((each) => each.first));
  const high = Math.max(tokens.length, ...filters.map((each) => each.first + each.width));
  const covered = new Set(filters.flatMap(
    ({ first, width }) => Array.from({ length: width }, (_, j) => first + j)));
  const columns = [];
  const found = new Map();
  for (let i = low; i < high; i += 1) {
    const inside = i >= 0 && i < tokens.length;
    if (inside && tokens.length > SHOWN && !covered.has(i)) {
      if (columns.at(-1) !== '…') columns.push('…');
    } else {
      columns.push(inside ? short(tokens[i], 16) : OUTSIDE);
      found.set(i, columns.length - 1);
    }
  }
  return { columns, columnOf: (i) => found.get(i) };
}

function strip(each, row, columnOf, tokens, most, onchoose) {
  const colour = sequential(most > 0 ? each.activation / most : 0);
  const speaks = each.label === null ? '' : `, ${signed(each.weight, 2)} for ${visible(each.label)}`;
  const moves = each.label === null ? '' : signed(each.weight * each.activation, 2);
  return [
    el('span', {
      class: 'roll-name', style: { 'grid-row': row }, 'aria-hidden': 'true',
    }, el('span', { text: `${each.filter}` }),
    el('span', { class: 'number', text: moves })),
    el('button', {
      type: 'button',
      class: 'strip',
      id: `filter-${each.filter}`,
      dataset: { filter: each.filter },
      style: {
        'grid-row': row,
        'grid-column': `${columnOf(each.first) + 2} / span ${each.width}`,
        '--behind': colour,
        '--on': ink(colour),
      },
      'aria-label': `Filter ${each.filter}, width ${each.width}: ${ngram(each, tokens)}, ` +
        `activation ${each.activation.toFixed(3)}${speaks}`,
      text: each.activation.toFixed(2),
      onclick: () => onchoose(each.filter),
    }),
  ];
}

export function ngram({ first, width }, tokens) {
  return Array.from({ length: width }, (_, j) => tokens[first + j])
    .map((token) => (token === undefined ? OUTSIDE : visible(token))).join(' ');
}
