// The view `ahead`: the past of a series, what the model expects and how sure it is, what came; and
// what each past step contributed to the value at one step ahead.
//
// In the address: step, a step ahead from 1 on; target, coverage.

import { plain } from '../chart.js';
import { el } from '../dom.js';
import { rangeField, selectField } from '../fields.js';
import { fixed } from '../maths.js';
import { Timeline } from '../timeline.js';
import { barTrack, curveTrack, heatTrack } from '../tracks.js';

const PERCENT = (level) => `${+(100 * level).toFixed(1)} %`;

export const ahead = {
  name: 'ahead',
  title: 'Forecast',
  about: 'What came before, what the model expects next with its interval, and what each past step contributed to one step ahead.',
  working: 'Reading the past',
  applies: (run) => run.views.includes('ahead'),

  async show(root, context) {
    const { params, text } = context;
    const own = { text, target: params.get('target'), coverage: params.get('coverage') };
    const data = await context.ask('ahead', own);
    const view = new Forecast(root, context, data);
    view.build();
    await view.explain();
  },
};

class Forecast {
  constructor(root, context, data) {
    Object.assign(this, { root, context, data });
    this.last = data.past.length; // the first step ahead
    const asked = Number(context.params.get('step') ?? 1);
    const horizon = data.center.length;
    this.ahead = Number.isInteger(asked) ? Math.min(horizon, Math.max(1, asked)) : 1;
    this.why = null;
  }

  build() {
    const { context, data, root } = this;
    const { saved } = context.run;
    this.note = el('p', { class: 'note', role: 'status' });
    this.problem = el('p', { class: 'error', role: 'alert', hidden: true });
    this.said = el('p', { class: 'detail', 'aria-live': 'polite' });
    this.time = new Timeline({
      steps: data.steps, label: 'The past, the forecast and what contributed to it',
      step: this.last + this.ahead - 1, signal: context.signal,
      onchoose: (step) => this.choose(step - this.last + 1),
    });
    root.classList.add('stack');
    root.append(
      el('div', { class: 'controls' },
        data.targets.length > 1 ? selectField('forecast-target', 'Channel', data.targets.map((name, i) => [i, name]),
          data.target, (target) => context.go({ target }), saved) : null,
        selectField('forecast-coverage', 'Interval', data.levels.map((level) => [level, PERCENT(level)]),
          data.level, (coverage) => context.go({ coverage }), saved),
        saved ? selectField('forecast-step', 'Step ahead', data.saved, this.ahead, (step) => this.choose(Number(step)))
          : rangeField('forecast-step', 'Step ahead', { min: 1, max: data.center.length, value: this.ahead },
            (step) => this.choose(step))),
      el('div', { class: 'surface' }, this.time.element), this.said, this.problem, this.note);
    this.draw();
  }

  choose(ahead) {
    if (ahead < 1) return; // a step of the past
    if (this.context.run.saved && !this.data.saved.includes(ahead)) return;
    this.ahead = ahead;
    this.context.set({ step: ahead });
    const control = document.getElementById('forecast-step');
    control.value = ahead;
    if (control.nextElementSibling) control.nextElementSibling.textContent = ahead;
    this.time.choose(this.last + ahead - 1);
    this.explain();
  }

  async explain() {
    const { context, data } = this;
    const asked = this.ahead;
    try {
      const why = await context.ask('reasons', {
        text: context.text, target: context.params.get('target'), step: this.ahead,
      });
      if (context.signal.aborted || asked !== this.ahead) return;
      this.why = why;
      this.problem.hidden = true;
    } catch (error) {
      if (error.name === 'AbortError' || context.signal.aborted) return;
      this.why = null;
      this.problem.hidden = false;
      this.problem.textContent = `What each step contributed is not known: ${error.message}`;
    }
    this.draw();
    this.tell(data);
  }

  draw() {
    const { data, last, why } = this;
    const tracks = [curveTrack({
      name: data.targets[data.target], height: 220, marks: [last],
      curves: [
        { name: 'before', values: data.past },
        { name: 'the model', values: data.center, first: last },
        ...(data.came.length > 0 ? [{ name: 'what came', values: data.came, first: last }] : []),
      ],
      areas: [{ name: `${PERCENT(data.level)} interval`, low: data.low, high: data.high, first: last }],
    })];
    if (why !== null) {
      const most = Math.max(...why.values.map(Math.abs)) || 1;
      tracks.push(barTrack({
        name: 'contribution', signed: true, first: why.first, values: why.values, height: 110,
        scale: `of each step to the value at ${why.asked}`, most,
      }));
      if (why.channels.length > 1) {
        const largest = Math.max(...why.channels.flatMap((own) => own.values.map(Math.abs))) || 1;
        tracks.push(heatTrack({
          name: 'by channel', rows: why.channels.map((own) => own.values), names: why.channels.map((own) => own.name),
          first: why.first, signed: true, most: largest, height: Math.min(160, 16 * why.channels.length), tellRow: () => null,
        }));
      }
    }
    this.time.show(tracks);
  }

  tell(data) {
    const i = this.ahead - 1;
    const came = data.came[i] === undefined || data.came[i] === null ? '' : ` What came is ${plain(data.came[i])}.`;
    const interval = data.low[i] === null || data.high[i] === null ? 'an interval without an end'
      : `from ${plain(data.low[i])} to ${plain(data.high[i])}`;
    this.said.textContent = `At ${data.steps[this.last + i]}, ${this.ahead} of ${data.center.length} steps ahead, the model `
      + `expects ${plain(data.center[i])}, with ${PERCENT(data.level)} confidence ${interval}.${came}`;
    if (this.why === null) {
      this.note.textContent = '';
      return;
    }
    const { values, start, end, first } = this.why;
    const sum = values.reduce((a, b) => a + b, 0);
    const best = values.map((value, n) => [value, n]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3)
      .map(([value, n]) => `${data.steps[first + n]} (${fixed(value, 3)})`).join(', ');
    const read = data.read > 0 ? ` The model reads the last ${(this.last - data.read).toLocaleString('en')} steps.` : '';
    this.note.textContent = `Start ${fixed(start, 3)} (every past step at the level of the window) + contributions `
      + `${fixed(sum, 3)} ${Math.abs(start + sum - end) < 1e-4 ? '=' : '≈'} ${fixed(end, 3)}. Largest: ${best}.${read}`;
  }
}
