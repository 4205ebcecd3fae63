/** A plausible mistake: a string in a source file, and its replacement. */
export interface Fault {
  /** The effect on callers. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly text: string;
  readonly replacement: string;
  /** The test that should fail: its file, and a pattern for its name. */
  readonly test: readonly [file: string, name: string];
}

const ORDERS: Fault[] = [
  {
    name: 'a complete order can be cancelled',
    file: 'src/store/order/orders.ts',
    text: 'delete from orders where id = ${id} and not complete',
    replacement: 'delete from orders where id = ${id}',
    test: ['test/store/both/order.test.ts', 'cancelling an order returns ORDER_COMPLETE'],
  },
  {
    name: 'cancelling an order sets the stock to the units of the order',
    file: 'src/store/order/orders.ts',
    text: 'quantity = inventory_items.quantity + excluded.quantity',
    replacement: 'quantity = excluded.quantity',
    test: ['test/store/both/order.test.ts', 'cancelling an order returns its units'],
  },
  {
    name: 'a sold pet can be ordered',
    file: 'src/store/order/take-units.ts',
    text: "stock.quantity >= ${quantity} and pet.status = 'available'",
    replacement: 'stock.quantity >= ${quantity}',
    test: ['test/store/both/order.test.ts', 'returns PET_NOT_AVAILABLE'],
  },
  {
    name: 'a sold pet can be ordered by orders that arrive at the same time',
    file: 'src/store/order/take-units.ts',
    text: "stock.quantity >= lines.quantity and pet.status = 'available'",
    replacement: 'stock.quantity >= lines.quantity',
    test: ['test/store/shared-orders.test.ts', 'share statements'],
  },
  {
    name: 'two gateways sell the same unit',
    file: 'src/store/order/take-units.ts',
    text: 'where item.pet_id = (select pet.id from pet) for update',
    replacement: 'where item.pet_id = (select pet.id from pet)',
    test: ['test/store/postgres/locks.test.ts', 'starts from the resulting stock: placeOrder\\('],
  },
  {
    name: 'an order whose outcome is unknown is placed a second time',
    file: 'src/gateway/database/database-errors.ts',
    text: '/^(08...|40003|57P..|58...|XX...)$/',
    replacement: '/^(08...|40003|58...|XX...)$/',
    test: ['test/store/both/database-errors.test.ts', 'certainly rolled back'],
  },
];

const CARTS: Fault[] = [
  {
    name: 'two lines of a cart for one pet take the units of one',
    file: 'src/store/order/place-orders.ts',
    text: 'sum(quantity) over (partition by pet_id order by index) as needed',
    replacement: 'quantity as needed',
    test: ['test/store/both/place-orders.test.ts', 'takes the units of each line'],
  },
  {
    name: 'a refused cart places the lines for other pets',
    file: 'src/store/order/place-orders.ts',
    text: 'where (select bool_and(is_served) from claims) group by pet_id',
    replacement: 'where is_served group by pet_id',
    test: ['test/store/both/place-orders.test.ts', 'writes nothing'],
  },
  {
    name: 'the orders of a cart have the ids of each other',
    file: 'src/store/order/place-orders.ts',
    text: 'row_number() over (order by id) - 1',
    replacement: 'row_number() over (order by id desc) - 1',
    test: ['test/store/both/place-orders.test.ts', 'takes the units of each line'],
  },
];

const STOCK: Fault[] = [
  {
    name: 'of two callers who expect the same stock, both change it',
    file: 'src/store/inventory/change-stocks.ts',
    text: 'coalesce(lines.expected = coalesce(stock.quantity, 0), true) as "isFresh"',
    replacement: 'true as "isFresh"',
    test: ['test/store/inventory.test.ts', 'returns STALE_INVENTORY'],
  },
  {
    name: 'removals of stock by two gateways count once',
    file: 'src/store/inventory/change-stocks.ts',
    text: 'order by pet_id for update',
    replacement: 'order by pet_id',
    test: ['test/store/postgres/locks.test.ts', 'starts from the resulting stock: adjust'],
  },
];

const IDEMPOTENCY: Fault[] = [
  {
    name: 'callers share idempotency keys',
    file: 'src/gateway/tables/idempotency.ts',
    text: 'digest([caller, key])',
    replacement: 'digest([key])',
    test: ['test/gateway/scopes.test.ts', 'belongs to its caller'],
  },
  {
    name: 'an idempotency key that is used for another order returns the first one',
    file: 'src/gateway/tables/idempotency.ts',
    text: 'if (entry && !hash.equals(entry.hash))',
    replacement: 'if (entry && !entry.result && !hash.equals(entry.hash))',
    test: ['test/store/both/idempotency.test.ts', 'returns IDEMPOTENCY_CONFLICT'],
  },
  {
    name: 'an idempotency key of a minute ago is forgotten',
    file: 'src/gateway/tables/idempotency.ts',
    text: 'where created_at < ${limit}::timestamptz',
    replacement: 'where created_at > ${limit}::timestamptz',
    test: ['test/store/both/idempotency.test.ts', 'is deleted once it is old'],
  },
  {
    name: 'the stored result of an earlier release lacks the columns that are new',
    file: 'src/gateway/tables/idempotency.ts',
    text: 'return stored(deserialize(entry.result))',
    replacement: 'return deserialize(entry.result)',
    test: ['test/store/two-releases.test.ts', 'the stored result of an idempotency key'],
  },
];

const CHANGES: Fault[] = [
  {
    name: 'a subscription that resumes repeats changes',
    file: 'src/gateway/changes/change-log-reader.ts',
    text: 'this.#recent.findLastIndex((change) => !isAfter(change, position)) + 1',
    replacement: '0',
    test: ['test/store/subscriptions.test.ts', 'does not return again'],
  },
  {
    name: 'a subscriber does not learn that a pet leaves its filter',
    file: 'src/gateway/changes/row-filter.ts',
    text: "if (typeof now === 'boolean') return now || isMet(before);",
    replacement: "if (typeof now === 'boolean') return isMet(after ?? before);",
    test: ['test/store/subscriptions.test.ts', 'start or stop matching it'],
  },
  {
    name: 'a subscription after an expired cursor skips what it has missed',
    file: 'src/gateway/changes/change-log.ts',
    text: "if (!position) throw new GatewayError('CURSOR_EXPIRED');",
    replacement: 'if (!place) return { transaction: 0n, id: 0n };',
    test: ['test/store/both/changes.test.ts', 'expires older cursors'],
  },
  {
    name: 'changes of a transaction that takes long are lost',
    file: 'src/gateway/changes/change-log.ts',
    text: "name: 'settled_changes'",
    replacement: "name: 'changes'",
    test: ['test/store/postgres/changes.test.ts', 'holds back all later changes'],
  },
  {
    name: 'changes of another gateway come a second late',
    file: 'src/gateway/changes/feed.ts',
    text: 'db.notifications?.notify()',
    replacement: 'void db.notifications',
    test: ['test/store/postgres/changes.test.ts', 'notify each other'],
  },
  {
    name: 'a subscription goes on although a failover has lost changes',
    file: 'src/gateway/changes/change-log-reader.ts',
    text: 'if (this.#hasFailed) await this.#checkPosition();',
    replacement: '',
    test: ['test/store/subscriptions.test.ts', 'ends with CURSOR_EXPIRED'],
  },
  {
    name: 'a subscription gets the results of another one with other variables',
    file: 'src/gateway/graphql/execution/share-results.ts',
    text: '${numberOf(root)} ${numberOf(call.operation)} ${variables}',
    replacement: '${numberOf(root)} ${numberOf(call.operation)}',
    test: ['test/gateway/share-results.test.ts', 'each combination of variables'],
  },
];

const ACCESS: Fault[] = [
  {
    name: 'a token for another service is accepted',
    file: 'src/gateway/auth/tokens.ts',
    text: `
    audience,
    clockTolerance`,
    replacement: `
    clockTolerance`,
    test: ['test/gateway/tokens.test.ts', 'a token signed with the secret is rejected with'],
  },
  {
    name: 'a token is accepted after it expired, if it was before',
    file: 'src/gateway/auth/caller.ts',
    text: 'until: Math.min(Date.now() + CACHE_MS, expiresAt)',
    replacement: 'until: Date.now() + CACHE_MS',
    test: ['test/gateway/tokens.test.ts', 'although it was accepted before'],
  },
  {
    name: 'with AUTH_READ=open, a caller with a token may not read',
    file: 'src/gateway/auth/caller.ts',
    text: 'new Set([...publicScopes, ...scopes])',
    replacement: 'new Set(scopes)',
    test: ['test/gateway/scopes.test.ts', 'needs no token with AUTH_READ=open'],
  },
  {
    name: 'a caller that may only order reads through the result of its order',
    file: 'src/gateway/graphql/plugins/use-documents.ts',
    text: 'if (operation && usageOf(schema, operation).reads)',
    replacement: "if (operation?.node.operation === 'query')",
    test: ['test/gateway/scopes.test.ts', 'needs the scope read to select'],
  },
  {
    name: 'a caller that may only order changes the stock',
    file: 'src/store/inventory/schema.ts',
    text: `was never set, it counts as 0.',
    scope: 'inventory:write'`,
    replacement: `was never set, it counts as 0.',
    scope: 'orders:write'`,
    test: ['test/gateway/scopes.test.ts', 'requires exactly one scope'],
  },
];

const LIMITS: Fault[] = [
  {
    name: 'a search costs what the first search of its document did',
    file: 'src/gateway/graphql/analysis/cost.ts',
    text: "isIndexed(value) ? 'text' : 'short text'",
    replacement: "'text'",
    test: ['test/gateway/cost.test.ts', 'the cost of an operation of query \\(\\$filter'],
  },
  {
    name: 'a document is deeper than allowed by its fragments',
    file: 'src/gateway/graphql/analysis/document-size.ts',
    text: 'kind === Kind.FRAGMENT_SPREAD ? inside : inside + 1',
    replacement: 'kind === Kind.FRAGMENT_SPREAD ? 0 : inside + 1',
    test: ['test/gateway/limits.test.ts', 'has 21 levels in fragments'],
  },
  {
    name: 'the documents of one caller hold up those of all others',
    file: 'src/gateway/graphql/fair-queue.ts',
    text: `
  startsOf.delete(caller);
  startsOf.set(caller, starts);`,
    replacement: '',
    test: ['test/gateway/fair-queue.test.ts', 'lets callers take turns'],
  },
  {
    name: 'a caller has no budget left after it has ended its subscriptions',
    file: 'src/gateway/graphql/stream-budget.ts',
    text: 'add(callerKey, -1, -cost)',
    replacement: 'add(callerKey, -1, 0)',
    test: ['test/gateway/stream-budget.test.ts', 'beyond the budget of its caller'],
  },
  {
    name: 'a write is done, and its result is rejected as too large',
    file: 'src/gateway/graphql/execution/limit-cost.ts',
    text: 'estimate.bytes > maxResponseBytes && operation.node.operation !== QUERY',
    replacement: 'estimate.bytes > maxResponseBytes && operation.node.operation === SUBSCRIPTION',
    test: ['test/store/response-size.test.ts', 'for a mutation before it is executed'],
  },
];

const LISTS: Fault[] = [
  {
    name: 'the next page of a list in descending order goes back',
    file: 'src/gateway/tables/window.ts',
    text: "(end === 'after') !== isDescending",
    replacement: "end === 'after' || isDescending",
    test: ['test/store/filters.test.ts', "of 'pets' has the rows of '{}'"],
  },
  {
    name: 'a cursor of a list by name continues a list by id',
    file: 'src/gateway/tables/cursor.ts',
    text: 'if (name !== field) return undefined;',
    replacement: '',
    test: ['test/store/connections.test.ts', 'is rejected as INVALID_CURSOR'],
  },
  {
    name: 'a search for a percent sign finds everything',
    file: 'src/gateway/tables/filter-by.ts',
    text: "word.replaceAll(/[\\\\%_]/g, '\\\\$&')",
    replacement: 'word',
    test: ['test/store/filters.test.ts', "of 'pets' has the rows of '. name: .%"],
  },
  {
    name: 'two lists of an operation have the rows of one filter',
    file: 'src/gateway/tables/loaders.ts',
    text: 'sharedOf(source)(JSON.stringify([args]), recipient, (recipients)',
    replacement: 'sharedOf(source)(JSON.stringify([]), recipient, (recipients)',
    test: ['test/store/statements.test.ts', 'for pages with other arguments'],
  },
  {
    name: 'the count of a category without pets is an error',
    file: 'src/gateway/tables/pages.ts',
    text: 'return new Map(ids.map((id) => [id, counts.get(id) ?? 0]));',
    replacement: 'return counts;',
    test: ['test/store/statements.test.ts', 'for pages with other arguments'],
  },
  {
    name: 'a page of orders by the category of their pets ends too early',
    file: 'src/gateway/tables/listing.ts',
    text: 'of.by === id ? idBounds(raw(column)) : []',
    replacement: 'idBounds(raw(column))',
    test: ['test/store/filters.test.ts', "of 'orders' has the rows of .*petStatus"],
  },
  {
    name: 'an order at the end of a range of dates is in it',
    file: 'src/gateway/tables/filter-by.ts',
    text: '${by} < ${toBound(before)}',
    replacement: '${by} <= ${toBound(before)}',
    test: ['test/store/filters.test.ts', "of 'orders' has the rows of .* before: .2027"],
  },
];

const STATEMENT: Fault[] = [
  {
    name: 'callers get the data of each other',
    file: 'src/gateway/graphql/statement/run-statement.ts',
    text: 'rowOf.get(index + 1)',
    replacement: 'rowOf.get(1)',
    test: ['test/store/executor.test.ts', 'gets its own data'],
  },
  {
    name: 'a page has the size of another one',
    file: 'src/gateway/graphql/statement/slots.ts',
    text: `
    window?.size,`,
    replacement: '',
    test: ['test/store/executor.test.ts', 'depends on the variables'],
  },
  {
    name: 'a name with quotes breaks the response',
    file: 'src/gateway/kinds/text.ts',
    text: 'json: (column) => [{ sql: `to_json(${column})::text` }]',
    replacement: "json: (column) => ['\"', { sql: column }, '\"']",
    test: ['test/store/executor.test.ts', 'texts that JSON escapes'],
  },
  {
    name: 'a query has the fields that @include gave another caller',
    file: 'src/gateway/graphql/statement/compile.ts',
    text: '[id, ...conditions.map((name) => String(variables[name]))].join()',
    replacement: '[id, ...conditions].join()',
    test: ['test/store/executor.test.ts', 'depends on the variables'],
  },
  {
    name: 'the last page has no end cursor',
    file: 'src/gateway/graphql/statement/page-sql.ts',
    text: 'const last = `least(total, ${size})`;',
    replacement: 'const last = `${size}`;',
    test: ['test/store/both/order.test.ts', 'is null if it is infinity'],
  },
];

const REST: Fault[] = [
  {
    name: 'a caller keeps a pet that has changed',
    file: 'src/gateway/rest/row-route.ts',
    text: 'ETag: etag(body)',
    replacement: 'ETag: etag(String(id))',
    test: ['test/store/rest.test.ts', 'changes only when the pet changes'],
  },
  {
    name: 'an error of a deprecated route does not say that it ends',
    file: 'src/gateway/server/dispatch.ts',
    text: 'writeResponse(req, res, response, headers)',
    replacement: 'writeResponse(req, res, response, response.code ? {} : headers)',
    test: ['test/gateway/contract.test.ts', 'getPet 404 PET_NOT_FOUND'],
  },
];

const ERRORS: Fault[] = [
  {
    name: 'a message of PostgreSQL reaches callers',
    file: 'src/gateway/database/database-errors.ts',
    text: 'return new GatewayError(code, undefined, error);',
    replacement:
      'return new GatewayError(code, error instanceof Error ? error.message : code, error);',
    test: ['test/store/both/database-errors.test.ts', 'with its cause in the log only'],
  },
  {
    name: 'a message quotes a value of the store that cannot be sent',
    file: 'src/gateway/graphql/client-errors.ts',
    text: '!path && (!originalError || originalError instanceof GraphQLError)',
    replacement: '!originalError || originalError instanceof GraphQLError || !path',
    test: ['test/store/both/order.test.ts', 'is an error of its own field only'],
  },
  {
    name: 'a message names fields of a schema that is hidden',
    file: 'src/gateway/graphql/analysis/validation.ts',
    text: 'hideSuggestions: !introspection',
    replacement: 'hideSuggestions: false',
    test: ['test/gateway/graphiql-and-introspection.test.ts', 'suggests nothing for'],
  },
  {
    name: 'a caller is told to repeat a write that was done',
    file: 'src/gateway/graphql/client-errors.ts',
    text: 'headers: isRepeatable ? Object.assign',
    replacement: 'headers: isRepeatable || result.data ? Object.assign',
    test: ['test/store/kept-writes.test.ts', 'if a later mutation fails'],
  },
  {
    name: 'a timeout tells a caller that its write was not done',
    file: 'src/gateway/graphql/execution/limit-time.ts',
    text: "new GatewayError('OUTCOME_UNKNOWN'",
    replacement: "new GatewayError('SERVICE_UNAVAILABLE'",
    test: ['test/gateway/limits.test.ts', 'an operation that takes too long'],
  },
];

/** Fifty faults, in all parts of the gateway. */
export const FAULTS: readonly Fault[] = [
  ...ORDERS,
  ...CARTS,
  ...STOCK,
  ...IDEMPOTENCY,
  ...CHANGES,
  ...ACCESS,
  ...LIMITS,
  ...LISTS,
  ...STATEMENT,
  ...REST,
  ...ERRORS,
];
