import { type ErrorCode, ERRORS, StoreError, Unauthenticated } from '../contract/errors.ts';
import {
  type HeaderField,
  type HeaderFields,
  lifecycleHead,
  lifecycleOf,
  type RestOperation,
  type SunsetConfig,
  type OpenApiConfig,
} from './operation.ts';
import { SCHEMAS } from './schemas.ts';

/** What node:http refuses before it knows the path: the answer can't tell an operation's life. */
const EARLY_ERRORS: readonly ErrorCode[] = ['REQUEST_TIMEOUT', 'HEADERS_TOO_LARGE'];

/** What can go wrong with any request; the path of a bad one may be known or not. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'BAD_REQUEST',
  ...EARLY_ERRORS,
  'URI_TOO_LONG',
  'INTERNAL_SERVER_ERROR',
  'SERVICE_UNAVAILABLE',
];

/** What is asked of a caller; `headers` has the challenge that any such answer has. */
function accessOf({ auth }: OpenApiConfig): { errors: ErrorCode[]; headers: HeaderFields } {
  if (!auth) return { errors: [], headers: {} };
  const { headers } = new Unauthenticated();
  return {
    errors: auth.readIsOpen ? ['UNAUTHENTICATED'] : ['UNAUTHENTICATED', 'FORBIDDEN'],
    headers: toFields(headers),
  };
}

const errorsOf = (operation: RestOperation, config: OpenApiConfig): ErrorCode[] => [
  ...operation.errors,
  ...accessOf(config).errors,
  ...(lifecycleOf(operation).deprecatedSince ? (['GONE'] as const) : []),
  ...COMMON_ERRORS,
  ...(config.checksHost ? (['MISDIRECTED_REQUEST'] as const) : []),
];

const mapValues = <Value, Result>(
  object: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  Link: 'Where this API is described, and what comes next (RFC 8288).',
  Deprecation: 'Since when it is deprecated, in seconds since 1970 (RFC 9745).',
  Sunset: 'When it may stop working (RFC 8594).',
  'WWW-Authenticate': 'What the token lacks (RFC 6750).',
};

/** Headers as they are sent, with what each says. */
const toFields = (headers: Readonly<Record<string, string>>): HeaderFields =>
  mapValues(headers, (example, name) => ({ description: DESCRIPTIONS[name] ?? name, example }));

/** The headers that every answer has, refusals too. */
const COMMON_FIELDS: HeaderFields = {
  'X-Request-Id': {
    description: 'Names the request in the log: the id that it came with, or a new one.',
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  },
};

/** The headers that tell the life of an operation, as it sends them. */
function lifecycleFields(operation: RestOperation, sunset: SunsetConfig): HeaderFields {
  const { headers, links = [] } = lifecycleHead(operation, sunset);
  return toFields({ Link: links.join(', '), ...headers });
}

const toHeader = (field: HeaderField, required: boolean): object => ({
  ...field,
  required,
  schema: { type: 'string' },
});

const referTo = (fields: HeaderFields): object =>
  mapValues(fields, (_field, name) => ({ $ref: `#/components/headers/${name}` }));

/** One answer for all codes of a status: a caller tells them apart by their code. */
const toErrorResponse = (codes: readonly ErrorCode[], headers: object = {}): object => ({
  description: codes.map((code) => ERRORS[code].description).join(' '),
  headers: { ...referTo(COMMON_FIELDS), ...headers },
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(
        codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
      ),
    },
  },
});

function toErrorResponses(
  operation: RestOperation,
  fields: HeaderFields,
  config: OpenApiConfig,
): Record<string, object> {
  const codes = errorsOf(operation, config);
  const access = accessOf(config);
  const responses = codes.map((code) => {
    const { status } = ERRORS[code];
    const group = codes.filter((other) => ERRORS[other].status === status);
    if (EARLY_ERRORS.includes(code)) return [status, { $ref: `#/components/responses/${code}` }];
    const headers = group.includes('BAD_REQUEST')
      ? mapValues(fields, (field) => toHeader(field, false))
      : referTo({ ...fields, ...(access.errors.includes(code) && access.headers) });
    return [status, toErrorResponse(group, headers)];
  });
  return Object.fromEntries(responses);
}

/** Every answer of an operation. */
export function toResponses(
  operation: RestOperation,
  config: OpenApiConfig,
): Record<string, object> {
  const { result } = operation;
  const fields = lifecycleFields(operation, config);
  const headers = referTo({ ...COMMON_FIELDS, ...fields, ...result.headers });
  return {
    200: {
      description: result.description,
      headers,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${result.schema}` },
          example: SCHEMAS[result.schema].example,
        },
      },
    },
    ...('ETag' in result.headers && {
      304: { description: 'The caller has it already.', headers },
    }),
    ...toErrorResponses(operation, fields, config),
  };
}

/** What the answers of the operations have in common. */
export function toComponents(operations: readonly RestOperation[], config: OpenApiConfig): object {
  // Of a header that several have, the example is that of the first.
  const fields = operations
    .toReversed()
    .flatMap((operation) =>
      Object.entries({ ...lifecycleFields(operation, config), ...operation.result.headers }),
    );
  const codes = operations.flatMap((operation) => errorsOf(operation, config));
  const headers = { ...Object.fromEntries(fields), ...accessOf(config).headers };
  return {
    headers: mapValues({ ...COMMON_FIELDS, ...headers }, (field) => toHeader(field, true)),
    examples: Object.fromEntries(
      codes.map((code) => [code, { value: new StoreError(code).toJSON() }]),
    ),
    responses: Object.fromEntries(EARLY_ERRORS.map((code) => [code, toErrorResponse([code])])),
  };
}
