// Attention over time: what a step looks at, under the series; and the weights of all steps.
//
// In the address: kind, layer, head (a number, or mean), row (a step of the series).

import { clear, el } from '../../dom.js';
import { selectField } from '../../fields.js';
import { drawingOf, inputTracks, timeOf, unreadLine } from '../../inputs.js';
import { Timeline } from '../../timeline.js';
import { barTrack, heatTrack, valueAt } from '../../tracks.js';
import { TITLES, keenest, largest, mean, scaleEnd } from './weights.js';

export class AttentionOverTime {
  constructor(root, context, input, data) {
    Object.assign(this, { root, context, input, data });
    this.spans = data.edges.slice(0, -1).map((edge, i) => [edge, data.edges[i + 1]]);
    this.names = this.spans.map(([from]) => input.steps[from]);
    this.read();
  }

  read() {
    const { params } = this.context;
    const { kinds } = this.data;
    this.kind = kinds.find((own) => own.kind === params.get('kind')) ?? kinds[0];
    this.layer = Math.max(0, this.kind.layers.findIndex((own) => String(own.layer) === params.get('layer')));
    const { heads } = this.kind.layers[this.layer];
    const head = Number(params.get('head'));
    this.head = heads.length > 1 && !(head >= 1 && head <= heads.length) ? 'mean' : Math.max(1, head || 1);
    this.weights = this.head === 'mean' ? mean(heads) : heads[this.head - 1];
    this.most = scaleEnd(this.kind);
    const row = Number(params.get('row') ?? NaN);
    const usual = () => this.spans[keenest(this.weights, { rows: { axis: 'read', names: this.names }, columns: { axis: 'read', names: this.names } })][0];
    this.step = Number.isInteger(row) && row >= 0 && row < this.input.steps.length ? row : usual();
  }

  get isPooling() {
    return this.weights.length === 1;
  }

  // The row of the weights that the chosen step belongs to.
  get row() {
    return this.isPooling ? 0 : Math.max(0, valueAt(this.step, this.spans.length, 0, this.spans));
  }

  build() {
    const { context, input, root } = this;
    this.controls = el('div', { class: 'controls' });
    this.said = el('p', { class: 'detail', 'aria-live': 'polite' });
    this.time = new Timeline({
      ...timeOf(input, context), label: 'The series and what a step looks at', step: this.step,
      onchoose: (step, track, row) => this.choose(track?.name === 'all steps' && row !== null ? this.spans[row][0] : step),
    });
    this.drawing = drawingOf(input, 'The drawing and what a point looks at', (point) => this.choose(point));
    root.classList.add('stack');
    root.append(...[this.controls, ...this.notes(), this.said, el('div', { class: 'surface' }, this.drawing?.element, this.time.element)]);
    this.draw();
  }

  notes() {
    const { each, before, reads } = this.data;
    const lines = [unreadLine(this.input)];
    if (each > 1) lines.push(`${each} steps are one row and one column: the mean of their rows, and the sum over their columns, so that a row adds up to 1.`);
    if (reads > 1) lines.push(`The model reads ${reads} steps as one.`);
    if (before.length > 0) lines.push(`What is on ${before.join(', ')}, which stands before the series, is not shown.`);
    const shown = lines.filter((line) => line !== null).join(' ');
    return shown === '' ? [] : [el('p', { class: 'note', text: shown })];
  }

  change(changes) {
    this.context.set(changes);
    for (const [name, value] of Object.entries(changes)) this.context.params.set(name, value);
    const { id } = document.activeElement;
    this.read();
    this.draw();
    document.getElementById(id)?.focus();
  }

  choose(step) {
    this.step = step;
    this.context.set({ row: step });
    this.context.params.set('row', step);
    if (this.time.step !== step) this.time.choose(step);
    this.drawTracks();
  }

  draw() {
    const { kind, data } = this;
    const { layers } = kind;
    const { heads } = layers[this.layer];
    const field = (name, label, options, value) => selectField(`attention-${name}`, label, options, value, (to) => this.change({ [name]: to }));
    clear(this.controls).append(...[
      data.kinds.length > 1 ? field('kind', 'Kind', data.kinds.map((own) => [own.kind, TITLES[own.kind]]), kind.kind) : null,
      layers.length > 1 ? field('layer', 'Layer', layers.map((own) => own.layer), layers[this.layer].layer) : null,
      heads.length > 1 ? field('head', 'Head', [['mean', 'mean of all'], ...heads.map((_, i) => i + 1)], this.head) : null,
    ].filter((own) => own !== null));
    this.all = this.isPooling ? null : heatTrack({
      name: 'all steps', rows: this.weights, names: this.names, spans: this.spans, most: this.most, height: 240,
      tellRow: () => this.row, noun: 'from ',
      scale: `who looks downwards, at whom across, 0 to ${this.most}${largest(this.weights) > this.most ? ' and more' : ''}`,
    });
    this.drawTracks();
  }

  drawTracks() {
    const { spans, weights, row, kind, most, input, context } = this;
    const { heads } = kind.layers[this.layer];
    const own = weights[row];
    const who = this.isPooling ? 'weight in the pooling' : `what ${this.names[row]} looks at`;
    const tracks = [...inputTracks(input, context.run), barTrack({
      name: 'weight', values: own, spans, scale: who, most: Math.max(...own), tells: (value) => value.toFixed(3),
    })];
    if (heads.length > 1) {
      tracks.push(heatTrack({
        name: 'every head', rows: heads.map((head) => head[row]), names: heads.map((_, i) => `head ${i + 1}`), spans, most,
        scale: `heads downwards, 0 to ${most}`, height: Math.max(40, 14 * heads.length), tellRow: () => null,
      }));
    }
    if (this.all !== null) tracks.push(this.all);
    this.drawing?.colour(input.steps.map((_, i) => own[valueAt(i, spans.length, 0, spans)] ?? 0), `${who}, the thicker the more`);
    this.drawing?.at(this.step);
    this.time.show(tracks);
    this.tell(own);
  }

  tell(own) {
    const best = own.map((weight, j) => [weight, j]).sort((a, b) => b[0] - a[0]).slice(0, 3)
      .map(([weight, j]) => `${this.names[j]} (${weight.toFixed(2)})`).join(', ');
    const whose = this.head === 'mean' ? ', on the mean of the heads' : '';
    this.said.textContent = this.isPooling ? `The vector of the series is made most of ${best}.`
      : `Step ${this.names[this.row]} looks most at ${best}${whose}.`;
  }
}
