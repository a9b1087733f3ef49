// The input of a page whose model reads no text: an example is chosen, or a file, or numbers are
// pasted. In: the answer `run`, what to do with an input. Out: an element; `show` puts an input into it.
//
// An input is the number of an example, or JSON.

import { el } from './dom.js';
import { readSeries } from './table.js';

const LARGEST = 20000000; // bytes of a file that is read

export class SeriesForm {
  // onlook(text): an input was given; onerror(line): what was given is none
  constructor(run, { onlook, onerror }) {
    Object.assign(this, { run, onlook, onerror });
    this.select = el('select', { id: 'text', disabled: run.saved, onchange: () => onlook(this.select.value) });
    this.file = el('input', {
      type: 'file', id: 'file', accept: '.csv,.tsv,.txt,.json,text/csv,text/plain,application/json',
      onchange: () => { this.read(this.file.files[0]); this.file.value = ''; },
    });
    this.pasted = el('textarea', {
      id: 'pasted', rows: 4, spellcheck: 'false', autocomplete: 'off', 'aria-describedby': 'pasted-how',
    });
    this.element = el('form', {
      class: 'input series-input', hidden: run.parameters === null,
      onsubmit: (event) => { event.preventDefault(); this.give(this.pasted.value, 'pasted'); },
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => { event.preventDefault(); if (!run.saved) this.read(event.dataTransfer.files[0]); },
    },
    el('div', { class: 'controls' },
      el('label', null, el('span', { text: run.saved ? 'The model read' : 'Series for the model to read' }), this.select),
      run.saved ? null : el('label', { class: 'file' }, el('span', { text: 'or a file, which may be dropped here' }), this.file)),
    run.saved ? null : el('details', null,
      el('summary', { text: 'Paste numbers' }),
      el('label', { for: 'pasted', class: 'visually-hidden', text: 'Numbers for the model to read' }),
      el('p', { class: 'note', id: 'pasted-how', text: howTo(run.input.channels) }),
      el('div', { class: 'row' }, this.pasted, el('button', { class: 'primary', text: 'Look' }))));
  }

  show(text) {
    const { examples } = this.run.input;
    const options = examples.map((name, i) => el('option', { value: String(i + 1), text: name }));
    if (!examples.some((_, i) => String(i + 1) === text)) {
      options.push(el('option', { value: text, text: nameOf(text) }));
    }
    this.select.replaceChildren(...options);
    this.select.value = text;
  }

  async read(file) {
    if (file === undefined) return;
    if (file.size > LARGEST) {
      this.onerror(`${file.name} is too large for the page: ${file.size.toLocaleString('en')} bytes. Look at it with unspool look RUN FILE`);
      return;
    }
    this.give(await file.text(), file.name);
  }

  give(text, name) {
    try {
      this.onlook(JSON.stringify(readSeries(text, this.run.input.channels, name)));
    } catch (error) {
      this.onerror(error.message);
    }
  }
}

function howTo(channels) {
  const names = channels.slice(0, 6).join(', ') + (channels.length > 6 ? ', …' : '');
  return `A step a line, with the channel${channels.length > 1 ? 's' : ''} ${names} as columns: in this order, or named in a first line, `
    + 'where there may be others too. A column called time is the time. An empty cell is a gap.';
}

function nameOf(text) {
  if (text === '') return 'none yet';
  try {
    const { name, values } = JSON.parse(text);
    return `${name || 'given'}, ${values.length.toLocaleString('en')} steps`;
  } catch {
    return text.length > 40 ? `${text.slice(0, 40)}…` : text;
  }
}
