// What a prediction says: numbers, bars, tables and pictures. Nothing here asks the server.
import { element } from './form.js';

const SVG = 'http://www.w3.org/2000/svg';

export function shape(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// ---- numbers -----------------------------------------------------------------------------------

export function digits(value) {
  return Number(value.toPrecision(4)).toLocaleString('en', { maximumFractionDigits: 6 });
}

export function seconds(value) {
  if (value === null || value === undefined) return '';
  const units = [
    [86400, 'days'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
    [1e-3, 'ms'],
    [1e-6, 'us'],
  ];
  const [size, unit] = units.find(([one]) => value >= one * (one > 1 ? 2 : 1)) ?? [1e-6, 'us'];
  return `${digits(value / size)} ${unit}`;
}

export function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  while (value >= 1024 && i < units.length - 1) {
    value /= 1024;
    i++;
  }
  return `${digits(value)} ${units[i]}`;
}

const percent = value => `${digits(100 * value)} %`;

// ---- parts -------------------------------------------------------------------------------------

function card(name, value, kind = '') {
  return element(
    'div',
    { class: `card ${kind}` },
    element('span', {}, name),
    element('b', {}, value),
  );
}

export function title(text) {
  return element('h2', {}, text);
}

export function table(head, rows) {
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      element(
        'thead',
        {},
        element('tr', {}, ...head.map(text => element('th', { scope: 'col' }, text))),
      ),
      element(
        'tbody',
        {},
        ...rows.map(row => element('tr', {}, ...row.map(cell => element('td', {}, cell)))),
      ),
    ),
  );
}

// Parts of a whole, side by side, with a legend; LIMIT: a mark that has a name.
function bar(name, parts, whole, limit) {
  const total = Math.max(whole, limit?.value ?? 0);
  const picture = shape('svg', {
    class: 'bar',
    viewBox: '0 0 1000 40',
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': `${name}: ${parts.map(one => `${one.name} ${one.text}`).join(', ')}`,
  });
  let at = 0;
  for (const one of parts) {
    const width = (1000 * one.value) / total;
    picture.append(
      shape(
        'rect',
        { x: at, y: 4, width, height: 32, class: `f${one.colour}` },
        Object.assign(shape('title'), { textContent: `${one.name} ${one.text}` }),
      ),
    );
    at += width;
  }
  if (limit)
    picture.append(
      shape('line', {
        class: 'limit',
        x1: (1000 * limit.value) / total,
        y1: 0,
        x2: (1000 * limit.value) / total,
        y2: 40,
      }),
    );
  const legend = element(
    'ul',
    { class: 'legend' },
    ...parts.map(one =>
      element(
        'li',
        {},
        shape(
          'svg',
          { viewBox: '0 0 10 10', 'aria-hidden': 'true' },
          shape('rect', { width: 10, height: 10, class: `f${one.colour}` }),
        ),
        `${one.name} ${one.text}`,
      ),
    ),
  );
  if (limit) legend.append(element('li', {}, `┆ ${limit.name}`));
  return [picture, legend];
}

function partsOf(values, format) {
  return values
    .map(([name, value], colour) => ({ name, value, colour, text: format(value) }))
    .filter(one => one.value > 0);
}

// ---- a prediction ------------------------------------------------------------------------------

export function summary(p) {
  const fit = p.fits ? (p.tight ? 'fits, just' : 'fits') : 'DOES NOT FIT';
  return (
    `${fit}: ${seconds(p.step_time_s)} a step, ${digits(p.tokens_per_s_per_gpu)} tokens/s/GPU, ` +
    `MFU ${digits(p.mfu_percent)} %, bound by ${p.binding_resource}`
  );
}

function headline(p) {
  const short =
    p.hbm.excess_bytes > 0
      ? `lacks ${bytes(p.hbm.excess_bytes)}`
      : p.fits
        ? p.tight
          ? 'fits, just'
          : 'fits'
        : 'does not fit';
  return element(
    'div',
    { class: 'cards' },
    card('Memory', short, p.fits ? (p.tight ? 'warn' : 'good') : 'bad'),
    card('Step', seconds(p.step_time_s)),
    card('Tokens/s/GPU', digits(p.tokens_per_s_per_gpu)),
    card(`Tokens/s, ${p.n_gpus} GPUs`, digits(p.tokens_per_s)),
    card('MFU', `${digits(p.mfu_percent)} %`),
    card('Bound by', p.binding_resource),
  );
}

const CATEGORIES = [
  'parameter',
  'gradient',
  'optimizer',
  'activation',
  'gathered',
  'communication',
  'workspace',
  'cache',
  'runtime',
  'outer',
];

function memory(p) {
  const uses = [
    ['GPU', p.hbm],
    ['node', p.host],
    ['drives', p.nvme],
  ].filter(([, use]) => use.peak_bytes > 0);
  return uses.flatMap(([name, use]) => {
    const named = CATEGORIES.map(one => [one, use.by_category_bytes[one]]);
    const rest = use.peak_bytes - named.reduce((sum, [, value]) => sum + value, 0);
    return [
      title(`Memory of the ${name}: ${bytes(use.peak_bytes)} of ${bytes(use.capacity_bytes)}`),
      ...bar(
        `memory of the ${name}`,
        [
          ...partsOf(named, bytes),
          ...(rest > 0
            ? [{ name: 'cached, in no use', value: rest, colour: 'free', text: bytes(rest) }]
            : []),
        ],
        use.peak_bytes,
        { name: `${bytes(use.capacity_bytes)} there is`, value: use.capacity_bytes },
      ),
    ];
  });
}

// Name, key of a prediction; a colour is a place in it.
export const PARTS = [
  ['model kernels', 'time_compute_s'],
  ['between nodes', 'time_inter_node_s'],
  ['optimizer', 'time_optimizer_s'],
  ['copies on the GPU', 'time_copy_kernels_s'],
  ['inside nodes', 'time_intra_node_s'],
  ['copies to the host', 'time_host_copies_s'],
  ['latency', 'time_latency_s'],
  ['host', 'time_host_s'],
  ['outer step', 'time_outer_s'],
  ['waits for memory', 'time_memory_s'],
  ['slowest GPU', 'time_skew_s'],
];

function time(p) {
  const values = PARTS.map(([name, key]) => [name, p[key] ?? 0]);
  const parts = values
    .map(([name, value], i) => ({
      name,
      value,
      colour: i < 10 ? i : 'free',
      text: percent(value / p.step_time_s),
    }))
    .filter(one => one.value / p.step_time_s >= 0.0005);
  return [
    title('Where the time of a step goes'),
    ...bar(
      'time of a step',
      parts,
      parts.reduce((sum, one) => sum + one.value, 0),
    ),
  ];
}

function confidence(p) {
  const record = p.confidence?.record;
  if (!record) return 'No published run is like this one: take it as an estimate.';
  const [median, most] = [record.median_absolute_error, record.p90_absolute_error].map(percent);
  return (
    `Runs like this one (${record.alike}) are predicted within ${median} (median) and ${most} ` +
    `(nine of ten): ${record.runs} published.`
  );
}

function details(p) {
  return [
    element(
      'details',
      {},
      element('summary', {}, 'What binds it, and what it sends'),
      table(
        ['Resource', 'binds for', 'of the step', 'busiest one in use'],
        p.bindings.map(one => [
          one.resource,
          seconds(one.seconds),
          percent(one.seconds / p.step_time_s),
          percent(one.utilisation),
        ]),
      ),
      table(
        [
          'Group',
          'collective',
          'calls',
          'S in all',
          'between nodes/GPU',
          'inside nodes/GPU',
          'exposed',
        ],
        p.traffic.map(one => [
          one.group,
          one.collective,
          digits(one.calls),
          bytes(one.size_bytes),
          bytes(one.inter_node_bytes_per_gpu),
          bytes(one.intra_node_bytes_per_gpu),
          seconds(one.exposed_s),
        ]),
      ),
      element('p', {}, `Profiles: ${p.profiles}`),
    ),
  ];
}

export function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children);
}

export function showPrediction(p) {
  document.getElementById('summary').textContent = summary(p);
  fill('headline', headline(p), element('p', {}, confidence(p), p.caveats ? ` ${p.caveats}` : ''));
  fill('memory', ...memory(p));
  fill('time', ...time(p));
  fill('details', ...details(p));
}

export function showNothing(text) {
  document.getElementById('summary').textContent = text;
  for (const id of ['headline', 'memory', 'time', 'details', 'remedies']) fill(id);
}

// Changes that can be made with a press: [options, what they bring].
export function showProposals(heading, list, apply) {
  if (heading === '') {
    fill('remedies');
    return;
  }
  fill(
    'remedies',
    title(heading),
    element(
      'ul',
      { class: 'list' },
      ...list.map(([options, text]) =>
        element(
          'li',
          {},
          element(
            'button',
            { type: 'button', onclick: () => apply(options) },
            element('b', {}, text),
            ` ${options}`,
          ),
        ),
      ),
    ),
  );
}

// ---- a curve -----------------------------------------------------------------------------------

// POINTS: [label, prediction or null], in their order.
export function showCurve(key, points) {
  const done = points.filter(([, p]) => p),
    most = Math.max(...done.map(([, p]) => p.tokens_per_s_per_gpu), 1e-9);
  const x = i => 60 + i * (520 / Math.max(points.length - 1, 1)),
    y = p => 200 - (170 * p.tokens_per_s_per_gpu) / most;
  const picture = shape('svg', {
    class: 'plot',
    viewBox: '0 0 620 250',
    role: 'img',
    'aria-label': `tokens/s/GPU over ${key}`,
  });
  picture.append(
    shape('line', { class: 'axis', x1: 50, y1: 200, x2: 600, y2: 200 }),
    shape('line', { class: 'axis', x1: 50, y1: 20, x2: 50, y2: 200 }),
    Object.assign(shape('text', { x: 4, y: 14 }), {
      textContent: `tokens/s/GPU, at most ${digits(most)}`,
    }),
  );
  picture.append(
    shape('polyline', {
      class: 'curve',
      points: points
        .map(([, p], i) => (p && p.fits ? `${x(i)},${y(p)}` : ''))
        .filter(Boolean)
        .join(' '),
    }),
  );
  points.forEach(([label, p], i) => {
    picture.append(
      Object.assign(shape('text', { x: x(i), y: 220, 'text-anchor': 'middle' }), {
        textContent: label,
      }),
    );
    if (p)
      picture.append(
        shape(
          'circle',
          { class: p.fits ? 'point' : 'point unfit', cx: x(i), cy: y(p), r: 5 },
          Object.assign(shape('title'), { textContent: `${label}: ${summary(p)}` }),
        ),
      );
  });
  fill(
    'curve',
    title(`Over ${key}`),
    picture,
    table(
      [key, 'step', 'tokens/s/GPU', 'GPU memory', 'fits'],
      points.map(([label, p]) =>
        p
          ? [
              label,
              seconds(p.step_time_s),
              digits(p.tokens_per_s_per_gpu),
              bytes(p.hbm.peak_bytes),
              p.fits ? 'yes' : 'no',
            ]
          : [label, 'not possible', '', '', ''],
      ),
    ),
  );
}

// ---- the goal ----------------------------------------------------------------------------------

export function goalText(p, tokens, price) {
  if (!(tokens > 0)) return '';
  const time = tokens / p.tokens_per_s;
  const cost =
    price > 0 ? `, at a cost of ${digits(Math.round((time / 3600) * p.n_gpus * price))}` : '';
  return `${seconds(time)} without failures, ${digits((time / 3600) * p.n_gpus)} GPU-hours${cost}`;
}
