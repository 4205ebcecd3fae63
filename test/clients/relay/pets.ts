import { graphql } from 'relay-runtime';

export const petQuery = graphql`
  query petsPetQuery($id: ID!) {
    pet(id: $id) {
      name
    }
  }
`;

export const orderMutation = graphql`
  mutation petsOrderMutation($input: NewOrder!) {
    placeOrder(input: $input) {
      __typename
      ... on Order {
        id
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

export const categoryQuery = graphql`
  query petsCategoryQuery($id: ID!) {
    pet(id: $id) {
      name
      category {
        name
      }
    }
  }
`;
