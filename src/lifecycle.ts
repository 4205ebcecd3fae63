/** What callers of a deprecated REST operation are told on each of its answers. */
export interface Deprecation {
  /** When it became deprecated (RFC 9745). */
  readonly since: Date;
  /** What replaces it (RFC 5829, `successor-version`). */
  readonly successor: string;
  /** A page for people that shows what replaces it. */
  readonly documentation: string;
}

/** GET /pets/{petId}: the query `pet(id:)` answers the same, and more. */
export const PET_BY_ID: Deprecation = {
  since: new Date('2026-11-01T00:00:00Z'),
  successor: '/graphql',
  documentation: '/graphql',
};

/** The headers of RFC 9745 §2 (Deprecation), RFC 8594 §3 (Sunset) and RFC 8288 (Link). */
export function deprecationHeaders(deprecation: Deprecation, sunset: Date): Record<string, string> {
  const { since, successor, documentation } = deprecation;
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: [
      `<${successor}>; rel="successor-version"`,
      `<${documentation}>; rel="deprecation"; type="text/html"`,
      `<${documentation}>; rel="sunset"; type="text/html"`,
    ].join(', '),
  };
}
