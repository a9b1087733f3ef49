// A button that records sound from the microphone. In: what to do with the file, and with a line about
// what goes wrong. Out: an element. The file is WAV, 16 bits, one channel.

import { el } from './dom.js';

const LONGEST = 60; // seconds

export class Recorder {
  constructor(give, report) {
    Object.assign(this, { give, report, parts: [], stopped: null });
    this.button = el('button', { type: 'button', text: 'Record', onclick: () => this.press() });
    this.element = this.button;
  }

  async press() {
    if (this.stopped !== null) {
      this.stopped();
      return;
    }
    try {
      await this.record();
    } catch {
      this.report('The browser gives no microphone.');
    }
  }

  async record() {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const media = new MediaRecorder(stream);
    const parts = [];
    media.ondataavailable = (event) => parts.push(event.data);
    const ended = new Promise((resolve) => { media.onstop = resolve; });
    const timer = setTimeout(() => this.stopped?.(), LONGEST * 1000);
    this.stopped = () => { this.stopped = null; media.stop(); };
    media.start();
    this.button.textContent = 'Stop';
    await ended;
    clearTimeout(timer);
    this.button.textContent = 'Record';
    stream.getTracks().forEach((track) => track.stop());
    const context = new AudioContext();
    const sound = await context.decodeAudioData(await new Blob(parts).arrayBuffer());
    await context.close();
    this.give(new File([wav(sound.getChannelData(0), sound.sampleRate)], 'recording.wav'));
  }
}

function wav(samples, rate) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, letters) => [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, 'RIFF');
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((value, i) => view.setInt16(44 + 2 * i, Math.max(-1, Math.min(1, value)) * 32767, true));
  return view.buffer;
}
