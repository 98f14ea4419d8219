// Values that are worth trying of an option, by its kind, and of some figures of the hardware.
import { findOption, fullKey, state } from './form.js';

const FIGURES = {
  'nic.bandwidth': '100 Gbit/s..800 Gbit/s:4',
  'intra.bandwidth': '150 GB/s..1200 GB/s:4',
  'gpu.hbm_bandwidth': '2 TB/s..8 TB/s:4',
  'gpu.matmul_16bit': '500 TFLOP/s..4000 TFLOP/s:4',
};
const MOST = 8; // words of a choice

export const figures = Object.keys(FIGURES);

const inRange = (option, value) =>
  (option.min === null || value >= option.min) && (option.max === null || value <= option.max);

// Half of VALUE, and VALUE doubled up to eight times it.
function around(value, option) {
  const base = value > 0 ? value : 1;
  return [0.5, 1, 2, 4, 8]
    .map(factor => base * factor)
    .filter(one => inRange(option, one) && (option.type !== 'number' || Number.isInteger(one)));
}

// "1, 2, 4", or '' where nothing is known of KEY.
export function suggestedValues(key) {
  if (FIGURES[key]) return FIGURES[key];
  const option = findOption(fullKey(key));
  if (!option) return '';
  const now = state.set[fullKey(key)] ?? option.default ?? option.example ?? '';
  if (option.type === 'switch') return 'false, true';
  if (option.type === 'word')
    return option.choices
      .filter(word => !word.includes('K'))
      .slice(0, MOST)
      .join(', ');
  const [, number, unit] = /^([\d.]+)\s*(.*)$/.exec(now) ?? [];
  if (number === undefined) return '';
  return around(Number(number), option)
    .map(one => `${one} ${unit}`.trim())
    .join(', ');
}
