/** An experimental or beta feature may still change. */
export type Stability = 'experimental' | 'beta' | 'stable';

/** The stability and the deprecation of an operation, a field or an argument. */
export interface Lifecycle {
  readonly stability: Stability;
  /** The date of its deprecation. */
  readonly deprecatedSince?: Date;
  /** The schema coordinate of its replacement. */
  readonly successor?: string;
}

/** The lifecycle of a REST operation. */
export interface RestLifecycle extends Lifecycle {
  readonly successor: string;
  /** Whether the reference page has a try-out panel for it. */
  readonly tryItOut: boolean;
}

/** The lifecycles of all REST operations. */
export const REST_LIFECYCLES = {
  'GET /pets/{petId}': {
    stability: 'stable',
    deprecatedSince: new Date('2026-11-01'),
    successor: 'Query.pet',
    tryItOut: true,
  },
  // Paging is not in the specification, so it is beta. No try-out: one click would load every order.
  'GET /store/orders': {
    stability: 'beta',
    successor: 'Query.orders',
    tryItOut: false,
  },
} as const satisfies Record<string, RestLifecycle>;

/** The fields and arguments of GraphQL that are not stable or are deprecated, by coordinate. */
export const GRAPHQL_LIFECYCLES: ReadonlyMap<string, Lifecycle> = new Map([
  ['Mutation.updateInventory(expectedQuantity:)', { stability: 'experimental' }],
  [
    'StaleInventory.quantity',
    {
      stability: 'stable',
      deprecatedSince: new Date('2026-11-21'),
      successor: 'StaleInventory.available',
    },
  ],
]);

/** Everything that is deprecated, by operation or schema coordinate. */
export const DEPRECATED: ReadonlyMap<string, Lifecycle> = new Map(
  [...Object.entries<Lifecycle>(REST_LIFECYCLES), ...GRAPHQL_LIFECYCLES].filter(
    ([, { deprecatedSince }]) => deprecatedSince,
  ),
);

/** Formats the date as YYYY-MM-DD, in UTC. */
export const toDay = (date: Date): string => date.toISOString().slice(0, 10);
