// Many steps on few pixels. In: numbers, a step each, null where there is none; the stretch that is
// shown and how many columns of pixels there are for it. Out: what each column shows.

// The steps of each column, [first, end): at least one each.
export function columnsOf(from, to, columns) {
  const each = (to - from) / columns;
  return Array.from({ length: columns }, (_, i) => {
    const first = Math.floor(from + i * each);
    return [first, Math.max(first + 1, Math.min(to, Math.floor(from + (i + 1) * each)))];
  });
}

// The least and the most of some values, [low, high]; null where there are none.
export function extremes(values, first, end) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = first; i < end; i += 1) {
    const value = values[i];
    if (value === null || value === undefined) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? null : [low, high];
}

// The mean of some values; null where there are none.
export function meanOf(values, first, end) {
  let [sum, count] = [0, 0];
  for (let i = first; i < end; i += 1) {
    if (values[i] === null || values[i] === undefined) continue;
    sum += values[i];
    count += 1;
  }
  return count === 0 ? null : sum / count;
}
