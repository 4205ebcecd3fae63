import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { connectTo } from '../../support/callers.ts';
import { useProgram, useProgramStore } from '../../support/databases.ts';
import { LITTLE_MEMORY, oldBytes, usedMb } from '../../support/memory.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { post } from '../../support/post.ts';
import { repeat } from '../../support/repeat.ts';

const store = useProgramStore();
// Random, so that gzip makes it only half as long.
beforeAll(() =>
  store.run(`insert into categories (name, description) select 'Kind', (
    select string_agg(md5(random()::text || kind || part), '') from generate_series(1, 62) part
  ) from generate_series(1, 100) kind`),
);

const CLIENTS = 60;
const CONNECTIONS = 20;
const REQUESTS_EACH = 15;
const ROUNDS = 8;

describe('a gateway', () => {
  const program = useProgram(store, LITTLE_MEMORY);
  it.each([
    ['a compiled query', '{ pets { nodes { name category { name } } } }'],
    ['a query that cannot be compiled', '{ node(nodeId: "Pet_1") { nodeId } }'],
    ['a mutation', 'mutation { adjustInventory(petId: 1, by: 1) { __typename } }'],
    ['a REST request', ''],
  ])('frees the memory of %s after the response', async (_what, query) => {
    const sendSome = async (): Promise<void> => {
      for (let count = 0; count < REQUESTS_EACH; count += 1) {
        const sent = query ? post(program, { query }) : fetch(`${program.url}/pets/1`);
        await (await sent).arrayBuffer();
      }
    };
    /** How many bytes each request of a round leaves for a major garbage collection; with its response it takes 6 kB. */
    const left: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = await oldBytes(program);
      await Promise.all(Array.from({ length: CONNECTIONS }, sendSome));
      left.push(((await oldBytes(program)) - before) / (CONNECTIONS * REQUESTS_EACH));
    }
    // The least, because code and caches grow at first.
    expect(Math.min(...left)).toBeLessThan(3000);
  });

  it('keeps no response of 200 kB for a client that has read it and keeps the connection', async () => {
    const query = '{ categories(first: 100) { nodes { description } } }';
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    onTestFinished(() => agent.destroy());
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip' };
    const sendOne = async (): Promise<number> => {
      const sent = request(`${program.url}/graphql`, { method: 'POST', agent, headers });
      sent.end(JSON.stringify({ query }));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.headers['content-encoding']).toBe('gzip');
      return (await buffer(response)).length;
    };
    const before = await usedMb(program);
    const lengths = await Promise.all(Array.from({ length: CLIENTS }, sendOne));
    expect(Math.min(...lengths)).toBeGreaterThan(100_000);
    expect((await usedMb(program)) - before).toBeLessThan(4);
  });
});

describe('a gateway with responses of 9 MB', { timeout: 120_000 }, () => {
  const BODY = JSON.stringify({
    query: `{ ${repeat(46, (index) => `a${index}: categories(first: 100) { nodes { description } }`)} }`,
  });
  // What Node.js gives itself in the 768Mi of deploy/kubernetes.yaml.
  const program = useProgram(store, { NODE_OPTIONS: '--max-old-space-size=384' });
  function send(encoding: string): Socket {
    const socket = connectTo(program).pause();
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Accept-Encoding: ${encoding}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    );
    return socket;
  }
  const residentMb = async (): Promise<number> =>
    sumOf(await readMetrics(program), 'process_resident_memory_bytes') / 1e6;

  it.each(['identity', 'gzip'])(
    'uses less than 500 MB after clients have read one each and keep the connection (%s)',
    async (encoding) => {
      for (let count = 0; count < CLIENTS; count += 1) {
        const socket = send(encoding);
        let end = '';
        for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
          end = (end + chunk.toString('latin1')).slice(-7);
          if (end.endsWith(encoding === 'gzip' ? '0\r\n\r\n' : ']}}}')) break;
        }
        expect(socket.destroyed).toBe(false);
      }
      expect(await residentMb()).toBeLessThan(500);
    },
  );

  it.each(['identity', 'gzip'])(
    'uses less than 700 MB while many clients read nothing (%s)',
    async (encoding) => {
      for (let count = 0; count < CLIENTS; count += 1) {
        const socket = send(encoding);
        await new Promise((resolve) => void socket.once('readable', resolve));
      }
      expect(await residentMb()).toBeLessThan(700);
    },
  );
});
