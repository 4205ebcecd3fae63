const QUERY = '{ schema: __schema { types { name possibleTypes { name } } } }';

interface Introspected {
  readonly data: {
    schema: {
      types: readonly { name: string; possibleTypes: readonly { name: string }[] | null }[];
    };
  };
}

/** Reads which types each interface and union has. An app's build would write them to a file. */
export async function readPossibleTypes(url: string): Promise<Record<string, string[]>> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: QUERY }),
  });
  const { data } = (await response.json()) as Introspected;
  return Object.fromEntries(
    data.schema.types.flatMap(({ name, possibleTypes }) =>
      possibleTypes ? [[name, possibleTypes.map((type) => type.name)]] : [],
    ),
  );
}
