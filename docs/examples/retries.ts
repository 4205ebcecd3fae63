const keys = new Map<string, string>();

/**
 * Returns the idempotency key for what the user wants, such as a pet and a quantity. It stays the same until `forgetKey` is
 * called, because a new key would write again.
 */
export function keyFor(wanted: object): string {
  const name = JSON.stringify(wanted);
  const key = keys.get(name) ?? crypto.randomUUID();
  keys.set(name, key);
  return key;
}

/** Call this once the gateway has answered with data: the next write is another one. */
export const forgetKey = (wanted: object): unknown => keys.delete(JSON.stringify(wanted));

// Nothing was written, or it is not known whether it was: a request with a key can be repeated.
const CODES: readonly unknown[] = ['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN'];

interface ResultError {
  readonly path?: readonly unknown[] | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Whether the request, or one of its mutations, failed with an error after which it can be repeated. An error below a
 * mutation's field, such as that of an order's pet, is not one: the order was placed.
 */
export const mayPass = (errors: readonly ResultError[] = []): boolean =>
  errors.some(
    ({ path = [], extensions }) => path.length < 2 && CODES.includes(extensions?.['code']),
  );
