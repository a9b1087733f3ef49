// The page around the views: what the run is, the input, tabs, the address, errors.
//
// In: the address, such as #view=attention&text=a+fine+film&layer=2. Out: that view, shown. What is
// typed, chosen or asked for by a view goes into the address, and from there back to the page.

import { clear, el } from './dom.js';
import { onSchemeChange } from './colour.js';
import { InputForm } from './inputform.js';
import { isOverTime } from './inputs.js';
import { ask } from './source.js';
import { visible } from './tokens.js';
import { VIEWS } from './views.js';

const LONGEST = 20000; // characters of an input in the address; a longer one is kept beside it
const UNKNOWN = 12; // words that are named, at most
const PATIENCE = 250; // milliseconds after which a view that is not there yet says so
const RESIZED = 200; // milliseconds after which a window has its new size

class Page {
  constructor(run) {
    this.run = run;
    this.views = VIEWS.filter((view) => view.applies(run));
    this.params = new URLSearchParams(); // of the address; kept here where it cannot be written
    this.showing = new AbortController();
  }

  start() {
    this.build();
    this.params = addressParams();
    window.addEventListener('hashchange', () => {
      this.params = addressParams();
      this.show();
    });
    onSchemeChange(() => this.show());
    this.watchWidth();
    return this.show();
  }

  // Views draw for the width that they find; when it has changed, they draw again.
  watchWidth() {
    let width = window.innerWidth;
    window.addEventListener('resize', () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      clearTimeout(this.redraw);
      this.redraw = setTimeout(() => this.show(), RESIZED);
    });
  }

  build() {
    const run = this.run;
    document.title = `${run.name} – unspool`;
    const size = run.parameters === null ? null : `${run.parameters.toLocaleString('en')} parameters`;
    const facts = [run.task, run.model, size].filter((fact) => fact !== null);
    this.tabs = new Map(this.views.map((view) => [view.name, el('button', {
      type: 'button', role: 'tab', id: `tab-${view.name}`, 'aria-controls': 'panel',
      text: view.title, onclick: () => this.go({ view: view.name }),
    })]));
    this.tablist = el('div', {
      class: 'tabs', role: 'tablist', 'aria-label': 'Views', onkeydown: (event) => this.onTabKey(event),
    }, [...this.tabs.values()]);
    this.title = el('h2', { class: 'visually-hidden' }); // which the tab shows
    this.about = el('p', { class: 'about' });
    this.error = el('p', { class: 'error', role: 'alert', hidden: true });
    this.working = el('p', { class: 'note working', 'aria-live': 'polite' });
    this.root = el('div', { class: 'view' });
    this.panel = el('section', { id: 'panel', role: 'tabpanel' }, this.title, this.about, this.error, this.working, this.root);
    const given = {
      onlook: (text) => this.go({ text, ...this.forgotten() }), onerror: (line) => this.say(line),
    };
    this.form = isOverTime(run) ? new InputForm(run, given) : new TextForm(run, given);
    this.answer = el('p', { class: 'answer', 'aria-live': 'polite', hidden: true });
    document.body.replaceChildren(
      el('header', null,
        el('h1', null, el('span', { class: 'brand', text: 'unspool' }), ' ', run.name),
        el('p', { class: 'facts', text: facts.join(' · ') })),
      el('main', null,
        this.form.element, this.answer, this.tablist, this.panel),
    );
  }

  get text() {
    return this.params.get('text') ?? this.run.example;
  }

  // What the model says to the text as a whole, under it, whatever the view. What is wrong with a text
  // the view says.
  async showAnswer() {
    if (!this.run.answers || this.text === this.answered) return;
    const { text } = this;
    this.answered = text;
    this.answer.hidden = false;
    this.answer.replaceChildren('Reading …');
    try {
      const said = await ask('answer', { text });
      if (text === this.text) this.answer.replaceChildren(...answerParts(said, this.run.copies));
    } catch (error) {
      if (error.name !== 'AbortError') this.answer.hidden = true;
    }
  }

  // What a view reads of its own stands in it, in place of the page's input. Where there is training
  // alone to see, nothing is read.
  showInput(view) {
    const nothing = !this.run.answers && this.views.every(({ name }) => name === 'training');
    const own = view?.ownInput === true || nothing;
    this.form.element.hidden = own || this.run.parameters === null;
    this.answer.classList.toggle('elsewhere', own);
    if (own) this.form.sound?.pause();
  }

  // Shows what the address says; the focus stays on the control that had it.
  async show() {
    this.showing.abort();
    this.showing = new AbortController();
    clearTimeout(this.redraw);
    const { signal } = this.showing;
    const width = window.innerWidth;
    const focused = this.root.contains(document.activeElement) ? document.activeElement.id : null;
    const name = this.params.get('view') ?? this.views[0]?.name;
    const view = this.views.find((each) => each.name === name);
    this.form.show(this.text);
    this.showInput(view);
    this.showAnswer();
    for (const [own, tab] of this.tabs) {
      tab.setAttribute('aria-selected', String(own === name));
      tab.tabIndex = own === (view?.name ?? this.views[0]?.name) ? 0 : -1;
    }
    if (view !== undefined) {
      this.panel.setAttribute('aria-labelledby', `tab-${name}`);
      this.tablist.scrollLeft = this.tabs.get(name).offsetLeft - this.tablist.clientWidth / 3;
    }
    const done = this.showWorking(view, signal);
    this.title.textContent = view?.title ?? 'No such view';
    const about = (isOverTime(this.run) ? view?.aboutSeries : null) ?? view?.about ?? '';
    this.about.textContent = typeof about === 'function' ? about(this.run) : about;
    this.say(null);
    this.panel.setAttribute('aria-busy', 'true');
    try {
      if (view === undefined) throw new Error(this.unknown(name));
      await this.replaceRoot(view, signal);
      if (signal.aborted) return;
      if (focused) document.getElementById(focused)?.focus();
    } catch (error) {
      if (signal.aborted || error.name === 'AbortError') return;
      clear(this.root);
      this.say(error.message);
    } finally {
      done();
    }
    this.panel.dataset.width = String(width); // which the view was drawn for
    this.panel.removeAttribute('aria-busy');
  }

  // Says that a view is on its way, if it takes a while; what another one has left is not shown
  // meanwhile. Returns what ends it.
  showWorking(view, signal) {
    const started = Date.now();
    this.root.classList.toggle('leaving', !this.root.classList.contains(view?.name));
    const tick = () => {
      const seconds = Math.round((Date.now() - started) / 1000);
      this.working.textContent = `${view?.working ?? 'Working'} …${seconds > 0 ? ` ${seconds} s` : ''}`;
    };
    const timers = [window.setTimeout(tick, PATIENCE), window.setInterval(tick, 1000)];
    return () => {
      timers.forEach((timer) => window.clearTimeout(timer));
      if (signal.aborted) return;
      this.working.textContent = '';
      this.root.classList.remove('leaving');
    };
  }

  // The new view is made beside the old one, invisible but with its width, and then takes its place.
  async replaceRoot(view, signal) {
    const root = el('div', { class: `view coming ${view.name}`, tabindex: '-1' });
    this.panel.append(root);
    signal.addEventListener('abort', () => { if (root !== this.root) root.remove(); });
    try {
      await view.show(root, this.context(signal));
    } catch (error) {
      root.remove();
      throw error;
    }
    if (signal.aborted) return;
    this.root.remove();
    this.root = root;
    root.classList.remove('coming');
  }

  context(signal) {
    const params = new URLSearchParams(this.params);
    params.delete('view');
    params.delete('text');
    return {
      run: this.run,
      text: this.text,
      sound: this.form.sound ?? null,
      params,
      ask: (name, given) => ask(name, given, signal),
      set: (changes) => { if (!signal.aborted) this.write(changes, 'replaceState'); },
      go: (changes) => this.go(changes),
      signal,
    };
  }

  go(changes) {
    if (changes.view !== undefined && changes.view !== this.params.get('view')) {
      for (const key of [...this.params.keys()]) if (key !== 'text') this.params.delete(key);
    }
    this.write(changes, 'pushState');
    return this.show();
  }

  write(changes, how) {
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === undefined) this.params.delete(key);
      else this.params.set(key, String(value));
    }
    try {
      const long = (this.params.get('text') ?? '').length > LONGEST;
      const shown = new URLSearchParams(this.params);
      if (long) shown.delete('text');
      window.history[how](long ? { kept: keep(this.params.get('text')) } : null, '', `#${shown}`);
    } catch {
      // A page inside of another one, as in a notebook, may have no address of its own.
    }
  }

  say(line) {
    this.error.hidden = line === null;
    this.error.textContent = line ?? '';
  }

  unknown(name) {
    if (name === undefined) return 'there is nothing to see of this run yet';
    const known = VIEWS.some((view) => view.name === name);
    const names = this.views.map((view) => view.name).join(', ');
    return `${known ? 'this run has no such view' : 'unknown view'}: ${name}. Choose from ${names}`;
  }

  // What is chosen in a view belongs to one series; of a text it may fit the next one too.
  forgotten() {
    if (!isOverTime(this.run)) return {};
    const kept = ['view', 'text', 'layer', 'direction', 'part', 'kind', 'head', 'method'];
    return Object.fromEntries([...this.params.keys()].filter((key) => !kept.includes(key)).map((key) => [key, null]));
  }

  onTabKey(event) {
    const names = [...this.tabs.keys()];
    const at = names.indexOf(document.activeElement.id.replace('tab-', ''));
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 };
    if (at < 0 || !(event.key in moves)) return;
    event.preventDefault();
    const name = names[(moves[event.key] + names.length) % names.length];
    this.tabs.get(name).focus();
    this.go({ view: name });
  }
}

// The input of a model that reads texts.
class TextForm {
  constructor(run, { onlook }) {
    this.input = el('textarea', {
      id: 'text', rows: 1, spellcheck: 'false', autocomplete: 'off', readonly: run.saved,
      // Enter looks, as in a line; a text of several lines is made with Shift.
      onkeydown: (event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        if (!run.saved) onlook(this.input.value);
      },
      oninput: () => this.grow(),
    });
    this.element = el(
      'form', {
        class: 'input', hidden: run.parameters === null,
        onsubmit: (event) => { event.preventDefault(); onlook(this.input.value); },
      },
      el('label', { for: 'text', text: formLabel(run) }),
      el('div', { class: 'row' },
        this.input, run.saved ? null : el('button', { class: 'primary', text: 'Look' })),
    );
  }

  show(text) {
    this.input.value = text;
    this.grow();
  }

  grow() {
    this.input.style.height = 'auto';
    this.input.style.height = `${this.input.scrollHeight + 2}px`;
  }
}

// What to type; of two texts, what stands on which side of the mark between them.
function formLabel({ saved, input }) {
  if (saved) return 'The model read';
  if (input.sides.length === 0) return 'Text for the model to read';
  return `For the model to read: ${input.sides.join(' ||| ')}`;
}

const kept = []; // inputs that are too long for the address, whose number is in the history

function keep(text) {
  if (!kept.includes(text)) kept.push(text);
  return kept.indexOf(text);
}

function addressParams() {
  const found = new URLSearchParams(window.location.hash.slice(1));
  const text = kept[window.history.state?.kept];
  if (text !== undefined && !found.has('text')) found.set('text', text);
  return found;
}

// "Answer: pos, probability 0.9560. The data say pos." and what the model does not know.
function answerParts({ answer, note, truth, unknown }, copies) {
  const parts = answer === '' ? [note] : ['Answer: ', el('strong', { class: 'token', text: visible(answer) })];
  if (answer !== '' && note !== '') parts.push(el('span', { class: 'soft', text: `, ${note.replaceAll('-', '−')}` }));
  if (truth !== '') {
    parts.push(el('span', { class: 'soft' }, '. The data say ', el('span', { class: 'token', text: truth })));
  }
  if (unknown.length > 0) {
    const names = unknown.slice(0, UNKNOWN).join(' ') + (unknown.length > UNKNOWN ? ' …' : '');
    parts.push(el('span', { class: 'soft unknown' },
      `Not in the vocabulary, so that the model reads <unk>${copies ? ', but may copy' : ''}: `, el('span', { class: 'token', text: names })));
  }
  return parts;
}

async function start() {
  try {
    await new Page(await ask('run')).start();
  } catch (error) {
    document.body.append(el('p', { class: 'error', role: 'alert', text: error.message }));
  }
}

start();
