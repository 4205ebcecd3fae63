import escapeHtml from 'escape-html';

import type { Config } from '../config/config.ts';

/** The URL of a query in GraphiQL, which opens a tab with the name of its operation. */
export const graphiqlUrl = (query: string): string =>
  escapeHtml(`/graphql?query=${encodeURIComponent(query)}`);

/** A link that opens a query in GraphiQL; empty if GraphiQL is off. */
export const linkToGraphiql = (query: string, { graphiql }: Config): string =>
  graphiql ? `<a class="button" href="${graphiqlUrl(query)}">Run it in GraphiQL</a>` : '';
