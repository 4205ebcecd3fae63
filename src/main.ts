import { setFlagsFromString } from 'node:v8';

import { run } from './server/run.ts';
import { serve } from './server/serve.ts';
import { onStopSignal } from './server/shutdown.ts';
import { isWorker, onPrimaryStops, startWorkers } from './server/cluster.ts';

// V8 lets garbage grow to a multiple of what lives; twice as much saves a busy gateway some 50 MB, for
// no time that could be measured.
setFlagsFromString('--heap-growing-percent=100');

await run(async (config, log) => {
  const isPrimary = config.workers > 1 && !isWorker;
  const close = await (isPrimary ? startWorkers(config, log) : serve(config, log));
  const stop = async (): Promise<void> => {
    if (!isWorker) log.info('Stopping.');
    await close().catch((error: unknown) => log.error({ err: error }, 'The stop went wrong.'));
    process.exit(0);
  };
  (isWorker ? onPrimaryStops : onStopSignal)(() => void stop());
});
