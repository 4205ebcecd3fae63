import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { isEnumType } from 'graphql';
import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { FILES, withPrinted } from '../../../scripts/print.ts';
import { TABLES } from '../../../src/store/generated/tables.ts';
import { petStore } from '../../../src/store/index.ts';
import { openCopyOnPglite } from '../../support/databases.ts';
import { type Block, blocksOf, read, requestOf } from '../../support/documents.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
import { openEvents } from '../../support/live.ts';
import { post } from '../../support/post.ts';
import { exceptionsOf, rowsUnder } from '../../support/standards.ts';

/** Lists the files in a folder and its subfolders with one of these endings. */
const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file) && !/node_modules|generated/.test(file))
    .map((file) => `${folder}/${file}`);

const sources = filesIn('src', /\.ts$/);

// Programs that other tests compile and run; a `.txt` program needs generated files.
const clientFiles = (ending: RegExp): string[] =>
  ['docs/examples', 'test/clients'].flatMap((folder) => filesIn(folder, ending));

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  ...filesIn('docs', /\.md$/),
].map((file) => {
  const markdown = read(file);
  return { file, markdown, blocks: blocksOf(markdown) };
});

// A separate test, test/long/first-change.test.ts, applies the tutorial's blocks to a copy of the source.
const TUTORIAL = 'docs/first-change.md';

const linesOf = (file: string): string[] =>
  read(file)
    .split('\n')
    .map((line) => line.trim());

const blocksIn = (language: string): Block[] =>
  documents
    .filter(({ file }) => file !== TUTORIAL)
    .flatMap(({ blocks }) => blocks.filter((block) => block.language === language));

const isRequest = ({ language, text }: Block): boolean =>
  language === 'graphql' || (language === 'sh' && text.startsWith('curl'));

/** The values of all enums; one has the error codes. */
const ENUM_VALUES = Object.values(petStore.schema.getTypeMap()).flatMap((type) =>
  isEnumType(type) ? type.getValues().map(({ name }) => name) : [],
);

/** Returns each request with the response shown below it. */
const samplesOf = (blocks: readonly Block[]): { request: Block; response: Block | undefined }[] =>
  blocks.flatMap((request, index) =>
    isRequest(request) ? [{ request, response: blocks[index + 1] }] : [],
  );

/** What differs in each run. */
const VARYING: Readonly<Record<string, unknown>> = {
  ms: expect.any(Number),
  requestId: expect.any(String),
};

const isSubscription = (text: string): boolean => text.includes('text/event-stream');

useGateway({}, openCopyOnPglite);

async function resetStore(): Promise<void> {
  const tables = [...Object.values(TABLES).map(({ name }) => name), 'idempotency_keys', 'changes'];
  await gateway.db.write(raw(`truncate ${tables.join()} restart identity cascade`));
  await gateway.db.transaction((session) => petStore.fillSample(session));
}

/** Sends a request from the documentation. */
async function send({ language, text }: Block): Promise<unknown> {
  const { path, headers, body } = requestOf(text);
  const init = body === '' ? { headers } : { method: 'POST', headers, body };
  const sent = language === 'graphql' ? post(gateway, { query: text }) : gateway.rest(path, init);
  return (await sent).json();
}

const sampled = documents.filter(
  ({ file, blocks }) =>
    file !== TUTORIAL &&
    samplesOf(blocks).length > 0 &&
    !blocks.some(({ text }) => /TOKEN=/.test(text)),
);

describe.each(sampled)('the samples of $file', ({ blocks }) => {
  beforeAll(resetStore);

  it.each(samplesOf(blocks))('return the response shown: $request.text', async (sample) => {
    const { request, response } = sample;
    expect(response?.language).toBe('json');
    const shown: unknown = JSON.parse(
      response?.text ?? '',
      (key, value: unknown) => VARYING[key] ?? value,
    );
    expect(await send(request)).toEqual(shown);
  });

  const consoles = blocks.filter(
    ({ language, text }) => language === 'console' && !isSubscription(text),
  );

  it.runIf(consoles.length > 0).each(consoles)(
    'return the response shown: $text',
    async ({ text }) => {
      const [head = '', body = ''] = text.split('\n\n');
      const [command = '', statusLine = '', ...headers] = head.split('\n');
      const response = await gateway.rest(requestOf(command).path);
      expect(`HTTP/1.1 ${response.status} ${response.statusText}`).toBe(statusLine);
      for (const header of headers) {
        const [name = '', value] = header.split(/: (.*)/);
        expect(response.headers.get(name)).toBe(value);
      }
      expect(await response.json()).toEqual(JSON.parse(body));
    },
  );
});

const findCursor = (text = ''): string => /"cursor":"(\w+)"/.exec(text)?.[1] ?? '';

describe('the subscriptions of docs/live.md', () => {
  const blocks = blocksOf(read('docs/live.md'));
  const subscriptions = blocks.filter(({ text }) => isSubscription(text));
  const [mutation] = samplesOf(blocks);
  // The keys are the cursors that the document shows.
  const realCursors = new Map<string, string>();
  beforeAll(resetStore);

  it.each(subscriptions)('return the results shown: $text', async ({ text }) => {
    const [command = '', shown = ''] = text.split('\n\n');
    const { query } = JSON.parse(requestOf(command).body) as { query: string };
    const toReal = (cursor: string): string => realCursors.get(cursor) ?? '';
    const stream = await openEvents(gateway, query.replaceAll(/(?<=after: ")\w+/g, toReal));
    await post(gateway, { query: mutation?.request.text });
    let received = await stream.event();
    // The stream starts with a comment.
    while (received && !received.event) received = await stream.event();
    stream.disconnect();
    const { id, event, data } = received ?? {};
    realCursors.set(findCursor(shown), findCursor(data));
    expect(`id: ${id}\nevent: ${event}\ndata: ${data}`).toBe(
      shown.trim().replaceAll(findCursor(shown), findCursor(data)),
    );
  });

  it('come with proxy settings that are copied from deploy/nginx.conf', () => {
    const lines = linesOf('deploy/nginx.conf');
    const [shown] = blocks.filter(({ language }) => language === '');
    expect(lines).toEqual(expect.arrayContaining(shown?.text.trim().split('\n') ?? ['']));
  });
});

describe('the samples of the documentation', () => {
  it('show the response below each request, and no other JSON except log lines and client settings', () => {
    const samples = documents.flatMap(({ blocks }) => samplesOf(blocks));
    const shown = samples.map(({ response }) => response);
    const settings = clientFiles(/\.json$/).map(read);
    const others = blocksIn('json').filter(
      (block) => !shown.includes(block) && !settings.includes(block.text),
    );
    expect(others.map(({ text }) => Object.keys(JSON.parse(text)))).toEqual([
      expect.arrayContaining(['level', 'requestId', 'msg']),
    ]);
  });

  it('are copied from the source or from the bookshop if they are in TypeScript', () => {
    const bookshop = filesIn('test/gateway/bookshop', /\.ts$/);
    const files = [...sources, ...bookshop, ...clientFiles(/\.(?:ts|txt)$/)];
    const lines = new Set(files.flatMap(linesOf));
    const quoted = blocksIn('ts').flatMap(({ text }) => text.trim().split('\n'));
    expect(quoted.length).toBeGreaterThan(4);
    expect(quoted.filter((line) => !lines.has(line.trim()))).toEqual([]);
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

// config.test.ts compares this table with the variables that the gateway reads.
const VARIABLES = Array.from(
  read('docs/configuration.md').matchAll(/^\| `([A-Z_]+)` +\|/gm),
  ([, name = '']) => name,
);
const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
const BUILT_IN = ['ci', 'install', 'audit', 'pack'];
// Names in capitals that are neither variables of the gateway nor error codes.
const OTHER_NAMES =
  'CURSOR_FILE GATEWAY_URL LAST_CURSOR LC_COLLATE LC_CTYPE NAME_CODE_POINT ON_ERROR_STOP POSTGRES_PASSWORD ' +
  'TEST_DATABASE_URL TOKEN TOKEN_FILE WEBHOOK_SECRET WEBHOOK_URL';

describe.each(documents)('$file', ({ file, markdown }) => {
  it('links only to files and headings that exist', () => {
    const broken = [...markdown.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)].filter(
      ([, path = '', anchor = '']) => {
        const target = path === '' ? file : normalize(join(dirname(file), path));
        return !existsSync(target) || (anchor !== '' && !hasHeading(target, anchor));
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it.runIf(file !== TUTORIAL)('names only existing paths', () => {
    const path = /(?<![\w/.@])(?:src|test|scripts|prisma|docs|bench)\/[\w./-]*[\w/]/g;
    expect((markdown.match(path) ?? []).filter((found) => !existsSync(found))).toEqual([]);
  });

  it('names only existing npm scripts', () => {
    const found = markdown.matchAll(/\bnpm (?:run )?([a-z][\w:]*)/g);
    const names = Array.from(found, ([, name = '']) => name);
    const known = [...Object.keys(scripts), ...BUILT_IN];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('names only existing variables and error codes', () => {
    const found = markdown.matchAll(/`([A-Z\d]+(?:_[A-Z\d]+)+)`|(?<![\w$-])(?!OTEL_)([A-Z_]+)=/g);
    const names = Array.from(found, ([, quoted, variable]) => quoted ?? variable ?? '');
    const known = [
      ...VARIABLES,
      ...ENUM_VALUES,
      ...exceptionsOf('GraphQL Inspector'),
      ...OTHER_NAMES.split(' '),
    ];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('the documentation', () => {
  it('shows each folder of the gateway in the diagram of docs/architecture.md', () => {
    const drawing = blocksOf(read('docs/architecture.md')).find(({ text }) =>
      text.startsWith('flowchart'),
    );
    const folders = sources.flatMap((file) => /^src\/gateway\/(\w+)\//.exec(file)?.[1] ?? []);
    const named = [...(drawing?.text ?? '').matchAll(/\["(\w+)\/</g)].map(([, name = '']) => name);
    expect(named.toSorted()).toEqual([...new Set(folders)].toSorted());
  });

  it.each(FILES)('has in %s what `npm run fix` writes from the schema and the settings', (file) => {
    expect(read(file)).toMatch(/^<!-- \w+ -->$/m);
    // Without what oxfmt aligns.
    const [written, found] = [withPrinted(read(file)), read(file)].map((text) =>
      text.replaceAll(/ +|-{3,}/g, ' '),
    );
    expect(found).toBe(written);
  });

  it('explains each npm script in CONTRIBUTING.md', () => {
    const names = Object.keys(scripts);
    const isHook = (name: string) => name.startsWith('pre') && names.includes(name.slice(3));
    const rows = read('CONTRIBUTING.md').matchAll(/^\| `npm (?:run )?([\w:]+)`/gm);
    const explained = Array.from(rows, ([, name = '']) => name);
    expect(explained.toSorted()).toEqual(names.filter((name) => !isHook(name)).toSorted());
  });
});

describe('docs/standards.md', () => {
  const suites = rowsUnder('Suites');

  it('names the installed version of each suite', () => {
    const packages = ['package.json', 'test/conformance/package.json'].map(
      (file) => JSON.parse(read(file)) as Record<string, Record<string, string>>,
    );
    const installed = packages.flatMap(({ devDependencies, dependencies }) =>
      Object.entries({ ...devDependencies, ...dependencies }),
    );
    const named = suites.map(([, version]) => version).filter((text) => text !== 'Debian 12');
    expect(installed.map(([name, version]) => `\`${name}\` ${version}`)).toEqual(
      expect.arrayContaining(named),
    );
  });

  it('explains the failures of no other suites, and only of those whose test reads the explanation', () => {
    const explained = [...new Set(rowsUnder('What fails').map(([suite = '']) => suite))];
    expect(suites.map(([suite]) => suite)).toEqual(expect.arrayContaining(explained));
    const texts = filesIn('test', /\.ts$/).map(read).join('\n');
    expect(explained.filter((suite) => !texts.includes(`'${suite}'`))).toEqual([]);
  });
});

const testSources = filesIn('test', /\.test\.ts$/).map(read);

/** Whether a test file has an `it` or a `describe` for each part of a name, as in `a cart › is ordered once`. */
function hasTest(name: string): boolean {
  const patterns = name
    .split(' › ')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .map((part) => new RegExp(`\\(\\s*(['"\`])${part}\\1,`));
  return testSources.some((text) => patterns.every((pattern) => pattern.test(text)));
}

describe.each(['SECURITY.md', 'docs/operations.md', 'docs/growing.md'])(
  'the promises of %s',
  (file) => {
    // A promise ends with a footnote, which names its tests.
    const [body = '', notes = ''] = read(file).split('## Tests of the promises\n');
    const references = Array.from(body.matchAll(/\[\^(\w+)\]/g), ([, id = '']) => id);

    it('refer to each footnote once, and each footnote names tests', () => {
      const defined = Array.from(notes.matchAll(/^\[\^(\w+)\]: `/gm), ([, id = '']) => id);
      expect(references.length).toBeGreaterThan(0);
      expect(references.toSorted()).toEqual(defined.toSorted());
    });

    it('name only existing tests', () => {
      const names = Array.from(notes.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
      expect(names.filter((name) => !hasTest(name))).toEqual([]);
    });
  },
);

it('each promise of SECURITY.md has a footnote', () => {
  const [, promised = ''] = /^## What is promised\n([^]*?)^## /m.exec(read('SECURITY.md')) ?? [];
  const promises = promised.split(/^(?:- |### )/m).filter((text) => text.includes('.'));
  expect(promises.length).toBeGreaterThan(20);
  expect(promises.slice(1).filter((text) => !/\[\^\w+\]\s*$/.test(text))).toEqual([]);
});
