import type { RouteRequest, Route } from './route.ts';

/** The route of a path, and the parameters of the path. */
export interface Match {
  readonly route: Route;
  readonly parameters: RouteRequest['parameters'];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const hasParameters = ({ path }: Route): boolean => path.includes('{');

/** Creates a function that finds the route of a path. */
export function createRouter(routes: readonly Route[]): (path: string) => Match | undefined {
  const fixed = new Map(
    routes
      .filter((route) => !hasParameters(route))
      .map((route): [string, Match] => [route.path, { route, parameters: {} }]),
  );
  const patterns = routes.filter(hasParameters).map((route) => {
    const pattern = route.path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    return { route, pattern: new RegExp(`^${pattern}$`) };
  });
  return (path) => {
    const match = fixed.get(path);
    if (match) return match;
    for (const { route, pattern } of patterns) {
      const found = pattern.exec(path);
      if (!found) continue;
      const groups = Object.entries(found.groups ?? {});
      const parameters = Object.fromEntries(groups.map(([name, text]) => [name, decode(text)]));
      return { route, parameters };
    }
    return undefined;
  };
}
