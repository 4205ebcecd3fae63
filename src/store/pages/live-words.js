const fullDate = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

/** What the sentences say about a change. */
export const FIELDS = `fragment Words on Change {
  ... on CategoryChange {
    categoryBefore: before { name }
    categoryAfter: after { name }
  }
  ... on PetChange {
    petId
    petBefore: before { name status categoryId }
    petAfter: after { name status categoryId }
  }
  ... on InventoryItemChange {
    petId
    stockAfter: after { quantity }
    inventoryItem { pet { name } }
  }
  ... on OrderChange {
    orderBefore: before { petId quantity shipDate complete }
    orderAfter: after { petId quantity shipDate complete }
    order { pet { name } }
  }
}`;

const STATUSES = { AVAILABLE: 'available', PENDING: 'pending', SOLD: 'sold' };

/** The id of the pet that a change is about. */
const petIdOf = ({ petId, orderBefore, orderAfter }) => petId ?? (orderAfter ?? orderBefore)?.petId;

const namesIn = ({ petBefore, petAfter, inventoryItem, order }) =>
  petAfter?.name ?? petBefore?.name ?? inventoryItem?.pet.name ?? order?.pet.name;

/** The name of the pet of a change. Of a row that is gone, another change may have it. */
function nameOf(change, others) {
  const id = petIdOf(change);
  const named = [change, ...others].find((other) => petIdOf(other) === id && namesIn(other));
  return named ? namesIn(named) : `pet ${id}`;
}

const toCategoryWords = ({ kind, categoryBefore: before, categoryAfter: after }) => {
  if (kind === 'CREATED') return `New category: ${after.name}`;
  if (kind === 'DELETED') return `Category removed: ${before.name}`;
  if (before.name === after.name) return `Category ${after.name} has changed`;
  return `Category ${before.name} is now ${after.name}`;
};

const toPetWords = ({ kind, petBefore: before, petAfter: after }) => {
  if (kind === 'CREATED') return `New pet: ${after.name}`;
  if (kind === 'DELETED') return `Pet removed: ${before.name}`;
  if (before.status !== after.status) return `${after.name} is ${STATUSES[after.status]}`;
  if (before.name !== after.name) return `${before.name} is now ${after.name}`;
  if (before.categoryId !== after.categoryId) return `${after.name} is in another category`;
  return `${after.name} has changed`;
};

const toStockWords = ({ stockAfter }, name) =>
  stockAfter ? `Stock of ${name}: ${stockAfter.quantity}` : `No stock of ${name} any more`;

function toOrderState({ kind, orderBefore: before, orderAfter: after }) {
  if (kind === 'CREATED') return 'New order';
  if (kind === 'DELETED') return 'Order cancelled';
  if (before.complete !== after.complete) return after.complete ? 'Order complete' : 'Order open';
  if (before.shipDate === after.shipDate) return 'Order changed';
  if (after.shipDate === null) return 'Order without a date';
  return `Order ships ${fullDate.format(new Date(after.shipDate))}`;
}

const toOrderWords = (change, name) =>
  `${toOrderState(change)}: ${(change.orderAfter ?? change.orderBefore).quantity} × ${name}`;

const WORDS = {
  CategoryChange: toCategoryWords,
  PetChange: toPetWords,
  InventoryItemChange: toStockWords,
  OrderChange: toOrderWords,
};

/** Says what a change was; `others` are changes that may know the name of its pet. */
export const toWords = (change, others) => WORDS[change.type]?.(change, nameOf(change, others));
