/** How far callers can rely on something: what is experimental or beta may still change. */
export type Stability = 'experimental' | 'beta' | 'stable';

/** Where an operation, a field or an argument is in its life. */
export interface Lifecycle {
  readonly stability: Stability;
  /** The day it became deprecated. */
  readonly deprecatedSince?: Date;
  /** What to use instead, as a schema coordinate. */
  readonly successor?: string;
}

/** The life of a REST operation. */
export interface RestLifecycle extends Lifecycle {
  readonly successor: string;
  /** Whether the reference page lets people try it out. */
  readonly tryItOut: boolean;
}

/** Every operation of REST. */
export const REST_LIFECYCLES = {
  'GET /pets/{petId}': {
    stability: 'stable',
    deprecatedSince: new Date('2026-11-01'),
    successor: 'Query.pet',
    tryItOut: true,
  },
  // Its pages are newer than the specification. One click would fetch every order there is.
  'GET /store/orders': {
    stability: 'beta',
    successor: 'Query.orders',
    tryItOut: false,
  },
} as const satisfies Record<string, RestLifecycle>;

/** What of GraphQL is not simply stable, by its schema coordinate. */
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

/** A day as people and OpenAPI write it: 2027-12-31. */
export const toDay = (date: Date): string => date.toISOString().slice(0, 10);
