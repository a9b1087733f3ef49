// The view `writing`: a text is written by hand, or a drawing is made, point by point; beside it grows
// the window over the text: which character each point was written for.
//
// In the address: words, bias, temperature, seed.

import { el } from '../dom.js';
import { Player } from '../player.js';
import { visible } from '../tokens.js';
import { Sheet } from './writing/sheet.js';
import { TextWindow } from './writing/window.js';

const WHOLE = 6000; // milliseconds of a drawing, about
const PAUSE = [16, 120]; // of a point, at least and at most
const GIVEN = ['words', 'bias', 'temperature', 'seed'];

export const writing = {
  name: 'writing',
  title: 'Writing',
  about: 'The model writes by hand, point by point; each point is drawn from the distribution that it expects after those before it.',
  working: 'Writing',
  ownInput: true,
  applies: (run) => run.views.includes('writing'),

  async show(root, context) {
    const view = new Writing(root, context);
    view.controls();
    try {
      view.draw(await context.ask('write', view.asked()));
    } catch (error) {
      if (error.name === 'AbortError' || context.signal.aborted) throw error;
      view.fail(error.message);
    }
  },
};

class Writing {
  constructor(root, context) {
    Object.assign(this, { root, context });
    this.conditional = context.run.input.words !== '';
    root.classList.add('stack');
  }

  asked() {
    const { params, run } = this.context;
    const own = Object.fromEntries(GIVEN.map((name) => [name, params.get(name)]));
    return { ...own, words: params.get('words') ?? run.input.words };
  }

  controls() {
    const { run, params, signal } = this.context;
    const asked = this.asked();
    const field = (id, label, attributes) => {
      const input = el('input', { id, disabled: run.saved, autocomplete: 'off', ...attributes });
      return [input, el('label', null, el('span', { text: label }), input)];
    };
    const [words, wordsLabel] = field('words', 'Text to write', { type: 'text', value: asked.words, size: 24, spellcheck: 'false' });
    const [bias, biasLabel] = field('bias', 'Bias', { type: 'number', min: 0, max: 20, step: 0.1, value: asked.bias ?? 1 });
    const [temperature, temperatureLabel] = field('temperature', 'Temperature', { type: 'number', min: 0, max: 100, step: 0.1, value: asked.temperature ?? 1 });
    const [seed, seedLabel] = field('seed', 'Seed', { type: 'number', min: 0, max: 999999999, step: 1, value: asked.seed ?? 1 });
    const go = (changes) => this.context.go({
      words: this.conditional ? words.value : null, bias: bias.value, temperature: temperature.value, seed: seed.value, ...changes,
    });
    this.problem = el('p', { class: 'error', role: 'alert', hidden: true });
    this.root.append(el('form', {
      class: 'controls', onsubmit: (event) => { event.preventDefault(); go({}); },
    }, this.conditional ? wordsLabel : null, biasLabel, temperatureLabel, seedLabel,
    run.saved ? null : el('button', { class: 'primary', id: 'write', text: 'Write' }),
    run.saved ? null : el('button', { type: 'button', id: 'another', text: 'Another hand', onclick: () => go({ seed: (Number(seed.value) || 0) + 1 }) })),
    el('p', { class: 'note', text: 'The larger the bias, the neater; the larger the temperature, the more varied. The same seed gives the same hand.' }),
    this.problem);
    signal.addEventListener('abort', () => this.player?.stop());
    this.params = params;
  }

  fail(line) {
    this.problem.hidden = false;
    this.problem.textContent = line;
  }

  draw(data) {
    const { signal } = this.context;
    this.data = data;
    const count = data.x.length;
    this.sheet = new Sheet(data, signal);
    this.window = data.weights.length > 0 ? new TextWindow(data, signal, (point) => { this.player.stop(); this.point(point); }) : null;
    const pause = Math.max(PAUSE[0], Math.min(PAUSE[1], WHOLE / count));
    this.player = new Player({ count, label: 'Point', signal, pause, onstep: (point) => this.point(point) });
    this.said = el('p', { class: 'detail' });
    this.root.append(
      el('div', { class: 'time' }, this.player.element,
        el('button', { type: 'button', id: 'svg', text: 'Download SVG', onclick: () => this.save() })),
      el('div', { class: 'surface' }, this.sheet.element, this.window?.element), this.said);
    const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.point(still ? count - 1 : 0);
    if (!still) this.player.toggle();
  }

  // Shows the drawing up to a point.
  point(to) {
    const { data } = this;
    const point = Math.max(0, Math.min(data.x.length - 1, to));
    this.sheet.show(point);
    const character = this.window?.show(point) ?? null;
    this.player.show(point, character === null ? '' : visible(data.characters[character]));
    const strokes = data.up.slice(0, point + 1).reduce((sum, own) => sum + own, 0);
    const ended = point < data.x.length - 1 ? '' : data.ended ? ' The model has ended it.' : ' It was cut there: the model had not ended it.';
    this.said.textContent = `${point + 1} of ${data.x.length} points, the pen lifted ${strokes} ${strokes === 1 ? 'time' : 'times'}`
      + `${character === null ? '' : character === data.characters.length - 1 ? ', at the end of the text' : `, writing “${visible(data.characters[character])}”`}.${ended}`;
  }

  save() {
    const address = URL.createObjectURL(new Blob([this.data.svg], { type: 'image/svg+xml' }));
    const name = (this.data.text || 'drawing').replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 40) || 'drawing';
    el('a', { href: address, download: `${name}.svg` }).click();
    URL.revokeObjectURL(address);
  }
}
