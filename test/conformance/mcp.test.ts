import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, it } from 'vitest';

import { useFolder } from '../support/folders.ts';
import { type Program, startProgram } from '../support/program.ts';
import { expectExplained } from '../support/standards.ts';

const SUITE = join(
  import.meta.dirname,
  'node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
// Clients of the first speak of an initialization, and those of the second send each message on its own.
const VERSIONS = ['2025-11-25', '2026-07-28'];

interface Check {
  readonly id: string;
  readonly status: string;
}

const folder = useFolder();
let gateway: Program;

beforeAll(async () => {
  const DATA_DIR = join(folder, 'data');
  gateway = await startProgram({ MCP_OPERATIONS: 'src/store/tools', DATA_DIR });
});
afterAll(() => gateway.stop());

/** Runs all scenarios of a version, and returns their checks by scenario. */
async function runSuite(version: string): Promise<Map<string, Check[]>> {
  const results = join(folder, version);
  const options = ['--url', `${gateway.url}/mcp`, '--requirements', version, '-o', results];
  await once(spawn(process.execPath, [SUITE, 'server', ...options], { stdio: 'ignore' }), 'exit');
  return new Map(
    readdirSync(results).map((name) => [
      name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, ''),
      JSON.parse(readFileSync(join(results, name, 'checks.json'), 'utf8')) as Check[],
    ]),
  );
}

it('MCP: the conformance suite finds only what docs/standards.md explains', async () => {
  const failures: string[] = [];
  for (const version of VERSIONS) {
    for (const [scenario, checks] of await runSuite(version)) {
      const failed = checks.filter(({ status }) => /^(?:FAILURE|WARNING)$/.test(status));
      failures.push(...failed.map(({ id }) => `${scenario}: ${id}`));
    }
  }
  expectExplained('MCP', failures);
});
