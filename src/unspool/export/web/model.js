// A model in a folder: `Model.open(ort, folder)`, then `answers(items)`.

import { reader } from './readers.js';

export class Model {
  // `ort`: the module of onnxruntime-web.
  static async open(ort, folder = './') {
    const about = await (await fetch(`${folder}model.json`)).json();
    const bytes = new Uint8Array(await (await fetch(`${folder}model.onnx`)).arrayBuffer());
    const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
    return new Model(ort, session, about);
  }

  constructor(ort, session, about) {
    this.ort = ort;
    this.session = session;
    this.about = about;
    this.reader = reader(about.input);
  }

  // The outputs of the graph: for each item {name: array}.
  async run(items) {
    const inputs = Object.entries(this.reader.batch(items))
      .filter(([name]) => this.session.inputNames.includes(name))
      .map(([name, { type, data, dims }]) => [name, new this.ort.Tensor(type, data, dims)]);
    const outputs = await this.session.run(Object.fromEntries(inputs));
    return items.map((_, i) => Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => {
      const size = tensor.dims.slice(1).reduce((a, b) => a * b, 1);
      return [name, Array.from(tensor.data.slice(i * size, (i + 1) * size), Number)];
    })));
  }

  async answers(items) {
    const outputs = await this.run(items);
    return items.map((item, i) => this.answer(item, outputs[i]));
  }

  answer(item, outputs) {
    const { kind, labels, names, scheme, thresholds } = this.about.output;
    if (kind === 'numbers') {
      return { numbers: Object.fromEntries(names.map((name, i) => [name, outputs.numbers[i]])) };
    }
    if (kind === 'tags') {
      const words = typeof item === 'string' ? this.reader.words(item) : item;
      const tags = outputs.tags.slice(0, words.length).map((tag) => labels[tag]);
      return { words, tags: written(tags, scheme) };
    }
    const p = outputs.probabilities;
    const probabilities = labels.map((label, i) => [String(label), p[i]]);
    if (kind === 'label') return { label: labels[p.indexOf(Math.max(...p))], probabilities };
    const chosen = probabilities.filter((_, i) => p[i] >= thresholds[i]);
    return { labels: chosen.sort((a, b) => b[1] - a[1]).map(([label]) => label), probabilities };
  }

  // The largest difference from stored outputs, as a share of them; Infinity for another shape.
  async check(cases) {
    let worst = 0;
    for (const { item, outputs } of cases) {
      const [computed] = await this.run([item]);
      for (const [name, expected] of Object.entries(outputs)) {
        if (computed[name].length !== expected.length) return Infinity;
        const scale = Math.max(1, ...expected.map(Math.abs));
        const error = expected.map((value, i) => Math.abs(value - computed[name][i]) / scale);
        worst = Math.max(worst, ...error);
      }
    }
    return worst;
  }
}

// Tags in IOBES as the scheme of the training data writes them.
function written(tags, scheme) {
  if (scheme === 'iobes' || scheme === 'none') return tags;
  if (scheme === 'bioul') return tags.map((tag) => 'OBILU'['OBIES'.indexOf(tag[0])] + tag.slice(1));
  return tags.map((tag, i) => {
    const before = i ? tags[i - 1] : 'O';
    const same = before !== 'O' && before.slice(1) === tag.slice(1);
    const begins = same || scheme === 'iob2' ? 'B' : 'I';
    const goesOn = same && 'IE'.includes(tag[0]) && 'BI'.includes(before[0]);
    return tag === 'O' ? 'O' : (goesOn ? 'I' : begins) + tag.slice(1);
  });
}
