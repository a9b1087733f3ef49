// What a model answered at a step, with what else it thought of. In: a choice of a trace. Out: one
// line, and bars of the most probable answers; of numbers one line each; of labels of which any number
// may apply, those that do.

import { bars } from './bars.js';
import { el } from './dom.js';
import { visible } from './tokens.js';

// What an answer is, task by task: the words before it.
const SENTENCES = {
  answer: (asked) => ({ '': 'The answer is', start: 'The start of the answer is', end: 'The end of the answer is' }[asked]
    ?? 'The next token is'),
  classify: () => 'The answer is',
  tag: (asked) => `The tag of “${visible(asked)}” is`,
  generate: (asked) => `“${visible(asked)}” is followed by`,
  pretrain: (asked) => `Most probable in place of “${visible(asked)}” is`,
  translate: () => 'The next token is',
  summarize: () => 'The next token is',
  transcribe: () => 'The model writes',
  caption: () => 'The next word is',
  handwrite: () => 'The pen is',
  compose: (asked) => `“${visible(asked)}” is followed by`,
  elmo: (asked) => `“${visible(asked)}” is followed by`,
};

// The choices that belong to a step, of so many steps: one answer for all of a text, one a step, or the
// start and the end of an answer, whatever the step.
export function choicesAt(choices, steps, step) {
  if (choices.length !== steps) return choices;
  return choices.slice(step, step + 1);
}

// `at` stands for the task's words where a step is no word.
export function choiceOf(choice, task, at = null) {
  const { asked, answer, answer_value: value, alternatives, measure, given } = choice;
  if (measure === 'number') {
    return el('div', { class: 'choice' }, alternatives.map((each) => el('p', null,
      el('strong', { class: 'token', text: visible(each.answer) }), ` is ${each.answer_value.toFixed(4)}`)));
  }
  const shown = alternatives.some((each) => each.answer === answer)
    ? alternatives : [...alternatives, { answer, answer_value: value }];
  const sentence = given ? labelsOf(given) : [`${at === null || asked === '' ? SENTENCES[task](asked) : at(asked)} `,
    el('strong', { class: 'token', text: visible(answer) }),
    ` with probability ${value.toFixed(4)}`];
  return el('div', { class: 'choice' },
    el('p', null, sentence),
    bars(shown.map((each) => ({
      name: each.answer, value: each.answer_value, text: each.answer_value.toFixed(4),
      chosen: given ? given.includes(each.answer) : each.answer === answer,
    })), { caption: 'The most probable answers', name: 'answer', number: 'probability' }));
}

function labelsOf(given) {
  if (!given.length) return ['No label reaches its threshold'];
  const names = given.flatMap((name, i) => [i ? ', ' : '', el('strong', { class: 'token', text: visible(name) })]);
  return [given.length === 1 ? 'The label is ' : 'The labels are ', ...names];
}
