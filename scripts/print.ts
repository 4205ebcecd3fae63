// Writes schema.graphql, and what documents repeat of the schema and the settings: `npm run fix`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

import {
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import { z } from 'zod';

import { Variables } from '../src/gateway/config/variables.ts';
import { toDay } from '../src/gateway/kinds/times.ts';
import { printSchema } from '../src/gateway/schema/print.ts';
import { TABLES } from '../src/store/generated/tables.ts';
import { petStore } from '../src/store/index.ts';

/** Returns a variable's default as an operator would write it. */
function toDefault(variable: z.ZodType): string {
  if (!(variable instanceof z.ZodDefault)) return '';
  const { defaultValue } = variable.def;
  const text = defaultValue instanceof Date ? toDay(defaultValue) : String(defaultValue);
  return text && `\`${text}\``;
}

/** Returns a variable's description, with the allowed values or their range if they are limited. */
function toMeaning(variable: z.ZodDefault | z.ZodOptional): string {
  const { values } = z.globalRegistry.get(variable.unwrap()) ?? {};
  return `${variable.description}${typeof values === 'string' ? ` Values: ${values}.` : ''}`;
}

const toReason = (variable: z.ZodType): string =>
  String(z.globalRegistry.get(variable)?.['reason']);

/** Returns a table in Markdown, which oxfmt aligns. */
const toTable = ([head = [], ...rows]: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const variables = (): string =>
  toTable([
    ['variable', 'default', 'meaning', 'set it if'],
    ...Object.entries(Variables.shape).map(([name, variable]) => [
      `\`${name}\``,
      toDefault(variable),
      toMeaning(variable),
      toReason(variable),
    ]),
  ]);

/** Returns the mutations that each scope allows. */
function mutationsByScope(): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { name, extensions } of Object.values(
    petStore.schema.getMutationType()?.getFields() ?? {},
  )) {
    const { scope = '' } = extensions;
    names.set(scope, [...(names.get(scope) ?? []), `\`${name}\``]);
  }
  return names;
}

const scopes = (): string =>
  toTable([
    ['scope', 'what it allows'],
    [
      '`read`',
      `queries, subscriptions, related objects in the result of a mutation, ${petStore.rest.routes
        .map(({ name }) => `\`${name}\``)
        .join(', ')}`,
    ],
    ...Array.from(mutationsByScope(), ([scope, names]) => [`\`${scope}\``, names.join(', ')]),
    ['`audit`', 'with `read`: who made a change (`by`, `requestId`, `operationName`)'],
    ['`metrics`', '`GET /metrics`'],
    ['`explain`', 'the header `GraphQL-Explain`, which shows the SQL of an operation'],
  ]);

/** Returns the conditions of a field's filter; none if it has no filter. */
function conditionsOf(field?: GraphQLField<unknown, unknown>): Record<string, GraphQLInputField> {
  const filter = field?.args.find(({ name }) => name === 'filter');
  const type = filter && getNamedType(filter.type);
  return isInputObjectType(type) ? type.getFields() : {};
}

/** Returns the type of a field of a type; undefined if it has no such field. */
function typeOf(type: GraphQLNamedType | undefined, name: string): GraphQLNamedType | undefined {
  if (!isObjectType(type) && !isInterfaceType(type)) return undefined;
  const field = type.getFields()[name];
  return field && getNamedType(field.type);
}

const subscriptions = Object.values(petStore.schema.getSubscriptionType()?.getFields() ?? {});

/** Returns a row for each condition by which callers can filter a list. */
function filtersOf(list: GraphQLField<unknown, unknown>): string[][] {
  const item = typeOf(getNamedType(list.type), 'nodes')?.name;
  const follow = subscriptions.find(({ type }) => getNamedType(type).name === `${item}Change`);
  const followed = conditionsOf(follow);
  return Object.values(conditionsOf(list)).map(({ name, description, extensions }, index) => {
    // The first sentence, without "Only pets".
    const [items = ''] = (description ?? '')
      .replace(/^Only [a-z ]+? (?=(?:for|in|of|that|to|whose|with) )/, '')
      .split(/\.(?: |$)/);
    const cost = extensions.directives?.cost?.weight ?? '';
    const where = name in followed && follow ? `\`${follow.name}\`` : '';
    return [index === 0 ? `\`${list.name}\`` : '', `\`${name}\``, items, cost, where];
  });
}

const filters = (): string =>
  toTable([
    ['list', 'condition', 'only', 'cost', 'also in'],
    ...Object.values(petStore.schema.getQueryType()?.getFields() ?? {}).flatMap(filtersOf),
  ]);

const MIGRATIONS = 'prisma/migrations';

/** Returns the tables that migrations create for searches in the columns of a table. */
function searchTablesOf(table: string): string[] {
  const sql = readdirSync(MIGRATIONS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('migration.sql'))
    .map((file) => readFileSync(`${MIGRATIONS}/${file}`, 'utf8'))
    .join('');
  const calls = sql.matchAll(new RegExp(`make_searchable\\('${table}', '\\w+', '(\\w+)'\\)`, 'g'));
  return [...new Set(Array.from(calls, ([, column]) => `${table}_folded_${column}`))];
}

/** Returns the statements that give the gateways' role its rights. */
function rights(): string {
  const tables = Object.values(TABLES);
  const names = tables.map(({ name }) => name);
  const sequences = tables.flatMap(({ name, columns }) =>
    Object.values(columns)
      .filter(({ isUnique, hasDefault, type }) => isUnique && hasDefault && type === 'BigInt')
      .map(({ ownColumn }) => `${name}_${ownColumn}_seq`),
  );
  return [
    '```sql',
    'GRANT USAGE ON SCHEMA public TO gateway;',
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${[...names, 'idempotency_keys'].join(', ')} TO gateway;`,
    'GRANT SELECT, DELETE ON changes, settled_changes TO gateway;',
    `GRANT SELECT ON ${[...names.flatMap(searchTablesOf), '_prisma_migrations'].join(', ')} TO gateway;`,
    `GRANT USAGE ON SEQUENCE ${sequences.join(', ')} TO gateway;`,
    '```',
  ].join('\n');
}

const PRINTED = { variables, scopes, filters, rights };

/** Replaces what stands between a document's two markers, such as `<!-- variables -->` and `<!-- /variables -->`. */
export const withPrinted = (document: string): string =>
  Object.entries(PRINTED).reduce(
    (text, [name, print]) =>
      text.replace(new RegExp(`(?<=<!-- ${name} -->\n\n).*(?=\n\n<!-- /${name} -->)`, 's'), print),
    document,
  );

/** The documents with such markers. */
export const FILES = [
  'docs/access.md',
  'docs/api-reference.md',
  'docs/configuration.md',
  'docs/operations.md',
];

if (process.argv[1] === import.meta.filename) {
  writeFileSync('schema.graphql', printSchema(petStore.schema));
  for (const file of FILES) writeFileSync(file, withPrinted(readFileSync(file, 'utf8')));
}
