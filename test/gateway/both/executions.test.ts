import { getNamedType, type GraphQLField, isLeafType, isObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';

import type { Store } from '../../../src/gateway/index.ts';
import { petStore } from '../../../src/store/index.ts';
import { openNew } from '../../support/bookshop.ts';
import { describeOnDatabases, openCopy } from '../../support/databases.ts';
import { gateway, run, useGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { repeat } from '../../support/repeat.ts';
import { insertSql, MODELS } from '../../support/rows.ts';
import { bookshop } from '../bookshop/index.ts';

// At most as many as a document may have root fields.
const ROWS = 40;

/** Books of which each value of each column occurs with many values of the others. */
const BOOKS = [
  `insert into authors (name) select 'Author ' || n from generate_series(1, ${ROWS}) n`,
  `insert into books (title, isbn, released_on, summary, copies, author_id)
    select 'Title ' || n, (1000000000000 + n)::text, case when n % 3 > 0 then date '1970-01-01' + n end,
      case when n % 4 > 0 then 'About ' || n end, n % 5, case when n % 6 > 0 then n end
    from generate_series(1, ${ROWS}) n`,
];

/** Rows of the pet store, of which half have true in each Boolean column: each value occurs next to null. */
const PETS = MODELS.map((model) => {
  const booleans = model.columns.filter(({ type }) => type === 'Boolean');
  const halves = booleans.map(({ ownColumn }) => [ownColumn, 'n % 2 = 0']);
  return insertSql(model, ROWS, ROWS, Object.fromEntries(halves));
});

const STORES = [
  ['the pet store', petStore, openCopy, PETS],
  ['the bookshop', bookshop, openNew(bookshop), BOOKS],
] as const;

const CURE = `
differs once the query is compiled. For a computed field, \`of\` and \`sql\` must return the same value for each row.`;

type Field = GraphQLField<unknown, unknown>;
type Rows = NonNullable<ReturnType<Store['repositories']['get']>>;
type Column = Rows['sorts'][string]['field'];

const fieldsOf = ({ schema }: Store, type: string): Field[] => {
  const found = schema.getType(type);
  return isObjectType(found) ? Object.values(found.getFields()) : [];
};

/** Whether a field is a page of rows of this type. */
const isListOf = (type: string, { type: of, extensions }: Field): boolean =>
  extensions.sql?.kind === 'list' && getNamedType(of).name === `${type}Connection`;

const listOf = (field: Field, selection: string): string =>
  `${field.name}(first: ${ROWS}) { ${selection} }`;

/** Returns the ways to read a field of a type's rows: alone, in lists, and as related rows. */
function queriesFor(store: Store, type: string, selection: string): string[] {
  const roots = fieldsOf(store, 'Query');
  const lists = roots.filter((root) => isListOf(type, root));
  const rows = roots.filter(
    ({ type: of, extensions: { sql } }) => sql?.kind === 'row' && getNamedType(of).name === type,
  );
  const inside = [...store.repositories.keys()].flatMap((outer) =>
    fieldsOf(store, outer).flatMap((field) => {
      const isRelated = field.extensions.sql?.kind === 'related';
      const isOfType = isRelated ? getNamedType(field.type).name === type : isListOf(type, field);
      const nodes = listOf(field, `nodes { ${selection} }`);
      const inner = isRelated ? `${field.name} { ${selection} }` : nodes;
      const outers = isOfType ? roots.filter((root) => isListOf(outer, root)) : [];
      return outers.map((root) => listOf(root, `nodes { ${inner} }`));
    }),
  );
  return [
    ...lists.map((list) => listOf(list, `nodes { ${selection} }`)),
    ...lists.map((list) => listOf(list, `totalCount edges { cursor node { ${selection} } }`)),
    ...rows.map(({ name, args: [id] }) =>
      repeat(ROWS, (n) => `r${n}: ${name}(${id?.name}: "${n + 1}") { ${selection} }`),
    ),
    ...inside,
  ].map((query) => `{ ${query} }`);
}

/** Returns the fields of a type that have no arguments and no selection. */
const valuesOf = (store: Store, type: string): Field[] =>
  fieldsOf(store, type).filter(
    ({ type: of, args }) => isLeafType(getNamedType(of)) && args.length === 0,
  );

/** Returns the columns that must not be null, besides ids. */
const requiredOf = ({ fields, id }: Rows): Column[] =>
  Object.values(fields as Readonly<Record<string, Column>>).filter(
    ({ isNullable, isReference, ownColumn }) =>
      !isNullable && !isReference && ownColumn !== id.column,
  );

/** Returns the codes of the errors in the response to a query, which must be the same until it has been compiled. */
async function codesFor(query: string): Promise<string[]> {
  const first = await gateway.graphql(query);
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    expect(await gateway.graphql(query), `${query}${CURE}`).toEqual(first);
  }
  return (first.errors ?? []).map(({ extensions: { code } }) => code);
}

describeOnDatabases(() => {
  describe.each(STORES)('%s', (_name, store, open, inserts) => {
    useGateway({}, open, {}, store);
    beforeAll(async () => {
      for (const insert of inserts) await run(insert);
    });

    it('returns each value of a row, also a computed one, however often it is read', async () => {
      for (const type of store.repositories.keys()) {
        const values = valuesOf(store, type).map(({ name }) => name);
        for (const query of queriesFor(store, type, values.join(' ')))
          expect([query, await codesFor(query)]).toEqual([query, []]);
      }
      // A warning names a computed field whose SQL is null where the value of its resolver is not.
      expect(gateway.loggedWarnings).toEqual([]);
    });

    it('reports a value that is null where it may not be, rather than leave its row out', async () => {
      for (const [type, rows] of store.repositories) {
        for (const [index, { name, ownColumn }] of requiredOf(rows).entries()) {
          await run(`alter table ${rows.name} alter ${ownColumn} drop not null`);
          const set = `update ${rows.name} set ${ownColumn} = null`;
          await run(`${set} where ${rows.id.column} = ${index + 2}`);
          for (const query of queriesFor(store, type, name))
            expect([query, await codesFor(query)]).toEqual([query, ['INTERNAL_SERVER_ERROR']]);
        }
      }
      gateway.loggedErrors.length = 0;
    });
  });
});
