/**
 * A value as JSON, with the types that JSON has lost, by the paths of their values. This is the format of superjson 2,
 * which 4.0 used. Its text must not change, so that gateways of two releases recognize each other's inputs and return each
 * other's results.
 */
export interface StoredValue {
  readonly json: unknown;
  readonly meta?: {
    readonly values?: Readonly<Record<string, readonly [type: string]>>;
    readonly v: number;
  };
}

const isPlain = (value: object): boolean =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));

const pathOf = (outer: string, key: string): string =>
  `${outer && `${outer}.`}${key.replaceAll('\\', '\\\\').replaceAll('.', '\\.')}`;

/** Yields the types that JSON loses. The path of the whole value is empty. */
function* findLostTypes(value: unknown, path = ''): Generator<[path: string, type: [string]]> {
  if (value === undefined || typeof value === 'bigint') yield [path, [typeof value]];
  if (value instanceof Date) yield [path, ['Date']];
  else if (typeof value === 'object' && value !== null) {
    if (!isPlain(value)) throw new Error(`A ${value.constructor.name} can't be stored.`);
    for (const [key, inner] of Object.entries(value)) {
      yield* findLostTypes(inner, pathOf(path, key));
    }
  }
}

/** Returns a value as JSON, in which ids are strings, and undefined is null. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'bigint' ? String(inner) : (inner ?? null),
  );

/** Returns the text of a value in the format of StoredValue. */
export function stringifyStored(value: unknown): string {
  const lost = [...findLostTypes(value)];
  const meta = lost.length > 0 && { meta: { values: Object.fromEntries(lost), v: 1 } };
  return toJson({ json: value, ...meta });
}

function parseLost(type: string, json: unknown): unknown {
  if (type === 'undefined') return undefined;
  if (type === 'bigint') return BigInt(String(json));
  if (type === 'Date') return new Date(String(json));
  throw new Error(`A stored value has the unknown type ${type}.`);
}

/** Returns the value that was stored. */
export function parseStored({ json, meta }: StoredValue): unknown {
  const types = new Map(Object.entries(meta?.values ?? {}));
  const parse = (value: unknown, path: string): unknown => {
    const [type] = types.get(path) ?? [];
    if (type !== undefined) return parseLost(type, value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value))
      return value.map((inner, index) => parse(inner, pathOf(path, `${index}`)));
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, parse(inner, pathOf(path, key))]),
    );
  };
  return parse(json, '');
}
