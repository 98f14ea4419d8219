// Two options at a time: every combination, as colours and as buttons that apply themselves.
import { bytes, digits, seconds } from './answer.js';
import { change, element, findOption, fullKey, state } from './form.js';
import { button, labelled, marksOld, sayWrong } from './panel.js';
import { figures, suggestedValues } from './values.js';

const STEPS = 10; // colours of the scale: .h0 to .h9
const METRICS = {
  'tokens/s/GPU': [cell => cell.tokens_per_s_per_gpu, digits],
  'step time': [cell => cell.step_time_s, seconds],
  'GPU memory': [cell => cell.peak_bytes, bytes],
};

let page, inputs, result, wrong, old;
let map = null; // the answer

// ---- the cells ---------------------------------------------------------------------------------

const column = (cells, key) => [...new Set(cells.map(one => one[key]))];

// 0 to STEPS - 1 from the least to the most; what is alike has one colour.
function colour(value, [least, most]) {
  return most > least
    ? Math.min(STEPS - 1, Math.floor((STEPS * (value - least)) / (most - least)))
    : STEPS - 1;
}

function isNow(cell) {
  const now = key => state.set[fullKey(key)] ?? findOption(fullKey(key))?.default;
  return now(cell.x) === cell.x_text && now(cell.y) === cell.y_text;
}

// Adds to SET what sets NAME to TEXT: an option, or one of the figures of the cluster.
function add(set, name, text) {
  if (findOption(fullKey(name))) return { ...set, [fullKey(name)]: text };
  const others = (set['cluster.figure'] ?? state.set['cluster.figure'] ?? '')
    .split(',')
    .map(one => one.trim())
    .filter(one => one && one.split('=')[0] !== name);
  return { ...set, 'cluster.figure': [...others, `${name}=${text}`].join(', ') };
}

function apply(cell) {
  change(add(add({}, cell.x, cell.x_text), cell.y, cell.y_text));
}

function said(cell, text) {
  const place = `${cell.x} ${cell.x_text}, ${cell.y} ${cell.y_text}`;
  if (!cell.possible) return `${place}: cannot be`;
  const fits = cell.fits ? 'fits' : 'does not fit';
  return `${place}: ${text}, ${fits}, bound by ${cell.binding_resource}`;
}

function cellOf(cell, metric, range) {
  const [value, show] = METRICS[metric],
    text = cell.possible ? show(value(cell)) : '–';
  return button(text, () => apply(cell), {
    class: [
      'cell',
      cell.possible ? `h${colour(value(cell), range)}` : 'none',
      cell.possible && !cell.fits ? 'unfit' : '',
    ].join(' '),
    disabled: !cell.possible,
    tabindex: -1,
    'aria-label': said(cell, `${metric} ${text}`),
    'aria-current': isNow(cell) ? 'true' : null,
  });
}

// ---- keys: one cell takes part in tabbing, arrows go on from there -----------------------------

function move(event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] },
    step = steps[event.key],
    rows = [...result.querySelectorAll('.heat tbody tr')].map(row => [
      ...row.querySelectorAll('button'),
    ]);
  const y = rows.findIndex(row => row.includes(event.target));
  if (!step || y < 0) return;
  event.preventDefault();
  let x = rows[y].indexOf(event.target) + step[0],
    at = y + step[1];
  while (rows[at]?.[x]?.disabled) [x, at] = [x + step[0], at + step[1]];
  const next = rows[at]?.[x];
  if (!next) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// ---- the map -----------------------------------------------------------------------------------

function legend(metric, range) {
  const [, show] = METRICS[metric];
  return element(
    'p',
    { class: 'heat-legend' },
    element('span', {}, show(range[0])),
    element(
      'span',
      { class: 'scale', 'aria-hidden': 'true' },
      ...Array.from({ length: STEPS }, (_, i) => element('span', { class: `h${i}` })),
    ),
    element('span', {}, `${show(range[1])} (${metric})`),
    element('span', { class: 'unfit sample', 'aria-hidden': 'true' }),
    element('span', {}, 'does not fit'),
    element('span', {}, '– cannot be'),
  );
}

function draw() {
  const cells = map.cells,
    metric = inputs.metric.value,
    [value] = METRICS[metric],
    values = cells.filter(one => one.possible).map(value);
  const range = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [0, 0];
  const [x, y] = [column(cells, 'x_text'), column(cells, 'y_text')];
  const heading = `${metric}: ${cells[0].x} to the right, ${cells[0].y} down`;
  const table = element(
    'table',
    { class: 'heat', onkeydown: move, 'aria-label': heading },
    element(
      'thead',
      {},
      element('tr', {}, element('td', {}), ...x.map(text => element('th', { scope: 'col' }, text))),
    ),
    element(
      'tbody',
      {},
      ...y.map(text =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, text),
          ...cells
            .filter(one => one.y_text === text)
            .map(one => element('td', {}, cellOf(one, metric, range))),
        ),
      ),
    ),
  );
  result.replaceChildren(
    element('p', { class: 'soft' }, heading),
    element('div', { class: 'scroll' }, table),
    legend(metric, range),
  );
  const first =
    result.querySelector('[aria-current="true"]') ?? result.querySelector('.cell:enabled');
  if (first) first.tabIndex = 0;
}

// ---- asking ------------------------------------------------------------------------------------

const axis = name => `${fullKey(inputs[name].value.trim())}=${inputs[`${name}Values`].value}`;

async function ask(press) {
  wrong.textContent = '';
  const answer = await page.long(press, '/api/sensitivity', {
    ...(await page.request()),
    map: [axis('x'), axis('y')],
  });
  if (sayWrong(wrong, answer) || !answer.heat_map) return;
  map = answer.heat_map;
  old.taken();
  draw();
}

function axisInputs(name, text, key) {
  const values = element('input', { type: 'text', value: '' }),
    input = element('input', {
      type: 'text',
      value: key,
      list: 'axes',
      onchange: () => {
        values.value = suggestedValues(input.value.trim());
      },
    });
  Object.assign(inputs, { [name]: input, [`${name}Values`]: values });
  return [labelled(text, input), labelled('its values', values)];
}

function axesList() {
  const keys = [...document.querySelectorAll('#form [data-key]')].map(one => one.dataset.key);
  return element(
    'datalist',
    { id: 'axes' },
    ...[...new Set([...keys, ...figures])].map(value => element('option', { value })),
  );
}

function build(box, given) {
  page = given;
  inputs = {
    metric: element(
      'select',
      { onchange: () => map && draw() },
      ...Object.keys(METRICS).map(name => element('option', { value: name }, name)),
    ),
  };
  wrong = element('p', { class: 'wrong', role: 'alert' });
  result = element('div', {});
  old = marksOld(result);
  box.append(
    axesList(),
    element('div', { class: 'inline' }, ...axisInputs('x', 'To the right', 'training.micro_batch')),
    element('div', { class: 'inline' }, ...axisInputs('y', 'Down', 'mesh.tp')),
    element(
      'div',
      { class: 'inline' },
      labelled('Colours', inputs.metric),
      button('Draw the map', ask),
    ),
    wrong,
    result,
  );
  return update;
}

function update() {
  for (const name of ['x', 'y'])
    if (inputs[`${name}Values`].value === '')
      inputs[`${name}Values`].value = suggestedValues(inputs[name].value);
  old.look();
  if (map && !result.matches('.old')) draw();
}

export const heatPanel = { id: 'heat', title: 'Heat map over two options', build };
