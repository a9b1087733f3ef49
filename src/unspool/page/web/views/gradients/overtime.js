// How much an answer depends on the hidden state at each step of a series: bars below it, a track for each
// layer and direction.
//
// In: the answers `states` and `input`. Out: an element.

import { el } from '../../dom.js';
import { inputTracks, timeOf } from '../../inputs.js';
import { power } from '../../maths.js';
import { Timeline } from '../../timeline.js';
import { barTrack, valueAt } from '../../tracks.js';
import { titleOf } from '../unrolled/choosing.js';

export function stateTimeline(states, input, context) {
  const { spans, tokens } = states;
  const last = Math.max(input.steps.length, ...spans.map(([, end]) => end));
  const names = Array.from({ length: last }, (_, i) => input.steps[i] ?? tokens[valueAt(i, tokens.length, 0, spans)]);
  const most = Math.max(...states.states.flatMap((state) => state.norms)) || 1;
  const time = new Timeline({
    ...timeOf(input, context), steps: names, label: 'The series and how much the answer depends on each state',
  });
  time.show([...inputTracks(input, context.run), ...states.states.map(({ layer, direction, norms }) => barTrack({
    name: titleOf({ layer, direction }, false), values: norms, spans, most, height: 80, tells: power,
  }))]);
  return el('div', { class: 'surface' }, time.element);
}
