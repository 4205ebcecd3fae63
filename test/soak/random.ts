import { randomInt } from 'node:crypto';

/** Returns a whole number from `least` to `most`, both included. */
export const whole = (least: number, most: number): number => randomInt(least, most + 1);

export function pick<Item>(items: readonly Item[]): Item {
  const item = items[randomInt(items.length)];
  if (item === undefined) throw new Error('There is nothing to choose from.');
  return item;
}
