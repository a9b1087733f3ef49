// Numbers as bars. In: rows with a name and a number. Out: a table, each number with its bar.

import { el } from './dom.js';
import { visible } from './tokens.js';

// rows: [{name, value, text, chosen, onclick}]; `value` is from 0 to 1, `text` what is written beside
// the bar. With `onclick` the name is a button.
export function bars(rows, { caption, name, number }) {
  return el('table', { class: 'bars' },
    el('caption', { class: 'visually-hidden', text: caption }),
    el('thead', { class: 'visually-hidden' },
      el('tr', null, el('th', { text: name }), el('th', { text: number }), el('td'))),
    el('tbody', null, rows.map((row) => el('tr', { class: row.chosen ? 'chosen' : null },
      el('th', { scope: 'row' }, named(row)),
      el('td', { class: 'number', text: row.text }),
      el('td', { class: 'bar', 'aria-hidden': 'true' },
        el('span', { style: { width: `${(100 * Math.max(0, row.value)).toFixed(1)}%` } }))))));
}

function named({ name, onclick }) {
  if (onclick === undefined) return el('span', { class: 'token', text: visible(name) });
  return el('button', { type: 'button', class: 'token quiet', text: visible(name), onclick });
}
