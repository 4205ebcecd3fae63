import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { json } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { openEvents, openInitialized } from '../../support/live.ts';
import { hasNginx, startNginx } from '../../support/nginx.ts';
import { post } from '../../support/post.ts';
import { freePort } from '../../support/postgres.ts';
import { type Program, startProgram } from '../../support/program.ts';

const store = useProgramStore();
let url: string;
let stop: () => Promise<void>;

interface Gateway {
  readonly port: string;
  program: Program;
}
const gateways: Gateway[] = [];

// Without a delay, nginx may send a request on a connection that the gateway is closing.
const startOn = (port: string): Promise<Program> =>
  startProgram({ ...store.environment, PORT: port, STOP_DELAY_MS: '300' });

/** Returns deploy/nginx.conf, changed to use the gateways, port and folder of this test. */
function toSettings(folder: string, port: number): string {
  const [first, second] = gateways;
  return readFileSync('deploy/nginx.conf', 'utf8')
    .replace('gateway-1:4000', `127.0.0.1:${first?.port}`)
    .replace('gateway-2:4000', `127.0.0.1:${second?.port}`)
    .replaceAll('listen 8080', `listen 127.0.0.1:${port}`)
    .replaceAll(' /tmp/', ` ${folder}/`);
}

// Uses GET, because nginx does not repeat a POST sent on a connection that a gateway was closing.
const query = (): Promise<Response> =>
  fetch(`${url}/graphql?query={pets{totalCount}}`, { headers: { accept: 'application/json' } });
const listOrders = (): Promise<Response> => fetch(`${url}/store/orders`);

/** Sends requests one at a time until `work` has ended; returns all their statuses. */
async function sendDuring(work: Promise<void>, send: () => Promise<Response>): Promise<number[]> {
  const ended = new AbortController();
  const end = work.finally(() => ended.abort());
  const statuses: number[] = [];
  while (!ended.signal.aborted) {
    const response = await send();
    await response.text();
    statuses.push(response.status);
  }
  await end;
  return statuses;
}

async function restartAll(): Promise<void> {
  for (const gateway of gateways) {
    expect(await gateway.program.stop()).toBe(0);
    gateway.program = await startOn(gateway.port);
  }
}

describe.skipIf(!hasNginx)("deploy/nginx.conf (needs Debian's nginx-light package)", () => {
  beforeAll(async () => {
    for (const port of [String(await freePort()), String(await freePort())]) {
      gateways.push({ port, program: await startOn(port) });
    }
    ({ url, stop } = await startNginx(toSettings));
  });
  afterAll(() => stop());

  it('loses no request while the gateways restart one at a time', async () => {
    const restarts = restartAll();
    const statuses = await Promise.all([
      sendDuring(restarts, query),
      sendDuring(restarts, query),
      sendDuring(restarts, listOrders),
    ]);
    expect(new Set(statuses.flat())).toEqual(new Set([200]));
  });

  it('forwards a body that is too large for the gateway, so that the gateway returns the error', async () => {
    const response = await post({ url }, 'x'.repeat(1_500_000));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'PAYLOAD_TOO_LARGE' } }],
    });
  });

  it('forwards each event of a subscription immediately', async () => {
    const stream = await openEvents({ url }, 'subscription { categoryChanged { kind } }');
    const mutation = 'mutation { createCategory(input: { name: "Rats" }) { __typename } }';
    expect((await post({ url }, { query: mutation })).status).toBe(200);
    expect(await stream.data()).toEqual({ categoryChanged: { kind: 'CREATED' } });
    stream.disconnect();
  });

  it('forwards an upgrade to a WebSocket, and ignores any other upgrade', async () => {
    const opened = await openInitialized({ url });
    opened.send({ id: '1', type: 'subscribe', payload: { query: '{ __typename }' } });
    expect(await opened.message()).toMatchObject({ payload: { data: { __typename: 'Query' } } });
    opened.socket.close();
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' };
    const [response] = await once(get(`${url}/health`, { headers }), 'response');
    expect(await json(response)).toEqual({ status: 'alive' });
  });

  const message = 'The Host header must be localhost or an IP address.';
  it.each([
    [200, 'localhost:4000'],
    [200, '127.0.0.1'],
    [200, '[::1]:4000'],
    [421, 'attacker.example'],
    [421, 'localhost.attacker.example:4000'],
  ])('responds with %s to a request whose Host is %s', async (status, host) => {
    const [response] = await once(get(`${url}/health`, { headers: { host } }), 'response');
    expect(response.statusCode).toBe(status);
    expect(await json(response)).toEqual(
      status === 200 ? { status: 'alive' } : { code: 'MISDIRECTED_REQUEST', message, status },
    );
  });

  it('sends every request to the other gateway after one is killed', async () => {
    expect(await gateways[0]?.program.stop('SIGKILL')).toBe('SIGKILL');
    for (const send of [query, listOrders, query, listOrders, query, listOrders]) {
      expect((await send()).status).toBe(200);
    }
  });

  it('responds with an error in JSON if no gateway responds', async () => {
    for (const { program } of gateways) expect(await program.stop('SIGKILL')).toBe('SIGKILL');
    for (const response of [await query(), await post({ url }, { query: '{ __typename }' })]) {
      expect(response.status).toBe(502);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await response.json()).toMatchObject({ code: 'BAD_GATEWAY', status: 502 });
    }
  });
});
