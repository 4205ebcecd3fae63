import { BaseResolver, createConfig, type LoggerInterface, Source } from '@redocly/openapi-core';
import { run } from '@redocly/respect-core';

import type { Gateway } from './gateway.ts';

/** A request to an operation, and the status of its response. */
export interface Replayed {
  operationId: string;
  parameters: { in: 'path' | 'query' | 'header'; name: string; value: string | number }[];
  status: number;
}

const ignore = (): void => {};
const SILENT: LoggerInterface = {
  info: ignore,
  warn: ignore,
  output: ignore,
  error: ignore,
  printNewLine: ignore,
  printSeparator: ignore,
  indent: (text) => text,
};

/** Resolves the files that it is given by name, and no others. */
class MemoryResolver extends BaseResolver {
  readonly #files: Record<string, unknown>;

  constructor(files: Record<string, unknown>) {
    super();
    this.#files = files;
  }

  override async loadExternalRef(path: string): Promise<Source> {
    const name = path.replace(/^.*\//, '');
    if (!(name in this.#files)) throw new Error(`There is no file ${path}.`);
    return new Source(path, JSON.stringify(this.#files[name]));
  }
}

/**
 * Sends the requests with Respect, Redocly's contract tester, as an Arazzo description. Returns the
 * checks that failed.
 */
export async function replay(
  { url }: Gateway,
  document: object,
  requests: readonly Replayed[],
): Promise<string[]> {
  const workflows = requests.map(({ operationId, parameters, status }, index) => ({
    workflowId: `request-${index}`,
    steps: [
      {
        stepId: `${operationId}-${status}`,
        operationId,
        parameters,
        successCriteria: [{ condition: `$statusCode == ${status}` }],
      },
    ],
  }));
  const arazzo = {
    arazzo: '1.0.1',
    info: { title: 'Replay', version: '1.0.0' },
    sourceDescriptions: [{ name: 'store', type: 'openapi', url: './openapi.json' }],
    workflows,
  };
  const [result] = await run({
    files: ['arazzo.json'],
    server: `store=${url}`,
    config: await createConfig({}),
    maxSteps: requests.length,
    maxFetchTimeout: 60_000,
    requestFileLoader: { getFileBody: () => Promise.reject(new Error('There are no files.')) },
    logger: SILENT,
    fetch,
    externalRefResolver: new MemoryResolver({ 'arazzo.json': arazzo, 'openapi.json': document }),
  });
  const steps = (result?.executedWorkflows ?? []).flatMap(({ executedSteps }) => executedSteps);
  if (steps.length !== requests.length) throw new Error('Some requests were not sent.');
  return steps.flatMap((step) => {
    if (!('checks' in step)) return [];
    const failed = step.checks.filter(({ passed }) => !passed);
    return failed.map(({ name, message }) => `${step.stepId} ${name}: ${message}`);
  });
}
