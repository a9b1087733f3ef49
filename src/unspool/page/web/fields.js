// Controls with their labels. In: an id, a label, values and what to do with a new one. Out: an
// element for a row of class `controls`.

import { el } from './dom.js';

// options: values, or [value, text] pairs
export function selectField(id, label, options, chosen, onChange, disabled = false) {
  const select = el('select', { id, disabled, onchange: () => onChange(select.value) },
    options.map((option) => {
      const [value, text] = Array.isArray(option) ? option : [option, option];
      return el('option', { value: String(value), text, selected: String(value) === String(chosen) });
    }));
  return el('label', null, el('span', { text: label }), select);
}

export function rangeField(id, label, { min, max, value }, onChange) {
  const output = el('output', { for: id, text: value });
  const range = el('input', {
    id, type: 'range', min, max,
    oninput: () => {
      output.textContent = range.value;
      onChange(Number(range.value));
    },
  });
  range.value = value;
  return el('label', null, el('span', { text: label }), range, output);
}
