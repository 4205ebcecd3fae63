import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { createRepository, createTables, errorOf, filterBy } from '../../src/gateway/index.ts';
import type { Filters } from '../../src/gateway/list/filter.ts';
import type { Field } from '../../src/gateway/model/stored-table.ts';
import { petStore } from '../../src/store/index.ts';
import { makeFolder } from '../support/folders.ts';
import { startGateway } from '../support/gateway.ts';
import { builderOf, modelOf } from '../support/models.ts';

const Thing = modelOf('Thing', 'things', [
  { name: 'word', type: 'String', isNullable: true },
  { name: 'at', type: 'DateTime', isNullable: false },
  { name: 'size', type: 'Size', isNullable: false },
]);
const LONG = modelOf('Thing', 'things', [{ name: 'word', type: 'String', isNullable: true }]);
const ThingBroken = errorOf('THING_BROKEN', 409, 'The thing is broken.', () => ({
  message: 'The thing is broken.',
}));
const sorts: Readonly<Record<string, string>> = { id: 'Order by id.' };

interface Parts {
  model?: typeof Thing;
  sorts?: typeof sorts;
  filters?: (fields: Record<'word' | 'at' | 'size', Field<never>>) => Filters;
  errors?: (typeof ThingBroken)[];
  /** Options in addition to those that a field, an argument and a mutation need. */
  field?: object;
  argument?: object;
  mutation?: object;
  /** The values of the enum `Size` of GraphQL; those of the model are small and large. */
  sizes?: readonly string[];
  /** The column of a list of related rows. */
  listBy?: string;
}

/** Creates a store with one type; some of its parts may be wrong. */
function createStore(parts: Parts) {
  const { model = Thing, errors = [ThingBroken], filters } = parts;
  const store = builderOf({ Thing: model });
  const enums = { Size: { type: 'thing_size', values: ['small', 'large'] } };
  const table = createTables<{ Thing: { Shape: { id: bigint } } }>(
    { Thing: model },
    enums,
  )('Thing');
  const things = createRepository(table, {
    inputs: {},
    filters: (fields) => filters?.(fields as never) ?? {},
    sorts: parts.sorts ?? sorts,
    errors,
  });
  const Type = store.builder.objectRef<{ id: bigint }>('Thing').implement({
    fields: (t) => ({ id: t.exposeID('id', { nullable: false, ...parts.field }) }),
  });
  if (parts.sizes) store.builder.enumType('Size', { values: parts.sizes });
  const fields = store.fieldsOf(Type, things);
  if (parts.listBy) fields.listBy(things, parts.listBy as 'id', 'The things.');
  store.builder.queryField('things', (t) => t.connection(...fields.list));
  store.builder.mutationField('breakThing', (t) =>
    t.boolean({
      description: 'Breaks a thing.',
      scope: 'any',
      errors: { types: [ThingBroken], directResult: false },
      args: { word: t.arg.string({ description: 'A word.', ...parts.argument }) },
      resolve: () => {
        throw new ThingBroken();
      },
      ...parts.mutation,
    }),
  );
  return { ...petStore, ...store.createSchema() };
}

const changes = { only: 'that match', changes: true };
const cannotCheck =
  'The filter wanted of things must not set `changes`: it cannot be checked for recorded rows.';
const noPlugin = 'has the option validate, which nothing reads.';
const plugin = { validate: true };

it.each<[string, Parts, string]>([
  [
    'a mutation without a scope',
    { mutation: { scope: undefined } },
    'Mutation.breakThing needs the option scope.',
  ],
  [
    'a mutation without errors',
    { mutation: { errors: undefined } },
    'Mutation.breakThing needs the option errors.',
  ],
  [
    'an error that is in no repository',
    { errors: [] },
    'Mutation.breakThing returns ThingBroken, which must be in the `errors` of a repository.',
  ],
  ['an option of a plugin on a field', { field: plugin }, `Thing.id ${noPlugin}`],
  [
    'an option of a plugin on an argument',
    { argument: plugin },
    `Mutation.breakThing(word:) ${noPlugin}`,
  ],
  [
    'words in changes',
    { filters: ({ word }) => ({ wanted: filterBy.words(word, changes) }) },
    cannotCheck,
  ],
  [
    'changes by a time',
    { filters: ({ at }) => ({ wanted: filterBy.oneOf(at, changes) }) },
    cannotCheck,
  ],
  [
    'words in an enum',
    { filters: ({ size }) => ({ wanted: filterBy.words(size, { only: 'whose size' }) }) },
    'things.size has no words.',
  ],
  [
    'an enum without one of the values of its column',
    { sizes: ['small'] },
    'The enum Size has the values small, but schema.prisma has small, large.',
  ],
  ['no sort', { sorts: {} }, 'A list of things needs a sort.'],
  [
    'a sort by a string that is too long for an index',
    {
      model: {
        ...LONG,
        columns: { ...LONG.columns, word: { ...LONG.columns.word, maxLength: 256 } },
      } as typeof LONG,
      sorts: { word: 'Order by word.' },
    },
    'A list of things cannot be sorted by word: its column must be @db.VarChar(255) or shorter.',
  ],
  [
    'a list by a column that does not refer to rows',
    { listBy: 'word' },
    'Thing.word does not refer to other rows.',
  ],
])('a store does not start, and says why: %s', (_what, parts, sentence) => {
  expect(() => createStore(parts)).toThrow(new Error(sentence));
});

it('an error that a mutation does not list is logged, and names the mutation', async () => {
  const store = createStore({ mutation: { errors: { types: [], directResult: false } } });
  const gateway = await startGateway({}, undefined, {}, store);
  const { errors } = await gateway.graphql('mutation { breakThing { __typename } }');
  expect(errors).toMatchObject([
    { message: 'The thing is broken.', extensions: { code: 'THING_BROKEN', status: 409 } },
  ]);
  expect(gateway.loggedErrors.splice(0)).toMatchObject([
    { err: { message: 'Mutation.breakThing must list ThingBroken in errors.types.' } },
  ]);
  await gateway.close();
});

/** Returns what `prisma generate` prints for these models, and the tables that it writes. */
function generate(models: string): { stderr: string; tables: string } {
  const folder = makeFolder();
  const schema = join(folder, 'schema.prisma');
  writeFileSync(
    schema,
    `generator tables {
      provider = "node prisma/tables.js"
      output = "tables.ts"
    }
    datasource db {
      provider = "postgresql"
    }
    ${models}`,
  );
  const { stderr } = spawnSync('npx', ['prisma', 'generate', '--schema', schema], {
    encoding: 'utf8',
  });
  const file = join(folder, 'tables.ts');
  return { stderr, tables: existsSync(file) ? readFileSync(file, 'utf8') : '' };
}

it("a relation without onDelete has Prisma's default for it", () => {
  const { tables } = generate(`
    model Parent {
      id BigInt @id
      required Required[]
      optional Optional[]
    }
    model Required {
      id BigInt @id
      parentId BigInt
      parent Parent @relation(fields: [parentId], references: [id])
    }
    model Optional {
      id BigInt @id
      parentId BigInt?
      parent Parent? @relation(fields: [parentId], references: [id])
    }`);
  expect(tables.replaceAll(/\s+/g, ' ')).toContain('"usedBy": [ "Required" ]');
  expect(tables.match(/"onDelete": "[^"]+"/g)).toEqual([
    '"onDelete": "RESTRICT"',
    '"onDelete": "SET NULL"',
  ]);
});

it('`prisma generate` names each column that the gateway does not support', () => {
  const unsupported = [
    'Decimal',
    'Json',
    'String[]',
    'String @db.Char(3)',
    'Int @db.SmallInt',
    'DateTime',
    'DateTime @db.Timestamptz(6)',
    'DateTime @default("2027-01-01T00:00:00Z") @db.Date',
  ].map((type, index) => `wrong${index} ${type}`);
  const supported = [
    'BigInt',
    'Int',
    'Boolean',
    'String @db.VarChar(255)',
    'DateTime? @db.Date',
    'DateTime @default(now()) @db.Timestamptz(3)',
  ].map((type, index) => `right${index} ${type}`);
  const { stderr } = generate(`model Thing {
    id Int @id
    ${[...unsupported, ...supported].join('\n')}
  }`);
  const names = ['id', ...unsupported.map((column) => column.split(' ')[0])];
  expect(stderr).toContain(
    `The gateway does not support these columns: ${names.map((name) => `Thing.${name}`).join(', ')}.`,
  );
});

it.each([
  ['BookTag', 'tags Tag[]\n}\nmodel Tag {\n  id BigInt @id\n  books Book[]'],
  ['BookBook', 'sequels Book[] @relation("order")\n prequels Book[] @relation("order")'],
])('`prisma generate` rejects a many-to-many relation, and advises to add %s', (name, fields) => {
  const { stderr } = generate(`model Book {\n  id BigInt @id\n  ${fields}\n}`);
  expect(stderr).toContain('does not support many-to-many relations without a model: Book.');
  expect(stderr).toContain(`Add a model with a relation to each, such as ${name}.`);
});
