// The view `ngrams`: what the filters of a cnn answer to, in the text and in a corpus, and for which
// class they speak.

import { clear, el } from '../dom.js';
import { selectField } from '../fields.js';
import { signed } from '../maths.js';
import { choose, line, visible } from '../tokens.js';
import { cutLine } from '../windows.js';
import { ngram, roll } from './ngrams/roll.js';

const EACH = ['5', '10', '20', 'all']; // filters of a class
const NAMES = 120; // pixels that the names of filters cover
const CORPUS = 4; // filters of a class in the table of a corpus

export const ngrams = {
  name: 'ngrams',
  title: 'N-grams',
  about: 'Each filter looks for one kind of n-gram: where in the text it answers most, and what for.',
  applies: (run) => run.views.includes('ngrams'),

  async show(root, context) {
    new Ngrams(root, context, await context.ask('ngrams', { text: context.text })).build();
  },
};

class Ngrams {
  constructor(root, context, found) {
    Object.assign(this, { root, context, found });
    this.words = context.run.task === 'tag';
    this.each = EACH.includes(context.params.get('filters')) ? context.params.get('filters') : EACH[0];
    const word = Number.parseInt(context.params.get('word'), 10);
    this.word = clamp(Number.isNaN(word) ? found.step : word, found.tokens.length);
    this.weighed = found.found.some((each) => each.label !== null);
    this.most = Math.max(0, ...found.found.map((each) => each.activation));
  }

  build() {
    const { context, found, root } = this;
    this.rollBox = el('div', {
      class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'N-grams in the text',
    });
    this.detail = el('section', { class: 'surface detail', 'aria-live': 'polite' });
    root.classList.add('stack');
    root.append(...[
      cutLine(found), this.answer(), this.words ? this.wordLine() : null, this.controls(),
      el('div', { class: 'surface' }, this.rollBox, el('p', { class: 'note', text: this.note() })),
      this.detail, this.corpus(),
    ].filter((part) => part !== null));
    root.addEventListener('keydown', (event) => this.onKey(event), { signal: context.signal });
    this.draw();
  }

  answer() {
    const { answer, asked, answer_value: value, measure } = this.found.choices[this.words ? this.word : 0];
    const sentence = this.words ? `The tag of “${visible(asked)}” is ` : 'The answer is ';
    this.said = el('p', null, sentence, el('strong', { class: 'token', text: visible(answer) }),
      measure === 'number' ? `: ${value.toFixed(4)}` : ` with probability ${value.toFixed(4)}`);
    return this.said;
  }

  // Of a tagger: the words, one of them chosen.
  wordLine() {
    this.line = line(this.found.tokens, {
      name: 'The words', onchoose: (at) => this.goWord(at),
      of: (i) => ({
        note: this.found.choices[i].answer,
        label: `${visible(this.found.tokens[i])}, ${this.found.choices[i].answer}`,
      }),
    });
    return this.line;
  }

  goWord(at) {
    this.word = clamp(at, this.found.tokens.length);
    this.context.set({ word: this.word, filter: null });
    this.context.params.delete('filter');
    this.said.replaceWith(this.answer());
    this.draw();
  }

  controls() {
    if (this.words) return null;
    const label = this.weighed ? 'Filters of each class' : 'Filters';
    const change = (each) => {
      this.each = each;
      this.context.set({ filters: each });
      this.draw();
    };
    return el('div', { class: 'controls' },
      selectField('ngrams-filters', label, EACH, this.each, change));
  }

  // [{title, filters}]: one group a class, or of a tagger those of the chosen word.
  groups() {
    const { found } = this.found;
    if (this.words) return [{ title: null, filters: found.filter((each) => each.position === this.word) }];
    const most = this.each === 'all' ? Infinity : Number(this.each);
    const labels = [...new Set(found.map((each) => each.label))];
    return labels.map((label) => {
      const own = found.filter((each) => each.label === label);
      const total = own.reduce((sum, each) => sum + (each.weight ?? 0) * each.activation, 0);
      return {
        title: label === null ? null
          : `For ${visible(label)}: ${own.length} of ${this.found.filters} filters, ` +
            `together ${signed(total, 2)}`,
        filters: own.slice(0, most),
      };
    });
  }

  draw() {
    const groups = this.groups();
    this.shown = groups.flatMap((group) => group.filters);
    clear(this.rollBox).append(roll(this.found.tokens, groups, {
      most: this.most, onchoose: (filter) => this.pick(filter),
    }));
    if (this.words) choose(this.line, this.word);
    const asked = Number(this.context.params.get('filter') ?? NaN);
    const known = this.shown.find((each) => each.filter === asked) ?? this.shown[0];
    if (known === undefined) this.detail.textContent = 'All filters are silent here.';
    else this.tell(known.filter);
  }

  note() {
    const { layers } = this.found;
    const first = layers > 1
      ? ' These are the filters of the first layer; those above read their features.' : '';
    if (this.words) return `The filters that answer most at this word.${first}`;
    const effect = this.weighed
      ? ' Beside its number: activation × weight, by which it raises the score of its class above ' +
        'the others’.' : '';
    return `A strip covers the n-gram that a filter answers to most; in it, the activation.${effect}${first}`;
  }

  // Chooses a filter: in the roll and in the address.
  pick(filter) {
    this.context.params.set('filter', filter);
    this.context.set({ filter });
    this.tell(filter);
  }

  tell(filter) {
    const focused = this.rollBox.contains(document.activeElement);
    const own = this.shown.find((each) => each.filter === filter);
    this.filter = filter;
    for (const strip of this.rollBox.querySelectorAll('.strip')) {
      const chosen = Number(strip.dataset.filter) === filter;
      strip.setAttribute('aria-pressed', String(chosen));
      strip.tabIndex = chosen ? 0 : -1;
      if (chosen && focused) strip.focus({ preventScroll: true });
      if (chosen) intoView(this.rollBox, strip);
    }
    const speaks = own.label === null ? []
      : [' It speaks for ', el('strong', { class: 'token', text: visible(own.label) }),
        ` with a weight of ${own.weight.toFixed(3)}: ${signed(own.weight * own.activation, 2)} in all.`];
    clear(this.detail).append(
      el('h2', { text: `Filter ${filter}` }),
      el('p', null, `It reads ${own.width} ${own.width === 1 ? 'token' : 'tokens'}, and answers to `,
        el('span', { class: 'token', text: ngram(own, this.found.tokens) }),
        ` with ${own.activation.toFixed(3)}.`, speaks),
      ...this.alike(filter));
  }

  // What the filter answers to in the corpus.
  alike(filter) {
    const own = this.found.corpus?.find((each) => each.filter === filter);
    return own === undefined ? [] : [
      el('h3', { text: 'In the corpus' }), ngramTable(own)];
  }

  corpus() {
    const { corpus } = this.found;
    if (corpus === null) {
      return this.words ? null : el('p', { class: 'note' }, 'With ', el('code', { text: '--data FILE' }),
        ' the page also shows the n-grams of that file that each filter answers to.');
    }
    const labels = [...new Set(corpus.map((each) => each.label))].sort();
    const strongest = (label) => corpus
      .filter((each) => each.label === label && each.ngrams.length > 0).slice(0, CORPUS);
    return el('section', null,
      el('h2', { text: 'In the corpus' }),
      el('p', {
        class: 'note',
        text: 'For each class the filters that move its score most, and the n-grams they answer to most.',
      }),
      el('div', { class: 'classes' }, labels.map((label) => el('div', null,
        el('h3', { text: `For ${visible(label)}` }),
        el('div', { class: 'corpus' }, strongest(label).map(filterCard))))));
  }

  // Up and down: filters; left and right: the words of a tagger.
  onKey(event) {
    if (event.target.matches('select, input')) return;
    const vertical = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const across = this.words ? { ArrowRight: 1, ArrowLeft: -1 }[event.key] : undefined;
    if (vertical === undefined && across === undefined) return;
    event.preventDefault();
    if (across !== undefined) {
      this.goWord(this.word + across);
      return;
    }
    const at = this.shown.findIndex((each) => each.filter === this.filter);
    const next = this.shown[at + vertical];
    if (next !== undefined) this.pick(next.filter);
  }
}

function filterCard(each) {
  const { filter, width, weight } = each;
  return el('div', { class: 'surface' },
    el('p', { class: 'note', text: `Filter ${filter}, width ${width}, weight ${weight.toFixed(2)}` }),
    ngramTable(each));
}

function ngramTable({ ngrams: own, filter }) {
  const number = (text) => el('td', { class: 'number', text });
  return el('table', null,
    el('caption', { class: 'visually-hidden', text: `N-grams of filter ${filter}` }),
    el('thead', null, el('tr', null, el('th', { text: 'n-gram' }),
      el('th', { class: 'number', text: 'activation' }), el('th', { class: 'number', text: 'times' }))),
    el('tbody', null, own.map(({ text, activation, times }) => el('tr', null,
      el('td', { class: 'ngram', text }), number(activation.toFixed(3)), number(String(times))))));
}

// Sideways, in its own box.
function intoView(box, strip) {
  const [left, right] = [strip.offsetLeft, strip.offsetLeft + strip.offsetWidth];
  if (left < box.scrollLeft + NAMES || right > box.scrollLeft + box.clientWidth) {
    box.scrollLeft = left - NAMES;
  }
}

function clamp(at, count) {
  return Math.min(count - 1, Math.max(0, at));
}
