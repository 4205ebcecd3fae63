import {
  ConnectionHandler,
  graphql,
  type RecordProxy,
  type SelectorStoreUpdater,
} from 'relay-runtime';

/** The pets of a category, page by page. */
export const petsOfCategory = graphql`
  fragment petsOfCategory on Category
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" })
  @refetchable(queryName: "petsOfCategoryPageQuery") {
    pets(first: $count, after: $cursor, orderBy: { field: NAME })
      @connection(key: "petsOfCategory_pets") {
      connectionId: __id
      edges {
        node {
          name
          inventory {
            quantity
          }
        }
      }
    }
  }
`;

export const categoryQuery = graphql`
  query petsCategoryQuery($id: ID!) {
    category(id: $id) {
      ...petsOfCategory
    }
  }
`;

/** A list of the store, page by page. */
export const petsOfStore = graphql`
  fragment petsOfStore on Query
  @argumentDefinitions(
    count: { type: "Int", defaultValue: 2 }
    cursor: { type: "String" }
    categoryId: { type: "ID!" }
  )
  @refetchable(queryName: "petsOfStorePageQuery") {
    pets(first: $count, after: $cursor, filter: { categoryId: $categoryId })
      @connection(key: "petsOfStore_pets") {
      connectionId: __id
      edges {
        node {
          name
          inventory {
            quantity
          }
        }
      }
    }
  }
`;

export const storeQuery = graphql`
  query petsStoreQuery($categoryId: ID!) {
    ...petsOfStore @arguments(categoryId: $categoryId)
  }
`;

/** A pet that can be read again by itself. */
export const petFragment = graphql`
  fragment petsPet on Pet @refetchable(queryName: "petsPetRefetchQuery") {
    name
    inventory {
      quantity
    }
  }
`;

export const petQuery = graphql`
  query petsPetQuery($id: ID!) {
    pet(id: $id) {
      nodeId
      name
      status
      inventory {
        quantity
        status
      }
      orders(first: 20) @connection(key: "petsPet_orders") {
        connectionId: __id
        edges {
          node {
            id
            quantity
            complete
          }
        }
      }
      ...petsPet
    }
  }
`;

export const nodeQuery = graphql`
  query petsNodeQuery($nodeId: ID!) {
    node(nodeId: $nodeId) {
      ... on Pet {
        name
        status
      }
    }
  }
`;

export const updateMutation = graphql`
  mutation petsUpdateMutation($id: ID!, $input: PetUpdate!) {
    updatePet(id: $id, input: $input) {
      __typename
      ... on Pet {
        name
        status
        inventory {
          status
        }
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const stockMutation = graphql`
  mutation petsStockMutation($petId: ID!, $quantity: Int!) {
    updateInventory(petId: $petId, input: { quantity: $quantity }) {
      ... on InventoryItem {
        quantity
        status
        pet {
          inventory {
            quantity
          }
        }
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const adjustMutation = graphql`
  mutation petsAdjustMutation($petId: ID!, $by: Int!, $idempotencyKey: String) {
    adjustInventory(petId: $petId, by: $by, idempotencyKey: $idempotencyKey) {
      ... on InventoryItem {
        quantity
        status
        pet {
          inventory {
            quantity
          }
        }
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const bothStocksMutation = graphql`
  mutation petsBothStocksMutation($one: ID!, $other: ID!, $quantity: Int!) {
    one: updateInventory(petId: $one, input: { quantity: $quantity }) {
      ... on InventoryItem {
        quantity
      }
    }
    other: updateInventory(petId: $other, input: { quantity: $quantity }) {
      ... on InventoryItem {
        quantity
      }
    }
  }
`;

export const orderMutation = graphql`
  mutation petsOrderMutation($input: NewOrder!, $idempotencyKey: String) {
    placeOrder(input: $input, idempotencyKey: $idempotencyKey) {
      __typename
      ... on Order {
        id
        quantity
        complete
        pet {
          inventory {
            quantity
          }
        }
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const cartMutation = graphql`
  mutation petsCartMutation($input: [NewOrder!]!, $idempotencyKey: String) {
    placeOrders(input: $input, idempotencyKey: $idempotencyKey) {
      __typename
      ... on PlacedOrders {
        orders {
          id
          quantity
          complete
          pet {
            inventory {
              quantity
            }
          }
        }
      }
      ... on InsufficientStock {
        available
        line
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const completeMutation = graphql`
  mutation petsCompleteMutation($id: ID!) {
    completeOrder(id: $id) {
      ... on Order {
        complete
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const cancelMutation = graphql`
  mutation petsCancelMutation($id: ID!, $connections: [ID!]!) {
    cancelOrder(id: $id) {
      ... on Order {
        nodeId @deleteEdge(connections: $connections)
        pet {
          inventory {
            quantity
          }
        }
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

export const deleteMutation = graphql`
  mutation petsDeleteMutation($id: ID!, $connections: [ID!]!) {
    deletePet(id: $id) {
      ... on Pet {
        nodeId @deleteEdge(connections: $connections)
      }
      ... on Error {
        code
        message
        httpStatus: status
      }
    }
  }
`;

/** Returns the orders that a mutation has placed: none if it returned an error. */
function placedOrders(result: RecordProxy | null | undefined): readonly RecordProxy[] {
  if (result?.getType() === 'Order') return [result];
  return result?.getLinkedRecords('orders') ?? [];
}

/** Appends the orders of a mutation to the orders of their pets, if the store has read those. */
export const appendOrders =
  (field: 'placeOrder' | 'placeOrders'): SelectorStoreUpdater =>
  (store) => {
    for (const order of placedOrders(store.getRootField(field))) {
      const pet = order.getLinkedRecord('pet');
      const orders = pet && ConnectionHandler.getConnection(pet, 'petsPet_orders');
      if (!orders) continue;
      const edge = ConnectionHandler.createEdge(store, orders, order, 'OrderEdge');
      ConnectionHandler.insertEdgeAfter(orders, edge);
    }
  };
