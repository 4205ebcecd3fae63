import {
  type Group,
  type Groups,
  MAX_GROUPS,
  type ReadGroups,
  selectGroups,
  toObjectName,
} from '../list/groups.ts';
import { refers } from '../model/stored-table.ts';
import { toEnumName, upperFirst, type Words } from '../model/words.ts';
import type { Repository } from '../repository.ts';
import { listOf } from './cost-directives.ts';
import { type Builder, typeNamed } from './pothos.ts';
import { relatedRow } from './rows.ts';

const defineSums = (builder: Builder, { prefix, plural }: Words, { sum = [] }: Groups) =>
  builder.objectRef<Group>(`${prefix}Sums`).implement({
    description: `Sums over the ${plural} in a group. Null counts as 0.`,
    fields: (t) => {
      const fieldOf = (name: string) =>
        t.expose(name, { type: 'BigInt', description: `The sum of \`${name}\`.` });
      return Object.fromEntries(sum.map(({ name }) => [name, fieldOf(name)]));
    },
  });

function defineGroup(builder: Builder, words: Words, groups: Groups, all: readonly Repository[]) {
  const { prefix, plural } = words;
  const Sums = groups.sum?.length ? defineSums(builder, words, groups) : undefined;
  return builder.objectRef<Group>(`${prefix}Group`).implement({
    description: `The ${plural} with the same values of the keys.`,
    fields: (t) => {
      const keys = Object.entries(groups.by).flatMap(([name, { field, kind, about }]) => {
        const orNone = field.isNullable ? `, or if the ${plural} have none` : '';
        const nullable = (type: string, what: string) => ({
          type: typeNamed(type),
          nullable: true as const,
          description: `${upperFirst(what)}. Null if the groups are not by this key${orNone}.`,
        });
        const value = [name, t.expose(name, nullable(kind.graphql, about))] as const;
        const own = all.find((one) => field.column === `${one.name}.${field.ownColumn}`);
        const parent = own && all.find((one) => refers(own, field.ownColumn, one.name));
        if (!parent) return [value];
        const options = nullable(parent.type, `the ${parent.words.singular} with this id`);
        const object = t.field({ ...options, ...relatedRow(parent.byId, name) });
        return [value, [toObjectName(name), object] as const];
      });
      const count = t.exposeInt('count', { description: `The number of ${plural} in the group.` });
      const sum = {
        description: `Sums over the ${plural} in the group.`,
        extensions: { listPart: { kind: 'object' } as const },
        resolve: (group: Group) => group,
      };
      const sums = Sums && { sum: t.field({ type: Sums, ...sum }) };
      return { ...Object.fromEntries(keys), count, ...sums };
    },
  });
}

/** Defines the groups that a repository names, in the type of its lists. */
export function defineGroups(
  builder: Builder,
  repository: Repository,
  all: readonly Repository[],
): void {
  const { words, groups } = repository;
  const { prefix, plural } = words;
  if (!groups) return;
  const Key = builder.enumType(`${prefix}GroupKey`, {
    description: `What ${plural} can be grouped by.`,
    values: Object.fromEntries(
      Object.entries(groups.by).map(([value, { about }]) => {
        return [toEnumName(value), { value, description: `By ${about}.` }];
      }),
    ),
  });
  const Group = defineGroup(builder, words, groups, all);
  const type = builder.objectRef<readonly Group[]>(`${prefix}Groups`).implement({
    description: `Groups of ${plural}: the ${MAX_GROUPS} largest.`,
    fields: (t) => ({
      nodes: t.field({
        type: [Group],
        description: 'The largest first. Groups of the same size are in the order of their keys.',
        extensions: { listPart: { kind: 'items' } },
        resolve: (every) => every.slice(0, MAX_GROUPS),
      }),
      hasMore: t.boolean({
        description: 'Whether there are more groups.',
        extensions: { listPart: { kind: 'hasMore', isAfter: true } },
        resolve: ({ length }) => length > MAX_GROUPS,
      }),
    }),
  });
  const read = ({ by }: { readonly by: readonly string[] }) => selectGroups(groups, by);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  builder.objectField(`${prefix}Connection` as never, 'groups', (t) =>
    t.field({
      type,
      description: `The groups of all ${plural} in the whole list, whatever its page and order.`,
      args: {
        by: t.arg({ type: [Key], required: true, description: 'One key, or two different keys.' }),
      },
      extensions: {
        // They take two to six times as long as a count (200) and, as a `listPart` like it, cost more in a list of Query.
        directives: { cost: { weight: '500' }, ...listOf(MAX_GROUPS, [], ['nodes']).directives },
        listPart: { kind: 'count' },
        sql: { kind: 'aggregate' },
        read,
      },
      resolve: ({ readGroups }: { readGroups: ReadGroups }, args) => readGroups(read(args)),
    }),
  );
}
