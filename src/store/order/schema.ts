import {
  IDEMPOTENCY_KEY,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  isInfinite,
  type ListSize,
  relatedRow,
} from '../../gateway/index.ts';
import { builder, fieldsOf, newInputOf, Node } from '../builder.ts';
import { InsufficientStock, StockLimitExceeded } from '../inventory/inventory.ts';
import { PetNotAvailable, PetNotFound, pets } from '../pet/pets.ts';
import { Pet } from '../pet/schema.ts';
import {
  cancelOrder,
  completeOrder,
  type OrderAndPet,
  OrderComplete,
  OrderNotFound,
  orders,
  rescheduleOrder,
} from './orders.ts';
import { placeOrder } from './place-order.ts';
import { placeOrders, type PlacedOrders } from './place-orders.ts';

const Order = builder.prismaObject('Order', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    petId: t.exposeID('petId'),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      ...relatedRow(pets.required, 'petId', ({ pet }: OrderAndPet) => pet),
    }),
    quantity: t.exposeInt('quantity'),
    shipDate: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The date and time of shipment, or null if it is not set.',
      extensions: { sql: { kind: 'column', field: 'shipDate' } },
      resolve: ({ shipDate }) => (shipDate && isInfinite(shipDate) ? null : shipDate),
    }),
    complete: t.exposeBoolean('complete'),
  }),
});

const NewOrder = newInputOf(orders);

/** One order for each line. */
const LINES: ListSize = {
  assumedSize: 100,
  slicingArguments: ['input'],
  sizedFields: ['orders'],
  requireOneSlicingArgument: false,
};

const PlacedOrdersType = builder.objectRef<PlacedOrders>('PlacedOrders').implement({
  description: 'The orders of several lines that were placed together.',
  fields: (t) => ({
    orders: t.field({
      type: [Order],
      description: 'The orders, in the order of the lines.',
      extensions: { ofOtherRow: false },
      resolve: (placed) => [...placed.orders],
    }),
  }),
});

const fields = fieldsOf(Order, orders);

builder.queryFields((t) => ({
  order: t.field(fields.row),
  orders: t.connection(...fields.list),
}));

builder.prismaObjectField('Pet', 'orders', (t) =>
  t.connection(...fields.listBy('petId', 'A page of the list of orders for this pet.')),
);

for (const type of [PetNotFound, PetNotAvailable, InsufficientStock]) {
  builder.objectField(type, 'line', (t) =>
    t.exposeInt('line', {
      nullable: true,
      description:
        'The index of the refused line in the `input` of placeOrders, from 0; null in other mutations.',
    }),
  );
}

const ORDERING_ERRORS = [
  InvalidId,
  InvalidInput,
  PetNotFound,
  PetNotAvailable,
  InsufficientStock,
  IdempotencyConflict,
];

builder.mutationFields((t) => ({
  placeOrder: t.field({
    type: Order,
    description:
      'Creates an order and takes its units from the stock of the pet, in one transaction.',
    authScopes: { scope: 'orders:write' },
    errors: { types: ORDERING_ERRORS },
    args: {
      input: t.arg({ type: NewOrder, required: true, description: 'The new order.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { loaders, caller }) =>
      placeOrder(loaders, input, { key, caller: caller.subject }),
  }),
  placeOrders: t.field({
    type: PlacedOrdersType,
    description:
      'Creates an order for each line and takes all units from the stock, in one transaction: all ' +
      'lines or none. Lines for the same pet add up. An error about a pet names the first line ' +
      'that cannot be served.',
    authScopes: { scope: 'orders:write' },
    errors: { types: ORDERING_ERRORS },
    extensions: { directives: { listSize: LINES, cost: { weight: '100' } } },
    args: {
      input: t.arg({
        type: [NewOrder],
        required: true,
        description: 'The lines, at least one and as many as a list may have.',
      }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { loaders, caller }) =>
      placeOrders(loaders.db, input, { key, caller: caller.subject }),
  }),
  rescheduleOrder: t.field({
    type: Order,
    description: 'Changes the date of shipment of an open order.',
    authScopes: { scope: 'orders:write' },
    errors: { types: [InvalidId, InvalidInput, OrderNotFound, OrderComplete] },
    args: {
      id: t.arg.id({ required: true, description: 'The id of the order.' }),
      shipDate: t.arg({
        type: 'DateTime',
        description:
          'The new date and time of shipment, or null to remove it. Omitting it is INVALID_INPUT.',
      }),
    },
    resolve: (_root, { id, shipDate }, { loaders }) => rescheduleOrder(loaders.db, id, shipDate),
  }),
  completeOrder: t.field({
    type: Order,
    description: 'Completes an order. If it is already complete, nothing changes.',
    authScopes: { scope: 'orders:write' },
    errors: { types: [InvalidId, OrderNotFound] },
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    resolve: (_root, { id }, { loaders }) => completeOrder(loaders.db, id),
  }),
  cancelOrder: t.field({
    type: Order,
    description: 'Deletes an open order and returns its units to the stock, in one transaction.',
    authScopes: { scope: 'orders:write' },
    errors: { types: [InvalidId, OrderNotFound, OrderComplete, StockLimitExceeded] },
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    resolve: (_root, { id }, { loaders }) => cancelOrder(loaders.db, id),
  }),
}));

fields.follow('orderChanged');
