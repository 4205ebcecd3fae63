import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, inject, it, onTestFinished } from 'vitest';

import type { Store } from '../../../src/gateway/index.ts';
import { withExtensions } from '../../support/bookshop.ts';
import { useFolder } from '../../support/folders.ts';
import { startGateway } from '../../support/gateway.ts';
import { createDatabaseOn, dropDatabaseOn } from '../../support/postgres.ts';
import { bookshop } from '../bookshop/index.ts';

const LINE = "SELECT record_changes_of('books', 'Book', 'id');";

const folder = useFolder();

/** Starts the bookshop on a new database, with other SQL in place of some in its migration. */
async function start(sql: string, by: string | RegExp = LINE, parts: Partial<Store> = {}) {
  await cp(bookshop.migrations, folder, { recursive: true });
  const file = join(folder, '20270102000000_bookshop/migration.sql');
  await writeFile(file, (await readFile(file, 'utf8')).replace(by, sql));
  const { server } = inject('emptyPostgres');
  const url = await createDatabaseOn(server);
  const store = { ...bookshop, ...parts, migrations: pathToFileURL(`${folder}/`) };
  onTestFinished(() => dropDatabaseOn(server, url));
  await (await startGateway({ DATABASE_URL: url }, undefined, {}, store)).close();
}

it.each(['', LINE.replace("'Book'", "'Author'")])(
  'a store does not start if its migrations do not set up change recording for a type: %s',
  async (line) => {
    await expect(start(line)).rejects.toThrow(
      `Changes to the table books are not recorded. Add this line to a migration: ${LINE}`,
    );
  },
);

it('a store does not start if its migrations do not record who makes a change, as in earlier releases', async () => {
  const earlier = `DO $do$ BEGIN
    EXECUTE replace(pg_get_functiondef('record_books'::regproc), 'gateway.who', 'gateway.what');
  END $do$;`;
  await expect(start(LINE + earlier)).rejects.toThrow(
    `Changes to the table books are recorded without who makes them. Add the new parts of gateway-tables.sql, and then this line, to a migration: ${LINE}`,
  );
});

it.each(['order', 'shelfMark'])(
  'a store does not start if the name of a column would need quotes in SQL: %s',
  async (column) => {
    const books = bookshop.repositories.get('Book');
    if (!books) throw new Error('There are no books.');
    const renamed = { ...books, columns: { ...books.columns, copies: column } };
    const repositories = new Map([...bookshop.repositories, ['Book', renamed]]);
    await expect(start(LINE, LINE, { repositories })).rejects.toThrow(
      `The name ${column} would need quotes in SQL.`,
    );
  },
);

it.each([
  ['released_on', 'RELEASED_ON', "(coalesce(released_on, 'infinity'::date))"],
  ['folded_title', 'TITLE', '(folded(title) collate "C")'],
])('a store does not start if a sort has no index in the database: %s', async (name, sort, key) => {
  await expect(start('', new RegExp(`CREATE INDEX "books_${name}_.*`))).rejects.toThrow(
    `The sort ${sort} of books has no valid index. Add this line to a migration: CREATE INDEX ON books (${key}, id);`,
  );
});

it('a store does not start if strings that must be unique do not have the collation "C"', async () => {
  await expect(
    start('"isbn" VARCHAR(13) NOT NULL', '"isbn" VARCHAR(13) COLLATE "C" NOT NULL'),
  ).rejects.toThrow(
    'index on books (isbn) is UNIQUE, but UNIQUE COLLATE "C" in the model. Add the missing migration',
  );
});

it.each([
  ['.copis = 0', 'The SQL of Book.isSoldOut fails: column t1.copis does not exist.'],
  ['.copies', 'The SQL of Book.isSoldOut has the type integer, but must have boolean.'],
])('a store does not start if the SQL of a derived value is wrong: %s', async (text, message) => {
  const sql = { kind: 'value', value: (book: string): string => book + text };
  const { schema } = withExtensions(bookshop, 'isSoldOut', { sql });
  await expect(start(LINE, LINE, { schema })).rejects.toThrow(message);
});
