import sql from 'sql-template-tag';

import type { Session, Store } from '../../../src/gateway/index.ts';
import { getBook, RESOURCES } from './book.ts';
import './tag.ts';
import { store } from './shop.ts';

/** Adds a book and its author. */
const fillSample = async ({ write }: Session): Promise<void> => {
  await write(sql`
    with author as (insert into authors (name) values ('Ursula K. Le Guin') returning id)
    insert into books (title, isbn, released_on, copies, author_id)
    select 'The Dispossessed', '9780061054884', '1974-05-01', 3, id from author`);
};

/** The bookshop, in the form that the gateway serves. */
export const bookshop: Store = {
  title: 'Bookshop',
  migrations: new URL('migrations/', import.meta.url),
  ...store.createSchema(),
  fillSample,
  rest: { routes: [getBook], resources: RESOURCES },
  pages: {
    icon: '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 3h16v18H4z"/></svg>',
    heading: 'One endpoint for the whole bookshop',
    lead: 'A GraphQL gateway for authors and their books.',
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
