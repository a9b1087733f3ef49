// One step of one unit, walked through: the drawing of the cell, its equations, and the numbers that
// satisfy them.
//
// In: the answer `steps`, a step and a unit. Out: a card for each step of the walk. The drawings stay,
// the numbers change.

import { clear, el } from '../../dom.js';
import { fixed, maths } from '../../maths.js';
import { CELLS } from './cells.js';
import { stepNumber } from './chain.js';
import { drawing } from './drawings.js';

export class Walk {
  constructor(data) {
    this.data = data;
    this.cell = CELLS[data.cell];
    this.steps = this.cell === undefined || Object.keys(data.terms).length === 0
      ? [] : this.cell.steps(data);
    this.cards = this.steps.map((step, i) => ({
      step,
      says: el('p', { class: 'says' }),
      numbers: step.lines.map(() => el('div', { class: 'numbers' })),
      number: i + 1,
    }));
    this.title = el('h2', { 'aria-live': 'polite' });
    this.element = el('section', { class: 'walk' }, this.title, this.cards.length > 0
      ? el('ol', { class: 'cards' }, this.cards.map((card) => this.card(card)))
      : el('p', { class: 'note', text: `The equations of ${data.cell} are not known to this page.` }));
  }

  card({ step, says, numbers, number }) {
    return el('li', { class: 'card surface', dataset: { step: step.name } },
      el('h3', null, el('span', { class: 'number', text: number }), ` ${step.title}`),
      drawing(this.data, step.name, `The cell, with what belongs to “${step.title}” in front`),
      says,
      step.lines.map((line, i) => el('div', { class: 'equation' },
        el('div', { class: 'law maths' }, maths(line.law)), numbers[i])));
  }

  show(step, unit, name) {
    this.title.textContent = `Unit ${this.data.units[unit]}, step ${stepNumber(this.data, step)}: “${name}”`;
    const n = numbersOf(this.data, step, unit);
    Object.assign(n, this.cell?.derive(n));
    for (const { step: own, says, numbers } of this.cards) {
      clear(says).append(...filled(own.says, n));
      own.lines.forEach((line, i) => clear(numbers[i]).append('= ', ...filled(line.numbers, n)));
    }
  }
}

// The numbers of a step and a unit by the names that the templates have for them.
export function numbersOf(data, step, unit) {
  const n = {};
  for (const { letter, values } of data.arrays) n[letter] = values[step][unit];
  for (const [letter, values] of Object.entries(data.before)) n[`${letter}0`] = values[step][unit];
  for (const [letter, terms] of Object.entries(data.terms)) {
    for (const [term, values] of Object.entries(terms)) {
      n[`${letter}.${term}`] = Array.isArray(values[0]) ? values[step][unit] : values[unit];
    }
  }
  return n;
}

// A template with its numbers: {f} is one, {f%} one as a percentage. A negative one that follows an
// operator is put into brackets.
function filled(template, n) {
  return template.split(/(\{[^}]+\})/).flatMap((piece, i, pieces) => {
    if (i % 2 === 0) return [piece];
    const percent = piece.endsWith('%}');
    const value = n[piece.slice(1, percent ? -2 : -1)];
    if (percent) return [`${Math.round(100 * value)}\u00a0%`];
    const shown = el('data', { value: value.toFixed(6), text: fixed(value) });
    const bracketed = shown.textContent.startsWith('−') && /[+−·/] $/.test(pieces[i - 1]);
    return bracketed ? ['(', shown, ')'] : [shown];
  });
}
