import escapeHtml from 'escape-html';

import type { Config } from '../config/config.ts';

/** Returns the URL that opens a query in GraphiQL, in a tab named after its operation. */
export const graphiqlUrl = (query: string): string =>
  escapeHtml(`/graphql?query=${encodeURIComponent(query)}`);

/** Renders a link that opens a query in GraphiQL; empty if GraphiQL is off. */
export const linkToGraphiql = (query: string, { graphiql }: Config): string =>
  graphiql ? `<a class="button" href="${graphiqlUrl(query)}">Run it in GraphiQL</a>` : '';
