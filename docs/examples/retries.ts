const keys = new Map<string, string>();

/**
 * Returns the idempotency key of what the user asks for, such as an order's pet and quantity: always the same key until
 * `forgetKey` is called, because a new one would make the write again.
 */
export function keyFor(wanted: object): string {
  const name = JSON.stringify(wanted);
  const key = keys.get(name) ?? crypto.randomUUID();
  keys.set(name, key);
  return key;
}

/** Call this once the gateway has answered with data: the next write is another one. */
export const forgetKey = (wanted: object): unknown => keys.delete(JSON.stringify(wanted));
