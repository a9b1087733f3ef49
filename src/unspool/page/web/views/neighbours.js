// The view `neighbours`: the tokens whose vectors are nearest to that of one token, in a list and on a
// map.

import { bars } from '../bars.js';
import { el } from '../dom.js';
import { selectField } from '../fields.js';
import { fixed } from '../maths.js';
import { choose, line, visible } from '../tokens.js';
import { map } from './neighbours/map.js';

const SIDES = { read: 'what is read', written: 'what is written' };
const TOPS = ['6', '12', '24', '48'];

export const neighbours = {
  name: 'neighbours',
  title: 'Neighbours',
  about: 'Tokens whose vectors point the same way: what the model takes to be alike.',
  applies: (run) => run.views.includes('neighbours'),

  async show(root, context) {
    const { params, text } = context;
    const given = { text };
    for (const name of ['word', 'side', 'top']) if (params.has(name)) given[name] = params.get(name);
    let found = null;
    let problem = null;
    try {
      found = await context.ask('neighbours', given);
    } catch (error) {
      // A word that has no vector leaves the rest of the view as it is.
      if (error.name === 'AbortError' || given.word === undefined) throw error;
      problem = error.message;
      found = await context.ask('neighbours', { ...given, word: '' });
    }
    root.classList.add('stack');
    if (found.none !== null) {
      root.append(el('p', { text: `${found.none[0].toUpperCase()}${found.none.slice(1)}.` }));
      return;
    }
    root.append(...[
      controls(found, context, given.word),
      problem === null ? null : el('p', { class: 'error', role: 'alert', text: problem }),
      tokens(found, context),
      result(found, context, root.clientWidth),
    ].filter((part) => part !== null));
  },
};

function controls({ sides, side, word }, { run, go, params }, typed) {
  const input = el('input', {
    type: 'search', id: 'neighbours-word', value: typed ?? word, spellcheck: 'false',
    autocomplete: 'off', readonly: run.saved,
  });
  const top = params.get('top') ?? '12';
  return el('form', {
    class: 'controls',
    onsubmit: (event) => { event.preventDefault(); if (input.value !== '') go({ word: input.value }); },
  },
  el('label', null, el('span', { text: 'Token' }), input),
  run.saved ? null : el('button', { text: 'Find' }),
  selectField('neighbours-top', 'How many', [...new Set([...TOPS, top])], top,
    (to) => go({ top: to }), run.saved),
  sides.length > 1
    ? selectField('neighbours-side', 'Vectors of', sides.map((name) => [name, SIDES[name]]), side,
      (to) => go({ side: to, word: null }), run.saved)
    : null);
}

// The tokens of the text, to be clicked.
function tokens(found, { run, go, signal }) {
  if (found.tokens.length === 0 || run.saved) return null;
  const at = found.tokens.findIndex((token) => token === found.word);
  const whole = line(found.tokens, {
    name: found.side === 'read' ? 'Tokens of the text' : `Tokens of the ${run.writes}`,
    of: (i) => ({ label: `Neighbours of ${visible(found.tokens[i])}` }),
    onchoose: (i) => go({ word: found.tokens[i] }),
  });
  choose(whole, at);
  whole.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const now = [...whole.children].indexOf(document.activeElement);
    if (by === undefined || whole.children[now + by] === undefined) return;
    event.preventDefault();
    whole.children[now + by].focus();
  }, { signal });
  return whole;
}

function result(found, { run, go }, width) {
  const onpick = run.saved ? undefined : (token) => go({ word: token });
  const rows = found.neighbours.map(({ token, similarity }) => ({
    name: token, value: similarity, text: fixed(similarity, 4),
    onclick: onpick && (() => onpick(token)),
  }));
  const spelled = found.spelled
    ? ' Beside these vectors, the model reads the characters of each word.' : '';
  return el('div', { class: 'columns' },
    el('section', { class: 'surface' },
      el('h2', null, 'Nearest to ', el('span', { class: 'token', text: visible(found.word) })),
      el('p', {
        class: 'note',
        text: `By the cosine of the angle between vectors of ${found.elements} numbers, ` +
          `of ${found.size.toLocaleString('en')} tokens.${spelled}`,
      }),
      bars(rows, {
        caption: `Tokens nearest to ${visible(found.word)}`, name: 'token', number: 'cosine',
      })),
    el('section', { class: 'surface' },
      el('h2', { text: 'Map' }),
      el('p', {
        class: 'note',
        text: 'The plane in which these vectors, at length 1, differ most (principal components).',
      }),
      map(found.map, Math.min(560, (width > 760 ? width / 2 : width) - 48), onpick)));
}
