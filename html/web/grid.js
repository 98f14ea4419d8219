// A copy of the page without a server (`shardsim web --export`): the answers of a grid, which
// data.js holds, in the place of those of a server. Where there is no such file, nothing.
const data = globalThis.shardsimGrid;

// { axes: [{ key, values }], n, start }: all that there is; null: a server answers.
export const grid = data
  ? {
      axes: data.axes,
      n: data.predictions.length,
      start: Object.fromEntries(data.axes.map(axis => [axis.key, axis.values[0]])),
    }
  : null;

// The values of an option that the copy has; null: any.
export function valuesOf(key) {
  return grid ? (grid.axes.find(axis => axis.key === key)?.values ?? []) : null;
}

export function gridText() {
  return (
    `This copy of the page holds ${grid.n} scenarios, and asks nobody: what is grey is fixed. ` +
    'Where shardsim is installed, “shardsim web” answers everything.'
  );
}

function refusal(message, key = null) {
  const said = { severity: 'error', message, hint: null, file: key };
  return { results: [], items: [], diagnostics: [said], error: null };
}

// The answer of ANSWERS to SET.
function find(answers, set) {
  let at = 0;
  for (const axis of grid.axes) {
    const i = axis.values.indexOf(set[axis.key] ?? axis.values[0]);
    if (i < 0) return refusal(`this copy of the page has ${axis.values.join(', ')}`, axis.key);
    at = at * axis.values.length + i;
  }
  const other = Object.keys(set).find(key => valuesOf(key).length === 0);
  return other ? refusal('this copy of the page has the default alone', other) : answers[at];
}

function answer(path, body) {
  const request = body ? JSON.parse(body) : {};
  if (data.lists[path]) return data.lists[path];
  if (!request.text && path === '/api/predict') return find(data.predictions, request.set);
  if (!request.text && path === '/api/scenario') return find(data.texts, request.set);
  return refusal(gridText());
}

if (grid)
  globalThis.fetch = async (path, options = {}) =>
    new Response(JSON.stringify(answer(path.split('?')[0], options.body)));
