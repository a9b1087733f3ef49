// What stands in a timeline, one below the other on its axis. A track is an object:
//
//   name, height     what it is called; pixels
//   scale            what its colours or heights mean, in a few words; may be left out
//   legend           curves with their names: [{name}]; may be left out
//   draw(pen, area)  draws itself: area has width and height, x(step), from, to (the steps that are
//                    shown), colour(name) of a custom property
//   tell(step)       what is at a step, in words; '' where there is nothing
//   row(y)           which of its rows is at a height; may be left out
//
// The values of a track may begin at a later step (`first`), or stand for several steps each
// (`spans`, [first, end) of every value).

import { DASHES, plain, ticks } from './chart.js';
import { diverging, sequential } from './colour.js';
import { fixed } from './maths.js';
import { columnsOf, extremes, meanOf } from './thinning.js';

const SERIES = 6; // colours
const HATCHES = 6; // bands of labels that can be told apart by their shade
const LINE = 11; // pixels of a number beside a track
const NAMED = 10; // pixels of a row from which on its name is written beside it
const LETTER = 6.6; // pixels of a character of a band

// curves: [{name, values, first}]; areas: [{name, low, high, first}], behind them
export function curveTrack({ name, curves, areas = [], height = 140, marks = [] }) {
  const all = [...curves, ...areas.flatMap(({ low, high, first }) => [{ values: low, first }, { values: high, first }])];
  return {
    name, height,
    legend: curves.length + areas.length > 1 ? [...curves, ...areas.map((own) => ({ ...own, area: true }))] : null,
    draw(pen, area) {
      const ends = spread(all.map(({ values, first = 0 }) => extremes(
        values, Math.max(0, area.from - first), Math.min(values.length, area.to - first))));
      if (ends === null) return;
      const lines = ticks(ends, 3);
      const [low, high] = [Math.min(ends[0], lines[0]), Math.max(ends[1], lines.at(-1))];
      const y = (value) => area.height - 6 - ((value - low) / (high - low || 1)) * (area.height - 12);
      gridLines(pen, area, lines, y);
      areas.forEach((own, i) => shade(pen, area, own, y, area.colour(`--series-${((curves.length + i) % SERIES) + 1}`)));
      curves.forEach((own, i) => trace(pen, area, own, y, area.colour(`--series-${(i % SERIES) + 1}`), DASHES[i % DASHES.length]));
      marks.forEach((step) => upright(pen, area, area.x(step)));
    },
    tell(step) {
      const found = curves.map(({ name: own, values, first = 0 }) => [own, values[step - first]])
        .filter(([, value]) => value !== undefined)
        .map(([own, value]) => `${own} ${value === null ? 'a gap' : plain(value)}`);
      for (const { name: own, low, high, first = 0 } of areas) {
        if (low[step - first] !== undefined) found.push(`${own} ${ends(low[step - first])} to ${ends(high[step - first])}`);
      }
      return found.join(', ');
    },
  };
}

function ends(value) {
  return value === null ? 'without an end' : plain(value);
}

function spread(found) {
  const own = found.filter((each) => each !== null);
  return own.length === 0 ? null
    : [Math.min(...own.map(([low]) => low)), Math.max(...own.map(([, high]) => high))];
}

// Lines at some values with their numbers, the first ones first: what would stand on another number is
// not written.
function gridLines(pen, area, lines, y, written = plain) {
  pen.font = area.font;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  const taken = [];
  for (const value of lines) {
    pen.strokeStyle = area.colour('--line');
    pen.fillStyle = area.colour('--soft');
    pen.beginPath();
    pen.moveTo(area.left, Math.round(y(value)) + 0.5);
    pen.lineTo(area.left + area.width, Math.round(y(value)) + 0.5);
    pen.stroke();
    const at = Math.max(6, Math.min(area.height - 6, y(value)));
    if (taken.some((other) => Math.abs(other - at) < LINE)) continue;
    taken.push(at);
    pen.fillText(written(value), area.left - 6, at);
  }
}

function upright(pen, area, x) {
  pen.save();
  pen.strokeStyle = area.colour('--edge');
  pen.setLineDash([2, 3]);
  pen.beginPath();
  pen.moveTo(x, 0);
  pen.lineTo(x, area.height);
  pen.stroke();
  pen.restore();
}

// One curve: from point to point, or where steps are more than pixels from the least to the most of
// each column.
function trace(pen, area, { values, first = 0 }, y, colour, dash) {
  pen.save();
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  pen.lineJoin = 'round';
  const thin = area.to - area.from > area.width;
  if (dash !== 'none' && !thin) pen.setLineDash(dash.split(' ').map(Number));
  pen.beginPath();
  let open = false;
  if (thin) {
    columnsOf(area.from, area.to, Math.round(area.width)).forEach(([from, to], i) => {
      const found = extremes(values, Math.max(0, from - first), Math.min(values.length, to - first));
      const x = area.left + i + 0.5;
      if (found === null) open = false;
      else {
        pen[open ? 'lineTo' : 'moveTo'](x, y(found[0]));
        pen.lineTo(x, y(found[1]) - 0.5);
        open = true;
      }
    });
  } else {
    for (let step = Math.max(area.from, first); step < Math.min(area.to, first + values.length); step += 1) {
      const value = values[step - first];
      if (value === null) open = false;
      else {
        const alone = !open && (values[step - first + 1] ?? null) === null;
        pen[open ? 'lineTo' : 'moveTo'](area.x(step + 0.5), y(value));
        if (alone) pen.lineTo(area.x(step + 0.5) + 1.5, y(value)); // a value between two gaps
        open = true;
      }
    }
  }
  pen.stroke();
  pen.restore();
}

function shade(pen, area, { low, high, first = 0 }, y, colour) {
  pen.save();
  pen.globalAlpha = 0.25;
  pen.fillStyle = colour;
  const steps = low.map((_, i) => i).filter((i) => low[i] !== null && high[i] !== null
    && first + i >= area.from && first + i < area.to);
  pen.beginPath();
  steps.forEach((i) => pen.lineTo(area.x(first + i + 0.5), y(high[i])));
  steps.reverse().forEach((i) => pen.lineTo(area.x(first + i + 0.5), y(low[i])));
  pen.fill();
  pen.restore();
}

// Which value each column of pixels shows: [first, end) of the values; null where there is none.
function valuesIn(area, count, first, spans) {
  const columns = columnsOf(area.from, area.to, Math.round(area.width));
  if (spans === undefined) {
    return columns.map(([from, to]) => (to <= first || from >= first + count
      ? null : [Math.max(0, from - first), Math.min(count, to - first)]));
  }
  let at = 0;
  return columns.map(([from, to]) => {
    while (at < count && spans[at][1] <= from) at += 1;
    if (at === count || spans[at][0] >= to) return null;
    let end = at + 1;
    while (end < count && spans[end][0] < to) end += 1;
    return [at, end];
  });
}

// The number of the value that a step belongs to; -1 where there is none.
export function valueAt(step, count, first, spans) {
  if (spans === undefined) return step >= first && step < first + count ? step - first : -1;
  return spans.findIndex(([from, to]) => step >= from && step < to);
}

// Rows of numbers as colours: from `least` to `most`, or with `signed` around 0. Of several steps in
// one pixel the mean.
//
//   rows      arrays of numbers, one below the other
//   tellRow   which row `tell` speaks of
//   beside    what is written beside some rows, [[row, text]], in place of all names
export function heatTrack({
  name, rows, names, first = 0, spans, signed = false, least = 0, most = 1, height = 96, tellRow = () => 0, scale,
  noun = '', beside,
}) {
  const count = rows[0]?.length ?? 0;
  const painted = { key: null, image: null }; // the last picture, which a new cursor leaves as it is

  // A pixel for each column of the area, and for each row as far as there is room.
  function paint(area) {
    const columns = valuesIn(area, count, first, spans);
    const tall = Math.max(1, Math.min(Math.round(area.height * area.ratio), rows.length));
    const image = new ImageData(columns.length, tall);
    const pixels = new Uint32Array(image.data.buffer);
    const shades = palette(signed);
    for (let line = 0; line < tall; line += 1) {
      const top = Math.floor((line * rows.length) / tall);
      const bottom = Math.max(top + 1, Math.floor(((line + 1) * rows.length) / tall));
      for (let i = 0; i < columns.length; i += 1) {
        if (columns[i] === null) continue;
        let [sum, seen] = [0, 0];
        for (let row = top; row < bottom; row += 1) {
          const value = meanOf(rows[row], columns[i][0], columns[i][1]);
          if (value !== null) {
            sum += value;
            seen += 1;
          }
        }
        if (seen === 0) continue;
        const share = signed ? sum / seen / most : (sum / seen - least) / (most - least);
        const shade = Math.min(1, Math.max(0, signed ? (share + 1) / 2 : share));
        pixels[line * columns.length + i] = shades[Math.round(shade * 510)];
      }
    }
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [columns.length, tall];
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
  }

  return {
    name, height, scale: scale ?? (signed ? `±${plain(most)}` : `${plain(least)} to ${plain(most)}`),
    draw(pen, area) {
      const key = `${area.from} ${area.to} ${area.width} ${area.ratio} ${area.colour('--surface')}`;
      if (painted.key !== key) Object.assign(painted, { key, image: paint(area) });
      pen.imageSmoothingEnabled = false;
      pen.drawImage(painted.image, area.left, 0, area.width, area.height);
      pen.strokeStyle = area.colour('--line');
      pen.strokeRect(area.left + 0.5, 0.5, area.width - 1, area.height - 1);
      const chosen = tellRow();
      if (beside !== undefined) namesBeside(pen, area, beside, rows.length);
      else if (names !== undefined && chosen === null && area.height / rows.length >= NAMED) {
        namesBeside(pen, area, names.map((own, i) => [i, own]), rows.length);
      }
      if (rows.length > 1 && chosen !== null) {
        pen.strokeStyle = area.colour('--ink');
        pen.lineWidth = 1.5;
        const each = area.height / rows.length;
        pen.strokeRect(area.left + 0.5, chosen * each, area.width - 1, Math.max(2, each));
      }
    },
    row: (y) => Math.min(rows.length - 1, Math.max(0, Math.floor((y / height) * rows.length))),
    tell(step) {
      const at = valueAt(step, count, first, spans);
      if (at < 0) return '';
      const chosen = tellRow();
      const told = chosen === null ? names.map((own, i) => [own, i]) : [[names?.[chosen] ?? '', chosen]];
      return told.slice(0, 8).map(([own, i]) => `${noun}${own ? `${own} ` : ''}${told1(rows[i][at])}`).join(', ');
    },
  };
}

function namesBeside(pen, area, names, count) {
  const fits = Math.floor((area.left - 6) / LETTER);
  pen.font = area.font;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  pen.fillStyle = area.colour('--soft');
  for (const [row, name] of names) {
    const y = Math.max(6, Math.min(area.height - 6, ((row + 0.5) * area.height) / count));
    pen.fillText(name.length > fits + 1 ? `${name.slice(0, fits - 1)}…` : name, area.left - 6, y);
  }
}

function told1(value) {
  return value === null || value === undefined ? 'a gap' : fixed(value);
}

// 511 colours from the least to the most, each as the four bytes of a pixel.
function palette(signed) {
  const found = new Uint8ClampedArray(4 * 511);
  for (let i = 0; i <= 510; i += 1) {
    const colour = signed ? diverging(i / 255 - 1) : sequential(i / 510);
    found.set([...colour.match(/\d+/g).map(Number), 255], 4 * i);
  }
  return new Uint32Array(found.buffer);
}

// A number a step as bars, upwards and downwards from 0; of several steps in one pixel the largest and
// the smallest. With `signed`, orange is for something and blue against it.
export function barTrack({
  name, values, first = 0, spans, height = 90, most, scale, signed = false, tells = (value) => fixed(value, 4),
}) {
  const [low, high] = extremes(values, 0, values.length) ?? [0, 0];
  const up = Math.max(0, most ?? high);
  const down = Math.min(0, low);
  return {
    name, height, scale,
    draw(pen, area) {
      const y = (value) => 4 + ((up - value) / (up - down || 1)) * (area.height - 8);
      gridLines(pen, area, [...new Set([0, up, down])], y, (value) => plain(Number(value.toPrecision(2))));
      valuesIn(area, values.length, first, spans).forEach((found, i) => {
        if (found === null) return;
        const own = extremes(values, found[0], found[1]);
        if (own === null) return;
        const bar = (value) => {
          pen.fillStyle = area.colour(signed && value > 0 ? '--series-2' : '--series-1');
          pen.fillRect(area.left + i, Math.min(y(0), y(value)), 1, Math.max(value === 0 ? 0 : 1, Math.abs(y(value) - y(0))));
        };
        if (own[1] > 0) bar(own[1]);
        if (own[0] < 0) bar(own[0]);
      });
    },
    tell(step) {
      const at = valueAt(step, values.length, first, spans);
      return at < 0 ? '' : `${name} ${tells(values[at])}`;
    },
  };
}

// A label for each step, as stretches of one shade with their names; `all` are the labels of the run,
// so that a label has the same shade in every band.
export function bandTrack({ name, labels, all, first = 0, spans, height = 26 }) {
  const edge = (i) => (spans === undefined ? first + i : i < labels.length ? spans[i][0] : spans.at(-1)[1]);
  return {
    name, height,
    draw(pen, area) {
      pen.font = area.font;
      pen.textBaseline = 'middle';
      pen.textAlign = 'left';
      let start = 0;
      for (let i = 1; i <= labels.length; i += 1) {
        if (i < labels.length && labels[i] === labels[start]) continue;
        const [from, to] = [Math.max(area.from, edge(start)), Math.min(area.to, edge(i))].map(area.x);
        if (to > from) band(pen, area, labels[start], from, to, all);
        start = i;
      }
    },
    tell(step) {
      const at = valueAt(step, labels.length, first, spans);
      return at < 0 ? '' : `${name}: ${labels[at]}`;
    },
  };
}

function band(pen, area, label, from, to, all) {
  const at = Math.max(0, all.indexOf(label));
  pen.globalAlpha = 0.3;
  pen.fillStyle = area.colour(`--series-${(at % HATCHES) + 1}`);
  pen.fillRect(from, 2, Math.max(1, to - from - 0.5), area.height - 4);
  pen.globalAlpha = 1;
  if (label.length * LETTER + 6 >= to - from) return;
  pen.fillStyle = area.colour('--ink');
  pen.fillText(label, from + 4, area.height / 2);
}
