import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

import { makeFolder } from '../support/folders.ts';
import { startGateway } from '../support/gateway.ts';
import { hashOf } from '../support/manifest.ts';
import { failureOf } from '../support/program.ts';

const run = promisify(execFile);

const COUNT = 'query Count {\n  pets {\n    totalCount\n  }\n}';

it('npm run manifest writes a manifest that a gateway accepts', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'count.graphql'), COUNT);
  const file = join(folder, 'made.json');
  const { stdout } = await run('npm', ['run', '--silent', 'manifest', '--', folder, file]);
  expect(stdout).toBe(`Trusted documents in ${file}: 1\n`);
  const gateway = await startGateway({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: file });
  const response = await fetch(`${gateway.url}/graphql?documentId=sha256:${hashOf(COUNT)}`);
  expect(await response.json()).toEqual({ data: { pets: { totalCount: 0 } } });
  await gateway.close();
});

// No server listens there: a gateway that connected before it read the manifest would fail with ECONNREFUSED.
const SERVER = { DATABASE_URL: 'postgresql://127.0.0.1:1/store' };

it.each([
  ['does not create a database', {}],
  ['does not connect to a server', SERVER],
])(
  'DOCUMENTS_MANIFEST is rejected at startup with one message if it is invalid, and the gateway %s',
  async (_what, environment) => {
    const folder = makeFolder();
    const [DOCUMENTS_MANIFEST, DATA_DIR] = [join(folder, 'trusted.json'), join(folder, 'data')];
    writeFileSync(DOCUMENTS_MANIFEST, JSON.stringify({ a: '{ unknown }' }));
    const variables = { DATA_DIR, DOCUMENTS_MANIFEST, ...environment };
    const message = /^The document a in DOCUMENTS_MANIFEST cannot be executed: Cannot query field /;
    expect(await failureOf('main', variables)).toEqual([expect.stringMatching(message)]);
    expect(existsSync(DATA_DIR)).toBe(false);
  },
);
