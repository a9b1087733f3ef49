// Saliency of a series: what each step, and each channel at it, contributes to an answer, under the
// curves.
//
// In the address: step (which answer of a label a step), answer, method, at (the step that is pointed at).

import { choiceOf } from '../../choices.js';
import { clear, el } from '../../dom.js';
import { selectField } from '../../fields.js';
import { channelTrack, drawingOf, inputTracks, labelAt, timeOf, unreadLine } from '../../inputs.js';
import { fixed, signed } from '../../maths.js';
import { Timeline } from '../../timeline.js';
import { visible } from '../../tokens.js';
import { barTrack, valueAt } from '../../tracks.js';
import { CLOSE, METHODS, reasonsFor, strongest } from './asking.js';

const ROWS = 20; // of the table

export class SaliencyOverTime {
  constructor(root, context, input, found) {
    Object.assign(this, { root, context, input, choices: found.choices, spans: found.spans });
    const { params } = context;
    const asked = params.get('step');
    this.step = asked in found.choices ? Number(asked) : found.step;
    this.choice = found.choices[this.step];
    this.answer = params.get('answer') ?? this.choice.answer;
    this.method = params.get('method') in METHODS ? params.get('method') : 'integrated';
    const at = Number(params.get('at') ?? NaN);
    this.at = Number.isInteger(at) && at >= 0 && at < input.steps.length ? at : null;
  }

  build() {
    const { context, input, root } = this;
    this.note = el('p', { class: 'note', role: 'status' });
    this.problem = el('p', { class: 'error', role: 'alert', hidden: true });
    this.table = el('div');
    this.another = el('button', { type: 'button', id: 'explain-step', hidden: true, onclick: () => context.go({ step: this.asks, answer: null }) });
    this.time = new Timeline({
      ...timeOf(input, context), label: 'The series and what its steps contribute', onchoose: (step) => this.point(step),
      step: this.at ?? Math.max(0, this.spans[this.step]?.[0] ?? 0),
    });
    this.drawing = drawingOf(input, 'The drawing and what its points contribute', (point) => this.pick(point));
    root.classList.add('stack');
    root.append(...[
      this.controls(), unreadLine(input) && el('p', { class: 'note', text: unreadLine(input) }),
      el('div', { class: 'beside' }, choiceOf(this.choice, context.run.task, labelAt(context.run)), this.drawing?.element), this.problem,
      el('div', { class: 'surface' }, this.time.element, this.another), this.note, this.table,
    ].filter((part) => part !== null));
    this.time.show(inputTracks(input, context.run));
  }

  controls() {
    const { context } = this;
    const { run } = context;
    const likely = this.choice.alternatives.map((each) => each.answer);
    const answers = [...new Set([this.answer, this.choice.answer, ...likely, ...(run.labels ?? [])])];
    // Words that are written, none of which belongs to a step.
    const { written } = this;
    const words = this.choices.map((own, i) => [String(i), `${i + 1}: ${visible(own.asked)}`]);
    return el('div', { class: 'controls' },
      written ? selectField('saliency-word', 'Word', words, String(this.step), (step) => context.go({ step, answer: null }), run.saved) : null,
      selectField('saliency-answer', 'Answer', answers, this.answer, (answer) => context.go({ answer }), run.saved),
      selectField('saliency-method', 'Method', Object.entries(METHODS), this.method, (method) => context.go({ method }), run.saved));
  }

  pick(step) {
    this.time.choose(step);
    this.point(step);
  }

  point(step) {
    this.at = step;
    this.context.set({ at: step });
    this.drawing?.at(step);
    const answer = valueAt(step, this.spans.length, 0, this.spans);
    const own = answer >= 0 && answer !== this.step && !this.context.run.saved;
    this.another.hidden = !own;
    this.asks = answer;
    if (own) this.another.textContent = `Explain the answer at ${this.input.steps[step]}: ${this.choices[answer].answer}`;
  }

  async explain() {
    const found = await reasonsFor(this, 'Reading the series again, with and without its steps …');
    if (found === null) return;
    this.found = found;
    this.draw();
  }

  // Whether the answers are the words of a text that is written.
  get written() {
    return this.choices.length > 1 && this.spans.length === 0;
  }

  draw() {
    const { found, input, context } = this;
    const { values, channels, first, spans } = found;
    const tracks = [...inputTracks(input, context.run), barTrack({
      name: 'contribution', signed: true, values, spans, height: 110,
      scale: 'of each step: upwards and orange for the answer, downwards and blue against it',
    })];
    if (channels.length > 1) tracks.push(channelTrack(input, channels, { spans }));
    this.drawing?.colour(values, 'orange speaks for the answer, blue against it, the thicker the more; each line for the point at its end');
    this.time.show(tracks);
    this.note.textContent = this.sum();
    if (this.at === null) this.time.choose(Math.max(0, spans[strongest(values)][0]));
    this.drawing?.at(this.time.step);
    this.drawTable();
  }

  // How the start and the contributions make up the answer.
  sum() {
    const { method, values, total, gap, points, unit, start, end, answer_value: value, measure, asked } = this.found;
    const sum = values.reduce((a, b) => a + b, 0);
    const where = asked === '' || this.written ? '' : ` at ${asked}`;
    if (method !== 'integrated') {
      return `Slopes at the series alone, in one step. They add up to ${signed(sum, 4)}, which means nothing in particular.`;
    }
    const [from, to] = [start, end].map((x) => fixed(x, 4));
    const reached = measure === 'number' ? to : `log odds ${to}, probability ${value.toFixed(4)}`;
    const lost = gap <= CLOSE * Math.max(unit, Math.abs(total)) ? '' : ` They should add up to ${signed(total, 4)}, but on `
      + 'the way from a flat series to this one the answer changes faster than can be followed.';
    return `Start ${from} (every channel at its mean) + contributions ${fixed(sum, 4)} `
      + `${Math.abs(start + sum - end) < 1e-4 ? '=' : '≈'} ${reached} of “${this.found.answer}”${where}; ${points} points.${lost}`;
  }

  // The steps that contribute most, and the answer without each of them.
  drawTable() {
    const { values, first, spans, deletions, measure } = this.found;
    const without = new Map(deletions.map((each) => [each.step, each]));
    const order = values.map((_, i) => i).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, ROWS);
    const rivals = measure !== 'number' && !this.choice.given;
    const row = (i) => {
      const other = without.get(first + i);
      return el('tr', { onclick: () => this.pick(spans[i][0]) },
        el('th', { scope: 'row', class: 'token', text: this.input.steps[spans[i][0]] }),
        el('td', { class: 'number', text: signed(values[i], 4) }),
        el('td', { class: 'number', text: other === undefined ? '–' : other.answer_value.toFixed(4) }),
        rivals ? el('td', { text: other?.answer ?? '–' }) : null);
    };
    clear(this.table).append(el('details', null,
      el('summary', { text: `The ${order.length} steps that contribute most` }),
      el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Contributions' },
        el('table', { class: 'contributions' },
          el('thead', null, el('tr', null, el('th', { text: 'step' }), el('th', { class: 'number', text: 'for it' }),
            el('th', { class: 'number', text: 'at its means instead' }), rivals ? el('th', { text: 'most probable then' }) : null)),
          el('tbody', null, order.map(row))))));
  }
}
