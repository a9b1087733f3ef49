// Recurrent cells as the course draws them: layers are boxes, what happens unit by unit are circles,
// states are lines from left to right.
//
// In: a cell, and which step of its walk to bring forward. Out: an SVG. Each shape names the steps
// that it belongs to.

import { svg } from '../../dom.js';

const WIDTH = 340;
const HEIGHT = 150;
const SCRIPT = { 't-1': 'ₜ₋₁', t: 'ₜ' };

const box = (x, y, label, on, wide = 36) => ({ kind: 'box', x, y, label, on, wide });
const dot = (x, y, label, on) => ({ kind: 'dot', x, y, label, on });
const wire = (on, ...points) => ({ kind: 'wire', points, on });
const arrow = (on, ...points) => ({ kind: 'wire', points, on, arrow: true });
const peep = (on, ...points) => ({ kind: 'wire', points, on, arrow: true, dashed: true });
const name = (x, y, label, on, anchor = 'start') => ({ kind: 'name', x, y, label, on, anchor });

// What the memory line, the forget gate, the candidate and the output of every LSTM look like.
const LSTM = [
  name(4, 18, 'c_t-1', 'forget'), name(336, 18, 'c_t', 'update output', 'end'),
  name(4, 112, 'h_t-1', 'forget store output'), name(336, 112, 'h_t', 'output', 'end'),
  name(36, 144, 'x_t', 'forget store output'),
  arrow('forget', [4, 28], [57, 28]), dot(66, 28, '×', 'forget'),
  arrow('update', [75, 28], [169, 28]), dot(178, 28, '+', 'update'),
  arrow('update', [187, 28], [336, 28]),
  wire('forget store output', [4, 118], [66, 118]), wire('forget store output', [30, 148], [30, 118]),
  wire('store output', [66, 118], [178, 118]), wire('output', [178, 118], [250, 118]),
  wire('forget', [66, 118], [66, 96]), box(66, 84, 'σ', 'forget'),
  arrow('forget', [66, 72], [66, 37]), name(72, 52, 'f_t', 'forget'),
  wire('store', [178, 118], [178, 96]), box(178, 84, 'tanh', 'store'),
  arrow('store', [178, 72], [178, 65]), dot(178, 56, '×', 'store'), name(190, 68, 'g_t', 'store'),
  arrow('update', [178, 47], [178, 37]),
  wire('output', [250, 118], [250, 96]), box(250, 84, 'σ', 'output'),
  arrow('output', [268, 84], [291, 84]), name(271, 78, 'o_t', 'output'),
  wire('output', [300, 28], [300, 42]), box(300, 53, 'tanh', 'output'),
  arrow('output', [300, 64], [300, 75]), dot(300, 84, '×', 'output'),
  arrow('output', [300, 93], [300, 118], [336, 118]),
];
const INPUT_GATE = [
  wire('store', [126, 118], [126, 96]), box(126, 84, 'σ', 'store'),
  arrow('store', [126, 72], [126, 56], [169, 56]), name(132, 50, 'i_t', 'store'),
];
const PEEPHOLES = {
  f: [peep('forget', [22, 28], [22, 84], [47, 84])],
  i: [peep('store', [22, 28], [22, 104], [98, 104], [98, 84], [107, 84])],
  o: [peep('output', [222, 28], [222, 84], [231, 84])],
};
const COUPLED = [
  wire('store', [66, 56], [106, 56]), dot(118, 56, '1−', 'store'), arrow('store', [130, 56], [169, 56]),
  name(136, 50, 'i_t', 'store'),
];

// The state of a GRU goes along the top: so much of it is kept, the rest is new.
const along = (gates) => [
  name(4, 18, 'h_t-1', 'update reset'), name(336, 18, 'h_t', 'update', 'end'),
  arrow('update', [4, 28], [161, 28]), dot(170, 28, '×', 'update'),
  arrow('update', [179, 28], [249, 28]), dot(258, 28, '+', 'update'),
  arrow('update', [267, 28], [336, 28]),
  arrow('update', [258, 76], [258, 69]), dot(258, 60, '×', 'update'),
  arrow('update', [258, 51], [258, 37]),
  ...gates,
];
const KEEP = [
  arrow('update', [170, 76], [170, 37]),
  wire('update', [170, 60], [202, 60]), dot(214, 60, '1−', 'update'), arrow('update', [226, 60], [249, 60]),
];
const TAKE = [
  wire('update', [170, 76], [170, 60]), dot(170, 52, '1−', 'update'), arrow('update', [170, 43], [170, 37]),
  arrow('update', [170, 68], [216, 68], [216, 60], [249, 60]),
];
const RESET = [
  wire('reset candidate update', [22, 28], [22, 122]), wire('reset candidate update', [36, 148], [36, 122]),
  name(42, 144, 'x_t', 'reset candidate update'),
  wire('reset candidate update', [22, 122], [70, 122]), wire('candidate update', [70, 122], [170, 122]),
  wire('candidate', [170, 122], [266, 122]),
  wire('reset', [70, 122], [70, 100]), box(70, 88, 'σ', 'reset'), arrow('reset', [70, 76], [70, 67]),
  name(81, 74, 'r_t', 'reset'),
  arrow('reset', [70, 28], [70, 49]), dot(70, 58, '×', 'reset'),
  arrow('candidate', [79, 58], [118, 58], [118, 111], [250, 111], [250, 100]),
  wire('update', [170, 122], [170, 100]), box(170, 88, 'σ', 'update'), name(164, 73, 'z_t', 'update', 'end'),
  arrow('candidate', [266, 122], [266, 100]), box(258, 88, 'tanh', 'candidate'),
  name(280, 84, 'n_t', 'candidate'),
];
const TOKEN_ALONE = [
  name(42, 144, 'x_t', 'gate gates candidate'), wire('gate gates candidate', [36, 148], [36, 122]),
  wire('gate gates candidate', [36, 122], [170, 122]), wire('candidate', [170, 122], [258, 122]),
  wire('candidate', [258, 122], [258, 100]), box(258, 88, 'W', 'candidate'), name(280, 84, 'g_t', 'candidate'),
];
const MINGRU = [
  ...TOKEN_ALONE,
  wire('gate', [170, 122], [170, 100]), box(170, 88, 'σ', 'gate'), name(164, 73, 'z_t', 'gate update', 'end'),
];
const MINLSTM = [
  ...TOKEN_ALONE,
  wire('gates', [148, 122], [148, 110]), box(148, 99, 'σ', 'gates', 30), arrow('gates', [148, 88], [148, 75]),
  name(141, 87, 'f_t', 'gates', 'end'),
  wire('gates', [192, 122], [192, 110]), box(192, 99, 'σ', 'gates', 30), arrow('gates', [192, 88], [192, 75]),
  name(199, 87, 'i_t', 'gates'), wire('gates', [170, 122], [192, 122]),
  box(170, 64, 'share', 'gates', 64),
  arrow('update', [170, 53], [170, 37]), name(164, 48, 'f′_t', 'gates update', 'end'),
  arrow('update', [202, 60], [249, 60]), name(210, 55, 'i′_t', 'gates update'),
];

const plain = (squash) => [
  name(4, 62, 'h_t-1', 'sum'), name(336, 62, 'h_t', 'squash', 'end'),
  arrow('sum', [4, 72], [50, 72]), box(68, 72, 'U', 'sum'), arrow('sum', [86, 72], [131, 72]),
  name(146, 144, 'x_t', 'sum'), wire('sum', [140, 148], [140, 126]), box(140, 114, 'W', 'sum'),
  arrow('sum', [140, 102], [140, 81]), name(146, 26, 'b', 'sum'), arrow('sum', [140, 14], [140, 63]),
  dot(140, 72, '+', 'sum'), arrow('sum', [149, 72], [196, 72]), name(166, 66, 'a_t', 'sum squash'),
  box(222, 72, squash, 'squash', 52), arrow('squash', [248, 72], [336, 72]),
];
const SQUASHES = {
  sigmoid: 'σ', tanh: 'tanh', relu: 'relu', leaky_relu: 'leaky', elu: 'elu', maxout: 'max',
};

const DRAWINGS = {
  lstm: () => [...LSTM, ...INPUT_GATE],
  peephole: ({ terms }) => [
    ...LSTM, ...INPUT_GATE,
    ...Object.keys(PEEPHOLES).filter((gate) => 'c' in terms[gate]).flatMap((gate) => PEEPHOLES[gate]),
  ],
  coupled: () => [...LSTM, ...COUPLED],
  gru: ({ options }) => [...RESET, ...along(options.update === 'keep' ? KEEP : TAKE)],
  mingru: () => [...MINGRU, ...along(TAKE)],
  minlstm: () => [...MINLSTM, ...along([])],
  elman: ({ options }) => plain(SQUASHES[options.activation]),
  irnn: () => plain('relu'),
};

// The drawing of a cell with what belongs to one step in front.
export function drawing(cell, step, title) {
  const shapes = DRAWINGS[cell.cell](cell);
  const active = (shape) => shape.on.split(' ').includes(step);
  const ordered = [...shapes.filter((shape) => !active(shape)), ...shapes.filter(active)];
  return svg('svg', {
    class: 'cell-drawing', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': title,
  }, ordered.map((shape) => svg('g', { class: active(shape) ? 'on' : null }, SHAPES[shape.kind](shape))));
}

const SHAPES = {
  box: ({ x, y, label, wide }) => [
    svg('rect', { class: 'box', x: x - wide / 2, y: y - 11, width: wide, height: 22, rx: 4 }),
    svg('text', { x, y: y + 4, 'text-anchor': 'middle', text: label }),
  ],
  dot: ({ x, y, label }) => [
    svg('ellipse', { class: 'dot', cx: x, cy: y, rx: label.length > 1 ? 12 : 9, ry: 9 }),
    svg('text', { x, y: y + 4, 'text-anchor': 'middle', text: label }),
  ],
  wire: ({ points, arrow: pointed, dashed }) => [
    svg('polyline', {
      class: dashed ? 'wire dashed' : 'wire', points: points.map((point) => point.join(',')).join(' '),
    }),
    pointed ? head(points.at(-2), points.at(-1)) : null,
  ],
  name: ({ x, y, label, anchor }) => {
    const [letter, index] = label.split('_');
    return [svg('text', { class: 'name', x, y, 'text-anchor': anchor },
      svg('tspan', { class: 'letter', text: letter }), SCRIPT[index] ?? '')];
  },
};

// The head of an arrow that comes from one point to another.
function head([x0, y0], [x, y]) {
  const length = Math.hypot(x - x0, y - y0) || 1;
  const [dx, dy] = [(x - x0) / length, (y - y0) / length];
  const corner = (side) => `${x - 6 * dx + side * 3.2 * dy},${y - 6 * dy - side * 3.2 * dx}`;
  return svg('polygon', { class: 'tip', points: `${x},${y} ${corner(1)} ${corner(-1)}` });
}
