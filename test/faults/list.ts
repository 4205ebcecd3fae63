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
    text: 'and pet_id = (select id from pet) and not complete',
    replacement: 'and pet_id = (select id from pet)',
    test: ['test/store/both/order.test.ts', 'cancelling an order returns ORDER_COMPLETE'],
  },
  {
    name: "cancelling an order sets the stock to the order's units",
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
    name: 'an order with an unknown outcome is placed a second time',
    file: 'src/gateway/database/database-errors.ts',
    text: '/^(08...|40003|57P..|58...|XX...)$/',
    replacement: '/^(08...|40003|58...|XX...)$/',
    test: ['test/store/both/database-errors.test.ts', 'certainly rolled back'],
  },
];

const CARTS: Fault[] = [
  {
    name: 'two entries of a cart for one pet take the units of only one entry',
    file: 'src/store/order/place-orders.ts',
    text: 'sum(quantity) over (partition by pet_id order by index) as needed',
    replacement: 'quantity as needed',
    test: [
      'test/store/both/place-orders.test.ts',
      'takes the ordered units from the stock of each pet',
    ],
  },
  {
    name: 'a rejected cart places the orders for its other pets',
    file: 'src/store/order/place-orders.ts',
    text: 'where (select bool_and(is_served) from claims) group by pet_id',
    replacement: 'where is_served group by pet_id',
    test: ['test/store/both/place-orders.test.ts', 'writes nothing'],
  },
  {
    name: "the orders of a cart have each other's ids",
    file: 'src/store/order/place-orders.ts',
    text: 'row_number() over (order by id) - 1',
    replacement: 'row_number() over (order by id desc) - 1',
    test: [
      'test/store/both/place-orders.test.ts',
      'takes the ordered units from the stock of each pet',
    ],
  },
];

const STOCK: Fault[] = [
  {
    name: 'two callers that expect the same stock both change it',
    file: 'src/store/inventory/change-stocks.ts',
    text: 'coalesce(lines.expected = coalesce(stock.quantity, 0), true) as "isFresh"',
    replacement: 'true as "isFresh"',
    test: ['test/store/inventory.test.ts', 'returns STALE_INVENTORY'],
  },
  {
    name: 'when two gateways remove units, only one removal counts',
    file: 'src/store/inventory/change-stocks.ts',
    text: 'order by pet_id for update',
    replacement: 'order by pet_id',
    test: ['test/store/postgres/locks.test.ts', 'starts from the resulting stock: adjust'],
  },
];

const IDEMPOTENCY: Fault[] = [
  {
    name: 'callers share idempotency keys',
    file: 'src/gateway/model/idempotency.ts',
    text: 'digest([caller, key])',
    replacement: 'digest([key])',
    test: ['test/gateway/scopes.test.ts', 'belongs to its caller'],
  },
  {
    name: 'an idempotency key that is reused for a different order returns the first order',
    file: 'src/gateway/model/idempotency.ts',
    text: 'if (entry && !hash.equals(entry.hash))',
    replacement: 'if (entry && !entry.result && !hash.equals(entry.hash))',
    test: ['test/store/both/idempotency.test.ts', 'returns IDEMPOTENCY_CONFLICT'],
  },
  {
    name: 'idempotency keys are forgotten while they are new, and kept when they are old',
    file: 'src/gateway/model/idempotency.ts',
    text: 'where created_at < now() -',
    replacement: 'where created_at > now() -',
    test: ['test/store/both/idempotency.test.ts', 'is deleted when it is old, and not before'],
  },
  {
    name: 'a result that an earlier release stored lacks new columns',
    file: 'src/gateway/model/idempotency.ts',
    text: 'return stored(parseStored(entry.result) as Result)',
    replacement: 'return parseStored(entry.result) as Result',
    test: ['test/store/two-releases.test.ts', 'the stored result of an idempotency key'],
  },
  {
    name: 'a stored id beyond 2^53 is rounded',
    file: 'src/gateway/model/stored-value.ts',
    text: 'return BigInt(String(json));',
    replacement: 'return BigInt(Number(json));',
    test: ['test/store/two-releases.test.ts', 'returns the original result'],
  },
  {
    name: 'the header Idempotency-Key is ignored',
    file: 'src/gateway/operation/steps/graphql-js.ts',
    text: 'isMutation ? withIdempotencyKey(call) : operation.document',
    replacement: 'operation.document',
    test: ['test/store/idempotency-header.test.ts', 'makes a repeated order return the first one'],
  },
  {
    name: 'an Idempotency-Key that is sent twice counts once',
    file: 'src/gateway/operation/steps/idempotency-key.ts',
    text: 'others.length > 0 ||',
    replacement: 'others.length > 9 ||',
    test: ['test/store/idempotency-header.test.ts', 'is refused if it is sent twice'],
  },
];

const CHANGES: Fault[] = [
  {
    name: 'a subscription that resumes repeats changes',
    file: 'src/gateway/changes/feed.ts',
    text: 'return this.#recent.slice(index + 1);',
    replacement: 'return this.#recent;',
    test: ['test/store/subscriptions.test.ts', 'does not repeat changes'],
  },
  {
    name: 'a subscriber is not told that a pet no longer matches its filter',
    file: 'src/gateway/changes/row-filter.ts',
    text: "if (typeof now === 'boolean') return now || isMet(before);",
    replacement: "if (typeof now === 'boolean') return isMet(after ?? before);",
    test: ['test/store/subscriptions.test.ts', 'start or stop matching it'],
  },
  {
    name: 'a subscription after an expired cursor silently skips the missed changes',
    file: 'src/gateway/changes/change-log.ts',
    text: 'if (!position || (stamp',
    replacement: 'if (!position) return START;\n  if ((stamp',
    test: ['test/store/both/changes.test.ts', 'makes the cursors of deleted changes expire'],
  },
  {
    name: 'changes made by a long transaction are lost',
    file: 'src/gateway/changes/change-log.ts',
    text: "name: 'settled_changes'",
    replacement: "name: 'changes'",
    test: ['test/store/postgres/changes.test.ts', 'holds back all later changes'],
  },
  {
    name: 'changes made at another gateway arrive a second late',
    file: 'src/gateway/changes/feed.ts',
    text: 'this.#db.notifications?.notify()',
    replacement: 'void this.#db.notifications',
    test: ['test/store/postgres/changes.test.ts', 'notify each other'],
  },
  {
    name: 'a subscription continues although a failover has lost changes',
    file: 'src/gateway/changes/change-log.ts',
    text: 'return first && isSame(first, position) ? changes : undefined;',
    replacement: 'return changes;',
    test: ['test/store/subscriptions.test.ts', 'ends with CURSOR_EXPIRED'],
  },
  {
    name: 'a subscription that resumes skips changes that are deleted before it reads them',
    file: 'src/gateway/changes/catch-up.ts',
    text: 'await requirePosition(db, after);',
    replacement: '',
    test: ['test/store/deleted-changes.test.ts', 'eighty subscriptions'],
  },
  {
    name: 'after a restore, a subscription resumes after a different change',
    file: 'src/gateway/changes/change-log.ts',
    text: 'stamp !== stampOf(position)',
    replacement: 'false',
    test: ['test/store/both/changes.test.ts', 'expires if another change has its position'],
  },
  {
    name: 'a subscription gets the results of a subscription with different variables',
    file: 'src/gateway/operation/steps/share-results.ts',
    text: '${numberOf(root)} ${numberOf(call.operation)} ${variables}',
    replacement: '${numberOf(root)} ${numberOf(call.operation)}',
    test: ['test/gateway/share-results.test.ts', 'different variables'],
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
    test: ['test/gateway/tokens.test.ts', 'a token signed with the secret is rejected if it has'],
  },
  {
    name: 'a token that was accepted once is still accepted after it expires',
    file: 'src/gateway/auth/caller.ts',
    text: 'until: Math.min(Date.now() + CACHE_MS, expiresAt)',
    replacement: 'until: Date.now() + CACHE_MS',
    test: ['test/gateway/tokens.test.ts', 'although it was accepted before'],
  },
  {
    name: 'with AUTH_READ=open, a caller with a token cannot read',
    file: 'src/gateway/auth/caller.ts',
    text: 'new Set([...publicScopes, ...scopes])',
    replacement: 'new Set(scopes)',
    test: ['test/gateway/scopes.test.ts', 'with AUTH_READ=open, does not require the read scope'],
  },
  {
    name: "a caller that may only place orders can read other data through an order's result",
    file: 'src/gateway/operation/accept.ts',
    text: 'if (usageOf(schema, operation).reads)',
    replacement: "if (operation.node.operation === 'query')",
    test: ['test/gateway/scopes.test.ts', 'requires the read scope to select'],
  },
  {
    name: 'a plugin of the store executes a document whose scope and cost were not checked',
    file: 'src/gateway/operation/steps/admit-plugins.ts',
    text: 'document === call.operation.document && variables === call.variables',
    replacement: 'variables === call.variables',
    test: ['test/gateway/postgres/plugins.test.ts', 'if it replaces the document'],
  },
  {
    name: 'a rule of a plugin of the store is ignored',
    file: 'src/gateway/operation/analysis/validation.ts',
    text: 'validateWithin(bounds, schema, document, rules)',
    replacement: 'validateWithin(bounds, schema, document)',
    test: ['test/gateway/postgres/plugins.test.ts', 'adds rules of validation'],
  },
  {
    name: 'a caller that may only place orders can change the stock',
    file: 'src/store/inventory/schema.ts',
    text: `stock that was never set counts as 0.',
    scope: 'inventory:write'`,
    replacement: `stock that was never set counts as 0.',
    scope: 'orders:write'`,
    test: ['test/gateway/scopes.test.ts', 'requires exactly one scope'],
  },
];

const LIMITS: Fault[] = [
  {
    name: 'a search costs as much as the first search with the same document',
    file: 'src/gateway/operation/analysis/cost.ts',
    text: "isIndexed(value) ? 'text' : 'short text'",
    replacement: "'text'",
    test: ['test/gateway/cost.test.ts', 'the cost of an operation for query \\(\\$filter'],
  },
  {
    name: 'a document exceeds the maximum depth by using fragments',
    file: 'src/gateway/operation/analysis/document-size.ts',
    text: 'kind === Kind.FRAGMENT_SPREAD ? inside : inside + 1',
    replacement: 'kind === Kind.FRAGMENT_SPREAD ? 0 : inside + 1',
    test: ['test/gateway/limits.test.ts', 'has 21 levels in fragments'],
  },
  {
    name: "one caller's documents delay the documents of all other callers",
    file: 'src/gateway/database/fair-queue.ts',
    text: `
    this.#tasksOf.delete(caller);
    this.#tasksOf.set(caller, tasks);`,
    replacement: '',
    test: ['test/gateway/fair-queue.test.ts', 'lets callers take turns'],
  },
  {
    name: 'callers who fill a queue lock out others',
    file: 'src/gateway/database/fair-queue.ts',
    text: '({ size }) => size, tasks.size + 1)',
    replacement: '({ size }) => size, Infinity)',
    test: ['test/gateway/document-queue.test.ts', 'while three other callers send more of them'],
  },
  {
    name: 'a caller that closes a subscription does not get its cost back',
    file: 'src/gateway/changes/streams.ts',
    text: 'own?.delete(stream);',
    replacement: '',
    test: ['test/gateway/stream-budget.test.ts', 'beyond the budget of its caller'],
  },
  {
    name: 'an event stream queues the results that its client does not read',
    file: 'src/gateway/transport/event-stream.ts',
    text: 'highWaterMark: 1,',
    replacement: 'highWaterMark: 1_000_000_000,',
    test: ['test/gateway/streams.test.ts', 'closed with SLOW_SUBSCRIBER'],
  },
  {
    name: 'a client that does not read makes the gateway hold all of its requests',
    file: 'src/gateway/server/requests.ts',
    text: 'if (!res.socket) return void req.socket.destroy();',
    replacement: '',
    test: ['test/gateway/slow-readers.test.ts', 'loses its connection before the second one: JSON'],
  },
  {
    name: 'a client that does not read makes the gateway hold all of its messages',
    file: 'src/gateway/transport/websocket/socket.ts',
    text: 'if (socket.bufferedAmount > MAX_UNSENT_BYTES)',
    replacement: 'if (socket.bufferedAmount > Infinity)',
    test: ['test/gateway/slow-readers.test.ts', 'although it sends 60,000 operations'],
  },
  {
    name: 'a write is executed before its result is rejected as too large',
    file: 'src/gateway/operation/steps/limit-cost.ts',
    text: 'estimate.bytes > maxResponseBytes && operation.node.operation !== QUERY',
    replacement: 'estimate.bytes > maxResponseBytes && operation.node.operation === SUBSCRIPTION',
    test: ['test/store/response-size.test.ts', 'is estimated before a mutation is executed'],
  },
  {
    name: 'the result of a mutation is not measured',
    file: 'src/gateway/operation/steps/limit-cost.ts',
    text: 'if (measured) return isReported ?',
    replacement:
      'if (!measured && operation.node.operation !== QUERY) return result;\n      if (measured) return isReported ?',
    test: ['test/store/response-size.test.ts', 'that exceeds the estimate of a mutation'],
  },
  {
    name: 'the cost of a list of lines does not depend on the lengths of its strings after the first request',
    file: 'src/gateway/operation/analysis/cost.ts',
    text: '`list of ${value.length} ${JSON.stringify(excessIn(value))}`',
    replacement: '`list of ${value.length}`',
    test: ['test/gateway/cost.test.ts', 'for mutation \\(\\$lines'],
  },
];

const LISTS: Fault[] = [
  {
    name: 'the next page of a list in descending order goes backwards',
    file: 'src/gateway/list/window.ts',
    text: "(end === 'after') !== isDescending",
    replacement: "end === 'after' || isDescending",
    test: ['test/store/filters.test.ts', "the rows of 'pets' that match '{}'"],
  },
  {
    name: 'a cursor from a list sorted by name is accepted by a list sorted by id',
    file: 'src/gateway/list/cursor.ts',
    text: 'if (name !== field) return undefined;',
    replacement: '',
    test: ['test/store/connections.test.ts', 'is rejected as INVALID_CURSOR'],
  },
  {
    name: 'a search for a percent sign finds everything',
    file: 'src/gateway/list/filter-by.ts',
    text: "word.replaceAll(/[\\\\%_]/g, '\\\\$&')",
    replacement: 'word',
    test: ['test/store/filters.test.ts', "the rows of 'pets' that match '. name: .%"],
  },
  {
    name: 'two lists in an operation return the rows of one filter',
    file: 'src/gateway/list/list-loaders.ts',
    text: 'groupBy: ({ args }) => JSON.stringify([args]),',
    replacement: '',
    test: ['test/store/statements.test.ts', 'return their own rows if their arguments differ'],
  },
  {
    name: 'counting the pets of an empty category fails',
    file: 'src/gateway/list/pages.ts',
    text: 'return new Map(ids.map((id) => [id, counts.get(id) ?? 0]));',
    replacement: 'return counts;',
    test: ['test/store/statements.test.ts', 'return their own rows if their arguments differ'],
  },
  {
    name: 'a page of orders filtered by their pets ends too early',
    file: 'src/gateway/list/listing.ts',
    text: 'of.by === id ? idBounds(raw(column)) : []',
    replacement: 'idBounds(raw(column))',
    test: ['test/store/filters.test.ts', "the rows of 'orders' that match .*petStatus"],
  },
  {
    name: 'a range of dates includes its end',
    file: 'src/gateway/list/filter-by-order.ts',
    text: '${by} < ${toValue(field, before)}',
    replacement: '${by} <= ${toValue(field, before)}',
    test: ['test/store/filters.test.ts', "the rows of 'orders' that match .* before: .2027"],
  },
  {
    name: 'the pages of a list sorted by a nullable column lose rows',
    file: 'src/gateway/kinds/kind.ts',
    text: 'isNullable ? `array[${key}]` : key;',
    replacement: 'key;',
    test: ['test/gateway/kinds-in-lists.test.ts', 'contain each row once, in order'],
  },
  {
    name: 'a range of a required time reads all older rows',
    file: 'src/gateway/list/filter-by-order.ts',
    text: "(${join(isIn(raw(column)), ' and ')}) is true",
    replacement: "${join(isIn(raw(column)), ' and ')}",
    test: ['test/gateway/postgres/ranges.test.ts', 'reads few rows for a page: a day'],
  },
];

const STATEMENT: Fault[] = [
  {
    name: "callers get each other's data",
    file: 'src/gateway/operation/statement/run-statement.ts',
    text: 'rowOf.get(index + 1)',
    replacement: 'rowOf.get(1)',
    test: ['test/store/executor.test.ts', 'returns its own data'],
  },
  {
    name: 'a page has the size of another page',
    file: 'src/gateway/operation/statement/read-arguments.ts',
    text: 'keys.push(size, ',
    replacement: 'keys.push(',
    test: ['test/store/executor.test.ts', 'uses the variables'],
  },
  {
    name: 'a name with quotes breaks the response',
    file: 'src/gateway/kinds/text.ts',
    text: 'json: (column) => [{ sql: `to_json(${column})::text` }]',
    replacement: "json: (column) => ['\"', { sql: column }, '\"']",
    test: ['test/store/executor.test.ts', 'strings that JSON escapes'],
  },
  {
    name: "a query returns the fields that another caller's @include selected",
    file: 'src/gateway/operation/statement/compile.ts',
    text: '[id, ...names.map((name) => String(variables[name]))].join()',
    replacement: '[id, ...names].join()',
    test: ['test/store/executor.test.ts', 'uses the variables'],
  },
  {
    name: 'the last page has no end cursor',
    file: 'src/gateway/operation/statement/write-tree.ts',
    text: '`least("#total", ${size})`',
    replacement: '`${size}`',
    test: ['test/store/both/order.test.ts', 'is returned as null: infinity'],
  },
];

const WRITES: Fault[] = [
  {
    name: 'a day that is infinity is an error until its query is compiled',
    file: 'src/gateway/schema/create-builder.ts',
    text: '      sendInfiniteAsNull(schema);\n',
    replacement: '',
    test: ['test/gateway/both/own-fields.test.ts', 'a day that only SQL can store'],
  },
  {
    name: 'a stock count fails if three of its rows are created meanwhile',
    file: 'src/store/inventory/change-stocks.ts',
    text: 'MAX_LINES + 1;',
    replacement: '3;',
    test: ['test/store/postgres/locks.test.ts', 'an update of several stocks succeeds'],
  },
];

const REST: Fault[] = [
  {
    name: 'a caller keeps using its old copy of a pet that has changed',
    file: 'src/gateway/transport/rest/create-rest.ts',
    text: 'etag(json, { weak: true })',
    replacement: 'etag(reply.request.url, { weak: true })',
    test: ['test/store/rest.test.ts', 'changes only when the pet changes'],
  },
];

const ERRORS: Fault[] = [
  {
    name: 'a message from PostgreSQL reaches callers',
    file: 'src/gateway/database/database-errors.ts',
    text: 'return new GatewayError(code, undefined, addAdvice(error));',
    replacement:
      'return new GatewayError(code, error instanceof Error ? error.message : code, error);',
    test: ['test/store/both/database-errors.test.ts', 'with its cause only in the log'],
  },
  {
    name: 'a message quotes a stored value that cannot be sent',
    file: 'src/gateway/operation/client-errors.ts',
    text: '!path && (!originalError || originalError instanceof GraphQLError)',
    replacement: '!originalError || originalError instanceof GraphQLError || !path',
    test: ['test/store/both/order.test.ts', 'causes an error only in its own field'],
  },
  {
    name: 'a message names fields of a hidden schema',
    file: 'src/gateway/operation/analysis/validation.ts',
    text: 'validateBy([...rules, own], schema, document, !introspection)',
    replacement: 'validateBy([...rules, own], schema, document, false)',
    test: ['test/gateway/graphiql-and-introspection.test.ts', 'suggests no names for'],
  },
  {
    name: 'a caller is told to repeat a write that was applied',
    file: 'src/gateway/transport/http/endpoint.ts',
    text: 'if (isRepeatable) void',
    replacement: 'if (isRepeatable || data) void',
    test: ['test/store/kept-writes.test.ts', 'if a later mutation in the same request fails'],
  },
  {
    name: 'a timeout tells a caller that its write was not applied',
    file: 'src/gateway/operation/steps/limit-time.ts',
    text: "new GatewayError('OUTCOME_UNKNOWN'",
    replacement: "new GatewayError('SERVICE_UNAVAILABLE'",
    test: ['test/gateway/limits.test.ts', 'an operation that takes too long'],
  },
];

const HTTP: Fault[] = [
  {
    name: 'an unknown method of /graphql gets no 405',
    file: 'src/gateway/transport/http/request.ts',
    text: "throw new MethodNotAllowed(allowed.join(', '));",
    replacement: 'throw new Error(allowed.join());',
    test: ['test/gateway/http.test.ts', 'is rejected with METHOD_NOT_ALLOWED'],
  },
  {
    name: "another site's page makes its visitors run queries",
    file: 'src/gateway/transport/http/endpoint.ts',
    text: `        rejectOtherOrigins(request.headers, config);
`,
    replacement: '',
    test: ['test/gateway/cross-origin.test.ts', 'is rejected if it has Sec-Fetch-Site'],
  },
  {
    name: 'a row with a null is left out of a compiled list',
    file: 'src/gateway/operation/statement/write-tree.ts',
    text: 'const json = ofExisting(concatenate(writeObject(item, scope)));',
    replacement: 'const json = concatenate(writeObject(item, scope));',
    test: ['test/gateway/both/executions.test.ts', 'rather than leave its row out'],
  },
  {
    name: 'a long string in a message of MCP is spread',
    file: 'src/gateway/transport/mcp/message.ts',
    text: 'isObject(sent) ? Object.fromEntries(Object.entries(sent).filter(hasValue)) : {}',
    replacement: 'Object.fromEntries(Object.entries(Object(sent)).filter(hasValue))',
    test: ['test/gateway/mcp.test.ts', 'takes no more time'],
  },
];

const SOCKETS: Fault[] = [
  {
    name: 'a caller opens any number of subscriptions on a WebSocket',
    file: 'src/gateway/transport/websocket/websockets.ts',
    text: 'operations.size > limits.maxStreamsPerCaller',
    replacement: 'operations.size > limits.maxBodyBytes',
    test: ['test/gateway/websockets.test.ts', 'returns TOO_MANY_STREAMS'],
  },
  {
    name: 'a client without a token makes the gateway parse megabytes',
    file: 'src/gateway/transport/websocket/websockets.ts',
    text: 'else if (socket.bytesRead > most) connection.socket.terminate();',
    replacement: '',
    test: ['test/gateway/websockets.test.ts', 'as soon as it sends more than 32 kB'],
  },
  {
    name: 'the WebSocket of a vanished client stays open',
    file: 'src/gateway/transport/websocket/socket.ts',
    text: 'if (!isAlive) return socket.terminate();',
    replacement: 'if (!isAlive) return socket.ping();',
    test: ['test/gateway/websockets.test.ts', 'is closed if the client does not answer pings'],
  },
  {
    name: 'a shutdown cuts off subscriptions',
    file: 'src/gateway/transport/websocket/websockets.ts',
    text: 'if (isClosing && operations.size === 0)',
    replacement: 'if (isClosing)',
    test: ['test/gateway/websockets.test.ts', 'closes with code 1001 on shutdown'],
  },
  {
    name: "an event stream can't be resumed by EventSource",
    file: 'src/gateway/transport/event-stream.ts',
    text: "${id === undefined ? '' : `id: ${id}\\n`}event: next",
    replacement: 'event: next',
    test: ['test/gateway/streams.test.ts', 'Last-Event-ID|id of'],
  },
  {
    name: "a client that does not read fills the gateway's memory",
    file: 'src/gateway/transport/websocket/socket.ts',
    text: 'if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.pause();',
    replacement: 'if (socket.bufferedAmount < 0) socket.pause();',
    test: ['test/gateway/slow-readers.test.ts', 'is not read by the gateway until'],
  },
];

const ADDRESSES: Fault[] = [
  {
    name: 'a caller does not see its own write',
    file: 'src/gateway/model/source-for.ts',
    text: "headers['store-position'] === undefined ? older : source",
    replacement: "headers['store-position'] === '' ? source : older",
    test: ['test/store/postgres/replica.test.ts', 'returns a Store-Position'],
  },
  {
    name: 'the change log of a replica misses changes',
    file: 'src/gateway/operation/analysis/usage.ts',
    text: "usageOf(schema, operation).counted.has('Query.changes')",
    replacement: "usageOf(schema, operation).counted.has('Query.change')",
    test: ['test/store/postgres/replica.test.ts', 'serves neither the change log'],
  },
  {
    name: 'a client waits for a replica that does not respond',
    file: 'src/gateway/database/replica.ts',
    text: 'isLost: () => outages.isLost(),',
    replacement: 'isLost: () => false,',
    test: ['test/store/postgres/replica.test.ts', 'has its reads served by the primary'],
  },
];

const TREE: Fault[] = [
  {
    name: 'an invalid argument is ignored from the third time on',
    file: 'src/gateway/operation/statement/unread.ts',
    text: 'return operation.node.selectionSet.selections.some(isUnread);',
    replacement: 'return read.size < 0;',
    test: ['test/store/executor.test.ts', 'in a fragment on a type that does not occur'],
  },
  {
    name: 'a pet has the orders of all pets',
    file: 'src/gateway/operation/statement/read-tree.ts',
    text: 'parent && `${parent} = ${idOf(selected.row ?? unsupported())}`',
    replacement: 'parent && `${parent} = ${parent}`',
    // The second of these tests finds the order of the first.
    test: ['test/store/both/order.test.ts', 'is returned as null'],
  },
  {
    name: 'a page before a cursor says that it is the last',
    file: 'src/gateway/operation/statement/write-tree.ts',
    text: 'isAfter ? hasBefore : hasAfter;',
    replacement: 'isAfter ? hasAfter : hasBefore;',
    test: ['test/store/executor.test.ts', 'before and after a page'],
  },
  {
    name: 'planning a statement takes seconds',
    file: 'src/gateway/operation/statement/compile.ts',
    text: '!tree || tree.relations > MAX_RELATIONS',
    replacement: '!tree',
    test: ['test/store/executor.test.ts', 'too many relations to plan'],
  },
  {
    name: 'a burst of callers with one new document overloads the gateway',
    file: 'src/gateway/operation/documents.ts',
    text: 'return accept(documents.find(text, caller));',
    replacement: 'return accept();',
    test: ['test/gateway/document-queue.test.ts', 'is accepted as a known document'],
  },
];

const AGENTS: Fault[] = [
  {
    name: 'a model is not told that its caller lacks a scope',
    file: 'src/gateway/transport/mcp/endpoint.ts',
    text: 'toolIn(message, tools)?.scopes ?? []',
    replacement: '[]',
    test: ['test/store/mcp.test.ts', 'is refused'],
  },
  {
    name: 'any page in a browser can call the tools',
    file: 'src/gateway/transport/mcp/endpoint.ts',
    text: 'headers.origin !== undefined && !isFromAllowedOrigin(headers, config)',
    replacement: 'headers.origin === undefined && !isFromAllowedOrigin(headers, config)',
    test: ['test/gateway/mcp.test.ts', 'a message to /mcp'],
  },
  {
    name: 'a failed order looks placed to a model',
    file: 'src/gateway/transport/mcp/tool-result.ts',
    text: 'isError: true,',
    replacement: 'isError: false,',
    test: ['test/store/mcp.test.ts', 'that cannot be fulfilled'],
  },
  {
    name: "a model is offered tools that its caller can't use",
    file: 'src/gateway/transport/mcp/endpoint.ts',
    text: `.filter(({ scopes }) => scopes.every((scope) => hasScope(caller, scope)))
`,
    replacement: `
`,
    test: ['test/store/mcp.test.ts', 'a caller without the scope|the list of tools'],
  },
  {
    name: 'a misspelt condition of a tool matches everything',
    file: 'src/gateway/transport/mcp/arguments.ts',
    text: '!Object.hasOwn(properties, name)',
    replacement: "!Object.hasOwn(properties, name) && name === ''",
    test: ['test/gateway/mcp.test.ts', 'a call of a tool'],
  },
  {
    name: 'a model that sends null for what it omits gets an error',
    file: 'src/gateway/transport/mcp/arguments.ts',
    text: 'inner === null ? !takesNull(of)',
    replacement: 'inner === null ? false',
    test: ['test/gateway/mcp.test.ts', 'treats null for'],
  },
  {
    name: 'a tool that is repeated writes twice',
    file: 'src/gateway/transport/mcp/tools.ts',
    text: 'key?.kind === Kind.VARIABLE &&',
    replacement: '(key?.kind !== Kind.VARIABLE) ||',
    test: ['test/gateway/mcp.test.ts', 'a document'],
  },
];

/** Faults in all parts of the gateway. */
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
  ...WRITES,
  ...REST,
  ...ERRORS,
  ...HTTP,
  ...SOCKETS,
  ...ADDRESSES,
  ...TREE,
  ...AGENTS,
];
