// The options of a command beside the scenario's, drawn of its table: a few in front.
import { element, optionControl, optionTable } from './form.js';

// What stands in the text that the server reads: without spaces, and '/' escaped.
const plain = value => JSON.stringify(value).replace(/\//g, '\\/');

// The key of BODY whose value is at COLUMN of that text, from 1.
function keyAt(body, column) {
  let at = 2;
  for (const [key, value] of Object.entries(body)) {
    const begin = at + plain(key).length + 1;
    if (column >= begin && column < begin + plain(value).length) return key;
    at = begin + plain(value).length + 1;
  }
  return null;
}

// The key that a message about the command line names: "--node-counts".
const named = one =>
  /^--([a-z-]+)/m.exec(`${one.message}\n${one.hint ?? ''}`)?.[1].replaceAll('-', '_');

// What a field shows while nothing is set: the default, or what its help gives as an example.
const hintOf = option => option.default ?? /'([^']+)'/.exec(option.help ?? '')?.[1] ?? '';

const textOf = one => (one.hint ? `${one.message}: ${one.hint}` : one.message);

// NAME: of the command; FRONT: { key: label } of what is not behind "More"; VALUES: to begin with.
export function commandForm(name, front, values = {}) {
  const fields = new Map(),
    rest = element('p', { class: 'wrong', role: 'alert' });
  for (const option of optionTable(name)) {
    const input = Object.assign(optionControl(option), { value: values[option.key] ?? '' }),
      wrong = element('span', { class: 'wrong' });
    if (input.matches('input')) input.placeholder = hintOf(option);
    const box = element(
      'label',
      { class: 'field' },
      element('span', { class: 'name' }, front[option.key] ?? option.key),
      input,
      wrong,
      ...(option.key in front ? [] : [element('span', { class: 'help' }, option.help ?? '')]),
    );
    fields.set(option.key, { box, input, wrong });
  }
  const boxes = chosen =>
    [...fields].filter(([key]) => key in front === chosen).map(([, one]) => one.box);
  return {
    boxes: [
      element('div', { class: 'fields' }, ...boxes(true)),
      element(
        'details',
        {},
        element('summary', {}, 'More options'),
        element('div', { class: 'fields' }, ...boxes(false)),
      ),
      rest,
    ],
    input: key => fields.get(key).input,
    values: () =>
      Object.fromEntries(
        [...fields]
          .map(([key, one]) => [key, one.input.value.trim()])
          .filter(([, value]) => value !== ''),
      ),
    // Says what is wrong with the answer to BODY, beside its field where it has one; TRUE: there
    // is no result.
    say: (answer, body) => {
      const errors = answer.diagnostics.filter(one => one.severity === 'error');
      const general = answer.error ? [answer.error] : [];
      for (const { wrong } of fields.values()) wrong.textContent = '';
      for (const one of errors) {
        const field = fields.get(one.file === 'request' ? keyAt(body, one.column) : named(one));
        if (field) field.wrong.textContent = textOf(one);
        else general.push(textOf(one));
        field?.box.closest('details')?.setAttribute('open', '');
      }
      rest.textContent = general.join('; ');
      return errors.length > 0 || answer.error !== null;
    },
  };
}
