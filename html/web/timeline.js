// What each stream of a rank does in a step: boxes over time, by pointer and by keyboard.
import { PARTS, seconds, shape } from './answer.js';
import { element } from './form.js';
import { button, labelled, shortened, svgText, swatch } from './panel.js';

const ROW = 20; // pixels
const AXIS = 22;
const DETAIL_MS = 200; // after a zoom, before the window is asked for with all of its boxes
const MOST_ZOOM = 1e-7; // of a step: what is shorter holds less than an op

const view = { from: 0, to: 1, chosen: null, data: null, lanes: [], rank: null };
let page, picture, about, ranks, legend, note;
let running = null,
  pixels = 800,
  timer = 0,
  shown = ''; // the address of the scenario that is shown

const boxes = () => view.data.boxes;
const end = box => box[1] + box[2];
const colourOf = part => PARTS.findIndex(([, key]) => key === `time_${part}_s`);

// ---- asking ------------------------------------------------------------------------------------

const wants = rank => (rank === 'all' ? { all_ranks: true } : { rank: Number(rank) });

async function ask(window) {
  running?.abort();
  const own = (running = new AbortController());
  try {
    const answer = await page.post(
      '/api/timeline',
      { ...(await page.request()), ...wants(view.rank), ...window },
      own.signal,
    );
    if (running !== own) return null;
    if (answer.boxes) return answer;
    about.textContent = answer.error ?? answer.diagnostics[0]?.message ?? 'There is no timeline.';
  } catch (error) {
    if (error.name !== 'AbortError') about.textContent = `No timeline: ${error.message}`;
  }
  return null;
}

// The whole step, of the scenario as it is.
async function load() {
  picture.classList.add('busy');
  const answer = await ask({});
  picture.classList.remove('busy');
  if (!answer) return;
  Object.assign(view, {
    data: answer,
    lanes: answer.lanes,
    from: 0,
    to: answer.length_s,
    chosen: null,
  });
  fillRanks();
  fillNote();
  fillLegend();
  draw();
  about.textContent = 'Point at a box, or go through them with the arrow keys.';
}

// What is in view with boxes of its own, where some of it is drawn together.
function askForDetail() {
  clearTimeout(timer);
  const span = view.to - view.from,
    wide = view.data.to_s - view.data.from_s;
  const inside = view.from >= view.data.from_s && view.to <= view.data.to_s;
  if (inside && (span > wide / 2 || !visible().some(box => box[6] > 1))) return;
  timer = setTimeout(async () => {
    const answer = await ask({
      from: `${Math.max(view.from - span / 2, 0)} s`,
      to: `${Math.min(view.to + span / 2, view.data.length_s)} s`,
    });
    if (!answer) return;
    const lanes = answer.lanes.map(rowOf);
    for (const box of answer.boxes) box[0] = lanes[box[0]];
    view.data = answer;
    view.chosen = view.chosen && (boxes().find(box => isPartOf(box, view.chosen)) ?? null);
    draw();
  }, DETAIL_MS);
}

// Rows stay where they are, whatever lies in the window.
function rowOf(lane) {
  const at = view.lanes.findIndex(one => one.rank === lane.rank && one.name === lane.name);
  return at >= 0 ? at : view.lanes.push(lane) - 1;
}

const isPartOf = (box, whole) => box[0] === whole[0] && end(box) > whole[1] && box[1] < end(whole);

// ---- what is drawn -----------------------------------------------------------------------------

const visible = () => boxes().filter(box => end(box) > view.from && box[1] < view.to);
const width = () => pixels; // measured once a drawing: each look at it lays the page out anew
const gutter = () => (width() < 560 ? 84 : 140);
const x = time =>
  gutter() + ((time - view.from) / (view.to - view.from)) * (width() - gutter() - 2);

// "compute"; of several ranks "stage 3", or "rank 8: compute_2".
function laneName(lane) {
  const name = view.data.ranks[lane.rank],
    rank = /stage \d+/.exec(name)?.[0] ?? /rank \d+/.exec(name)[0];
  if (view.rank !== 'all') return lane.name;
  return lane.name === 'compute' ? rank : `${rank}: ${lane.name}`;
}

const isBackward = box => view.data.phases[box[7]] === 'backward';

// Steps of 1, 2 or 5 with at most one mark in 90 pixels.
function marks() {
  const least = ((view.to - view.from) * 90) / (width() - gutter()),
    power = 10 ** Math.floor(Math.log10(least)),
    step = [1, 2, 5, 10].map(one => one * power).find(one => one >= least),
    list = [];
  for (let i = Math.ceil(view.from / step); i * step <= view.to; i++) list.push(i * step);
  return list;
}

function drawAxis(height) {
  const unit = view.to < 1e-3 ? [1e-6, 'us'] : view.to < 1 ? [1e-3, 'ms'] : [1, 's'];
  for (const at of marks())
    picture.append(
      shape('line', { class: 'axis', x1: x(at), x2: x(at), y1: AXIS - 4, y2: height }),
      svgText(
        { x: x(at), y: 12, 'text-anchor': x(at) > width() - 30 ? 'end' : 'middle' },
        `${Number((at / unit[0]).toPrecision(8))}`,
      ),
    );
  picture.append(svgText({ x: 0, y: 12 }, unit[1]));
}

function drawLanes() {
  view.lanes.forEach((lane, i) => {
    const y = AXIS + i * ROW;
    picture.append(
      svgText({ x: 0, y: y + ROW - 6 }, shortened(laneName(lane), gutter() - 8)),
      shape('line', { class: 'axis', x1: gutter(), x2: width(), y1: y + ROW - 1, y2: y + ROW - 1 }),
    );
  });
}

function drawBox(box) {
  const left = Math.max(x(box[1]), gutter()),
    wide = Math.max(Math.min(x(end(box)), width()) - left, 0.6);
  const y = AXIS + box[0] * ROW,
    part = view.data.parts[box[4]],
    back = isBackward(box) ? 'back' : '';
  picture.append(
    shape('rect', {
      class: [`f${colourOf(part)}`, part === 'host' ? 'waits' : '', back].join(' '),
      x: left,
      y: y + 1,
      width: wide,
      height: ROW - 4,
    }),
  );
  const name = part === 'host' ? '' : shortened(labelOf(box), wide - 4);
  if (name && wide > 30)
    picture.append(
      svgText(
        {
          class: `on${colourOf(part)} ${back}`,
          x: left + 3,
          y: y + ROW - 7,
        },
        name,
      ),
    );
}

function drawChosen() {
  const box = view.chosen;
  if (!box || end(box) < view.from || box[1] > view.to) return;
  const left = Math.max(x(box[1]), gutter());
  picture.append(
    shape('rect', {
      class: 'chosen',
      x: left - 1,
      y: AXIS + box[0] * ROW,
      width: Math.max(Math.min(x(end(box)), width()) - left, 1) + 2,
      height: ROW - 2,
    }),
  );
}

function draw() {
  pixels = Math.max(picture.clientWidth, 200);
  const height = AXIS + view.lanes.length * ROW;
  picture.setAttribute('viewBox', `0 0 ${width()} ${height}`);
  picture.setAttribute('height', height);
  picture.replaceChildren();
  drawAxis(height);
  drawLanes();
  visible().forEach(drawBox);
  drawChosen();
}

// ---- what is said ------------------------------------------------------------------------------

const labelOf = box => view.data.labels[box[3]] + (box[6] > 1 ? ` and ${box[6] - 1} more` : '');

function sayBox(box) {
  const lane = view.lanes[box[0]],
    part = PARTS[colourOf(view.data.parts[box[4]])]?.[0] ?? view.data.parts[box[4]],
    phase = box[7] >= 0 ? `, ${view.data.phases[box[7]]}` : '';
  const binds = box[5] >= 0 ? `, bound by ${view.data.bindings[box[5]]}` : '';
  about.textContent =
    `${labelOf(box)}: ${seconds(box[2])} from ${seconds(box[1]) || '0 s'} on ` +
    `(${part}${phase}${binds}; ${view.data.ranks[lane.rank]}, ${lane.name})`;
}

function choose(box) {
  view.chosen = box;
  if (end(box) < view.from || box[1] > view.to) {
    const span = view.to - view.from;
    show(box[1] + box[2] / 2 - span / 2, span);
  } else draw();
  sayBox(box);
}

function fillRanks() {
  const all = view.data.ranks.length > 1 ? [['all', 'all ranks, compute only']] : [];
  const list = [...all, ...view.data.ranks.map((name, i) => [String(i), name])];
  ranks.replaceChildren(...list.map(([value, name]) => element('option', { value }, name)));
  ranks.value = view.rank;
}

function fillNote() {
  const { period_s, length_s, n_steps, n_left_out } = view.data;
  note.textContent = [
    n_steps > 1 ? `${n_steps} steps, ${seconds(period_s)}.` : `A step of ${seconds(period_s)}.`,
    length_s < period_s ? `Shown up to ${seconds(length_s)}: the rest is too much.` : '',
    n_left_out > 0 ? `${n_left_out} more ranks were simulated.` : '',
  ].join(' ');
}

function fillLegend() {
  const of = part => [`f${colourOf(part)}`, PARTS[colourOf(part)]?.[0] ?? part];
  const back = boxes().some(box => isBackward(box) && view.data.parts[box[4]] === 'compute');
  legend.replaceChildren(
    ...view.data.parts.flatMap(part =>
      part === 'compute' && back
        ? [swatch(...of(part)), swatch('f0 back', 'model kernels, backward')]
        : [swatch(...of(part))],
    ),
  );
}

// ---- moving ------------------------------------------------------------------------------------

// SPAN seconds from FROM on, as far as there are.
function show(from, span) {
  const whole = view.data.length_s;
  span = Math.min(Math.max(span, whole * MOST_ZOOM), whole);
  view.from = Math.min(Math.max(from, 0), whole - span);
  view.to = view.from + span;
  draw();
  askForDetail();
}

// The time at AT stays where it is.
function zoom(factor, at = middle()) {
  const span = view.to - view.from;
  show(at - ((at - view.from) / span) * span * factor, span * factor);
}

function middle() {
  const box = view.chosen;
  return box && box[1] >= view.from && end(box) <= view.to
    ? box[1] + box[2] / 2
    : (view.from + view.to) / 2;
}

const pan = part => show(view.from + part * (view.to - view.from), view.to - view.from);

function step(by) {
  const lane = view.chosen?.[0] ?? 0,
    own = boxes().filter(box => box[0] === lane);
  const at = view.chosen
    ? own.indexOf(view.chosen) + by
    : own.findIndex(box => end(box) > view.from);
  if (own[at]) choose(own[at]);
}

// The nearest box of the lane above or below.
function changeLane(by) {
  const lane = (view.chosen?.[0] ?? -1) + by,
    at = view.chosen?.[1] ?? view.from;
  const own = boxes().filter(box => box[0] === lane);
  if (own.length > 0)
    choose(own.reduce((a, b) => (Math.abs(b[1] - at) < Math.abs(a[1] - at) ? b : a)));
}

function zoomToChosen() {
  if (view.chosen) show(view.chosen[1] - view.chosen[2], 3 * view.chosen[2]);
}

const KEYS = {
  '+': () => zoom(0.5),
  '=': () => zoom(0.5),
  '-': () => zoom(2),
  0: () => show(0, view.data.length_s),
  Home: () => show(0, view.data.length_s),
  ArrowLeft: event => (event.shiftKey ? pan(-0.25) : step(-1)),
  ArrowRight: event => (event.shiftKey ? pan(0.25) : step(1)),
  ArrowUp: () => changeLane(-1),
  ArrowDown: () => changeLane(1),
  Enter: zoomToChosen,
};

function onKey(event) {
  if (!view.data || !KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  KEYS[event.key](event);
}

// ---- the pointer -------------------------------------------------------------------------------

function timeAt(event) {
  const left = event.clientX - picture.getBoundingClientRect().left;
  return view.from + ((left - gutter()) / (width() - gutter() - 2)) * (view.to - view.from);
}

// The box under the pointer, or next to it by at most 3 pixels.
function boxAt(event) {
  const row = Math.floor((event.clientY - picture.getBoundingClientRect().top - AXIS) / ROW);
  const time = timeAt(event),
    near = (3 * (view.to - view.from)) / width();
  return visible().find(box => box[0] === row && box[1] - near <= time && end(box) + near >= time);
}

let drag = null;

function onMove(event) {
  if (!view.data) return;
  if (drag) {
    const moved = (drag.x - event.clientX) / (width() - gutter());
    if (Math.abs(drag.x - event.clientX) > 3) drag.moved = true;
    if (drag.moved) show(drag.from + moved * (view.to - view.from), view.to - view.from);
    return;
  }
  const box = boxAt(event);
  if (box) sayBox(box);
}

function onDown(event) {
  if (!view.data || event.button !== 0) return;
  drag = { x: event.clientX, from: view.from, moved: false };
  picture.setPointerCapture(event.pointerId);
}

function onUp(event) {
  const box = drag && !drag.moved ? boxAt(event) : null;
  drag = null;
  if (box) choose(box);
}

function onWheel(event) {
  if (!view.data || !event.ctrlKey) return; // else the page scrolls
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
}

// ---- the panel ---------------------------------------------------------------------------------

function buttons() {
  const press = (name, act) => button(name, () => view.data && act());
  return [
    press('Zoom in', () => zoom(0.5)),
    press('Zoom out', () => zoom(2)),
    press('Earlier', () => pan(-0.5)),
    press('Later', () => pan(0.5)),
    press('Whole step', () => show(0, view.data.length_s)),
  ];
}

function build(box, given) {
  page = given;
  picture = shape('svg', {
    class: 'timeline',
    tabindex: 0,
    role: 'group',
    'aria-label':
      'timeline of a step: left and right go through the boxes of a stream, up and down change ' +
      'the stream, plus and minus zoom, shift with an arrow moves, home shows all',
  });
  about = element('p', { class: 'about', role: 'status', 'aria-live': 'polite' });
  note = element('p', { class: 'soft' });
  legend = element('ul', { class: 'legend' });
  ranks = element('select', {
    onchange: () => {
      view.rank = ranks.value;
      load();
    },
  });
  box.append(
    element('div', { class: 'inline' }, labelled('Streams of', ranks), ...buttons()),
    note,
    picture,
    about,
    legend,
  );
  picture.addEventListener('keydown', onKey);
  picture.addEventListener('pointermove', onMove);
  picture.addEventListener('pointerdown', onDown);
  picture.addEventListener('pointerup', onUp);
  picture.addEventListener('pointercancel', () => (drag = null));
  picture.addEventListener('wheel', onWheel, { passive: false });
  new ResizeObserver(() => view.data && draw()).observe(box);
  return update;
}

function update(prediction) {
  if (shown === location.hash) return;
  shown = location.hash;
  view.rank = Number(prediction.settings?.mesh?.pp) > 1 ? 'all' : '0';
  load();
}

export const timelinePanel = { id: 'timeline', title: 'Timeline of a step', build };
