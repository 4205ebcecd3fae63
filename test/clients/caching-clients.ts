import { getIntrospectionQuery, parse } from 'graphql';
import { filter, firstValueFrom } from 'rxjs';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import { createUrqlClient } from '../../docs/examples/urql/client.ts';
import type { Gateway } from '../support/gateway.ts';
import { readPossibleTypes } from './possible-types.ts';

// The operation determines the shape of the data.
// oxlint-disable-next-line typescript/no-explicit-any
export type Data = any;
type Variables = Record<string, unknown>;

/** A query shown on a screen, which follows changes to the cache. */
export interface Shown {
  /** The data shown now. */
  readonly data: Data;
  /** Loads the page after a cursor. */
  loadNext(after: string): Promise<unknown>;
}

/** The common interface of Apollo Client and urql. */
export interface CachingClient {
  /** Returns the data of a query, from the cache if possible. */
  query(text: string, variables: Variables): Promise<Data>;
  /** Runs a query and shows its data until the client is stopped. */
  show(text: string, variables: Variables): Promise<Shown>;
  mutate(text: string, variables: Variables): Promise<{ data: Data; error: Error | undefined }>;
  stop(): void;
}

/** Returns a function that creates clients of a gateway. */
export type Connect = (
  gateway: Gateway,
) => Promise<(fetch: typeof globalThis.fetch) => CachingClient>;

const orThrow = ({ data, error }: { data?: Data; error?: Error | undefined }): Data => {
  if (error) throw error;
  return data;
};

export const connectApollo: Connect = async ({ url }) => {
  const possibleTypes = await readPossibleTypes(url);
  return (fetch) => {
    const client = createApolloClient(`${url}/graphql`, possibleTypes, { fetch });
    return {
      query: async (text, variables) =>
        orThrow(await client.query({ query: parse(text), variables })),
      show: async (text, variables) => {
        const watched = client.watchQuery<Data>({ query: parse(text), variables });
        watched.subscribe(() => {});
        const loaded = () => firstValueFrom(watched.pipe(filter(({ loading }) => !loading)));
        await loaded();
        return {
          get data() {
            return watched.getCurrentResult().data;
          },
          loadNext: async (after) => {
            await watched.fetchMore({ variables: { after } });
            await loaded();
          },
        };
      },
      mutate: async (text, variables) => {
        const { data, error } = await client.mutate({ mutation: parse(text), variables });
        return { data, error };
      },
      stop: () => client.stop(),
    };
  };
};

export const connectUrql: Connect = async (gateway) => {
  const schema = await gateway.data(getIntrospectionQuery());
  return (fetch) => {
    const client = createUrqlClient(`${gateway.url}/graphql`, schema, { fetch });
    const subscriptions: { unsubscribe(): void }[] = [];
    const query: CachingClient['query'] = async (text, variables) =>
      orThrow(await client.query(text, variables));
    return {
      query,
      show: async (text, variables) => {
        let data: Data;
        const subscription = client.query(text, variables).subscribe((result) => {
          ({ data } = result);
        });
        subscriptions.push(subscription);
        await query(text, variables);
        return {
          get data() {
            return data;
          },
          loadNext: (after) => query(text, { ...variables, after }),
        };
      },
      mutate: async (text, variables) => {
        const { data, error } = await client.mutation(text, variables);
        return { data, error };
      },
      stop: () => {
        for (const subscription of subscriptions) subscription.unsubscribe();
      },
    };
  };
};
