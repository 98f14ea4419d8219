// The form: what the option tables say, a few of it in front, and the state that it edits.

import { grid, gridText, valuesOf } from './grid.js';

export const state = {
  set: {}, // full key -> text, as --set takes it
  given: null, // an uploaded job file: { name, text }
  model: null, // an uploaded model: { name, text }
};

const ESSENTIALS = [
  ['training.seq_len', 'Sequence length, tokens'],
  ['training.micro_batch', 'Micro-batch, sequences'],
  ['training.grad_accum', 'Micro-steps of a step (gradient accumulation)'],
  ['mesh.tp', 'Tensor-parallel ranks'],
  ['mesh.pp', 'Pipeline stages'],
  ['mesh.cp', 'Context-parallel ranks'],
  ['mesh.ep', 'Expert-parallel ranks'],
  ['training.activation_checkpointing', 'Recomputed in the backward pass'],
  ['training.precision', 'Precision'],
];
// Powers of two up to these; what lies between is typed.
const SLIDERS = {
  'training.seq_len': [512, 1048576],
  'training.micro_batch': [1, 256],
  'training.grad_accum': [1, 1024],
  'mesh.tp': [1, 64],
  'mesh.pp': [1, 128],
  'mesh.cp': [1, 64],
  'mesh.ep': [1, 256],
};
const MOST_NODES = 4096;

let tables = null,
  lists = {},
  changed = () => {};
const fields = new Map(); // full key -> { box, read, write }

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// Every option by its full key; the strategies' own stand under "strategy.".
function optionsOf(section) {
  return tables.sections.find(one => one.name === section).options;
}

export function findOption(key) {
  const [section, ...rest] = key.split('.');
  if (section === 'strategy') {
    const strategy = tables.strategies.find(one => one.name === state.set['strategy.name']);
    return strategy?.options.find(one => one.key === rest.join('.'));
  }
  return tables.sections.some(one => one.name === section)
    ? optionsOf(section).find(one => one.key === rest.join('.'))
    : undefined;
}

// What a word of the command line means: "tp" is mesh.tp, as everywhere in shardsim.
const SHORT = { cluster: 'cluster.name', model: 'model.config', strategy: 'strategy.name' };

export function fullKey(word) {
  if (SHORT[word]) return SHORT[word];
  if (word.includes('.')) return word;
  const section = tables.sections.find(one => one.options.some(option => option.key === word));
  return section ? `${section.name}.${word}` : word;
}

// ---- the command line's words ------------------------------------------------------------------

function shellWords(text) {
  const words = [];
  let word = null,
    quoted = false;
  for (const c of text) {
    if (c === "'") {
      quoted = !quoted;
      word ??= '';
    } else if (/\s/.test(c) && !quoted) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + c;
  }
  if (word !== null) words.push(word);
  return words;
}

// "--tp 2 --compile=true --set strategy.shard=2" as keys and values.
export function parseOptions(text) {
  const set = {},
    words = shellWords(text);
  for (let i = 0; i < words.length; i++) {
    let [name, ...value] = words[i].replace(/^--/, '').split('=');
    value = value.length > 0 ? value.join('=') : words[++i];
    if (name === 'set') [name, value] = [value.split('=')[0], value.split('=').slice(1).join('=')];
    set[fullKey(name.replace(/-/g, '_'))] = value;
  }
  return set;
}

// ---- controls ----------------------------------------------------------------------------------

export function change(set) {
  for (const [key, value] of Object.entries(set))
    if (value === null || value === '') delete state.set[key];
    else state.set[key] = String(value);
  if (set['strategy.name'] !== undefined) dropForeignOptions();
  show();
  changed();
}

// Another strategy has other options of its own.
function dropForeignOptions() {
  for (const key of Object.keys(state.set))
    if (key.startsWith('strategy.') && key !== 'strategy.name' && !findOption(key))
      delete state.set[key];
}

function edit(key) {
  return event => {
    const input = event.target;
    change({ [key]: input.type === 'checkbox' ? String(input.checked) : input.value.trim() });
  };
}

// What OPTION is set with; '' is its default.
export function optionControl(option, onchange = () => {}) {
  const hint = option.default ?? option.example ?? '';
  const words =
    option.type === 'switch' ? ['true', 'false'] : (option.choices?.flatMap(numbered) ?? null);
  if (words)
    return element(
      'select',
      { onchange },
      element('option', { value: '' }, `default (${hint})`),
      ...words.map(word => element('option', { value: word }, word)),
    );
  return element('input', {
    type: 'text',
    placeholder: hint,
    onchange,
    inputmode: option.type === 'number' ? 'numeric' : null,
  });
}

// The table of the options that a command has beside the scenario's.
export const optionTable = command => tables.commands.find(one => one.name === command).options;

// "layers:K" takes a number: some of them.
function numbered(word) {
  return /(^|:)K$/.test(word) ? [2, 4, 8].map(k => word.replace(/K$/, k)) : [word];
}

// Shows VALUE, also one that a link has and no list.
function put(input, value) {
  if (input.matches('select') && ![...input.options].some(one => one.value === value))
    input.append(element('option', { value }, value || 'none'));
  input.value = value;
}

function slider(key, [least, most]) {
  const input = element('input', {
    type: 'range',
    min: Math.log2(least),
    max: Math.log2(most),
    step: 1,
    'aria-label': `${key}, powers of two`,
  });
  input.addEventListener('input', () => change({ [key]: String(2 ** Number(input.value)) }));
  return input;
}

// Of a copy of the page: the values that it has, or one that cannot be changed.
function fixedChoice(key, label) {
  const values = valuesOf(key),
    option = findOption(key);
  const words = values.length > 0 ? values : [''];
  const one = choice(
    key,
    label,
    words.map(word => [word, word || `default (${option?.default ?? 'none'})`]),
  );
  one.box.querySelector('select').disabled = words.length === 1;
  return one;
}

function field(key, option, label) {
  const input = optionControl(option, edit(key)),
    wrong = element('span', { class: 'wrong' });
  const range = SLIDERS[key] && label ? slider(key, SLIDERS[key]) : null;
  const box = element(
    'label',
    { class: 'field', 'data-key': key },
    element('span', { class: 'name' }, label ?? option.key),
    range ? element('span', { class: 'row' }, input, range) : input,
    wrong,
    ...(label ? [] : [element('span', { class: 'help' }, option.help ?? '')]),
  );
  const write = () => {
    const value = state.set[key] ?? '';
    put(input, value);
    if (range) range.value = Math.log2(Number(value || option.default || 1)) || 0;
    box.classList.toggle('changed', value !== '');
  };
  return { box, write, wrong };
}

function choice(key, label, words) {
  const select = element(
    'select',
    { onchange: edit(key) },
    ...words.map(([value, text]) => element('option', { value }, text)),
  );
  const wrong = element('span', { class: 'wrong' });
  const box = element(
    'label',
    { class: 'field', 'data-key': key },
    element('span', { class: 'name' }, label),
    select,
    wrong,
  );
  return { box, wrong, write: () => put(select, state.set[key] ?? '') };
}

// ---- the cluster: so many nodes of a kind ------------------------------------------------------

function clusterParts() {
  const found = /^(\d+)\s*x\s*(.+)$/.exec(state.set['cluster.name'] ?? '');
  return found ? [Number(found[1]), found[2].trim()] : [1, state.set['cluster.name'] ?? ''];
}

function clusterFields() {
  const set = (nodes, type) => change({ 'cluster.name': `${nodes} x ${type}` });
  const number = element('input', {
    type: 'number',
    min: 1,
    onchange: () => set(Math.max(1, Math.round(Number(number.value) || 1)), clusterParts()[1]),
  });
  const range = element('input', {
    type: 'range',
    min: 0,
    max: Math.log2(MOST_NODES),
    step: 1,
    'aria-label': 'nodes, powers of two',
    oninput: () => set(2 ** Number(range.value), clusterParts()[1]),
  });
  const kind = element(
    'select',
    { onchange: () => set(clusterParts()[0], kind.value) },
    ...lists.node.map(one => element('option', { value: one.name }, one.name)),
  );
  const wrong = element('span', { class: 'wrong' });
  const nodes = element(
    'label',
    { class: 'field', 'data-key': 'cluster.name' },
    element('span', { class: 'name' }, 'Nodes'),
    element('span', { class: 'row' }, number, range),
    wrong,
  );
  const type = element(
    'label',
    { class: 'field' },
    element('span', { class: 'name' }, 'of the kind'),
    kind,
  );
  const write = () => {
    const [n, name] = clusterParts();
    number.value = n;
    range.value = Math.log2(n);
    put(kind, name);
  };
  fields.set('cluster.name', { box: nodes, write, wrong });
  return [nodes, type];
}

// ---- the whole form ----------------------------------------------------------------------------

function add(parent, key, one) {
  fields.set(key, one);
  parent.append(one.box);
}

function fillCopy() {
  const parent = document.getElementById('essentials');
  const heads = { 'model.config': 'Model', 'cluster.name': 'Cluster', 'strategy.name': 'Strategy' };
  const labels = { ...heads, ...Object.fromEntries(ESSENTIALS) };
  const others = grid.axes.map(axis => axis.key).filter(key => !labels[key]);
  document.body.classList.add('copy');
  parent.append(element('p', { class: 'problem note' }, gridText()));
  for (const key of [...Object.keys(labels), ...others])
    add(parent, key, fixedChoice(key, labels[key] ?? key));
}

function fillEssentials() {
  const parent = document.getElementById('essentials');
  const strategies = tables.strategies.filter(one => !one.outer);
  add(
    parent,
    'model.config',
    choice(
      'model.config',
      'Model',
      lists.models.map(one => [one.name, one.name]),
    ),
  );
  parent.append(...clusterFields());
  add(
    parent,
    'strategy.name',
    choice(
      'strategy.name',
      'Strategy',
      strategies.map(one => [one.name, `${one.name}: ${one.title}`]),
    ),
  );
  for (const [key, label] of ESSENTIALS) add(parent, key, field(key, findOption(key), label));
}

function fillSections() {
  const parent = document.getElementById('sections');
  for (const section of tables.sections) {
    const box = element('details', {}, element('summary', {}, section.name));
    for (const option of section.options) {
      const key = `${section.name}.${option.key}`;
      if (!fields.has(key)) add(box, key, field(key, option));
    }
    parent.append(box);
  }
  parent.append(element('details', { id: 'own' }, element('summary', {}, 'strategy')));
}

function fillOwn() {
  const box = document.getElementById('own'),
    name = state.set['strategy.name'];
  if (grid || box.dataset.of === name) return;
  box.dataset.of = name;
  box.replaceChildren(element('summary', {}, `strategy ${name ?? ''}`));
  for (const key of [...fields.keys()])
    if (key.startsWith('strategy.') && key !== 'strategy.name') fields.delete(key);
  for (const option of tables.strategies.find(one => one.name === name)?.options ?? [])
    add(box, `strategy.${option.key}`, field(`strategy.${option.key}`, option));
}

function filterOptions() {
  const words = document.getElementById('filter').value.toLowerCase().trim().split(/\s+/);
  for (const box of document.querySelectorAll('#sections details')) {
    let found = 0;
    for (const one of box.querySelectorAll('.field')) {
      const text = `${one.dataset.key} ${one.textContent}`.toLowerCase().replace(/_/g, ' ');
      one.hidden = !words.every(word => text.includes(word.replace(/_/g, ' ')));
      found += one.hidden ? 0 : 1;
    }
    box.hidden = found === 0 && words[0] !== '';
    if (words[0] !== '') box.open = found > 0;
  }
}

export function show() {
  fillOwn();
  for (const one of fields.values()) one.write();
  document.getElementById('uploaded').textContent = [state.model?.name, state.given?.name]
    .filter(Boolean)
    .join(', ');
}

// Puts what is said about an option beside it; TRUE where it is one of the form.
export function say(key, text) {
  const one = fields.get(fullKey(key));
  if (!one) return false;
  one.wrong.textContent = text;
  one.box.closest('details')?.setAttribute('open', '');
  return true;
}

export function sayNothing() {
  for (const one of fields.values()) one.wrong.textContent = '';
}

export function buildForm(options, all, onChange) {
  tables = options;
  lists = all;
  changed = onChange;
  if (grid) fillCopy();
  else {
    fillEssentials();
    fillSections();
  }
  document.getElementById('filter').addEventListener('input', filterOptions);
  document.getElementById('form').addEventListener('submit', event => event.preventDefault());
}
