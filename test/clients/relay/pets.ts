import { graphql } from 'relay-runtime';

/** The pets of a category, page by page. */
export const petsOfCategory = graphql`
  fragment petsOfCategory on Category
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" })
  @refetchable(queryName: "petsOfCategoryPageQuery") {
    pets(first: $count, after: $cursor, orderBy: { field: NAME })
      @connection(key: "petsOfCategory_pets") {
      totalCount
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

/** A pet that can be refetched on its own. */
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
        totalCount
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

export const createMutation = graphql`
  mutation petsCreateMutation($input: NewPet!) {
    createPet(input: $input) {
      __typename
      ... on Pet {
        name
      }
    }
  }
`;

export const deleteMutation = graphql`
  mutation petsDeleteMutation($id: ID!) {
    deletePet(id: $id) {
      __typename
      ... on DeletedPet {
        nodeId
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
        httpStatus
      }
    }
  }
`;

export const orderMutation = graphql`
  mutation petsOrderMutation($input: NewOrder!) {
    placeOrder(input: $input) {
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
        httpStatus
      }
    }
  }
`;

export const cancelMutation = graphql`
  mutation petsCancelMutation($id: ID!) {
    cancelOrder(id: $id) {
      __typename
      ... on CancelledOrder {
        nodeId
        inventory {
          quantity
        }
      }
      ... on Error {
        code
        message
        httpStatus
      }
    }
  }
`;

/** Changes to some pets. Relay adds the `nodeId` of each pet to the selection. */
export const petChangedSubscription = graphql`
  subscription petsChangedSubscription($ids: [ID!], $after: String) {
    petChanged(filter: { ids: $ids }, after: $after) {
      __typename
      cursor
      kind
      petId
      pet {
        id
        name
        status
      }
    }
  }
`;
