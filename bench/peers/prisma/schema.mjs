// The part of the gateway's schema that the workloads use, in Pothos with its Prisma plugin.
import SchemaBuilder from '@pothos/core';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import { GraphQLError } from 'graphql';
import { DateTimeResolver } from 'graphql-scalars';

import { prisma } from './client.mjs';
import { getDatamodel } from './generated/pothos.ts';

const builder = new SchemaBuilder({
  plugins: [RelayPlugin, PrismaPlugin],
  relay: { nodesOnConnection: true },
  prisma: {
    client: prisma,
    dmmf: getDatamodel(),
    defaultConnectionSize: 20,
    maxConnectionSize: 100,
  },
});
builder.addScalarType('DateTime', DateTimeResolver);

const PetStatus = builder.enumType('PetStatus', {
  values: {
    AVAILABLE: { value: 'available' },
    PENDING: { value: 'pending' },
    SOLD: { value: 'sold' },
  },
});

const byId = { orderBy: { id: 'asc' } };
/** GraphQL's ID does not accept a bigint. */
const idField = (t) => t.id({ resolve: ({ id }) => String(id) });

const Category = builder.prismaObject('Category', {
  fields: (t) => ({
    id: idField(t),
    name: t.exposeString('name'),
    description: t.exposeString('description', { nullable: true }),
    pets: t.relatedConnection('pets', { cursor: 'id', totalCount: true, query: byId }),
  }),
});

const Pet = builder.prismaObject('Pet', {
  fields: (t) => ({
    id: idField(t),
    name: t.exposeString('name'),
    status: t.expose('status', { type: PetStatus }),
    category: t.relation('category'),
    inventory: t.relation('inventoryItem', { nullable: true }),
    orders: t.relatedConnection('orders', { cursor: 'id', totalCount: true, query: byId }),
  }),
});

builder.prismaObject('InventoryItem', {
  fields: (t) => ({ quantity: t.exposeInt('quantity'), pet: t.relation('pet') }),
});

const Order = builder.prismaObject('Order', {
  fields: (t) => ({
    id: idField(t),
    quantity: t.exposeInt('quantity'),
    shipDate: t.expose('shipDate', { type: 'DateTime', nullable: true }),
    complete: t.exposeBoolean('complete'),
    pet: t.relation('pet'),
  }),
});

const PetFilter = builder.inputType('PetFilter', {
  fields: (t) => ({ status: t.field({ type: [PetStatus] }), categoryId: t.id(), name: t.string() }),
});

const whereOf = ({ status, categoryId, name } = {}) => ({
  status: status && { in: status },
  categoryId: categoryId && BigInt(categoryId),
  name: name && { contains: name, mode: 'insensitive' },
});

builder.queryType({
  fields: (t) => ({
    pet: t.prismaField({
      type: Pet,
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (query, _, { id }) => prisma.pet.findUnique({ ...query, where: { id: BigInt(id) } }),
    }),
    categories: t.prismaConnection({
      type: Category,
      cursor: 'id',
      totalCount: () => prisma.category.count(),
      resolve: (query) => prisma.category.findMany({ ...query, ...byId }),
    }),
    pets: t.prismaConnection({
      type: Pet,
      cursor: 'id',
      args: { filter: t.arg({ type: PetFilter }) },
      totalCount: (_, { filter }) => prisma.pet.count({ where: whereOf(filter ?? {}) }),
      resolve: (query, _, { filter }) =>
        prisma.pet.findMany({ ...query, ...byId, where: whereOf(filter ?? {}) }),
    }),
    orders: t.prismaConnection({
      type: Order,
      cursor: 'id',
      totalCount: () => prisma.order.count(),
      resolve: (query) => prisma.order.findMany({ ...query, ...byId }),
    }),
  }),
});

const NewOrder = builder.inputType('NewOrder', {
  fields: (t) => ({
    petId: t.id({ required: true }),
    quantity: t.int({ required: true }),
    shipDate: t.field({ type: 'DateTime' }),
  }),
});

builder.mutationType({
  fields: (t) => ({
    placeOrder: t.prismaField({
      type: Order,
      args: { input: t.arg({ type: NewOrder, required: true }) },
      resolve: (query, _, { input: { quantity, shipDate, ...input } }) => {
        const petId = BigInt(input.petId);
        if (quantity < 1) throw new GraphQLError('The quantity must be at least 1.');
        return prisma.$transaction(async (tx) => {
          // One statement checks and takes, so two buyers can't both take the last unit.
          const { count } = await tx.inventoryItem.updateMany({
            where: { petId, quantity: { gte: quantity }, pet: { status: 'available' } },
            data: { quantity: { decrement: quantity } },
          });
          if (count === 0) throw new GraphQLError('The pet is not for sale or out of stock.');
          return tx.order.create({ ...query, data: { petId, quantity, shipDate } });
        });
      },
    }),
  }),
});

export const schema = builder.toSchema();
