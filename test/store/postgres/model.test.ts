import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  type ColumnType,
  ColumnTypeEnum,
} from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

import { readConfig } from '../../../src/gateway/config/config.ts';
import { openPostgres } from '../../../src/gateway/database/postgres.ts';
import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { bookshop } from '../../gateway/bookshop/index.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { createDatabaseOn, dropDatabaseOn } from '../../support/postgres.ts';

interface EngineModule {
  SchemaEngine: {
    new: (options: object, log: () => void, adapter: object) => Promise<SchemaEngine>;
  };
  __wbg_set_wasm: (exports: WebAssembly.Exports) => void;
}

/** Loads Prisma's schema engine, whose entry point needs a bundler. */
async function loadEngine(): Promise<EngineModule['SchemaEngine']> {
  const { resolve } = createRequire(import.meta.url);
  const entry = resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const engine = (await import(entry)) as EngineModule;
  const { instance } = await WebAssembly.instantiate(
    readFileSync(entry.replace(/\.js$/, '.wasm')),
    { './schema_engine_bg.js': engine as unknown as WebAssembly.ModuleImports },
  );
  // oxlint-disable-next-line no-underscore-dangle
  engine.__wbg_set_wasm(instance.exports);
  (instance.exports['__wbindgen_start'] as () => void)();
  return engine.SchemaEngine;
}

const PG_CHAR = 18;
const PG_TEXT = 25;

/** Creates Prisma's adapter with support for "char", a type in PostgreSQL's catalog. */
function createAdapter(pool: Pool): PrismaPg {
  const chars = new Set<string>();
  const query = pool.query.bind(pool) as (sql: unknown) => Promise<{
    fields: { name: string; dataTypeID: number }[];
  }>;
  pool.query = (async (sql: unknown) => {
    const result = await query(sql);
    for (const field of result.fields.filter(({ dataTypeID }) => dataTypeID === PG_CHAR)) {
      chars.add(field.name);
      field.dataTypeID = PG_TEXT;
    }
    return result;
  }) as typeof pool.query;
  const factory = new PrismaPg(pool);
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const connected = await connect();
    const queryRaw = connected.queryRaw.bind(connected);
    connected.queryRaw = async (statement) => {
      const result = await queryRaw(statement);
      const columnTypes = result.columnTypes.map((type, index): ColumnType =>
        chars.has(result.columnNames[index] ?? '') ? ColumnTypeEnum.Character : type,
      );
      return { ...result, columnTypes };
    };
    return connected;
  };
  return factory;
}

const SHOP = 'test/gateway/bookshop/schema.prisma';
const read = (file: string): string => readFileSync(file, 'utf8');
const model = read('prisma/schema.prisma');

let Engine: EngineModule['SchemaEngine'];
let petStore: PrismaPg;
let shop: PrismaPg;
let close: () => Promise<void>;
beforeAll(async () => {
  Engine = await loadEngine();
  const { server } = inject('emptyPostgres');
  const copy = await copyOnPostgres();
  const url = await createDatabaseOn(server);
  const migrated = await openPostgres(bookshop.migrations, url, readConfig({}), createLog('error'));
  await migrated.close();
  const pools = [copy.url, url].map((connectionString) => new Pool({ connectionString }));
  [petStore, shop] = pools.map(createAdapter) as [PrismaPg, PrismaPg];
  close = async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await copy.drop();
    await dropDatabaseOn(server, url);
  };
});
afterAll(() => close());

/** Returns the SQL that would make a migrated database match a Prisma schema. */
async function differences(adapter: PrismaPg, content: string): Promise<string | null> {
  const files = [{ path: 'schema.prisma', content }];
  const engine = await Engine.new(
    { datamodels: [['schema.prisma', content]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(adapter),
  );
  const { stdout } = await engine.diff({
    from: { tag: 'schemaDatasource', files, configDir: '.' },
    to: { tag: 'schemaDatamodel', files },
    script: true,
    exitCode: null,
    // Leaves these out: gateway-tables.test.ts checks the gateway's tables.
    filters: {
      externalTables: [
        '_prisma_migrations',
        'changes',
        'idempotency_keys',
        'categories_folded_name',
        'pets_folded_name',
      ].map((name) => `public.${name}`),
      externalEnums: ['public.change_kind'],
    },
  });
  return stdout;
}

it('the migrations of a store create the tables of its schema.prisma', async () => {
  expect(await differences(petStore, model)).toBe('-- This is an empty migration.\n');
  expect(await differences(shop, read(SHOP))).toBe('-- This is an empty migration.\n');
});

it.each([
  ['a column', 'quantity Int\n  ///', 'quantity BigInt\n  ///', 'SET DATA TYPE BIGINT'],
  ['an index', '  @@index([categoryId, id])\n', '', 'DROP INDEX "pets_category_id_id_idx"'],
  ['a foreign key', 'onDelete: Cascade', 'onDelete: NoAction', 'inventory_items_pet_id_fkey'],
])('comparing the tables detects a difference in %s', async (_what, from, to, sql) => {
  expect(model).toContain(from);
  expect(await differences(petStore, model.replace(from, to))).toContain(sql);
});
