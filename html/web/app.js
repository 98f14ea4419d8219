// The page: what is asked, when, and where the scenario is kept (in the address).
import {
  buildForm,
  change,
  element,
  fullKey,
  parseOptions,
  say,
  sayNothing,
  show,
  state,
} from './form.js';
import {
  goalText,
  showCurve,
  showNothing,
  showPrediction,
  showProposals,
  table,
} from './answer.js';
import { grid, valuesOf } from './grid.js';
import { foundTable, progressBox, watch } from './progress.js';
import { showPinned } from './compare.js';
import { buildPanels, updatePanels } from './panel.js';
import { heatPanel } from './heat.js';
import { machinePanel } from './machine.js';
import { planPanel } from './plan.js';
import { recordPanel } from './record.js';
import { sensitivityPanel } from './sensitivity.js';
import { timelinePanel } from './timeline.js';

const PANELS = [timelinePanel, heatPanel, sensitivityPanel, planPanel, recordPanel, machinePanel];
const START = {
  'cluster.name': '8 x dgx-h100',
  'model.config': 'llama-3.1-8b',
  'strategy.name': 'fsdp2',
  'training.seq_len': '8192',
};
const PAUSE_MS = 60; // after a change: who drags a slider makes many
const pinned = [];
let now = null; // the prediction that is shown
let running = null; // the AbortController of the last question

const byId = id => document.getElementById(id);

// ---- asking ------------------------------------------------------------------------------------

async function get(path) {
  const answer = await fetch(path);
  const text = await answer.json();
  if (!answer.ok) throw new Error(text.diagnostics[0].message);
  return text;
}

async function post(path, body, signal) {
  const answer = await fetch(path, {
    method: 'POST',
    signal,
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return answer.json();
}

async function upload(file) {
  const answer = await post(`/api/files?name=${encodeURIComponent(file.name)}`, file.text);
  if (!answer.file) throw new Error(answer.diagnostics[0].message);
  return answer.file;
}

// The request of the scenario.
async function request() {
  const set = { ...state.set };
  if (state.model && set['model.config'] === state.model.name)
    set['model.config'] = await upload(state.model);
  return state.given
    ? { set, text: state.given.text, name: state.given.name, lenient: true }
    : { set };
}

// ---- what is said ------------------------------------------------------------------------------

function problems(answer) {
  sayNothing();
  const rest = [];
  for (const one of answer.diagnostics) {
    const text = one.hint ? `${one.message}: ${one.hint}` : one.message;
    const key = one.file?.split(' ')[0];
    if (!(one.severity === 'error' && key && say(key, text))) rest.push([one.severity, text]);
  }
  if (answer.error) rest.push(['error', answer.error]);
  byId('problems').replaceChildren(
    ...rest.map(([severity, text]) =>
      element('p', { class: `problem ${severity === 'error' ? '' : 'note'}` }, text),
    ),
  );
  return answer.error !== null || answer.diagnostics.some(one => one.severity === 'error');
}

function proposals(p) {
  const list = p.remedies ?? [];
  const tokens = one => `${Math.round(one.tokens_per_s_per_gpu)} tokens/s/GPU`;
  if (list.length > 0)
    showProposals(
      'What makes it fit, with the same global batch',
      list.map(one => [one.options, tokens(one)]),
      apply,
    );
  else if (!p.fits && p.remedy_search)
    showProposals(
      'Nothing that was tried makes it fit',
      p.remedy_search.nearest ? [[p.remedy_search.nearest, 'nearest']] : [],
      apply,
    );
  else showProposals('', []);
}

function apply(options) {
  change(parseOptions(options));
}

// ---- a prediction ------------------------------------------------------------------------------

async function predict() {
  running?.abort();
  const own = (running = new AbortController());
  byId('answer').classList.add('busy');
  try {
    const body = await request();
    const answer = await post('/api/predict', body, own.signal);
    const bad = problems(answer);
    now = answer.results?.[0] ?? null;
    if (!now) {
      showNothing(bad ? 'This cannot be: see what is marked.' : 'There is no prediction.');
      return;
    }
    showPrediction(now);
    proposals(now);
    showGoal();
    pins();
    updatePanels(now);
    if (!now.fits) await findRemedies(body, own);
  } catch (error) {
    if (error.name !== 'AbortError') showNothing(`The server does not answer: ${error.message}`);
  } finally {
    if (running === own) byId('answer').classList.remove('busy');
  }
}

// The prediction is there; what would fit takes longer.
async function findRemedies(body, own) {
  showProposals('Looking for what makes it fit ...', [], apply);
  const answer = await post('/api/propose', { ...body, remedies: true }, own.signal);
  proposals(answer.results?.[0] ?? now);
}

// ---- the address -------------------------------------------------------------------------------

function address() {
  const words = new URLSearchParams(Object.entries(state.set).sort(([a], [b]) => (a < b ? -1 : 1)));
  for (const [key, file] of [
    ['~model', state.model],
    ['~job', state.given],
  ])
    if (file) words.set(key, `${file.name}\n${file.text}`);
  return `#${words}`;
}

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1)),
    file = key => {
      const [name, ...lines] = words.get(key)?.split('\n') ?? [];
      words.delete(key);
      return name ? { name, text: lines.join('\n') } : null;
    };
  state.model = file('~model');
  state.given = file('~job');
  state.set = Object.fromEntries(words);
  if (words.size === 0 && !state.given) state.set = { ...(grid?.start ?? START) };
}

let timer = 0;

function changed() {
  if (address() !== location.hash) history.pushState(null, '', address());
  clearTimeout(timer);
  timer = setTimeout(predict, PAUSE_MS);
}

function back() {
  readAddress();
  show();
  predict();
}

// ---- files -------------------------------------------------------------------------------------

// What TEXT is as JSON, or null.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// What is no JSON, though its name says so, goes as it is: the answer says where it breaks.
function take(name, text) {
  const json = name.endsWith('.json') ? parsed(text) : null;
  if (name === 'config.json' || (json !== null && 'architectures' in Object(json))) {
    state.model = { name, text: json !== null ? JSON.stringify(json) : text };
    change({ 'model.config': name });
    return;
  }
  state.given = { name, text };
  state.set = {};
  show();
  changed();
}

async function takeFile(file) {
  if (file) take(file.name, await file.text());
}

// A config.json that is pasted outside of a field.
function takePasted(event) {
  const text = event.clipboardData.getData('text').trim();
  if (event.target.closest?.('input, textarea, select') || !text.startsWith('{')) return;
  event.preventDefault();
  take('config.json', text);
}

function takeFiles() {
  byId('file').addEventListener('change', event => takeFile(event.target.files[0]));
  document.addEventListener('dragover', event => event.preventDefault());
  document.addEventListener('drop', event => {
    event.preventDefault();
    takeFile(event.dataTransfer.files[0]);
  });
  document.addEventListener('paste', takePasted);
}

// ---- tools: maximum, curve, search -------------------------------------------------------------

// Nobody else can name it, and so stop it.
function ownId() {
  return [...crypto.getRandomValues(new Uint32Array(4))].map(one => one.toString(36)).join('-');
}

// A long question with its progress, and a button that ends it early: what is there by then is
// answered.
async function long(button, path, body) {
  const id = ownId(),
    { box, show } = progressBox(adopt),
    stop = element(
      'button',
      { type: 'button', onclick: () => post(`/api/stop?id=${id}`, {}) },
      'Stop with what there is',
    );
  const end = watch(() => get(`/api/progress?id=${id}`), show);
  button.disabled = true;
  button.after(stop);
  button.parentElement.after(box);
  try {
    return await post(`${path}?id=${id}`, body);
  } finally {
    end();
    box.remove();
    stop.remove();
    button.disabled = false;
  }
}

async function findMaximum(button, key) {
  const answer = await long(button, '/api/maximum', { ...(await request()), max: key });
  if (!problems(answer) && answer.maximum?.value > 0)
    change({ [fullKey(key)]: String(answer.maximum.value) });
}

const gain = one => `${(100 * one.throughput_gain).toFixed(1)} % more`;
const batch = one =>
  one.global_batch_ratio === 1 ? '' : `, with ${one.global_batch_ratio} times the global batch`;

// Options with a press each, and figures of the hardware, which nobody can press.
async function advise(button) {
  const answer = await long(button, '/api/propose', { ...(await request()), advise: true });
  if (problems(answer)) return;
  const { options, figures } = answer.results[0].advice ?? { options: [], figures: [] };
  showProposals(
    options.length > 0 ? 'What would be faster' : 'No option that was tried would be faster',
    options.map(one => [one.options, gain(one) + batch(one)]),
    apply,
  );
  byId('found').replaceChildren(
    element('h2', {}, 'Hardware, a quarter better'),
    table(
      ['Figure', 'tokens/s'],
      figures.map(one => [one.figure, gain(one)]),
    ),
  );
}

// OPTIONS of what a search found, in the place of all that was open to it.
function adopt(options) {
  const fixed = openAxes();
  const open = Object.keys(state.set).filter(key => !(key in fixed));
  change({ ...Object.fromEntries(open.map(key => [key, null])), ...parseOptions(options) });
}

function openAxes() {
  const fixed = [
    'cluster.name',
    'model.config',
    'training.seq_len',
    'training.global_batch',
    'training.precision',
  ];
  return Object.fromEntries(
    Object.entries(state.set).filter(
      ([key]) => fixed.includes(key) || key.startsWith('cluster.') || key.startsWith('model.'),
    ),
  );
}

async function search(button) {
  const body = await request();
  const answer = await long(button, '/api/search', {
    ...body,
    set: {
      ...openAxes(),
      ...(body.set['model.config'] ? { 'model.config': body.set['model.config'] } : {}),
    },
  });
  if (problems(answer)) return;
  const partial = answer.partial
    ? [element('p', { class: 'warn' }, 'Ended early: the best so far.')]
    : [];
  if (answer.results.length === 0) {
    byId('found').replaceChildren(
      element(
        'p',
        { class: 'warn' },
        answer.partial ? 'Nothing was found in so short a time.' : 'Nothing fits.',
      ),
    );
    return;
  }
  byId('found').replaceChildren(
    element('h2', {}, 'The best that were found'),
    ...partial,
    foundTable('Configuration', answer.results, adopt),
  );
}

let drawing = null; // the AbortController of the last curve

// All points are of the scenario as it is now, whatever it becomes meanwhile.
async function curve(key, values) {
  drawing?.abort();
  const own = (drawing = new AbortController());
  const base = await request();
  const points = [];
  for (const value of values) {
    const body = { ...base, set: { ...base.set, [fullKey(key)]: value } };
    const answer = await post('/api/predict', body, own.signal).catch(() => null);
    if (own.signal.aborted) return;
    points.push([value, answer?.results?.[0] ?? null]);
    showCurve(key, points);
  }
}

function tools() {
  const key = element('input', { type: 'text', value: 'micro_batch' });
  const values = element('input', {
    type: 'text',
    value: (valuesOf('training.micro_batch') ?? [1, 2, 4, 8]).join(', '),
  });
  const draw = () =>
    curve(
      key.value.trim(),
      values.value
        .split(',')
        .map(one => one.trim())
        .filter(Boolean),
    );
  const press = (text, act) =>
    element(
      'button',
      { type: 'button', disabled: grid && act !== draw, onclick: event => act(event.target) },
      text,
    );
  byId('tools').replaceChildren(
    element('h2', {}, 'Look further'),
    element(
      'div',
      { class: 'inline' },
      press('Find the best configuration', search),
      press('What would be faster', advise),
      press('Largest micro-batch', button => findMaximum(button, 'micro_batch')),
      press('Longest sequence', button => findMaximum(button, 'seq_len')),
    ),
    element(
      'div',
      { class: 'inline' },
      element('label', { class: 'field' }, element('span', { class: 'name' }, 'Draw over'), key),
      element(
        'label',
        { class: 'field' },
        element('span', { class: 'name' }, 'these values'),
        values,
      ),
      press('Draw', draw),
    ),
  );
}

// ---- the goal ----------------------------------------------------------------------------------

function showGoal() {
  byId('goal-text').textContent = now
    ? goalText(now, Number(byId('tokens').value) * 1e12, Number(byId('price').value))
    : '';
}

function goal() {
  const input = (id, text, value) =>
    element(
      'label',
      { class: 'field' },
      element('span', { class: 'name' }, text),
      element('input', { id, type: 'number', min: 0, step: 'any', value, oninput: showGoal }),
    );
  byId('goal').replaceChildren(
    element('h2', {}, 'Days and money'),
    element(
      'div',
      { class: 'inline' },
      input('tokens', 'Tokens to train on, in trillions', 1),
      input('price', 'Price of a GPU-hour', 2),
    ),
    element('p', { id: 'goal-text', role: 'status' }),
  );
}

// ---- pinned, texts -----------------------------------------------------------------------------

function pins() {
  showPinned(
    pinned,
    now,
    one => {
      Object.assign(state, structuredClone(one.state));
      show();
      changed();
    },
    one => {
      pinned.splice(pinned.indexOf(one), 1);
      pins();
    },
  );
}

function pin() {
  if (!now) return;
  pinned.push({
    name: `${pinned.length + 1}: ${now.model}, ${now.strategy}, ${now.n_gpus} GPUs`,
    prediction: now,
    state: structuredClone(state),
  });
  pins();
}

async function showTexts() {
  const answer = await post('/api/scenario', await request());
  if (problems(answer)) return;
  byId('command').textContent = `shardsim simulate ${answer.options}`;
  byId('yaml').textContent = answer.scenarios[0].yaml;
  byId('texts').showModal();
}

function copy(text, button) {
  const said = button.textContent;
  navigator.clipboard
    .writeText(text)
    .then(
      () => {
        button.textContent = 'Copied';
      },
      () => {
        button.textContent = 'Select it and copy';
      },
    )
    .finally(() =>
      setTimeout(() => {
        button.textContent = said;
      }, 1500),
    );
}

// ---- begin -------------------------------------------------------------------------------------

async function begin() {
  const [options, models, node] = await Promise.all([
    get('/api/options'),
    get('/api/list/models'),
    get('/api/list/node'),
  ]);
  buildForm(options, { models: models.items, node: node.items }, changed);
  byId('pin').addEventListener('click', pin);
  byId('copy-link').addEventListener('click', event => copy(location.href, event.target));
  byId('show-text').addEventListener('click', showTexts);
  for (const button of document.querySelectorAll('[data-copy]'))
    button.addEventListener('click', () => copy(byId(button.dataset.copy).textContent, button));
  window.addEventListener('popstate', back);
  takeFiles();
  goal();
  tools();
  buildPanels(grid ? [] : PANELS, { now: () => now, get, post, request, long, problems, apply });
  readAddress();
  if (address() !== location.hash) history.replaceState(null, '', address());
  show();
  predict();
}

begin().catch(error => showNothing(error.message));
