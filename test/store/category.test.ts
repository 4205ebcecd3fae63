import { describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makeCategory, makePet, mutate, nodeIdOf } from '../support/make.ts';

const CATEGORY = '... on Category { id name description }';

const create = (input: Record<string, unknown>) =>
  mutate(
    gateway,
    'createCategory',
    { input },
    `${CATEGORY} ... on InvalidInput { issues { path } }`,
  );
const update = (id: string, input: Record<string, unknown>) =>
  mutate(gateway, 'updateCategory', { id, input }, CATEGORY);
const remove = (id: string) =>
  mutate(gateway, 'deleteCategory', { id }, '... on DeletedCategory { id nodeId }');
const find = async (id: string) =>
  (await gateway.data('query ($id: ID!) { category(id: $id) { id name description } }', { id }))
    .category;

useGateway();
describe('creating a category', () => {
  it('returns the category, and a query finds it', async () => {
    const input = { name: 'Fish', description: 'For a tank.' };
    const created = await create(input);
    expect(created).toMatchObject(input);
    expect(await find(created.id)).toEqual(created);
  });

  it.each(['  Zoë’s 🐈 % _ \\ \' " \n\t ', '🐈'.repeat(255)])(
    'accepts this name, and returns it unchanged: $0',
    async (name) => {
      expect(await create({ name })).toMatchObject({ name, description: null });
    },
  );

  it.each([
    ['an empty name', { name: '' }, 'name'],
    ['a name that consists of white space', { name: ' \t\u00A0' }, 'name'],
    ['a name of 256 characters', { name: '🐈'.repeat(256) }, 'name'],
    ['a name that contains NUL', { name: 'a\0b' }, 'name'],
    ['a name that contains half a surrogate pair', { name: 'a\uD83D' }, 'name'],
    [
      'a description of 2001 characters',
      { name: 'a', description: 'x'.repeat(2001) },
      'description',
    ],
    ['a description with NUL', { name: 'a', description: '\0' }, 'description'],
  ])('rejects %s', async (_what, input, field) => {
    const issues = [{ path: ['input', field] }];
    expect(await create(input)).toEqual({ code: 'INVALID_INPUT', issues });
  });
});

describe('updating a category', () => {
  it('keeps fields that are not given, and removes a description that is set to null', async () => {
    const { id } = await create({ name: 'Frogs', description: 'Green.' });
    const renamed = { id, name: 'Toads', description: 'Green.' };
    expect(await update(id, { name: 'Toads' })).toEqual(renamed);
    const bare = { ...renamed, description: null };
    expect(await update(id, { description: null })).toEqual(bare);
    expect(await update(id, {})).toEqual(bare);
  });

  it('rejects null for the name', async () => {
    const id = await makeCategory(gateway);
    expect(await update(id, { name: null })).toEqual({ code: 'INVALID_INPUT' });
  });
});

describe('deleting a category', () => {
  it('deletes a category without pets', async () => {
    const id = await makeCategory(gateway, 'Gone');
    expect(await remove(id)).toEqual({ id, nodeId: nodeIdOf('Category', id) });
    expect(await remove(id)).toEqual({ code: 'CATEGORY_NOT_FOUND' });
  });

  it('returns CATEGORY_IN_USE for a category with pets, and deletes nothing', async () => {
    const id = await makeCategory(gateway);
    await makePet(gateway, { categoryId: id });
    expect(await remove(id)).toEqual({ code: 'CATEGORY_IN_USE' });
    expect(await find(id)).toMatchObject({ id });
  });
});
