// Requests to the server of this page. In: a path, perhaps a body. Out: the JSON of the reply; a
// problem is an Error in the server's words. A token is asked for once, and kept until the page closes.

import { el } from './dom.js';

let token = '';

export async function ask(path, body = null, send = fetch) {
  const headers = token === '' ? {} : { Authorization: `Bearer ${token}` };
  const reply = await (body === null
    ? send(path, { headers })
    : send(path, { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) }));
  const content = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(content.detail ?? reply.statusText), { status: reply.status });
  return content;
}

// Runs `start`; where the server wants a token, after one was typed.
export async function withToken(start) {
  try {
    await start();
  } catch (error) {
    if (error.status === 401) document.body.replaceChildren(tokenForm(start));
    else document.body.replaceChildren(el('p', { class: 'error', role: 'alert', text: error.message }));
  }
}

function tokenForm(start) {
  const input = el('input', { type: 'password', id: 'token', autocomplete: 'off', required: true });
  const wrong = el('p', { class: 'error', role: 'alert', hidden: true });
  const submit = async (event) => {
    event.preventDefault();
    token = input.value.trim();
    try {
      await start();
    } catch (error) {
      Object.assign(wrong, { hidden: false, textContent: error.message });
    }
  };
  return el('form', { class: 'stack', onsubmit: submit },
    el('h1', { text: 'This server requires its token' }),
    el('div', { class: 'field' }, el('label', { for: 'token', text: 'Bearer token' }), input),
    el('button', { class: 'primary', text: 'Continue' }), wrong);
}

// A command for a shell that sends the same request.
export function curl(path, body) {
  const secret = token === '' ? '' : ' -H "Authorization: Bearer $UNSPOOL_TOKEN"';
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl${secret} ${location.origin}${path} --json '${quoted}'`;
}
