import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import type { Data } from '../../support/gateway.ts';
import { closeServer, listen } from '../../support/listen.ts';
import { expectLogged } from '../../support/logged.ts';
import { post as postTo } from '../../support/post.ts';
import { type Program, startProgram } from '../../support/program.ts';

const HTTP = '@opentelemetry/instrumentation-http';
const PG = '@opentelemetry/instrumentation-pg';
const GATEWAY = 'pet-store-gateway';
const spans: Data[] = [];
/** Collects what an exporter posts (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
function collect({ resourceSpans }: Data): void {
  for (const { scope, spans: some } of resourceSpans.flatMap((one: Data) => one.scopeSpans)) {
    spans.push(...some.map((span: object) => ({ ...span, scope: scope.name })));
  }
}

const store = useProgramStore();
let collector: Server;
let program: Program;

beforeAll(async () => {
  collector = createServer((request, response) => {
    void json(request)
      .then(collect)
      .finally(() => response.end('{}'));
  });
  program = await startProgram({
    ...store.environment,
    SAMPLE_STORE: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: await listen(collector),
    NODE_OPTIONS: `--import ${new URL('../../support/record-spans.js', import.meta.url).href}`,
  });
});
afterAll(() => closeServer(collector));
beforeEach(() => void spans.splice(0));

const post = (query: string, headers: Record<string, string> = {}): Promise<Response> =>
  postTo(program, { query }, { headers });

/** Returns the spans of a trace once the last of them, the span of its request, has ended. */
async function traceOf(traceId: string | null): Promise<typeof spans> {
  const ofTrace = (): typeof spans => spans.filter((span) => span.traceId === traceId);
  await expect.poll(() => ofTrace().some(({ scope }) => scope === HTTP)).toBe(true);
  return ofTrace();
}

const attributeOf = ({ attributes }: Data, name: string): unknown =>
  attributes.find((one: Data) => one.key === name)?.value.stringValue;

describe('with OpenTelemetry, a request', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const PARENT = '00f067aa0ba902b7';
  const PETS =
    'query Pets { pets(first: 2) { nodes { category { name } inventory { quantity } } } }';

  it.each([
    // The second execution, because the first also opens connections.
    ['its statements', 2, 3],
    ["its compiled query's only statement", 3, 1],
  ])("has the spans of its operation and %s in the caller's trace", async (_what, time, count) => {
    const query = `${PETS} # ${time}`;
    for (let before = 1; before < time; before += 1) await post(query);
    const id = TRACE.replace(/.$/, String(time));
    await post(query, { traceparent: `00-${id}-${PARENT}-01` });
    const trace = await traceOf(id);
    const [request] = trace.filter(({ scope }) => scope === HTTP);
    expect(request).toMatchObject({ name: 'POST', parentSpanId: PARENT });
    const operations = trace.filter(({ scope }) => scope === GATEWAY);
    expect(operations).toHaveLength(1);
    const [operation] = operations;
    expect(operation).toMatchObject({
      name: 'query',
      parentSpanId: request?.spanId,
      attributes: [
        { key: 'graphql.operation.type', value: { stringValue: 'query' } },
        { key: 'graphql.operation.name', value: { stringValue: 'Pets' } },
      ],
    });
    const statements = trace.filter(
      ({ scope, name }) => scope === PG && name.startsWith('pg.query'),
    );
    expect(statements).toHaveLength(count);
    for (const statement of statements) {
      expect(statement.parentSpanId).toBe(operation?.spanId);
      expect(attributeOf(statement, 'db.query.text')).toMatch(/^\s*select /);
    }
  });

  it('has its trace id in the log, and in the response if the caller sends no X-Request-Id', async () => {
    const response = await post('mutation { completeOrder(id: "1") { __typename } }');
    const traceId = response.headers.get('x-request-id');
    const trace = await traceOf(traceId);
    expect(trace.map(({ scope }) => scope)).toContain(GATEWAY);
    const named = await post('{ __typename }', { 'x-request-id': 'named' });
    expect(named.headers.get('x-request-id')).toBe('named');
    await expectLogged(program, { requestId: traceId, traceId });
    const anyId = expect.stringMatching(/^[\da-f]{32}$/) as unknown;
    await expectLogged(program, { requestId: 'named', traceId: anyId });
  });

  it('over REST, has the span of its statement in its trace', async () => {
    const response = await fetch(`${program.url}/pets/1`);
    const trace = await traceOf(response.headers.get('x-request-id'));
    const [request] = trace.filter(({ scope }) => scope === HTTP);
    const [statement] = trace.filter(
      ({ scope, name }) => scope === PG && name.startsWith('pg.query'),
    );
    expect(statement).toMatchObject({ parentSpanId: request?.spanId ?? 'the span of a request' });
  });
});
