import { Repeater, type Push, type Stop } from '@repeaterjs/repeater';
import { describe, expect, it } from 'vitest';

import { ChangeStream } from '../../src/changes/change-stream.ts';
import type { Change } from '../../src/changes/record.ts';

// More than a stream holds.
const BURST = 1500;

const changesFrom = (first: number, count: number): Change[] =>
  Array.from({ length: count }, (_, index) => ({
    transaction: BigInt(first + index),
    id: 1n,
    type: 'Pet',
    rowId: 1n,
    kind: 'updated',
    changedAt: new Date(0),
    before: {},
    after: {},
  }));

/** Opens a stream whose changes are taken as fast as they come, and notes their transactions. */
async function openStream(): Promise<{ stream: ChangeStream; taken: bigint[]; close: () => void }> {
  const taken: bigint[] = [];
  const closing = new AbortController();
  const subscription = {
    type: 'Pet',
    after: undefined,
    filter: undefined,
    callerKey: 'any',
    signal: new AbortController().signal,
  } as const;
  const stream = await new Promise<ChangeStream>((resolve) => {
    const changes = new Repeater<Change>(async (push: Push<Change>, stop: Stop) => {
      closing.signal.addEventListener('abort', () => stop());
      resolve(new ChangeStream(subscription, undefined, push, stop));
      await stop;
    });
    void (async () => {
      for await (const { transaction } of changes) taken.push(transaction);
    })();
  });
  return { stream, taken, close: () => closing.abort() };
}

describe('a stream of changes', () => {
  it('does not go back to an earlier burst if another one comes while old changes are read', async () => {
    const { stream, taken, close } = await openStream();
    stream.wait();
    const following = stream.followUntilBehind();
    for (const change of changesFrom(1, BURST)) stream.receive(change);
    const end = await following;
    expect(end).toMatchObject({ transaction: taken.at(-1) });
    // It has read what is between the two, and meanwhile too much comes again.
    stream.wait();
    await stream.giveAll(changesFrom(taken.length + 1, 10));
    for (const change of changesFrom(taken.length + 1, BURST)) stream.receive(change);
    expect(await stream.followUntilBehind()).toBeUndefined();
    close();
  });
});
