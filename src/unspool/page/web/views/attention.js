// The view `attention`: which words look at which, head by head; and how a translation or a text is
// written token by token, with what else might have been.

import { sequential } from '../colour.js';
import { clear, el } from '../dom.js';
import { selectField } from '../fields.js';
import { isOfSentences, isOverTime, placesOf, stepsOf } from '../inputs.js';
import { fixed } from '../maths.js';
import { visible } from '../tokens.js';
import { windowLine } from '../windows.js';
import { headsGrid } from './attention/heads.js';
import { Lines } from './attention/lines.js';
import { Matrix } from './attention/matrix.js';
import { AttentionOverTime } from './attention/overtime.js';
import { Reader, digitsOf, nameOfRows } from './attention/reader.js';
import { keenest, kindsOf, largest, mean, scaleEnd } from './attention/weights.js';

const COLUMN = 352; // pixels of a picture at least, if there are two side by side: 22rem, as in `.columns`
const COPIED = 0.5; // probability from which on a token counts as copied
const GAP = 24; // between them
const INSET = 36; // around each

export const attention = {
  name: 'attention',
  title: 'Attention',
  about: aboutWeights,
  aboutSeries: (run) => `Which ${stepsOf(run).replace(/^\w+/, '$&s')} look at which: a weight for each pair, the weights of a row add up to 1.${placesOf(run)}`,
  applies: (run) => run.views.includes('attention'),

  async show(root, context) {
    if (isOverTime(context.run)) {
      const { text } = context;
      const [input, data] = await Promise.all([context.ask('input', { text }), context.ask('weights', { text })]);
      new AttentionOverTime(root, context, input, data).build();
      return;
    }
    const trace = await context.ask('trace',
      { text: context.text, first: context.params.get('first') ?? '0' });
    const kinds = kindsOf(trace);
    if (kinds.length > 0) new Attention(root, context, trace, kinds).build();
    else root.append(windowLine(trace, context), el('p', { text: 'Nothing was written here.' }));
  },
};

// What the weights are, of what is read.
function aboutWeights(run) {
  if (run.reduces) {
    return 'What the state of each hop after the last sentence is made of: a weight for each sentence. '
      + 'The weights of a hop add up to 1 at most; the rest is the state before the first sentence, zero.';
  }
  const [who, whom] = isOfSentences(run) ? ['What looks at which sentence', ''] : ['Which words look at which', ' for each pair'];
  return `${who}: a weight${whom}, the weights of a row add up to 1.`;
}

class Attention {
  constructor(root, context, trace, kinds) {
    Object.assign(this, { root, context, trace, kinds });
    this.pointed = null; // the row under the pointer
    this.read();
  }

  // From the address: kind, layer and head; `step` is a position in what is written, `row` in what is
  // read. All of them may be out of reach.
  read() {
    const { params } = this.context;
    this.kind = this.kinds.find((kind) => kind.key === params.get('kind')) ?? this.kinds[0];
    const layers = this.kind.layers.map((each) => String(each.layer));
    this.layer = Math.max(0, layers.indexOf(params.get('layer')));
    const heads = this.kind.layers[this.layer].heads.length;
    const head = params.get('head') ?? 'all';
    this.head = heads > 1 && ['all', 'mean'].includes(head) ? head : clamp(whole(head, 1), 1, heads);
    // The weights to be shown; of all heads, the mean of them.
    this.weights = typeof this.head === 'number' ? this.heads[this.head - 1] : mean(this.heads);
    this.most = scaleEnd(this.kind);
    const { names, first } = this.kind.rows;
    const row = whole(params.get(this.rowName), this.usual());
    this.row = clamp(row - first, 0, names.length - 1);
  }

  // The row to begin with: of the answer that is asked about unless another is named, or, where there
  // is one answer for all, of the token that looks most at another one.
  usual() {
    const { rows } = this.kind;
    const { choices, written, step } = this.trace;
    const answering = written.length > 0 ? 'written' : 'read';
    const steps = (answering === 'written' ? written : this.trace.tokens).length;
    return choices.length > 1 && choices.length === steps && rows.axis === answering
      ? step : rows.first + keenest(this.weights, this.kind);
  }

  get rowName() {
    return this.kind.rows.axis === 'written' ? 'step' : 'row';
  }

  get heads() {
    return this.kind.layers[this.layer].heads;
  }

  build() {
    const { signal } = this.context;
    this.controls = el('div', { class: 'controls' });
    this.readerBox = el('div');
    this.pictures = el('div', { class: 'pictures' });
    this.root.classList.add('stack');
    this.root.append(...[
      this.controls, windowLine(this.trace, this.context), this.readerBox, this.pictures,
      candidatesOf(this.trace, this.context.run.writes),
    ].filter((part) => part !== null));
    this.root.addEventListener('keydown', (event) => this.onKey(event), { signal });
    this.drawControls();
    this.drawReader();
    this.drawPictures();
    this.light();
  }

  // Changes what is shown; the address keeps it. The focus stays where it was, if that is still there.
  change(changes) {
    const row = { [this.rowName]: this.kind.rows.first + this.row };
    this.context.set({ kind: this.kind.key, ...row, ...changes });
    for (const [name, value] of Object.entries(changes)) this.context.params.set(name, value);
    const { id } = document.activeElement;
    const inside = this.root.contains(document.activeElement);
    const before = this.kind;
    this.pointed = null;
    this.read();
    this.drawControls();
    if (this.kind !== before) this.drawReader();
    this.drawPictures();
    this.light();
    if (inside && !this.root.contains(document.activeElement)) {
      (document.getElementById(id) ?? this.root).focus();
    }
  }

  drawControls() {
    const { kind, kinds, heads } = this;
    const field = (name, label, options, value) => selectField(
      `attention-${name}`, label, options, value, (to) => this.change({ [name]: to }));
    clear(this.controls).append(...[
      kinds.length > 1 ? field('kind', 'Kind', kinds.map((k) => [k.key, k.title]), kind.key) : null,
      kind.layers.length > 1
        ? field('layer', 'Layer', kind.layers.map((l) => l.layer), kind.layers[this.layer].layer) : null,
      heads.length > 1
        ? field('head', 'Head', [['all', 'all'], ['mean', 'mean of all'], ...heads.map((_, i) => i + 1)],
          this.head)
        : null,
    ].filter((control) => control !== null));
  }

  keys() {
    const pair = (a, b, what) => [el('kbd', { text: a }), ' ', el('kbd', { text: b }), ` ${what}  `];
    return el('span', { class: 'keys note' },
      pair('↑', '↓', nameOfRows(this.kind).toLowerCase()),
      this.heads.length > 1 ? pair('←', '→', 'head') : null,
      this.kind.layers.length > 1 ? pair('PgUp', 'PgDn', 'layer') : null);
  }

  drawReader() {
    this.reader?.player?.stop();
    const made = new Reader({
      kind: this.kind, trace: this.trace, reduces: this.context.run.reduces, keys: this.keys(),
      signal: this.context.signal,
      onrow: (row) => this.goRow(row),
    });
    this.readerBox.replaceChildren(made.element);
    this.reader = made;
  }

  drawPictures() {
    const { kind } = this;
    clear(this.pictures);
    this.lines = null;
    this.matrix = null;
    if (this.head === 'all') {
      this.pictures.append(headsGrid(kind, (layer, head) => {
        this.change({ layer, head });
        document.getElementById('attention-head')?.focus();
      }), this.legend());
      return;
    }
    const width = this.root.clientWidth;
    const half = (width >= 2 * COLUMN + GAP ? (width - GAP) / 2 : width) - INSET;
    const heard = {
      rows: kind.rows.names, columns: kind.columns.names, width: half,
      onpoint: (row, column) => this.point(row, column), onchoose: (row) => this.goRow(row),
    };
    this.lines = new Lines(heard);
    this.matrix = new Matrix(heard);
    this.lines.draw(this.weights, this.most);
    const box = (title, id, inside) => el('section', { class: 'surface' },
      el('h2', { text: title, id }),
      el('div', { class: 'scroll tall', tabindex: '0', role: 'region', 'aria-labelledby': id }, inside));
    this.pictures.append(
      el('div', { class: 'columns' },
        box('Lines', 'attention-lines', this.lines.element),
        box('Matrix', 'attention-matrix', this.matrix.canvas)),
      this.legend());
  }

  legend() {
    const { most, kind } = this;
    const shown = kind.layers.flatMap(({ heads }) => heads);
    const more = Math.max(...shown.map(largest)) > most ? ' and more' : '';
    const swatches = [0, 0.25, 0.5, 0.75, 1].map((x) => el('span', null,
      el('span', { class: 'swatch', style: { background: sequential(x) } }),
      ` ${(x * most).toFixed(digitsOf(most))}${x === 1 ? more : ''}`));
    return el('p', { class: 'legend' }, shown.length > 1 ? 'Weight, in all heads' : 'Weight', swatches,
      this.copiedLegend());
  }

  // What the rings of the matrix mean, with the tokens that were copied.
  copiedLegend() {
    const names = this.marks.map(([row]) => `“${visible(this.kind.rows.names[row])}” (p_gen `
      + `${this.copied[row].p_gen.toFixed(2)})`);
    return names.length > 0 ? el('span', { class: 'copied', text: ` Copied, with a ring: ${names.join(', ')}` }) : '';
  }

  // Shows the row that is pointed at, or the chosen one.
  light(column = null) {
    const row = this.pointed ?? this.row;
    const weights = this.weights[row];
    const whose = typeof this.head === 'number' ? '' : `, on the mean of ${this.heads.length} heads`;
    const marked = this.marks.filter(([at]) => at === row).map(([, where]) => where);
    this.reader.show({
      chosen: this.row, row, weights, most: this.most, whose, marked, origin: this.copiedSentence(row),
    });
    if (this.lines === null) return;
    const { rows, columns } = this.kind;
    const told = this.rowSentence(row, weights);
    this.lines.light(this.weights, row);
    this.lines.element.setAttribute('aria-label', `Lines. ${told}`);
    this.matrix.draw(this.weights, this.most, row, column, this.marks);
    this.matrix.canvas.setAttribute('aria-label',
      `Matrix of ${rows.names.length} by ${columns.names.length} weights. ${told}`);
  }

  rowSentence(row, weights) {
    const names = this.kind.columns.names;
    const best = weights.map((weight, j) => [weight, j]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const told = best.map(([weight, j]) => `“${visible(names[j])}” ${weight.toFixed(2)}`).join(', ');
    const verb = this.context.run.reduces ? 'is made most of' : 'looks most at';
    return `“${visible(this.kind.rows.names[row])}” ${verb} ${told}.${this.copiedSentence(row)}`;
  }

  // Where a written token comes from, of a model that copies.
  copiedSentence(row) {
    const own = this.copied[row];
    if (!own) return '';
    const gate = ` (p_gen ${own.p_gen.toFixed(2)})`;
    if (own.position === null || own.copied < COPIED) return ` It was generated${gate}.`;
    return ` It was copied from “${visible(this.trace.tokens[own.position])}” with probability `
      + `${own.copied.toFixed(2)}${gate}.`;
  }

  // Of the rows on show, where each token comes from.
  get copied() {
    const { rows, columns } = this.kind;
    if (rows.axis !== 'written' || columns.axis !== 'read') return [];
    return (this.trace.copied ?? []).slice(rows.first, rows.first + rows.names.length);
  }

  // [row, column] of what was copied, in the matrix.
  get marks() {
    const { first, names } = this.kind.columns;
    return this.copied.flatMap((own, row) => (
      own.position !== null && own.copied >= COPIED && own.position >= first && own.position < first + names.length
        ? [[row, own.position - first]] : []));
  }

  point(row, column) {
    if (row === this.pointed && column === null) return;
    this.pointed = row;
    this.light(column);
  }

  goRow(row) {
    const { first, names } = this.kind.rows;
    const to = clamp(row, 0, names.length - 1);
    this.pointed = null;
    this.row = to;
    this.context.set({ [this.rowName]: first + to });
    this.context.params.set(this.rowName, first + to);
    this.light();
    if (this.lines !== null) keepInView(this.lines.element.parentElement, this.lines.top(to));
  }

  onKey(event) {
    if (event.target.matches('select, input') || event.altKey || event.ctrlKey || event.metaKey) return;
    const layers = this.kind.layers.map((each) => each.layer);
    const heads = ['all', 'mean', ...this.heads.map((_, i) => i + 1)];
    const to = (list, now, by, name) => {
      const next = list[list.indexOf(now) + by];
      if (next !== undefined) this.change({ [name]: next });
    };
    const keys = {
      ArrowDown: () => this.goRow(this.row + 1),
      ArrowUp: () => this.goRow(this.row - 1),
      ArrowRight: () => this.heads.length > 1 && to(heads, this.head, 1, 'head'),
      ArrowLeft: () => this.heads.length > 1 && to(heads, this.head, -1, 'head'),
      PageDown: () => to(layers, layers[this.layer], 1, 'layer'),
      PageUp: () => to(layers, layers[this.layer], -1, 'layer'),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
}

// What a beam search found, the best first; `noun`: what it is called.
function candidatesOf({ candidates }, noun) {
  if (candidates.length === 0) return null;
  const number = (text) => el('td', { class: 'number', text });
  return el('section', null,
    el('h2', { text: 'What the search found' }),
    el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'What the search found' },
      el('table', null,
        el('thead', null, el('tr', null, el('th', { text: noun }),
          el('th', { class: 'number', text: 'score' }),
          el('th', { class: 'number', text: 'log probability' }))),
        el('tbody', null, candidates.map((each) => el('tr', null, el('td', { text: each.translation }),
          number(fixed(each.score, 4)), number(fixed(each.log_probability, 4))))))));
}

function whole(text, otherwise) {
  const number = Number.parseInt(text, 10);
  return Number.isNaN(number) ? otherwise : number;
}

function clamp(x, low, high) {
  return Math.min(high, Math.max(low, x));
}

function keepInView(box, top) {
  if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) {
    box.scrollTop = Math.max(0, top - box.clientHeight / 2);
  }
}
