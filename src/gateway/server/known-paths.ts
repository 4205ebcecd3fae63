import type { FastifyInstance } from 'fastify';

/** A path that has routes. */
interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
  /** The headers of every response on this path. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns the function that finds the path of a URL among those of an app's routes, whatever the method. Fastify itself
 * does not distinguish an unknown method from an unknown path. Must be called before the routes are added.
 */
export function collectPaths(app: FastifyInstance): (url: string) => KnownPath | undefined {
  const paths = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url.endsWith('*')) return;
    const pattern = url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+');
    const known = paths.get(url) ?? {
      pattern: new RegExp(`^${pattern}/?(?:\\?|$)`),
      methods: new Set(),
      headers: config?.headers ?? {},
    };
    for (const each of [method].flat()) known.methods.add(each);
    paths.set(url, known);
  });
  return (url) => [...paths.values()].find(({ pattern }) => pattern.test(url));
}
