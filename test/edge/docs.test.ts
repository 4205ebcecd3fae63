import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { ROOT } from '../../src/config/root.ts';
import { Variables } from '../../src/config/variables.ts';
import { ERRORS } from '../../src/contract/error-codes.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import { createDatabaseMetrics } from '../../src/telemetry/database-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { reportServers } from '../../src/telemetry/server-metrics.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { openEvents } from '../support/live.ts';
import { post } from '../support/post.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';

const ADDRESS = 'http://127.0.0.1:4000';

const read = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8');
const isThere = (path: string): boolean => existsSync(new URL(path, ROOT));

const sources = readdirSync(new URL('src/', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.includes('generated'))
  .map((file) => `src/${file}`);

// What tests compile and run with clients; `.txt` is a program that needs generated files.
const clientFiles = readdirSync(new URL('test/clients/', ROOT), {
  recursive: true,
  encoding: 'utf8',
}).map((file) => `test/clients/${file}`);
const clientPrograms = clientFiles.filter((file) => /\.(?:ts|txt)$/.test(file));
const clientSettings = clientFiles.filter((file) => file.endsWith('.json'));

interface Block {
  readonly language: string;
  readonly text: string;
}

/** Reads the code blocks of a text; those of a list without their indentation. */
const blocksOf = (markdown: string): Block[] =>
  [...markdown.matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', text = '']) => ({
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  ...readdirSync(new URL('docs/', ROOT))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
].map((file) => {
  const markdown = read(file);
  return { file, markdown, blocks: blocksOf(markdown) };
});

const blocksIn = (language: string): Block[] =>
  documents.flatMap(({ blocks }) => blocks.filter((block) => block.language === language));

const isRequest = ({ language, text }: Block): boolean =>
  language === 'graphql' || (language === 'sh' && text.startsWith('curl'));

/** Returns each request with the response that is shown below it. */
const samplesOf = (blocks: readonly Block[]): { request: Block; response: Block | undefined }[] =>
  blocks.flatMap((request, index) =>
    isRequest(request) ? [{ request, response: blocks[index + 1] }] : [],
  );

const isSubscription = (text: string): boolean => text.includes('text/event-stream');

/** Returns each command of a shell block in one line. */
const commandsOf = ({ text }: Block): string[] =>
  text
    .replaceAll('\\\n', '')
    .split('\n')
    .map((line) => line.replace(/ +# .*$/, ''))
    .filter((line) => line !== '');

/** Splits a command as a shell does. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|[^\s'"]+/g)].map(
    ([word, single, double]) => single ?? double ?? word,
  );

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

async function resetStore(): Promise<void> {
  await gateway.db.prisma.$executeRaw`truncate categories, pets, orders, inventory_items,
    idempotency_keys, changes restart identity cascade`;
  await fillSampleStore(gateway.db);
}

/** Sends the request of a curl command. */
async function sendCurl(command: string): Promise<unknown> {
  const words = wordsOf(command);
  const valuesOf = (option: string): string[] =>
    words.filter((_word, index) => words[index - 1] === option);
  const url = words.find((word) => word.startsWith(ADDRESS)) ?? '';
  const [body] = valuesOf('-d');
  const response = await gateway.rest(url.slice(ADDRESS.length), {
    headers: valuesOf('-H').map((header): [string, string] => {
      const [name = '', value = ''] = header.split(': ');
      return [name, value];
    }),
    ...(body !== undefined && { method: 'POST', body }),
  });
  return response.json();
}

async function sendGraphql(query: string): Promise<unknown> {
  const response = await post(gateway, { query });
  return response.json();
}

const sampled = documents.filter(
  ({ blocks }) => samplesOf(blocks).length > 0 && !blocks.some(({ text }) => /TOKEN=/.test(text)),
);

describe.each(sampled)('the samples of $file', ({ blocks }) => {
  beforeAll(resetStore);

  it.each(samplesOf(blocks))('return what is shown: $request.text', async (sample) => {
    const { request, response } = sample;
    const { language, text } = request;
    expect(response?.language).toBe('json');
    const body =
      language === 'graphql'
        ? await sendGraphql(text)
        : await sendCurl(commandsOf(request).join(''));
    expect(body).toEqual(JSON.parse(response?.text ?? ''));
  });

  const consoles = blocks.filter(
    ({ language, text }) => language === 'console' && !isSubscription(text),
  );

  it.runIf(consoles.length > 0).each(consoles)('return what is shown: $text', async ({ text }) => {
    const [head = '', body = ''] = text.split('\n\n');
    const [command = '', statusLine = '', ...headers] = head.split('\n');
    const url = wordsOf(command).find((word) => word.startsWith(ADDRESS)) ?? '';
    const response = await gateway.rest(url.slice(ADDRESS.length));
    expect(`HTTP/1.1 ${response.status} ${response.statusText}`).toBe(statusLine);
    for (const header of headers) {
      const [name = '', value] = header.split(/: (.*)/);
      expect(response.headers.get(name)).toBe(value);
    }
    expect(await response.json()).toEqual(JSON.parse(body));
  });
});

const findCursor = (text = ''): string => /"cursor":"(\w+)"/.exec(text)?.[1] ?? '';

/** Returns the query of a curl command. */
const queryOf = (command: string): string =>
  /"query":"(.*)"}'/.exec(command)?.[1]?.replaceAll('\\"', '"') ?? '';

describe('the subscriptions of docs/live.md', () => {
  const blocks = blocksOf(read('docs/live.md'));
  const subscriptions = blocks.filter(({ text }) => isSubscription(text));
  const [mutation] = samplesOf(blocks);
  // By those that are shown.
  const realCursors = new Map<string, string>();
  beforeAll(resetStore);

  it.each(subscriptions)('return what is shown: $text', async ({ text }) => {
    const [command = '', shown = ''] = text.split('\n\n');
    const query = queryOf(command).replaceAll(
      /(?<=after: ")\w+/g,
      (cursor) => realCursors.get(cursor) ?? '',
    );
    const stream = await openEvents(gateway, query);
    await sendGraphql(mutation?.request.text ?? '');
    // A comment can be the first.
    let received = await stream.event();
    while (received && !received.event) received = await stream.event();
    stream.disconnect();
    const { event, data } = received ?? {};
    realCursors.set(findCursor(shown), findCursor(data));
    expect(`event: ${event}\ndata: ${data}`).toBe(
      shown.trim().replace(findCursor(shown), findCursor(data)),
    );
  });

  it('pass a proxy that is set up as shown', () => {
    const lines = read('deploy/nginx.conf')
      .split('\n')
      .map((line) => line.trim());
    const [shown] = blocks.filter(({ language }) => language === '');
    expect(lines).toEqual(expect.arrayContaining(shown?.text.trim().split('\n') ?? ['']));
  });
});

describe('the samples of the documentation', () => {
  it('are in languages that a test reads', () => {
    const languages = new Set(
      documents.flatMap(({ blocks }) => blocks.map((block) => block.language)),
    );
    expect([...languages].toSorted()).toEqual(
      ['', 'console', 'graphql', 'json', 'mermaid', 'promql', 'sh', 'ts'].toSorted(),
    );
  });

  it('show a response below each request, and JSON for nothing else but the log and clients', () => {
    const shown = documents
      .flatMap(({ blocks }) => samplesOf(blocks))
      .map(({ response }) => response);
    const settings = clientSettings.map(read);
    const others = blocksIn('json').filter(
      (block) => !shown.includes(block) && !settings.includes(block.text),
    );
    expect(others.map(({ text }) => Object.keys(JSON.parse(text)))).toEqual([
      expect.arrayContaining(['level', 'requestId', 'msg']),
    ]);
  });

  it('of Mermaid have no semicolon, which ends a statement there', () => {
    expect(blocksIn('mermaid').filter(({ text }) => text.includes(';'))).toEqual([]);
  });

  it('in TypeScript are lines of the source', () => {
    const lines = new Set(
      [...sources, ...clientPrograms].flatMap((file) =>
        read(file)
          .split('\n')
          .map((line) => line.trim()),
      ),
    );
    const quoted = blocksIn('ts').flatMap(({ text }) => text.trim().split('\n'));
    expect(quoted.length).toBeGreaterThan(4);
    expect(quoted.filter((line) => !lines.has(line.trim()))).toEqual([]);
  });

  it('of PromQL, and the table above them, name metrics that exist', async () => {
    const database = createDatabaseMetrics(async () => ({ writes: true }));
    reportServers({ readServers: () => [], readFailovers: () => 0 }, database.registry);
    const { registries } = createMetrics({
      poolUse: () => ({ max: 0, total: 0, idle: 0, waiting: 0 }),
      databaseRegistry: database.registry,
      facts: { version: '', sunset: new Date(), maxCost: 0 },
    });
    const exposed = (await Promise.all(registries.map((registry) => registry.metrics()))).join(
      '\n',
    );
    const guide = read('docs/observability.md');
    const named = [
      ...guide.matchAll(
        /(?<![\w:])(?:change|database|dataloader|gateway|graphql|http|nodejs|operation|process|request|streams)_\w+/g,
      ),
    ];
    expect(named.length).toBeGreaterThan(5);
    for (const [name] of named) expect(exposed).toContain(`# HELP ${name}`);
  });
});

describe('a command of the documentation', () => {
  const commands = blocksIn('sh').flatMap(commandsOf);
  const withVariables = commands.flatMap((command) => {
    const [variables = ''] = /^(?:[A-Z_]+=[^\s$]+ +)+/.exec(command) ?? [];
    const pairs = variables
      .trim()
      .split(/ +/)
      .map((pair) => pair.split(/=(.*)/));
    return variables === '' ? [] : [{ command, variables: Object.fromEntries(pairs) as object }];
  });

  it.each(withVariables)('has variables that the gateway accepts: $command', ({ variables }) => {
    const own = Object.entries(variables).filter(([name]) => !name.startsWith('OTEL_'));
    expect(Object.keys(Variables.shape)).toEqual(expect.arrayContaining(own.map(([name]) => name)));
    expect(() => readConfig(Object.fromEntries(own))).not.toThrow();
  });
});

/** Returns the anchor that GitHub gives to a heading. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

const hasHeading = (file: string, anchor: string): boolean =>
  [...read(file).matchAll(/^#+ (.*)$/gm)].some(([, heading = '']) => toAnchor(heading) === anchor);

const BUILT_IN = ['ci', 'install', 'audit', 'pack'];
// Names in capitals that are neither variables of the gateway nor error codes.
const OTHER_NAMES = ['LC_CTYPE', 'TEST_DATABASE_URL'];

describe.each(documents)('$file', ({ file, markdown }) => {
  it('links to files and headings that exist', () => {
    const broken = [...markdown.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)].filter(
      ([, path = '', anchor = '']) => {
        const target = path === '' ? file : normalize(join(dirname(file), path));
        return !isThere(target) || (anchor !== '' && !hasHeading(target, anchor));
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it('names paths that exist', () => {
    const paths = markdown.matchAll(
      /(?<![\w/.@])(?:src|test|scripts|prisma|docs|bench)\/[\w./-]*[\w/]/g,
    );
    const all = Array.from(paths, ([path]) => path);
    expect(all.filter((path) => !isThere(path))).toEqual([]);
  });

  it('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
    const names = Array.from(
      markdown.matchAll(/\bnpm (?:run )?([a-z][\w:]*)/g),
      ([, name = '']) => name,
    );
    const known = [...Object.keys(scripts), ...BUILT_IN];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('names variables and error codes that exist', () => {
    const names = Array.from(
      markdown.matchAll(/`([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)(?==|`)|`([A-Z]+)=/g),
      ([, long, short]) => long ?? short,
    );
    const known = [...Object.keys(Variables.shape), ...Object.keys(ERRORS), ...OTHER_NAMES];
    expect(names.filter((name) => !name || !known.includes(name))).toEqual([]);
  });
});

describe('README.md', () => {
  it('has at most 200 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(200);
  });

  it('names each folder of src in its map', () => {
    const map = blocksOf(read('README.md')).find(({ language }) => language === '');
    const folders = sources.flatMap((file) => /^src\/\w+\//.exec(file)?.[0] ?? []);
    const named = [...(map?.text ?? '').matchAll(/^src\/\w+\//gm)].map(([name]) => name);
    expect(named.toSorted()).toEqual([...new Set(folders)].toSorted());
  });
});

const toRow = ([, room = '', imports = '']: string[]): [string, string] => [room, imports];

describe('docs/architecture.md', () => {
  it('lists for each room what the linter lets it import', () => {
    const rules = read('.oxlintrc.json').matchAll(/"message": "(.*) may import: (.*)\."/g);
    const rows = read('docs/architecture.md').matchAll(/^\| `(.*)` +\| (.*?) +\|$/gm);
    expect(Array.from(rows, toRow)).toEqual(Array.from(rules, toRow));
  });
});

describe('CONTRIBUTING.md', () => {
  it('explains each npm script', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
    const names = Object.keys(scripts);
    const isHook = (name: string): boolean =>
      name.startsWith('pre') && names.includes(name.slice(3));
    const explained = [...read('CONTRIBUTING.md').matchAll(/^\| `npm (?:run )?([\w:]+)`/gm)];
    expect(explained.map(([, name = '']) => name).toSorted()).toEqual(
      names.filter((name) => !isHook(name)).toSorted(),
    );
  });
});

describe('a gateway that is started as docs/access.md shows', () => {
  const [starting, calling] = blocksOf(read('docs/access.md')).filter(
    ({ language }) => language === 'sh',
  );
  const environment = Object.fromEntries(
    [...(starting?.text ?? '').matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
  const [creating = '', curl = ''] = (calling?.text ?? '').split('\ncurl ');
  const [sample] = blocksOf(read('docs/observability.md')).filter(({ text }) =>
    text.includes('"requestId"'),
  );

  let folder: string;
  let program: Program;
  let token: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'store-'));
    program = await startProgram({ ...environment, DATA_DIR: folder, LOG_LEVEL: 'debug' });
    token = execFileSync('sh', ['-c', `${creating}\nprintf %s "$TOKEN"`], {
      cwd: fileURLToPath(ROOT),
      encoding: 'utf8',
    });
  });
  afterAll(async () => {
    await killPrograms();
    await rm(folder, { recursive: true, force: true });
  });

  const mutate = async (query: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await post(program, { query }, { headers })).json();
  };

  it('accepts the token that is created there, and no other', async () => {
    expect(token.split('.')).toHaveLength(3);
    const path = /http:\/\/127\.0\.0\.1:4000(\S+)/.exec(curl)?.[1] ?? '';
    const statusWith = async (authorization: string): Promise<number> =>
      (await fetch(program.url + path, { headers: { authorization } })).status;
    expect(await statusWith(`Bearer ${token}`)).toBe(200);
    expect(await statusWith(`Bearer ${token}x`)).toBe(401);
    expect(await statusWith(token)).toBe(401);
  });

  it('logs nothing of the token, and each request as docs/observability.md shows', async () => {
    const query = `mutation {
      createCategory(input: { name: "Rats" }, idempotencyKey: "1") { ... on Category { name } } }`;
    expect(await mutate(query)).toEqual({ data: { createCategory: { name: 'Rats' } } });
    await mutate(`mutation Place {
      placeOrder(input: { petId: "1", quantity: 1000 }) { ... on Order { id quantity shipDate complete } } }`);
    await program.stop();

    const shown = JSON.parse(sample?.text ?? '') as Record<string, unknown>;
    const logged = program.entries.find(({ operationName }) => operationName === 'Place');
    const { time, requestId, ms, ...constant } = shown;
    expect(logged).toEqual({
      ...constant,
      time: expect.any(typeof time === 'string' ? String : Number),
      requestId: expect.any(typeof requestId === 'string' ? String : Number),
      ms: expect.any(typeof ms === 'number' ? Number : String),
    });

    const log = JSON.stringify(program.entries);
    expect(log).toContain('insert into idempotency_keys');
    expect(log).not.toContain('somebody');
    for (const part of [...token.split('.'), environment['AUTH_SECRET']]) {
      expect(log).not.toContain(part);
    }
  });
});
