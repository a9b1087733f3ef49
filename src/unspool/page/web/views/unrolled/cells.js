// The equations of the recurrent cells, as steps to walk through.
//
// In: the terms of a cell, by the letters of its equations, and its options, as the answer `steps`
// has them. Out: steps, each with a sentence and lines of { law, numbers }. {f.x} in a template is a
// number by its name: f a gate, f.x, f.h, f.c, f.b the summands inside of it, h0 and c0 the state
// before the step. `derive` adds those that follow from them. {f%} is one as a percentage.

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// letter_t = outer(W x_t + U h_{t-1} + P c + b), of those terms that there are.
function gate(terms, letter, outer, { look = 'c_{t-1}', past = 'h_{t-1}' } = {}) {
  const laws = {
    x: `W_${letter} x_t`, h: `U_${letter} ${past}`, c: `P_${letter} ${look}`, b: `b_${letter}`,
  };
  const own = Object.keys(laws).filter((term) => term in terms[letter]);
  const law = own.map((term) => laws[term]).join(' + ');
  const numbers = own.map((term) => `{${letter}.${term}}`).join(' + ');
  const around = (inside) => (outer ? `${outer}(${inside})` : inside);
  return { law: `${letter}_t = ${around(law)}`, numbers: `${around(numbers)} = {${letter}}` };
}

const FORGET = {
  name: 'forget',
  title: 'Forget',
  says: 'The forget gate is {f%} open: of the memory {c0} stays {kept}.',
};
const UPDATE = {
  name: 'update',
  title: 'Update',
  says: 'What stays and what is stored make the new memory, {c}.',
};
const OUTPUT = {
  name: 'output',
  title: 'Output',
  says: 'The output gate shows {o%} of the memory, squashed by tanh: the unit says {h}.',
};
const KEPT = { law: 'f_t c_{t-1}', numbers: '{f} · {c0} = {kept}' };
const STORED = { law: 'i_t g_t', numbers: '{i} · {g} = {stored}' };
const SQUASHED = { law: 'h_t = o_t tanh(c_t)', numbers: '{o} · tanh({c}) = {o} · {squashed} = {h}' };

const remembered = (n) => ({ kept: n.f * n.c0, stored: n.i * n.g, squashed: Math.tanh(n.c) });

function lstm({ terms }) {
  return [
    { ...FORGET, lines: [gate(terms, 'f', 'σ'), KEPT] },
    {
      name: 'store',
      title: 'Store',
      says: 'The candidate is {g}; the input gate lets {i%} of it in, which is {stored}.',
      lines: [gate(terms, 'i', 'σ'), gate(terms, 'g', 'tanh'), STORED],
    },
    {
      ...UPDATE,
      lines: [{ law: 'c_t = f_t c_{t-1} + i_t g_t', numbers: '{kept} + {stored} = {c}' }],
    },
    { ...OUTPUT, lines: [gate(terms, 'o', 'σ', { look: 'c_t' }), SQUASHED] },
  ];
}

function coupled({ terms }) {
  const [forget, , , output] = lstm({ terms: { ...terms, i: terms.f } });
  return [
    forget,
    {
      name: 'store',
      title: 'Store',
      says: 'Where it forgets it writes: the other {i%} are for the candidate {g}, which gives {stored}.',
      lines: [{ law: 'i_t = 1 - f_t', numbers: '1 − {f} = {i}' }, gate(terms, 'g', 'tanh'), STORED],
    },
    {
      ...UPDATE,
      lines: [{ law: 'c_t = f_t c_{t-1} + (1 - f_t) g_t', numbers: '{kept} + {stored} = {c}' }],
    },
    output,
  ];
}

function gru({ terms, options }) {
  const before = options.reset === 'before';
  const keep = options.update === 'keep';
  const candidate = before
    ? gate(terms, 'n', 'tanh', { past: '(r_t ⊙ h_{t-1})' })
    : {
      law: 'n_t = tanh(W_n x_t + b_n + r_t (U_n h_{t-1} + b_{hn}))',
      numbers: 'tanh({n.x} + {n.b} + {past}) = {n}',
    };
  return [
    {
      name: 'reset',
      title: 'Reset',
      says: 'The reset gate is {r%} open: so much of the past may enter the candidate, here {past}.',
      lines: [
        gate(terms, 'r', 'σ'),
        before
          ? { law: 'r_t h_{t-1}', numbers: '{r} · {h0} = {past}' }
          : { law: 'r_t (U_n h_{t-1} + b_{hn})', numbers: '{r} · ({n.h} + {n.hn}) = {past}' },
      ],
    },
    {
      name: 'candidate',
      title: 'Candidate',
      says: before
        ? 'The candidate is made of the new token and of what was not reset, of all units: {n}.'
        : 'The candidate is made of the new token and of what was not reset: {n}.',
      lines: [candidate],
    },
    {
      name: 'update',
      title: 'Update',
      says: keep
        ? 'The update gate keeps {z%} of the old state {h0}; the rest is the candidate: {h}.'
        : 'The update gate takes {z%} of the candidate; the rest is the old state {h0}: {h}.',
      lines: [
        gate(terms, 'z', 'σ'),
        keep
          ? { law: 'h_t = z_t h_{t-1} + (1 - z_t) n_t', numbers: '{z} · {h0} + (1 − {z}) · {n} = {h}' }
          : { law: 'h_t = (1 - z_t) h_{t-1} + z_t n_t', numbers: '(1 − {z}) · {h0} + {z} · {n} = {h}' },
      ],
    },
  ];
}

const ACTIVATIONS = {
  sigmoid: { title: 'Squash', law: 'h_t = σ(a_t)', numbers: 'σ({a}) = {h}' },
  tanh: { title: 'Squash', law: 'h_t = tanh(a_t)', numbers: 'tanh({a}) = {h}' },
  relu: { title: 'Rectify', law: 'h_t = max(0, a_t)', numbers: 'max(0, {a}) = {h}' },
  leaky_relu: { title: 'Rectify', law: 'h_t = max(0.1 a_t, a_t)', numbers: 'max(0.1 · {a}, {a}) = {h}' },
  elu: { title: 'Bend', law: 'h_t = elu(a_t)', numbers: 'elu({a}) = {h}' },
  maxout: { title: 'Choose', law: 'h_t = max(p_t, q_t)', numbers: 'max({p}, {q}) = {h}' },
};

function elman({ terms, options }) {
  const activation = ACTIVATIONS[options.activation ?? 'relu']; // irnn has no choice
  const pieces = Object.keys(terms);
  const plain = (line) => ({ ...line, law: line.law.replaceAll('_a', '') });
  return [
    {
      name: 'sum',
      title: 'Add up',
      says: pieces.length > 1
        ? 'Twice: what the token says, what the state before says, and a bias; {p} and {q}.'
        : 'What the token says, what the state before says, and a bias, together {a}.',
      lines: pieces.map((letter) => plain(gate(terms, letter, ''))),
    },
    {
      name: 'squash',
      title: activation.title,
      says: 'The new state of the unit is {h}; the old one was {h0}.',
      lines: [activation],
    },
  ];
}

function mingru({ terms }) {
  return [
    {
      name: 'gate',
      title: 'Gate',
      says: 'The update gate sees the token alone, not the state: {z%} of the candidate will be taken.',
      lines: [gate(terms, 'z', 'σ')],
    },
    {
      name: 'candidate',
      title: 'Candidate',
      says: 'The candidate sees the token alone, too, and is not squashed: {g}.',
      lines: [gate(terms, 'g', '')],
    },
    {
      name: 'update',
      title: 'Update',
      says: 'Of the old state {h0} stays {kept}; with {taken} of the candidate that is {h}.',
      lines: [{
        law: 'h_t = (1 - z_t) h_{t-1} + z_t g_t',
        numbers: '(1 − {z}) · {h0} + {z} · {g} = {kept} + {taken} = {h}',
      }],
    },
  ];
}

function minlstm({ terms }) {
  return [
    {
      name: 'gates',
      title: 'Gates',
      says: 'Both gates see the token alone. Made to add up to one, they keep {f′%} and let {i′%} in.',
      lines: [
        gate(terms, 'f', 'σ'),
        gate(terms, 'i', 'σ'),
        { law: 'f′_t = f_t / (f_t + i_t)', numbers: '{f} / ({f} + {i}) = {f′}' },
        { law: 'i′_t = i_t / (f_t + i_t)', numbers: '{i} / ({f} + {i}) = {i′}' },
      ],
    },
    {
      name: 'candidate',
      title: 'Candidate',
      says: 'The candidate sees the token alone, too, and is not squashed: {g}.',
      lines: [gate(terms, 'g', '')],
    },
    {
      name: 'update',
      title: 'Update',
      says: 'Of the old state {h0} stays {kept}; with {taken} of the candidate that is {h}.',
      lines: [{
        law: 'h_t = f′_t h_{t-1} + i′_t g_t',
        numbers: '{f′} · {h0} + {i′} · {g} = {kept} + {taken} = {h}',
      }],
    },
  ];
}

const sum = (n, letter) => ['x', 'h', 'c', 'b'].reduce((a, term) => a + (n[`${letter}.${term}`] ?? 0), 0);

export const CELLS = {
  lstm: { steps: lstm, derive: remembered },
  peephole: { steps: lstm, derive: remembered },
  coupled: { steps: coupled, derive: (n) => ({ i: 1 - n.f, ...remembered({ ...n, i: 1 - n.f }) }) },
  gru: {
    steps: gru,
    derive: (n) => ({ past: 'n.hn' in n ? n.r * (n['n.h'] + n['n.hn']) : n.r * n.h0 }),
  },
  elman: { steps: elman, derive: (n) => ({ a: sum(n, 'a'), p: sum(n, 'p'), q: sum(n, 'q') }) },
  irnn: { steps: elman, derive: (n) => ({ a: sum(n, 'a') }) },
  mingru: { steps: mingru, derive: (n) => ({ kept: (1 - n.z) * n.h0, taken: n.z * n.g }) },
  minlstm: {
    steps: minlstm,
    derive: (n) => ({
      f: sigmoid(sum(n, 'f')), i: sigmoid(sum(n, 'i')), kept: n['f′'] * n.h0, taken: n['i′'] * n.g,
    }),
  },
};
