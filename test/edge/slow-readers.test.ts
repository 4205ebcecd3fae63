import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { repeat } from '../support/repeat.ts';

// Two answers of nine megabytes, each more than the kernel keeps for a reader that stands still.
const ANSWER_BYTES = 9_000_000;
const MAX_UNSENT_BYTES = 20_000_000;
const READERS = 12;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    MAX_ANSWER_BYTES: '10000000',
    MAX_UNSENT_BYTES: String(MAX_UNSENT_BYTES),
  });
  await gateway.db.prisma.category.createMany({
    data: Array.from({ length: 100 }, (_, index) => ({
      name: `Category ${index}`,
      description: '\u0001'.repeat(2000),
    })),
  });
});
afterAll(() => gateway.close());

const ofTexts = (index: number): string =>
  `a${index}: categories(first: 100) { nodes { description } }`;

/** Asks on a connection of its own, and resolves when the answer begins or the connection is closed. */
async function ask(query: string): Promise<Socket> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.on('error', () => {});
  const body = JSON.stringify({ query });
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
      `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
  return socket;
}

/** Reads what is left of an answer, and gives its length. */
async function readAll(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  if (!socket.closed) await once(socket, 'close');
  return bytes;
}

describe('answers that wait for slow readers', () => {
  it('are cut off, the largest first, where they take too much memory together', async () => {
    const medium = await ask(`{ ${repeat(4, ofTexts)} }`);
    const slow = await Promise.all(
      Array.from({ length: READERS }, () => ask(`{ ${repeat(8, ofTexts)} }`)),
    );
    expect(await gateway.data('{ category(id: 1) { name } }')).toEqual({
      category: { name: 'Category 0' },
    });
    const lengths = await Promise.all(slow.map(readAll));
    const whole = lengths.filter((bytes) => bytes > ANSWER_BYTES);
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.length * ANSWER_BYTES).toBeLessThanOrEqual(MAX_UNSENT_BYTES);
    expect(await readAll(medium)).toBeGreaterThan(ANSWER_BYTES / 2);
  });

  it('are cut off where a stream waits behind a stream, many times', async () => {
    await gateway.db.prisma.$executeRaw`insert into pets (name, category_id) values ('Luna', 1)`;
    await gateway.db.prisma.$executeRaw`
      insert into orders (pet_id, quantity) select 1, 1 from generate_series(1, 2000)`;
    const pipelined = 'GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100);
    const slow = Array.from({ length: READERS }, () => {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').pause();
      socket.on('error', () => {});
      socket.write(pipelined);
      return socket;
    });
    const pageBytes = (await (await gateway.rest('/store/orders?limit=1000')).text()).length;
    const most = Math.floor(MAX_UNSENT_BYTES / (100 * pageBytes));
    expect(most).toBeLessThan(READERS / 2);
    // A socket that reads nothing doesn't notice its end: one that is open takes what is written to it.
    const countOpen = (): number => {
      for (const socket of slow) if (!socket.destroyed) socket.write(' ');
      return slow.filter(({ destroyed }) => !destroyed).length;
    };
    await expect.poll(countOpen, { timeout: 30_000 }).toBeLessThanOrEqual(most + 1);
    expect((await gateway.rest('/store/orders?limit=1')).status).toBe(200);
    for (const socket of slow) socket.destroy();
  });
});
