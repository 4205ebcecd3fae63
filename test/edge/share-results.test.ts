import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';

import { type Operation, operationOf } from '../../src/graphql/analysis/operation.ts';
import type { Call } from '../../src/graphql/execution/call.ts';
import { shareResults } from '../../src/graphql/execution/share-results.ts';
import type { Stream } from '../../src/graphql/streams.ts';

/** More than the results that are cached. */
const OPERATIONS = 60;
// A result that is made one at a time.
const estimate = { cost: 2000, bytes: 0, statements: 1 };

const operations = Array.from({ length: OPERATIONS }, (_, index): Operation => {
  const operation = operationOf(
    parse(`subscription { a${index}: petChanged { kind } }`),
    undefined,
  );
  if (!operation) throw new Error('There is no operation.');
  return operation;
});

function openStream(): { stream: Stream; end: () => void } {
  const { signal } = new AbortController();
  const stream = { callerKey: 'any', signal, destroyed: false, close: () => {} };
  const end = (): void => {
    stream.destroyed = true;
  };
  return { stream, end };
}

describe('the results of a change', () => {
  const root = {};

  it('are made once for all streams, however many operations there are', async () => {
    let executions = 0;
    const share = shareResults(async () => {
      executions += 1;
      return { data: {} };
    });
    // In this order no cache of fewer results would have any of the second time.
    const results = [1, 2].flatMap(() =>
      operations.map((operation) => {
        const key = { root, operation, variables: '' };
        return share({} as Call, key, { stream: openStream().stream, estimate });
      }),
    );
    await Promise.all(results);
    expect(executions).toBe(OPERATIONS);
  });

  it('are not made for streams that have ended while they waited', async () => {
    const executed: unknown[] = [];
    const share = shareResults(async ({ operation }) => {
      executed.push(operation);
      return { data: {} };
    });
    const ask = (operation: Operation, stream: Stream) =>
      share({ operation } as Call, { root, operation, variables: '' }, { stream, estimate });
    const [first, left, kept] = operations;
    if (!first || !left || !kept) throw new Error('There are too few operations.');
    const leaving = openStream();
    const results = [
      ask(first, openStream().stream),
      ask(left, leaving.stream),
      ask(kept, leaving.stream),
      ask(kept, openStream().stream),
    ];
    leaving.end();
    await Promise.all(results);
    expect(executed).toEqual([first, kept]);
    // One that comes later does not get the result that was not made.
    expect(await ask(left, openStream().stream)).toEqual({ data: {} });
  });
});
