/*
 * Acts on a page as a reader does, and tells the page around it TAP lines. The page says what it
 * should have: `expected`, some of timeline, pictures, scenario.
 */
'use strict';

(async () => {
  const lines = [];
  const verdict = (good, name) => lines.push(`${good ? 'ok' : 'not ok'} - ${name}`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const has = (part) => expected.split(' ').includes(part);
  const later = (ms) => new Promise((done) => setTimeout(done, ms));

  /* ---- tables */

  function value(row, column) {
    const cell = row.cells[column];
    if (!('value' in cell.dataset)) return cell.textContent;
    return cell.dataset.value === '' ? null : Number(cell.dataset.value);
  }

  /* Written anew: numbers by size, texts as people sort them, nothing last. */
  function inOrder(rows, column, sign) {
    return rows.slice(1).every((row, i) => {
      const a = value(rows[i], column), b = value(row, column);
      if (b === null) return true;
      if (a === null) return false;
      if (typeof a === 'number' && typeof b === 'number') return sign * a <= sign * b;
      return sign * new Intl.Collator('en', { numeric: true }).compare(String(a), String(b)) <= 0;
    });
  }

  function sorts(table) {
    const before = [...table.tBodies[0].rows].map((row) => row.textContent).sort().join();
    return all('th').filter((title) => table.contains(title)).every((title) => {
      const button = title.querySelector('button');
      if (!button) return title.textContent === '';
      return [1, -1].every((sign) => {
        button.click();
        const rows = [...table.tBodies[0].rows];
        return inOrder(rows, title.cellIndex, sign) &&
          title.ariaSort === (sign > 0 ? 'ascending' : 'descending') &&
          all('[aria-sort]').filter((other) => table.contains(other)).length === 1 &&
          rows.map((row) => row.textContent).sort().join() === before;
      });
    });
  }

  /* ---- tables of many rows: those that are not drawn are data */

  function titled(table, title) {
    return [...table.tHead.rows[0].cells].find((cell) => cell.textContent === title);
  }

  async function tryRest(box, name) {
    const table = box.previousElementSibling.querySelector('table');
    const tools = box.previousElementSibling.previousElementSibling;
    const words = tools.querySelector('input'), tell = tools.querySelector('span');
    const more = box.querySelector('button'), rows = () => [...table.tBodies[0].rows];
    const n = Number(tell.textContent.split(' ')[2]), first = rows().length;
    const write = (text) => {
      words.value = text;
      words.dispatchEvent(new Event('input'));
    };
    verdict(n > first && tell.textContent.startsWith(`${first} of ${n} rows`),
      `${name}: ${first} of ${n} rows are drawn`);
    let clicks = 0;
    for (; !more.hidden && clicks < 100; clicks++) more.click();
    const texts = rows().map((row) => row.textContent);
    verdict(rows().length === n && new Set(texts).size === n && clicks > 0,
      `${name}: all of them where asked for`);
    verdict(rows().every((row) => row.cells.length === table.tHead.rows[0].cells.length),
      `${name}: with all cells`);
    write(texts[n - 1].trim().split(/\s/)[0]);
    const found = rows().length;
    write(rows()[0].cells[0].textContent);
    verdict(found > 0 && rows().length > 0 && rows().length < n, `${name}: words find rows`);
    write('');
    verdict(rows().length === first, `${name}: no words, the first of all again`);
    for (const title of [...table.tHead.rows[0].cells].slice(0, 12)) {
      const button = title.querySelector('button');
      if (!button) continue;
      button.click();
      if (!inOrder(rows(), title.cellIndex, 1)) verdict(false, `${name}: ${title.textContent}`);
      const least = rows()[0].cells[title.cellIndex].textContent;
      button.click();
      if (!inOrder(rows(), title.cellIndex, -1)) verdict(false, `${name}: ${title.textContent}`);
      while (!more.hidden) more.click();
      const all = rows().map((row) => row.cells[title.cellIndex].textContent);
      if (!all.includes(least)) verdict(false, `${name}: ${title.textContent} lost a row`);
      write(' ');
    }
    verdict(true, `${name}: sorts by its first titles`);
  }

  const rests = all('.rest');
  verdict((rests.length > 0) === has('many'), 'rows are data where there are many');
  for (const [i, box] of rests.entries()) await tryRest(box, `table ${i}`);

  const whole = (table) => !rests.some((box) => box.previousElementSibling.contains(table));
  const tables = all('table').filter((table) => table.tBodies[0].rows.length > 1 && whole(table));
  verdict(tables.length > 0, 'there are tables');
  const unsorted = tables.filter((table) => !sorts(table)).map((table) => tables.indexOf(table));
  verdict(unsorted.length === 0, `${tables.length} tables sort by each title ${unsorted}`.trim());

  /* ---- timelines */

  const units = { s: 1e9, ms: 1e6, us: 1e3, ns: 1 };
  const parse = (text) => parseFloat(text) * units[text.trim().split(' ')[1]];

  function span(box) {
    return box.querySelector('.place').textContent.split(' to ').map(parse);
  }

  function at(box, kind, event, x, y, more) {
    const canvas = box.querySelector('canvas'), place = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new event(kind, { bubbles: true, cancelable: true,
      clientX: place.left + x, clientY: place.top + y, ...more }));
  }

  function colours(canvas) {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }

  /* What is told of any place of the canvas, row by row. */
  function findTold(box, pattern) {
    const canvas = box.querySelector('canvas'), told = box.querySelector('.told');
    for (let y = 5; y < canvas.clientHeight; y += 11)
      for (let x = canvas.clientWidth * 0.3; x < canvas.clientWidth; x += 7) {
        at(box, 'pointermove', PointerEvent, x, y, { pointerId: 9 });
        if (pattern.test(told.textContent)) return true;
      }
    return false;
  }

  const key = (box, name) => box.querySelector('canvas')
    .dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));

  async function tryTimeline(box, name) {
    const canvas = box.querySelector('canvas'), width = canvas.clientWidth;
    const plot = Math.min(130, width * 0.25), middle = plot + (width - plot) * 0.5;
    const drag = (kind, id, x) => at(box, kind, PointerEvent, x, 60, { pointerId: id });
    let [from, to] = span(box);
    const whole = to - from;
    canvas.setPointerCapture = () => {}; /* of a pointer that is none */
    verdict(canvas.width > 100 && colours(canvas) > 10, `${name} is drawn`);
    at(box, 'wheel', WheelEvent, middle, 60, { deltaY: -700 });
    [from, to] = span(box);
    verdict(to - from < whole / 3 && Math.abs((from + to) / 2 - whole / 2) < whole / 50,
      `${name}: the wheel zooms about the pointer`);
    let before = span(box);
    key(box, 'ArrowRight');
    verdict(span(box)[0] > before[0], `${name}: an arrow moves on`);
    before = span(box);
    drag('pointerdown', 1, middle);
    drag('pointermove', 1, middle + 50);
    drag('pointerup', 1, middle + 50);
    verdict(span(box)[0] < before[0], `${name}: a drag moves back`);
    before = span(box);
    drag('pointerdown', 1, middle - 20);
    drag('pointerdown', 2, middle + 20);
    drag('pointermove', 2, middle + 60);
    drag('pointerup', 1, middle - 20);
    drag('pointerup', 2, middle + 60);
    [from, to] = span(box);
    verdict(to - from < 0.7 * (before[1] - before[0]), `${name}: two fingers zoom`);
    for (let i = 0; i < 60; i++) key(box, '+');
    [from, to] = span(box);
    verdict(to > from && from >= 0, `${name}: zooming ends somewhere`);
    key(box, '0');
    verdict(Math.abs(span(box)[1] - span(box)[0] - whole) < whole / 100, `${name}: 0 shows all`);
    for (let i = 0; i < 3; i++) box.querySelector('.tools button').click();
    verdict(span(box)[1] - span(box)[0] < whole / 6, `${name}: buttons zoom`);
    key(box, '0');
    verdict(findTold(box, /block \d.*\u2014 model kernels: /), `${name}: a kernel is told`);
    verdict(findTold(box, /GPU memory at .*parameter/), `${name}: memory is told`);
  }

  all('details').forEach((details) => { details.open = true; });
  await later(200);
  for (const [i, box] of all('.timeline').slice(0, 2).entries())
    await tryTimeline(box, `timeline ${i + 1}`);
  if (has('timeline')) verdict(all('.timeline').length > 0, 'there is a timeline');

  /* ---- what is to be read */

  /* Relative luminance and contrast as WCAG 2 defines them. */
  function luminance(colour) {
    const [r, g, b] = colour.match(/[\d.]+/g).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function background(element) {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'rgb(255, 255, 255)';
  }

  function contrast(element, property) {
    const [a, b] = [getComputedStyle(element)[property], background(element)].map(luminance);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  for (const selector of ['body', '.note', 'figcaption', 'th', '.verdict', 'tr.bad td',
    'tr.good td', 'a', 'pre', 'button', 'dt', 'summary']) {
    const shown = all(selector);
    const legible = shown.every((element) => contrast(element, 'color') >= 4.5);
    if (shown.length) verdict(legible, `${selector} is legible`);
  }
  /* not the texts on coloured boxes, which are light or dark by the box */
  const texts = all('.picture svg text').filter((text) => !/^#|fefefe|101010/
    .test(text.parentElement.getAttribute('fill')));
  if (has('pictures')) verdict(texts.length > 10, 'there are pictures');
  verdict(texts.every((text) => contrast(text, 'fill') >= 4.5), 'texts of pictures are legible');
  const clipped = all('.picture .scroll').filter((box) => box.scrollWidth > box.clientWidth + 1);
  verdict(clipped.length === 0, 'pictures are whole');
  verdict(document.documentElement.scrollWidth <= innerWidth,
    `nothing is wider than the screen of ${innerWidth}`);
  verdict(all('button').filter((button) => !button.closest('th'))
    .every((button) => button.getBoundingClientRect().height >= 32), 'buttons can be hit');

  /* ---- what is to be copied */

  const copies = all('.copy button').slice(0, 8);
  for (const copy of copies) {
    copy.click();
    await later(200);
    verdict(/^(Copied|Selected)$/.test(copy.textContent), 'it is copied or selected');
  }
  verdict(copies.length > 0, 'there is something to copy');
  if (has('scenario'))
    verdict(all('.copy pre').some((text) => /^name: "/.test(text.textContent)), 'a scenario');
  verdict(performance.getEntriesByType('resource').length === 0, 'nothing is loaded');

  parent.postMessage(`\n${lines.join('\n')}\nbackground ${background(document.body)}\n`, '*');
})();
