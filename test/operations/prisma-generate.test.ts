import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { makeFolder } from '../support/folders.ts';

function generate(models: string): { stderr: string; tables: string } {
  const folder = makeFolder();
  const schema = join(folder, 'schema.prisma');
  writeFileSync(
    schema,
    `generator tables {
      provider = "node prisma/tables.js"
      output = "tables.ts"
    }
    datasource db {
      provider = "postgresql"
    }
    ${models}`,
  );
  const { stderr } = spawnSync('node_modules/.bin/prisma', ['generate', '--schema', schema], {
    encoding: 'utf8',
  });
  const file = join(folder, 'tables.ts');
  return { stderr, tables: existsSync(file) ? readFileSync(file, 'utf8') : '' };
}

it("a relation without onDelete has Prisma's default for it", () => {
  const { tables } = generate(`
    model Parent {
      id BigInt @id
      required Required[]
      optional Optional[]
    }
    model Required {
      id BigInt @id
      parentId BigInt
      parent Parent @relation(fields: [parentId], references: [id])
    }
    model Optional {
      id BigInt @id
      parentId BigInt?
      parent Parent? @relation(fields: [parentId], references: [id])
    }`);
  expect(tables.replaceAll(/\s+/g, ' ')).toContain('"usedBy": [ "Required" ]');
  expect(tables.match(/"onDelete": "[^"]+"/g)).toEqual([
    '"onDelete": "RESTRICT"',
    '"onDelete": "SET NULL"',
  ]);
});

it('prisma generate names each column that the gateway does not support', () => {
  const unsupported = [
    'Decimal',
    'Json',
    'String[]',
    'String @db.Char(3)',
    'Int @db.SmallInt',
    'DateTime',
    'DateTime @db.Timestamptz(6)',
    'DateTime @default("2027-01-01T00:00:00Z") @db.Date',
  ].map((type, index) => `wrong${index} ${type}`);
  const supported = [
    'BigInt',
    'Int',
    'Boolean',
    'String @db.VarChar(255)',
    'DateTime? @db.Date',
    'DateTime @default(now()) @db.Timestamptz(3)',
  ].map((type, index) => `right${index} ${type}`);
  const { stderr } = generate(`model Thing {
    id Int @id
    ${[...unsupported, ...supported].join('\n')}
  }`);
  const names = ['id', ...unsupported.map((column) => column.split(' ')[0])];
  expect(stderr).toContain(
    `The gateway does not support these columns: ${names.map((name) => `Thing.${name}`).join(', ')}.`,
  );
});

it.each([
  ['BookTag', 'tags Tag[]\n}\nmodel Tag {\n  id BigInt @id\n  books Book[]'],
  ['BookBook', 'sequels Book[] @relation("order")\n prequels Book[] @relation("order")'],
])('prisma generate rejects a many-to-many relation, and advises to add %s', (name, fields) => {
  const { stderr } = generate(`model Book {\n  id BigInt @id\n  ${fields}\n}`);
  expect(stderr).toContain('does not support many-to-many relations without a model: Book.');
  expect(stderr).toContain(`Add a model with a relation to each, such as ${name}.`);
});
