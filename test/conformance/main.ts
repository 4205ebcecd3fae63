// Runs the conformance suite of the Model Context Protocol against the tools of the store: `npm run test:conformance`.
// Fails if anything else fails than expected-failures.yaml says, or if any of that passes.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startProgram } from '../support/program.ts';

const SUITE = join(
  import.meta.dirname,
  'node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
const EXPECTED = join(import.meta.dirname, 'expected-failures.yaml');
// Clients of the first speak of an initialization, and those of the second send each message on its own.
const VERSIONS = ['2025-11-25', '2026-07-28'];

const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
const gateway = await startProgram({
  MCP_OPERATIONS: 'src/store/tools',
  DATA_DIR: join(folder, 'data'),
});
for (const version of VERSIONS) {
  const { status } = spawnSync(
    process.execPath,
    [SUITE, 'server', '--url', `${gateway.url}/mcp`, '--requirements', version].concat(
      '--expected-failures',
      EXPECTED,
    ),
    { stdio: 'inherit' },
  );
  if (status !== 0) process.exitCode = 1;
}
await gateway.stop();
rmSync(folder, { recursive: true });
