import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { GraphQLObjectType } from 'graphql';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { petStore } from '../../../src/store/index.ts';
import { createRoleOn, useCopy } from '../../support/databases.ts';
import { makeFolder } from '../../support/folders.ts';
import { withManifest } from '../../support/manifest.ts';
import { runSql } from '../../support/postgres.ts';
import { warningsAtStart } from '../../support/start.ts';

const url = useCopy();

const readWarnings = (environment: Record<string, string> = {}): Promise<unknown[]> =>
  warningsAtStart({ DATABASE_URL: url(), ...environment });

it('a database with the usual settings causes no warning', async () => {
  expect(await readWarnings()).toEqual([]);
});

it('synchronous_commit=off causes a warning, because a crash may lose writes', async () => {
  const name = new URL(url()).pathname.slice(1);
  await runSql(url(), `alter database ${name} set synchronous_commit to off`);
  expect(await readWarnings()).toEqual([expect.stringContaining('synchronous_commit')]);
});

const documentOf = (operation: string): string =>
  `"Cancels an order." mutation ${operation}($id: ID!, $key: String!) {
     cancelOrder(id: $id, idempotencyKey: $key) { ... on CancelledOrder { id } } }`;

const cancelledId = (petStore.schema.getType('CancelledOrder') as GraphQLObjectType).getFields()[
  'id'
];
beforeEach(() => Object.assign(cancelledId ?? {}, { deprecationReason: 'Use the id.' }));
afterEach(() => Object.assign(cancelledId ?? {}, { deprecationReason: undefined }));

it('each trusted document that uses a deprecated field causes a warning', () =>
  withManifest(
    { d0: documentOf('Cancel'), d1: '{ __typename }', d2: documentOf('CancelAnother') },
    async (DOCUMENTS_MANIFEST) => {
      const warnings = await readWarnings({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST });
      expect(warnings).toEqual(
        ['d0', 'd2'].map((id) =>
          expect.stringMatching(
            `^The document ${id}: The field CancelledOrder\\.id is deprecated\\. `,
          ),
        ),
      );
    },
  ));

it('a tool that uses a deprecated field causes a warning that names it', async () => {
  const MCP_OPERATIONS = makeFolder();
  writeFileSync(join(MCP_OPERATIONS, 'cancel.graphql'), documentOf('cancel'));
  expect(await readWarnings({ MCP_OPERATIONS })).toEqual([
    expect.stringMatching(/^The tool cancel: The field CancelledOrder\.id is deprecated\. /),
  ]);
});

it('a gateway does not start if foreign keys are off for its role, and the role is not allowed to turn them on', async () => {
  const { role, href } = await createRoleOn(url());
  await runSql(
    url(),
    `grant all on all tables in schema public to ${role};
     alter role ${role} set session_replication_role to replica`,
  );
  const message = /^DATABASE_URL: .*session_replication_role/;
  await expect(warningsAtStart({ DATABASE_URL: href })).rejects.toThrow(message);
});
