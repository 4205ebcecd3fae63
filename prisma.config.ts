import { defineConfig } from 'prisma/config';

// `prisma generate` resolves the path of the schema engine, but never runs the engine. Naming any
// executable keeps Prisma from downloading the engine, so installing works offline.
if (process.argv.includes('generate')) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
});
