// The words that look, one of them chosen, with what it looks at and what the model answers there. In:
// a kind of attention, a trace. Out: an element; `show` puts a row into it.

import { choiceOf, choicesAt } from '../../choices.js';
import { ink, sequential } from '../../colour.js';
import { clear, el } from '../../dom.js';
import { Player } from '../../player.js';
import { choose, line, visible } from '../../tokens.js';

export class Reader {
  // onrow(row): a row was chosen; `keys` says which keys do so; `reduces`: weights are the shares of a state
  constructor({ kind, trace, reduces, keys, signal, onrow }) {
    Object.assign(this, { kind, trace, reduces });
    const { axis, first, names } = kind.rows;
    this.line = axis === null ? null : line(names, {
      name: kind.hops ? 'Hops' : axis === 'written' ? 'What is written' : 'What is read',
      first,
      onchoose: (at) => onrow(at - first),
    });
    this.player = names.length < 2 ? null : new Player({
      count: names.length, label: nameOfRows(kind), signal, onstep: onrow,
    });
    this.player?.element.append(keys);
    this.looks = el('p', { class: 'looks' });
    this.columns = el('div');
    this.origin = el('p', { class: 'origin soft' });
    this.choice = el('div');
    this.element = el('div', { class: 'surface reader' },
      this.line, this.player?.element,
      el('div', { class: 'columns' }, el('div', null, this.looks, this.columns, this.origin), this.choice));
  }

  // `chosen` is the row of the line and of the slider, `row` the one whose weights are shown, on a scale
  // up to `most`; `whose` is added where they are not those of one head. `origin` says where the token
  // comes from, and `marked` are the columns that it was copied from, of a model that copies.
  show({ chosen, row, weights, most, whose, marked = [], origin = '' }) {
    const { axis, first, names } = this.kind.rows;
    if (this.line !== null) {
      choose(this.line, first + chosen);
      [...this.line.children].forEach((word, i) => (
        word.classList.toggle('later', axis === 'written' && !this.kind.hops && i > row)));
    }
    this.player?.show(chosen, visible(names[chosen]));
    this.looks.textContent = `${this.who(names[row], weights)}${whose}:`;
    clear(this.columns).append(this.shaded(weights, most, marked));
    this.origin.textContent = origin;
    this.origin.hidden = origin === '';
    clear(this.choice).append(...this.choicesOf(row).map((choice) => choiceOf(choice, this.trace.task)));
  }

  who(name, weights) {
    if (this.reduces) {
      const sum = weights.reduce((a, b) => a + b, 0);
      return `In ${name} the last state is made of, ${sum.toFixed(2)} in all`;
    }
    if (this.kind.rows.axis === 'written') {
      return this.kind.hops ? `In ${name} the model looks at` : `To write “${visible(name)}”, the model looks at`;
    }
    return this.kind.rows.axis === 'read'
      ? `“${visible(name)}” looks at` : 'To make one vector of the text, the model looks at';
  }

  // The words that are looked at, each with its weight.
  shaded(weights, most, marked) {
    const digits = digitsOf(Math.max(...weights));
    return line(this.kind.columns.names, {
      name: 'What it looks at',
      first: this.kind.columns.first,
      of: (j) => {
        const colour = sequential(weights[j] / most);
        const [note, label] = [weights[j].toFixed(digits), `weight ${weights[j].toFixed(4)}`];
        return { note, label, colour, ink: ink(colour), kind: marked.includes(j) ? 'source' : undefined };
      },
    });
  }

  // What the model answers at a row; while the source of a translation is read there is nothing.
  choicesOf(row) {
    const { choices, task, tokens, written } = this.trace;
    const { axis, first } = this.kind.rows;
    if (['translate', 'summarize'].includes(task) && axis !== 'written') return [];
    return choicesAt(choices, (axis === 'written' ? written : tokens).length, first + row);
  }
}

// What a row is called on its slider.
export function nameOfRows({ rows, hops }) {
  if (hops) return 'Hop';
  return rows.axis === 'written' ? 'Step' : 'Token';
}

// Of weights up to `most`.
export function digitsOf(most) {
  return most < 0.1 ? 3 : 2;
}
