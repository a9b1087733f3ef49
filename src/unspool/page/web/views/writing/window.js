// The window over a text while it is written: characters downwards, points across. In: the answer
// `write`. Out: an element that shows the weights up to a point.

import { el } from '../../dom.js';
import { Timeline } from '../../timeline.js';
import { heatTrack } from '../../tracks.js';

const ROW = 18; // pixels of a character
const USUAL = 0.95; // of the points whose weights differ in colour

export class TextWindow {
  constructor({ weights, characters, x }, signal, onchoose) {
    this.weights = weights;
    const tops = x.map((_, t) => Math.max(...weights.map((own) => own[t]))).sort((a, b) => a - b);
    const most = tops[Math.floor(USUAL * (tops.length - 1))]; // one point may weigh far more than all others
    this.shown = weights.map((own) => own.map(() => null));
    const names = characters.map((own) => (own === ' ' ? '␣' : own));
    this.track = {
      name: 'window over the text', rows: this.shown, names, most, height: ROW * characters.length, tellRow: () => null,
      scale: `the weight of each character as a point was written, 0 to ${most.toFixed(2)}${most < tops.at(-1) ? ' and more' : ''}`,
      beside: names.map((own, i) => [i, own]),
    };
    this.time = new Timeline({
      steps: x.map((_, i) => String(i + 1)), label: 'The window over the text', noun: 'point', signal, onchoose: (point) => onchoose(point),
    });
    this.time.show([this.made()]);
    this.element = el('div', { class: 'window' }, this.time.element);
  }

  made() {
    const { names } = this.track;
    return {
      ...heatTrack(this.track),
      tell: (point) => {
        const best = this.strongest(point);
        return this.shown[0][point] === null ? '' : `${names[best]} ${this.weights[best][point].toFixed(2)}`;
      },
    };
  }

  strongest(point) {
    return this.weights.reduce((best, own, i) => (own[point] > this.weights[best][point] ? i : best), 0);
  }

  // Up to a point; the number of the character that it was written for.
  show(point) {
    this.shown.forEach((own, i) => { for (let t = 0; t < own.length; t += 1) own[t] = t <= point ? this.weights[i][t] : null; });
    this.time.show([this.made()]);
    this.time.choose(point);
    return this.strongest(point);
  }
}
