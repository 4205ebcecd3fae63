import { Unavailable } from '../../contract/gateway-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { isReadOnlyServer, NothingWritten, OutcomeUnknown } from '../database-errors.ts';
import type { Server } from '../postgres-server.ts';
import type { WatchedServer } from './watch.ts';

/** Each request gets it immediately; the log has one line when the primary is lost. */
const noPrimary = (): Unavailable =>
  new Unavailable('The store does not accept writes at the moment.');

/** The server that accepts writes, also after a failover. */
export interface Primary {
  /** Undefined while no server accepts writes. */
  readonly current: () => Server | undefined;
  /** The last timeline of the primary; 0 if there was none. */
  readonly timeline: () => number;
  /** Finds the primary again after the state of a server was set. */
  readonly update: () => void;
  /**
   * Runs `work` on the primary. If certainly nothing was written, as the server was lost or accepts
   * reads only, it runs once more on the server that is the primary now.
   * @throws GatewayError
   */
  readonly use: <Result>(work: (server: Server) => Promise<Result>) => Promise<Result>;
  /** Like `use` for work that only reads: while there is no primary, on the last one if it responds. */
  readonly read: Primary['use'];
  /** The number of failovers to another server since the start. */
  readonly failovers: () => number;
}

/** The servers that were elected. */
interface Elected {
  current: WatchedServer | undefined;
  /** The current one or, if there is none, the one before. */
  last: WatchedServer | undefined;
  /** The timeline and the identity of the last one. */
  timeline: number;
  identity: string;
  failovers: number;
}

/** Creates the function that elects the primary after the state of a server was set, and logs a change. */
function createUpdate(elected: Elected, candidates: readonly WatchedServer[], log: Log) {
  let lostAt = 0;
  const replace = (found: WatchedServer, former: WatchedServer, timeline: number): void => {
    if (found !== former || timeline !== elected.timeline) elected.failovers += 1;
    // What still waits for the former primary would get no response before its time limit, and behind one
    // address, connections may lead to it still.
    former.server.abort();
    const ms = elected.current ? 0 : Math.round(performance.now() - lostAt);
    log.warn(`The primary is ${found.server.name} now, after ${ms} ms without one.`);
  };
  return (): void => {
    const { current, last } = elected;
    const writable = candidates.filter(({ state }) => state?.writes);
    // A former primary that does not know of its end has an earlier timeline: what it wrote would be lost.
    const timeline = Math.max(
      elected.timeline,
      ...writable.map(({ state }) => state?.timeline ?? 0),
    );
    const latest = writable.filter(({ state }) => state?.timeline === timeline);
    const found = latest.find((watched) => watched === current) ?? latest[0];
    const identity = found?.state?.identity ?? elected.identity;
    if (!found && current) {
      lostAt = performance.now();
      log.error(`The primary ${current.server.name} is lost: mutations are rejected.`);
    }
    const isOther = found !== current || identity !== elected.identity;
    if (found && last && isOther) replace(found, last, timeline);
    Object.assign(elected, { current: found, last: found ?? last, timeline, identity });
  };
}

/** Creates the primary of a store: the one of `candidates` that accepts writes. */
export function createPrimary(candidates: readonly WatchedServer[], log: Log): Primary {
  const elected: Elected = {
    current: undefined,
    last: undefined,
    timeline: 0,
    identity: '',
    failovers: 0,
  };
  const useOr =
    (other: () => WatchedServer | undefined): Primary['use'] =>
    async (work) => {
      const { server } = elected.current ?? other() ?? {};
      if (!server) throw noPrimary();
      try {
        return await work(server);
      } catch (error) {
        const canRepeat = error instanceof NothingWritten || isReadOnlyServer(error);
        if (!canRepeat && !(error instanceof OutcomeUnknown)) throw error;
        const checks = Promise.all(candidates.map(({ check }) => check()));
        if (!canRepeat) throw error;
        await checks;
        if (!elected.current) throw noPrimary();
        return work(elected.current.server);
      }
    };
  return {
    current: () => elected.current?.server,
    timeline: () => elected.timeline,
    update: createUpdate(elected, candidates, log),
    use: useOr(() => undefined),
    read: useOr(() => (elected.last?.state ? elected.last : undefined)),
    failovers: () => elected.failovers,
  };
}
