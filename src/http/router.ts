import type { Question, Route } from './answer.ts';

/** The route of a path, and the parameters in it. */
export interface Match {
  readonly route: Route;
  readonly parameters: Question['parameters'];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Makes what finds the route of a path. */
export function createRouter(routes: readonly Route[]): (path: string) => Match | undefined {
  const patterns = routes.map((route) => {
    const pattern = route.path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    return { route, pattern: new RegExp(`^${pattern}$`) };
  });
  return (path) => {
    for (const { route, pattern } of patterns) {
      const match = pattern.exec(path);
      if (!match) continue;
      const groups = Object.entries(match.groups ?? {});
      const parameters = Object.fromEntries(groups.map(([name, text]) => [name, decode(text)]));
      return { route, parameters };
    }
    return undefined;
  };
}
