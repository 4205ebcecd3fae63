import { graphql } from 'relay-runtime';

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

/** Two groups of each list, by different keys or of different orders. */
export const groupsQuery = graphql`
  query petsGroupsQuery($categoryId: ID!) {
    category(id: $categoryId) {
      pets {
        groups(by: [STATUS]) {
          nodes {
            status
            count
          }
        }
      }
    }
    orders(filter: { petStatus: [AVAILABLE, PENDING, SOLD] }) {
      months: groups(by: [SHIP_DATE_MONTH]) {
        nodes {
          shipDateMonth
          count
          sum {
            quantity
          }
        }
      }
      groups(by: [COMPLETE, CATEGORY_ID]) {
        nodes {
          complete
          count
          category {
            id
            name
          }
        }
      }
    }
    open: orders(filter: { complete: false }) {
      groups(by: [SHIP_DATE_MONTH]) {
        nodes {
          shipDateMonth
          count
        }
      }
    }
  }
`;
