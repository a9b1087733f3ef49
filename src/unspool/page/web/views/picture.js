// The view `picture`: an image, or the frames of a video, with what each pixel contributes to the
// answer, with what the answer would be without each patch, or with where a caption looked.
//
// Under the frames of a video are the gates of a recurrent layer.
//
// In the address: at, the frame; step, the word or frame that is asked about; over, what is laid over
// the pixels; layer, whose gates are shown.

import { barTrack } from '../tracks.js';
import { diverging } from '../colour.js';
import { el } from '../dom.js';
import { gateTracks, layerField } from '../gates.js';
import { inputTracks, timeOf } from '../inputs.js';
import { signed } from '../maths.js';
import { visible } from '../tokens.js';
import { Timeline } from '../timeline.js';

const LARGEST = 360; // pixels of the longer side on the page
const OVER = { pixels: 'what each pixel contributes', hidden: 'the answer without each patch', attention: 'where it looked', nothing: 'nothing' };

export const picture = {
  name: 'picture',
  title: 'Pixels',
  about: 'What the model sees, and which pixels its answer comes from.',
  working: 'Looking',
  applies: (run) => run.views.includes('picture'),

  async show(root, context) {
    const { text, params } = context;
    const [input, data] = await Promise.all([
      context.ask('input', { text }), context.ask('picture', { text, step: params.get('step') ?? '', layer: params.get('layer') ?? '1' }),
    ]);
    new Picture(root, context, input, data).build();
  },
};

class Picture {
  constructor(root, context, input, data) {
    Object.assign(this, { root, context, input, data });
    const [frames, height, width, colours] = data.size;
    Object.assign(this, { frames, height, width, colours });
    this.bytes = Uint8Array.from(window.atob(data.pixels), (char) => char.charCodeAt(0));
    const at = Number(context.params.get('at') ?? NaN);
    this.at = Number.isInteger(at) && at >= 0 && at < frames ? at : this.strongest();
    this.choices = Object.keys(OVER).filter((own) => own !== 'attention' || (data.attention !== null && frames === 1));
    const over = context.params.get('over');
    this.over = this.choices.includes(over) ? over : data.attention !== null && frames === 1 ? 'attention' : 'pixels';
  }

  // The frame that contributes most, for or against.
  strongest() {
    const sizes = this.data.frames.map(Math.abs);
    return sizes.indexOf(Math.max(...sizes));
  }

  build() {
    const { root, data } = this;
    const scale = Math.max(1, Math.floor(LARGEST / Math.max(this.height, this.width)));
    const size = { width: `${this.width * scale}px`, 'aspect-ratio': `${this.width} / ${this.height}` };
    const canvas = (label) => el('canvas', { class: 'pixels', width: this.width, height: this.height, role: 'img', 'aria-label': label, style: size });
    this.plain = canvas('The pixels that the model reads');
    this.mixed = canvas('The same with a layer over them');
    this.note = el('p', { class: 'note', 'aria-live': 'polite' });
    root.classList.add('stack');
    root.append(this.controls(), this.answer(),
      el('div', { class: 'surface beside' }, this.plain, this.mixed), this.note, ...this.timeline());
    this.draw();
  }

  answer() {
    const { answer, measure, answer_value: value } = this.data;
    const asked = this.data.asked[this.data.step];
    const at = asked === '' ? '' : this.data.written.length > 0 ? ', the next word,' : ` at ${asked}`;
    return el('p', null, 'The answer', at, ' is ', el('strong', { class: 'token', text: visible(answer) }), ` with ${measure} ${value.toFixed(4)}.`);
  }

  controls() {
    const { context, data } = this;
    const over = el('select', { id: 'over', onchange: () => { this.over = over.value; context.set({ over: this.over }); this.draw(); } },
      this.choices.map((own) => el('option', { value: own, text: OVER[own] })));
    over.value = this.over;
    const parts = [el('label', null, el('span', { text: 'Over the pixels' }), over)];
    if (data.asked.length > 1 && !context.run.saved) {
      const said = (i) => (data.written.length > 0 ? visible(data.written[i]) : data.asked[i]);
      const output = el('output', { for: 'step', class: 'token', text: said(data.step) });
      const step = el('input', {
        id: 'step', type: 'range', min: '0', max: String(data.asked.length - 1), value: String(data.step),
        oninput: () => { output.textContent = said(Number(step.value)); },
        onchange: () => context.go({ step: step.value }),
      });
      parts.push(el('label', null, el('span', { text: data.written.length > 0 ? 'Word of the caption' : 'Frame that is asked about' }), step, output));
    }
    return el('div', { class: 'controls' }, parts, layerField(data, context));
  }

  timeline() {
    if (this.frames === 1) return [];
    const { context, input, data } = this;
    const time = new Timeline({
      ...timeOf(input, context), label: 'The frames and what they contribute', step: this.at,
      onchoose: (step) => { this.at = Math.min(step, this.frames - 1); context.set({ at: this.at }); this.draw(); },
    });
    const tracks = [...inputTracks(input, context.run), barTrack({ name: 'contribution of the frame', values: data.frames, signed: true })];
    if (data.attention !== null) {
      tracks.push(barTrack({ name: 'where it looked', values: data.attention[data.step].slice(-this.frames), most: 1 }));
    }
    window.requestAnimationFrame(() => time.show([...tracks, ...gateTracks(data)]));
    return [el('div', { class: 'surface' }, time.element)];
  }

  draw() {
    this.paint(this.plain, () => null);
    this.paint(this.mixed, this.layer(), ['pixels', 'hidden'].includes(this.over));
    this.note.textContent = this.told();
  }

  // Of a pixel its colour and how much of it is seen, or null.
  layer() {
    const { data, at, width } = this;
    if (this.over === 'nothing') return () => null;
    if (this.over === 'attention') {
      const weights = data.attention[data.step];
      const most = Math.max(...weights) || 1;
      return (i) => [[0, 0, 0], 0.75 * (1 - weights[i] / most)];
    }
    if (this.over === 'hidden') {
      const { side, values } = data.hidden;
      const most = Math.max(...values.flat().map((own) => Math.abs(data.answer_value - own))) || 1;
      return (i) => {
        const lost = (data.answer_value - values[Math.floor(Math.floor(i / width) / side)][Math.floor((i % width) / side)]) / most;
        return [tint(lost), 0.8 * Math.abs(lost)];
      };
    }
    const most = Math.max(...data.values.map((own) => Math.max(...own.map(Math.abs)))) || 1;
    return (i) => {
      const value = data.values[at][i] / most;
      return [tint(value), Math.min(1, 1.6 * Math.sqrt(Math.abs(value)) * 0.6)];
    };
  }

  // Under orange and blue the image is grey, so that its own colours are not taken for them.
  paint(canvas, layer, grey = false) {
    const { width, height, colours, bytes, at } = this;
    const pen = canvas.getContext('2d');
    const image = pen.createImageData(width, height);
    for (let i = 0; i < width * height; i += 1) {
      const over = layer(i);
      const first = (at * width * height + i) * colours;
      const light = (bytes[first] + bytes[first + (colours === 1 ? 0 : 1)] + bytes[first + (colours === 1 ? 0 : 2)]) / 3;
      for (let c = 0; c < 3; c += 1) {
        const own = grey ? light : bytes[first + (colours === 1 ? 0 : c)];
        image.data[4 * i + c] = over === null ? own : own * (1 - over[1]) + over[0][c] * over[1];
      }
      image.data[4 * i + 3] = 255;
    }
    pen.putImageData(image, 0, 0);
  }

  told() {
    const { data, over, at } = this;
    const frame = this.frames === 1 ? '' : `Frame ${this.input.steps[at]}: it contributes ${signed(data.frames[at], 4)}. `;
    const words = {
      pixels: 'Orange pixels speak for the answer, blue ones against it; their contributions (integrated gradients) add up to how much more it is than for an image of mean colours alone.',
      hidden: `A patch of ${data.hidden.side} x ${data.hidden.side} pixels at a time has the mean colour${this.frames === 1 ? '' : ', in all frames'}. Orange: without it the answer has a lower ${data.measure}, ${Math.min(...data.hidden.values.flat()).toFixed(4)} at least; blue: a higher one.`,
      attention: this.looked(),
      nothing: '',
    };
    return frame + words[over];
  }

  // How much of the weight of the word lies on the tenth of the pixels with most of it.
  looked() {
    if (!this.choices.includes('attention')) return '';
    const weights = [...this.data.attention[this.data.step]].sort((a, b) => b - a);
    const sum = (some) => some.reduce((a, b) => a + b, 0);
    const share = sum(weights.slice(0, Math.max(1, Math.round(weights.length / 10)))) / (sum(weights) || 1);
    return `The brighter, the more weight the word gave to that part of the image: ${Math.round(100 * share)} % of it lies on a tenth of the pixels, where an even look would have 10 %.`;
  }
}

// Orange or blue that can be told apart on light and on dark pixels, as three numbers.
function tint(value) {
  return diverging(0.65 * Math.sign(value)).match(/\d+/g).map(Number);
}
