import type { FastifyContextConfig, FastifyInstance } from 'fastify';

/** A path that has routes. */
interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
  /** The path template for logs and metrics. */
  readonly route: string;
  /** The headers of every response on this path. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Finds the path of a URL among those of the routes, whatever the method. */
export type FindPath = (url: string) => KnownPath | undefined;

/** Returns the path template of a route, for logs and metrics. */
export const templateOf = (url: string, config: FastifyContextConfig | undefined): string =>
  // All assets share one value, because each value adds dozens of time series.
  config?.route ?? (url.startsWith('/assets') ? '/assets' : url);

/**
 * Collects the paths of an app's routes, because Fastify does not distinguish an unknown method from an unknown path.
 * Must be called before the routes are added.
 */
export function collectPaths(app: FastifyInstance): FindPath {
  const paths = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url.endsWith('*')) return;
    const pattern = url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+');
    const known = paths.get(url) ?? {
      pattern: new RegExp(`^${pattern}/?(?:\\?|$)`),
      methods: new Set(),
      route: templateOf(url, config),
      headers: config?.headers ?? {},
    };
    for (const each of [method].flat()) known.methods.add(each);
    paths.set(url, known);
  });
  return (url) => [...paths.values()].find(({ pattern }) => pattern.test(url));
}
