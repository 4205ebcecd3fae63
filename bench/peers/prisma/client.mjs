// Prisma Client on node-postgres, with prepared statements.
import { PrismaPg } from '@prisma/adapter-pg';

import { PrismaClient } from './generated/prisma/client.ts';

const names = new Map();

/** Names a statement, so that PostgreSQL parses it once for each connection. */
function statementNameGenerator({ sql }) {
  if (!names.has(sql)) names.set(sql, `statement_${names.size}`);
  return names.get(sql);
}

/**
 * Turns each `cursor` in a query, which is an id, into a condition. Prisma's own cursor must be a row of the list:
 * otherwise the list loses its first row, and several nested lists are empty. Prisma also joins no list with a cursor.
 */
function replaceCursors({ cursor, include, ...query }) {
  if (cursor) {
    const beyond = { id: { [query.take < 0 ? 'lt' : 'gt']: cursor.id } };
    Object.assign(query, { skip: 0, where: { AND: [query.where ?? {}, beyond] } });
  }
  if (!include) return query;
  const relations = Object.entries(include).map(([relation, nested]) => [
    relation,
    relation === '_count' || nested === true ? nested : replaceCursors(nested),
  ]);
  return { ...query, include: Object.fromEntries(relations) };
}

export const prisma = new PrismaClient({
  adapter: new PrismaPg(
    { connectionString: process.env.DATABASE_URL, max: 10 },
    { statementNameGenerator },
  ),
}).$extends({
  query: {
    $allModels: {
      $allOperations: ({ args, query }) => query(replaceCursors(args ?? {})),
    },
  },
});
