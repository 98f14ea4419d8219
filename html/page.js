'use strict';

/* ---- tables: a click on a title sorts by its column ---------------------------------------- */

const TONES = ['plain', 'good', 'bad'], MORE = 200; /* rows that are drawn at a time */

function elementValue(cell) {
  if (!('value' in cell.dataset)) return cell.textContent;
  return cell.dataset.value === '' ? null : Number(cell.dataset.value);
}

function textValue(text) {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function rowOfElement(element) {
  const cells = [...element.cells];
  return { element, texts: cells.map((cell) => cell.textContent), values: cells.map(elementValue) };
}

/* ENTRY: a tone, then a text, or a text and a value, a cell; 0: as in the row ABOVE. */
function rowOfData(entry, above) {
  const cells = entry.slice(1).map((cell, i) =>
    cell === 0 ? [above.texts[i], above.values[i]] :
      typeof cell === 'string' ? [cell, textValue(cell)] : cell);
  return { tone: TONES[entry[0]], texts: cells.map(([text]) => text),
    values: cells.map(([, value]) => value) };
}

/* A row that was data, as an element like LIKE. */
function elementOf(row, like) {
  if (row.element) return row.element;
  row.element = document.createElement('tr');
  row.element.className = row.tone;
  row.texts.forEach((text, i) => {
    const cell = row.element.insertCell();
    cell.textContent = text;
    if (typeof row.values[i] !== 'string' || like.cells[i].className === 'right')
      cell.className = 'right';
    if (typeof row.values[i] !== 'string') cell.dataset.value = row.values[i] ?? '';
  });
  return row.element;
}

/* The rows of a table, all of them, and how many are drawn. */
const rowsOf = new WeakMap();

function draw(table) {
  const state = rowsOf.get(table), body = table.tBodies[0];
  const found = state.words === '' ? state.rows : state.rows.filter((row) =>
    row.texts.some((text) => text.toLowerCase().includes(state.words)));
  const drawn = found.slice(0, state.shown).map((row) => elementOf(row, state.like));
  body.replaceChildren(...drawn);
  if (!state.tell) return;
  state.tell.textContent = `${drawn.length} of ${found.length} rows` +
    (found.length < state.rows.length ? ` with these words, of ${state.rows.length}` : '');
  state.more.hidden = drawn.length === found.length;
}

/* What has no value comes last, whichever way round. */
function compareRows(a, b, column, sign) {
  const x = a.values[column], y = b.values[column];
  if (x === null || y === null) return (x === null) - (y === null);
  if (typeof x === 'number' && typeof y === 'number') return sign * (x - y);
  return sign * inOrder.compare(String(x), String(y));
}

const inOrder = new Intl.Collator('en', { numeric: true });

function sortBy(table, column) {
  const titles = table.tHead.rows[0].cells, title = titles[column];
  const down = title.getAttribute('aria-sort') === 'ascending';
  for (const other of titles) other.removeAttribute('aria-sort');
  title.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  rowsOf.get(table).rows.sort((a, b) => compareRows(a, b, column, down ? -1 : 1));
  draw(table);
}

function makeSortable(table) {
  if (table.tBodies[0].rows.length < 2) return;
  if (!rowsOf.has(table))
    rowsOf.set(table, { rows: [...table.tBodies[0].rows].map(rowOfElement), words: '',
      shown: Infinity });
  [...table.tHead.rows[0].cells].forEach((title, column) => {
    const button = document.createElement('button');
    if (title.textContent === '') return;
    button.type = 'button';
    button.textContent = title.textContent;
    button.addEventListener('click', () => sortBy(table, column));
    title.replaceChildren(button);
  });
}

/* Rows behind the first hundreds are data: they are drawn as a reader asks for them. */
function takeRest(box) {
  const table = box.previousElementSibling.querySelector('table');
  const rows = [...table.tBodies[0].rows].map(rowOfElement), n = rows.length;
  const words = document.createElement('input'), more = document.createElement('button');
  const tell = document.createElement('span'), tools = document.createElement('div');
  const state = { rows, words: '', shown: n, like: rows[0].element, tell, more };
  for (const entry of JSON.parse(box.querySelector('script').textContent))
    rows.push(rowOfData(entry, rows.length > n ? rows[rows.length - 1] : null));
  rowsOf.set(table, state);
  tools.className = 'tools';
  words.type = 'search';
  words.placeholder = words.ariaLabel = 'rows with these words';
  words.addEventListener('input', () => {
    state.words = words.value.trim().toLowerCase();
    state.shown = MORE;
    draw(table);
  });
  tools.append(words, tell);
  table.parentElement.before(tools);
  more.type = 'button';
  more.textContent = `Show ${MORE} more`;
  more.addEventListener('click', () => {
    state.shown += MORE;
    draw(table);
  });
  box.append(more);
  draw(table);
}

/* ---- texts to copy --------------------------------------------------------------------------- */

function selectText(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

function makeCopyable(box) {
  const button = box.querySelector('button'), text = box.querySelector('pre');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = 'Copied';
    } catch (refused) { /* a browser may not let a page write there */
      selectText(text);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}

/* ---- the timeline ---------------------------------------------------------------------------- */

const LANE = 22, RANK = 24, AXIS = 26, MEMORY = 120, GAP = 10;
const CATEGORY_COLOURS = [0, 4, 1, 3, 2, 7, 5, 6, 9]; /* of memory, by parts' numbers */

/* Nanoseconds to the digits of STEP, in a unit that is right for SIZE. */
function formatTime(ns, step, about = ns) {
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
  const [size, name] = units.find(([s]) => s <= about) || units[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return (ns / size).toFixed(Math.min(digits, 9)) + ' ' + name;
}

function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; unit++) bytes /= 1024;
  return bytes.toPrecision(bytes < 1000 ? 3 : 4) + ' ' + units[unit];
}

/* 1, 2 or 5 times a power of ten: at least LEAST. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * 0.999);
}

class Timeline {
  constructor(box) {
    this.data = JSON.parse(box.querySelector('script').textContent);
    this.from = 0;
    this.to = this.data.length;
    this.pointers = new Map();
    this.findLanes();
    this.build(box);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.tell(null);
  }

  /* Where each lane is drawn, and which slices it has: lanes come one after another. */
  findLanes() {
    const { lanes, slices, memory } = this.data;
    let y = AXIS, rank = -1;
    this.lanes = lanes.map((lane) => {
      if (lane.rank !== rank) {
        rank = lane.rank;
        y += RANK;
      }
      y += LANE;
      return { name: lane.name, rank, y: y - LANE, first: -1, end: -1 };
    });
    for (let i = 0; i < slices.length; i += 5) {
      const lane = this.lanes[slices[i]];
      if (lane.first < 0) lane.first = i;
      lane.end = i + 5;
    }
    this.memoryTop = y + GAP + RANK;
    this.height = memory.levels.length ? this.memoryTop + MEMORY + GAP : y + GAP;
    this.fullest = 0;
    this.eachLevel((time, sum) => { this.fullest = Math.max(this.fullest, sum); });
  }

  eachLevel(call) {
    const { levels, categories } = this.data.memory, width = categories.length + 1;
    for (let i = 0; i < levels.length; i += width) {
      let sum = 0;
      for (let c = 1; c < width; c++) sum += levels[i + c];
      call(levels[i], sum, i);
    }
  }

  build(box) {
    const tools = document.createElement('div'), legend = document.createElement('div');
    const button = (text, title, act) => {
      const made = document.createElement('button');
      made.type = 'button';
      made.textContent = text;
      made.title = made.ariaLabel = title;
      made.addEventListener('click', act);
      tools.append(made);
    };
    tools.className = 'tools';
    button('+', 'zoom in', () => this.zoom(0.5));
    button('\u2212', 'zoom out', () => this.zoom(2));
    button('\u2190', 'earlier', () => this.pan(-0.3));
    button('\u2192', 'later', () => this.pan(0.3));
    button('whole step', 'show all of it', () => this.show(0, this.data.length));
    this.place = document.createElement('span');
    this.place.className = 'place';
    tools.append(this.place);
    legend.className = 'legend';
    this.addLegend(legend);
    this.canvas = document.createElement('canvas');
    this.canvas.style.height = this.height + 'px';
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.ariaLabel = 'timeline: arrows move, plus and minus zoom, 0 shows all';
    this.told = document.createElement('p');
    this.told.className = 'told';
    this.told.setAttribute('aria-live', 'polite');
    this.listen();
    box.append(tools, this.canvas, this.told, legend);
  }

  addLegend(legend) {
    const shown = new Set();
    for (let i = 4; i < this.data.slices.length; i += 5) shown.add(this.data.slices[i]);
    this.data.parts.forEach((name, part) => {
      const entry = document.createElement('span'), colour = document.createElement('i');
      if (!shown.has(part)) return;
      colour.style.background = `var(--part-${part})`;
      entry.append(colour, name);
      legend.append(entry);
    });
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / this.width);
      else this.zoom(Math.exp(event.deltaY * 0.002), this.timeAt(event.offsetX));
    }, { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
    canvas.addEventListener('dblclick', (event) => this.zoom(0.25, this.timeAt(event.offsetX)));
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event.offsetX);
      this.point(event);
    });
    canvas.addEventListener('pointermove', (event) => this.move(event));
    for (const end of ['pointerup', 'pointercancel'])
      canvas.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
  }

  key(event) {
    const acts = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
      0: () => this.show(0, this.data.length), Home: () => this.show(0, this.to - this.from),
      End: () => this.show(this.data.length - this.to + this.from, this.data.length),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  }

  /* One pointer drags, two pinch. */
  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) {
      this.point(event);
      return;
    }
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const old = Math.max(Math.abs(before - other), 1);
      const now = Math.max(Math.abs(event.offsetX - other), 1);
      this.zoom(old / now, this.timeAt((event.offsetX + other) / 2));
    } else this.pan((before - event.offsetX) / this.plotWidth());
    this.pointers.set(event.pointerId, event.offsetX);
  }

  get width() { return this.canvas.clientWidth; }
  get margin() { return Math.min(130, this.width * 0.25); }
  plotWidth() { return Math.max(this.width - this.margin, 1); }
  timeAt(x) { return this.from + (x - this.margin) / this.plotWidth() * (this.to - this.from); }
  xOf(time) { return this.margin + (time - this.from) / (this.to - this.from) * this.plotWidth(); }

  show(from, to) {
    const length = Math.min(Math.max(to - from, 100), this.data.length);
    this.from = Math.min(Math.max(from, 0), this.data.length - length);
    this.to = this.from + length;
    this.draw();
  }

  zoom(factor, about = (this.from + this.to) / 2) {
    const length = Math.max((this.to - this.from) * factor, 100);
    const share = (about - this.from) / (this.to - this.from);
    this.show(about - share * length, about - share * length + length);
  }

  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  /* ---- what is under a pointer */

  point(event) {
    const time = this.timeAt(event.offsetX), y = event.offsetY;
    const lane = this.lanes.find((one) => y >= one.y && y < one.y + LANE);
    if (event.offsetX < this.margin) this.tell(null);
    else if (lane) this.tell(this.sliceAt(lane, time));
    else if (y >= this.memoryTop && this.data.memory.levels.length) this.tellMemory(time);
    else this.tell(null);
  }

  /* The slice at TIME, or one within three pixels. */
  sliceAt(lane, time) {
    const { slices } = this.data, near = 3 * (this.to - this.from) / this.plotWidth();
    let best = -1, distance = near;
    for (let i = this.firstVisible(lane, time - near); i < lane.end && i >= 0; i += 5) {
      const begin = slices[i + 1], end = begin + slices[i + 2];
      const off = time < begin ? begin - time : time > end ? time - end : 0;
      if (begin > time + near) break;
      if (off < distance || (off === 0 && best < 0)) [best, distance] = [i, off];
    }
    return best;
  }

  /* Slices of a lane do not overlap: the first that ends behind TIME; -1: the lane has none. */
  firstVisible(lane, time) {
    const { slices } = this.data;
    let low = lane.first / 5, high = lane.end / 5;
    if (lane.first < 0) return -1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (slices[5 * middle + 1] + slices[5 * middle + 2] < time) low = middle + 1;
      else high = middle;
    }
    return 5 * low;
  }

  tell(slice) {
    const { slices, labels, parts } = this.data;
    if (slice === null || slice < 0) {
      this.told.textContent = 'Wheel or pinch to zoom, drag to move, point at an op to read it; ' +
        'keys: arrows, + and \u2212, 0.';
      return;
    }
    const length = slices[slice + 2];
    this.told.textContent = `${labels[slices[slice + 3]]} \u2014 ${parts[slices[slice + 4]]}: ` +
      `${formatTime(length, length / 1000)} from ${formatTime(slices[slice + 1], length / 10)}`;
  }

  tellMemory(time) {
    const { levels, categories } = this.data.memory;
    let at = 0, total = 0;
    this.eachLevel((begin, sum, i) => { if (begin <= time) [at, total] = [i, sum]; });
    this.told.textContent = `GPU memory at ${formatTime(levels[at], this.data.length / 1e4)}: ` +
      formatBytes(total) + ' (' + categories.map((name, c) => [name, levels[at + 1 + c]])
        .filter(([, bytes]) => bytes > 0)
        .map(([name, bytes]) => `${name} ${formatBytes(bytes)}`).join(', ') + ')';
  }

  /* ---- drawing */

  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  draw() {
    const ratio = devicePixelRatio || 1, canvas = this.canvas, width = this.width;
    if (width === 0) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(this.height * ratio);
    this.pen = canvas.getContext('2d');
    this.pen.scale(ratio, ratio);
    this.pen.font = '12px "Liberation Sans", "Helvetica Neue", Arial, sans-serif';
    this.pen.textBaseline = 'middle';
    this.colours = this.data.parts.map((name, part) => this.colour(`--part-${part}`));
    this.text = this.colour('--text');
    this.soft = this.colour('--soft');
    this.line = this.colour('--line');
    this.drawAxis();
    this.drawMemory();
    this.lanes.forEach((lane, i) => {
      if (i === 0 || this.lanes[i - 1].rank !== lane.rank)
        this.label(this.data.ranks[lane.rank], 6, lane.y - RANK / 2, width - 12, this.soft);
      this.drawLane(lane);
    });
    this.place.textContent = [this.from, this.to]
      .map((time) => formatTime(time, (this.to - this.from) / 100, this.to)).join(' to ');
  }

  label(text, x, y, room, colour) {
    const pen = this.pen;
    let shown = text;
    if (pen.measureText(shown).width > room) {
      while (shown.length > 1 && pen.measureText(shown + '\u2026').width > room)
        shown = shown.slice(0, -1);
      shown += '\u2026';
    }
    pen.fillStyle = colour;
    pen.fillText(shown, x, y);
  }

  drawAxis() {
    const step = niceStep((this.to - this.from) / Math.max(this.plotWidth() / 110, 1));
    const pen = this.pen;
    pen.textAlign = 'center';
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = this.xOf(time), text = formatTime(time, step, this.to);
      pen.fillStyle = this.line;
      pen.fillRect(Math.round(x), AXIS - 4, 1, this.height);
      pen.fillStyle = this.soft;
      if (x + pen.measureText(text).width / 2 < this.width) pen.fillText(text, x, AXIS / 2);
    }
    pen.textAlign = 'left';
  }

  /* What is narrower than a pixel is drawn as one, and what would lie on it not again. */
  drawLane(lane) {
    const { slices, labels } = this.data, pen = this.pen;
    let painted = -1;
    this.label(lane.name, 6, lane.y + LANE / 2, this.margin - 12, this.text);
    for (let i = this.firstVisible(lane, this.from); i < lane.end && i >= 0; i += 5) {
      const begin = slices[i + 1], left = Math.max(this.xOf(begin), this.margin);
      const right = Math.min(this.xOf(begin + slices[i + 2]), this.width);
      if (begin > this.to) break;
      if (right <= painted) continue;
      pen.fillStyle = this.colours[slices[i + 4]];
      pen.fillRect(left, lane.y + 2, Math.max(right - left - (right - left > 3 ? 1 : 0), 0.7),
        LANE - 4);
      painted = Math.max(right, left + 0.7);
      const name = labels[slices[i + 3]];
      if (right - left > 40) this.nameSlice(name, slices[i + 4], left, right, lane);
    }
  }

  nameSlice(text, part, left, right, lane) {
    const [red, green, blue] = [1, 3, 5].map((at) =>
      parseInt(this.colours[part].slice(at, at + 2), 16));
    const light = 0.299 * red + 0.587 * green + 0.114 * blue > 130;
    this.label(text, left + 4, lane.y + LANE / 2, right - left - 8, light ? '#000000' : '#ffffff');
  }

  drawMemory() {
    const { levels, categories, capacity } = this.data.memory, pen = this.pen;
    const bottom = this.memoryTop + MEMORY, width = categories.length + 1;
    const most = Math.max(this.fullest, Math.min(capacity, 1.25 * this.fullest));
    if (!levels.length) return;
    this.label(`GPU memory, ${this.data.ranks[0]}; the top is ${formatBytes(most)}`, 6,
      this.memoryTop - RANK / 2, this.width - 12, this.soft);
    for (let c = categories.length; c >= 1; c--) {
      pen.fillStyle = this.colours[CATEGORY_COLOURS[c - 1]];
      pen.beginPath();
      pen.moveTo(this.margin, bottom);
      for (let i = 0; i < levels.length; i += width) {
        const end = i + width < levels.length ? levels[i + width] : this.data.length;
        let sum = 0;
        if (end < this.from || levels[i] > this.to) continue;
        for (let below = 1; below <= c; below++) sum += levels[i + below];
        const y = bottom - sum / most * MEMORY;
        pen.lineTo(Math.max(this.xOf(levels[i]), this.margin), y);
        pen.lineTo(Math.min(this.xOf(end), this.width), y);
      }
      pen.lineTo(this.width, bottom);
      pen.fill();
    }
    this.memoryLegend(categories, width);
  }

  /* At the left: the categories that there are, from the top down. */
  memoryLegend(categories, width) {
    const { levels } = this.data.memory;
    let y = this.memoryTop + MEMORY - 7;
    categories.forEach((name, c) => {
      let most = 0;
      for (let i = c + 1; i < levels.length; i += width) most = Math.max(most, levels[i]);
      if (most === 0) return;
      this.pen.fillStyle = this.colours[CATEGORY_COLOURS[c]];
      this.pen.fillRect(6, y - 4, 8, 8);
      this.label(name, 18, y, this.margin - 22, this.text);
      y -= 14;
    });
  }
}

document.querySelectorAll('.picture').forEach((picture) => picture.querySelector('svg')
  .addEventListener('click', () => picture.classList.toggle('large')));
document.querySelectorAll('.rest').forEach(takeRest);
document.querySelectorAll('table').forEach(makeSortable);
document.querySelectorAll('.copy').forEach(makeCopyable);
document.querySelectorAll('.timeline').forEach((box) => new Timeline(box));
