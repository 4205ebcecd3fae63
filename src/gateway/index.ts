/**
 * What a store may import of the gateway.
 */

// Errors, and rules for input.
export {
  errorOf,
  type GatewayError,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
} from './contract/gateway-error.ts';
export {
  Description,
  Id,
  Name,
  NamePart,
  parse,
  parseId,
  Time,
  type Unchecked,
} from './contract/parse.ts';
export { ROOT } from './config/root.ts';

// REST routes.
export { isUnchanged } from './http/etag.ts';
export type { RouteRequest, RouteResponse } from './http/route.ts';

// The database: statements, and what an error of PostgreSQL means.
export {
  isMissingReference,
  isOutOfRange,
  isRecordNotFound,
  isRolledBack,
  isStillReferenced,
} from './database/database-errors.ts';
export type { Database } from './database/database.ts';
export type { Model } from './database/model.ts';
export { perObject } from './database/per-object.ts';
export type { IsRare } from './database/rare-texts.ts';
export { onlyRow, type Session } from './database/session.ts';
export { isInfinite } from './database/type-parsers.ts';

// Tables, lists and loaders.
export { type CallerKey, writeOnce } from './tables/idempotency.ts';
export type { IdBounds, Listing } from './tables/listing.ts';
export {
  byId,
  type LoaderContext,
  MAX_SHARED,
  pagesByParent,
  pagesOf,
  required,
  SHARED,
} from './tables/loaders.ts';
export { createTables } from './tables/stored-table.ts';
export { isOneOf, nameContains, nameKey, timeAsText } from './tables/text.ts';

// The change log.
export { isAmong, isAtMost, isEqual, type RowFilter } from './changes/row-filter.ts';

// What a store passes to the gateway.
export type { Context } from './context.ts';
export type { Resource, RestOperation, Store } from './store.ts';

// GraphQL: the builder, and how fields are resolved.
export { nestedPage, rootPage } from './schema/connections.ts';
export { type ListSize, SEARCH_COST } from './schema/cost-directives.ts';
export { createBuilder } from './schema/create-builder.ts';
export { IDEMPOTENCY_KEY } from './schema/mutations.ts';
export { relatedRow, relatedValue, rowByArgument } from './schema/rows.ts';
