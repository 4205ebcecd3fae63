import {
  IDEMPOTENCY_KEY,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  isInfinite,
  type ListSize,
  nestedPage,
  relatedRow,
  rootPage,
  rowByArgument,
  SEARCH_COST,
} from '../../gateway/index.ts';
import { Node, builder, connectionOf, followRows, listArguments, nodeId } from '../builder.ts';
import { InsufficientStock, StockLimitExceeded } from '../inventory/inventory.ts';
import { petOf, PetNotAvailable, PetNotFound } from '../pet/pets.ts';
import { Pet } from '../pet/schema.ts';
import {
  cancelOrder,
  completeOrder,
  type OrderAndPet,
  orderById,
  orderPages,
  orderPagesByPet,
  rescheduleOrder,
  orders,
  toOrderFilter,
  OrderComplete,
  OrderNotFound,
} from './orders.ts';
import { placeOrder } from './place-order.ts';
import { placeOrders, type PlacedOrders } from './place-orders.ts';

const Order = builder.prismaObject('Order', {
  description: 'An order for units of a pet. It is open until it is complete.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the order, the same as in REST.' }),
    nodeId: t.id(nodeId('Order', orderById, ({ id }) => id)),
    petId: t.exposeID('petId', { description: 'The id of the pet.' }),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      ...relatedRow(petOf, 'petId', ({ pet }: OrderAndPet) => pet),
    }),
    quantity: t.exposeInt('quantity', { description: 'The number of units ordered, 1 or more.' }),
    shipDate: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The date and time of shipment, or null if it is not set.',
      extensions: { sql: { kind: 'column', field: 'shipDate' } },
      resolve: ({ shipDate }) => (shipDate && isInfinite(shipDate) ? null : shipDate),
    }),
    complete: t.exposeBoolean('complete', { description: 'Whether the order is complete.' }),
  }),
});

const NewOrder = builder.inputType('NewOrder', {
  description: 'Input for a new order.',
  fields: (t) => ({
    petId: t.id({ required: true, description: 'The id of the pet.' }),
    quantity: t.int({ required: true, description: 'The number of units ordered, 1 or more.' }),
    shipDate: t.field({
      type: 'DateTime',
      description: 'The date and time of shipment, if it is known.',
    }),
  }),
});

const TimeRange = builder.inputType('TimeRange', {
  description: 'A range of points in time. Without either bound, it is unlimited at that end.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'The start of the range, part of it.' }),
    before: t.field({ type: 'DateTime', description: 'The end of the range, not part of it.' }),
  }),
});

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

const OrderFilter = builder.inputType('OrderFilter', {
  description: 'Conditions for a list of orders. Each order in the list meets all of them.',
  fields: (t) => ({
    petId: t.id({ description: 'Only orders for the pet with this id.' }),
    complete: t.boolean({
      description: 'Only complete orders if true, only open orders if false.',
    }),
    shipDate: t.field({
      type: TimeRange,
      description:
        'Only orders whose date of shipment is in this range. An order without a date is in no ' +
        'range. A range without bounds matches every order, also those without a date.',
      extensions: SEARCH_COST,
    }),
  }),
});

const ORDER_LIST = listArguments('Order', {
  filter: OrderFilter,
  rows: 'orders',
  fields: {
    ID: { description: 'Order by id.' },
    SHIP_DATE: {
      description: 'Order by date of shipment. An order without one counts as the latest.',
    },
  },
});

const OrderConnection = connectionOf(Order, 'Order');

builder.queryFields((t) => ({
  order: t.field({
    type: Order,
    nullable: true,
    description: 'The order with this id, or null if it does not exist.',
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    ...rowByArgument(orderById, 'id'),
  }),
  orders: t.connection(
    {
      type: Order,
      description: 'A page of the list of orders.',
      args: ORDER_LIST,
      ...rootPage(orderPages),
    },
    OrderConnection,
  ),
}));

builder.prismaObjectField('Pet', 'orders', (t) =>
  t.connection(
    {
      type: Order,
      description: 'A page of the list of orders for this pet.',
      args: ORDER_LIST,
      ...nestedPage(orderPagesByPet),
    },
    OrderConnection,
  ),
);

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

const OrderChangeFilter = builder.inputType('OrderChangeFilter', {
  description: 'Conditions that an order meets before or after the change.',
  fields: (t) => ({
    ids: t.idList({
      description: 'Only orders with one of these ids. An empty list matches none.',
    }),
    petId: t.id({ description: 'Only orders for the pet with this id.' }),
    complete: t.boolean({ description: 'Only complete orders if true, only open ones if false.' }),
  }),
});

followRows({
  type: 'Order',
  object: Order,
  loader: orderById,
  toRow: orders.fromRecorded,
  field: 'order',
  idOf: 'order',
  names: { one: 'an order', short: 'order', all: 'orders' },
  filter: OrderChangeFilter,
  toFilter: toOrderFilter,
  subscription: 'orderChanged',
  changesOf: 'orders',
});
