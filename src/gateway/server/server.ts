import { createAuthenticate } from '../auth/caller.ts';
import { ChangeFeed } from '../changes/feed.ts';
import { Streams } from '../changes/streams.ts';
import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import type { Context } from '../context.ts';
import type { Database } from '../database/database.ts';
import { createSourceFor } from '../model/source-for.ts';
import { createExecutor } from '../operation/yoga.ts';
import type { Store } from '../store.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createGraphqlEndpoint } from '../transport/http/endpoint.ts';
import { deprecatedOf } from '../transport/rest/rest-operation.ts';
import { createApp } from './app.ts';
import { shutDown, type ShutdownState } from './shutdown.ts';

/**
 * Creates the gateway: GraphQL, REST and the pages, on a server that does not listen yet.
 * @throws ConfigError if the manifest of trusted documents, the guide or a tool can't be used
 */
export async function createGateway(store: Store, db: Database, config: Config, log: Log) {
  const shutdown: ShutdownState = { hasStarted: false };
  const { sunset, limits } = config;
  const deprecated = deprecatedOf(store.rest.operations);
  const facts = { version: VERSION, deprecated, sunset, maxCost: limits.maxCost };
  const metrics = createMetrics(db.registry, facts);
  const changes = new ChangeFeed(
    db,
    [...store.changedTypes.keys()],
    log,
    metrics.changes.observeChanges,
  );
  const source = { db, observeBatch: metrics.observeBatch };
  const context: Context = {
    source,
    sourceFor: createSourceFor(source),
    changes,
    authenticate: createAuthenticate(config.auth),
  };
  const streams = new Streams(config, metrics.changes);
  const graphql = { schema: store.schema, context, config, log, metrics, streams };
  const options = { ...graphql, executor: createExecutor(graphql, store.plugins) };
  const { routes, endStreams } = createGraphqlEndpoint(options);
  const { app, sockets } = await createApp(store, options, routes, shutdown);
  const { server } = app;
  return {
    server,
    metrics,
    /** Stops the server, and gives its open requests time to complete; the database stays open. */
    stop: async (): Promise<void> => {
      await shutDown({ server, sockets, endStreams, shutdown }, config, log);
      await app.close();
    },
  };
}
