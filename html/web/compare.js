// Pinned scenarios side by side: what they come to, where their time goes, and which options
// differ.
import { PARTS, bytes, digits, fill, seconds, title } from './answer.js';
import { element, state } from './form.js';
import { signed } from './panel.js';

const memory = use => (use.peak_bytes > 0 ? use.peak_bytes : null);

// [name, value of a prediction, how it is shown, which is better: -1 the least, 1 the most]
const RESULTS = [
  ['Step', p => p.step_time_s, seconds, -1],
  ['Tokens/s/GPU', p => p.tokens_per_s_per_gpu, digits, 1],
  ['Tokens/s', p => p.tokens_per_s, digits, 1],
  ['MFU', p => p.mfu_percent, value => `${digits(value)} %`, 1],
  ['GPUs', p => p.n_gpus, digits, 0],
  ['GPU memory', p => memory(p.hbm), bytes, -1],
  ['Node memory', p => memory(p.host), bytes, -1],
  ['Drives of a node', p => memory(p.nvme), bytes, -1],
  ['Sent between nodes a GPU', p => p.inter_node_bytes_per_gpu || null, bytes, -1],
  ['Exposed communication', p => p.exposed_comm_s || null, seconds, -1],
];
const WORDS = [
  ['Fits', p => (p.fits ? (p.tight ? 'just' : 'yes') : 'no')],
  ['Bound by', p => p.binding_resource],
];
const LEAST_PART = 0.005; // of a step: less is not shown

// ---- cells -------------------------------------------------------------------------------------

// VALUE, and what it is against the first one's.
function cell(value, first, show, best) {
  if (value === null) return element('td', {}, '–');
  const change = first === null || first === 0 ? 0 : value / first - 1;
  return element(
    'td',
    { class: best ? 'best' : '' },
    show(value),
    ...(Math.abs(change) < 5e-4 ? [] : [element('small', {}, ` ${signed(change)}`)]),
  );
}

function numbers([name, value, show, better], all) {
  const values = all.map(one => value(one.prediction)),
    known = values.filter(one => one !== null);
  if (known.length === 0) return [];
  const best = better < 0 ? Math.min(...known) : Math.max(...known),
    alike = known.every(one => one === best);
  return [
    row(
      name,
      values.map(one => cell(one, values[0], show, better !== 0 && !alike && one === best)),
    ),
  ];
}

function words(name, values) {
  const differ = values.some(one => one !== values[0]);
  return row(
    name,
    values.map(one =>
      element('td', { class: differ && one !== values[0] ? 'differs' : '' }, one ?? '–'),
    ),
  );
}

function row(name, cells) {
  return element('tr', {}, element('th', { scope: 'row' }, name), ...cells);
}

function group(name, n, rows) {
  return rows.length === 0
    ? []
    : [
        element(
          'tbody',
          {},
          element('tr', {}, element('th', { scope: 'rowgroup', colspan: n + 1 }, name)),
          ...rows,
        ),
      ];
}

// ---- groups ------------------------------------------------------------------------------------

function times(all) {
  const matters = ([, key]) =>
    all.some(one => (one.prediction[key] ?? 0) > LEAST_PART * one.prediction.step_time_s);
  return PARTS.filter(matters).flatMap(([name, key]) =>
    numbers([name, p => p[key] || null, seconds, 0], all),
  );
}

// "training.micro_batch": "2", of all that a prediction was made with.
function settings(sections, above = '') {
  const flat = {};
  for (const [key, value] of Object.entries(sections ?? {}))
    if (value !== null && typeof value === 'object')
      Object.assign(flat, settings(value, `${above}${key}.`));
    else if (value !== null) flat[above + key] = String(value);
  return flat;
}

// Those that all have or that somebody has set: another strategy has others of its own.
function options(all) {
  const each = all.map(one => ({
    'strategy.name': one.prediction.strategy,
    ...settings(one.prediction.settings),
  }));
  const keys = [...new Set(each.flatMap(Object.keys))],
    counts = key =>
      each.every(one => key in one) || all.some(one => key in (one.state ?? state).set);
  return keys
    .filter(key => counts(key) && each.some(one => one[key] !== each[0][key]))
    .map(key =>
      words(
        key,
        each.map(one => one[key]),
      ),
    );
}

// ---- the table ---------------------------------------------------------------------------------

function head(one, open, drop) {
  if (!one.state) return element('th', { scope: 'col' }, one.name);
  return element(
    'th',
    { scope: 'col' },
    element('button', { type: 'button', onclick: () => open(one) }, one.name),
    element(
      'button',
      { type: 'button', 'aria-label': `drop ${one.name}`, onclick: () => drop(one) },
      '×',
    ),
  );
}

// PINNED: [{ name, prediction, state }]; NOW: the prediction that is shown, or null.
export function showPinned(pinned, now, open, drop) {
  if (pinned.length === 0) {
    fill('pinned');
    return;
  }
  const all = now ? [...pinned, { name: 'now', prediction: now }] : pinned;
  fill(
    'pinned',
    title('Pinned, and now'),
    element(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'pinned scenarios' },
      element(
        'table',
        { class: 'compare' },
        element(
          'thead',
          {},
          element('tr', {}, element('td', {}), ...all.map(one => head(one, open, drop))),
        ),
        ...group('What it comes to', all.length, [
          ...WORDS.map(([name, value]) =>
            words(
              name,
              all.map(one => value(one.prediction)),
            ),
          ),
          ...RESULTS.flatMap(one => numbers(one, all)),
        ]),
        ...group('Where the time goes', all.length, times(all)),
        ...group('Options that differ', all.length, options(all)),
      ),
    ),
  );
}
