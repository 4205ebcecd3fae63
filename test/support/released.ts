import { readFileSync } from 'node:fs';

import type { DatabaseError, QueryResult } from 'pg';

import { connect, runSql } from './postgres.ts';

/** A statement, and its values, as pg receives them or as JSON represents them. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface ReleasedStatement extends Statement {
  /** The columns of its rows, each a name and a type. */
  readonly columns: readonly string[];
  /** For example, `SELECT 2`, `error 23503`, or for several statements `SET, SELECT 2`. */
  readonly result: string;
}

/** The folder where `npm run release` stores the contract and the SQL statements. */
export const RELEASED = new URL('../released/', import.meta.url);

const read = (file: string): string => readFileSync(new URL(file, RELEASED), 'utf8');

/** Returns the GraphQL schema, the OpenAPI document and the SQL statements of the last release. */
export const readReleased = () => ({
  graphql: read('schema.graphql'),
  openapi: JSON.parse(read('openapi.json')) as object,
  statements: JSON.parse(read('statements.json')) as ReleasedStatement[],
});

/** Executes statements on one connection to the database at `url`, and returns them with their results. */
export async function repeatStatements(
  url: string,
  statements: readonly Statement[],
): Promise<ReleasedStatement[]> {
  const rows = await runSql(url, 'select oid, typname from pg_type');
  const types = new Map(rows.map(({ oid, typname }) => [oid, String(typname)]));
  const client = await connect(url);
  const repeated: ReleasedStatement[] = [];
  for (const { sql, values } of statements) {
    const { columns, result } = await client.query(sql, [...values]).then(
      (returned: QueryResult | QueryResult[]) => {
        const all = [returned].flat();
        const fields = all.flatMap((one) => one.fields);
        return {
          columns: fields.map(({ name, dataTypeID }) => `${name} ${types.get(dataTypeID)}`),
          result: all
            .map(({ command, rowCount }) => `${command} ${rowCount ?? ''}`.trim())
            .join(', '),
        };
      },
      ({ code }: DatabaseError) => ({ columns: [], result: `error ${code}` }),
    );
    repeated.push({ sql, values, columns, result });
  }
  await client.end();
  return repeated;
}
