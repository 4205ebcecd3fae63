import { describe, expect, it } from 'vitest';

import {
  createRepository,
  createTables,
  errorOf,
  filterBy,
  groupBy,
  listOf,
  relatedRow,
} from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';
import { startGateway } from '../support/gateway.ts';
import { builderOf, modelOf } from '../support/models.ts';

interface Thing {
  id: bigint;
  word: string | null;
  at: Date;
  size: string;
  copies: number;
  ownerId: bigint;
}

interface Models {
  Thing: { Shape: Thing };
  Owner: { Shape: { id: bigint; isKnown: boolean } };
}

const ENUMS = { Size: { type: 'thing_size', values: ['small', 'large'] } };
const Owner = modelOf('Owner', 'owners', [{ name: 'isKnown', type: 'Boolean', isNullable: false }]);
const Things = {
  ...modelOf('Thing', 'things', [
    { name: 'word', type: 'String', isNullable: true },
    { name: 'at', type: 'DateTime', isNullable: false },
    { name: 'size', type: 'Size', isNullable: false },
    { name: 'copies', type: 'Int', isNullable: false },
    { name: 'ownerId', type: 'BigInt', isNullable: false, isReference: true },
  ]),
  foreignKeys: [{ columns: ['owner_id'], parent: 'owners', onDelete: 'NO ACTION' }],
};
const { fields: own } = createTables<Models>({ Thing: Things, Owner }, ENUMS)('Thing');
const owned = createRepository(createTables<Pick<Models, 'Owner'>>({ Owner }, {})('Owner'), {
  inputs: {},
  filters: () => ({}),
  sorts: { id: 'Order by id.' },
});
const ThingBroken = errorOf('THING_BROKEN', 409, 'The thing is broken.', () => ({
  message: 'The thing is broken.',
}));

type Define = (builder: ReturnType<typeof builderOf>['builder']) => unknown;

interface Parts {
  model?: typeof Things;
  /** Options of the repository, which replace the usual ones. */
  rows?: object;
  /** Options of a field, an argument, a query and a mutation, in addition to those that they need. */
  field?: object;
  argument?: object;
  query?: object;
  mutation?: object;
  /** The values of the enum `Size` of GraphQL. */
  sizes?: readonly string[];
  /** The column by which the owner of a thing is read. */
  owner?: string;
  /** The column of a list of related rows. */
  listBy?: string;
  /** Whether a query returns the list of things. */
  isListed?: boolean;
  define?: Define;
}

/** Creates a store with two types; some of its parts may be wrong. */
function createStore({ model = Things, sizes = ENUMS.Size.values, ...parts }: Parts) {
  const store = builderOf({ Thing: model, Owner });
  const { builder } = store;
  const things = createRepository(createTables<Models>({ Thing: model, Owner }, ENUMS)('Thing'), {
    inputs: {},
    filters: () => ({}),
    sorts: { id: 'Order by id.' },
    errors: [ThingBroken],
    ...parts.rows,
  });
  builder.enumType('Size', { values: sizes });
  const OwnerType = builder
    .objectRef<{ id: bigint }>('Owner')
    .implement({ fields: (t) => ({ id: t.exposeID('id', { nullable: false }) }) });
  const Type = builder.objectRef<Thing>('Thing').implement({
    fields: (t) => ({
      id: t.exposeID('id', { nullable: false, ...parts.field }),
      owner: t.field({
        type: OwnerType,
        description: 'The owner.',
        ...relatedRow(owned.required, (parts.owner ?? 'ownerId') as 'ownerId'),
      }),
    }),
  });
  const ofOwners = store.fieldsOf(OwnerType, owned);
  const fields = store.fieldsOf(Type, things);
  if (parts.listBy) fields.listBy(things, parts.listBy as 'id', 'The things.');
  builder.queryFields((t) => ({
    owners: t.connection(...ofOwners.list),
    ...(parts.isListed !== false && { things: t.connection(...fields.list) }),
    isThere: t.boolean({ description: 'Whether it is.', resolve: () => true, ...parts.query }),
  }));
  builder.mutationField('breakThing', (t) =>
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
  parts.define?.(builder);
  return { ...petStore, ...store.createSchema() };
}

async function* tick() {
  yield 1;
}

const withColumn = (name: string, more: object) =>
  ({
    ...Things,
    columns: { ...Things.columns, [name]: { ...Things.columns[name], ...more } },
  }) as typeof Things;
const withFilter = (wanted: unknown): Parts => ({ rows: { filters: () => ({ wanted }) } });
const withGroups = (by: object): Parts => ({ rows: { groups: () => ({ by, sum: [own.copies] }) } });
const ofOwner = { table: owned, by: 'owner_id' };
const known = owned.fields.isKnown;
const only = 'that match';
const withMinimum = ({ copies }: typeof own) => ({ wanted: filterBy.min(copies, { only }) });
const cannotCheck =
  'The filter wanted of things must not set `changes`: it cannot be checked for recorded rows.';
const noIndex =
  'A list of things needs an index that starts with things.copies. Add `@@index([copies, id])` to its model in ' +
  'schema.prisma, and a CREATE INDEX to a migration.';
const noPlugin = 'has the option validate, which nothing reads.';
const plugin = { validate: true };

describe('a store does not start, and says why', () => {
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
      'a misspelt scope',
      { mutation: { scope: 'ayn' } },
      "Mutation.breakThing has the scope ayn, which is not in the builder's `scopes`: any.",
    ],
    [
      'a misspelt scope of a field',
      { field: { extensions: { scope: 'raed' } } },
      "Thing.id has the scope raed, which is not in the builder's `scopes`: any.",
    ],
    [
      'a scope of a field of Query',
      { query: { scope: 'any' } },
      'Query.isThere must not have the option scope, which only mutations have: set extensions.scope.',
    ],
    [
      'an error that is in no repository',
      { rows: { errors: [] } },
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
      withFilter(filterBy.words(own.word, { only, changes: true })),
      cannotCheck,
    ],
    ['changes by a time', withFilter(filterBy.oneOf(own.at, { only, changes: true })), cannotCheck],
    [
      'a filter by a related row that is read by a column that does not refer to it',
      withFilter(filterBy.related({ ...ofOwner, by: 'copies' }, filterBy.value(known, { only }))),
      'The filter wanted of things reads owners by copies, which does not refer to it.',
    ],
    [
      'a filter by a column of another table',
      withFilter(filterBy.value(known, { only })),
      "The filter wanted of things can't use owners.is_known: it must be a column of things.",
    ],
    ['groups without keys', withGroups({}), 'Groups of things need a key.'],
    [
      'groups by the column of a row to which its column does not refer',
      withGroups({ isKnown: groupBy.related({ ...ofOwner, by: 'copies' }, known) }),
      "Groups of things can't use owners.is_known: it must be a column of owners, to which each copies must refer.",
    ],
    [
      'groups by the column of a row that need not exist',
      {
        ...withGroups({ isKnown: groupBy.related(ofOwner, known) }),
        model: withColumn('ownerId', { isNullable: true }),
      },
      "Groups of things can't use owners.is_known: it must be a column of owners, to which each owner_id must refer.",
    ],
    [
      'groups by a column of another table',
      withGroups({ isKnown: groupBy.value(known) }),
      "Groups of things can't use owners.is_known: it must be a column of things.",
    ],
    [
      'groups with an id whose name is that of the object',
      withGroups({ owner: groupBy.value(own.ownerId) }),
      'Groups of things have two values named OWNER: rename a key; that of an id must end with Id.',
    ],
    [
      'groups with a key that is named like a sum',
      withGroups({ copies: groupBy.value(own.size) }),
      'Groups of things have two values named COPIES: rename a key; that of an id must end with Id.',
    ],
    [
      'an enum without one of the values of its column',
      { sizes: ['small'] },
      'The enum Size has the values small, but schema.prisma has small, large.',
    ],
    ['no sort', { rows: { sorts: {} } }, 'A list of things needs a sort.'],
    [
      'a sort by a string that is too long for an index',
      {
        model: withColumn('word', { maxLength: 256 }),
        rows: { sorts: { word: 'Order by word.' } },
      },
      'A list of things cannot be sorted by word: its column must be @db.VarChar(255) or shorter.',
    ],
    [
      'a sort without an index',
      {
        model: withColumn('copies', { isIndexed: false }),
        rows: { sorts: { copies: 'Order by copies.' } },
      },
      noIndex,
    ],
    [
      'a filter without an index',
      {
        model: withColumn('copies', { isIndexed: false }),
        rows: {
          filters: ({ copies }: typeof own) => ({ wanted: filterBy.value(copies, { only }) }),
        },
      },
      noIndex,
    ],
    [
      'a filter by a minimum without an index',
      {
        model: withColumn('copies', { isIndexed: false }),
        rows: { filters: withMinimum },
      },
      noIndex,
    ],
    [
      'a list by a column that does not refer to rows',
      { listBy: 'word' },
      'Thing.word does not refer to other rows.',
    ],
    [
      'a related row that is read by a column that does not refer to it',
      { owner: 'id' },
      'Thing.owner is read by id, which does not refer to owners.',
    ],
    [
      'a type whose list no field returns',
      { isListed: false },
      'No field returns ThingConnection. If it is the list of a type, add t.connection(...fields.list) to Query.',
    ],
    [
      'a subscription to something other than changes',
      {
        define: (builder) =>
          builder.subscriptionField('tick', (t) =>
            t.int({
              description: 'Ticks.',
              subscribe: tick,
              resolve: Number,
            }),
          ),
      },
      "Subscription.tick can't be served: subscriptions follow the change log, and each type has one of its own.",
    ],
    [
      'a name that GraphQL reserves',
      {
        define: (builder) =>
          builder.queryField('__size', (t) => t.int({ description: 'A size.', resolve: () => 1 })),
      },
      'Name "__size" must not begin with "__", which is reserved by GraphQL introspection.',
    ],
    [
      'the error of another table for an unknown id',
      { rows: { inputs: { copies: { missing: owned.notFound } } } },
      'Thing.copies has the error of Owner as `missing`, but does not refer to owners.',
    ],
    [
      'a string without a maximum length',
      {
        define: (builder) =>
          builder.queryField('motto', (t) =>
            t.string({ description: 'A motto.', resolve: () => '' }),
          ),
      },
      'Query.motto needs a column with a length, such as @db.VarChar(255), or extensions.maxBytes.',
    ],
  ])('%s', (_what, parts, sentence) => {
    expect(() => createStore(parts)).toThrow(new Error(sentence));
  });

  it.each([
    ['words in an enum', () => filterBy.words(own.size, { only }), 'things.size has no words.'],
    [
      'a filter by a related row whose table also has the referring column',
      () => filterBy.related({ ...ofOwner, by: 'is_known' }, filterBy.value(known, { only })),
      'owners has a column of this name, too',
    ],
    [
      'groups by a string',
      () => groupBy.value(own.word),
      'groupBy.value needs an enum, a boolean or a foreign key, unlike things.word.',
    ],
  ])('%s', (_what, create, sentence) => {
    expect(create).toThrow(sentence);
  });
});

it('a filter by a minimum can use the index of the sort by its column', () => {
  const model = withColumn('copies', { isIndexed: false, isNullable: true });
  const sorts = { copies: 'Order by copies.' };
  expect(() => createStore({ model, rows: { filters: withMinimum, sorts } })).not.toThrow();
});

/** Defines a page, and fields of Query that return it and name the sizes of these lists. */
const definePage =
  (...sizedFields: string[][]): Define =>
  (builder) => {
    const Page = builder.objectRef<object>('Page').implement({
      fields: (t) => ({ nodes: t.intList({ description: 'Numbers.', resolve: () => [] }) }),
    });
    for (const [index, sized] of sizedFields.entries()) {
      const { directives } = listOf(100);
      const listSize = { ...directives.listSize, sizedFields: sized };
      builder.queryField(`page${index}`, (t) =>
        t.field({
          type: Page,
          description: 'A page.',
          resolve: () => ({}),
          ...(sized.length > 0 && { extensions: { directives: { listSize } } }),
        }),
      );
    }
  };

describe('a list without a maximum size', () => {
  it.each<[string, Define, string]>([
    ['in an object', definePage([]), 'Page.nodes'],
    [
      'if not every field that returns its type has its size',
      definePage(['nodes'], []),
      'Page.nodes',
    ],
    [
      'in an interface',
      (builder) => {
        const Sized = builder.interfaceRef<object>('Sized').implement({
          fields: (t) => ({ words: t.intList({ description: 'Words.', resolve: () => [] }) }),
        });
        builder.objectRef<object>('Text').implement({ interfaces: [Sized] });
        builder.queryField('sized', (t) =>
          t.field({ type: Sized, description: 'A text.', resolve: () => ({}) }),
        );
      },
      'Sized.words',
    ],
    [
      'whose size is replaced by a cost',
      (builder) =>
        builder.queryField('counts', (t) =>
          t.intList({
            description: 'Numbers.',
            extensions: { ...listOf(100), directives: { cost: { weight: '9' } } },
            resolve: () => [],
          }),
        ),
      'Query.counts',
    ],
  ])('prevents its store from starting: %s', (_what, define, place) => {
    expect(() => createStore({ define })).toThrow(
      `${place} needs the maximum size of its list: extensions: listOf(100), for example, or ` +
        'extensions: { directives: { ...listOf(100).directives, cost } } with a cost.',
    );
  });

  it('has the size that every field that returns its type names', () => {
    expect(() => createStore({ define: definePage(['nodes'], ['nodes']) })).not.toThrow();
  });
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
