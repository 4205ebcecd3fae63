import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

interface Request {
  /** What is requested. */
  readonly request: string;
  readonly id: number;
}

interface Reply<Value> {
  readonly replyTo: string;
  readonly id: number;
  readonly value?: Value | undefined;
  /** Why there is no value: the stack of an error. */
  readonly error?: string;
}

const isObject = (message: unknown): message is object =>
  typeof message === 'object' && message !== null;

const isRequest = (message: unknown, name: string): message is Request =>
  isObject(message) && 'request' in message && message.request === name;

const isReply = <Value>(message: unknown, name: string): message is Reply<Value> =>
  isObject(message) && 'replyTo' in message && message.replyTo === name;

// A process that has just ended receives nothing; without a callback, that would be an event `error`.
const send = (to: Worker, message: object, onSent: (error: Error | null) => void = () => {}) =>
  void to.send(message, undefined, undefined, onSent);

/** Listens to the primary process in a worker, and to all workers in the primary process. */
function onMessage(listener: (from: Worker, message: unknown) => void): void {
  const { worker } = cluster;
  if (worker) worker.on('message', (message: unknown) => listener(worker, message));
  else cluster.on('message', listener);
}

/** What the primary process and its workers can request of each other. */
interface ClusterRequest<Value> {
  /** Lets this process reply to requests of others. */
  readonly reply: (read: () => Value | Promise<Value>) => void;
  /**
   * Returns the reply of a process; undefined if it does not reply within `maxWaitMs`.
   * @throws Error if the process could not read what is requested
   */
  readonly send: (to: Worker, maxWaitMs: number) => Promise<Value | undefined>;
}

/** Creates a request between the processes of a cluster. Its values must survive JSON. */
export function createClusterRequest<Value>(name: string): ClusterRequest<Value> {
  const pending = new Map<number, (reply: Reply<Value>) => void>();
  let lastId = 0;
  return {
    reply: (read) =>
      onMessage((from, message) => {
        if (!isRequest(message, name)) return;
        const { id } = message;
        const respond = (reply: Pick<Reply<Value>, 'value' | 'error'>): void =>
          send(from, { replyTo: name, id, ...reply } satisfies Reply<Value>);
        Promise.resolve()
          .then(read)
          .then((value) => respond({ value }))
          .catch((error: unknown) => respond({ error: inspect(error) }));
      }),
    send: async (to, maxWaitMs) => {
      if (lastId === 0) {
        onMessage((_from, message) => {
          if (isReply<Value>(message, name)) pending.get(message.id)?.(message);
        });
      }
      lastId += 1;
      const id = lastId;
      const none: Reply<Value> = { replyTo: name, id };
      const replied = new Promise<Reply<Value>>((resolve) => {
        pending.set(id, resolve);
        send(to, { request: name, id } satisfies Request, (error) => error && resolve(none));
      });
      const { value, error } = await Promise.race([
        replied,
        sleep(maxWaitMs, none, { ref: false }),
      ]);
      pending.delete(id);
      if (error !== undefined) throw new Error(`Another process failed: ${error}`);
      return value;
    },
  };
}

// Less than the ten seconds that Prometheus waits by default.
const PRIMARY_WAIT_MS = 5000;

/** Returns the primary process' reply to this worker; undefined if there is none within five seconds. */
export const askPrimary = async <Value>({
  send: ask,
}: ClusterRequest<Value>): Promise<Value | undefined> =>
  cluster.worker && ask(cluster.worker, PRIMARY_WAIT_MS);
