import type { GraphQLSchema } from 'graphql';
import type { z } from 'zod';

import type { Context } from './context.ts';
import type { ErrorCodes } from './contract/error-codes.ts';
import type { Session } from './database/session.ts';
import type { RouteRequest, RouteResponse } from './http/route.ts';
import type { Table } from './tables/table.ts';

/** The lifecycle of a REST operation. */
export interface RestLifecycle {
  /** A beta operation may still change. */
  readonly stability: 'beta' | 'stable';
  /** The date of its deprecation. */
  readonly deprecatedSince?: Date;
  /** The schema coordinate of its replacement. */
  readonly successor: string;
}

/** An operation of REST: its route, its documentation, and its handler. */
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
    /** An example of each header. With an ETag, the operation also responds with 304. */
    readonly headers: Readonly<Record<string, string>>;
  };
  /** What it returns, unless it is one of the resources of the store. */
  readonly resource?: Resource;
  /** The codes of its errors, besides those of every operation. */
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

/** A schema of the OpenAPI document. */
export interface Resource {
  readonly rule: z.ZodType;
  readonly description: string;
  readonly example: unknown;
}

/** An operation, and its result as JSON. */
export interface Example {
  readonly query: string;
  readonly result: string;
}

/** All that a store hands over to the gateway, which knows nothing else of it. */
export interface Store {
  /** Its name, for people: the title of its pages and of its OpenAPI document. */
  readonly title: string;
  /** The folder of its migrations, in the layout of Prisma Migrate. */
  readonly migrations: URL;
  /** The GraphQL schema, made with the builder of createBuilder. */
  readonly schema: GraphQLSchema;
  /** The types of the schema whose rows have changes, with their tables. */
  readonly changedTypes: ReadonlyMap<string, Table<never>>;
  /** Its error codes, besides those of the gateway. */
  readonly errorCodes: ErrorCodes;
  /** Adds samples to a new database, in a transaction, for SAMPLE_STORE. */
  readonly fillSample: (session: Session) => Promise<void>;
  readonly rest: {
    /** The routes, with their documentation and their lifecycles. */
    readonly operations: readonly RestOperation[];
    /** What else the OpenAPI document has as a schema, by their names. */
    readonly resources?: Readonly<Record<string, Resource>>;
  };
  readonly pages: {
    /** The drawing beside the title and in the tab of the browser: an SVG of one colour. */
    readonly icon: string;
    /** The sentences of the start page: its heading, and what the gateway is for, as HTML. */
    readonly heading: string;
    readonly lead: string;
    /** The query of the start page, and a mutation that is rejected; each with its result on the samples. */
    readonly example: Example;
    readonly mutation: Example;
    /** The subscription of the start page. */
    readonly subscription: string;
    /** Its documents for callers, as scripts/render-guide.js writes them. */
    readonly guide?: URL;
    /** The folder of the example queries of GraphiQL. The first line of each is `# group: title`. */
    readonly examples: URL;
  };
}
