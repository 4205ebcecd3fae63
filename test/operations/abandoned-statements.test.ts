import { expect, it } from 'vitest';

import { AbandonedStatements } from '../../src/gateway/database/abandoned-statements.ts';

it('an abandoned statement that ends soon frees its place soon, and is not logged, while another one does not end', async () => {
  const warnings: string[] = [];
  const log = { warn: (line: string) => void warnings.push(line) };
  const running = new Map([[1, 'SyncRep']]);
  let longest = 0;
  const server = {
    name: 'db',
    run: async <Row>() => Array.from(running, ([pid, wait]) => ({ pid, wait })) as Row[],
  };
  const abandoned = new AbandonedStatements(server, log as never);
  abandoned.add({ pid: 1, writes: true, free: () => {} });
  const add = (pid: number): Promise<void> => {
    running.set(pid, `event ${pid}`);
    return new Promise((resolve) => {
      const start = performance.now();
      const free = (): void => {
        longest = Math.max(longest, performance.now() - start);
        resolve();
      };
      abandoned.add({ pid, writes: false, free });
      // Its process ends after the first question.
      setTimeout(() => running.delete(pid), 5);
    });
  };
  for (let pid = 2; warnings.length === 0; pid += 1) await add(pid);
  expect(longest).toBeLessThan(500);
  expect(warnings).toEqual([expect.stringMatching(/keep 1 connections .* wait for SyncRep /)]);
  running.clear();
  await expect.poll(() => warnings).toHaveLength(2);
});
