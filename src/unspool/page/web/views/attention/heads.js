// Every head of every layer, small. In: a kind of attention. Out: a grid of buttons, layers downwards
// and heads across, each with the picture of its weights and what it does on the whole.

import { el } from '../../dom.js';
import { habit, strongest } from './weights.js';
import { picture } from './matrix.js';

export function headsGrid(kind, onopen) {
  const most = Math.max(...kind.layers.flatMap((each) => each.heads.map(strongest)));
  const square = kind.rows.axis === kind.columns.axis;
  const below = square
    ? ' Below a head: which token it looks at most on average, of itself, the one before, the one ' +
      'after and the first, and with which weight.' : '';
  return el('section', { class: 'surface' },
    el('h2', { text: 'All heads' }),
    el('p', {
      class: 'note',
      text: `Who looks downwards, at whom across.${below} Open a head to see its words.`,
    }),
    kind.layers.map(({ layer, heads }) => el('div', {
      class: 'heads', role: 'group', 'aria-label': `Layer ${layer}`, style: { '--heads': heads.length },
    }, heads.map((matrix, i) => {
      const told = habit(matrix, square);
      const name = kind.layers.length > 1 ? `layer ${layer}, head ${i + 1}` : `head ${i + 1}`;
      return el('button', {
        type: 'button', class: 'head', dataset: { layer, head: i + 1 },
        'aria-label': `Open ${name}: ${told}`, onclick: () => onopen(layer, i + 1),
      }, picture(matrix, most), el('span', { text: name }), el('span', { class: 'habit', text: told }));
    }))));
}
