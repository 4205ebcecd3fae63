import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import npm from '../package.json' with { type: 'json' };
import { freePort } from '../test/support/postgres.ts';
import { AUTH_BY_SECRET } from '../test/support/tokens.ts';
import {
  type Dialect,
  gatewayDialect,
  loggedDialect,
  plainDialect,
  postgraphileDialect,
  prismaDialect,
  tokenDialect,
} from './dialects.ts';

/** A server to measure. */
export interface Contender {
  readonly name: string;
  readonly dialect: Dialect;
  /** The arguments with which Node.js starts it. */
  readonly program: readonly string[];
  /** Variables of its environment, beside or instead of the usual ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** The lowest major version of Node.js that it supports. */
  readonly leastNode?: number;
}

/** A running contender. */
export interface Running {
  readonly url: string;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

const START_TIMEOUT_MS = 30_000;

export const GATEWAY: Contender = {
  name: 'gateway',
  dialect: gatewayDialect,
  // The same command as `npm start`.
  program: npm.scripts.start.split(' ').slice(1),
};
/** The gateway with the default log level, so that it logs each request. */
const LOGGED: Contender = {
  ...GATEWAY,
  name: 'logged',
  dialect: loggedDialect,
  env: { LOG_LEVEL: 'info' },
};
/** The gateway with AUTH=jwt. */
const WITH_TOKENS: Contender = {
  ...GATEWAY,
  name: 'tokens',
  dialect: tokenDialect,
  env: AUTH_BY_SECRET,
};
/** Returns the contender for another version of the gateway, which is built in the `dist/` of a clone. */
export const versionIn = (folder: string): Contender => ({
  ...GATEWAY,
  name: basename(resolve(folder)),
  program: GATEWAY.program.map((part) => (part.startsWith('dist/') ? resolve(folder, part) : part)),
});
/** The baseline for the other contenders. */
export const FLOOR: Contender = {
  name: 'floor',
  dialect: plainDialect,
  program: ['--import', 'tsx', 'bench/floor.ts'],
};
export const PEERS: readonly Contender[] = [
  {
    name: 'mercurius',
    dialect: { ...plainDialect, rest: false },
    program: ['bench/peers/mercurius.mjs'],
  },
  {
    name: 'postgraphile',
    dialect: postgraphileDialect,
    program: ['bench/peers/postgraphile.mjs'],
    leastNode: 22,
  },
  {
    name: 'prisma',
    dialect: prismaDialect,
    program: ['--import', 'tsx', 'bench/peers/prisma/server.mjs'],
  },
];
export const CONTENDERS: readonly Contender[] = [FLOOR, GATEWAY, LOGGED, WITH_TOKENS, ...PEERS];

const versionOf = (node: string): string => execFileSync(node, ['--version']).toString().trim();

/** Returns why a contender cannot run here, or null if it can. */
export function obstacleTo({ name, leastNode = 0 }: Contender, node: string): string | null {
  const isPeer = PEERS.some((peer) => peer.name === name);
  if (isPeer && !existsSync('bench/peers/node_modules')) {
    return `${name} is left out: run npm ci --prefix bench/peers`;
  }
  const version = versionOf(node);
  if (Number.parseInt(version.slice(1), 10) >= leastNode) return null;
  return `${name} is left out: it needs Node.js ${leastNode}, but this is ${version}; choose another with --node`;
}

async function isUp(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).text();
    return true;
  } catch {
    return false;
  }
}

/** Starts a contender in its own process, and waits until it responds. */
export async function start(
  { name, program, env }: Contender,
  node: string,
  databaseUrl: string,
): Promise<Running> {
  const port = await freePort();
  const child = spawn(node, program, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: 'warn',
      STOP_DELAY_MS: '0',
      ...env,
    },
  });
  // Reads the log, as whatever collects the logs of a server does.
  child.stdout.resume();
  const end = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isUp(url))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${name} did not start.`);
    }
    await sleep(50);
  }
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill();
      await end;
    },
  };
}
