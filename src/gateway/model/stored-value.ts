/** The types that JSON has lost, by the paths of their values; for a value that is not an object, only its own type. */
type LostTypes = Readonly<Record<string, readonly [type: string]>> | readonly [type: string];

/**
 * A value as JSON. This is the format of superjson 2, which 4.0 used. Its text must not change, so that gateways of two
 * releases recognize each other's inputs and return each other's results.
 */
export interface StoredValue {
  readonly json: unknown;
  readonly meta?: { readonly values?: LostTypes; readonly v: number };
}

const isOwnType = (types: LostTypes): types is readonly [type: string] => Array.isArray(types);

const isPlain = (value: object): boolean =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));

const escapeKey = (key: string): string => key.replaceAll('\\', '\\\\').replaceAll('.', '\\.');

/** Returns the types that JSON loses; undefined if there are none. */
function findLostTypes(value: unknown): LostTypes | undefined {
  if (value === undefined || typeof value === 'bigint') return [typeof value];
  if (value instanceof Date) return ['Date'];
  if (typeof value !== 'object' || value === null) return undefined;
  if (!isPlain(value)) throw new Error(`A ${value.constructor.name} can't be stored.`);
  const types = Object.entries(value).flatMap(([key, inner]) => {
    const lost = findLostTypes(inner) ?? {};
    const start = escapeKey(key);
    if (isOwnType(lost)) return [[start, lost] as const];
    return Object.entries(lost).map(([path, type]) => [`${start}.${path}`, type] as const);
  });
  return types.length > 0 ? Object.fromEntries(types) : undefined;
}

/** Returns the text of a value in the format of StoredValue. */
export function stringifyStored(value: unknown): string {
  const values = findLostTypes(value);
  const stored = { json: value, ...(values && { meta: { values, v: 1 } }) };
  return JSON.stringify(stored, (_key, inner: unknown) =>
    typeof inner === 'bigint' ? String(inner) : (inner ?? null),
  );
}

function parseLost(type: string, json: unknown): unknown {
  if (type === 'undefined') return undefined;
  if (type === 'bigint') return BigInt(String(json));
  if (type === 'Date') return new Date(String(json));
  throw new Error(`A stored value has the unknown type ${type}.`);
}

/** Returns the value that was stored. */
export function parseStored({ json, meta }: StoredValue): unknown {
  const { values = {} } = meta ?? {};
  if (isOwnType(values)) return parseLost(values[0], json);
  const types = new Map(Object.entries(values));
  const parse = (inner: unknown, start: string): unknown => {
    if (typeof inner !== 'object' || inner === null) return inner;
    const entries = Object.entries(inner).map(([key, value]) => {
      const path = start + escapeKey(key);
      const [type] = types.get(path) ?? [];
      return [key, type ? parseLost(type, value) : parse(value, `${path}.`)] as const;
    });
    return Array.isArray(inner) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
  };
  return parse(json, '');
}
