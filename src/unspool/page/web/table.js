// Numbers that somebody pastes or has in a file. In: text, CSV with or without names, or JSON; the
// names of the channels that a model reads. Out: { values, times, dated, name } for JSON; an Error in
// one line where there is none.

const MOST = 200000; // numbers, as page/subject.py has it
const TIMES = ['time', 'date', 'datetime', 'timestamp', 't'];
const IDS = ['id', 'series', 'recording', 'unique_id'];
const GAPS = ['', 'nan', 'na', 'null', '?'];

export function readSeries(text, channels, name = '') {
  const trimmed = text.trim();
  if (trimmed === '') throw new Error('there are no numbers. Give some, a step a line');
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) return readJson(trimmed);
  const lines = trimmed.split(/\r\n|\r|\n/);
  const comma = ['\t', ';', ','].find((own) => lines[0].includes(own)) ?? /\s+/;
  const rows = lines.map((line) => line.split(comma).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1')));
  const named = rows[0].some((cell) => !isGap(cell) && !isNumber(cell) && !isDate(cell));
  const header = named ? rows.shift() : null;
  if (rows.length === 0) throw new Error('there are names and no numbers. Give some, a step a line');
  const found = columnsFor(header, rows[0].length, channels);
  const own = found.id === null ? rows : rows.filter((row) => row[found.id] === rows[0][found.id]);
  const first = named ? 2 : 1;
  const values = own.map((row) => found.values.map((column) => number(row[column], rows.indexOf(row) + first, header?.[column] ?? column + 1)));
  if (values.length * channels.length > MOST) {
    throw new Error(`a page shows series of up to ${MOST.toLocaleString('en')} numbers, and these are `
      + `${(values.length * channels.length).toLocaleString('en')}. Give a shorter one`);
  }
  const series = { values, name: found.id === null ? name : own[0][found.id] };
  if (found.time === null) return series;
  const cells = own.map((row) => row[found.time]);
  const dated = !cells.every(isNumber);
  const times = cells.map((cell, i) => time(cell, dated, rows.indexOf(own[i]) + first));
  return { ...series, times, dated };
}

function readJson(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) ? { values: found } : found;
  } catch {
    throw new Error('this begins like JSON and is none. Give lists of numbers, or lines of them');
  }
}

// Which columns are the channels, the time and the id: by their names, or where all are channels, or
// all but a first one with times, by their order.
function columnsFor(header, width, channels) {
  if (header !== null) {
    const lower = header.map((name) => name.toLowerCase());
    const named = channels.map((name) => header.indexOf(name));
    const one = (names) => {
      const at = lower.findIndex((own, i) => names.includes(own) && !named.includes(i));
      return at < 0 ? null : at;
    };
    if (named.every((at) => at >= 0)) return { values: named, time: one(TIMES), id: one(IDS) };
  }
  const order = (first) => channels.map((_, i) => first + i);
  if (width === channels.length) return { values: order(0), time: null, id: null };
  if (width === channels.length + 1) return { values: order(1), time: 0, id: null };
  const names = channels.slice(0, 8).join(', ') + (channels.length > 8 ? ', …' : '');
  throw new Error(`the model reads ${channels.length} channel${channels.length > 1 ? 's' : ''} (${names}), and line 1 has ${width} `
    + `columns${header === null ? '' : `: ${header.slice(0, 8).join(', ')}`}. Give columns with these names, or these alone`);
}

function number(cell, line, column) {
  if (cell === undefined || isGap(cell)) return null;
  if (!isNumber(cell)) throw new Error(`line ${line}, column ${column}: no number, but “${cell.slice(0, 40)}”. Correct it, or leave it empty as a gap`);
  return Number(cell);
}

function time(cell, dated, line) {
  const found = dated ? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(cell) ? cell : `${cell.replace(' ', 'T')}${cell.length > 10 ? 'Z' : ''}`) / 1000 : Number(cell);
  if (!Number.isFinite(found)) throw new Error(`line ${line}: no time, but “${String(cell).slice(0, 40)}”. Write a number, or a date as 2026-05-01 13:45:00`);
  return found;
}

function isGap(cell) {
  return GAPS.includes(cell.toLowerCase());
}

function isNumber(cell) {
  return cell !== '' && Number.isFinite(Number(cell));
}

function isDate(cell) {
  return /^\d{4}-\d\d-\d\d/.test(cell);
}
