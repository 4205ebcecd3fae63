import {
  type Environment,
  fetchQuery,
  type GraphQLResponse,
  Observable,
  type OperationType,
  type RecordSourceSelectorProxy,
  requestSubscription,
  type SubscribeFunction,
} from 'relay-runtime';

import type { PetChange } from '../live-operations.ts';
import { follow, type Follower, type Subscribe } from '../live.ts';
import { cursorQuery, petChangedSubscription } from './live-pets.ts';

/** Creates the function for `Network.create` that sends subscriptions by `subscribe`. */
export const createLiveFunction =
  (subscribe: Subscribe): SubscribeFunction =>
  ({ text, name }, variables) =>
    Observable.create((sink) => {
      const request = { query: text ?? '', operationName: name, variables };
      return subscribe(request, {
        next: (result) => sink.next(result as GraphQLResponse),
        error: (error) => sink.error(error as Error),
        complete: () => sink.complete(),
      });
    });

// An app takes these from the files that the compiler generates.
interface ReadCursor extends OperationType {
  readonly response: {
    readonly changes: { readonly pageInfo: { readonly endCursor: string | null } };
  };
}
interface PetChanged extends OperationType {
  readonly response: { readonly petChanged: PetChange & { readonly before: object | null } };
}

/** Removes a deleted pet from the store. */
function updater(store: RecordSourceSelectorProxy<PetChanged['response']>): void {
  const change = store.getRootField('petChanged');
  const before = change?.getLinkedRecord('before');
  if (before && change?.getValue('kind') === 'DELETED') store.delete(before.getDataID());
}

type GraphqlError = Error & {
  readonly source?: { readonly errors: readonly { extensions?: { code?: string } }[] };
};

const isExpired = ({ source }: GraphqlError): boolean =>
  source?.errors.some(({ extensions }) => extensions?.code === 'CURSOR_EXPIRED') ?? false;

/** Reads pets and follows their changes; returns a function that ends that. */
export const followPets = (
  environment: Environment,
  ids: string[],
  { readRows, onChange, onError }: Follower<PetChange>,
): Promise<() => void> =>
  follow(async (again) => {
    // The cursor first: rows may be newer than it, not older.
    const last = await fetchQuery<ReadCursor>(environment, cursorQuery, {}).toPromise();
    const after = last?.changes.pageInfo.endCursor;
    await readRows();
    const subscription = requestSubscription<PetChanged>(environment, {
      subscription: petChangedSubscription,
      variables: { ids, after },
      updater,
      onNext: (data) => data && onChange(data.petChanged),
      onError: (error) => (isExpired(error) ? again() : onError(error)),
    });
    return () => subscription.dispose();
  }, onError);
