import { bearing, mint } from '../test/support/tokens.ts';

/** How to send the workloads to a contender, and how to read its responses. */
export interface Dialect {
  /** The GraphQL documents by workload. REST workloads have none. */
  readonly documents: Readonly<Record<string, string>>;
  /** Whether the contender has the REST routes. */
  readonly rest: boolean;
  /** Returns additional headers for the request with this index. */
  readonly headers?: (index: number) => Readonly<Record<string, string>>;
  /** Returns the cursor of the row with this id. */
  readonly cursor: (id: number, workload: string) => string;
  /** Converts a value in the contender's response to the gateway's form. */
  readonly revive?: (key: string, value: unknown) => unknown;
}

const PET = 'id name status category { id name }';
const ORDER = 'id quantity shipDate complete';

const documents = {
  OnePet: `query OnePet($id: ID!) { pet(id: $id) { ${PET} } }`,
  Pets: `query Pets($after: String) { pets(first: 20, after: $after) { nodes { ${PET} } } }`,
  Orders: `query Orders($after: String) {
    orders(first: 50, after: $after) { nodes { ${ORDER} pet { id name category { name } } } }
  }`,
  PetsOfCategories: `query PetsOfCategories($after: String) {
    categories(first: 20) {
      nodes { id name pets(first: 10, after: $after) { nodes { id name inventory { quantity } } } }
    }
  }`,
  OrdersOfPets: `query OrdersOfPets($after: String) {
    pets(first: 50, after: $after) { nodes { id name orders(first: 3) { nodes { ${ORDER} } } } }
  }`,
  FilteredPets: `query FilteredPets($categoryId: ID!, $after: String) {
    pets(first: 20, after: $after, filter: { status: [AVAILABLE], categoryId: $categoryId }) {
      nodes { id name }
    }
  }`,
  CountedPets: `query CountedPets($categoryId: ID!, $after: String) {
    pets(first: 20, after: $after, filter: { status: [AVAILABLE], categoryId: $categoryId }) {
      totalCount nodes { id name }
    }
  }`,
  PetsByName: `query PetsByName($name: String!) {
    pets(first: 20, filter: { name: $name }) { nodes { id name } }
  }`,
  Typename: 'query Typename { __typename }',
  PlaceOrder: `mutation PlaceOrder($petId: ID!, $quantity: Int!) {
    placeOrder(input: { petId: $petId, quantity: $quantity }) {
      ... on Order { quantity complete pet { id name } }
    }
  }`,
};

export const gatewayDialect: Dialect = {
  documents,
  rest: true,
  cursor: (id) => Buffer.from(JSON.stringify(['ID', String(id)])).toString('base64url'),
};

const { Typename, OnePet, PlaceOrder } = documents;

/** The smallest requests, which show what logging them costs. */
export const loggedDialect: Dialect = {
  ...gatewayDialect,
  documents: { Typename, OnePet, PlaceOrder },
  rest: false,
};

/**
 * The number of different requests of a workload. The gateway remembers the last 1,000 tokens, so it has forgotten the
 * token of each request when its turn comes again.
 */
export const DISTINCT = 1600;

const SECONDS_A_DAY = 86_400;
const tokens = await Promise.all(
  Array.from({ length: DISTINCT }, (_, index) =>
    mint({ sub: `caller-${index}`, scope: 'read', exp: SECONDS_A_DAY }),
  ),
);

/** The smallest requests, each with a token that the gateway has to verify. */
export const tokenDialect: Dialect = {
  ...gatewayDialect,
  documents: { Typename, OnePet },
  rest: false,
  headers: (index) => bearing(tokens[index] ?? ''),
};

/** The gateway's documents, with ids as cursors. */
export const plainDialect: Dialect = { documents, rest: true, cursor: String };

/** The gateway's documents, with the cursors of Pothos. */
export const prismaDialect: Dialect = {
  documents,
  rest: false,
  cursor: (id) => Buffer.from(`GPC:I:${id}`).toString('base64'),
};

const ID = 'id: rowId name';
const ITS_PET = `${ID} status category: categoryByCategoryId { ${ID} }`;
const ITS_ORDER = 'id: rowId quantity shipDate complete';
const CONDITION = 'condition: { status: available, categoryId: $categoryId }';

// PostGraphile puts these hashes of the sort order into the cursors of lists that are sorted by id.
const ORDER_OF_PETS = '20a0206b15';
const ORDER_OF_ORDERS = '174cba311d';

export const postgraphileDialect: Dialect = {
  rest: false,
  cursor: (id, workload) => {
    const order = workload === 'Orders' ? ORDER_OF_ORDERS : ORDER_OF_PETS;
    return Buffer.from(JSON.stringify([order, String(id)])).toString('base64');
  },
  revive: (key, value) => {
    if (typeof value !== 'string') return value;
    if (key === 'shipDate') return new Date(value).toISOString();
    return key === 'status' ? value.toUpperCase() : value;
  },
  documents: {
    OnePet: `query OnePet($id: BigInt!) { pet: petByRowId(rowId: $id) { ${ITS_PET} } }`,
    Pets: `query Pets($after: Cursor) {
      pets: allPets(first: 20, after: $after) { nodes { ${ITS_PET} } }
    }`,
    Orders: `query Orders($after: Cursor) {
      orders: allOrders(first: 50, after: $after) {
        nodes { ${ITS_ORDER} pet: petByPetId { ${ID} category: categoryByCategoryId { name } } }
      }
    }`,
    PetsOfCategories: `query PetsOfCategories($after: Cursor) {
      categories: allCategories(first: 20) {
        nodes { ${ID} pets: petsByCategoryId(first: 10, after: $after) {
          nodes { ${ID} inventory: inventoryItemByPetId { quantity } }
        } }
      }
    }`,
    OrdersOfPets: `query OrdersOfPets($after: Cursor) {
      pets: allPets(first: 50, after: $after) {
        nodes { ${ID} orders: ordersByPetId(first: 3) { nodes { ${ITS_ORDER} } } }
      }
    }`,
    FilteredPets: `query FilteredPets($categoryId: BigInt!, $after: Cursor) {
      pets: allPets(first: 20, after: $after, ${CONDITION}) { nodes { ${ID} } }
    }`,
    CountedPets: `query CountedPets($categoryId: BigInt!, $after: Cursor) {
      pets: allPets(first: 20, after: $after, ${CONDITION}) { totalCount nodes { ${ID} } }
    }`,
    Typename: documents.Typename,
  },
};
