// A piano roll as a track of a timeline. In: notes, how many steps were given, steps of a beat. Out: a
// track (tracks.js): time to the right, high notes above; what was given is grey.

const KEY = 6; // pixels of a key, at most
const TALLEST = 240;
const LETTERS = 12; // pixels that a name is high
const CLASSES = ['C', 'C♯', 'D', 'D♯', 'E', 'F', 'F♯', 'G', 'G♯', 'A', 'A♯', 'B'];

export function pitchName(pitch) {
  return `${CLASSES[pitch % 12]}${Math.floor(pitch / 12) - 1}`;
}

export function rollTrack({ notes, given, grid }) {
  const pitches = notes.map(([, , pitch]) => pitch);
  const low = Math.min(60, ...pitches) - 1;
  const high = Math.max(60, ...pitches) + 1;
  const height = Math.min(TALLEST, KEY * (high - low + 1));
  const key = height / (high - low + 1);
  const top = (pitch) => (high - pitch) * key;
  return {
    name: 'piano roll', height, scale: given > 0 ? 'grey: given; in colour: written by the model' : 'written by the model',
    draw(pen, area) {
      pen.font = area.font;
      pen.textAlign = 'right';
      pen.textBaseline = 'middle';
      for (let pitch = low; pitch <= high; pitch += 1) {
        if (pitch % 12 !== 0) continue;
        pen.fillStyle = area.colour('--soft');
        const middle = Math.min(height - LETTERS / 2, Math.max(LETTERS / 2, top(pitch) + key / 2)); // whole at the edges
        pen.fillText(pitchName(pitch), area.left - 6, middle);
        pen.fillStyle = area.colour('--line');
        pen.fillRect(area.left, top(pitch) + key, area.width, 1);
      }
      for (let beat = Math.ceil(area.from / grid) * grid; beat < area.to; beat += grid) {
        pen.fillStyle = area.colour('--line');
        pen.fillRect(area.x(beat), 0, 1, height);
      }
      for (const [first, end, pitch] of notes) {
        if (end <= area.from || first >= area.to) continue;
        const [from, to] = [area.x(Math.max(first, area.from)), area.x(Math.min(end, area.to))];
        pen.fillStyle = area.colour(first < given ? '--edge' : '--accent');
        pen.fillRect(from, top(pitch) + 0.5, Math.max(1, to - from - 1), Math.max(1, key - 1));
      }
    },
    tell(step) {
      const now = notes.filter(([first, end]) => first <= step && step < end).map(([, , pitch]) => pitch);
      return now.length === 0 ? 'silence' : now.sort((a, b) => a - b).map(pitchName).join(' ');
    },
  };
}
