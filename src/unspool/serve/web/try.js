// The page at /: a model, a form made from its schemas, and its answer. The address names the model: #NAME.

import { ask, curl, withToken } from './client.js';
import { clear, el } from './dom.js';
import { itemField, optionFields } from './form.js';
import { answerOf } from './answer.js';

const panel = el('div', { class: 'stack' });

async function start() {
  const { data } = await ask('/v1/models');
  const models = new Map(data.map((card) => [card.id, card]));
  const select = el('select', { id: 'model', onchange: () => { location.hash = encodeURIComponent(select.value); } },
    [...models.keys()].map((name) => el('option', { value: name, text: name })));
  const show = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    select.value = models.has(name) ? name : data[0].id;
    showModel(models.get(select.value));
  };
  document.body.replaceChildren(
    el('header', null, el('h1', { text: 'unspool serve' }),
      el('nav', { 'aria-label': 'About this server' },
        el('a', { href: '/docs', text: 'Routes' }), ' · ', el('a', { href: '/v1/models', text: 'Model cards' }))),
    el('main', null, el('div', { class: 'controls' }, el('label', { for: 'model' }, el('span', { text: 'Model' }), select)), panel));
  window.onhashchange = show;
  show();
}

function showModel(card) {
  document.ondrop = null;
  document.title = `${card.id}: unspool serve`;
  clear(panel).append(el('p', { class: 'about', text: facts(card) }));
  if (card.look) panel.append(el('p', null, el('a', { href: card.look, text: 'Look inside this model' })));
  const { predict } = card.abilities;
  panel.append(predict === null ? predictForm(card) : el('p', { text: `Predictions: ${predict}. See the other routes.` }));
}

function facts(card) {
  const metric = card.metrics[card.metric];
  const parts = [card.task, card.model, `${card.parameters.toLocaleString('en')} parameters`];
  if (metric !== undefined) parts.push(`${card.metric} ${Number(metric.toPrecision(4))} on the ${card.evaluated_on} part`);
  return `${parts.join(', ')}; self-check: ${card.self_check}`;
}

function predictForm(card) {
  const path = `/v1/models/${encodeURIComponent(card.id)}/predict`;
  const output = el('section', { class: 'stack', 'aria-live': 'polite', 'aria-label': 'Answer' });
  const options = optionFields(Object.values(card.request.$defs ?? {})[0]);
  const button = el('button', { class: 'primary', text: 'Predict' });
  let latest = 0;
  const predict = async () => {
    const number = (latest += 1);
    button.disabled = true;
    try {
      const chosen = options.read();
      const body = { items: [item.read()], ...(Object.keys(chosen).length ? { options: chosen } : {}) };
      const began = performance.now();
      const { answers } = await ask(path, body);
      if (number === latest) show(body, answers[0], performance.now() - began);
    } catch (error) {
      if (number === latest) clear(output).append(el('p', { class: 'error', role: 'alert', text: error.message }));
    } finally {
      if (number === latest) button.disabled = false;
    }
  };
  const show = (body, answer, milliseconds) => {
    const command = curl(path, body);
    clear(output).append(
      answerOf(answer),
      el('p', { class: 'note', text: `${milliseconds.toFixed(0)} ms` }),
      el('details', null, el('summary', { text: 'The whole answer' }), code(JSON.stringify(answer, null, 1))),
      el('details', null, el('summary', { text: 'The same in a shell' }), code(command.length > 4000 ? `${command.slice(0, 4000)}…` : command)));
  };
  const item = itemField(card.item, card.example, predict);
  const submit = (event) => {
    event.preventDefault();
    predict();
  };
  return el('div', { class: 'stack' },
    el('form', { class: 'stack', onsubmit: submit }, item.element, options.element, button), output);
}

function code(text) {
  return el('pre', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Code', text });
}

withToken(start);
