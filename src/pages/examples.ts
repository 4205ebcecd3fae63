/** The operations GraphiQL opens with, one tab each; each runs as it stands on the sample store. */
export const EXAMPLES: readonly string[] = [
  `# Welcome to the pet store. Ctrl-Enter runs this.
# The other tabs have more, the book on the left
# has the whole schema.

# One pet: what the deprecated GET /pets/{petId}
# answers, with its category and stock besides.
query OnePet {
  pet(id: "1") {
    id
    name
    status
    category {
      name
    }
    inventory {
      quantity
    }
  }
}
`,
  `# Categories, each with its first available pets:
# one SQL statement a level, not one a category.
query Categories {
  categories(orderBy: { field: NAME }) {
    totalCount
    nodes {
      name
      description
      pets(
        first: 3
        filter: { status: [AVAILABLE] }
        orderBy: { field: NAME }
      ) {
        totalCount
        nodes {
          id
          name
        }
      }
    }
  }
}
`,
  `# Search by name. For the next page add
# after: "…" with the endCursor of this one.
query SearchPets {
  pets(
    first: 2
    filter: { name: "low" }
    orderBy: { field: NAME }
  ) {
    totalCount
    pageInfo {
      hasNextPage
      endCursor
    }
    nodes {
      id
      name
      status
      category {
        name
      }
    }
  }
}
`,
  `# What is nearly sold out.
query LowStock {
  inventory(
    first: 10
    filter: { maxQuantity: 3, status: [AVAILABLE] }
    orderBy: { field: QUANTITY }
  ) {
    nodes {
      quantity
      pet {
        id
        name
      }
    }
  }
}
`,
  `# Open orders, the next to ship first:
# like GET /store/orders, but as you want them.
query OpenOrders {
  orders(
    first: 10
    filter: { complete: false }
    orderBy: { field: SHIP_DATE }
  ) {
    totalCount
    nodes {
      id
      quantity
      shipDate
      complete
      pet {
        name
      }
    }
  }
}
`,
  `# Ordering takes units from the stock. Errors are
# data: ask for 1000 units to see one.
mutation PlaceOrder {
  placeOrder(
    input: {
      petId: "1"
      quantity: 1
      shipDate: "2027-01-15T09:00:00+01:00"
    }
  ) {
    ... on Order {
      id
      shipDate
      pet {
        name
        inventory {
          quantity
        }
      }
    }
    ... on InsufficientStock {
      available
    }
    ... on Error {
      code
      message
    }
  }
}
`,
  `# A new pet, and units of it in stock.
mutation NewPet {
  createPet(
    input: { name: "Pixel", categoryId: "2" }
  ) {
    ... on Pet {
      id
      name
      status
    }
    ... on Error {
      code
      message
    }
  }
  updateInventory(
    petId: "2"
    input: { quantity: 25 }
  ) {
    ... on InventoryItem {
      pet {
        name
      }
      quantity
    }
    ... on Error {
      code
      message
    }
  }
}
`,
];
