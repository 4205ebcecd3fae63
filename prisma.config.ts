import { defineConfig } from 'prisma/config';

// `prisma generate` only resolves the schema engine's path, never runs it; naming any
// executable keeps it from downloading one, so that an install works offline.
if (process.argv.includes('generate')) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
});
