// The form of one input and of its options, made from their JSON schemas. In: a schema and an example.
// Out: an element, and a function that reads its value.

import { el } from './dom.js';
import { Recorder } from './recorder.js';

// An input. `changed` is called when one was dropped, recorded or chosen.
export function itemField(schema, example, changed) {
  const forms = schema.anyOf ?? [schema];
  const file = forms.map(fileOf).find((found) => found !== null);
  if (file) return fileField(file, example, changed);
  const sides = forms.find((each) => each.type === 'array' && each.minItems === 2 && each.maxItems === 2);
  if (sides) return pairField(example);
  return forms.some((each) => each.type === 'string') ? textField(example) : jsonField(example);
}

// The member of an object that has the bytes of a file.
function fileOf(schema) {
  const [key, member] = Object.entries(schema.properties ?? {}).find(([, each]) => each.contentEncoding === 'base64') ?? [];
  return key ? { key, media: member.contentMediaType } : null;
}

function area(id, value, rows) {
  return el('textarea', { id, rows, value, spellcheck: 'false', autocomplete: 'off' });
}

function textField(example) {
  const input = area('item', typeof example === 'string' ? example : '', 3);
  return { element: labelled('Text', input), read: () => input.value };
}

function pairField(example) {
  const texts = Array.isArray(example) ? example : String(example ?? '').split(' ||| ');
  const inputs = ['First text', 'Second text'].map((name, i) => [name, area(`item-${i}`, texts[i] ?? '', 3)]);
  return {
    element: el('div', { class: 'columns' }, inputs.map(([name, input]) => labelled(name, input))),
    read: () => inputs.map(([, input]) => input.value),
  };
}

function jsonField(example) {
  const input = area('item', compact(example), 8);
  input.classList.add('mono');
  return {
    element: labelled('Input, as JSON or as rows of numbers', input),
    read: () => numbers(input.value) ?? parsed(input.value),
  };
}

// Rows of numbers with commas, tabs or spaces between them; null: none.
function numbers(text) {
  const rows = text.trim().split('\n').map((line) => line.trim().split(/[,;\s]+/).map(Number));
  return rows.flat().every((value) => !Number.isNaN(value)) && text.trim() !== '' ? rows : null;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the input is neither JSON nor rows of numbers');
  }
}

function fileField({ key, media }, example, changed) {
  let value = example ?? null;
  const status = el('p', { class: 'note', role: 'status', text: value === null ? '' : 'An example of the training data is chosen.' });
  const set = async (file) => {
    if (!file) return;
    value = { [key]: base64(await file.arrayBuffer()), name: file.name };
    status.textContent = `${file.name}: ${file.size.toLocaleString('en')} bytes`;
    changed();
  };
  const input = el('input', { type: 'file', id: 'item', accept: media, onchange: () => set(input.files[0]) });
  document.ondragover = (event) => event.preventDefault();
  document.ondrop = (event) => {
    event.preventDefault();
    set(event.dataTransfer.files[0]);
  };
  const record = media === 'audio/wav' ? new Recorder(set, (line) => { status.textContent = line; }).element : null;
  return {
    element: el('div', { class: 'field' },
      el('label', { for: 'item', text: 'File, which may be dropped here' }),
      el('div', { class: 'row' }, input, record), status),
    read: () => {
      if (value === null) throw new Error('choose a file first');
      return value;
    },
  };
}

function base64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = '';
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return window.btoa(text);
}

// A step a line.
function compact(value) {
  if (!Array.isArray(value?.values)) return value === null ? '' : JSON.stringify(value);
  const { values, ...rest } = value;
  const more = Object.entries(rest).filter(([, each]) => each !== null).map(([name, each]) => `, "${name}": ${JSON.stringify(each)}`);
  return `{"values": [\n${values.map((row) => JSON.stringify(row)).join(',\n')}\n]${more.join('')}}`;
}

// Options of a task: only those that were changed are read.
export function optionFields(schema) {
  const members = Object.entries(schema?.properties ?? {}).map(([name, each]) => option(name, each));
  return {
    element: members.length === 0 ? null : el('details', null, el('summary', { text: 'Options' }),
      el('div', { class: 'options' }, members.map(({ element }) => element))),
    read: () => Object.fromEntries(members.filter(({ changed }) => changed()).map(({ name, read }) => [name, read()])),
  };
}

function option(name, schema) {
  const forms = schema.anyOf ?? [schema];
  const { type, enum: choices } = forms.find((each) => each.type !== 'null') ?? {};
  const initial = schema.default ?? null;
  const id = `option-${name}`;
  const flag = type === 'boolean';
  const input = choices
    ? el('select', { id }, choices.map((each) => el('option', { value: each, text: each })))
    : el('input', { id, type: flag ? 'checkbox' : type === 'string' ? 'text' : 'number', step: type === 'integer' ? 1 : 'any' });
  if (flag) input.checked = initial === true;
  else input.value = initial ?? '';
  const read = () => {
    if (flag) return input.checked;
    if (input.value === '') return null;
    return type === 'string' ? input.value : Number(input.value);
  };
  const about = schema.description ? el('span', { class: 'note', text: schema.description }) : null;
  return { name, read, changed: () => read() !== initial, element: el('div', { class: 'field' }, el('label', { for: id, text: name }), input, about) };
}

function labelled(text, input) {
  return el('div', { class: 'field' }, el('label', { for: input.id, text }), input);
}
