/** The lifecycle of a REST operation. */
export interface RestLifecycle {
  /** A beta operation may still change. */
  readonly stability: 'beta' | 'stable';
  /** The date of its deprecation. */
  readonly deprecatedSince?: Date;
  /** The schema coordinate of its replacement. */
  readonly successor: string;
}

/** The lifecycles of all REST operations. */
export const REST_LIFECYCLES = {
  'GET /pets/{petId}': {
    stability: 'stable',
    deprecatedSince: new Date('2026-11-01'),
    successor: 'Query.pet',
  },
  // Paging is not in the specification, so it is beta.
  'GET /store/orders': {
    stability: 'beta',
    successor: 'Query.orders',
  },
} as const satisfies Record<string, RestLifecycle>;

/** Formats the date as YYYY-MM-DD, in UTC. */
export const toDay = (date: Date): string => date.toISOString().slice(0, 10);
