import { setTimeout as sleep } from 'node:timers/promises';

import { FAILOVERS } from './failovers.ts';
import type { Fault, Stop, World } from './fault.ts';
import type { Journal } from './journal.ts';
import { NEIGHBOURS } from './neighbours.ts';
import { OUTAGES } from './outages.ts';

const FAULTS: readonly Fault[] = [...NEIGHBOURS, ...OUTAGES, ...FAILOVERS];
const MAX_AT_ONCE = 3;
const MAX_OFFSET_MS = 3000;
const MIN_DURATION_MS = 500;
const MAX_DURATION_MS = 8000;
const MAX_RECOVERY_MS = 30_000;
const MIN_REST_MS = 3500;
const MAX_REST_MS = 6000;

/** The names of all faults, for `--only`. */
export const FAULT_NAMES: readonly string[] = FAULTS.map(({ name }) => name);

/** Chooses one to three faults with different targets; the first is one of the rarest so far. */
function choose(world: World, { injected }: Journal, names: readonly string[]): Fault[] {
  const { random } = world;
  const possible = FAULTS.filter((fault) => fault.isPossible(world) && names.includes(fault.name));
  if (possible.length === 0) throw new Error('None of these faults is possible here.');
  const timesOf = ({ name }: Fault): number => injected.get(name) ?? 0;
  const fewest = Math.min(...possible.map(timesOf));
  const chosen = [random.pick(possible.filter((fault) => timesOf(fault) === fewest))];
  while (chosen.length < MAX_AT_ONCE && random.chance(0.5)) {
    const fault = random.pick(possible);
    if (chosen.every(({ target }) => target !== fault.target)) chosen.push(fault);
  }
  return chosen;
}

/** Starts a fault and ends it, at random times. */
async function inject(fault: Fault, world: World, journal: Journal): Promise<void> {
  const [offset, duration] = [
    world.random.whole(0, MAX_OFFSET_MS),
    world.random.whole(MIN_DURATION_MS, MAX_DURATION_MS),
  ];
  await sleep(offset);
  const stop: Stop = await fault.start(world);
  journal.print(`${fault.name}, for ${duration} ms`);
  await sleep(duration);
  await stop();
}

/** Waits until the gateway is ready again; it must be in bounded time. */
async function recover({ gateway }: World, journal: Journal): Promise<void> {
  const from = performance.now();
  let hasViolated = false;
  while (!(await gateway.isReady())) {
    if (!hasViolated && performance.now() - from > MAX_RECOVERY_MS) {
      hasViolated = true;
      journal.violate(`It is not ready ${MAX_RECOVERY_MS} ms after the faults: the soak kills it.`);
      gateway.kill();
    }
    await sleep(50);
  }
  journal.maxRecoveryMs = Math.max(journal.maxRecoveryMs, performance.now() - from);
}

/** Injects a few faults at once, ends them, and leaves the gateway undisturbed for a while. */
export async function runRound(
  world: World,
  journal: Journal,
  names: readonly string[],
): Promise<void> {
  const { gateway, random } = world;
  const faults = choose(world, journal, names);
  const mayEnd = new Set(faults.map(({ gatewayMayEnd }) => gatewayMayEnd));
  if (mayEnd.has('at any time')) gateway.mayEnd = 'at any time';
  else if (mayEnd.has('at its start')) gateway.mayEnd = 'at its start';
  for (const fault of faults) journal.start(fault);
  await Promise.all(faults.map((fault) => inject(fault, world, journal)));
  await recover(world, journal);
  if (gateway.mayEnd === 'at any time') gateway.mayEnd = 'never';
  journal.stop(faults);
  gateway.rotateLog();
  await sleep(random.whole(MIN_REST_MS, MAX_REST_MS));
  // A worker that started during an outage of the database may end a few seconds after it.
  gateway.mayEnd = 'never';
}
