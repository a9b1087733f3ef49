// Notes that are heard. In: notes [[first step, end, pitch, velocity]], the seconds of a step. Out: an
// object that plays them from a step on, made of oscillators alone, and knows where it is.

const AHEAD = 0.1; // seconds before the first note
const ATTACK = 0.012;
const RELEASE = 0.12;
const LOUD = 0.16; // of one note at full velocity

export class Sound {
  constructor(notes, steps) {
    Object.assign(this, { notes, steps, audio: null });
  }

  get playing() {
    return this.audio !== null;
  }

  // From a step on, each step so many seconds long.
  start(step, seconds) {
    this.stop();
    this.audio = new window.AudioContext();
    Object.assign(this, { from: step, seconds, begun: this.audio.currentTime + AHEAD });
    const out = this.audio.createDynamicsCompressor();
    out.connect(this.audio.destination);
    for (const [first, end, pitch, velocity] of this.notes) {
      if (end > step) this.note(out, Math.max(first, step), end, pitch, velocity);
    }
  }

  note(out, first, end, pitch, velocity) {
    const [on, off] = [first, end].map((at) => this.begun + (at - this.from) * this.seconds);
    const gain = this.audio.createGain();
    const loud = LOUD * (velocity / 127);
    gain.gain.setValueAtTime(0, on);
    gain.gain.linearRampToValueAtTime(loud, on + ATTACK);
    gain.gain.setTargetAtTime(loud * 0.6, on + ATTACK, 0.25);
    gain.gain.setTargetAtTime(0, off - 0.02, RELEASE / 3);
    gain.connect(out);
    const tone = this.audio.createOscillator();
    tone.type = 'triangle';
    tone.frequency.value = 440 * 2 ** ((pitch - 69) / 12);
    tone.connect(gain);
    tone.start(on);
    tone.stop(off + RELEASE);
  }

  // The step that is heard, with its fraction; the number of steps once all have been.
  position() {
    const at = this.from + (this.audio.currentTime - this.begun) / this.seconds;
    return Math.max(this.from, Math.min(this.steps, at));
  }

  stop() {
    this.audio?.close();
    this.audio = null;
  }
}
