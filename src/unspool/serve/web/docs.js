// The page at /docs: all routes of /openapi.json with their schemas and an example.

import { ask, curl, withToken } from './client.js';
import { el } from './dom.js';

async function start() {
  const document_ = await ask('/openapi.json');
  const routes = Object.entries(document_.paths).flatMap(([path, members]) => Object.entries(members)
    .filter(([method]) => ['get', 'post', 'delete'].includes(method))
    .map(([method, operation]) => route(method, path, operation)));
  document.body.replaceChildren(
    el('header', null, el('h1', { text: 'Routes of this server' }),
      el('nav', { 'aria-label': 'About this server' }, el('a', { href: '/', text: 'Try a model' }), ' · ',
        el('a', { href: '/openapi.json', text: 'OpenAPI document' }))),
    el('main', { class: 'stack' }, routes));
}

function route(method, path, { summary, requestBody, responses }) {
  const media = requestBody?.content['application/json'];
  const answer = responses['200'].content['application/json']?.schema;
  const parts = [];
  if (media?.example) parts.push(['Example', curl(path, media.example)]);
  if (media) parts.push(['Request', JSON.stringify(media.schema, null, 1)]);
  if (answer?.properties) parts.push(['Reply', JSON.stringify(answer, null, 1)]);
  const line = [el('code', { class: 'method', text: method.toUpperCase() }), ' ', el('code', { text: path })];
  return el('details', { class: 'route' }, el('summary', null, line, el('span', { class: 'soft', text: ` ${summary}` })),
    parts.map(([title, text]) => [el('h2', { text: title }), el('pre', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title, text })]).flat(),
    el('h2', { text: 'Errors' }),
    el('ul', null, Object.entries(responses).filter(([status]) => status !== '200').map(([status, { description }]) => el('li', { text: `${status}: ${description}` }))));
}

withToken(start);
