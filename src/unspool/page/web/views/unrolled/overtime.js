// A recurrent layer reading a series: its channels, its gates and states below them on the same axis, one
// unit followed over time, and one step of it walked through in numbers.
//
// In the address: part, layer, direction; step, a step of the network from 1 on; unit; order.

import { choiceOf } from '../../choices.js';
import { el } from '../../dom.js';
import { selectField } from '../../fields.js';
import { drawingOf, inputTracks, labelAt, timeOf, unreadLine } from '../../inputs.js';
import { fixed } from '../../maths.js';
import { Player } from '../../player.js';
import { Timeline } from '../../timeline.js';
import { curveTrack, heatTrack, valueAt } from '../../tracks.js';
import { ORDERS, chooseByKey, keyOf, keys, titleOf } from './choosing.js';
import { Walk } from './walk.js';

const ROW = 5; // pixels of a unit
const STRIP = [44, 110]; // pixels of a gate, at least and at most

export class UnrolledOverTime {
  constructor(root, context, input, data) {
    Object.assign(this, { root, context, input, data });
    const { params } = context;
    this.count = data.tokens.length;
    this.order = params.get('order') in ORDERS ? params.get('order') : 'movement';
    this.unit = data.units.indexOf(Number(params.get('unit') ?? NaN));
    if (this.unit < 0) this.unit = this.ordered()[0];
    const step = Number(params.get('step') ?? NaN) - 1;
    this.step = Number.isInteger(step) && step >= 0 && step < this.count ? step : this.turn();
    // What a recursive forecast reads of its own lies behind the series.
    const last = Math.max(input.steps.length, ...data.spans.map(([, end]) => end));
    this.names = Array.from({ length: last }, (_, i) => input.steps[i] ?? data.tokens[valueAt(i, this.count, 0, data.spans)]);
  }

  // The step in which the state of the unit changes most.
  turn() {
    const { arrays, before } = this.data;
    const [past] = Object.values(before);
    const moves = arrays.at(-1).values.map((own, i) => Math.abs(own[this.unit] - past[i][this.unit]));
    return moves.indexOf(Math.max(...moves));
  }

  ordered() {
    const indices = this.data.units.map((_, i) => i);
    return this.order === 'index' ? indices : indices.sort((a, b) => this.data.moves[b] - this.data.moves[a]);
  }

  // The first step of the series that a step of the network reads.
  stepOf(at) {
    return Math.max(0, this.data.spans[at][0]);
  }

  build() {
    const { root, context, data } = this;
    this.player = new Player({
      count: this.count, label: 'Step', signal: context.signal, backwards: data.backwards,
      onstep: (step) => this.choose(step, this.unit),
    });
    this.units = el('select', { id: 'unit', onchange: () => this.choose(this.step, Number(this.units.value)) });
    this.time = new Timeline({
      ...timeOf(this.input, context), steps: this.names, label: 'The series, gates and states', step: this.stepOf(this.step),
      onchoose: (step, track, row) => this.onTime(step, track, row),
    });
    this.drawing = drawingOf(this.input, 'The drawing', (point) => this.onTime(point, null, null));
    this.walk = new Walk(data);
    this.answers = el('div', { class: 'answers' });
    root.append(
      el('div', { class: 'controls' },
        selectField('layer', 'Layer', data.layers.map((each) => [keyOf(each), titleOf(each, false)]), keyOf(data), (value) => {
          const [part, layer, direction] = value.split(' ');
          context.go({ part, layer, direction, step: null, unit: null });
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
        el('div', { class: 'left' }, el('div', { class: 'surface' }, this.drawing?.element, this.time.element), this.answers), this.walk.element),
    );
    root.addEventListener('keydown', (event) => this.onKey(event), { signal: context.signal });
    this.draw();
  }

  notes() {
    const { data, input } = this;
    const { backwards, units, hidden, spans } = data;
    const size = Math.max(...spans.map(([from, to]) => to - from));
    const lines = [unreadLine(input)];
    if (backwards) lines.push('This direction reads the last step first: time runs from right to left.');
    if (size > 1) lines.push(`The model reads ${size} ${timeOf(input, this.context).noun}s as one.`);
    if (this.names.length > input.steps.length) lines.push('Behind the series the model reads its own values.');
    if (units.length < hidden) lines.push(`Of ${hidden} units the ${units.length} that move most are shown.`);
    const shown = lines.filter((line) => line !== null).join(' ');
    return shown === '' ? [] : [el('p', { class: 'note', text: shown })];
  }

  // All that depends on the order of units and on which one is followed.
  draw() {
    const { data, input, context } = this;
    const order = this.ordered();
    const { spans } = data;
    const height = Math.min(STRIP[1], Math.max(STRIP[0], ROW * order.length));
    const across = (values, unit) => values.map((own) => own[unit]);
    const gates = data.arrays.map((array) => {
      const gate = array.kind.endsWith('gate');
      const largest = gate ? 1 : Math.max(...array.values.map((own) => Math.max(...own.map(Math.abs)))) || 1;
      return heatTrack({
        name: array.kind.replaceAll('_', ' '), rows: order.map((unit) => across(array.values, unit)),
        names: order.map((unit) => `unit ${data.units[unit]}`), spans, signed: !gate, most: largest, height,
        scale: `${array.letter}, ${gate ? '0 to 1' : `±${fixed(largest, 2)}`}`, noun: `${array.letter} of `,
        tellRow: () => order.indexOf(this.unit),
      });
    });
    const followed = curveTrack({
      name: `unit ${data.units[this.unit]}`, height: 110,
      curves: data.arrays.map((array) => ({ name: array.kind.replaceAll('_', ' '), values: along(across(array.values, this.unit), spans, this.names.length) })),
    });
    this.time.show([...inputTracks(input, context.run), ...gates, { ...followed, tell: () => '' }]);
    const state = data.arrays.at(-1);
    this.drawing?.colour(across(state.values, this.unit), `${state.kind.replaceAll('_', ' ')} of unit ${data.units[this.unit]} along the strokes: `
      + 'orange above 0, blue below, the thicker the farther from it');
    this.units.replaceChildren(...order.map((unit) => el('option', { value: unit, text: data.units[unit] })));
    this.update();
  }

  onTime(step, track, row) {
    const at = valueAt(step, this.count, 0, this.data.spans);
    const unit = track?.row && row !== null ? this.ordered()[row] : this.unit;
    if (at >= 0) this.choose(at, unit ?? this.unit, step);
  }

  choose(step, unit, shown = null) {
    const before = this.unit;
    this.step = Math.max(0, Math.min(this.count - 1, step));
    this.unit = unit;
    this.context.set({ step: this.step + 1, unit: this.data.units[unit] });
    this.time.choose(shown ?? this.stepOf(this.step));
    if (before === unit) this.update();
    else this.draw();
  }

  update() {
    const { data, step, unit, context } = this;
    this.units.value = unit;
    this.drawing?.at(this.stepOf(step));
    this.walk.show(step, unit, data.tokens[step]);
    this.player.show(step, data.tokens[step]);
    const each = data.choices.length === this.count && data.choices[0].measure === 'probability';
    const choice = data.choices.length === 1 ? data.choices[0] : each ? data.choices[step] : undefined;
    this.answers.replaceChildren(...(choice === undefined ? [] : [choiceOf(choice, context.run.task, labelAt(context.run))]));
  }

  onKey(event) {
    chooseByKey(this, event);
  }
}

// A value for each step of the series; null where the network has none.
function along(values, spans, count) {
  const found = Array(count).fill(null);
  spans.forEach(([from, to], i) => {
    for (let step = Math.max(0, from); step < Math.min(count, to); step += 1) found[step] = values[i];
  });
  return found;
}
