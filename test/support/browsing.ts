export const BROWSER = {
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
};

/** Reads the operations in the menu of GraphiQL's examples. */
export async function readExamples({ url }: { readonly url: string }) {
  const html = await (await fetch(`${url}/graphql`, { headers: BROWSER })).text();
  const links = html.matchAll(/<li><a href="\.\/graphql\?query=([^"]+)">(.*?)<\/a>/g);
  return Array.from(links, ([, query = '', title = '']) => ({
    title,
    query: decodeURIComponent(query.replaceAll('&#39;', "'")),
  }));
}

export const QUERY = `/graphql?query=${encodeURIComponent('{ __typename }')}`;

const PREFIX = 'http://gateway.example/prefix';

/**
 * Resolves a reference as a client behind a proxy with a path prefix does. Returns the path below the prefix; the whole
 * URL if the reference leaves the prefix.
 */
export const resolveFrom = (path: string, reference: string): string =>
  new URL(reference, PREFIX + path).href.replace(PREFIX, '');
