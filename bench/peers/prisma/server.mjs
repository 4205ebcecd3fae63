// GraphQL Yoga with its own HTTP server, Pothos with its Prisma plugin, and Prisma Client, as their documentation shows
// them.
import { createServer } from 'node:http';

import { createYoga } from 'graphql-yoga';

import { schema } from './schema.mjs';

const yoga = createYoga({ schema, graphiql: false, logging: 'warn' });
createServer((request, response) => void yoga(request, response)).listen(
  Number(process.env.PORT),
  '127.0.0.1',
);
