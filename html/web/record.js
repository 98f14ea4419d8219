// How far predictions of published runs were off: a dot a run, in rows of those that are alike.
import { shape, table } from './answer.js';
import { element } from './form.js';
import { labelled, percent, sayWrong, signed, svgText } from './panel.js';

const GROUPS = {
  strategy: 'strategy',
  generation: 'GPU generation',
  gpu: 'GPU',
  framework: 'framework',
  nodes: 'number of nodes',
  precision: 'precision',
};
const NODES = [
  [1, '1 node'],
  [8, '2 to 8 nodes'],
  [64, '9 to 64 nodes'],
  [Infinity, '65 nodes and more'],
];
const REACH = 0.5; // of the axis; what is further off stands at its end
const WIDE = { width: 760, row: 34, left: 190, right: 20, above: 0 };
const NARROW = { width: 370, row: 46, left: 12, right: 12, above: 16 };

let page, result, by, wrong;
let runs = null; // { generation, ..., error }
let now = null; // the prediction that is shown

// ---- the runs ----------------------------------------------------------------------------------

async function load() {
  const answer = await page.get('/api/validate');
  if (sayWrong(wrong, answer)) return;
  runs = answer.runs.map(run =>
    Object.fromEntries(answer.columns.map((column, i) => [column, run[i]])),
  );
  draw();
}

const classOf = nodes => NODES.find(([most]) => nodes <= most)[1];
const groupOf = (run, key) => (key === 'nodes' ? classOf(run.nodes) : run[key] || 'none');

// [name, runs], the most runs first.
function groups(key) {
  const all = new Map();
  for (const run of runs) all.set(groupOf(run, key), [...(all.get(groupOf(run, key)) ?? []), run]);
  return [...all].sort((a, b) => b[1].length - a[1].length);
}

function quantile(sorted, at) {
  const place = at * (sorted.length - 1),
    low = Math.floor(place);
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

function errorsOf(list) {
  const sorted = list.map(run => Math.abs(run.error)).sort((a, b) => a - b);
  return [quantile(sorted, 0.5), quantile(sorted, 0.9)];
}

// The group that the scenario is of, or null.
function own(key) {
  if (!now) return null;
  const gpu = /gpu (\S+)/.exec(now.profiles)?.[1],
    nodes = Number(/^(\d+) node/.exec(now.cluster)?.[1] ?? 1),
    recipe = now.settings?.training?.fp8_recipe ?? 'none';
  return {
    strategy: now.strategy,
    generation: now.confidence?.record?.alike.split(',')[0],
    gpu,
    framework: now.settings?.training?.framework,
    nodes: classOf(nodes),
    precision: recipe !== 'none' ? 'fp8' : now.precision.startsWith('fp32') ? '32 bits' : '16 bits',
  }[key];
}

// ---- the picture -------------------------------------------------------------------------------

function dots(list, y, x) {
  return list.map((run, i) => {
    const off = Math.abs(run.error) > REACH,
      error = Math.max(-REACH, Math.min(REACH, run.error));
    return shape(
      'circle',
      { class: off ? 'dot off' : 'dot', cx: x(error), cy: y + 4 + ((i * 7) % 11) * 1.4, r: 2.6 },
      Object.assign(shape('title'), {
        textContent: `${run.id}: ${signed(run.error)}`,
      }),
    );
  });
}

function picture(all, mine) {
  const form = result.clientWidth < 560 ? NARROW : WIDE,
    { width, row, left, right, above } = form,
    height = 26 + all.length * row;
  const x = error => left + ((error + REACH) / (2 * REACH)) * (width - left - right);
  const svg = shape('svg', {
    class: 'plot record',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `errors of ${runs.length} predictions by ${GROUPS[by.value]}, as the table says`,
  });
  svg.append(
    shape('rect', {
      class: 'band',
      x: x(-0.1),
      width: x(0.1) - x(-0.1),
      y: 20,
      height: height - 20,
    }),
  );
  for (const at of [-0.5, -0.25, 0, 0.25, 0.5])
    svg.append(
      shape('line', { class: 'axis', x1: x(at), x2: x(at), y1: 18, y2: height }),
      svgText(
        {
          x: x(at),
          y: 12,
          'text-anchor': at === -0.5 && above ? 'start' : at === 0.5 ? 'end' : 'middle',
        },
        at === 0 ? 'as measured' : signed(at),
      ),
    );
  all.forEach(([name, list], i) => {
    const y = 24 + i * row;
    svg.append(
      ...dots(list, y + above, x),
      svgText(
        { class: name === mine ? 'mine' : '', x: 0, y: y + (above ? 12 : 15) },
        `${name}${name === mine ? ' (this one)' : ''}`,
      ),
    );
  });
  return svg;
}

function draw() {
  const all = groups(by.value),
    mine = own(by.value);
  result.replaceChildren(
    element(
      'p',
      { class: 'soft' },
      `${runs.length} published runs that no constant was fitted to; a dot is predicted over ` +
        'measured speed, the band ±10 %. What is further off stands at the end of the axis.',
    ),
    picture(all, mine),
    table(
      [GROUPS[by.value], 'runs', 'median error', 'nine of ten within'],
      [...all, ['all', runs]].map(([name, list]) => [
        name === mine ? element('b', {}, `${name} (this one)`) : name,
        String(list.length),
        ...errorsOf(list).map(percent),
      ]),
    ),
  );
}

// ---- the panel ---------------------------------------------------------------------------------

function build(box, given) {
  page = given;
  by = element(
    'select',
    { onchange: () => runs && draw() },
    ...Object.entries(GROUPS).map(([value, name]) => element('option', { value }, name)),
  );
  wrong = element('p', { class: 'wrong', role: 'alert' });
  result = element('div', {});
  box.append(element('div', { class: 'inline' }, labelled('A row for each', by)), wrong, result);
  return prediction => {
    now = prediction;
    if (runs) draw();
    else load();
  };
}

export const recordPanel = { id: 'record', title: 'How right it has been', build };
