// Answers. In: a name and parameters. Out: what Python says to them, from the server that the page
// came from, or in a saved page from the data inside it.
//
// A newer question of the same name ends an older one, which then throws an AbortError.

const ADDRESS = 60000; // bytes of an address, which a server has to take in one line
const LONGEST = 2000000; // bytes of a question that is sent as a body instead

const TRACE = 2; // the version of docs/trace.md

const asked = new Map(); // name -> AbortController
const inside = document.getElementById('answers');
const saved = inside === null ? null : JSON.parse(inside.textContent);

export async function ask(name, params = {}, signal = undefined) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined);
  const strings = Object.fromEntries(given.map(([key, value]) => [key, String(value)]));
  const answer = saved === null ? await fromServer(name, strings, signal) : fromPage(name, strings);
  if (name === 'trace' && answer.version !== TRACE) {
    throw new Error(
      `a trace of version ${answer.version}, and this page reads version ${TRACE}. Save the page again`,
    );
  }
  return answer;
}

async function fromServer(name, params, signal) {
  let address = `api/${name}?${new URLSearchParams(params)}`;
  const how = {};
  if (address.length > ADDRESS) {
    const body = new TextEncoder().encode(JSON.stringify(params));
    if (body.length > LONGEST) {
      throw new Error(
        `the input is too long for the page: ${body.length.toLocaleString('en')} bytes, and ` +
        `${LONGEST.toLocaleString('en')} fit. Give a shorter one`,
      );
    }
    address = `api/${name}`;
    Object.assign(how, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
  }
  asked.get(name)?.abort();
  const controller = new AbortController();
  asked.set(name, controller);
  signal?.addEventListener('abort', () => controller.abort(), { once: true });
  let response;
  try {
    response = await fetch(address, { ...how, signal: controller.signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('no answer: the command that serves this page has ended. Start it again');
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// [{name, params, answer}], whose params are complete.
function fromPage(name, params) {
  const found = saved.find(
    (each) => each.name === name &&
      Object.entries(params).every(([key, value]) => each.params[key] === value),
  );
  if (found === undefined) {
    throw new Error('this saved page holds no such numbers. Open the run with `unspool look`');
  }
  if (found.answer.error !== undefined) throw new Error(found.answer.error);
  return found.answer;
}
