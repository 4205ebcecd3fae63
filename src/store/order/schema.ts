import {
  InsufficientStock,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  OrderComplete,
  OrderNotFound,
  PetNotAvailable,
  PetNotFound,
  StockLimitExceeded,
} from '../../contract/errors.ts';
import { builder } from '../../builder/builder.ts';
import { nestedConnection, rootConnection, sortInput } from '../../builder/connections.ts';
import { petOf } from '../pet/pets.ts';
import { Pet } from '../pet/schema.ts';
import { IDEMPOTENCY_KEY } from '../../builder/idempotency.ts';
import { parseId } from '../../contract/values.ts';
import {
  cancelOrder,
  completeOrder,
  orderById,
  orderPages,
  orderPagesByPet,
  placeOrder,
  rescheduleOrder,
} from './orders.ts';

const Order = builder.prismaObject('Order', {
  description: 'Units of a pet that somebody ordered. It is open until it is complete.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its identifier, the same as in REST.' }),
    petId: t.exposeID('petId', { description: 'The identifier of the pet.' }),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      resolve: ({ petId }, _args, { store }) => petOf.load(store, petId),
    }),
    quantity: t.exposeInt('quantity', { description: 'The units ordered, 1 or more.' }),
    shipDate: t.expose('shipDate', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ships; null until that is settled.',
    }),
    complete: t.exposeBoolean('complete', { description: 'Whether it is done.' }),
  }),
});

const NewOrder = builder.inputType('NewOrder', {
  description: 'An order to place.',
  fields: (t) => ({
    petId: t.id({ required: true, description: 'The pet.' }),
    quantity: t.int({ required: true, description: 'The units ordered, 1 or more.' }),
    shipDate: t.field({ type: 'DateTime', description: 'When it ships.' }),
  }),
});

const OrderFilter = builder.inputType('OrderFilter', {
  description: 'Which orders to list: those that meet every condition given.',
  fields: (t) => ({
    petId: t.id({ description: 'Those of this pet.' }),
    complete: t.boolean({ description: 'true: the complete ones; false: the open ones.' }),
  }),
});

const OrderSort = sortInput('Order', {
  ID: { description: 'The id.' },
  SHIP_DATE: { description: 'The date it ships; orders without one count as last.' },
});

const OrderConnection = builder.connectionObject(
  { type: Order, name: 'OrderConnection' },
  { name: 'OrderEdge' },
);

builder.queryFields((t) => ({
  order: t.field({
    type: Order,
    nullable: true,
    description: 'One order; null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'Its identifier.' }) },
    resolve: (_root, { id }, { store }) => orderById.load(store, parseId(id, 'id')),
  }),
  orders: t.connection(
    {
      type: Order,
      description: 'Orders, a page at a time.',
      args: {
        filter: t.arg({ type: OrderFilter, description: 'Which to list; all by default.' }),
        orderBy: t.arg({ type: OrderSort, description: 'In which order; by id by default.' }),
      },
      resolve: (_root, args, context) => rootConnection(context, orderPages, args),
    },
    OrderConnection,
  ),
}));

builder.prismaObjectField('Pet', 'orders', (t) =>
  t.connection(
    {
      type: Order,
      description: 'The orders of this pet, a page at a time.',
      args: {
        filter: t.arg({ type: OrderFilter, description: 'Which to list; all by default.' }),
        orderBy: t.arg({ type: OrderSort, description: 'In which order; by id by default.' }),
      },
      resolve: ({ id: parent }, args, context) =>
        nestedConnection(context, orderPagesByPet, parent, args),
    },
    OrderConnection,
  ),
);

builder.mutationFields((t) => ({
  placeOrder: t.field({
    type: Order,
    description: "Takes units from a pet's stock and makes an order of them, both or neither.",
    authScopes: { scope: 'orders:write' },
    errors: {
      types: [
        InvalidId,
        InvalidInput,
        PetNotFound,
        PetNotAvailable,
        InsufficientStock,
        IdempotencyConflict,
      ],
    },
    args: {
      input: t.arg({ type: NewOrder, required: true, description: 'What to order.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { store, caller }) =>
      placeOrder(store.db, input, { key, caller: caller.subject }),
  }),
  rescheduleOrder: t.field({
    type: Order,
    description: 'Sets the date an open order ships.',
    authScopes: { scope: 'orders:write' },
    errors: { types: [InvalidId, InvalidInput, OrderNotFound, OrderComplete] },
    args: {
      id: t.arg.id({ required: true, description: 'Which order.' }),
      shipDate: t.arg({
        type: 'DateTime',
        description: 'The new date, or null for none; left out it is INVALID_INPUT.',
      }),
    },
    resolve: (_root, { id, shipDate }, { store }) => rescheduleOrder(store.db, id, shipDate),
  }),
  completeOrder: t.field({
    type: Order,
    description: 'Completes an order; one that is complete stays as it is.',
    authScopes: { scope: 'orders:write' },
    errors: { types: [InvalidId, OrderNotFound] },
    args: { id: t.arg.id({ required: true, description: 'Which order.' }) },
    resolve: (_root, { id }, { store }) => completeOrder(store.db, id),
  }),
  cancelOrder: t.field({
    type: Order,
    description: 'Removes an open order and gives its units back to the stock.',
    authScopes: { scope: 'orders:write' },
    errors: { types: [InvalidId, OrderNotFound, OrderComplete, StockLimitExceeded] },
    args: { id: t.arg.id({ required: true, description: 'Which order.' }) },
    resolve: (_root, { id }, { store }) => cancelOrder(store.db, id),
  }),
}));
