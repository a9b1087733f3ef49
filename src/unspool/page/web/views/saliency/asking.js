// What the views of saliency share: its methods, and asking for reasons, which takes seconds.

export const METHODS = { integrated: 'integrated gradients', gradient: 'gradient × input' };
export const CLOSE = 1e-3; // as insight/saliency.py has it

// Ask for the reasons that a view wants: { context, note, problem, method, step, answer }. `waiting` is
// shown with the seconds until they are there. Null where the view is gone by then, or there was an error.
export async function reasonsFor(view, waiting) {
  const { context, note, problem } = view;
  const started = Date.now();
  const tick = () => {
    const seconds = Math.round((Date.now() - started) / 1000);
    note.textContent = waiting + (seconds > 1 ? ` ${seconds} s` : '');
  };
  tick();
  const timer = window.setInterval(tick, 1000);
  context.signal.addEventListener('abort', () => window.clearInterval(timer));
  try {
    const given = { text: context.text, method: view.method };
    if (context.params.has('step')) given.step = view.step;
    if (context.params.has('answer')) given.answer = view.answer;
    const found = await context.ask('saliency', given);
    return context.signal.aborted ? null : found;
  } catch (error) {
    if (error.name !== 'AbortError' && !context.signal.aborted) {
      note.textContent = '';
      problem.hidden = false;
      problem.textContent = error.message;
    }
    return null;
  } finally {
    window.clearInterval(timer);
  }
}

// The index of the value that is farthest from 0.
export function strongest(values) {
  return values.reduce((best, value, i) => (Math.abs(value) > Math.abs(values[best]) ? i : best), 0);
}
