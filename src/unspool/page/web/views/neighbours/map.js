// Points with names. In: [{token, x, y}], the first of which is the one in question. Out: an SVG in
// which no name stands upon another; a name for which there is no room is told by its point alone.

import { svg } from '../../dom.js';
import { short, visible } from '../../tokens.js';

const MARGIN = 24;
const CHARACTER = 7.3; // pixels
const HEIGHT = 15;
const RADIUS = 4;

export function map(points, width, onpick) {
  const height = Math.round(width * 0.8);
  const placed = scaled(points, width, height);
  const names = labels(placed, width, height);
  const told = points.map((point) => visible(point.token)).join(', ');
  return svg('svg', {
    class: 'map', role: 'img', width, height, viewBox: `0 0 ${width} ${height}`,
    'aria-label': `A map of ${told}. The list has the numbers.`,
  },
  placed.map(({ token, x, y }, i) => svg('g', {
    class: i === 0 ? 'own' : 'other', onclick: onpick && (() => onpick(token)),
  },
  svg('title', { text: visible(token) }),
  svg('circle', { cx: x, cy: y, r: i === 0 ? RADIUS + 1.5 : RADIUS }),
  names[i] && svg('text', { x: names[i].x, y: names[i].y + HEIGHT - 4, text: names[i].text }))));
}

// To the size of the picture, the same scale both ways, so that distances stay true.
function scaled(points, width, height) {
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const [left, right] = range(points.map((point) => point.x));
  const [low, high] = range(points.map((point) => point.y));
  const [roomX, roomY] = [width - 2 * MARGIN - 60, height - 2 * MARGIN];
  const scale = Math.min(roomX / (right - left || 1), roomY / (high - low || 1));
  return points.map(({ token, x, y }) => ({
    token,
    x: width / 2 + scale * (x - (left + right) / 2),
    y: height / 2 - scale * (y - (low + high) / 2),
  }));
}

// A box for each name beside its point, where nothing stands yet: {x, y, text}, or null.
function labels(points, width, height) {
  const taken = points.map(
    ({ x, y }) => ({ x: x - RADIUS, y: y - RADIUS, w: 2 * RADIUS, h: 2 * RADIUS }));
  return points.map(({ token, x, y }, own) => {
    const text = short(token, 16);
    const size = { w: CHARACTER * [...text].length + 2, h: HEIGHT };
    const around = [
      [x + 7, y - HEIGHT / 2], [x - 7 - size.w, y - HEIGHT / 2],
      [x - size.w / 2, y - 7 - HEIGHT], [x - size.w / 2, y + 7],
      [x + 5, y - 5 - HEIGHT], [x + 5, y + 5],
      [x - 5 - size.w, y - 5 - HEIGHT], [x - 5 - size.w, y + 5],
    ].map(([left, top]) => ({ x: left, y: top, ...size }));
    const free = around.find((box) => inside(box, width, height) &&
      taken.every((other, i) => i === own || !overlap(box, other)));
    if (free === undefined) return null;
    taken.push(free);
    return { ...free, text };
  });
}

function inside(box, width, height) {
  return box.x >= 0 && box.y >= 0 && box.x + box.w <= width && box.y + box.h <= height;
}

function overlap(a, b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
