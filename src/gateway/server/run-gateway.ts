import { setFlagsFromString } from 'node:v8';

import type { Store } from '../store.ts';
import { run } from './run.ts';
import { serve } from './serve.ts';
import { onStopSignal } from './shutdown.ts';

// V8 lets the heap grow to a multiple of its live objects before it collects garbage. A factor of two saves a busy
// gateway some 50 MB, at no measurable cost.
setFlagsFromString('--heap-growing-percent=100');

/** Runs a store's gateway as this process's program, until a signal stops it. */
export const runGateway = (store: Store): Promise<void> =>
  run((config, log) =>
    serve(store, config, log, (close) => {
      const stop = async (): Promise<void> => {
        log.info('Stopping.');
        await close().catch((error: unknown) => log.error({ err: error }, 'Shutdown failed.'));
        process.exit(0);
      };
      onStopSignal(() => void stop());
    }),
  );
