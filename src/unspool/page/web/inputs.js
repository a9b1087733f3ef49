// What is drawn of an input that is no text, by how its field says that it is shown. In: the answer
// `input`. Out: tracks for a timeline, and of a drawing the drawing itself.

import { plain } from './chart.js';
import { Drawing } from './drawing.js';
import { bandTrack, curveTrack, heatTrack } from './tracks.js';
import { extremes } from './thinning.js';

const TALLEST = 180; // pixels of a heat map
const SPECTRUM = 132; // pixels of a spectrum
const QUIET = [0.05, 0.995]; // shares of the values of a spectrum between which colours differ
const MARKS = 5; // frequencies that stand beside it

const SHOWN = {
  curves: ({ channels, values }) => curveTrack({
    name: channels.length > 1 ? 'channels' : channels[0], height: 150,
    curves: channels.map((name, i) => ({ name, values: values[i] })),
  }),
  frames: ({ channels, values }) => curveTrack({
    name: 'mean colour', height: 80, curves: channels.map((name, i) => ({ name, values: values[i] })),
  }),
  drawing: ({ channels, values }) => curveTrack({
    name: 'movements of the pen', height: 110, curves: channels.map((name, i) => ({ name, values: values[i] })),
  }),
  'heat map': ({ channels, values }) => {
    const ends = values.map((own) => extremes(own, 0, own.length) ?? [0, 0]);
    const [low, high] = [Math.min(...ends.map(([a]) => a)), Math.max(...ends.map(([, b]) => b))];
    const signed = low < 0;
    return heatTrack({
      name: 'channels', rows: values, names: channels, signed, most: Math.max(Math.abs(low), Math.abs(high)) || 1,
      height: Math.min(TALLEST, 12 * channels.length), tellRow: () => null,
    });
  },
  'piano roll': ({ channels, values }) => {
    const used = channels.map((_, i) => i).filter((i) => values[i].some((own) => own > 0));
    const rows = channels.map((_, i) => i).slice(used[0] ?? 0, (used.at(-1) ?? 0) + 1).reverse();
    const octaves = rows.map((own, row) => [row, channels[own]]).filter(([, name]) => /^C\d$/.test(name));
    return {
      ...heatTrack({ name: 'piano roll', rows: rows.map((i) => values[i]), most: 1, height: Math.min(TALLEST, 6 * rows.length), beside: octaves, tellRow: () => null }),
      tell: (step) => channels.filter((_, i) => values[i][step] > 0).join(' ') || 'silence',
    };
  },
  spectrum: ({ channels, values }) => {
    const all = values.flat().sort((a, b) => a - b);
    const [least, most] = QUIET.map((share) => all[Math.round(share * (all.length - 1))]);
    const loudest = (step) => values.reduce((best, own, i) => (own[step] > values[best][step] ? i : best), 0);
    return {
      ...heatTrack({
        name: 'spectrum', rows: [...values].reverse(), least, most: Math.max(most, least + 1e-6), height: SPECTRUM,
        beside: frequencies(channels), tellRow: () => null, scale: 'power of each band of frequencies, the stronger the louder',
      }),
      tell: (step) => (values[0][step] === undefined ? '' : `loudest at ${channels[loudest(step)]}`),
    };
  },
};

const NOUNS = { drawing: 'point', spectrum: 'frame', frames: 'frame' };

// Some of the bands, the highest at the top: [[row, '1.2 kHz']].
function frequencies(channels) {
  const last = channels.length - 1;
  const rows = [...new Set(Array.from({ length: MARKS }, (_, i) => Math.round((i * last) / (MARKS - 1))))];
  return rows.map((row) => [row, short(channels[last - row])]);
}

function short(name) {
  const hertz = parseFloat(name);
  return name.endsWith(' Hz') && hertz >= 1000 ? `${(hertz / 1000).toFixed(1)} kHz` : name;
}

// The input, and the labels of its steps where there are some.
export function inputTracks(input, run) {
  const all = run.labels?.length ? run.labels : [...new Set(input.bands.flatMap(({ labels }) => labels))];
  return [
    SHOWN[input.shown_as](input),
    ...input.bands.map(({ name, labels, spans }) => bandTrack({ name, labels, all, spans })),
  ];
}

// What each channel contributes, [{name, values}], as the input has its channels.
export function channelTrack(input, channels, { first = 0, spans } = {}) {
  const most = Math.max(...channels.flatMap((own) => own.values.map(Math.abs))) || 1;
  const same = { name: 'by channel', first, spans, signed: true, most, tellRow: () => null, scale: `±${plain(most)}` };
  const rows = channels.map((own) => own.values);
  const names = channels.map((own) => own.name);
  if (input.shown_as !== 'spectrum') {
    return heatTrack({ ...same, rows, names, height: Math.min(200, Math.max(48, 18 * channels.length)) });
  }
  return { ...heatTrack({ ...same, name: 'by band', rows: rows.reverse(), height: SPECTRUM, beside: frequencies(names) }), tell: () => '' };
}

// Of strokes the drawing, else null. onchoose(point): it was clicked on.
export function drawingOf(input, label, onchoose) {
  if (input.shown_as !== 'drawing') return null;
  const [dx, dy, up] = input.values;
  return new Drawing({ x: sums(dx), y: sums(dy), up, label, onchoose });
}

function sums(values) {
  let sum = 0;
  return values.map((value) => { sum += value; return sum; });
}

// What a timeline of an input needs to know of it.
export function timeOf(input, context) {
  const sound = context.sound !== null && input.duration ? { element: context.sound, duration: input.duration } : null;
  return { steps: input.steps, noun: NOUNS[input.shown_as] ?? 'step', signal: context.signal, sound };
}

export function isOverTime(run) {
  return run.input.shown_as !== 'tokens';
}

// What the steps of an input are called.
export function stepsOf(run) {
  const { shown_as: shown, pictured } = run.input;
  return { frames: 'frame', drawing: 'point' }[shown] ?? (pictured ? 'part of the image' : 'step');
}

// How they are named, where that needs saying.
export function placesOf(run) {
  return stepsOf(run) === 'part of the image' ? ' “2,3” is the third part of the second row.' : '';
}

// Whether what is read, looked at and explained are sentences instead of tokens.
export function isOfSentences(run) {
  return run.input.unit === 'sentence';
}

// What an answer at a step is, for `choiceOf`.
export function labelAt(run) {
  const words = {
    transcribe: (step) => `At ${step} the model writes`,
    compose: (step) => `After step ${step} the most probable key is`,
    caption: () => 'The next word is',
    handwrite: (step) => `After the point that follows point ${step} the model expects`,
  };
  return words[run.task] ?? ((step) => `The label at ${step} is`);
}

// Of a series that is too long: that its end was not read, or null.
export function unreadLine(input) {
  const count = (number) => number.toLocaleString('en');
  const noun = NOUNS[input.shown_as] ?? 'step';
  return input.read >= input.steps.length ? null
    : `Only the first ${count(input.read)} of ${count(input.steps.length)} ${noun}s were read.`;
}
