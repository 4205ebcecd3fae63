import { graphql } from 'relay-runtime';

/** The place of the last change. */
export const cursorQuery = graphql`
  query livePetsCursorQuery {
    changes(last: 1) {
      pageInfo {
        endCursor
      }
    }
  }
`;

/** The changes of some pets. Relay itself selects the `nodeId` of each. */
export const petChangedSubscription = graphql`
  subscription livePetsSubscription($ids: [ID!], $after: String) {
    petChanged(filter: { ids: $ids }, after: $after) {
      cursor
      kind
      petId
      pet {
        id
        name
        status
      }
      before {
        nodeId
      }
    }
  }
`;
