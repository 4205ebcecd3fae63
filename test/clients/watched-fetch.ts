/** A fetch function that records its requests and can lose a response. */
export interface WatchedFetch {
  readonly fetch: typeof fetch;
  /** The method of each request. */
  readonly methods: string[];
  /** Loses the response to the next request after the gateway has executed it. */
  loseNext(): void;
}

/** Creates a fetch function for the client of a test. */
export function watchFetch(): WatchedFetch {
  const methods: string[] = [];
  let isLossy = false;
  return {
    methods,
    loseNext: () => {
      isLossy = true;
    },
    fetch: async (input, init) => {
      methods.push(init?.method ?? 'GET');
      const isLost = isLossy;
      isLossy = false;
      const response = await fetch(input, init);
      if (!isLost) return response;
      await response.arrayBuffer();
      throw new TypeError('fetch failed');
    },
  };
}
