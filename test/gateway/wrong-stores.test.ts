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
const withSort = (name: string, column: object): Parts => ({
  model: withColumn(name, column),
  rows: { sorts: { [name]: `Order by ${name}.` } },
});
const ofOwner = { table: owned, by: 'owner_id' };
const known = owned.fields.isKnown;
const only = 'that match';
const withMinimum = ({ copies }: typeof own) => ({ wanted: filterBy.min(copies, { only }) });
const filterChanges = { only, changes: true };
const plugin = { validate: true };
const description = 'A description.';

/** Stores with one mistake each, by the sentence that their start says. */
const WRONG: Readonly<Record<string, Parts>> = {
  'Mutation.breakThing needs the option scope.': { mutation: { scope: undefined } },
  'Mutation.breakThing needs the option errors.': { mutation: { errors: undefined } },
  "Mutation.breakThing has the scope ayn, which is not in the builder's `scopes`: any.": {
    mutation: { scope: 'ayn' },
  },
  "Thing.id has the scope raed, which is not in the builder's `scopes`: any.": {
    field: { extensions: { scope: 'raed' } },
  },
  'Query.isThere must not have the option scope, which only mutations have: set extensions.scope.':
    { query: { scope: 'any' } },
  'Mutation.breakThing returns ThingBroken, which must be in the `errors` of a repository.': {
    rows: { errors: [] },
  },
  'Thing.id has the option validate, which nothing reads.': { field: plugin },
  'Mutation.breakThing(word:) has the option validate, which nothing reads.': { argument: plugin },
  'The filter wanted of things must not set `changes`: it cannot be checked for recorded rows.':
    withFilter(filterBy.words(own.word, filterChanges)),
  'The filter timed of things must not set `changes`: it cannot be checked for recorded rows.': {
    rows: { filters: () => ({ timed: filterBy.oneOf(own.at, filterChanges) }) },
  },
  'The filter wanted of things reads owners by copies, which does not refer to it.': withFilter(
    filterBy.related({ ...ofOwner, by: 'copies' }, filterBy.value(known, { only })),
  ),
  "The filter wanted of things can't use owners.is_known: it must be a column of things.":
    withFilter(filterBy.value(known, { only })),
  'Groups of things need a key.': withGroups({}),
  "Groups of things can't use owners.is_known: it must be a column of owners, to which each copies must refer.":
    withGroups({ isKnown: groupBy.related({ ...ofOwner, by: 'copies' }, known) }),
  "Groups of things can't use owners.is_known: it must be a column of owners, to which each owner_id must refer.":
    {
      ...withGroups({ isKnown: groupBy.related(ofOwner, known) }),
      model: withColumn('ownerId', { isNullable: true }),
    },
  "Groups of things can't use owners.is_known: it must be a column of things.": withGroups({
    isKnown: groupBy.value(known),
  }),
  'Groups of things have two values named OWNER: rename a key; that of an id must end with Id.':
    withGroups({ owner: groupBy.value(own.ownerId) }),
  'Groups of things have two values named COPIES: rename a key; that of an id must end with Id.':
    withGroups({ copies: groupBy.value(own.size) }),
  'The enum Size has the values small, but schema.prisma has small, large.': { sizes: ['small'] },
  'A list of things needs a sort.': { rows: { sorts: {} } },
  'A list of things cannot be sorted by word: its column must be @db.VarChar(255) or shorter.':
    withSort('word', { maxLength: 256 }),
  'A list of things needs an index that starts with things.copies. Add `@@index([copies, id])` to its model in schema.prisma, and a CREATE INDEX to a migration.':
    withSort('copies', { isIndexed: false }),
  'A list of things needs an index that starts with things.size. Add `@@index([size, id])` to its model in schema.prisma, and a CREATE INDEX to a migration.':
    {
      rows: { filters: ({ size }: typeof own) => ({ wanted: filterBy.value(size, { only }) }) },
      model: withColumn('size', { isIndexed: false }),
    },
  'Thing.word does not refer to other rows.': { listBy: 'word' },
  'Thing.owner is read by id, which does not refer to owners.': { owner: 'id' },
  'No field returns ThingConnection. If it is the list of a type, add t.connection(...fields.list) to Query.':
    { isListed: false },
  "Subscription.tick can't be served: subscriptions follow the change log, and each type has one of its own.":
    {
      define: (builder) =>
        builder.subscriptionField('tick', (t) =>
          t.int({ description, subscribe: tick, resolve: Number }),
        ),
    },
  'Name "__size" must not begin with "__", which is reserved by GraphQL introspection.': {
    define: (builder) =>
      builder.queryField('__size', (t) => t.int({ description, resolve: () => 1 })),
  },
  'Thing.copies has the error of Owner as `missing`, but does not refer to owners.': {
    rows: { inputs: { copies: { missing: owned.notFound } } },
  },
  'Query.motto needs a column with a length, such as @db.VarChar(255), or extensions.maxBytes.': {
    define: (builder) =>
      builder.queryField('motto', (t) => t.string({ description, resolve: () => '' })),
  },
};

describe('a store does not start, and says why', () => {
  it.each(Object.entries(WRONG))('%s', (sentence, parts) => {
    expect(() => createStore(parts)).toThrow(new Error(sentence));
  });

  it.each([
    ['things.size has no words.', () => filterBy.words(own.size, { only })],
    [
      'owners has a column of this name, too',
      () => filterBy.related({ ...ofOwner, by: 'is_known' }, filterBy.value(known, { only })),
    ],
    [
      'groupBy.value needs an enum, a boolean or a foreign key, unlike things.word.',
      () => groupBy.value(own.word),
    ],
    [
      'Thing has no fields: the store must import its schema.ts.',
      () => builderOf({ Thing: Things, Owner }).createSchema(),
    ],
  ])('%s', (sentence, create) => {
    expect(create).toThrow(sentence);
  });
});

it('a filter by a minimum needs an index, or the sort by its column', () => {
  const model = withColumn('copies', { isIndexed: false, isNullable: true });
  const rows = { filters: withMinimum };
  expect(() => createStore({ model, rows })).toThrow('an index that starts with things.copies.');
  const sorts = { copies: 'Order by copies.' };
  expect(() => createStore({ model, rows: { ...rows, sorts } })).not.toThrow();
});

/** Defines a page, and fields of Query that return it and name the sizes of these lists. */
const definePage =
  (...sizedFields: string[][]): Define =>
  (builder) => {
    const Page = builder.objectRef<object>('Page').implement({
      fields: (t) => ({ nodes: t.intList({ description, resolve: () => [] }) }),
    });
    for (const [index, sized] of sizedFields.entries()) {
      const listSize = { ...listOf(100).directives.listSize, sizedFields: sized };
      const extensions = sized.length > 0 ? { directives: { listSize } } : {};
      builder.queryField(`page${index}`, (t) =>
        t.field({ type: Page, description, resolve: () => ({}), extensions }),
      );
    }
  };

const defineInterface: Define = (builder) => {
  const Sized = builder.interfaceRef<object>('Sized').implement({
    fields: (t) => ({ words: t.intList({ description, resolve: () => [] }) }),
  });
  builder.objectRef<object>('Text').implement({ interfaces: [Sized] });
  builder.queryField('sized', (t) => t.field({ type: Sized, description, resolve: () => ({}) }));
};

const defineCost: Define = (builder) => {
  const extensions = { ...listOf(100), directives: { cost: { weight: '9' } } };
  builder.queryField('counts', (t) => t.intList({ description, extensions, resolve: () => [] }));
};

describe('a list without a maximum size', () => {
  it.each([
    ['in an object', definePage([]), 'Page.nodes'],
    ['if a field that returns its type lacks its size', definePage(['nodes'], []), 'Page.nodes'],
    ['in an interface', defineInterface, 'Sized.words'],
    ['whose size is replaced by a cost', defineCost, 'Query.counts'],
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
