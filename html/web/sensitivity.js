// Which figure of the hardware matters: how much longer a step is with less of it, and shorter
// with more.
import { seconds, shape, table } from './answer.js';
import { commandForm } from './command-form.js';
import { element } from './form.js';
import { button, marksOld, signed, svgText, swatch } from './panel.js';

const MOST = 14; // bars
const LEAST = 5e-4; // of a step: less is no bar
// Where there is room names stand left of their bars, else above them.
const WIDE = { width: 760, row: 26, middle: 505, longest: 190, above: 0 };
const NARROW = { width: 370, row: 42, middle: 185, longest: 125, above: 15 };

let page, form, result, old;

const changeOf = (time, base) => (time === null ? 0 : time / base - 1);

// [figure, change with less, change with more], the largest first.
function effects(figures, base) {
  return figures
    .map(one => [one, changeOf(one.less_step_time_s, base), changeOf(one.more_step_time_s, base)])
    .filter(([, less, more]) => Math.max(Math.abs(less), Math.abs(more)) >= LEAST)
    .sort((a, b) => Math.max(...b.slice(1).map(Math.abs)) - Math.max(...a.slice(1).map(Math.abs)));
}

function bar(value, kind, top, { middle, longest }, most) {
  if (Math.abs(value) < LEAST) return [];
  const width = Math.max((longest * Math.abs(value)) / most, 1),
    left = value < 0 ? middle - width : middle,
    side = value < 0 ? [left - 4, 'end'] : [left + width + 4, 'start'];
  return [
    shape('rect', { class: kind, x: left, y: top, width, height: 9 }),
    svgText({ class: 'value', x: side[0], y: top + 9, 'text-anchor': side[1] }, signed(value)),
  ];
}

// Bars from the middle: to the left shorter, to the right longer.
function bars(list, factor) {
  const form = result.clientWidth < 560 ? NARROW : WIDE,
    { width, row, middle, above } = form,
    height = 24 + list.length * row;
  const most = Math.max(...list.flatMap(([, less, more]) => [Math.abs(less), Math.abs(more)]));
  const picture = shape('svg', {
    class: 'plot bars',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `change of the step time with each figure divided and multiplied by ${factor}`,
  });
  picture.append(
    svgText({ x: middle - 6, y: 14, 'text-anchor': 'end' }, '← shorter step'),
    svgText({ x: middle + 6, y: 14 }, 'longer step →'),
    shape('line', { class: 'axis', x1: middle, x2: middle, y1: 20, y2: height }),
  );
  list.forEach(([figure, less, more], i) => {
    const y = 24 + i * row;
    picture.append(
      svgText({ x: 0, y: y + (above || 15) - 2 }, figure.figure),
      ...bar(less, 'f7', y + above + 2, form, most),
      ...bar(more, 'f0', y + above + 12, form, most),
    );
  });
  return picture;
}

function legend(factor) {
  return element(
    'ul',
    { class: 'legend' },
    swatch('f7', `the figure divided by ${factor}`),
    swatch('f0', `multiplied by ${factor}`),
  );
}

function rows(list) {
  return table(
    ['Figure', 'value', 'less', 'more', 'enough', 'no limit'],
    list.map(([one, less, more]) => [
      one.figure,
      one.value_text,
      one.less_step_time_s === null ? '–' : signed(less),
      one.more_step_time_s === null ? '–' : signed(more),
      one.enough_text ?? '',
      seconds(one.unlimited_step_time_s),
    ]),
  );
}

function draw(answer) {
  const { figures, factor } = answer.sensitivity,
    base = answer.results[0].step_time_s,
    list = effects(figures, base);
  result.replaceChildren(
    ...(answer.partial
      ? [element('p', { class: 'warn' }, 'Ended early: what was looked at.')]
      : []),
    element(
      'p',
      { class: 'soft' },
      `A step of ${seconds(base)}. ${figures.length - list.length} more figures do not matter.`,
    ),
    ...(list.length > 0 ? [bars(list.slice(0, MOST), factor), legend(factor), rows(list)] : []),
    element(
      'p',
      { class: 'soft' },
      'Above “enough” all that could be added shortens the step by less than 1 %.',
    ),
  );
}

async function ask(press) {
  const body = { ...(await page.request()), ...form.values() },
    answer = await page.long(press, '/api/sensitivity', body);
  if (form.say(answer, body) || !answer.sensitivity) return;
  old.taken();
  draw(answer);
}

function build(box, given) {
  page = given;
  form = commandForm('sensitivity', { factor: 'Divided and multiplied by' }, { only: 'figures' });
  result = element('div', {});
  old = marksOld(result);
  const [front, ...rest] = form.boxes;
  box.append(
    element('div', { class: 'inline' }, front, button('Which hardware matters', ask)),
    ...rest,
    result,
  );
  return () => old.look();
}

export const sensitivityPanel = { id: 'sensitivity', title: 'What the hardware is worth', build };
