// The view `unrolled`: a recurrent layer step by step. The chain of its steps, its gates and states as
// strips of colour, one unit followed across the text, and one step of it walked through in numbers.
//
// In the address: part, layer, direction; step, a position in the text from 1 on; unit; order.

import { choiceOf, choicesAt } from '../choices.js';
import { el } from '../dom.js';
import { selectField } from '../fields.js';
import { isOverTime } from '../inputs.js';
import { Player } from '../player.js';
import { visible } from '../tokens.js';
import { windowLine } from '../windows.js';
import { chain } from './unrolled/chain.js';
import { ORDERS, chooseByKey, keyOf, keys, titleOf } from './unrolled/choosing.js';
import { Follow } from './unrolled/follow.js';
import { UnrolledOverTime } from './unrolled/overtime.js';
import { Strips } from './unrolled/strips.js';
import { Walk } from './unrolled/walk.js';

const GUTTER = 34; // pixels left of the first column
const COLUMN = [26, 132]; // pixels of a column, at least and at most
const STRIP = 120; // pixels of a strip, about
const ROW = [1, 10]; // pixels of a unit in it

export const unrolled = {
  name: 'unrolled',
  title: 'Unrolled',
  about: 'A recurrent layer reads one token after the other: what its gates let through, what it keeps, what it says.',
  aboutSeries: 'A recurrent layer reads one step after the other: what its gates let through, what it keeps, what it says.',
  applies: (run) => run.views.includes('unrolled'),

  async show(root, context) {
    const { params } = context;
    const names = ['part', 'layer', 'direction', 'first'];
    const asked = Object.fromEntries(names.map((name) => [name, params.get(name)]));
    const { text } = context;
    if (isOverTime(context.run)) {
      const [input, found] = await Promise.all([context.ask('input', { text }), context.ask('steps', { text, ...asked })]);
      // A decoder reads the tokens that it has written, whatever the encoder reads.
      if (found.given === null) new UnrolledOverTime(root, context, input, found).build();
      else new Unrolled(root, context, found).build();
      return;
    }
    const data = await context.ask('steps', { text, ...asked });
    new Unrolled(root, context, data).build();
  },
};

class Unrolled {
  constructor(root, context, data) {
    Object.assign(this, { root, context, data });
    const { params } = context;
    this.count = data.tokens.length;
    this.order = params.get('order') in ORDERS ? params.get('order') : 'movement';
    this.unit = data.units.indexOf(Number(params.get('unit') ?? NaN));
    if (this.unit < 0) this.unit = this.ordered()[0];
    const step = Number(params.get('step') ?? NaN) - 1 - data.window.first;
    this.step = Number.isInteger(step) && step >= 0 && step < this.count ? step : this.turn();
  }

  // The step in which the state of the unit changes most.
  turn() {
    const { arrays, before } = this.data;
    const [past] = Object.values(before);
    const moves = arrays.at(-1).values.map((own, i) => Math.abs(own[this.unit] - past[i][this.unit]));
    return moves.indexOf(Math.max(...moves));
  }

  // The indices of the units in the answer, in the order that is chosen.
  ordered() {
    const indices = this.data.units.map((_, i) => i);
    return this.order === 'index' ? indices : indices.sort((a, b) => this.data.moves[b] - this.data.moves[a]);
  }

  build() {
    const { root, context, data } = this;
    this.player = new Player({
      count: this.count, label: 'Token', signal: context.signal, backwards: data.backwards,
      onstep: (step) => this.choose(step, this.unit),
    });
    this.scroll = el('div', {
      class: 'scroll surface', tabindex: '0', role: 'region', 'aria-label': 'Steps, gates and states',
    });
    this.units = el('select', { id: 'unit', onchange: () => this.choose(this.step, Number(this.units.value)) });
    this.walk = new Walk(data);
    this.numbers = el('div');
    this.answers = el('div', { class: 'answers' });
    root.append(
      el('div', { class: 'controls' },
        selectField('layer', 'Layer', data.layers.map((each) => [keyOf(each), titleOf(each)]), keyOf(data), (value) => {
          const [part, layer, direction] = value.split(' ');
          context.go({ part, layer, direction, first: null, step: null, unit: null });
        }),
        el('label', null, el('span', { text: 'Unit' }), this.units),
        selectField('order', 'Order of units', Object.entries(ORDERS), this.order, (value) => {
          this.order = value;
          context.set({ order: value });
          this.draw();
        })),
      el('div', { class: 'time' }, this.player.element,
        el('span', { class: 'keys note' }, keys('←', '→'), ' time ', keys('↑', '↓'), ' units')),
      ...this.notes(),
      el('div', { class: 'unrolled-panes' },
        el('div', { class: 'left' }, this.scroll, this.numbers, this.answers), this.walk.element),
    );
    root.addEventListener('keydown', (event) => this.onKey(event), { signal: context.signal });
    this.draw();
    // The columns fill the width that there is.
    const observer = new ResizeObserver(() => {
      if (this.columnWidth() !== this.column) this.draw();
    });
    observer.observe(this.scroll);
    context.signal.addEventListener('abort', () => observer.disconnect());
  }

  notes() {
    const { data, context } = this;
    const lines = [];
    const { backwards, given, units, hidden, starts } = data;
    if (starts.length > 1) lines.push(`Each text is read by itself: the second begins at column ${starts[1] + 1}, from a state of zeros.`);
    if (backwards) lines.push('This direction reads the last token first: time runs from right to left.');
    if (given !== null) lines.push('Each step is given the token below, written before, and writes the one above.');
    if (units.length < hidden) lines.push(`Of ${hidden} units the ${units.length} that move most are shown.`);
    const cut = windowLine({ ...data, tokens: { length: data.steps }, written: [] }, context);
    const said = lines.length > 0 ? el('p', { class: 'note', text: lines.join(' ') }) : null;
    return [said, cut].filter((line) => line !== null);
  }

  columnWidth() {
    const room = this.scroll.clientWidth - GUTTER - 34;
    return Math.max(COLUMN[0], Math.min(COLUMN[1], Math.floor(room / this.count)));
  }

  // All that depends on the order of units and the width of the page.
  draw() {
    const { data } = this;
    this.column = this.columnWidth();
    const order = this.ordered();
    const row = Math.max(ROW[0], Math.min(ROW[1], Math.floor(STRIP / order.length)));
    const sizes = { column: this.column, gutter: GUTTER };
    this.strips = new Strips(data, { ...sizes, row, order, onchoose: (step, unit) => this.choose(step, unit) });
    this.follow = new Follow(data, sizes);
    this.marker = el('div', { class: 'now', style: { width: `${this.column}px` } });
    const width = `${GUTTER + this.count * this.column}px`;
    this.scroll.replaceChildren(el('div', { class: 'columns-in-time', style: { width } },
      this.marker,
      chain(data, { ...sizes, onchoose: (step) => this.choose(step, this.unit) }),
      this.strips.element, this.follow.element));
    this.numbers.replaceChildren(this.follow.table);
    this.units.replaceChildren(...order.map((unit) => el('option', { value: unit, text: data.units[unit] })));
    this.update();
    this.reveal();
  }

  choose(step, unit) {
    this.step = Math.max(0, Math.min(this.count - 1, step));
    this.unit = unit;
    const { first } = this.data.window;
    this.context.set({ step: first + this.step + 1, unit: this.data.units[unit] });
    this.update();
    this.reveal();
  }

  update() {
    const { data, step, unit } = this;
    const name = visible((data.given ?? data.tokens)[step]);
    this.units.value = unit;
    this.marker.style.setProperty('left', `${GUTTER + step * this.column}px`);
    this.strips.show(step, unit);
    this.follow.show(step, unit);
    this.walk.show(step, unit, name);
    this.player.show(step, name);
    const own = choicesAt(data.choices, this.count, step);
    this.answers.replaceChildren(...own.map((choice) => choiceOf(choice, this.context.run.task)));
  }

  // Brings the column into sight, in its own box.
  reveal() {
    const left = GUTTER + this.step * this.column;
    const { scrollLeft, clientWidth } = this.scroll;
    if (left < scrollLeft + GUTTER) this.scroll.scrollLeft = left - GUTTER - this.column;
    const right = left + 2 * this.column;
    if (right > scrollLeft + clientWidth) this.scroll.scrollLeft = right - clientWidth;
  }

  onKey(event) {
    chooseByKey(this, event);
  }
}
