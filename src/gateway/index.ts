/** Everything that a store may import from the gateway. */

// Errors, rules for input, and times as text.
export { errorOf, type GatewayError, InvalidInput } from './contract/gateway-error.ts';
export { Id, MAX_LINES, MAX_LIST_SIZE, parseArguments, parseId, RowId } from './contract/parse.ts';
export { timeAsText } from './kinds/times.ts';

// The database: statements, and the meaning of PostgreSQL's errors.
export { isDuplicate, isOutOfRange, isRolledBack } from './database/database-errors.ts';
export { onlyRow, type Session } from './database/session.ts';

// Tables and lists: how a type's rows are read, filtered, sorted and written.
export * as filterBy from './list/filter-by.ts';
export * as groupBy from './list/group-by.ts';
export { defineWrite } from './model/define-write.ts';
export { createBatcher, type DataSource, MAX_SHARED } from './model/loaders.ts';
export { insertLines, linesOf, rowsOfLines } from './model/lines.ts';
export { createRepository } from './repository.ts';
export { createTables } from './model/stored-table.ts';

// The types of the values that a store passes to the gateway or receives from it.
export type { RestRoute, Store } from './store.ts';
export type { OperationRequest } from './operation/request.ts';

// GraphQL: the builder, and resolvers of fields.
export { StoreBuilder } from './schema/store-builder.ts';
export { listOf } from './schema/cost-directives.ts';
export { IDEMPOTENCY_KEY } from './schema/mutations.ts';
export { aggregate, derivedValue, relatedRow, relatedValue } from './schema/rows.ts';
