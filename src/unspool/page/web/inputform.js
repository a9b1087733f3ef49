// The input of a page whose model reads no text: an example is chosen, or a file; numbers are pasted, or
// a drawing is made. In: the answer `run`, what to do with an input. Out: an element; `show` puts an
// input into it.
//
// An input is the number of an example, or JSON.

import { el } from './dom.js';
import { Pad } from './pad.js';
import { ask } from './source.js';
import { readSeries } from './table.js';

const LARGEST = 20000000; // bytes of a file of numbers that is read
const SOUND = 1400000; // bytes of a recording, which a question can hold

const TABLES = '.csv,.tsv,.txt,.json,text/csv,text/plain,application/json';

// What differs between kinds of input: what one is called, which files are read and how, what is said
// of one that is no example, and what else there is in the form.
const KINDS = {
  sound: {
    noun: 'Recording', files: 'WAV ', accept: '.wav,.wave,audio/wav', largest: SOUND, read: readWav, called: ({ name }) => name,
  },
  drawing: {
    noun: 'Drawing', accept: TABLES, largest: LARGEST, read: readTable,
    called: ({ name, values }) => `${name || 'given'}, ${count(values)} points`,
  },
  picture: {
    noun: 'Image', accept: 'image/*', largest: SOUND, read: readPicture, called: ({ name }) => name || 'given',
  },
  video: {
    noun: 'Video', files: 'GIF ', accept: 'image/*', largest: SOUND, read: readPicture, called: ({ name }) => name || 'given',
  },
  music: {
    noun: 'Piece', files: 'MIDI ', accept: '.mid,.midi,audio/midi', largest: SOUND, read: readMidi, called: ({ name }) => name,
  },
  series: {
    noun: 'Series', accept: TABLES, largest: LARGEST, read: readTable,
    called: ({ name, values }) => `${name || 'given'}, ${count(values)} steps`,
  },
};

export class InputForm {
  // onlook(text): an input was given; onerror(line): what was given is none
  constructor(run, { onlook, onerror }) {
    Object.assign(this, { run, onlook, onerror });
    const { plays, shown_as: shown, words, pictured } = run.input;
    const shapes = { drawing: 'drawing', 'piano roll': 'music', frames: 'video' };
    this.kind = KINDS[plays ? 'sound' : shapes[shown] ?? (pictured ? 'picture' : 'series')];
    this.binary = [KINDS.sound, KINDS.music, KINDS.picture, KINDS.video].includes(this.kind);
    // What belongs to a text, as a drawing of a word does, cannot be given without it.
    const fixed = run.saved || words !== '';
    this.select = el('select', { id: 'text', disabled: run.saved, onchange: () => onlook(this.select.value) });
    this.file = el('input', {
      type: 'file', id: 'file', accept: this.kind.accept,
      onchange: () => { this.read(this.file.files[0]); this.file.value = ''; },
    });
    this.sound = plays ? el('audio', { controls: true, 'aria-label': 'The recording', preload: 'auto' }) : null;
    this.element = el('form', {
      class: 'input series-input', hidden: run.parameters === null,
      onsubmit: (event) => event.preventDefault(),
    },
    el('div', { class: 'controls' },
      el('label', null, el('span', { text: run.saved ? 'The model read' : `${this.kind.noun} for the model to read` }), this.select),
      this.sound,
      fixed ? null : el('label', { class: 'file' }, el('span', { text: `or a ${this.kind.files ?? ''}file, which may be dropped here` }), this.file)),
    fixed || this.binary ? null : shown === 'drawing' ? this.drawn() : this.pasted());
    if (!fixed) this.dropped();
  }

  // Anywhere on the page: elsewhere than on the form the browser would leave the page for the file.
  dropped() {
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', (event) => {
      event.preventDefault();
      this.read(event.dataTransfer.files[0]);
    });
  }

  pasted() {
    const area = el('textarea', {
      id: 'pasted', rows: 4, spellcheck: 'false', autocomplete: 'off', 'aria-describedby': 'pasted-how',
    });
    const look = () => this.given(() => readTable(area.value, 'pasted', this.run));
    return el('details', null,
      el('summary', { text: 'Paste numbers' }),
      el('label', { for: 'pasted', class: 'visually-hidden', text: 'Numbers for the model to read' }),
      el('p', { class: 'note', id: 'pasted-how', text: howTo(this.run.input.channels) }),
      el('div', { class: 'row' }, area, el('button', { class: 'primary', text: 'Look', onclick: look })));
  }

  drawn() {
    const pad = new Pad();
    const look = () => this.given(() => pad.read());
    return el('details', null,
      el('summary', { text: 'Draw one' }),
      el('p', { class: 'note', text: 'With the mouse, a pen or a finger. A model knows drawings like those that it has learnt from: as large, with as many points.' }),
      el('div', { class: 'row' }, pad.element,
        el('div', { class: 'stack' },
          el('button', { type: 'button', class: 'primary', text: 'Look', onclick: look }),
          el('button', { type: 'button', text: 'Clear', onclick: () => pad.clear() }))));
  }

  show(text) {
    const { examples } = this.run.input;
    const options = examples.map((name, i) => el('option', { value: String(i + 1), text: name }));
    if (!examples.some((_, i) => String(i + 1) === text)) {
      options.push(el('option', { value: text, text: this.nameOf(text) }));
    }
    this.select.replaceChildren(...options);
    this.select.value = text;
    if (this.sound !== null) this.load(text);
  }

  // Puts the recording into its player, from the server of this page or from inside it.
  async load(text) {
    if (text === this.loaded || text === '') return;
    this.loaded = text;
    this.sound.removeAttribute('src');
    try {
      const { wav } = await ask('sound', { text });
      if (text !== this.loaded) return;
      this.sound.hidden = wav === '';
      if (wav !== '') this.sound.src = `data:audio/wav;base64,${wav}`;
    } catch {
      this.sound.hidden = true; // what is wrong with it, the view says
    }
  }

  async read(file) {
    if (file === undefined) return;
    if (file.size > this.kind.largest) {
      this.onerror(`${file.name} is too large for the page: ${file.size.toLocaleString('en')} bytes. Look at it with unspool look RUN FILE --page`);
      return;
    }
    const content = await (this.binary ? file.arrayBuffer() : file.text());
    this.given(() => this.kind.read(content, file.name, this.run));
  }

  given(make) {
    try {
      this.onlook(make());
    } catch (error) {
      this.onerror(error.message);
    }
  }

  nameOf(text) {
    if (text === '') return 'none yet';
    try {
      return this.kind.called(JSON.parse(text));
    } catch {
      return text.length > 40 ? `${text.slice(0, 40)}…` : text;
    }
  }
}

function readTable(text, name, run) {
  return JSON.stringify(readSeries(text, run.input.channels, name));
}

// What is no WAV or MIDI file and no image, Python refuses.
function readWav(buffer, name) {
  return JSON.stringify({ name, wav: inBase64(buffer) });
}

function readMidi(buffer, name) {
  return JSON.stringify({ name, midi: inBase64(buffer) });
}

function readPicture(buffer, name) {
  return JSON.stringify({ name, file: inBase64(buffer) });
}

// The bytes of a file as they are.
function inBase64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = '';
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return window.btoa(text);
}

function count(values) {
  return values.length.toLocaleString('en');
}

function howTo(channels) {
  const names = channels.slice(0, 6).join(', ') + (channels.length > 6 ? ', …' : '');
  return `A step a line, with the channel${channels.length > 1 ? 's' : ''} ${names} as columns: in this order, or named in a first line, `
    + 'where there may be others too. A column called time is the time. An empty cell is a gap.';
}
