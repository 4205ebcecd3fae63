import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fillSampleStore } from '../../src/store/sample.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const readme = read('README.md');
const ADDRESS = 'http://127.0.0.1:4000';

const blocks = [...readme.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, language = '', text = '']) => ({
  language,
  text,
}));

/** Each request of the README with the block that follows it. */
const samples = blocks.flatMap((block, index) => {
  const answer = blocks[index + 1];
  const isRequest = block.language === 'graphql' || block.text.startsWith('curl');
  return isRequest && answer?.language === 'json' ? [{ request: block, answer }] : [];
});

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  await fillSampleStore(gateway.db);
});
afterAll(() => gateway.close());

function operationOf({ language, text }: { language: string; text: string }): string {
  if (language === 'graphql') return text;
  const body = /-d '(.*)'/.exec(text)?.[1] ?? '';
  return JSON.parse(body).query;
}

describe('the samples of the README', () => {
  it('are there', () => {
    expect(samples).toHaveLength(6);
  });

  it.each(samples)('answer as shown: $request.text', async ({ request, answer }) => {
    const { data, errors, extensions } = await gateway.graphql(operationOf(request));
    expect({ data, errors, extensions }).toEqual(JSON.parse(answer.text));
  });

  const consoles = blocks.filter(({ language }) => language === 'console');

  it.each(consoles)('answer as shown: $text', async ({ text }) => {
    const [head = '', body] = text.split('\n\n');
    const [command = '', statusLine = '', ...headers] = head.split('\n');
    const url = /(http:[^' ]+)/.exec(command)?.[1] ?? '';
    const response = await gateway.rest(url.replace(ADDRESS, ''));
    expect(`HTTP/1.1 ${response.status} ${response.statusText}`).toBe(statusLine);
    for (const header of headers) {
      const [name = '', value] = header.split(/: (.*)/);
      expect(response.headers.get(name)).toBe(value);
    }
    expect(await response.json()).toEqual(JSON.parse(body ?? ''));
  });
});

/** The anchor that GitHub gives a heading. */
const toAnchor = (heading: string): string => `#${heading.toLowerCase().replaceAll(' ', '-')}`;

describe('the README', () => {
  it('leads to headings that it has', () => {
    const anchors = [...readme.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      toAnchor(heading),
    );
    const links = [...readme.matchAll(/\]\((#[^)]+)\)/g)].map(([, link]) => link);
    expect(links.length).toBeGreaterThan(8);
    expect(anchors).toEqual(expect.arrayContaining(links));
  });

  it('names each environment variable that the configuration reads, and no other', () => {
    const documented = [...readme.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name = '']) => name);
    const known = [...read('src/config/environment.ts').matchAll(/^ {2}([A-Z_]+):/gm)].map(
      ([, name = '']) => name,
    );
    expect(documented.toSorted()).toEqual(known.toSorted());
  });

  it('names only scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json'));
    const named = [...readme.matchAll(/npm (?:run )?(start|test|(?<=run )\w+)/g)];
    expect(named.length).toBeGreaterThan(4);
    for (const [, script = ''] of named) expect(scripts).toHaveProperty(script);
  });
});
