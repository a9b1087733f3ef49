// Tracks on one axis of time, with a cursor through all of them. In: tracks (tracks.js), the names of
// the steps. Out: an element. One step is chosen: by a click, the arrow keys, Page Up and Down, Home
// and End; the pointer tells what is at other steps. A long series can be looked at more closely.
//
// Where steps are more than pixels, a line says what is drawn of them; what is told is always of one
// step.

import { DASHES, seriesColour } from './chart.js';
import { el, svg } from './dom.js';

const LEFT = 52; // pixels for numbers
const RIGHT = 6;
const AXIS = 22;
const CLOSEST = 24; // steps that are shown at least
const LABEL = 9; // pixels of a character of the axis, with some room

export class Timeline {
  // steps: their names; noun: what one is; onchoose(step, track, row): a click, or keys, whose track is
  // null; sound: { element, duration }, an <audio> and the seconds of a step, which it plays
  constructor({ steps, label, step = 0, onchoose, signal, noun = 'step', sound = null }) {
    Object.assign(this, { steps, label, step, onchoose, noun, sound });
    [this.from, this.to] = [0, steps.length];
    this.tracks = [];
    this.stack = el('div', { class: 'tracks' });
    this.cursor = el('div', { class: 'time-cursor' });
    this.heard = el('div', { class: 'time-heard', hidden: true });
    this.axis = el('canvas', { 'aria-hidden': 'true', class: 'axis-of-time' });
    this.slider = el('div', {
      class: 'timeline-slider', role: 'slider', tabindex: '0', 'aria-label': `${label}. Arrow keys move in time.`,
      'aria-valuemin': '0', 'aria-valuemax': String(steps.length - 1),
      'aria-valuenow': String(step), 'aria-valuetext': `${noun} ${steps[step]}`,
      onkeydown: (event) => this.onKey(event),
      onpointermove: (event) => this.tell(this.at(event)),
      onpointerleave: () => this.tell(this.step),
      onclick: (event) => this.onClick(event),
    }, this.stack, this.axis, this.heard, this.cursor);
    this.readout = el('p', { class: 'readout' });
    this.thinned = el('p', { class: 'note thinned' });
    this.element = el('div', { class: 'timeline' }, this.zoomRow(), this.slider, this.readout, this.thinned);
    const observer = new ResizeObserver(() => {
      if (this.slider.clientWidth > 0 && this.slider.clientWidth !== this.width) this.draw();
    });
    observer.observe(this.slider);
    signal.addEventListener('abort', () => observer.disconnect());
    if (sound !== null) this.follow(sound, signal);
  }

  // Moves a line with what is heard.
  follow({ element, duration }, signal) {
    const move = () => {
      const step = element.currentTime / duration;
      this.heard.hidden = element.paused || step < this.from || step > this.to;
      this.heard.style.setProperty('left', `${this.x(step)}px`);
      if (!element.paused && !signal.aborted) window.requestAnimationFrame(move);
    };
    for (const name of ['play', 'pause', 'seeked', 'ended']) element.addEventListener(name, move, { signal });
    if (!element.paused) move();
  }

  // What is heard next begins at the chosen step.
  seek() {
    const { element, duration } = this.sound ?? {};
    if (element?.duration) element.currentTime = Math.min(element.duration, this.step * duration);
  }

  // The tracks, from the top downwards.
  show(tracks) {
    const same = tracks.length === this.tracks.length;
    this.tracks = tracks;
    if (!same) {
      this.canvases = tracks.map(() => el('canvas', { 'aria-hidden': 'true' }));
      this.titles = tracks.map(() => el('p', { class: 'track-name' }));
      this.stack.replaceChildren(...tracks.map((_, i) => el('div', { class: 'track' }, this.titles[i], this.canvases[i])));
    }
    tracks.forEach((track, i) => {
      this.canvases[i].parentNode.dataset.track = track.name;
      this.titles[i].replaceChildren(...[el('strong', { text: track.name }),
        track.scale ? el('span', { class: 'soft', text: ` ${track.scale}` }) : null,
        track.legend ? legend(track.legend) : null].filter((part) => part !== null));
    });
    if (this.slider.clientWidth > 0) this.draw();
  }

  zoomRow() {
    const button = (id, text, name, act) => el('button', { type: 'button', id, text, 'aria-label': name, onclick: act });
    this.shownSteps = el('output');
    this.zoom = el('div', { class: 'zoom controls', hidden: this.steps.length <= CLOSEST }, [
      button('time-closer', '+', 'Closer', () => this.zoomBy(0.5)),
      button('time-wider', '−', 'Wider', () => this.zoomBy(2)),
      button('time-earlier', '‹', 'Earlier', () => this.move(-0.5)),
      button('time-later', '›', 'Later', () => this.move(0.5)),
    ], this.shownSteps);
    return this.zoom;
  }

  zoomBy(factor) {
    const size = Math.min(this.steps.length, Math.max(CLOSEST, Math.round((this.to - this.from) * factor)));
    const middle = this.step >= this.from && this.step < this.to ? this.step : (this.from + this.to) / 2;
    this.range(Math.round(middle - size / 2), size);
  }

  move(share) {
    this.range(this.from + Math.round(share * (this.to - this.from)), this.to - this.from);
  }

  range(from, size) {
    this.from = Math.max(0, Math.min(this.steps.length - size, from));
    this.to = this.from + size;
    this.draw();
  }

  x(step) {
    return LEFT + ((step - this.from) / (this.to - this.from)) * (this.width - LEFT - RIGHT);
  }

  draw() {
    this.width = this.slider.clientWidth;
    const style = window.getComputedStyle(document.documentElement);
    const ratio = window.devicePixelRatio || 1;
    const colours = new Map();
    const colour = (name) => {
      if (!colours.has(name)) colours.set(name, style.getPropertyValue(name).trim());
      return colours.get(name);
    };
    const area = {
      left: LEFT, width: this.width - LEFT - RIGHT, from: this.from, to: this.to, ratio,
      x: (step) => this.x(step), font: `11px ${style.getPropertyValue('--sans')}`,
      colour,
    };
    this.tracks.forEach((track, i) => {
      const pen = sized(this.canvases[i], this.width, track.height, ratio);
      track.draw(pen, { ...area, height: track.height });
    });
    this.drawAxis(area, ratio);
    const count = (number) => number.toLocaleString('en');
    this.shownSteps.textContent = this.to - this.from === this.steps.length
      ? `all ${count(this.steps.length)} ${this.noun}s` : `${this.noun}s ${count(this.from + 1)} to ${count(this.to)} of ${count(this.steps.length)}`;
    const [closer, wider, earlier, later] = this.zoom.querySelectorAll('button');
    closer.disabled = this.to - this.from <= CLOSEST;
    wider.disabled = this.to - this.from === this.steps.length;
    earlier.disabled = this.from === 0;
    later.disabled = this.to === this.steps.length;
    const each = (this.to - this.from) / area.width;
    this.thinned.textContent = each <= 1 ? '' : `${each.toFixed(1)} ${this.noun}s a pixel: curves are drawn from the least to `
      + 'the most of them, bars are the largest and the smallest, colours their mean.';
    this.mark();
    this.tell(this.step);
  }

  drawAxis(area, ratio) {
    const pen = sized(this.axis, this.width, AXIS, ratio);
    const short = this.steps.every((name) => name.endsWith(':00')) ? -3 : undefined; // of dates, seconds
    const longest = Math.max(...[this.steps[0], this.steps.at(-1)].map((name) => name.length + (short ?? 0)));
    const most = Math.max(2, Math.floor(area.width / (longest * LABEL + 8)));
    const every = roundStep((this.to - this.from) / most);
    pen.font = area.font;
    pen.fillStyle = area.colour('--soft');
    pen.strokeStyle = area.colour('--edge');
    pen.textBaseline = 'top';
    for (let step = Math.ceil(this.from / every) * every; step < this.to; step += every) {
      const x = this.x(step + 0.5);
      pen.beginPath();
      pen.moveTo(x, 0);
      pen.lineTo(x, 4);
      pen.stroke();
      const name = this.steps[step].slice(0, short);
      const half = pen.measureText(name).width / 2;
      pen.textAlign = 'left';
      pen.fillText(name, Math.max(0, Math.min(this.width - 2 * half, x - half)), 7);
    }
  }

  // Puts the cursor on the chosen step.
  mark() {
    const inside = this.step >= this.from && this.step < this.to;
    this.cursor.hidden = !inside;
    if (!inside) return;
    const wide = Math.max(2, this.x(this.step + 1) - this.x(this.step));
    this.cursor.style.setProperty('left', `${this.x(this.step)}px`);
    this.cursor.style.setProperty('width', `${wide}px`);
  }

  tell(step) {
    const told = [`${this.noun} ${this.steps[step]}`, ...this.tracks.map((track) => track.tell(step))].filter((part) => part !== '').join(' · ');
    this.readout.textContent = told;
    if (step !== this.step) return;
    this.slider.setAttribute('aria-valuenow', String(step));
    this.slider.setAttribute('aria-valuetext', told);
  }

  // Chooses a step without telling anybody.
  choose(step) {
    this.step = Math.max(0, Math.min(this.steps.length - 1, step));
    if (this.step < this.from || this.step >= this.to) {
      this.range(this.step - Math.round((this.to - this.from) / 2), this.to - this.from);
    } else {
      this.mark();
      this.tell(this.step);
    }
  }

  at(event) {
    const left = this.slider.getBoundingClientRect().left;
    const share = (event.clientX - left - LEFT) / (this.width - LEFT - RIGHT);
    return Math.max(this.from, Math.min(this.to - 1, Math.floor(this.from + share * (this.to - this.from))));
  }

  onClick(event) {
    const on = this.canvases.indexOf(event.target);
    const row = on < 0 ? null : this.tracks[on].row?.(event.offsetY) ?? null;
    this.choose(this.at(event));
    this.seek();
    this.onchoose?.(this.step, on < 0 ? null : this.tracks[on], row);
  }

  onKey(event) {
    const page = Math.max(1, Math.round((this.to - this.from) / 20));
    const moves = {
      ArrowRight: 1, ArrowLeft: -1, PageUp: -page, PageDown: page, Home: -this.steps.length, End: this.steps.length,
    };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === '+' || event.key === '-') {
      event.preventDefault();
      this.zoomBy(event.key === '+' ? 0.5 : 2);
    }
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(this.step + moves[event.key]);
    this.seek();
    this.onchoose?.(this.step, null, null);
  }
}

// Curves and areas by name, each with a piece of it.
function legend(curves) {
  return el('span', { class: 'legend' }, curves.map(({ name, area }, i) => el('span', null,
    svg('svg', { width: 26, height: 10, 'aria-hidden': 'true', class: 'sample' }, area
      ? svg('rect', { width: 26, height: 10, fill: seriesColour(i), opacity: 0.3 })
      : svg('line', { x1: 0, x2: 26, y1: 5, y2: 5, stroke: seriesColour(i), 'stroke-width': 2, 'stroke-dasharray': DASHES[i % DASHES.length] })),
    ` ${name}`)));
}

function sized(canvas, width, height, ratio) {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.setProperty('width', `${width}px`);
  canvas.style.setProperty('height', `${height}px`);
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  return pen;
}

// 1, 2 or 5 times a power of ten, at least so many.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].find((factor) => factor * power >= least) * power;
}
