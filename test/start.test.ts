import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Started {
  messages: string[];
  url: string;
  /** Sends SIGTERM and gives the exit code. */
  stop(): Promise<number | null>;
}

let folder: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** Starts the program as an operator does, and waits until it says where GraphiQL is. */
async function start(): Promise<Started> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
    env: { PORT: '0', DATA_DIR: folder },
  });
  children.push(child);
  let output = '';
  const exit = new Promise<number | null>((resolve) => void child.once('exit', resolve));
  const ready = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (/GraphiQL: .*\n/.test(output)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    exit.then(() => reject(new Error(`It ended:\n${output}`)), reject);
  });
  await ready;
  const lines = output.trim().split('\n');
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  const url = /^Listening on (\S+)$/m.exec(messages.join('\n'))?.[1] ?? '';
  return {
    messages,
    url,
    stop: () => {
      child.kill('SIGTERM');
      return exit;
    },
  };
}

async function ask({ url }: Started, query: string): Promise<unknown> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data } = (await response.json()) as { data: unknown };
  return data;
}

describe('starting the gateway', { timeout: 60_000 }, () => {
  it('makes the sample store once, keeps what is written, and stops on SIGTERM', async () => {
    const first = await start();
    expect(first.messages).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^Applied migration \d+_\w+\.$/),
        'Filled the sample store.',
        `Database: embedded PostgreSQL (PGlite) in ${join(folder, 'pglite')}`,
        expect.stringMatching(/^Listening on http:\/\/127\.0\.0\.1:\d+$/),
        `GraphiQL: ${first.url}/graphql`,
      ]),
    );
    expect((await fetch(`${first.url}/ready`)).status).toBe(200);
    expect(await ask(first, '{ categories { totalCount } pets { totalCount } }')).toEqual({
      categories: { totalCount: 10 },
      pets: { totalCount: 100 },
    });
    const made = await ask(
      first,
      'mutation { createPet(input: { name: "Pixel", categoryId: "2" }) { ... on Pet { id } } }',
    );
    expect(made).toEqual({ createPet: { id: '101' } });
    expect(await first.stop()).toBe(0);

    const second = await start();
    expect(second.messages).not.toContain('Filled the sample store.');
    expect(second.messages.join('\n')).not.toContain('Applied migration');
    expect(await ask(second, '{ pet(id: "101") { name } pets { totalCount } }')).toEqual({
      pet: { name: 'Pixel' },
      pets: { totalCount: 101 },
    });
    expect(await second.stop()).toBe(0);
  });

  it('does not fill a store again that was emptied', async () => {
    const pglite = await PGlite.create({ dataDir: join(folder, 'pglite') });
    await pglite.exec('truncate orders, inventory_items, pets, categories');
    await pglite.close();
    const third = await start();
    expect(third.messages).not.toContain('Filled the sample store.');
    expect(await ask(third, '{ categories { totalCount } }')).toEqual({
      categories: { totalCount: 0 },
    });
    expect(await third.stop()).toBe(0);
  });
});
