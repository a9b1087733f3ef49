// The view `transcript`: what is written where. The spectrum; ln p of every character at each step, with
// the most probable path and the characters of the text where they were written; the text with the
// confidence of each character; the next best texts.
//
// In the address: at, the frame that is chosen.

import { plain } from '../chart.js';
import { diverging, ink } from '../colour.js';
import { el } from '../dom.js';
import { inputTracks, timeOf, unreadLine } from '../inputs.js';
import { fixed } from '../maths.js';
import { Timeline } from '../timeline.js';
import { heatTrack, valueAt } from '../tracks.js';
import { visible } from '../tokens.js';

const ROW = 15; // pixels of a character
const DOUBTFUL = 0.5; // a confidence below this is marked

export const transcript = {
  name: 'transcript',
  title: 'Transcript',
  about: 'What the model writes, where in the recording, and what else it thought of at each step.',
  working: 'Listening',
  applies: (run) => run.views.includes('transcript'),

  async show(root, context) {
    const { text } = context;
    const [input, data] = await Promise.all([context.ask('input', { text }), context.ask('transcript', { text })]);
    new Transcript(root, context, input, data).build();
  },
};

class Transcript {
  constructor(root, context, input, data) {
    Object.assign(this, { root, context, input, data });
    const at = Number(context.params.get('at') ?? NaN);
    const usual = data.tokens[0]?.first ?? 0;
    this.at = Number.isInteger(at) && at >= 0 && at < input.steps.length ? at : usual;
  }

  build() {
    const { root, context, input, data } = this;
    const [shown] = inputTracks({ ...input, bands: [] }, context.run);
    this.time = new Timeline({
      ...timeOf(input, context), label: 'The recording and what is written', step: this.at,
      onchoose: (step) => this.choose(step),
    });
    this.said = el('p', { class: 'detail', 'aria-live': 'polite' });
    root.classList.add('stack');
    root.append(...[
      unreadLine(input) && el('p', { class: 'note', text: unreadLine(input) }),
      this.text(), el('div', { class: 'surface' }, this.time.element), this.said,
      el('p', { class: 'note', text: this.note() }), this.best(),
    ].filter((part) => part !== null));
    this.time.show([shown, this.lattice()]);
    this.tell();
  }

  note() {
    const { rows, hidden, floor } = this.data;
    const left = hidden === 0 ? '' : hidden === 1 ? ' One character that is nowhere likely is left out.' : ` ${hidden} characters that are nowhere likely are left out.`;
    return `The lattice has ${rows.length > 2 ? `a row for each of ${rows.length - 1} characters` : 'a row for one character'} and one for ∅, the blank, that writes nothing; ␣ is a space. `
      + `Colours are ln p from ${plain(Number(floor.toFixed(1)))} (p = ${Math.exp(floor).toPrecision(1)}) to 0 (p = 1). The orange line is the most `
      + `probable row of each step, the boxes are the characters of the text.${left}`;
  }

  // The text, each character by its confidence; those that are doubtful are marked.
  text() {
    const { tokens, calibrated } = this.data;
    if (tokens.length === 0) return el('p', { class: 'transcript-line', text: 'The model writes nothing: a blank is most probable everywhere.' });
    return el('div', { class: 'transcript-line' },
      el('ol', { 'aria-label': 'The text, a character each' }, tokens.map((token) => el('li', null, el('button', {
        type: 'button', class: `token quiet${token.confidence < DOUBTFUL ? ' doubtful' : ''}`,
        title: `${times(token)}, confidence ${token.confidence.toFixed(3)}`,
        style: shade(1 - token.confidence),
        onclick: () => { this.time.choose(token.first); this.time.seek(); this.choose(token.first); },
      }, el('span', { text: visible(token.text) }), el('small', { text: token.confidence.toFixed(2) }))))),
      el('p', { class: 'note', text: `Below each character its confidence${calibrated ? '' : ', which is the network’s own'}, the more orange the less; `
        + `${fixed(this.data.confidence, 3)} on average.` }));
  }

  lattice() {
    const { rows, values, spans, floor, path, tokens } = this.data;
    const height = ROW * rows.length;
    const track = heatTrack({
      name: 'lattice', rows: values, names: rows, spans, least: floor, most: 0, height, tellRow: () => null,
      scale: 'ln p of each character', beside: rows.map((name, i) => [i, name]),
    });
    const middle = (row) => ((row + 0.5) * height) / rows.length;
    return {
      ...track,
      draw(pen, area) {
        track.draw(pen, area);
        pen.save();
        pen.beginPath();
        pen.rect(area.left, 0, area.width, height);
        pen.clip();
        pen.strokeStyle = area.colour('--series-2');
        pen.lineWidth = 1.75;
        pen.lineJoin = 'round';
        pen.beginPath();
        path.forEach((row, i) => pen.lineTo(area.x((spans[i][0] + spans[i][1]) / 2), middle(row)));
        pen.stroke();
        pen.strokeStyle = area.colour('--ink');
        pen.lineWidth = 1.5;
        tokens.forEach(({ text, first, stop }) => {
          const row = rows.indexOf(text === ' ' ? '␣' : text);
          if (row >= 0) pen.strokeRect(area.x(first), middle(row) - ROW / 2, Math.max(3, area.x(stop) - area.x(first)), ROW);
        });
        pen.restore();
      },
      tell: (step) => {
        const at = valueAt(step, spans.length, 0, spans);
        return at < 0 ? '' : likely(rows, values, at).map(([name, p]) => `${name} ${p.toFixed(3)}`).join(', ');
      },
    };
  }

  choose(step) {
    this.at = step;
    this.context.set({ at: step });
    this.tell();
  }

  // What is written at the chosen frame.
  tell() {
    const { data, input } = this;
    const token = data.tokens.find(({ first, stop }) => this.at >= first && this.at < stop);
    this.said.textContent = token === undefined ? `At ${input.steps[this.at]} nothing is written.`
      : `“${visible(token.text)}”, ${times(token)}, with confidence ${token.confidence.toFixed(3)}.`;
  }

  best() {
    const { candidates } = this.data;
    return el('details', { open: candidates.length > 1 },
      el('summary', { text: `The ${candidates.length} best texts` }),
      el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The best texts' },
        el('table', null,
          el('thead', null, el('tr', null, el('th', { class: 'number', text: 'rank' }), el('th', { text: 'text' }), el('th', { class: 'number', text: 'ln p' }))),
          el('tbody', null, candidates.map(({ text, score }, i) => el('tr', null,
            el('th', { scope: 'row', class: 'number', text: i + 1 }), el('td', { class: 'token', text: text === '' ? '(nothing)' : visible(text) }),
            el('td', { class: 'number', text: fixed(score, 3) })))))));
  }
}

function times({ start, end }) {
  return `${start.toFixed(2)} to ${end.toFixed(2)} s`;
}

// The few most probable rows of a step, with their probabilities.
function likely(rows, values, at) {
  return rows.map((name, i) => [name, Math.exp(values[i][at])]).sort((a, b) => b[1] - a[1]).slice(0, 3);
}

function shade(doubt) {
  const colour = diverging(0.6 * doubt);
  return { 'background-color': colour, color: ink(colour) };
}
