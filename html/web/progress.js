// How far a long question is, and what it has found by now.
import { element } from './form.js';
import { seconds, table } from './answer.js';

const EVERY_MS = 400;

// "simulating candidates: 40 so far, 3.2 s; best: 6.42 s a step, 10203 tokens/s/GPU"
export function progressText(p) {
  if (p.seconds === null) return 'Waits for its turn.';
  const what = [p.work, p.step].filter(Boolean).join(': ') || 'at work';
  const done = p.todo > 0 && !p.more ? `${p.done} of ${p.todo}` : `${p.done} so far`;
  const best = p.best ? `; best: ${p.best}` : '';
  return `${what}, ${done}, ${p.seconds.toFixed(1)} s${best}`;
}

// What stands beside a question that is under way; TAKE: with the options of what was found.
export function progressBox(take) {
  const bar = element('progress', { 'aria-label': 'progress' });
  const text = element('p', {}, 'Begins ...');
  const found = element('div', {});
  const show = p => {
    text.textContent = progressText(p);
    if (p.todo > 0 && !p.more) [bar.max, bar.value] = [p.todo, p.done];
    else bar.removeAttribute('value');
    if (p.found.length > 0) found.replaceChildren(foundTable('The best so far', p.found, take));
  };
  return { box: element('div', { class: 'progress' }, bar, text, found), show };
}

// Configurations that can be taken: the button stands in front, where no phone cuts it off.
export function foundTable(heading, found, take) {
  const rows = table(
    ['', heading, 'step', 'tokens/s/GPU', 'GPU memory'],
    found.map(one => [
      element('button', { type: 'button', onclick: () => take(one.options) }, 'Take it'),
      one.label ?? one.scenario,
      seconds(one.step_time_s),
      String(Math.round(one.tokens_per_s_per_gpu)),
      `${one.peak_device_gib.toFixed(1)} GiB`,
    ]),
  );
  return element('div', { class: 'found' }, rows);
}

// Asks with LOOK, and SHOWs what comes, again and again until the function that it returns is
// called. The next question waits for the answer to the last, however long that takes.
export function watch(look, show) {
  let over = false;
  const ask = async () => {
    const p = await look().catch(() => ({})); // the long question itself says what is wrong
    if (over) return;
    if (p.found) show(p);
    setTimeout(ask, EVERY_MS);
  };
  setTimeout(ask, EVERY_MS / 4);
  return () => {
    over = true;
  };
}
