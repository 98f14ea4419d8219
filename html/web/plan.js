// Which cluster, and how many nodes of it, train so many tokens in time and within a budget.
import { digits, seconds } from './answer.js';
import { commandForm } from './command-form.js';
import { change, element, parseOptions } from './form.js';
import { button, labelled, marksOld, percent } from './panel.js';

const DAY = 86400;
const FRONT = {
  tokens: 'Tokens to train on',
  days: 'Deadline, days',
  budget: 'Budget',
  price: 'Price of a GPU-hour',
  power: 'Power of a GPU',
  node_counts: 'Numbers of nodes',
};
const EXAMPLES = { budget: '2M', power: '1.3 kW', node_counts: '8..64' };
const START = { tokens: '1T', days: '30', price: '2' };

let page, form, types, result, old;

const days = value => digits(Number((value / DAY).toPrecision(3)));
const amount = value => (value === null ? '' : digits(Math.round(value)));

// ---- the table ---------------------------------------------------------------------------------

// What meets the goal for least, then what misses it by least, then what cannot be.
function order(a, b) {
  const rank = one => (one.meets ? 0 : one.why === null ? 1 : 2),
    cost = one => one.money ?? one.gpu_hours;
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  return a.meets ? cost(a) - cost(b) : a.late_s - b.late_s || a.n_nodes - b.n_nodes;
}

function verdict(one) {
  if (one.why !== null) return one.why;
  const misses = [
    one.late_s > 0 ? `${days(one.late_s)} days late` : '',
    one.over_budget > 0 ? `${amount(one.over_budget)} over budget` : '',
  ].filter(Boolean);
  if (misses.length > 0) return misses.join(', ');
  return one.best ? 'the fewest nodes that meet it' : 'meets it';
}

function take(one) {
  change({
    ...(one.options ? parseOptions(one.options) : {}),
    'cluster.name': `${one.n_nodes} x ${one.cluster}`,
  });
}

function row(one) {
  const cells =
    one.why === null
      ? [
          digits(one.n_gpus),
          seconds(one.step_time_s),
          percent(one.mfu_percent / 100),
          percent(one.goodput),
          days(one.wall_s),
          `${days(one.wall_p10_s)} – ${days(one.wall_p90_s)}`,
          amount(one.gpu_hours),
          amount(one.money),
        ]
      : Array(8).fill('');
  return element(
    'tr',
    { class: one.best ? 'best' : one.meets ? '' : 'misses' },
    element('th', { scope: 'row' }, `${one.n_nodes} x ${one.cluster}`),
    ...cells.map(text => element('td', {}, text)),
    element('td', { class: 'words' }, verdict(one)),
    element(
      'td',
      {},
      ...(one.why === null
        ? [
            button('Take it', () => take(one), {
              'aria-label': `take ${one.n_nodes} x ${one.cluster}`,
            }),
          ]
        : []),
    ),
  );
}

function draw(answer) {
  const all = answer.plans.flatMap(plan => plan.options).sort(order),
    heads = [
      'Cluster',
      'GPUs',
      'step',
      'MFU',
      'goodput',
      'days',
      'p10 – p90',
      'GPU-hours',
      'money',
    ];
  const best = all.find(one => one.meets);
  result.replaceChildren(
    ...(answer.partial
      ? [element('p', { class: 'warn' }, 'Ended early: what was looked at.')]
      : []),
    element(
      'p',
      { class: best ? 'good' : 'bad', role: 'status' },
      best
        ? `${best.n_nodes} x ${best.cluster} meet it: ${days(best.wall_s)} days` +
            (best.money === null ? '' : ` for ${amount(best.money)}`)
        : 'Nothing that was tried meets it.',
    ),
    element(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'plans' },
      element(
        'table',
        { class: 'plan' },
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            ...[...heads, '', ''].map(text => element('th', { scope: 'col' }, text)),
          ),
        ),
        element('tbody', {}, ...all.map(row)),
      ),
    ),
  );
}

// ---- asking ------------------------------------------------------------------------------------

async function ask(press) {
  const nodes = types.value
    .split(',')
    .map(one => one.trim())
    .filter(Boolean);
  const body = {
    ...(await page.request()),
    ...form.values(),
    ...(nodes.length > 0 ? { gpu_nodes: nodes } : {}),
  };
  const answer = await page.long(press, '/api/plan', body);
  if (form.say(answer, body) || !answer.plans) return;
  old.taken();
  draw(answer);
}

function build(box, given) {
  page = given;
  form = commandForm('plan', FRONT, START);
  types = element('input', { type: 'text', placeholder: 'dgx-h100, dgx-a100' });
  result = element('div', {});
  old = marksOld(result);
  const [front, ...rest] = form.boxes;
  for (const [key, text] of Object.entries(EXAMPLES)) form.input(key).placeholder = text;
  front.append(labelled('Types of node to choose from', types));
  box.append(front, ...rest, button('Plan the run', ask), result);
  return () => old.look();
}

export const planPanel = { id: 'plan', title: 'Plan a run', build };
