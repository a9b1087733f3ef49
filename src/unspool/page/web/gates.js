// The gates and states of a recurrent layer, unit by unit, as tracks of a timeline; and the choice of
// the layer. The data are those of page/gates.py.

import { selectField } from './fields.js';
import { heatTrack } from './tracks.js';

const ROW = 4; // pixels of a unit
const SIGNED = ['hidden state', 'cell state', 'candidate'];

export function gateTracks({ gates, units }) {
  return gates.map(({ kind, values }) => {
    const signed = SIGNED.includes(kind);
    const most = signed ? Math.max(1e-6, ...values.flat().map(Math.abs)) : 1;
    const track = heatTrack({
      name: kind, rows: values, names: units.map((unit) => `unit ${unit}`), signed, most,
      height: ROW * values.length, tellRow: () => null,
      scale: signed ? `±${most.toFixed(2)}, of ${values.length} units` : `0 to 1, of ${values.length} units`,
    });
    return { ...track, tell: () => '' };
  });
}

// null where there is nothing to choose; a saved page has one layer.
export function layerField({ layers, layer }, context) {
  if (layers.length < 2 || context.run.saved) return null;
  const named = layers.map((name, i) => [i + 1, name]);
  return selectField('layer', 'Gates of', named, layer, (own) => context.go({ layer: own }));
}
