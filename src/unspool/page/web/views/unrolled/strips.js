// Gates and states as strips of colour: units down, tokens across.
//
// In: the answer `steps`, an order of its units. Out: for each gate and state a caption with the
// number of the followed unit, and a canvas with a pixel for each number, stretched to its size.

import { diverging, sequential } from '../../colour.js';
import { el } from '../../dom.js';
import { fixed } from '../../maths.js';
import { visible } from '../../tokens.js';

const SHADES = 255; // of a scale, on each side of zero

export class Strips {
  constructor(data, { column, gutter, row, order, onchoose }) {
    Object.assign(this, { data, column, row, order });
    this.strips = data.arrays.map((array) => this.strip(array, gutter, onchoose));
    this.element = el('div', { class: 'strips' }, this.strips.map((strip) => strip.element));
  }

  strip(array, gutter, onchoose) {
    const { column, row, order } = this;
    const [steps, units] = [array.values.length, order.length];
    const gate = array.kind.endsWith('gate');
    const largest = Math.max(...array.values.map((own) => Math.max(...own.map(Math.abs)))) || 1;
    const canvas = el('canvas', {
      width: steps, height: units, role: 'img',
      style: { width: `${steps * column}px`, height: `${units * row}px` },
      'aria-label': `${plain(array.kind)}: ${units} units down, ${steps} tokens across, from `
        + (gate ? '0 to 1' : `${fixed(-largest)} to ${fixed(largest)}`),
    });
    paint(canvas, array.values, order, gate ? null : largest);
    const marker = el('div', { class: 'unit-marker', style: { height: `${row}px`, width: `${steps * column}px` } });
    const value = el('span', { class: 'value' });
    const pointed = el('span', { class: 'pointed' });
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      const inside = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
      return [
        inside((event.clientX - box.left) / box.width, steps),
        order[inside((event.clientY - box.top) / box.height, units)],
      ];
    };
    const field = el('div', {
      class: 'field', style: { 'margin-left': `${gutter}px`, width: `${steps * column}px` },
      onclick: (event) => onchoose(...at(event)),
      onpointermove: (event) => {
        const [step, unit] = at(event);
        const token = visible(this.data.tokens[step]);
        pointed.textContent = `unit ${this.data.units[unit]} at “${token}”: ${fixed(array.values[step][unit])}`;
      },
      onpointerleave: () => { pointed.textContent = ''; },
    }, canvas, marker);
    const element = el('div', { class: 'layer-strip', dataset: { kind: array.kind } },
      el('p', { class: 'caption', style: { 'padding-left': `${gutter}px` } },
        el('strong', { text: plain(array.kind) }), ' ', el('i', { text: array.letter }), value,
        el('span', { class: 'scale', text: gate ? '0 to 1' : `±${fixed(largest, 2)}` }), pointed),
      field);
    return { array, element, marker, value };
  }

  show(step, unit) {
    const at = this.order.indexOf(unit);
    for (const { array, marker, value } of this.strips) {
      marker.style.setProperty('top', `${at * this.row}px`);
      value.textContent = fixed(array.values[step][unit]);
    }
  }
}

export function plain(kind) {
  return kind.replaceAll('_', ' ');
}

// A pixel for each number; `largest` of a scale with two sides, null of gates.
function paint(canvas, values, order, largest) {
  const shades = largest === null ? table(sequential, 0) : table(diverging, -1);
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  values.forEach((own, step) => order.forEach((unit, row) => {
    const share = largest === null ? own[unit] : (own[unit] / largest + 1) / 2;
    const shade = shades[Math.round(Math.min(1, Math.max(0, share)) * (shades.length - 1))];
    image.data.set(shade, 4 * (row * canvas.width + step));
  }));
  context.putImageData(image, 0, 0);
}

// The colours of a scale from `least` to 1, as [r, g, b, 255].
function table(scale, least) {
  const count = least === 0 ? SHADES : 2 * SHADES;
  return Array.from({ length: count + 1 }, (_, i) => [
    ...scale(least + (1 - least) * i / count).match(/\d+/g).map(Number), 255,
  ]);
}
