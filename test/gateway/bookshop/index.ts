import sql from 'sql-template-tag';

import type { Database, Store } from '../../../src/gateway/index.ts';
import { books, getBook } from './book.ts';
import { createSchema } from './shop.ts';

/** Adds a book and its author, unless the shop has books. */
const fillSample = (db: Database): Promise<boolean> =>
  db.transaction(async ({ write }) => {
    // Gateways that start at the same time wait for each other here.
    await write(sql`lock table books in exclusive mode`);
    const added = await write(sql`
      with author as (
        insert into authors (name) select 'Ursula K. Le Guin' where not exists (select from books)
        returning id
      )
      insert into books (title, isbn, released_on, copies, author_id)
      select 'The Dispossessed', '9780061054884', '1974-05-01', 3, id from author returning id`);
    return added.length > 0;
  });

/** The bookshop, as the gateway sees it. */
export const bookshop: Store = {
  title: 'Bookshop',
  migrations: new URL('migrations/', import.meta.url),
  ...createSchema(),
  fillSample,
  rest: { operations: [getBook], resources: {}, exampleError: new books.notFound(7n) },
  pages: {
    icon: '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 3h16v18H4z"/></svg>',
    heading: 'One endpoint for the whole bookshop',
    lead: 'A GraphQL gateway over authors and their books.',
    example: {
      query: '{ book(id: "1") { title } }',
      result: '{ "data": { "book": { "title": "The Dispossessed" } } }',
    },
    mutation: {
      query: 'mutation { deleteAuthor(id: "9") { ... on Error { code } } }',
      result: '{ "data": { "deleteAuthor": { "code": "AUTHOR_NOT_FOUND" } } }',
    },
    subscription: 'subscription { bookChanged { kind book { title copies } } }',
    examples: new URL('examples/', import.meta.url),
  },
};
