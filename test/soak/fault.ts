import type { TestServer } from '../support/postgres.ts';
import type { Cluster } from './failovers.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Disturbance } from './journal.ts';
import type { Random } from './random.ts';

/** What faults are injected into. */
export interface World {
  readonly folder: string;
  readonly gateway: GatewayProcess;
  /** Chooses what a fault does, apart from the honest callers' choices. */
  readonly random: Random;
  /** The only PostgreSQL, unless the gateway runs on the embedded one or on a cluster. */
  readonly server: TestServer | undefined;
  readonly cluster: Cluster | undefined;
  /** The database of the gateway on that server or cluster. */
  readonly databaseUrl: string | undefined;
  /** The small disks of the embedded store and of the log, if the soak can mount some. */
  readonly storeDisk: string | undefined;
  readonly logDisk: string | undefined;
}

/** Ends a fault. */
export type Stop = () => Promise<void> | void;

export interface Fault extends Disturbance {
  /** Faults at the same time have different targets. */
  readonly target: 'gateway' | 'database' | 'clock' | 'neighbour';
  /** What the gateway may do because of it, with exit code 1 and a sentence in its log. */
  readonly gatewayMayEnd?: 'at its start' | 'at any time';
  isPossible(world: World): boolean;
  start(world: World): Promise<Stop> | Stop;
}

export const always = (): boolean => true;
export const onPostgres = ({ server }: World): boolean => server !== undefined;
export const onCluster = ({ cluster }: World): boolean => cluster !== undefined;
export const withWorkers = ({ databaseUrl }: World): boolean => databaseUrl !== undefined;
export const onEmbedded = ({ databaseUrl }: World): boolean => databaseUrl === undefined;

/** Repeats something in several loops until it is stopped. */
export function repeat(times: number, work: () => Promise<void>): () => Promise<void> {
  const end = new AbortController();
  const loop = async (): Promise<void> => {
    while (!end.signal.aborted) await work();
  };
  const loops = Array.from({ length: times }, loop);
  return async () => {
    end.abort();
    await Promise.all(loops);
  };
}
