import pLimit from 'p-limit';

import type { Config } from '../config/config.ts';
import { addWait } from '../telemetry/request-log.ts';
import { PoolExhausted } from './database-errors.ts';
import type { TransactionRunner } from './driver.ts';
import type { RunOptions } from './session.ts';

// Writes wait for each other's locks. Without these connections, reads would wait for the locks, too.
const RESERVED_FOR_READS = 2;

/** Returns a runner in which writes leave connections of the pool for reads. They reject with PoolExhausted after a long wait. */
export function limitWrites(runner: TransactionRunner, config: Config): TransactionRunner {
  const limit = pLimit(Math.max(1, config.poolSize - RESERVED_FOR_READS));
  const inTurn = <Result>(write: () => Promise<Result>): Promise<Result> => {
    const start = performance.now();
    return limit(() => {
      const waitedMs = performance.now() - start;
      if (waitedMs > config.connectTimeoutMs) {
        throw new PoolExhausted(config, new Error('Other writes took too long.'));
      }
      addWait('poolMs', start);
      return write();
    });
  };
  return {
    run: <Row>(text: string, values: unknown[], options: RunOptions) => {
      const run = () => runner.run<Row>(text, values, options);
      return options.writes ? inTurn(run) : run();
    },
    transaction: (work) => inTurn(() => runner.transaction(work)),
  };
}
