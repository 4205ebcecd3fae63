import { isDeepStrictEqual as isEqual } from 'node:util';

/** What can break a caller. */
type Kind =
  | `${'operation' | 'parameter' | 'status' | 'content' | 'header' | 'schema' | 'property'}-removed`
  | `${'operation-id' | 'type'}-changed`
  | `${'security' | 'null' | 'value'}-added`
  | `parameter-${'required' | 'narrowed'}`
  | 'property-optional';

type Findings = Generator<[kind: Kind, subject: string]>;
type Seen = [before: Schema, after: Schema][];

interface Schema {
  [word: string]: unknown;
  'x-name'?: string;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

interface Operation {
  operationId?: string;
  deprecated?: boolean;
  'x-sunset'?: string;
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema }[];
  responses: Record<string, Response>;
  security?: object[];
}

interface Response {
  headers?: object;
  content?: Record<string, { schema?: Schema }>;
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
  security?: object[];
}

const FORM = ['type', 'format', 'allOf', 'anyOf', 'oneOf', 'not'];
const LIMITS = { minimum: 1, minLength: 1, minItems: 1, maximum: -1, maxLength: -1, maxItems: -1 };
const CONDITIONS = ['pattern', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum', 'uniqueItems'];

/** Replaces each `$ref` by its target; a recursive schema becomes a cycle. */
function inline(root: object, part: object): void {
  for (const [key, value] of Object.entries(part)) {
    let target = value;
    while (target?.$ref) {
      const [, ...steps]: string[] = target.$ref.split('/');
      target = steps.reduce((found, step) => Object(found)[step], root);
      if (!target) throw new Error(`There is no ${value.$ref}.`);
    }
    if (target !== value) Object.assign(part, { [key]: target });
    else if (typeof value === 'object' && value !== null) inline(root, value);
  }
}

/** The operations, `GET /path`, and the named schemas of a document. */
function read(document: object) {
  const copy = structuredClone(document) as OpenApi;
  const { paths, components: { schemas = {} } = {}, security = [] } = copy;
  for (const [name, schema] of Object.entries(schemas)) schema['x-name'] = name;
  inline(copy, copy);
  const operations = new Map<string, Operation>();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      operations.set(`${method.toUpperCase()} ${path}`, { security, ...operation });
      if ('requestBody' in operation || !operation.responses)
        throw new Error(`There is no comparing ${method} of ${path}.`);
    }
  return { operations, schemas };
}

const gone = (before: object = {}, after: object = {}): string[] =>
  Object.keys(before).filter((name) => !(name in after));

const kept = <Part>(before: Record<string, Part> = {}, after: Record<string, Part> = {}) =>
  Object.entries(before).flatMap(([name, old]): [string, Part, Part][] =>
    name in after ? [[name, old, after[name] ?? old]] : [],
  );

const hasOtherForm = (before: Schema, after: Schema): boolean =>
  FORM.some((word) => !isEqual(before[word], after[word]));

const hasValueOutside = (schema: Schema, { enum: values }: Schema): boolean =>
  values !== undefined && !schema.enum?.every((value) => values.includes(value));

const isNarrowed = (before: Schema = {}, after: Schema = {}): boolean =>
  hasOtherForm(before, after) ||
  hasValueOutside(before, after) ||
  Object.entries(LIMITS)
    .filter(([word]) => word in after)
    .some(([word, sign]) => !(Number(after[word]) * sign <= Number(before[word]) * sign)) ||
  CONDITIONS.some((word) => Boolean(after[word]) && after[word] !== before[word]) ||
  (before.items !== undefined && isNarrowed(before.items, after.items));

function* compareParameters(before: Operation, after: Operation): Findings {
  const [olds, news] = [before, after].map(({ parameters = [] }) =>
    Object.fromEntries(parameters.map((one) => [`${one.in} parameter ${one.name}`, one])),
  );
  for (const name of gone(olds, news)) yield ['parameter-removed', name];
  for (const [name, old, next] of kept(olds, news))
    if (isNarrowed(old.schema, next.schema)) yield ['parameter-narrowed', name];
  for (const [name, { required }] of Object.entries(news ?? {}))
    if (required && !olds?.[name]?.required) yield ['parameter-required', name];
}

function* compareValues(before: Schema, after: Schema, subject: string): Findings {
  if (hasOtherForm(before, after)) yield ['type-changed', subject];
  // Callers have to expect errors that they do not know.
  if (subject !== 'Error.code' && hasValueOutside(after, before)) yield ['value-added', subject];
  const { properties, required } = after;
  for (const name of gone(before.properties, properties))
    yield ['property-removed', `${subject}.${name}`];
  for (const name of before.required ?? [])
    if (properties?.[name] && !required?.includes(name))
      yield ['property-optional', `${subject}.${name}`];
}

function* compareSchemas(before: Schema, after: Schema, place: string, seen: Seen): Findings {
  if (seen.some(([old, next]) => old === before && next === after)) return;
  seen.push([before, after]);
  const { 'x-name': subject = place, items } = before;
  if (after['nullable'] && !before['nullable']) yield ['null-added', subject];
  yield* compareValues(before, after, subject);
  for (const [name, old, next] of kept(before.properties, after.properties))
    yield* compareSchemas(old, next, `${subject}.${name}`, seen);
  if (items) yield* compareSchemas(items, after.items ?? {}, `${subject}[]`, seen);
}

function* compareAnswer(before: Response, after: Response, status: string, seen: Seen): Findings {
  for (const name of gone(before.headers, after.headers))
    yield ['header-removed', `${name} of ${status}`];
  for (const type of gone(before.content, after.content))
    yield ['content-removed', `${type} of ${status}`];
  for (const [, { schema = {} }, next] of kept(before.content, after.content))
    yield* compareSchemas(schema, next.schema ?? {}, `answer ${status}`, seen);
}

function* compareOperations(before: Operation, after: Operation, seen: Seen): Findings {
  const { operationId, security, responses } = before;
  if (operationId !== undefined && operationId !== after.operationId)
    yield ['operation-id-changed', operationId];
  if (after.security?.length && !isEqual(security, after.security)) yield ['security-added', 'all'];
  yield* compareParameters(before, after);
  for (const status of gone(responses, after.responses))
    if (/^(2|304)/.test(status)) yield ['status-removed', `status ${status}`];
  for (const [status, old, next] of kept(responses, after.responses))
    yield* compareAnswer(old, next, status, seen);
}

function* compareDocuments(released: object, current: object) {
  const [before, after] = [read(released), read(current)];
  const seenInAny: Seen = [];
  for (const [place, old] of before.operations) {
    const next = after.operations.get(place);
    const seen: Seen = [];
    const hasEnded = old.deprecated && Date.parse(old['x-sunset'] ?? '') < Date.now();
    if (next) for (const found of compareOperations(old, next, seen)) yield { place, found };
    else if (!hasEnded) yield { place, found: ['operation-removed', 'all'] as const };
    seenInAny.push(...seen);
  }
  for (const name of gone(before.schemas, after.schemas))
    yield { place: `components/schemas/${name}`, found: ['schema-removed', name] as const };
  // A change in a response is reported for its operation.
  for (const [name, old, next] of kept(before.schemas, after.schemas))
    for (const found of compareSchemas(old, next, name, seenInAny))
      yield { place: `components/schemas/${name}`, found };
}

/** What breaks callers of a released OpenAPI document in the current one. */
export const findOpenApiChanges = (released: object, current: object) =>
  [...compareDocuments(released, current)].map(({ place, found: [kind, subject] }) => ({
    coordinate: `${place} ${kind}`,
    message: `${place}: ${kind.replaceAll('-', ' ')}, ${subject}.`,
  }));
