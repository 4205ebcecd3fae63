import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { expect } from 'vitest';

import { readConfig } from '../../src/gateway/config/config.ts';
import { toOpenApi } from '../../src/gateway/transport/rest/openapi.ts';
import { petStore } from '../../src/store/index.ts';

type Referenced<Value> = Value | { $ref: string };

interface DocumentedResponse {
  headers?: Record<string, object>;
  content?: Record<string, { schema: { $ref: string }; examples?: Record<string, unknown> }>;
}

/** The parts of an OpenAPI document that the tests use. */
export interface OpenApi {
  openapi: string;
  info: { version: string };
  paths: Record<
    string,
    {
      get: Record<`x-${string}`, unknown> & {
        operationId: string;
        description: string;
        deprecated?: boolean;
        responses: Record<string, Referenced<DocumentedResponse>>;
      };
    }
  >;
  components: Record<string, Record<string, unknown>>;
}

/** A response, with its body if that is known. */
interface SeenResponse {
  status: number;
  headers: Headers;
  body?: string | undefined;
}

type Check = (response: SeenResponse) => void;

/** Returns the check for the responses to a request; undefined if the document does not declare the request. */
export type CheckOf = (method: string, target: string) => Check | undefined;

/** The OpenAPI document of a gateway with these settings; openapi.test.ts compares it with the document that is served. */
export const openApiOf = (environment: Record<string, string> = {}, store = petStore): OpenApi =>
  JSON.parse(JSON.stringify(toOpenApi(store, readConfig(environment)))) as OpenApi;

/** Returns the target of a reference, or the value itself. */
export function resolve<Value>({ components }: OpenApi, value: Referenced<Value>): Value {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value;
  const [, , kind = '', name = ''] = value.$ref.split('/');
  return components[kind]?.[name] as Value;
}

// Headers for HTTP, CORS and browsers, which OpenAPI documents do not list.
const GENERAL =
  /^(date|connection|keep-alive|content-(length|type|encoding)|transfer-encoding|vary|x-content-type-options|access-control-.+)$/;

// Compiling the schemas is slow, and most gateways have the same document.
const checks = new Map<string, CheckOf>();

/** Creates a check that each response is one of those that a document declares. */
export function createCheck(document: OpenApi): CheckOf {
  const key = JSON.stringify(document);
  const check = checks.get(key) ?? compileCheck(document);
  checks.set(key, check);
  return check;
}

/**
 * Checks that a response has only declared headers. The headers of all responses are declared once, with that of status
 * 200, which has all of them.
 */
function checkHeaders(what: string, headers: Headers, shared: object, own: object): void {
  const missing = Object.keys(shared).filter((name) => own === shared && !headers.has(name));
  expect(missing, `${what} lacks headers that are declared`).toEqual([]);
  const known = new Set(Object.keys({ ...shared, ...own }).map((name) => name.toLowerCase()));
  const unknown = [...headers.keys()].filter((name) => !GENERAL.test(name) && !known.has(name));
  expect(unknown, `${what} has headers that are not declared`).toEqual([]);
}

function compileCheck(document: OpenApi): CheckOf {
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (schema: { $ref: string }): ValidateFunction => {
    const validate =
      validators.get(schema.$ref) ?? ajv.compile({ ...schema, components: document.components });
    validators.set(schema.$ref, validate);
    return validate;
  };

  function checkBody(what: string, declared: DocumentedResponse, body: string): void {
    const media = declared.content?.['application/json'];
    if (!media) return expect(body, `${what} has no body declared`).toBe('');
    const value = JSON.parse(body) as unknown;
    const validate = validatorOf(media.schema);
    validate(value);
    expect(validate.errors ?? [], `${what} breaks ${media.schema.$ref}: ${body}`).toEqual([]);
    if (!media.examples) return;
    const { code } = value as { code: string };
    expect(Object.keys(media.examples), `${what} has a code that is not declared`).toContain(code);
  }

  const operations = Object.entries(document.paths).map(([path, { get }]) => ({
    responses: get.responses,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
  return (method, target) => {
    const path = target.replace(/^https?:\/\/[^/?]*/i, '').replace(/\?.*$/, '');
    const operation = operations.find(({ pattern }) => pattern.test(path));
    if (!operation || (method !== 'GET' && method !== 'HEAD')) return undefined;
    return ({ status, headers, body }) => {
      const what = `${method} ${target.slice(0, 100)}: the response ${status}`;
      const referenced = operation.responses[status];
      if (!referenced) throw new Error(`${what} is not declared`);
      const declared = resolve(document, referenced);
      const [type] = (headers.get('content-type') ?? '').split(';');
      expect(type, `${what} has an undeclared Content-Type`).toBe(
        declared.content ? 'application/json' : '',
      );
      const shared = resolve(document, operation.responses['200'] ?? {}).headers ?? {};
      checkHeaders(what, headers, shared, declared.headers ?? {});
      if (method === 'GET' && body !== undefined) checkBody(what, declared, body);
    };
  };
}

/** Checks a response: its body immediately or, if it is a stream, when the test reads it. */
export async function checkResponse(response: Response, check: Check): Promise<Response> {
  const { status, headers } = response;
  if (headers.has('content-length')) {
    check({ status, headers, body: await response.clone().text() });
    return response;
  }
  check({ status, headers });
  const text = response.text.bind(response);
  response.text = async () => {
    const body = await text();
    check({ status, headers, body });
    return body;
  };
  response.json = async () => JSON.parse(await response.text()) as unknown;
  return response;
}
