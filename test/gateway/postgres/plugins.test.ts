import { GraphQLError, type GraphQLSchema, parse } from 'graphql';
import { type Plugin, useErrorHandler, usePayloadFormatter } from 'graphql-yoga';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import type { OperationRequest, Store } from '../../../src/gateway/index.ts';
import { openNew } from '../../support/bookshop.ts';
import { type Gateway, gateway, startOther, useGateway, useOther } from '../../support/gateway.ts';
import { createSocketClient, openEvents } from '../../support/live.ts';
import { post, TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { lastCursor } from '../../support/settled.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../../support/tokens.ts';
import { bookshop } from '../bookshop/index.ts';
import { readOnlyBookshop } from '../bookshop/read-only.ts';

const TIMES = TIMES_UNTIL_COMPILED + 1;
const AUTHORS = '{ authors(first: 1) { nodes { name } } }';
const CREATE =
  'mutation ($name: String!) { createAuthor(input: { name: $name }) { __typename ... on Author { name } } }';

/** The hooks that have run, in order. */
let ran: string[] = [];

/** Notes a hook, and returns what it returns. */
const note = <Result>(hook: string, result?: Result): Result => {
  ran.push(hook);
  return result as Result;
};

/** A plugin with every hook that a request can run. */
const probe: Plugin = {
  onEnveloped: () => note('enveloped'),
  onParse: () =>
    note('parse', ({ result }) => note(`parsed ${String(result && 'kind' in result)}`)),
  onValidate: () => note('validate', ({ valid }) => note(`validated ${valid}`)),
  onContextBuilding: () => note('context', () => note('context built')),
  onExecute: () => note('execute', { onExecuteDone: () => note('executed') }),
  onSubscribe: () =>
    note('subscribe', {
      onSubscribeResult: () => {
        // A subscription may continue while the next test runs.
        const own = ran;
        return note('subscribed', { onNext: () => void own.push('next') });
      },
    }),
};

const CHECKS = ['parse', 'parsed true', 'validate', 'validated true'];
const BEFORE = ['enveloped', ...CHECKS, 'context', 'context built'];
const OF_OPERATION = [...BEFORE, 'execute', 'executed'];
const OF_SUBSCRIPTION = [...BEFORE, 'subscribe', 'subscribed', 'next'];

/** Returns the hooks that run for a document that was executed before: it is neither parsed nor validated again. */
const again = (hooks: readonly string[]): string[] =>
  hooks.filter((hook) => !CHECKS.includes(hook));

/** Starts a gateway whose store has these plugins, on the database of the one without. */
const startWith = (plugins: NonNullable<Store['plugins']>, environment = {}): Promise<Gateway> =>
  startOther(environment, {}, { ...bookshop, plugins });

useGateway({}, openNew(bookshop), {}, bookshop);
const probed = useOther({}, {}, { ...bookshop, plugins: [probe] });
beforeAll(() => gateway.data(CREATE, { name: 'Ada' }));
beforeEach(() => {
  ran = [];
});

/** Returns a subscription to authors after the last change, so that it misses no change. */
async function subscription() {
  return {
    query: 'subscription ($after: String) { authorChanged(after: $after) { after { name } } }',
    variables: { after: await lastCursor(gateway) },
  };
}

/** Returns the names of all authors, as text. */
const readNames = async (): Promise<string> =>
  JSON.stringify(await gateway.data('{ authors { nodes { name } } }'));

describe("the hooks of a store's plugin", () => {
  it.each([
    ['a query', '{ authors { totalCount } }'],
    ['a mutation', 'mutation { deleteAuthor(id: 9) { ... on Error { code } } }'],
  ])('run for every request over HTTP, not only the first: %s', async (_what, query) => {
    for (let time = 1; time <= TIMES; time += 1) {
      ran = [];
      expect((await post(probed, { query })).status).toBe(200);
      expect(ran).toEqual(time === 1 ? OF_OPERATION : again(OF_OPERATION));
    }
  });

  it('run for each query and subscription over a WebSocket', async () => {
    const client = createSocketClient(probed);
    onTestFinished(() => client.dispose());
    await client.iterate({ query: '{ overSocket: __typename }' }).next();
    expect(ran).toEqual(OF_OPERATION);
    const payload = await subscription();
    ran = [];
    const results = client.iterate(payload);
    await gateway.data(CREATE, { name: 'new' });
    await results.next();
    expect(ran).toEqual(OF_SUBSCRIPTION);
  });

  it('get the caller of the request, and what an earlier hook has added to the context', async () => {
    const seen: unknown[] = [];
    const plugin: Plugin<OperationRequest & { readonly tenant?: string }> = {
      onContextBuilding: ({ context, extendContext }) =>
        extendContext({ tenant: `of ${context.caller.subject}` }),
      onExecute: ({ args: { contextValue } }) => void seen.push(contextValue.tenant),
    };
    const own = await startWith([plugin], AUTH_BY_SECRET);
    const headers = bearing(await mint({ sub: 'ann', scope: 'read' }));
    expect((await post(own, { query: AUTHORS }, { headers })).status).toBe(200);
    expect(seen).toEqual(['of ann']);
  });
});

describe("the result that a store's plugin gets", () => {
  it('has its data as objects and can be replaced, however often the query was executed', async () => {
    const seen: unknown[] = [];
    const replacing: Plugin = {
      onExecute: ({ executeFn, setExecuteFn }) => setExecuteFn(async (args) => executeFn(args)),
    };
    const own = await startWith([
      replacing,
      usePayloadFormatter(({ data, ...others }) => {
        seen.push(data);
        return { ...others, data: { ...data, added: true }, extensions: { added: true } };
      }),
    ]);
    const data = { authors: { nodes: [{ name: 'Ada' }] } };
    for (let time = 1; time <= TIMES; time += 1) {
      gateway.statements.length = 0;
      const result = await own.graphql(AUTHORS);
      expect(seen.splice(0)).toEqual([data]);
      expect(result.data).toEqual({ ...data, added: true });
      expect(result.extensions).toEqual({ added: true });
    }
    // The last time, it was compiled.
    expect(gateway.statements).toEqual([expect.stringContaining(' as json')]);
  });

  it('has the cause of an error, which its caller does not get', async () => {
    const seen: unknown[] = [];
    const own = await startWith([useErrorHandler(({ errors }) => void seen.push(...errors))]);
    await own.data(AUTHORS);
    const { errors } = await own.graphql('{ authors(after: "x") { totalCount } }');
    expect(errors).toMatchObject([{ extensions: { code: 'INVALID_CURSOR' } }]);
    expect(seen).toMatchObject([{ originalError: { code: 'INVALID_CURSOR' } }]);
  });

  it('belongs to one subscriber: what the plugin changes in it, no other gets', async () => {
    let streams = 0;
    const onSubscribeResult = () => {
      streams += 1;
      const authorChanged = { name: `for ${streams}` };
      return {
        onNext: ({ result }: { result: { data?: unknown } }) =>
          void Object.assign(result.data as object, { authorChanged }),
      };
    };
    const own = await startWith([{ onSubscribe: () => ({ onSubscribeResult }) }]);
    const payload = await subscription();
    const first = await openEvents(own, payload);
    const second = await openEvents(own, payload);
    await own.data(CREATE, { name: 'shared' });
    expect([await first.data(), await second.data()]).toEqual([
      { authorChanged: { name: 'for 1' } },
      { authorChanged: { name: 'for 2' } },
    ]);
    first.disconnect();
    second.disconnect();
  });
});

describe("a store's plugin", () => {
  it('rejects an operation before it is executed, and a subscription before it starts', async () => {
    const errors = [new GraphQLError('Not today.', { extensions: { code: 'FORBIDDEN' } })];
    const reject = (hook: { setResultAndStopExecution: (result: object) => void }) =>
      hook.setResultAndStopExecution({ errors });
    const own = await startWith([{ onExecute: reject, onSubscribe: reject }]);
    const rejected = [{ message: 'Not today.', extensions: { code: 'FORBIDDEN', status: 403 } }];
    expect(await own.graphql(CREATE, { name: 'rejected' })).toMatchObject({ errors: rejected });
    const stream = await openEvents(own, await subscription());
    expect(await stream.rest()).toMatchObject([{ errors: rejected }]);
    expect(await readNames()).not.toContain('rejected');
  });

  it('fails masked, with its error in the log', async () => {
    const error = new Error('secret');
    const own = await startWith([{ onContextBuilding: () => Promise.reject(error) }]);
    const { errors } = await own.graphql(AUTHORS);
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
    expect(JSON.stringify(errors)).not.toContain('secret');
    expect(own.loggedErrors.splice(0)).toMatchObject([{ err: { message: 'secret' } }]);
  });

  it('adds rules of validation, such as one that allows only reading', async () => {
    const own = await startOther({}, {}, readOnlyBookshop);
    for (let time = 1; time <= TIMES; time += 1) {
      const { errors } = await own.graphql(CREATE, { name: 'filtered' });
      const message = 'GraphQL operation type "mutation" is not allowed.';
      const extensions = { code: 'GRAPHQL_VALIDATION_FAILED' };
      expect(errors).toMatchObject([{ message, extensions }]);
      expect(await own.data(AUTHORS)).toEqual({ authors: { nodes: [{ name: 'Ada' }] } });
    }
    expect((await own.graphql('{ petz }')).errors?.[0]?.message).toContain('petz');
    expect(await readNames()).not.toContain('filtered');
  });

  it.each([
    ['the document', { document: parse(CREATE) }],
    ['the variables', { variableValues: { name: 'replaced' } }],
  ])('makes an operation fail, unexecuted, if it replaces %s', async (_what, replacement) => {
    const replace = ({ args }: { args: object }) => void Object.assign(args, replacement);
    const own = await startWith([{ onExecute: replace, onSubscribe: replace }]);
    const failure = { errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }] };
    for (const query of [CREATE, AUTHORS])
      expect(await own.graphql(query, { name: 'accepted' })).toMatchObject(failure);
    const stream = await openEvents(own, await subscription());
    expect(await stream.rest()).toMatchObject([failure]);
    const message = 'A plugin of the store has replaced the document or the variables.';
    expect(own.loggedErrors.splice(0)[0]).toMatchObject({ err: { message } });
    const names = await readNames();
    expect(names).not.toContain('accepted');
    expect(names).not.toContain('replaced');
  });

  const ofHttp: Plugin = { onRequest: () => {} };

  it.each<[string, Plugin, string]>([
    ['has a hook that the gateway never calls', ofHttp, 'onRequest'],
    [
      'replaces a resolver',
      {
        onSchemaChange({ schema }: { schema: GraphQLSchema }) {
          const field = schema.getQueryType()?.getFields()['author'];
          if (!field) throw new Error('The schema has no such field.');
          const { resolve } = field;
          field.resolve = () => null;
          onTestFinished(() => void Object.assign(field, { resolve }));
        },
      },
      'changes the schema',
    ],
  ])('prevents its store from starting if it %s', async (_what, plugin, message) => {
    await expect(startWith([plugin])).rejects.toThrow(message);
  });
});
