// The view `playing`: the model goes on with a piece of music. It is heard while its roll scrolls, with
// the gates of a recurrent layer under it.
//
// In the address: given, length, temperature, seed, layer, tempo.

import { el } from '../dom.js';
import { gateTracks, layerField } from '../gates.js';
import { Timeline } from '../timeline.js';
import { rollTrack } from './playing/roll.js';
import { Sound } from './playing/sound.js';

const SHOWN = 64; // steps that are seen at a time
const GIVEN = ['given', 'length', 'temperature', 'seed', 'layer'];
const NUMBERS = [
  ['in_key', 'notes in key'], ['parallel_fifths', 'changes with parallel fifths'], ['repeated', 'repeated steps'], ['notes', 'notes a step'],
];

export const playing = {
  name: 'playing',
  title: 'Playing',
  about: 'The model goes on with the first steps of a piece; what it writes can be heard, and the gates of the network seen as it was read.',
  working: 'Composing',
  applies: (run) => run.views.includes('playing'),

  async show(root, context) {
    const view = new Playing(root, context);
    view.controls();
    try {
      view.draw(await context.ask('continuation', view.asked()));
    } catch (error) {
      if (error.name === 'AbortError' || context.signal.aborted) throw error;
      view.fail(error.message);
    }
  },
};

class Playing {
  constructor(root, context) {
    Object.assign(this, { root, context, step: 0 });
    root.classList.add('stack');
    context.signal.addEventListener('abort', () => this.stop());
  }

  asked() {
    const { params, text } = this.context;
    const own = GIVEN.map((name) => [name, params.get(name)]).filter(([, value]) => value !== null);
    return { text, ...Object.fromEntries(own) };
  }

  controls() {
    const { run, params } = this.context;
    const field = (id, label, attributes, usual) => {
      const input = el('input', { id, type: 'number', disabled: run.saved, autocomplete: 'off', value: params.get(id) ?? usual, ...attributes });
      return [input, el('label', null, el('span', { text: label }), input)];
    };
    const [given, givenLabel] = field('given', 'Steps given', { min: 0, max: 1024, step: 1 }, 16);
    const [length, lengthLabel] = field('length', 'Steps to add', { min: 1, max: 1024, step: 1 }, 64);
    const [temperature, temperatureLabel] = field('temperature', 'Temperature', { min: 0, max: 100, step: 0.1 }, 1);
    const [seed, seedLabel] = field('seed', 'Seed', { min: 0, max: 999999999, step: 1 }, 1);
    const go = (changes) => this.context.go({
      given: given.value, length: length.value, temperature: temperature.value, seed: seed.value, ...changes,
    });
    this.problem = el('p', { class: 'error', role: 'alert', hidden: true });
    this.root.append(el('form', {
      class: 'controls', onsubmit: (event) => { event.preventDefault(); go({}); },
    }, givenLabel, lengthLabel, temperatureLabel, seedLabel,
    run.saved ? null : el('button', { class: 'primary', id: 'compose', text: 'Go on' }),
    run.saved ? null : el('button', { type: 'button', id: 'another', text: 'Another way', onclick: () => go({ seed: (Number(seed.value) || 0) + 1 }) })),
    this.problem);
  }

  fail(line) {
    this.problem.hidden = false;
    this.problem.textContent = line;
  }

  draw(data) {
    const { params, signal, set } = this.context;
    this.data = data;
    this.sound = new Sound(data.notes, data.steps);
    this.play = el('button', { type: 'button', class: 'primary', id: 'play', text: 'Play', onclick: () => this.toggle() });
    this.tempo = el('input', {
      id: 'tempo', type: 'number', min: 10, max: 400, step: 1, value: params.get('tempo') ?? Math.round(data.tempo),
      onchange: () => { set({ tempo: this.tempo.value }); if (this.sound.playing) this.start(); },
    });
    this.said = el('output', { for: 'play' });
    this.time = new Timeline({
      steps: Array.from({ length: data.steps }, (_, i) => String(i + 1)), label: 'The piece, and the gates', signal,
      onchoose: (step) => { this.step = step; if (this.sound.playing) this.start(); },
    });
    this.root.append(
      el('div', { class: 'controls' }, this.play,
        el('label', null, el('span', { text: 'Beats a minute' }), this.tempo),
        layerField(data, this.context),
        el('button', { type: 'button', id: 'midi', text: 'Download MIDI', onclick: () => this.save() }), this.said),
      el('div', { class: 'surface' }, this.time.element), this.about());
    this.time.show([rollTrack(data), ...gateTracks(data)]);
    if (data.steps > SHOWN) this.time.range(0, SHOWN);
    this.at(0);
  }

  // What is written, in numbers beside the data's.
  about() {
    const { numbers, data_numbers: learnt, ended } = this.data;
    const shown = (name, value) => (name === 'notes' ? value.toFixed(2) : `${(100 * value).toFixed(1)} %`);
    const rows = NUMBERS.map(([name, title]) => el('tr', null, el('th', { scope: 'row', text: title }),
      el('td', { class: 'number', text: shown(name, numbers[name]) }),
      learnt === null ? null : el('td', { class: 'number', text: shown(name, learnt[name]) })));
    const head = ['number', 'written', ...(learnt === null ? [] : ['training data'])];
    return el('div', null,
      el('table', null, el('caption', { class: 'note', text: `What the model has written, in numbers${ended ? '; it ended the piece itself' : ''}` }),
        el('thead', null, el('tr', null, head.map((text) => el('th', { scope: 'col', text })))), el('tbody', null, rows)));
  }

  at(step) {
    this.step = Math.min(this.data.steps - 1, Math.floor(step));
    const { time, data } = this;
    if (data.steps > SHOWN && this.sound.playing) time.range(Math.round(this.step - SHOWN / 3), SHOWN);
    time.choose(this.step);
    this.said.textContent = `step ${this.step + 1} of ${data.steps}${this.step < data.given ? ', given' : ''}`;
  }

  toggle() {
    if (this.sound.playing) this.stop();
    else this.start();
  }

  start() {
    if (this.step >= this.data.steps - 1) this.at(0);
    const tempo = Math.min(400, Math.max(10, Number(this.tempo.value) || 90));
    this.sound.start(this.step, 60 / tempo / this.data.grid);
    this.play.textContent = 'Pause';
    const follow = () => {
      if (!this.sound.playing || this.context.signal.aborted) return;
      const now = this.sound.position();
      if (Math.floor(now) !== this.step) this.at(now);
      if (now >= this.data.steps) this.stop();
      else window.requestAnimationFrame(follow);
    };
    window.requestAnimationFrame(follow);
  }

  stop() {
    this.sound?.stop();
    if (this.play !== undefined) this.play.textContent = 'Play';
  }

  save() {
    const bytes = Uint8Array.from(window.atob(this.data.midi), (own) => own.charCodeAt(0));
    const address = URL.createObjectURL(new Blob([bytes], { type: 'audio/midi' }));
    el('a', { href: address, download: 'piece.mid' }).click();
    URL.revokeObjectURL(address);
  }
}
