import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';

let gateway: Gateway;

const CREATE = `mutation ($input: NewCategory!) {
  createCategory(input: $input) {
    ... on Category { id name description }
    ... on InvalidInput { issues { path message } }
    ... on Error { code status }
  }
}`;

const UPDATE = `mutation ($id: ID!, $input: CategoryUpdate!) {
  updateCategory(id: $id, input: $input) {
    ... on Category { id name description }
    ... on Error { code status }
  }
}`;

const DELETE = `mutation ($id: ID!) {
  deleteCategory(id: $id) { ... on Category { id name } ... on Error { code status } }
}`;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('creating a category', () => {
    it('returns the category, and a query finds it', async () => {
      const input = { name: 'Fish', description: 'For a tank.' };
      const { createCategory } = await gateway.data(CREATE, { input });
      expect(createCategory).toMatchObject(input);
      const { category } = await gateway.data(
        'query ($id: ID!) { category(id: $id) { id name description } }',
        { id: createCategory.id },
      );
      expect(category).toEqual(createCategory);
    });

    it('returns null for a description that is not given', async () => {
      const { createCategory } = await gateway.data(CREATE, { input: { name: 'Plain' } });
      expect(createCategory.description).toBeNull();
    });

    it('stores the name exactly as given', async () => {
      const name = '  Zoë’s 🐈 % _ \\ \' " \n\t ';
      const { createCategory } = await gateway.data(CREATE, { input: { name } });
      expect(createCategory.name).toBe(name);
    });

    it.each([
      ['an empty name', { name: '' }, 'name'],
      ['a name of white space', { name: ' \t\u00A0' }, 'name'],
      ['a name of 256 characters', { name: '🐈'.repeat(256) }, 'name'],
      ['a name with NUL', { name: 'a\0b' }, 'name'],
      ['a name with half a surrogate pair', { name: 'a\uD83D' }, 'name'],
      [
        'a description of 2001 characters',
        { name: 'a', description: 'x'.repeat(2001) },
        'description',
      ],
      ['a description with NUL', { name: 'a', description: '\0' }, 'description'],
    ])('rejects %s', async (_what, input, field) => {
      const { createCategory } = await gateway.data(CREATE, { input });
      expect(createCategory).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
      expect(createCategory.issues[0].path).toEqual(['input', field]);
    });

    it('accepts a name of 255 characters of any kind', async () => {
      const name = '🐈'.repeat(255);
      const { createCategory } = await gateway.data(CREATE, { input: { name } });
      expect(createCategory.name).toBe(name);
    });
  });

  describe('updating a category', () => {
    it('does not change fields that are not given, and removes a description with null', async () => {
      const input = { name: 'Frogs', description: 'Green.' };
      const { createCategory } = await gateway.data(CREATE, { input });
      const { id } = createCategory;
      const renamed = await gateway.data(UPDATE, { id, input: { name: 'Toads' } });
      expect(renamed.updateCategory).toEqual({ id, name: 'Toads', description: 'Green.' });
      const bare = await gateway.data(UPDATE, { id, input: { description: null } });
      expect(bare.updateCategory).toEqual({ id, name: 'Toads', description: null });
      const same = await gateway.data(UPDATE, { id, input: {} });
      expect(same.updateCategory).toEqual({ id, name: 'Toads', description: null });
    });

    it('returns CATEGORY_NOT_FOUND if it does not exist', async () => {
      const { updateCategory } = await gateway.data(UPDATE, { id: '999999', input: { name: 'x' } });
      expect(updateCategory).toEqual({ code: 'CATEGORY_NOT_FOUND', status: 404 });
    });

    it('rejects null for the name', async () => {
      const id = await makeCategory(gateway);
      const { updateCategory } = await gateway.data(UPDATE, { id, input: { name: null } });
      expect(updateCategory).toEqual({ code: 'INVALID_INPUT', status: 400 });
    });
  });

  describe('deleting a category', () => {
    it('removes a category without pets', async () => {
      const id = await makeCategory(gateway, 'Gone');
      const { deleteCategory } = await gateway.data(DELETE, { id });
      expect(deleteCategory).toEqual({ id, name: 'Gone' });
      const again = await gateway.data(DELETE, { id });
      expect(again.deleteCategory).toEqual({ code: 'CATEGORY_NOT_FOUND', status: 404 });
    });

    it('returns CATEGORY_IN_USE for a category with pets, and removes nothing', async () => {
      const id = await makeCategory(gateway);
      await makePet(gateway, { categoryId: id });
      const { deleteCategory } = await gateway.data(DELETE, { id });
      expect(deleteCategory).toEqual({ code: 'CATEGORY_IN_USE', status: 409 });
      const { category } = await gateway.data('query ($id: ID!) { category(id: $id) { id } }', {
        id,
      });
      expect(category).toEqual({ id });
    });
  });
});
