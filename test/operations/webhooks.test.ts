import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { blocksOf, read } from '../support/documents.ts';
import { makeFolder } from '../support/folders.ts';
import type { Data } from '../support/gateway.ts';
import { closeServer, listen } from '../support/listen.ts';
import { post } from '../support/post.ts';
import { freePort } from '../support/postgres.ts';
import { ask, type Program, spawnProgram, startProgram } from '../support/program.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

const FOLDER = 'docs/examples/webhooks';
const readme = read(`${FOLDER}/README.md`);
const SECRET = `whsec_${randomBytes(24).toString('base64')}`;

interface Attempt {
  readonly id: string;
  readonly time: number;
  readonly body: string;
  readonly event: Data;
}

type Answer = (response: ServerResponse) => void;

const accept: Answer = (response) => void response.writeHead(204).end();

const reject =
  (status: number, headers = {}): Answer =>
  (response) =>
    void response.writeHead(status, headers).end();

/** Starts a receiver, which accepts all webhooks after the given answers. Its attempts are those with a valid signature. */
async function startReceiver(...answers: Answer[]) {
  const webhook = new Webhook(SECRET);
  const attempts: Attempt[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const event = webhook.verify(body, request.headers as Record<string, string>);
    const id = String(request.headers['webhook-id']);
    attempts.push({ id, time: performance.now(), body, event });
    (answers.shift() ?? accept)(response);
  };
  const server = createServer((request, response) => void receive(request, response));
  const url = await listen(server);
  onTestFinished(() => closeServer(server));
  const names = (): string[] => attempts.map(({ event }) => event.data.name);
  return {
    url,
    attempts,
    names,
    received: async (count: number): Promise<void> => {
      await expect.poll(() => attempts.length).toBe(count);
    },
  };
}

const settingsOf = (gateway: { url: string }, receiver: { url: string }) => ({
  GATEWAY_URL: `${gateway.url}/graphql`,
  WEBHOOK_URL: `${receiver.url}/`,
  WEBHOOK_SECRET: SECRET,
  CURSOR_FILE: join(makeFolder(), 'cursor'),
});

async function startRelay(settings: Readonly<Record<string, string>>): Promise<Program> {
  const relay = spawnProgram('webhooks', settings);
  await relay.logged(/^Starting after/);
  onTestFinished(() => void relay.process.kill('SIGKILL'));
  return relay;
}

const store = useProgramStore('PGlite');
let environment: Readonly<Record<string, string>>;
let gateway: Program;

beforeAll(async () => {
  const PORT = String(await freePort());
  environment = { ...store.environment, SAMPLE_STORE: 'false', PORT };
  gateway = await startProgram(environment);
});

/** Starts a receiver with these answers, and a relay to it. */
async function startBoth(...answers: Answer[]) {
  const receiver = await startReceiver(...answers);
  const settings = settingsOf(gateway, receiver);
  return { receiver, settings, relay: await startRelay(settings) };
}

const makePet = async (name: string, status = 'AVAILABLE'): Promise<string> => {
  const { createPet } = await ask(
    gateway,
    `mutation {
      createCategory(input: { name: "${name}s" }) { __typename }
      createPet(input: { name: "${name}", categoryId: "1", status: ${status} }) { ... on Pet { id } }
    }`,
  );
  return createPet.id;
};

const update = (id: string, input: string): Promise<unknown> =>
  ask(gateway, `mutation { updatePet(id: "${id}", input: { ${input} }) { __typename } }`);

const sell = async (...names: string[]): Promise<void> => {
  for (const name of names) await update(await makePet(name), 'status: SOLD');
};

const lastCursor = async (): Promise<string | null> =>
  (await ask(gateway, '{ changes(last: 1) { pageInfo { endCursor } } }')).changes.pageInfo
    .endCursor;

describe('the relay for webhooks', () => {
  // The first test: the log is empty.
  it('misses no change after its first start on an empty log, even if it is killed before it sees one', async () => {
    const { receiver, settings, relay } = await startBoth();
    expect(await lastCursor()).toBeNull();
    expect(await relay.stop('SIGKILL')).toBe('SIGKILL');
    await sell('Ann');
    await startRelay(settings);
    await receiver.received(1);
    expect(receiver.names()).toEqual(['Ann']);
  });

  it('sends an event when a pet becomes SOLD or is created as such, and none for its other changes', async () => {
    const receiver = await startReceiver();
    await sell('Before the first start');
    const relay = await startRelay(settingsOf(gateway, receiver));
    const id = await makePet('Bo');
    await update(id, 'status: PENDING');
    await update(id, 'status: SOLD');
    await update(id, 'name: "Bob"');
    await update(id, 'status: AVAILABLE');
    await ask(gateway, `mutation { deletePet(id: "${id}") { __typename } }`);
    await makePet('Cy', 'SOLD');
    await receiver.received(2);
    expect(receiver.attempts.map(({ event }) => event)).toEqual([
      {
        type: 'pet.sold',
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        data: { petId: id, name: 'Bo', categoryId: '1' },
      },
      expect.objectContaining({ data: expect.objectContaining({ name: 'Cy' }) }),
    ]);
    await relay.logged(new RegExp(`^Sent ${receiver.attempts[1]?.id}$`));
  });

  it('repeats an event until the receiver accepts it within 15 seconds, and only then sends the next one', async () => {
    // A redirect that is followed would reach the receiver a second time at once.
    const { receiver, relay } = await startBoth(
      () => undefined,
      (response) => void response.destroy(),
      reject(302, { location: '/' }),
    );
    await sell('Di', 'Ed');
    await receiver.received(2);
    await receiver.received(5);
    expect(receiver.names()).toEqual(['Di', 'Di', 'Di', 'Di', 'Ed']);
    expect(new Set(receiver.attempts.map(({ id }) => id)).size).toBe(2);
    expect(new Set(receiver.attempts.map(({ body }) => body)).size).toBe(2);
    await relay.logged(/^Receiver: status 302\. Trying again in \d s\.$/);
  });

  it.each([
    { form: 'seconds', retryAfter: () => '2' },
    // Without its milliseconds.
    { form: 'a date', retryAfter: () => new Date(Date.now() + 3000).toUTCString() },
  ])('waits for the time that the receiver asks for, in $form', async ({ retryAfter }) => {
    const { receiver } = await startBoth((response) =>
      reject(503, { 'retry-after': retryAfter() })(response),
    );
    await sell('Flo');
    await receiver.received(2);
    const [first, second] = receiver.attempts;
    // Without being asked, it would wait for at most one second.
    expect((second?.time ?? 0) - (first?.time ?? 0)).toBeGreaterThan(1900);
  });

  it('loses nothing if it is killed while the receiver responds and pets are sold before it starts again', async () => {
    const receiver = await startReceiver(accept, () => undefined);
    const settings = settingsOf(gateway, receiver);
    const relay = await startRelay(settings);
    await sell('Gil', 'Hal');
    await receiver.received(2);
    await relay.stop('SIGKILL');
    await sell('Ivy');
    await startRelay(settings);
    await receiver.received(4);
    expect(receiver.names()).toEqual(['Gil', 'Hal', 'Hal', 'Ivy']);
    expect(receiver.attempts[2]?.id).toBe(receiver.attempts[1]?.id);
  });

  it('waits for the receiver when it is stopped, so that an event that is accepted is sent once', async () => {
    let held: ServerResponse | undefined;
    const { receiver, settings, relay } = await startBoth((response) => {
      held = response;
    });
    await sell('Jo', 'Kai');
    await receiver.received(1);
    relay.process.kill('SIGTERM');
    if (held) accept(held);
    expect(await relay.end).toBe(0);
    await startRelay(settings);
    await receiver.received(2);
    expect(receiver.names()).toEqual(['Jo', 'Kai']);
  });

  it('ends a pause when it is stopped', async () => {
    const { receiver, relay } = await startBoth(reject(503, { 'retry-after': '3600' }));
    await sell('Lu');
    await relay.logged(/^Receiver: status 503\. Trying again in 3600 s\.$/);
    expect(await relay.stop()).toBe(0);
    expect(receiver.names()).toEqual(['Lu']);
  });

  it('moves its cursor with changes that are no events, several pages of them', async () => {
    const { settings } = await startBoth();
    const categories = Array.from(
      { length: 40 },
      (_, n) => `c${n}: createCategory(input: { name: "C" }) { __typename }`,
    );
    for (let i = 0; i < 6; i += 1) await ask(gateway, `mutation { ${categories.join(' ')} }`);
    const last = await lastCursor();
    await expect.poll(() => readFileSync(settings.CURSOR_FILE, 'utf8')).toBe(last);
  });

  it('starts with the oldest change that is kept if its file is empty', async () => {
    const receiver = await startReceiver();
    const settings = settingsOf(gateway, receiver);
    const [, command = ''] = /^\s*(: > cursor)$/m.exec(readme) ?? [];
    execFileSync('sh', ['-c', command.replace('cursor', settings.CURSOR_FILE)]);
    await startRelay(settings);
    await expect.poll(receiver.names).toContain('Ann');
    expect(receiver.names()[0]).toBe('Ann');
  });

  it('stops with exit code 69 if the receiver is gone', async () => {
    const receiver = await startReceiver(reject(410));
    const settings = settingsOf(gateway, receiver);
    const relay = await startRelay(settings);
    await sell('Max');
    expect(await relay.end).toBe(69);
    expect(relay.messages.at(-1)).toMatch(/^The receiver \(410\) wants no more webhooks\.$/);
    await startRelay(settings);
    await receiver.received(2);
    expect(receiver.names()).toEqual(['Max', 'Max']);
  });

  it('stops with exit code 78 if another relay uses its file', async () => {
    const receiver = await startReceiver();
    const settings = settingsOf(gateway, receiver);
    const relays = [await startRelay(settings), await startRelay(settings)];
    await sell('Nat', 'Oz');
    const ends = relays.map(async (relay) => [await relay.end, relay.messages.at(-1)]);
    expect(await Promise.race(ends)).toEqual([
      78,
      `Another program changed ${settings.CURSOR_FILE}: only one relay can use it.`,
    ]);
    await expect.poll(receiver.names).toContain('Oz');
  });

  const MESSAGES = {
    GATEWAY_URL: 'GATEWAY_URL must be like http://127.0.0.1:4000/graphql.',
    WEBHOOK_URL: "WEBHOOK_URL must be the receiver's URL, without a password.",
    WEBHOOK_SECRET: 'WEBHOOK_SECRET must be whsec_ and then 24 to 64 bytes in Base64.',
    CURSOR_FILE: 'CURSOR_FILE must be the path of a file; its folder must exist.',
    TOKEN: 'Only one of TOKEN and TOKEN_FILE can be set.',
  };

  it.each([
    ['GATEWAY_URL', '127.0.0.1:4000/graphql'],
    ['WEBHOOK_URL', 'https://me:password@shop.example'],
    ['WEBHOOK_SECRET', SECRET.slice('whsec_'.length)],
    ['WEBHOOK_SECRET', `${SECRET}!`],
    ['WEBHOOK_SECRET', 'whsec_c2hvcnQ='],
    ['CURSOR_FILE', '/no/such/folder/cursor'],
    ['TOKEN', 'a'],
  ] as const)('does not start with %s=%s, and says why', async (setting, value) => {
    const settings = settingsOf(gateway, { url: 'http://127.0.0.1:9' });
    const relay = spawnProgram('webhooks', { ...settings, TOKEN_FILE: 'b', [setting]: value });
    expect(await relay.end).toBe(78);
    expect(relay.messages).toEqual([MESSAGES[setting]]);
  });

  it('stops with exit code 65 if its file has no cursor', async () => {
    const settings = settingsOf(gateway, { url: 'http://127.0.0.1:9' });
    writeFileSync(settings.CURSOR_FILE, 'x\n');
    const relay = await startRelay(settings);
    expect(await relay.end).toBe(65);
    expect(relay.messages.at(-1)).toMatch(/^INVALID_CURSOR: .*: see README\.md\.$/);
  });

  it('sends what changes while the gateway restarts', async () => {
    const { receiver, relay } = await startBoth();
    await sell('Pia');
    await receiver.received(1);
    await gateway.stop();
    await relay.logged(/^Gateway: .*ECONN\w+.*\. Trying again in \d s\.$/);
    gateway = await startProgram(environment);
    await sell('Quinn');
    await receiver.received(2);
    expect(receiver.names()).toEqual(['Pia', 'Quinn']);
  });

  it('stops with exit code 65, and skips nothing in silence, if the changes after its cursor have been deleted', async () => {
    const receiver = await startReceiver();
    const settings = settingsOf(gateway, receiver);
    const relay = await startRelay(settings);
    await relay.stop();
    await sell('Ray');
    await gateway.stop();
    await store.run('delete from changes');
    gateway = await startProgram(environment);
    await sell('Sue');
    const later = await startRelay(settings);
    expect(await later.end).toBe(65);
    expect(later.messages.at(-1)).toBe(
      `CURSOR_EXPIRED: can't continue after the cursor in ${settings.CURSOR_FILE}. Changes may have been missed: see README.md.`,
    );
    expect(receiver.names()).toEqual([]);
  });
});

const samples = (language: string): string[] =>
  blocksOf(readme)
    .filter((block) => block.language === language)
    .map((block) => block.text);

const withoutValues = (json = ''): string => json.trim().replaceAll(/:"[^"]*"/g, ':""');

describe('docs/examples/webhooks/README.md', () => {
  const [starting = ''] = samples('sh');

  it('shows a command that starts the relay, and the request that it sends', async () => {
    const receiver = await startReceiver();
    const [making = '', ...running] = starting.trim().split('\n');
    const script = `${making}\nprintf %s "$WEBHOOK_SECRET"`;
    const made = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
    const shown = running.join(' ').match(/[A-Z_]+(?==\S)/g) ?? [];
    expect(running.at(-1)).toMatch(/ node relay\.mjs$/);
    const settings = settingsOf(gateway, receiver);
    expect(['WEBHOOK_SECRET', ...shown].toSorted()).toEqual(Object.keys(settings).toSorted());
    await startRelay({ ...settings, WEBHOOK_SECRET: made }).then((relay) => relay.stop());

    await startRelay(settings);
    await sell('Whiskers');
    await receiver.received(1);
    const [head = '', body = ''] = (samples('http')[0] ?? '').split('\n\n');
    expect(head).toMatch(/^webhook-id: pet_sold_\S+$/m);
    expect(head).toMatch(/^webhook-timestamp: \d{10}$/m);
    expect(head).toMatch(/^webhook-signature: v1,[\w+/]{43}=$/m);
    expect(withoutValues(body)).toBe(withoutValues(receiver.attempts[0]?.body));
  });

  it('shows a receiver that accepts what the relay sends, acts once, and rejects what the secret has not signed', async () => {
    const folder = makeFolder();
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'receiver.mjs'), samples('js')[0] ?? '');
    const PORT = String(await freePort());
    const url = `http://127.0.0.1:${PORT}`;
    const receiver = spawnProgram('receiver', { PORT, WEBHOOK_SECRET: SECRET }, undefined, folder);
    onTestFinished(() => void receiver.process.kill('SIGKILL'));
    const settings = settingsOf(gateway, { url });
    const relay = await startRelay(settings);
    const before = readFileSync(settings.CURSOR_FILE, 'utf8');
    await sell('Ulf', 'Vic');
    await receiver.logged(/"name":"Vic"/);
    await relay.stop();
    // Everything is sent again.
    writeFileSync(settings.CURSOR_FILE, before);
    const again = await startRelay(settings);
    await again.logged(/^Sent /);
    await sell('Wim');
    await receiver.logged(/"name":"Wim"/);
    const printed = receiver.messages.map((line) => (/"name":"(\w+)"/.exec(line) ?? [])[1]);
    expect(printed).toEqual(['Ulf', 'Vic', 'Wim']);
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
  });

  it('lists all settings and exit codes', () => {
    const source = read(`${FOLDER}/relay.mjs`);
    const rows = [...readme.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name);
    const variables = source.matchAll(/\b[A-Z]+_(?:URL|SECRET|FILE)\b|(?<=env\.)TOKEN\b/g);
    expect(new Set(rows)).toEqual(new Set(Array.from(variables, ([name]) => name)));
    const codes = [...source.matchAll(/^const [A-Z_]+ = (\d\d);$/gm)].map(([, code]) => code);
    const documented = [...readme.matchAll(/^\| (\d\d) /gm)].map(([, code]) => code);
    expect(documented).toEqual(codes);
    const unit = read(`${FOLDER}/pet-store-webhooks.service`);
    expect(unit).toContain(`\nRestartPreventExitStatus=${codes.join(' ')}\n`);
  });
});

describe('the relay for webhooks with a token', () => {
  const own = useProgramStore('PGlite');

  it('waits until the token in TOKEN_FILE is renewed, and never logs a token', async () => {
    const variables = { ...AUTH_BY_SECRET, SAMPLE_STORE: 'false' };
    const program = await startProgram({ ...own.environment, ...variables });
    const receiver = await startReceiver();
    const TOKEN_FILE = join(makeFolder(), 'token');
    const expired = await mint({ scope: 'read', exp: -60 });
    writeFileSync(TOKEN_FILE, `${expired}\n`);
    const relay = spawnProgram('webhooks', { ...settingsOf(program, receiver), TOKEN_FILE });
    await relay.logged(/^Gateway: UNAUTHENTICATED: .* Trying again in \d s\.$/);
    // As a program might leave it for a moment.
    writeFileSync(TOKEN_FILE, 'half a\ntoken');
    await relay.logged(/^Gateway: the token has invalid characters\./);
    writeFileSync(TOKEN_FILE, await mint({ scope: 'read' }));
    await relay.logged(/^Starting after/);
    const headers = bearing(await mint({ scope: 'pets:write read' }));
    const query = `mutation {
      createCategory(input: { name: "Cats" }) { __typename }
      createPet(input: { name: "Tom", categoryId: "1", status: SOLD }) { __typename }
    }`;
    await post(program, { query }, { headers });
    await receiver.received(1);
    expect(receiver.names()).toEqual(['Tom']);
    expect(relay.messages.join()).not.toMatch(/half a|eyJ(?!E)/);
    await relay.stop();
  });
});
