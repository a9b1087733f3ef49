// The view `saliency`: why this answer. What each token contributes to it, and what the answer would
// be without the token.

import { choiceOf } from '../choices.js';
import { diverging, ink } from '../colour.js';
import { clear, el } from '../dom.js';
import { selectField } from '../fields.js';
import { isOfSentences, isOverTime, placesOf, stepsOf } from '../inputs.js';
import { fixed, signed } from '../maths.js';
import { choose, line, visible } from '../tokens.js';
import { cutLine } from '../windows.js';
import { CLOSE, METHODS, reasonsFor, strongest } from './saliency/asking.js';
import { SaliencyOverTime } from './saliency/overtime.js';

const ROWS = 60; // of the table, unless all are asked for
const NOTED = 400; // tokens that have their number below them
const SMALL = 0.1; // contributions below it need more digits

export const saliency = {
  name: 'saliency',
  title: 'Saliency',
  about: (run) => `Why this answer: orange ${isOfSentences(run) ? 'sentences' : 'words'} speak for it (+), blue ones against it (−).`,
  aboutSeries: (run) => `Why this answer: what each ${stepsOf(run)}, and each channel at it, contributes to it.${placesOf(run)}`,
  applies: (run) => run.views.includes('saliency'),

  // The answer is there at once; its reasons take longer and come into the view when it stands.
  async show(root, context) {
    const { text } = context;
    const view = isOverTime(context.run)
      ? new SaliencyOverTime(root, context, ...await Promise.all([context.ask('input', { text }), context.ask('choices', { text })]))
      : new Saliency(root, context, await context.ask('trace', { text }));
    view.build();
    view.explain();
  },
};

class Saliency {
  constructor(root, context, trace) {
    Object.assign(this, { root, context, trace });
    const { params } = context;
    this.unit = isOfSentences(context.run) ? 'sentence' : 'token';
    const asked = params.get('step');
    this.step = asked in trace.choices ? Number(asked) : trace.step;
    this.choice = trace.choices[this.step];
    this.answer = params.get('answer') ?? this.choice.answer;
    this.method = params.get('method') in METHODS ? params.get('method') : 'integrated';
    this.chosen = null;
    this.all = false;
  }

  build() {
    this.note = el('p', { class: 'note', role: 'status' });
    this.problem = el('p', { class: 'error', role: 'alert', hidden: true });
    this.words = el('div', null, line(this.trace.tokens, { name: 'The text' }));
    this.detail = el('p', { class: 'detail', 'aria-live': 'polite' });
    this.table = el('div');
    this.root.classList.add('stack');
    this.root.append(...[
      this.controls(), cutLine(this.trace, this.unit), choiceOf(this.choice, this.trace.task), this.problem,
      el('div', { class: 'surface' }, this.words, this.note), this.detail, this.table,
    ].filter((part) => part !== null));
    const { signal } = this.context;
    this.root.addEventListener('keydown', (event) => this.onKey(event), { signal });
  }

  controls() {
    const { context, trace } = this;
    const { run } = context;
    const asked = trace.choices.map((each, i) => [i, `${i + 1} ${visible(each.asked)}`]);
    const label = trace.written.length > 0 ? 'Token that is written' : 'At';
    return el('div', { class: 'controls' },
      asked.length > 1
        ? selectField('saliency-step', label, asked, this.step,
          (step) => context.go({ step, answer: null, token: null }), run.saved)
        : null,
      selectField('saliency-answer', 'Answer', this.answers().map((name) => [name, visible(name)]),
        this.answer, (answer) => context.go({ answer }), run.saved),
      selectField('saliency-method', 'Method', Object.entries(METHODS), this.method,
        (method) => context.go({ method }), run.saved));
  }

  // What can be asked about: all labels, or the most probable tokens.
  answers() {
    const likely = this.choice.alternatives.map((each) => each.answer);
    const labels = this.context.run.labels ?? [];
    return [...new Set([this.answer, this.choice.answer, ...likely, ...labels])];
  }

  async explain() {
    const found = await reasonsFor(this, `Reading the text again, with and without its ${this.unit}s …`);
    if (found === null) return;
    this.found = found;
    this.draw();
  }

  draw() {
    const { values, tokens } = this.found;
    this.most = Math.max(...values.map(Math.abs)) || 1;
    this.digits = this.most < SMALL ? 4 : 2;
    this.without = new Map(this.found.deletions.map((each) => [each.token, each]));
    this.note.textContent = this.sum();
    this.line = line(tokens, {
      name: `The text, coloured by what each ${this.unit} contributes`,
      of: (i) => {
        const colour = diverging(values[i] / this.most);
        return {
          note: tokens.length <= NOTED ? signed(values[i], this.digits) : undefined,
          label: `${visible(tokens[i])}: ${signed(values[i], 4)}${this.flips(i) ? ', decisive' : ''}`,
          colour, ink: ink(colour), kind: this.flips(i) ? 'flips' : '',
        };
      },
      onchoose: (at) => this.pick(at),
    });
    clear(this.words).append(this.line, this.legend());
    this.drawTable();
    const asked = this.context.params.get('token');
    this.tell(asked in tokens ? Number(asked) : strongest(values));
  }

  // How the start and the contributions make up the answer.
  sum() {
    const { method, values, total, gap, steps, unit, start, end, answer_value: value } = this.found;
    const sum = values.reduce((a, b) => a + b, 0);
    if (method !== 'integrated') {
      return `Slopes at the text alone, in one step. They add up to ${signed(sum, 4)}, which means ` +
        'nothing in particular.';
    }
    const [from, to] = [start, end].map((x) => fixed(x, 4));
    const equal = Math.abs(start + sum - end) < 1e-4 ? '=' : '≈';
    const reached = this.isNumber ? to : `log odds ${to}, probability ${value.toFixed(4)}`;
    const close = gap <= CLOSE * Math.max(unit, Math.abs(total));
    const lost = close ? '' : ` They should add up to ${signed(total, 4)}, but on the way from no ${this.unit} ` +
      'to these the answer changes faster than can be followed.';
    return `Start ${from} (no ${this.unit} is read) + contributions ${fixed(sum, 4)} ${equal} ${reached} of ` +
      `“${visible(this.found.answer)}”; ${steps} points.${lost}`;
  }

  // Whether another answer is most probable without token i than with it.
  flips(i) {
    if (!this.hasRivals) return false;
    const [mostProbable] = this.choice.alternatives;
    return this.without.has(i) && this.without.get(i).answer !== mostProbable.answer;
  }

  get isNumber() {
    return this.found.measure === 'number';
  }

  // Whether answers exclude each other, so that another one may be given instead.
  get hasRivals() {
    return !this.isNumber && !this.choice.given;
  }

  legend() {
    const swatches = [-1, -0.5, 0, 0.5, 1].map((x) => el('span', null,
      el('span', { class: 'swatch', style: { background: diverging(x) } }),
      ` ${signed(x * this.most, this.digits)}`));
    const flips = this.found.tokens.some((_, i) => this.flips(i));
    return el('p', { class: 'legend' }, swatches, flips
      ? el('span', null, el('span', { class: 'word flips sample', text: this.unit === 'token' ? 'word' : this.unit }),
        ' without it another answer is most probable')
      : null);
  }

  drawTable() {
    const { values, tokens } = this.found;
    const order = values.map((_, i) => i).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
    const shown = this.all ? order : order.slice(0, ROWS);
    clear(this.table).append(
      el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Contributions' },
        el('table', { class: 'contributions' },
          el('thead', null, el('tr', null,
            el('th', { text: this.unit }), el('th', { class: 'number', text: 'for it' }), el('td'),
            this.without.size > 0 ? el('th', { class: 'number', text: 'without it' }) : null,
            this.without.size > 0 && this.hasRivals ? el('th', { text: 'most probable then' }) : null)),
          el('tbody', null, shown.map((i) => this.row(i, tokens[i], values[i]))))),
      ...(shown.length < order.length
        ? [el('button', {
          type: 'button', text: `Show all ${order.length.toLocaleString('en')} ${this.unit}s`,
          onclick: () => { this.all = true; this.drawTable(); this.mark(); },
        })] : []));
  }

  row(i, token, value) {
    const other = this.without.get(i);
    const bar = el('span', {
      class: value < 0 ? 'against' : 'for',
      style: {
        width: `${(50 * Math.abs(value) / this.most).toFixed(1)}%`,
        background: diverging(value < 0 ? -0.6 : 0.6),
      },
    });
    return el('tr', { dataset: { at: i }, onclick: () => this.pick(i) },
      el('th', { scope: 'row', class: 'token', text: visible(token) }),
      el('td', { class: 'number', text: signed(value, 4) }),
      el('td', { class: 'two-sided', 'aria-hidden': 'true' }, bar),
      this.without.size > 0
        ? el('td', { class: 'number', text: other === undefined ? '–' : other.answer_value.toFixed(4) }) : null,
      this.without.size > 0 && this.hasRivals ? el('td', null,
        other === undefined ? '–' : el('span', { class: 'token', text: visible(other.answer) }),
        this.flips(i) ? el('strong', { text: ' changes' }) : null) : null);
  }

  // Chooses a token: in the text, in the table and in the address.
  pick(i) {
    this.context.set({ token: i });
    this.tell(i);
  }

  tell(i) {
    this.chosen = i;
    this.mark();
    const { tokens, values, answer, answer_value: value, measure } = this.found;
    const other = this.without.get(i);
    const then = this.flips(i) ? `, and “${visible(other.answer)}” is most probable` : '';
    this.detail.replaceChildren(
      el('span', { class: 'token', text: visible(tokens[i]) }),
      ` speaks ${values[i] < 0 ? 'against' : 'for'} “${visible(answer)}” by ${signed(values[i], 4)}.`,
      other === undefined ? '' : ` Without it the ${measure} is ${other.answer_value.toFixed(4)} ` +
        `instead of ${value.toFixed(4)}${then}.`);
  }

  mark() {
    choose(this.line, this.chosen);
    for (const row of this.table.querySelectorAll('tr[data-at]')) {
      row.classList.toggle('chosen', Number(row.dataset.at) === this.chosen);
    }
  }

  onKey(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined || this.line === undefined || event.target.matches('select, input')) return;
    event.preventDefault();
    this.pick(Math.min(this.found.tokens.length - 1, Math.max(0, this.chosen + by)));
  }
}
