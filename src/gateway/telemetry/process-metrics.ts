import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

/**
 * Counts how long the event loop was active and idle (OpenTelemetry's nodejs.eventloop.time). Unlike prom-client's
 * event loop lag, it is not reset by each scrape.
 */
function countEventLoopTime(registers: Registry[]): void {
  void new Counter({
    name: 'nodejs_eventloop_time_seconds_total',
    help: 'Time that the event loop has been active or idle.',
    labelNames: ['state'],
    registers,
    collect() {
      const { active, idle } = performance.eventLoopUtilization();
      this.reset();
      this.inc({ state: 'active' }, active / 1000);
      this.inc({ state: 'idle' }, idle / 1000);
    },
  });
}

function reportHeapLimit(registers: Registry[]): void {
  void new Gauge({
    name: 'nodejs_heap_size_limit_bytes',
    help: 'Maximum size of the heap; a process that exceeds it crashes.',
    registers,
    collect() {
      this.set(getHeapStatistics().heap_size_limit);
    },
  });
}

// prom-client 15 can't stop the observers of its default metrics, so each process starts them only once.
let processRegistry: Registry | undefined;

/** Returns the registry of this process: memory, CPU, garbage collection and event loop. */
export function processMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
    countEventLoopTime([processRegistry]);
    reportHeapLimit([processRegistry]);
  }
  return processRegistry;
}
