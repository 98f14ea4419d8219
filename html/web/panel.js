// Panels: what is looked at beside the prediction, each behind a line that opens it.
import { digits, shape } from './answer.js';
import { element } from './form.js';

const panels = [];

// A panel: { id, title, build(box, page) }; `build` returns what is called with each prediction
// while the panel is open, and when it opens.
export function buildPanels(list, page) {
  const parent = document.getElementById('panels');
  for (const one of list) {
    const box = element('div', { class: 'panel-body' }),
      details = element(
        'details',
        { class: 'panel', id: `panel-${one.id}` },
        element('summary', {}, one.title),
        box,
      ),
      update = one.build(box, page);
    details.addEventListener('toggle', () => details.open && page.now() && update(page.now()));
    panels.push({ details, update });
    parent.append(details);
  }
}

export function updatePanels(prediction) {
  for (const one of panels) if (one.details.open) one.update(prediction);
}

// A button that shows that it works, with what it does beside it once that takes long.
export function button(text, act, attributes = {}) {
  return element(
    'button',
    { type: 'button', onclick: event => act(event.target), ...attributes },
    text,
  );
}

export function labelled(text, input) {
  return element('label', { class: 'field' }, element('span', { class: 'name' }, text), input);
}

// Text that fits into WIDTH pixels of letters of some 6 each.
export function shortened(text, width) {
  const most = Math.floor(width / 6.2);
  if (text.length <= most) return text;
  return most < 4 ? '' : `${text.slice(0, most - 1)}…`;
}

// Says in BOX what is wrong with an answer; TRUE where there is no result.
export function sayWrong(box, answer) {
  const texts = answer.diagnostics
    .filter(one => one.severity === 'error')
    .map(one => (one.hint ? `${one.message}: ${one.hint}` : one.message));
  if (answer.error) texts.push(answer.error);
  box.textContent = texts.join('; ');
  return texts.length > 0;
}

// Results are of the scenario that they were asked for: once that changes they say so.
export function marksOld(box) {
  let asked = null;
  return {
    taken: () => {
      asked = location.hash;
      box.classList.remove('old');
    },
    look: () => box.classList.toggle('old', asked !== null && asked !== location.hash),
  };
}

// ---- words and shapes --------------------------------------------------------------------------

// "3.14 %", of three digits.
export const percent = value => `${digits(Number((100 * value).toPrecision(3)))} %`;

// "+3.14 %", of a change.
export function signed(value) {
  if (Math.abs(value) < 5e-5) return '0 %';
  return `${value < 0 ? '−' : '+'}${percent(Math.abs(value))}`;
}

export function svgText(attributes, content) {
  return Object.assign(shape('text', attributes), { textContent: content });
}

// An entry of a legend: what the boxes of class KIND are.
export function swatch(kind, name) {
  return element(
    'li',
    {},
    shape(
      'svg',
      { viewBox: '0 0 10 10', 'aria-hidden': 'true' },
      shape('rect', { width: 10, height: 10, class: kind }),
    ),
    name,
  );
}
