// Every head of every layer, small. In: a kind of attention. Out: a grid of buttons, layers downwards
// and heads across, each with the picture of its weights and what it does on the whole.

import { el } from '../../dom.js';
import { habit, scaleEnd } from './weights.js';
import { picture } from './matrix.js';

export function headsGrid(kind, onopen) {
  const most = scaleEnd(kind);
  const how = { square: kind.rows.axis === kind.columns.axis, names: kind.columns.names };
  return el('section', { class: 'surface' },
    el('h2', { text: 'All heads' }),
    el('p', {
      class: 'note',
      text: 'Who looks downwards, at whom across. Below a head: where most of its weight lies on average, ' +
        'or, where it lies nowhere in particular, over how many tokens it is spread. Open a head to see ' +
        'its words.',
    }),
    kind.layers.map(({ layer, heads }) => el('div', {
      class: 'heads', role: 'group', 'aria-label': `Layer ${layer}`, style: { '--heads': heads.length },
    }, heads.map((matrix, i) => {
      const told = habit(matrix, how);
      const name = kind.layers.length > 1 ? `layer ${layer}, head ${i + 1}` : `head ${i + 1}`;
      return el('button', {
        type: 'button', class: 'head', dataset: { layer, head: i + 1 },
        'aria-label': `Open ${name}: ${told}`, onclick: () => onopen(layer, i + 1),
      }, picture(matrix, most), el('span', { text: name }), el('span', { class: 'habit', text: told }));
    }))));
}
