import { ConnectionHandler, graphql, type SelectorStoreUpdater } from 'relay-runtime';

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
        edges {
          node {
            quantity
          }
        }
      }
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

/** Appends a new order to the orders of its pet, if the store has read those. */
export const appendOrder: SelectorStoreUpdater = (store) => {
  const order = store.getRootField('placeOrder');
  if (order?.getType() !== 'Order') return;
  const pet = order.getLinkedRecord('pet');
  const orders = pet && ConnectionHandler.getConnection(pet, 'petsPet_orders');
  if (!orders) return;
  const edge = ConnectionHandler.createEdge(store, orders, order, 'OrderEdge');
  ConnectionHandler.insertEdgeAfter(orders, edge);
};
