import type { GraphQLSchema } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { z } from 'zod';

import type { ErrorCodes } from './contract/error-codes.ts';
import type { Session } from './database/session.ts';
import type { DataSource } from './model/loaders.ts';
import type { Repository } from './repository.ts';

/** A GET route, and what the OpenAPI document and the migration guide say about it. */
export interface RestOperation<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
> {
  /** Method and path: `GET /books/{bookId}`. */
  readonly name: `GET /${string}`;
  readonly lifecycle: {
    /** A beta operation may still change. */
    readonly stability: 'beta' | 'stable';
    /** The date on which the operation was deprecated. */
    readonly deprecatedSince?: Date;
    /** The schema coordinate of the operation's replacement. */
    readonly successor: string;
  };
  /** Groups the routes in the OpenAPI document. */
  readonly tag: { readonly name: string; readonly description: string };
  readonly schema: {
    readonly operationId: string;
    readonly summary: string;
    readonly description: string;
    readonly params?: Params;
    /** A strict object rejects any other parameter. Without this rule, a query is ignored. */
    readonly querystring?: Query;
  };
  /** The name of the resource that the operation returns. */
  readonly result: string;
  /** Whether the result has an ETag, so that the response may be 304. */
  readonly hasTag?: boolean;
  /** The codes of the operation's errors, besides the errors that all operations have. */
  readonly errors: readonly string[];
  /** The migration to GraphQL: a request, the query that replaces it, and the differences. */
  readonly migration: {
    readonly request: string;
    readonly query: string;
    readonly differences: readonly string[];
  };
  /** @throws GatewayError */
  get(
    source: DataSource,
    request: { readonly params: z.output<Params>; readonly query: z.output<Query> },
  ): Promise<RestResult>;
}

export interface RestResult {
  /** The result as JSON; an AsyncIterable is streamed. */
  readonly json: string | AsyncIterable<string>;
  /** The next page, relative to the route. */
  readonly next?: string | undefined;
}

/** An operation, and the JSON of its result. */
export interface Example {
  readonly query: string;
  readonly result: string;
}

// Each plugin declares the context that it needs.
// oxlint-disable-next-line no-explicit-any
export type StorePlugin = Plugin<any>;

/** Everything that the gateway needs to know about a store. */
export interface Store {
  /** The display name: the title of the pages and of the OpenAPI document. */
  readonly title: string;
  /** The folder with the migrations, in Prisma Migrate's layout. */
  readonly migrations: URL;
  /** The GraphQL schema, built with the builder from createBuilder. */
  readonly schema: GraphQLSchema;
  /** The schema types whose changes are recorded, with their rows. */
  readonly changedTypes: ReadonlyMap<string, Repository>;
  /** Further plugins of Yoga, or of Envelop: operation/yoga.ts says what they can rely on. */
  readonly plugins?: readonly StorePlugin[];
  /** The store's error codes, besides the gateway's. */
  readonly errorCodes: ErrorCodes;
  /** Adds the sample data to a new database, in a transaction (see SAMPLE_STORE). */
  readonly fillSample: (session: Session) => Promise<void>;
  readonly rest: {
    /** The routes, with their documentation and their lifecycles. */
    readonly operations: readonly RestOperation[];
    /** The schemas of the OpenAPI document by name, each with a description and an example as its metadata. */
    readonly resources: Readonly<Record<string, z.ZodType>>;
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
