// Training: how the run learnt, or is learning. In: the answer `training`, asked for again and again
// while the run is training. Out: the loss and the validation metric over the steps.

import { lineChart, plain } from '../chart.js';
import { el } from '../dom.js';

const EVERY = 2000; // milliseconds between two looks at a run that is training

export const training = {
  name: 'training',
  title: 'Training',
  about: 'How the run learnt: each step is one batch, and the best weights on the validation data were kept.',
  applies: (run) => run.views.includes('training'),

  async show(root, context) {
    const status = el('p', { class: 'note', role: 'status' });
    const charts = el('div', { class: 'columns' });
    root.append(status, charts, el('div'));
    let records = -1;

    async function update() {
      const answer = await context.ask('training');
      if (answer.records !== records) {
        records = answer.records;
        root.replaceChild(table(answer), root.lastChild);
        redraw(charts, answer);
      }
      status.textContent = said(answer);
      if (answer.running && !context.run.saved) later(update, context.signal);
    }

    await update();
  },
};

// Runs something again after a while, unless the view has been left by then.
function later(update, signal) {
  const timer = setTimeout(() => update().catch(() => {}), EVERY);
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

function redraw(node, answer) {
  const focused = [...node.querySelectorAll('[tabindex]')].indexOf(document.activeElement);
  node.replaceChildren(...charts(answer));
  if (focused >= 0) node.querySelectorAll('[tabindex]')[focused]?.focus();
}

function charts({ log, metric }) {
  if (isFitted(log)) return [tried(log)];
  const best = bestOf(log);
  const marks = best === undefined || best[metric] === undefined ? [] : [{ x: best.step, text: `best: epoch ${plain(best.epoch)}` }];
  const validated = log.filter((record) => record[metric] !== undefined);
  const series = (name, key, dots = false) => ({
    name, dots, points: log.filter((record) => Number.isFinite(record[key])).map((record) => [record.step, record[key]]),
  });
  const made = [figure('Loss', lineChart({
    label: 'Loss over the steps', x: 'step', y: 'loss', marks,
    series: [series('training', 'loss'), series('validation', 'valid_loss', true)],
  }))];
  if (validated.length > 0 && metric !== 'valid_loss') {
    made.push(figure(`Validation: ${title(metric)}`, lineChart({
      label: `${title(metric)} on the validation data over the steps`, x: 'step', y: title(metric), marks,
      series: [series(title(metric), metric, true)],
    })));
  }
  return made;
}

function figure(heading, chart) {
  return el('figure', { class: 'surface' }, el('figcaption', null, el('h3', { text: heading })), chart);
}

// Every validation in numbers, the best one marked.
function table({ log }) {
  const rows = log.filter((record) => record.best !== undefined && record.valid_loss !== undefined);
  if (rows.length === 0) return el('div');
  const keys = Object.keys(rows[0]).filter((key) => key.startsWith('valid_'));
  const best = bestOf(log);
  return el('details', null,
    el('summary', { text: `All ${rows.length} validations in numbers` }),
    el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Validations' },
      el('table', null,
        el('thead', null, el('tr', null, ['epoch', 'step', ...keys.map(title), ''].map((name) => el('th', { class: 'number', scope: 'col', text: name })))),
        el('tbody', null, rows.slice(-200).map((record) => el('tr', null,
          [plain(record.epoch), String(record.step), ...keys.map((key) => plain(record[key])), record === best ? 'best' : '']
            .map((text) => el('td', { class: 'number', text }))))))));
}

function said({ log, metric, running }) {
  const last = log.at(-1);
  if (last === undefined) return running ? 'Training has begun; nothing is logged yet.' : 'Nothing was logged.';
  if (isFitted(log)) return `Fitted at once, not by steps: ${log.length === 1 ? 'one choice was' : `${log.length} choices were`} tried. The card of the run, README.md, shows the largest weights.`;
  const best = bestOf(log);
  const found = best === undefined || best[metric] === undefined ? ''
    : ` Best: ${title(metric)} ${plain(best[metric])} after epoch ${plain(best.epoch)}, step ${best.step.toLocaleString('en')}.`;
  const where = `step ${last.step.toLocaleString('en')}, epoch ${plain(Math.ceil(last.epoch))}`;
  return running ? `Training now: ${where}.${found}` : `Trained for ${last.step.toLocaleString('en')} steps.${found}`;
}

// Whether a log has no steps: that of a linear model, or of what is counted.
function isFitted(log) {
  return log.length > 0 && log.every((record) => record.step === undefined);
}

// What was tried, a row each, with what it came to on the validation data.
function tried(log) {
  const flat = log.map(({ metrics, ...own }) => ({ ...own, ...metrics }));
  const names = [...new Set(flat.flatMap((record) => Object.keys(record)))];
  const shown = (value) => (typeof value === 'number' ? plain(value) : String(value ?? ''));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'What was tried' },
    el('table', null,
      el('thead', null, el('tr', null, names.map((name) => el('th', { scope: 'col', text: name.replaceAll('_', ' ') })))),
      el('tbody', null, flat.map((record) => el('tr', null, names.map((name) => el('td', { text: shown(record[name]) })))))));
}

// The last record that was marked as the best so far.
function bestOf(log) {
  return log.findLast((record) => record.best === true);
}

function title(key) {
  return key.replace('valid_', '').replaceAll('_', ' ');
}
