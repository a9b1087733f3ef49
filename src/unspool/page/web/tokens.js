// Tokens as words on the page. In: tokens, and what is known of each. Out: a line of buttons, of
// which one may be chosen.

import { el } from './dom.js';

const LONG = 60; // tokens; a longer line scrolls in its own box
const SEEN = { '\n': '⏎', '\t': '⇥', ' ': '␣' };

// A token with its blanks to be seen where they matter: at its beginning, or alone.
export function visible(token) {
  if (token === '') return '∅';
  return token.replace(/^\s|[\n\t]/g, (blank) => SEEN[blank] ?? '␣');
}

// The same, no longer than some characters.
export function short(token, most = 14) {
  const shown = [...visible(token)];
  return shown.length <= most ? shown.join('') : `${shown.slice(0, most - 1).join('')}…`;
}

// A line of tokens as buttons. Of each: `note` stands below it, `label` is what a screen reader says,
// `colour` and `ink` are those of the button. One of them can be reached by the Tab key: the chosen
// one; what arrow keys do is the view's.
//
//   name       of the line
//   of(i)      {note, label, colour, ink, kind} of token i; all may be left out
//   onchoose   what a click on token i does; without it the tokens are no buttons
export function line(tokens, { name, of = () => ({}), onchoose = null, first = 0 }) {
  const made = tokens.map((token, i) => {
    const { note, label, colour, ink, kind } = of(i);
    return el(onchoose === null ? 'span' : 'button', {
      type: onchoose === null ? null : 'button',
      class: kind ? `word ${kind}` : 'word',
      dataset: { at: first + i, ...(note === undefined ? {} : { note }) },
      style: colour === undefined ? {} : { '--behind': colour, '--on': ink },
      'aria-label': onchoose === null ? null : label,
      title: label,
      tabindex: onchoose === null ? null : -1,
      text: visible(token),
    });
  });
  const long = tokens.length > LONG;
  const whole = el('div', {
    class: long ? 'words long' : 'words', role: 'group', 'aria-label': name,
    tabindex: long && onchoose === null ? 0 : null, // to scroll it by keys
  }, made);
  if (onchoose !== null) {
    if (made.length > 0) made[0].tabIndex = 0;
    whole.addEventListener('click', (event) => {
      const word = event.target.closest('.word');
      if (word !== null) onchoose(Number(word.dataset.at));
    });
  }
  return whole;
}

// Marks the chosen token of a line; a focus inside the line moves with it.
export function choose(whole, at) {
  const focused = whole.contains(document.activeElement);
  for (const word of whole.children) {
    const chosen = Number(word.dataset.at) === at;
    word.tabIndex = chosen ? 0 : -1;
    word.setAttribute('aria-pressed', String(chosen));
    if (chosen && focused) word.focus({ preventScroll: true });
    if (chosen) scrollTo(whole, word);
  }
  if (whole.querySelector('[tabindex="0"]') === null && whole.firstElementChild) {
    whole.firstElementChild.tabIndex = 0;
  }
}

function scrollTo(whole, word) {
  const top = word.offsetTop - whole.offsetTop;
  if (top < whole.scrollTop || top + word.offsetHeight > whole.scrollTop + whole.clientHeight) {
    whole.scrollTop = top - whole.clientHeight / 2;
  }
}
