import type { Store } from '../gateway/index.ts';
import { ROOT } from './root.ts';

const icon = `<svg viewBox="0 0 24 24" aria-hidden="true"><ellipse cx="5" cy="11" rx="2.4" ry="3.1"/>
<ellipse cx="9.4" cy="5.6" rx="2.4" ry="3.4"/><ellipse cx="14.6" cy="5.6" rx="2.4" ry="3.4"/>
<ellipse cx="19" cy="11" rx="2.4" ry="3.1"/>
<path d="M12 11c3.2 0 6.2 4.1 6.2 7.1 0 2.1-1.5 3.2-3.2 3.2-1.2 0-1.9-.7-3-.7s-1.8 .7-3 .7c-1.7 0-3.2-1.1-3.2-3.2 0-3 3-7.1 6.2-7.1z"/></svg>`;

const example = {
  query: `query PetsInStock {
  pets(first: 1, filter: { inStock: true }) {
    totalCount
    nodes {
      name
      availableQuantity
      category {
        name
      }
    }
  }
}`,
  result: `{
  "data": {
    "pets": {
      "totalCount": 85,
      "nodes": [
        {
          "name": "Biscuit",
          "availableQuantity": 12,
          "category": { "name": "Dogs" }
        }
      ]
    }
  }
}`,
};

const mutation = {
  query: `mutation OrderPet {
  placeOrder(input: { petId: "1", quantity: 1000 }) {
    ... on Order {
      id
    }
    ... on InsufficientStock {
      available
    }
    ... on Error {
      code
      message
    }
  }
}`,
  result: `{
  "data": {
    "placeOrder": {
      "available": 12,
      "code": "INSUFFICIENT_STOCK",
      "message": "Pet 1 has 12 units in stock."
    }
  }
}`,
};

const subscription = `subscription FollowOrders {
  orderChanged {
    kind
    order {
      quantity
      pet {
        name
      }
    }
  }
}`;

/** The texts and examples that the pages show for the pet store. */
export const pages: Store['pages'] = {
  icon,
  heading: 'One endpoint for the whole pet store',
  lead: `A GraphQL gateway for categories, pets, stock and orders. Ask for what you need, and get
exactly that, in one request.`,
  example,
  mutation,
  subscription,
  guide: new URL('dist/guide.json', ROOT),
  examples: new URL('src/store/pages/examples/', ROOT),
};
