// Colours of numbers. In: 0..1 for `sequential`, -1..1 for `diverging`. Out: CSS colours.
//
// Zero is the colour of the page's surface, and lightness alone tells the amount, so that any colour
// vision and a grey printer show it; blue and orange, which all can tell apart, tell the sign. The
// scales follow the colour scheme: `onSchemeChange` says when to draw again (the app does so for
// whole views).

const dark = window.matchMedia('(prefers-color-scheme: dark)');

// From zero to one, evenly spaced.
const SCALES = {
  light: {
    blue: ['#ffffff', '#d6e6f5', '#9cc3e5', '#5596cd', '#2169ab', '#0b3f75'],
    orange: ['#ffffff', '#fbe3cd', '#f3ba85', '#dd8840', '#b15c12', '#763600'],
  },
  dark: {
    blue: ['#16191f', '#1b3149', '#22527f', '#3579b5', '#69a8dd', '#c3e0f9'],
    orange: ['#16191f', '#3f2a17', '#744315', '#ad6820', '#e29a52', '#fbdcb8'],
  },
};

export function sequential(x) {
  return along(scales().blue, x);
}

// Negative is blue, positive orange.
export function diverging(x) {
  return along(x < 0 ? scales().blue : scales().orange, Math.abs(x));
}

// The colour of text upon a colour of these scales; a number stands for sequential(|number|).
export function ink(colour) {
  const behind = typeof colour === 'number' ? sequential(Math.abs(colour)) : colour;
  const light = luminance(behind.match(/\d+/g).map(Number));
  // Where black and white are equally readable, as WCAG measures it.
  return light > 0.179 ? '#000000' : '#ffffff';
}

export function onSchemeChange(listener, signal) {
  dark.addEventListener('change', listener, { signal });
}

function scales() {
  return SCALES[dark.matches ? 'dark' : 'light'];
}

function along(stops, x) {
  const at = Math.min(1, Math.max(0, Number.isFinite(x) ? x : 0)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [channels(stops[low]), channels(stops[low + 1])];
  const mixed = from.map((value, i) => Math.round(value + (at - low) * (to[i] - value)));
  return `rgb(${mixed.join(', ')})`;
}

function channels(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const s = value / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
