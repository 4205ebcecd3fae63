import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';

let gateway: Gateway;

const INVALID_INPUT = '... on InvalidInput { issues { path } }';
const PET = `... on Pet { id name categoryId status }
  ${INVALID_INPUT} ... on InvalidId { issues { path } }
  ... on Error { code }`;

const create = async (input: Record<string, unknown>) =>
  (
    await gateway.data(`mutation ($input: NewPet!) { createPet(input: $input) { ${PET} } }`, {
      input,
    })
  ).createPet;

const update = async (id: string, input: Record<string, unknown>) =>
  (
    await gateway.data(
      `mutation ($id: ID!, $input: PetUpdate!) { updatePet(id: $id, input: $input) { ${PET} } }`,
      { id, input },
    )
  ).updatePet;

const remove = async (id: string) =>
  (
    await gateway.data(
      `mutation ($id: ID!) { deletePet(id: $id) { ${PET.replace(INVALID_INPUT, '')} } }`,
      { id },
    )
  ).deletePet;

const find = (id: string) =>
  gateway.graphql('query ($id: ID!) { pet(id: $id) { id name category { id } } }', { id });

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('creating a pet', () => {
    it('returns the pet, AVAILABLE by default', async () => {
      const categoryId = await makeCategory(gateway);
      expect(await create({ name: 'Milo', categoryId })).toMatchObject({
        name: 'Milo',
        categoryId,
        status: 'AVAILABLE',
      });
      expect(await create({ name: 'Milo', categoryId, status: 'SOLD' })).toMatchObject({
        status: 'SOLD',
      });
    });

    it('returns CATEGORY_NOT_FOUND if its category does not exist', async () => {
      expect(await create({ name: 'Milo', categoryId: '999999' })).toEqual({
        code: 'CATEGORY_NOT_FOUND',
      });
    });

    it('creates its inventory entry if a quantity is given', async () => {
      const categoryId = await makeCategory(gateway);
      const entryOf = async (quantity?: number | null) => {
        const { id } = await create({ name: 'Milo', categoryId, quantity });
        const { inventoryItem } = await gateway.data(
          'query ($id: ID!) { inventoryItem(petId: $id) { petId quantity } }',
          { id },
        );
        return inventoryItem && { ...inventoryItem, isOfPet: inventoryItem.petId === id };
      };
      expect(await entryOf(7)).toMatchObject({ quantity: 7, isOfPet: true });
      expect(await entryOf(0)).toMatchObject({ quantity: 0, isOfPet: true });
      expect(await entryOf(2_147_483_647)).toMatchObject({ quantity: 2_147_483_647 });
      expect(await entryOf()).toBeNull();
      expect(await entryOf(null)).toBeNull();
    });

    it('rejects a negative quantity, and creates no pet', async () => {
      const categoryId = await makeCategory(gateway);
      expect(await create({ name: 'Milo', categoryId, quantity: -1 })).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input', 'quantity'] }],
      });
      const { category } = await gateway.data(
        'query ($id: ID!) { category(id: $id) { pets { totalCount } } }',
        { id: categoryId },
      );
      expect(category.pets.totalCount).toBe(0);
    });

    it('returns CATEGORY_NOT_FOUND for a pet with a quantity too', async () => {
      expect(await create({ name: 'Milo', categoryId: '999999', quantity: 1 })).toEqual({
        code: 'CATEGORY_NOT_FOUND',
      });
    });

    it.each(['', ' ', '\u3000', 'x'.repeat(256), 'a\0', '\uDC00'])(
      'rejects the name %j',
      async (name) => {
        const categoryId = await makeCategory(gateway);
        expect(await create({ name, categoryId })).toMatchObject({
          code: 'INVALID_INPUT',
          issues: [{ path: ['input', 'name'] }],
        });
      },
    );
  });

  describe('updating a pet', () => {
    it('does not change fields that are not given', async () => {
      const id = await makePet(gateway, { name: 'Milo' });
      const categoryId = await makeCategory(gateway, 'Others');
      expect(await update(id, { categoryId })).toMatchObject({ name: 'Milo', categoryId });
      expect(await update(id, { name: 'Otis' })).toMatchObject({ name: 'Otis', categoryId });
      expect(await update(id, {})).toMatchObject({ name: 'Otis', categoryId, status: 'AVAILABLE' });
    });

    it('sets any status after any other', async () => {
      const id = await makePet(gateway);
      for (const status of [
        'SOLD',
        'AVAILABLE',
        'PENDING',
        'SOLD',
        'PENDING',
        'AVAILABLE',
        'AVAILABLE',
      ]) {
        expect(await update(id, { status })).toMatchObject({ status });
      }
    });

    it('returns PET_NOT_FOUND or CATEGORY_NOT_FOUND for an unknown id', async () => {
      const id = await makePet(gateway);
      expect(await update('999999', {})).toEqual({ code: 'PET_NOT_FOUND' });
      expect(await update(id, { categoryId: '999999' })).toEqual({
        code: 'CATEGORY_NOT_FOUND',
      });
    });

    it.each(['name', 'categoryId', 'status'])('rejects null for the %s', async (field) => {
      const id = await makePet(gateway);
      expect(await update(id, { [field]: null })).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input', field] }],
      });
    });
  });

  describe('deleting a pet', () => {
    it('removes it and its inventory entry', async () => {
      const id = await makePet(gateway, { stock: 3 });
      expect(await remove(id)).toMatchObject({ id });
      expect(await remove(id)).toEqual({ code: 'PET_NOT_FOUND' });
      const { inventoryItem } = await gateway.data(
        'query ($id: ID!) { inventoryItem(petId: $id) { quantity } }',
        { id },
      );
      expect(inventoryItem).toBeNull();
    });

    it('returns PET_IN_USE for a pet with orders, and removes nothing', async () => {
      const id = await makePet(gateway, { stock: 3 });
      await makeOrder(gateway, id);
      expect(await remove(id)).toEqual({ code: 'PET_IN_USE' });
      const { pet } = await gateway.data(
        'query ($id: ID!) { pet(id: $id) { inventory { quantity } orders { totalCount } } }',
        { id },
      );
      expect(pet).toEqual({ inventory: { quantity: 2 }, orders: { totalCount: 1 } });
    });
  });

  describe('the id of a pet', () => {
    const LARGE = '9007199254740993';

    it('is exact beyond 2^53', async () => {
      const categoryId = BigInt(await makeCategory(gateway));
      await gateway.db.prisma.pet.create({
        data: { id: BigInt(LARGE), name: 'Titan', categoryId },
      });
      const { data } = await find(LARGE);
      expect(data.pet).toMatchObject({ id: LARGE, name: 'Titan' });
      expect((await find('9007199254740992')).data.pet).toBeNull();
    });

    it.each(['0', '9223372036854775807', '0000000000000000999'])(
      'may be %s although no pet has it',
      async (id) => {
        expect(await find(id)).toMatchObject({ data: { pet: null }, errors: undefined });
      },
    );

    it.each([
      '',
      'abc',
      '-1',
      '1.5',
      ' 1',
      '1 ',
      '0x1',
      '１',
      '9223372036854775808',
      '1'.repeat(20),
    ])('cannot be %j in a query or a mutation', async (id) => {
      const { data, errors } = await find(id);
      expect(data).toBeUndefined();
      expect(errors).toMatchObject([
        { extensions: { code: 'INVALID_ID', status: 400, issues: [{ path: ['id'] }] } },
      ]);
      const refusal = { code: 'INVALID_ID' };
      expect(await remove(id)).toEqual({ ...refusal, issues: [{ path: ['id'] }] });
      expect(await create({ name: 'Milo', categoryId: id })).toEqual({
        ...refusal,
        issues: [{ path: ['input', 'categoryId'] }],
      });
    });
  });
});
