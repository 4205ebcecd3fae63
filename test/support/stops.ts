import { expect } from 'vitest';

import { Prisma } from '../../src/database/generated/prisma/client.ts';
import { placeOrders } from './callers.ts';
import type { Gateway } from './gateway.ts';
import { makePet } from './make.ts';

const isListening = (gateway: Gateway): Promise<boolean> =>
  gateway.rest('/health').then(
    () => true,
    () => false,
  );

export async function untilNotListening(gateway: Gateway): Promise<void> {
  await expect.poll(() => isListening(gateway)).toBe(false);
}

/**
 * Creates orders and counts all. Their list has 17 MB; the buffers between a gateway and its caller have held
 * more than 4 MB.
 */
async function fillOrders(gateway: Gateway): Promise<number> {
  const petId = BigInt(await makePet(gateway));
  await gateway.db.transaction(async ({ query }) => {
    // Without looking for the pet of each order, which takes half of the time.
    await query(Prisma.sql`set local session_replication_role = replica`);
    for (let statement = 0; statement < 4; statement += 1) {
      await query(Prisma.sql`
        insert into orders (pet_id, quantity) select ${petId}::bigint, 1 from generate_series(1, 50000)`);
    }
  });
  return gateway.db.prisma.order.count();
}

/** Expects that a gateway sends a response that has begun to its end, before it has stopped. */
export async function expectSentToEnd(gateway: Gateway): Promise<void> {
  const count = await fillOrders(gateway);
  const response = await gateway.rest('/store/orders');
  const stopped = gateway.stop().then(() => 'stopped');
  await untilNotListening(gateway);
  expect(await Promise.race([stopped, Promise.resolve('sending')])).toBe('sending');
  expect(await response.json()).toHaveLength(count);
  await stopped;
}

/** Expects that a gateway places no order without a response while it stops under load. */
export async function expectOrdersAnswered(gateway: Gateway): Promise<void> {
  const petId = await makePet(gateway, { stock: 1_000_000 });
  const placed: string[] = [];
  const callers = Array.from({ length: 20 }, () => placeOrders(gateway, petId, placed));
  await expect.poll(() => placed.length).toBeGreaterThan(20);
  await gateway.stop();
  for (const error of await Promise.all(callers)) {
    // The last code: fetch had connected, but its request had not arrived.
    const code = expect.stringMatching(/^(ECONN(REFUSED|RESET)|UND_ERR_SOCKET)$/);
    expect(error).toMatchObject({ cause: { code } });
  }
  const where = { petId: BigInt(petId) };
  expect(await gateway.db.prisma.order.count({ where })).toBe(placed.length);
}
