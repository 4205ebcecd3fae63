import type { FormattedExecutionResult } from 'graphql';

import { CURSOR, PET_CHANGED, type PetChange } from './live-operations.ts';
import { follow, type Follower, type Subscribe } from './live.ts';

/** A gateway and how to reach it. */
export interface Connection {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly subscribe: Subscribe;
}

async function readCursor({ url, fetch: send }: Connection): Promise<string | null> {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ query: CURSOR });
  const response = await send(url, { method: 'POST', headers, body });
  const { data } = await response.json();
  return data.changes.pageInfo.endCursor;
}

const isExpired = ({ errors = [] }: FormattedExecutionResult): boolean =>
  errors.some(({ extensions }) => extensions?.['code'] === 'CURSOR_EXPIRED');

/** Reads pets and follows their changes; returns a function that ends that. */
export const followPets = (
  connection: Connection,
  ids: string[],
  { readRows, onChange, onError }: Follower<PetChange>,
): Promise<() => void> =>
  follow(async (again) => {
    // The cursor first: rows may be newer than it, not older.
    const after = await readCursor(connection);
    await readRows();
    const request = { query: PET_CHANGED, variables: { ids, after } };
    return connection.subscribe(request, {
      next: (result) => {
        if (result.data) onChange(result.data['petChanged'] as PetChange);
        else if (isExpired(result)) again();
        else onError(result.errors);
      },
      error: onError,
      complete: () => {},
    });
  }, onError);
