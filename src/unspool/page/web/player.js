// Going through steps one by one. In: how many there are. Out: a slider with buttons before and
// after it, and one that plays, forwards or backwards.

import { el } from './dom.js';

const PAUSE = 900; // milliseconds a step

export class Player {
  constructor({ count, label, signal, onstep, backwards = false, pause = PAUSE }) {
    Object.assign(this, { count, onstep, backwards, pause, at: 0, timer: null });
    const button = (text, name, by) => el('button', {
      type: 'button', 'aria-label': name, text, onclick: () => this.step(by),
    });
    this.slider = el('input', {
      type: 'range', id: 'player', min: 0, max: count - 1, value: 0, 'aria-label': label,
      oninput: () => { this.stop(); onstep(Number(this.slider.value)); },
    });
    this.playing = el('button', { type: 'button', id: 'play', text: 'Play', onclick: () => this.toggle() });
    this.said = el('output', { for: 'player' });
    this.label = label;
    this.element = el('div', { class: 'player' },
      button('‹', `${label} before`, -1), this.slider, button('›', `${label} after`, 1),
      this.playing, this.said);
    signal.addEventListener('abort', () => this.stop());
  }

  show(at, name) {
    this.at = at;
    this.slider.value = at;
    this.slider.setAttribute('aria-valuetext', `${at + 1}: ${name}`);
    this.said.textContent = `${this.label.toLowerCase()} ${at + 1} of ${this.count}`;
  }

  step(by) {
    this.stop();
    this.onstep(this.at + by);
  }

  toggle() {
    if (this.timer !== null) {
      this.stop();
      return;
    }
    const [first, last, by] = this.backwards ? [this.count - 1, 0, -1] : [0, this.count - 1, 1];
    if (this.at === last) this.onstep(first);
    this.playing.textContent = 'Pause';
    this.timer = window.setInterval(() => {
      this.onstep(this.at + by);
      if (this.at === last) this.stop();
    }, this.pause);
  }

  stop() {
    window.clearInterval(this.timer);
    this.timer = null;
    this.playing.textContent = 'Play';
  }
}
