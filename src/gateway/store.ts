import type { GraphQLSchema } from 'graphql';
import type { z } from 'zod';

import type { Context } from './context.ts';
import type { ErrorCodes } from './contract/error-codes.ts';
import type { Session } from './database/session.ts';
import type { RouteRequest, RouteResponse } from './http/route.ts';
import type { SortedTable } from './tables/require-sort-indexes.ts';

export interface RestLifecycle {
  /** A beta operation may still change. */
  readonly stability: 'beta' | 'stable';
  /** The date on which the operation was deprecated. */
  readonly deprecatedSince?: Date;
  /** The schema coordinate of the operation's replacement. */
  readonly successor: string;
}

/** A REST operation: its route, its documentation, and its handler. */
export interface RestOperation {
  /** Method and path: `GET /books/{bookId}`. */
  readonly name: string;
  readonly id: string;
  readonly lifecycle: RestLifecycle;
  /** Groups the routes in the OpenAPI document. */
  readonly tag: { readonly name: string; readonly description: string };
  readonly summary: string;
  readonly description: string;
  readonly parameters: {
    readonly path: z.ZodObject;
    readonly query: z.ZodObject;
  };
  readonly result: {
    /** The name of a resource. */
    readonly resource: string;
    readonly description: string;
    /** An example of each header. With an ETag, the operation may also respond with 304. */
    readonly headers: Readonly<Record<string, string>>;
  };
  /** The schema of the result, unless `rest.resources` contains it. */
  readonly resource?: Resource;
  /** The codes of the operation's errors, besides the errors that all operations have. */
  readonly errors: readonly string[];
  /** The migration to GraphQL: a request, the query that replaces it, and the differences. */
  readonly migration: {
    readonly request: string;
    readonly query: string;
    readonly differences: readonly string[];
  };
  /** @throws GatewayError */
  readonly get: (context: Context, request: RouteRequest) => Promise<RouteResponse>;
}

export interface Resource {
  readonly rule: z.ZodType;
  readonly description: string;
  readonly example: unknown;
}

/** An operation, and the JSON of its result. */
export interface Example {
  readonly query: string;
  readonly result: string;
}

/** Everything that the gateway needs to know about a store. */
export interface Store {
  /** The display name: the title of the pages and of the OpenAPI document. */
  readonly title: string;
  /** The folder with the migrations, in Prisma Migrate's layout. */
  readonly migrations: URL;
  /** The GraphQL schema, built with the builder from createBuilder. */
  readonly schema: GraphQLSchema;
  /** The schema types whose changes are recorded, with their tables. */
  readonly changedTypes: ReadonlyMap<string, SortedTable>;
  /** The store's error codes, besides the gateway's. */
  readonly errorCodes: ErrorCodes;
  /** Adds the sample data to a new database, in a transaction (see SAMPLE_STORE). */
  readonly fillSample: (session: Session) => Promise<void>;
  readonly rest: {
    /** The routes, with their documentation and their lifecycles. */
    readonly operations: readonly RestOperation[];
    /** Further schemas of the OpenAPI document, by name. */
    readonly resources?: Readonly<Record<string, Resource>>;
  };
  readonly pages: {
    /** The icon next to the title and in the browser tab: an SVG in one colour. */
    readonly icon: string;
    /** The text of the start page: its heading, and a description of the gateway, as HTML. */
    readonly heading: string;
    readonly lead: string;
    /** The start page's query, and a mutation that is rejected, each with its result on the samples. */
    readonly example: Example;
    readonly mutation: Example;
    /** The start page's subscription. */
    readonly subscription: string;
    /** The documents for API users, as written by scripts/render-guide.js. */
    readonly guide?: URL;
    /** The folder with GraphiQL's example operations. The first line of each file is `# group: title`. */
    readonly examples: URL;
  };
}
