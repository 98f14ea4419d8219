// Pictures of a node and of the fabric of the cluster, as it was resolved.
import { digits, shape } from './answer.js';
import { element } from './form.js';
import { sayWrong, svgText } from './panel.js';

const TILE = 46; // of a GPU or card, with the space around it
const HEIGHT = 30;
const PAD = 8;
const HEAD = 18; // the line of text that a box begins with
const STOREY = 76; // of a level of switches
const MOST_TILES = 200; // of a node: more are said, not drawn

let page, box, wrong;
let shown = '';

// ---- parts -------------------------------------------------------------------------------------

function rect(kind, x, y, width, height) {
  return shape('rect', { class: kind, x, y, width, height, rx: 4 });
}

// What lies in rows of at most WIDTH, from left to right: [{ width, height, draw(x, y) }] as one.
function flow(items, width) {
  const places = [];
  let x = 0,
    y = 0,
    tallest = 0,
    widest = 0;
  for (const one of items) {
    if (x > 0 && x + one.width > width) [x, y, tallest] = [0, y + tallest + PAD, 0];
    places.push([one, x, y]);
    x += one.width + PAD;
    tallest = Math.max(tallest, one.height);
    widest = Math.max(widest, x - PAD);
  }
  return {
    width: widest,
    height: y + tallest,
    draw: (left, top) => places.flatMap(([one, a, b]) => one.draw(left + a, top + b)),
  };
}

// A box with a line of text around INNER.
function framed(kind, name, inner) {
  const width = Math.max(inner.width, 6.4 * name.length) + 2 * PAD,
    height = inner.height + HEAD + 2 * PAD;
  return {
    width,
    height,
    draw: (x, y) => [
      rect(kind, x, y, width, height),
      svgText({ x: x + PAD, y: y + HEAD - 3 }, name),
      ...inner.draw(x + PAD, y + HEAD + PAD / 2),
    ],
  };
}

function tile(kind, name, note) {
  return {
    width: TILE - PAD,
    height: HEIGHT,
    draw: (x, y) => {
      const body = rect(kind, x, y, TILE - PAD, HEIGHT);
      body.append(Object.assign(shape('title'), { textContent: note }));
      return [
        body,
        svgText(
          { class: 'tile', x: x + (TILE - PAD) / 2, y: y + 19, 'text-anchor': 'middle' },
          name,
        ),
      ];
    },
  };
}

// ---- the node ----------------------------------------------------------------------------------

function groupBy(list, key) {
  const all = new Map();
  for (const one of list) all.set(one[key], [...(all.get(one[key]) ?? []), one]);
  return [...all].sort((a, b) => a[0] - b[0]);
}

// GPUs in a row, and cards in the next.
function tiles(devices, node, width) {
  const rows = [
    devices
      .filter(one => one.what === 'GPU')
      .map(one => tile('gpu', `G${one.i}`, `GPU ${one.i}: ${node.gpu.title}`)),
    devices
      .filter(one => one.what === 'card')
      .map(one => tile('card-tile', `N${one.i}`, `card ${one.i}: ${node.card.title}`)),
  ];
  const drawn = rows.filter(row => row.length > 0).map(row => flow(row, width)),
    inside = drawn.reduce((sum, one) => sum + one.height + PAD, -PAD);
  return {
    width: Math.max(...drawn.map(one => one.width)),
    height: inside,
    draw: (x, y) => {
      let top = y;
      return drawn.flatMap(one => {
        const parts = one.draw(x, top);
        top += one.height + PAD;
        return parts;
      });
    },
  };
}

function sockets(node, width) {
  const devices = [
    ...node.gpus.map((one, i) => ({ ...one, i, what: 'GPU' })),
    ...node.cards.map((one, i) => ({ ...one, i, what: 'card' })),
  ];
  const inner = width - 4 * PAD;
  return groupBy(devices, 'socket').map(([socket, own]) => {
    const parts = groupBy(own, 'switch').map(([number, under]) => {
      const inside = tiles(under, node, inner);
      return number < 0 ? inside : framed('pcie', 'PCIe switch', inside);
    });
    return framed('socket', `socket ${socket}`, flow(parts, width - 2 * PAD));
  });
}

// What joins the GPUs: a switch over all of them, or a bow for each pair.
function linksOf({ links, gpus }, width) {
  if (links.kind === 'switch') {
    const name = `${links.title}: ${links.bandwidth}`.slice(0, Math.floor(width / 6.4));
    return {
      height: HEIGHT,
      draw: () => [
        rect('nvlink', 0, 0, width, HEIGHT),
        svgText({ class: 'tile', x: width / 2, y: 19, 'text-anchor': 'middle' }, name),
      ],
    };
  }
  if (links.pairs.length === 0) return null;
  const step = width / gpus.length,
    rise = Math.max(...links.pairs.map(([a, b]) => b - a)) * Math.min(12, 80 / gpus.length) + 6;
  const at = i => (i + 0.5) * step,
    bow = ([a, b]) => {
      const high = rise - (b - a) * Math.min(12, 80 / gpus.length);
      return shape('path', {
        class: 'link',
        d: `M ${at(a)} ${rise} C ${at(a)} ${high} ${at(b)} ${high} ${at(b)} ${rise}`,
      });
    };
  return {
    height: rise + 18,
    draw: () => [
      ...links.pairs.map(bow),
      ...gpus.map((_, i) => svgText({ x: at(i), y: rise + 13, 'text-anchor': 'middle' }, `G${i}`)),
    ],
  };
}

function nodeSentences({ node }) {
  const { links, card, gpu } = node;
  const where = {
    switch: `a switch joins all GPUs, ${links.bandwidth} each way a GPU`,
    mesh: `each two GPUs are joined, ${links.bandwidth} each way a pair`,
    pairs: `pairs of GPUs are bridged, ${links.bandwidth} each way`,
    graph: `some GPUs are joined, ${links.bandwidth} each way a link`,
  }[links.kind];
  return [
    `${node.gpus.length} GPUs: ${gpu.title}, ${gpu.memory}, ${gpu.host_link} to the host.`,
    `Between them: ${links.title}${where ? `; ${where}` : ''}.`,
    card
      ? `${node.cards.length} network card${node.cards.length === 1 ? '' : 's'}: ${card.title}, ` +
        `${card.bandwidth}.`
      : 'No network card.',
    `${node.sockets} socket${node.sockets === 1 ? '' : 's'}` +
      (node.sockets > 1 ? `, ${node.socket_link} between them` : '') +
      `; memory ${node.memory || 'not known'}${node.drives ? `, drives ${node.drives}` : ''}` +
      (node.pcie_uplink ? `; ${node.pcie_uplink} from a PCIe switch up.` : '.'),
  ];
}

function drawNode(machine, width) {
  const { node } = machine;
  const svg = shape('svg', {
    class: 'machine',
    role: 'img',
    'aria-label': `a node: ${nodeSentences(machine).join(' ')}`,
  });
  const body = flow(sockets(node, width), width),
    links = linksOf(node, body.width),
    top = links ? links.height + PAD : 0;
  svg.append(...(links?.draw() ?? []), ...body.draw(0, top));
  svg.setAttribute('viewBox', `-1 -1 ${body.width + 2} ${top + body.height + 2}`);
  svg.setAttribute('width', body.width + 2);
  return svg;
}

// ---- the fabric --------------------------------------------------------------------------------

// From the top: [name of one, how many, what is said of them].
function levels({ fabric, n_nodes, node }) {
  const { kind, leaves, rails, groups } = fabric,
    dragonfly = kind === 'dragonfly';
  const list = [];
  if (groups > 0)
    list.push(
      dragonfly
        ? ['group', groups, `${fabric.group_nodes} nodes each, taper ${digits(fabric.taper)}`]
        : ['core', 1, `oversubscribed ${digits(fabric.spine_oversubscription)}`],
    );
  if (groups > 0 && !dragonfly) list.push(['pod', groups, `${fabric.group_nodes} nodes each`]);
  if (leaves > 0 && groups === 0) list.push(['spine', 1, '']);
  if (leaves > 0)
    list.push([
      kind === 'rails' ? 'rail leaf' : 'leaf',
      leaves * rails,
      `${fabric.leaf_nodes} nodes each, oversubscribed ${digits(fabric.oversubscription)}`,
    ]);
  if (list.length === 0) list.push(['switch', 1, 'nothing is lost in it']);
  list.push([
    'node',
    n_nodes,
    node.card ? `${node.cards.length} x ${node.card.bandwidth}` : 'no network card',
  ]);
  return list;
}

const PLURALS = { leaf: 'leaves', 'rail leaf': 'rail leaves', switch: 'switches' };
const counted = (n, name) => `${digits(n)} ${n === 1 ? name : (PLURALS[name] ?? `${name}s`)}`;

function fabricSentence(machine) {
  return levels(machine)
    .map(([name, n, about]) => `${counted(n, name)}${about ? ` (${about})` : ''}`)
    .join('; below that ');
}

// Of N at most MOST, the last but one standing for those that are not drawn.
function numbersOf(n, most) {
  if (n <= most) return Array.from({ length: n }, (_, i) => String(i));
  return [...Array.from({ length: most - 2 }, (_, i) => String(i)), '…', String(n - 1)];
}

// The boxes of each level: below one of several stands one for all that hangs under it, but under
// rails all nodes hang under all leaves.
function rowsOf(list, width) {
  const most = width < 560 ? 5 : 9,
    rows = [];
  for (const [name, n, about] of list) {
    const above = rows.at(-1),
      alone = !above || above.n === 1 || above.name === 'rail leaf';
    const each = above && !above.alone ? ' each' : '';
    const names = alone
      ? numbersOf(n, above?.name === 'rail leaf' ? 5 : most)
      : above.names.map(one => (one === '…' ? one : counted(Math.ceil(n / above.n), name) + each));
    const wide = n === 1 ? width : Math.min((width - (names.length - 1) * PAD) / names.length, 90),
      left = (width - names.length * wide - (names.length - 1) * PAD) / 2;
    const middle = i => left + i * (wide + PAD) + wide / 2;
    rows.push({ name, n, about, names, wide, alone, middle, y: rows.length * STOREY + 18 });
  }
  return rows;
}

function wires(above, below) {
  return above.names.flatMap((_, i) =>
    below.names
      .map((__, j) => [i, j])
      .filter(([a, b]) => below.alone || a === b)
      .map(([a, b]) =>
        shape('line', {
          class: 'wire',
          x1: above.middle(a),
          y1: above.y + HEIGHT,
          x2: below.middle(b),
          y2: below.y,
        }),
      ),
  );
}

function drawRow({ name, n, about, names, wide, middle, y }) {
  const ends = name === 'node';
  return [
    svgText({ class: 'level', x: 0, y: y - 6 }, `${counted(n, name)}${about ? `: ${about}` : ''}`),
    ...names.flatMap((label, i) => [
      rect(ends ? 'socket' : 'nvlink', middle(i) - wide / 2, y, wide, HEIGHT),
      svgText(
        { class: ends ? '' : 'tile', x: middle(i), y: y + 19, 'text-anchor': 'middle' },
        n === 1 ? name : label,
      ),
    ]),
  ];
}

function drawFabric(machine, width) {
  const rows = rowsOf(levels(machine), width);
  return shape(
    'svg',
    {
      class: 'machine',
      role: 'img',
      viewBox: `-1 -1 ${width + 2} ${rows.length * STOREY - 20}`,
      width: width + 2,
      'aria-label': `the fabric: ${fabricSentence(machine)}`,
    },
    ...rows.slice(1).flatMap((below, i) => wires(rows[i], below)),
    ...rows.flatMap(drawRow),
  );
}

// ---- the panel ---------------------------------------------------------------------------------

function draw(machine) {
  const width = Math.min(Math.max(box.clientWidth - 4, 280), 760),
    { node, fabric } = machine,
    many = node.gpus.length + node.cards.length > MOST_TILES;
  box.replaceChildren(
    element('h3', {}, `${machine.uniform ? 'A node' : 'The first node'}: ${node.title}`),
    ...(many ? [] : [element('div', { class: 'scroll' }, drawNode(machine, width))]),
    element('p', { class: 'soft' }, 'G: a GPU. N: a network card.'),
    element('ul', { class: 'plain' }, ...nodeSentences(machine).map(one => element('li', {}, one))),
    element('h3', {}, `The fabric: ${fabric.title ?? 'one switch over all'}`),
    drawFabric(machine, width),
  );
}

async function update() {
  if (shown === location.hash) return;
  shown = location.hash;
  const answer = await page.post('/api/machine', await page.request());
  if (sayWrong(wrong, answer) || !answer.node) return;
  draw(answer);
}

function build(parent, given) {
  page = given;
  wrong = element('p', { class: 'wrong', role: 'alert' });
  box = element('div', {});
  parent.append(wrong, box);
  return update;
}

export const machinePanel = { id: 'machine', title: 'Node and fabric', build };
