// The view `gradients`: how far back in time a recurrent model learns. Its own cell, compared with untrained ones;
// and for the typed text, how much the answer depends on the state at each token.
//
// In the address: steps (back), reads (random or text), draw (bars or lines), hidden (cells that are
// left out), at (the distance that is pointed at), step (which answer of the text).

import { seriesColour } from '../chart.js';
import { clear, el } from '../dom.js';
import { selectField } from '../fields.js';
import { isOverTime } from '../inputs.js';
import { maths } from '../maths.js';
import { short, visible } from '../tokens.js';
import { barCharts, flowTable, linesTogether } from './gradients/flows.js';
import { stateTimeline } from './gradients/overtime.js';
import { stateBars, stateTable } from './gradients/states.js';

const STEPS = ['20', '50', '100', '200', '500'];
const READS = { random: 'random tokens', text: 'the text' };
const READS_SERIES = { random: 'noise', text: 'the series' };
const DRAWN = { bars: 'bars, cell by cell', lines: 'lines, together' };
const NEAR = 300; // answers to choose from, at most

export const gradients = {
  name: 'gradients',
  title: 'Gradients',
  about: 'How far back in time a model learns: what is left of a gradient on its way to earlier states.',
  working: 'Following gradients back in time',
  applies: (run) => run.views.includes('gradients'),

  async show(root, context) {
    const { params, text } = context;
    const reads = params.get('reads') === 'text' ? { text } : { distance: params.get('steps') ?? '100' };
    const [flow, states, input] = await Promise.all([
      context.ask('gradients', reads),
      context.ask('states', { text, step: params.get('step') }),
      isOverTime(context.run) ? context.ask('input', { text }) : null,
    ]);
    new Gradients(root, context, flow.flows, states, input).build();
  },
};

class Gradients {
  constructor(root, context, flows, states, input) {
    const { params } = context;
    this.flows = flows.map((flow, i) => ({ flow, series: i, key: flow.name.replaceAll(/\W+/g, '-') }));
    this.hidden = new Set(params.get('hidden')?.split(' '));
    this.drawn = params.get('draw') in DRAWN ? params.get('draw') : 'bars';
    this.last = flows[0].norms.length - 1;
    const at = Number(params.get('at') ?? Math.min(10, this.last));
    this.at = Number.isInteger(at) && at >= 0 ? Math.min(at, this.last) : 0;
    Object.assign(this, { root, context, states, input });
  }

  get shown() {
    const some = this.flows.filter(({ key }) => !this.hidden.has(key));
    return some.length > 0 ? some : this.flows.slice(0, 1);
  }

  build() {
    const { root, context } = this;
    const { params } = context;
    const { saved } = context.run; // which has no answers to other questions
    this.charts = el('div');
    this.slider = el('input', {
      type: 'range', id: 'at', min: 0, max: this.last, value: this.at,
      oninput: () => this.point(Number(this.slider.value)),
    });
    this.pointed = el('output', { for: 'at' });
    this.table = numbers('Gradients as numbers', () => flowTable(this.shown));
    root.append(
      el('h2', { text: 'From an output back in time' }),
      el('p', { class: 'note' },
        'The first layer of this run, and fresh cells of the same size which read the same. The gradient ',
        formula('∂L/∂s'), ' of an output is followed back from state to state; at the output its length is 1.'),
      el('div', { class: 'controls' },
        selectField('reads', 'Reads', Object.entries(this.readings()), params.get('reads') ?? 'random',
          (reads) => context.go({ reads, at: null }), saved),
        params.get('reads') === 'text' ? null
          : selectField('steps', 'Steps back', STEPS, params.get('steps') ?? '100',
            (steps) => context.go({ steps, at: null }), saved),
        selectField('draw', 'Drawn as', Object.entries(DRAWN), this.drawn, (draw) => {
          this.drawn = draw;
          context.set({ draw });
          this.draw();
        }),
        el('label', null, el('span', { text: 'At distance' }), this.slider, this.pointed)),
      el('fieldset', { class: 'controls cells' },
        el('legend', { class: 'visually-hidden', text: 'Cells to show' }), this.flows.map((each) => this.box(each))),
      this.charts, this.table,
      el('h2', { text: this.input === null ? 'In the text' : 'In the series' }), ...this.dependence(),
    );
    this.draw();
  }

  // What there is to read. Of two texts that are read each by itself it is the first.
  readings() {
    if (this.input !== null) return READS_SERIES;
    return this.states.starts.length > 1 ? { ...READS, text: 'the first text' } : READS;
  }

  drawStates(rows) {
    const { states, context } = this;
    let width = null;
    const observer = new ResizeObserver(() => {
      if (rows.clientWidth === width) return;
      width = rows.clientWidth;
      clear(rows).append(stateBars(states, width));
    });
    observer.observe(rows);
    context.signal.addEventListener('abort', () => observer.disconnect());
  }

  box({ flow, key, series }) {
    const input = el('input', {
      type: 'checkbox', id: `cell-${key}`, checked: !this.hidden.has(key),
      onchange: () => {
        if (input.checked) this.hidden.delete(key);
        else this.hidden.add(key);
        this.context.set({ hidden: [...this.hidden].join(' ') || null });
        this.draw();
      },
    });
    const swatch = el('span', { class: 'swatch', style: { background: seriesColour(series) } });
    return el('label', null, input, swatch, flow.name);
  }

  point(at) {
    this.at = at;
    this.context.set({ at });
    this.draw();
  }

  draw() {
    this.slider.value = this.at;
    this.pointed.textContent = this.at;
    const chart = this.drawn === 'bars' ? barCharts : linesTogether;
    clear(this.charts).append(chart(this.shown, this.at, (at) => this.point(at)));
    this.table.ontoggle();
  }

  // The second half: one answer, and what it depends on.
  dependence() {
    const { states, context } = this;
    const { asked, step } = states;
    const rows = el('div', { class: 'dependence' });
    if (this.input === null) this.drawStates(rows);
    else rows.append(stateTimeline(states, this.input, context));
    const near = asked.map((token, i) => [i, `${i + 1}: ${short(token)}`])
      .slice(Math.max(0, step - NEAR / 2), step + NEAR / 2);
    const unit = this.input === null ? 'token' : 'step';
    const [read, whole] = [states.tokens.length, states.whole].map((count) => count.toLocaleString('en'));
    const cut = read === whole || this.input !== null ? '' : ` Only the first ${read} of ${whole} tokens were read.`;
    const answer = el('strong', { class: 'token', text: visible(states.answer) });
    return [
      el('p', { class: 'note' }, 'How much the answer ', answer,
        `, ${states.measure} ${states.answer_value.toFixed(4)}, depends on the hidden state at each ${unit}: the length of `,
        formula('∂F/∂h_t'), ', with ', formula('F'), ` the ${states.measure === 'number' ? 'answer, in standard deviations' : 'log odds of the answer'}.${cut}`),
      asked.length === 1 ? null : el('div', { class: 'controls' },
        selectField('step', 'Answer at', near, step, (to) => context.go({ step: to }), context.run.saved)),
      rows,
      numbers('Dependence as numbers', () => stateTable(states)),
    ].filter((each) => each !== null);
  }
}

// A table that is made when somebody opens it.
function numbers(name, table) {
  const region = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name });
  const details = el('details', null, el('summary', { text: 'Numbers' }), region);
  details.ontoggle = () => clear(region).append(...(details.open ? [table()] : []));
  return details;
}

function formula(text) {
  return el('span', { class: 'maths' }, maths(text));
}
