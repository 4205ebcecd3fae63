import { IDEMPOTENCY_KEY, relatedRow } from '../../gateway/index.ts';
import { builder, Node, store } from '../builder.ts';
import { InsufficientStock, StockLimitExceeded } from '../inventory/inventory.ts';
import { InventoryItem } from '../inventory/schema.ts';
import { PetNotAvailable, PetNotFound, pets } from '../pet/pets.ts';
import { Pet } from '../pet/schema.ts';
import {
  type CancelledOrder,
  cancelOrder,
  completeOrder,
  OrderComplete,
  OrderNotFound,
  orders,
  rescheduleOrder,
} from './orders.ts';
import { placeOrder } from './place-order.ts';
import { placeOrders } from './place-orders.ts';

const Order = builder.prismaObject('Order', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    petId: t.exposeID('petId'),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      ...relatedRow(pets.required, 'petId', 'pet'),
    }),
    quantity: t.exposeInt('quantity'),
    shipDate: t.expose('shipDate', { type: 'DateTime', nullable: true }),
    complete: t.exposeBoolean('complete'),
  }),
});

const fields = store.fieldsOf(Order, orders);

const NewOrder = fields.newInput();

const CancelledOrderType = fields.deleted<CancelledOrder>(
  'CancelledOrder',
  'The `id` and `nodeId` of the cancelled order, and the stock to which its units were returned.',
);

builder.objectField(CancelledOrderType, 'inventory', (t) =>
  t.field({
    type: InventoryItem,
    description: 'The stock after the units were returned.',
    extensions: { ofOtherRow: false },
    resolve: ({ inventory }) => inventory,
  }),
);

builder.queryFields((t) => ({
  order: t.field(fields.row),
  orders: t.connection(...fields.list),
}));

builder.prismaObjectField('Pet', 'orders', (t) =>
  t.connection(...fields.listBy(pets, 'petId', 'The orders for this pet.')),
);

const ORDERING_ERRORS = [PetNotFound, PetNotAvailable, InsufficientStock];

builder.mutationFields((t) => ({
  placeOrder: t.field({
    type: Order,
    description:
      'Creates an order and takes its units from the stock of the pet, in one transaction.',
    scope: 'orders:write',
    onlyAdds: true,
    errors: { types: ORDERING_ERRORS },
    args: {
      input: t.arg({ type: NewOrder, required: true, description: 'The new order.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, args, { source, caller }) => placeOrder(source, args, caller.subject),
  }),
  placeOrders: t.field({
    ...fields.lines(NewOrder, ORDERING_ERRORS, {
      result: 'PlacedOrders',
      field: 'orders',
      description: 'The orders that were placed together.',
    }),
    description:
      'Creates an order for each entry in `input` and takes the ordered units from the stock, in one ' +
      'transaction: all or nothing. Quantities for the same pet are added up. The `line` of an error ' +
      'is the zero-based index of the first entry that cannot be fulfilled.',
    scope: 'orders:write',
    onlyAdds: true,
    resolve: (_root, args, { source, caller }) => placeOrders(source.db, args, caller.subject),
  }),
  rescheduleOrder: t.field({
    type: Order,
    description: 'Changes the ship date of an open order.',
    scope: 'orders:write',
    errors: { types: [OrderNotFound, OrderComplete] },
    args: {
      id: t.arg.id({ required: true, description: 'The id of the order.' }),
      shipDate: t.arg({
        type: 'DateTime',
        description:
          'The new ship date, at most a day in the past, or null to remove it. ' +
          'Required: if omitted, the result is InvalidInput.',
        extensions: { nullRemoves: true },
      }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, args, { source, caller }) => rescheduleOrder(source.db, args, caller.subject),
  }),
  completeOrder: t.field({
    type: Order,
    description: 'Completes an order. If it is already complete, nothing changes.',
    scope: 'orders:write',
    errors: { types: [OrderNotFound] },
    args: fields.idArguments(),
    resolve: (_root, args, { source, caller }) => completeOrder(source.db, args, caller.subject),
  }),
  cancelOrder: t.field({
    type: CancelledOrderType,
    description: 'Deletes an open order and returns its units to the stock, in one transaction.',
    scope: 'orders:write',
    errors: { types: [OrderNotFound, OrderComplete, StockLimitExceeded] },
    args: fields.idArguments(),
    resolve: (_root, args, { source, caller }) => cancelOrder(source.db, args, caller.subject),
  }),
}));
