// What the views of an unrolled layer share: how units are ordered, how layers are called, and the keys
// that choose a step and a unit.

import { el } from '../../dom.js';

export const ORDERS = { movement: 'by how much they move', index: 'by number' };

export function keyOf({ part, layer, direction }) {
  return [part, layer, direction].join(' ');
}

// `whole`: with the part, where a model has two.
export function titleOf({ part, layer, direction }, whole = true) {
  return [whole ? part : null, `layer ${layer}`, direction].filter((own) => own !== null).join(', ');
}

export function keys(...names) {
  return names.flatMap((name) => [el('kbd', { text: name }), ' ']);
}

// Let a key choose in a view: { step, count, unit, player, ordered(), choose(step, unit) }.
export function chooseByKey(view, event) {
  const busy = event.target.matches('select, input, summary'); // which have uses for these keys
  if (busy || event.ctrlKey || event.altKey || event.metaKey) return;
  const order = view.ordered();
  const at = order.indexOf(view.unit);
  const moves = {
    ArrowLeft: [view.step - 1, view.unit],
    ArrowRight: [view.step + 1, view.unit],
    Home: [0, view.unit],
    End: [view.count - 1, view.unit],
    ArrowUp: [view.step, order[Math.max(0, at - 1)]],
    ArrowDown: [view.step, order[Math.min(order.length - 1, at + 1)]],
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  view.player.stop();
  view.choose(...moves[event.key]);
}
