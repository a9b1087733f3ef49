// Of a long text only a window of tokens is shown. In: a trace and the context of a view. Out: a
// line that says so, with buttons for the windows before and after; null where all is shown.

import { el } from './dom.js';
import { isOfSentences } from './inputs.js';

export function windowLine(trace, context) {
  const { first, tokens } = trace.window;
  const all = Math.max(trace.tokens.length, trace.written.length);
  const unit = isOfSentences(context.run) ? 'sentence' : 'token';
  if (tokens >= all) return cutLine(trace, unit);
  const last = Math.min(first + tokens, all);
  const step = (id, text, to) => el('button', {
    type: 'button', id, text, disabled: to === null || context.run.saved,
    onclick: () => context.go({ first: to, row: null, step: null }),
  });
  return el('p', { class: 'note window' },
    cut(trace, unit), `${unit === 'token' ? 'Tokens' : 'Sentences'} ${count(first + 1)} to ${count(last)} of ${count(all)} are shown. `,
    step('window-before', 'Before', first > 0 ? Math.max(0, first - tokens) : null), ' ',
    step('window-after', 'After', last < all ? Math.min(last, all - tokens) : null));
}

// Of a text that is too long: that its end was not read, or of sentences their beginning; or null.
export function cutLine(trace, unit = 'token') {
  return cut(trace, unit) === '' ? null : el('p', { class: 'note', text: cut(trace, unit).trim() });
}

function cut({ tokens, whole }, unit) {
  if (whole === tokens.length) return '';
  const which = unit === 'sentence' ? 'latest' : 'first';
  return `Only the ${which} ${count(tokens.length)} of ${count(whole)} ${unit}s were read. `;
}

function count(number) {
  return number.toLocaleString('en');
}
