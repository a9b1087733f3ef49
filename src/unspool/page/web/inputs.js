// What is drawn of an input that is no text, by how its field says that it is shown. In: the answer
// `input`. Out: tracks for a timeline.

import { bandTrack, curveTrack, heatTrack } from './tracks.js';
import { extremes } from './thinning.js';

const TALLEST = 180; // pixels of a heat map

const SHOWN = {
  curves: ({ channels, values }) => curveTrack({
    name: channels.length > 1 ? 'channels' : channels[0], height: 150,
    curves: channels.map((name, i) => ({ name, values: values[i] })),
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
};

// The input, and the labels of its steps where there are some.
export function inputTracks(input, run) {
  const all = run.labels ?? [];
  return [
    SHOWN[input.shown_as](input),
    ...input.bands.map(({ name, labels }) => bandTrack({ name, labels, all })),
  ];
}

export function isOverTime(run) {
  return run.input.shown_as !== 'tokens';
}

// What an answer at a step is, for `choiceOf`.
export function labelAt(step) {
  return `The label at ${step} is`;
}

// Of a series that is too long: that its end was not read, or null.
export function unreadLine(input) {
  const count = (number) => number.toLocaleString('en');
  return input.read >= input.steps.length ? null
    : `Only the first ${count(input.read)} of ${count(input.steps.length)} steps were read.`;
}
