import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { gateway, useGateway } from '../../support/gateway.ts';
import { deleteChanges, deleteKeys } from '../../support/maintenance.ts';
import { makeCategory, makePet, mutate } from '../../support/make.ts';
import { lastCursor } from '../../support/settled.ts';

const DAY_MS = 86_400_000;

useGateway();

describe('a gateway whose clock is more than a day ahead', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + DAY_MS + 3_600_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('deletes no idempotency key early', async () => {
    const input = { petId: await makePet(gateway, { stock: 10 }), quantity: 1 };
    const args = { input, idempotencyKey: 'young' };
    const place = () => mutate(gateway, 'placeOrder', args, '... on Order { id }');
    const first = await place();
    await deleteKeys(gateway, DAY_MS);
    expect(await place()).toEqual(first);
  });

  it('deletes no change early', async () => {
    await makeCategory(gateway);
    const after = await lastCursor(gateway);
    await makeCategory(gateway, 'later');
    await lastCursor(gateway);
    await deleteChanges(gateway, DAY_MS);
    const { changes } = await gateway.data(
      'query ($after: String) { changes(after: $after) { nodes { ... on CategoryChange { after { name } } } } }',
      { after },
    );
    expect(changes.nodes).toEqual([{ after: { name: 'later' } }]);
  });
});
