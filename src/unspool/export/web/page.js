// The page: a form for one item, and the answer to it.

import { Model } from './model.js';
import { el, svg } from './dom.js';
import { RUNTIME } from './runtime.js';

const $ = (id) => document.getElementById(id);
const MOST = 12; // labels that are shown

function shape(input) {
  return input.kind === 'joined' ? shape(input.members[0]) : input;
}

const isPair = (input) => input.kind === 'pair' || Boolean(input.pair);

// Fields of the form, and how they become an item.
function form(input) {
  if (input.kind === 'series') {
    const field = el('textarea', { id: 'item', rows: 8, spellcheck: 'false' });
    const file = el('input', { type: 'file', id: 'file', accept: '.csv,.tsv,.txt,.json' });
    file.addEventListener('change', async () => {
      if (file.files.length) field.value = await file.files[0].text();
    });
    const { length } = input.channels;
    const about = `A step a line, ${length} number${length === 1 ? '' : 's'} each; nothing where none was measured`;
    return {
      nodes: [labelled('Series', field, about), labelled('or a file', file)],
      read: () => series(field.value, length),
    };
  }
  if (isPair(input)) {
    const both = ['First text', 'Second text'].map((name, i) =>
      [name, el('textarea', { id: i ? 'second' : 'item', rows: 3 })]);
    return {
      nodes: both.map(([name, field]) => labelled(name, field)),
      read: () => both.map(([, field]) => field.value),
    };
  }
  const field = el('textarea', { id: 'item', rows: 4 });
  return { nodes: [labelled('Text', field)], read: () => field.value };
}

function labelled(name, field, about) {
  return el('p', { class: 'field' },
    el('label', { for: field.id, text: name }), field,
    about && el('span', { class: 'note', text: about }));
}

// Steps of numbers from lines, or from JSON.
function series(text, channels) {
  const body = text.trim();
  if (!body) throw new Error('give at least one step');
  let steps;
  if (body.startsWith('[')) {
    steps = JSON.parse(body).map((step) => (Array.isArray(step) ? step : [step]));
  } else {
    const lines = body.split(/\r?\n/).map((line) => cells(line));
    // A header has names only.
    const header = lines[0].every((cell) => cell && Number.isNaN(Number(cell)) && cell !== 'nan');
    steps = lines.slice(Number(header)).map((line) => line.map(number));
  }
  const other = steps.findIndex((step) => step.length !== channels);
  if (other >= 0) {
    throw new Error(`step ${other + 1} has ${steps[other].length} numbers; the model reads ${channels}`);
  }
  return steps;
}

const cells = (line) => (
  /[,;\t]/.test(line) ? line.split(/[,;\t]/).map((cell) => cell.trim()) : line.trim().split(/\s+/)
);

function number(cell) {
  if (['', 'nan', 'null', 'na'].includes(cell.toLowerCase())) return null;
  if (Number.isNaN(Number(cell))) throw new Error(`${cell} is not a number`);
  return Number(cell);
}

const share = (p) => (p >= 0.9995 ? '> 0.999' : p < 0.0005 ? '< 0.001' : p.toFixed(3));

function bars(probabilities, chosen) {
  const ranked = [...probabilities].sort((a, b) => b[1] - a[1]);
  const rows = ranked.slice(0, MOST).map(([label, p]) => el('tr', { class: chosen.has(label) && 'chosen' },
    el('th', { scope: 'row', text: label }),
    el('td', { class: 'bar' }, el('meter', { min: 0, max: 1, value: p, 'aria-label': label })),
    el('td', { class: 'number', text: share(p) })));
  const rest = ranked.length - rows.length;
  return [el('table', { class: 'shares' }, ...rows), rest > 0 && el('p', { class: 'note', text: `and ${rest} more` })];
}

// Colours of labels in the order in which they appear.
function colours(tags) {
  const kinds = [...new Set(tags.map(kindOf).filter((kind) => kind !== 'O'))];
  return new Map(kinds.map((kind, i) => [kind, `tag-${i % 6}`]));
}

const kindOf = (tag) => String(tag).replace(/^[BIESLU]-/, '');

function tagged({ words, tags }) {
  const colour = colours(tags);
  const shown = tags.map((tag, i) => el('span', { class: `token ${colour.get(kindOf(tag)) ?? ''}` },
    el('span', { text: words[i] }), el('small', { text: kindOf(tag) === 'O' ? '' : tag })));
  return [el('p', { class: 'tokens' }, ...shown)];
}

// Runs of steps with one label.
function runs(tags) {
  const rows = [];
  tags.forEach((tag, i) => {
    const last = rows.at(-1);
    if (last && last.tag === tag) last.end = i;
    else rows.push({ tag, start: i, end: i });
  });
  return [el('table', { class: 'shares' }, ...rows.map(({ tag, start, end }) => el('tr', {},
    el('th', { scope: 'row', text: tag }),
    el('td', { text: start === end ? `step ${start + 1}` : `steps ${start + 1} to ${end + 1}` }))))];
}

function curve(item) {
  const width = 640;
  const height = 120;
  const known = item.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (t) => 4 + ((width - 8) * t) / Math.max(1, item.length - 1);
  const y = (value) => height - 4 - ((height - 8) * (value - low)) / (high - low || 1);
  const lines = item[0].map((_, c) => {
    let pen = 'M';
    const path = item.map((step, t) => {
      if (step[c] === null) { pen = 'M'; return ''; }
      const part = `${pen}${x(t).toFixed(1)} ${y(step[c]).toFixed(1)}`;
      pen = 'L';
      return part;
    });
    return svg('path', { d: path.join(''), class: `line-${c % 6}` });
  });
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'curve', role: 'img', 'aria-label': 'the series' }, ...lines);
}

function shown(answer, item, input) {
  const parts = [];
  if (input.kind === 'series') parts.push(curve(item));
  if (answer.tags) {
    parts.push(...(input.kind === 'series' ? runs(answer.tags) : tagged(answer)));
  } else if (answer.numbers) {
    parts.push(el('table', { class: 'shares' }, ...Object.entries(answer.numbers).map(([name, value]) =>
      el('tr', {}, el('th', { scope: 'row', text: name }), el('td', { class: 'number', text: Number(value.toPrecision(6)) })))));
  } else {
    const labels = answer.labels ?? [answer.label];
    parts.push(el('p', { class: 'answer', text: labels.join(', ') || 'no label' }));
    parts.push(...bars(answer.probabilities, new Set(labels.map(String))));
  }
  return parts;
}

function problem(text) {
  $('answer').replaceChildren(el('p', { class: 'error', role: 'alert', text }));
}

async function runtime() {
  try {
    const ort = await import(`${RUNTIME}ort.wasm.min.mjs`);
    ort.env.wasm.wasmPaths = new URL(RUNTIME, document.baseURI).href;
    ort.env.wasm.numThreads = 1;
    return ort;
  } catch {
    throw new Error('onnxruntime-web is not here: run `npm install` in this folder');
  }
}

async function main() {
  const model = await Model.open(await runtime());
  const { about } = model;
  const input = shape(about.input);
  const { nodes, read } = form(input);
  $('state').textContent = `${about.task} by ${about.model}. Everything runs in this browser.`;
  const button = el('button', { type: 'submit', class: 'primary', text: 'Predict' });
  $('form').replaceChildren(...nodes, el('p', {}, button));
  $('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const item = read();
      const began = performance.now();
      const [answer] = await model.answers([item]);
      const spent = performance.now() - began;
      $('answer').replaceChildren(...shown(answer, item, input).filter(Boolean),
        el('p', { class: 'note', text: `${spent.toFixed(spent < 10 ? 1 : 0)} ms` }));
    } catch (error) {
      problem(error.message);
    }
  });
  const cases = await (await fetch('./check.json')).json();
  const error = await model.check(cases);
  $('check').textContent = error <= 1e-4
    ? `Checked: outputs differ by ${error ? error.toExponential(1) : 0} from those of the trained model.`
    : 'The check failed: this browser computes other outputs than the trained model.';
  document.body.dataset.ready = 'true';
}

main().catch((error) => problem(error.message));
