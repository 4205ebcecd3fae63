import escapeHtml from 'escape-html';
import {
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isInputObjectType,
  isIntrospectionType,
  isLeafType,
  isObjectType,
  isSpecifiedScalarType,
  printType,
} from 'graphql';

import type { Asset } from './assets.ts';
import { renderBlock } from './code.ts';
import { renderIndexed, renderPage, type Site } from './page.ts';

/** Groups a schema's types, starting with the operations. */
function groupTypes(schema: GraphQLSchema): [name: string, types: GraphQLNamedType[]][] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const operations = roots.filter((type) => type != null);
  const types = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .toSorted((one, other) => one.name.localeCompare(other.name));
  return [
    ['Operations', operations],
    ['Objects', types.filter((type) => isObjectType(type) && !operations.includes(type))],
    ['Interfaces and unions', types.filter(isAbstractType)],
    ['Inputs', types.filter(isInputObjectType)],
    ['Values', types.filter(isLeafType)],
  ];
}

/** Renders a type as SDL in which type names are links. */
function renderType(type: GraphQLNamedType, schema: GraphQLSchema): string {
  const parts = printType(type).split(/("""[^]*?""")/);
  const html = parts.map((part, index) =>
    index % 2 === 1
      ? `<span class="comment">${escapeHtml(part)}</span>`
      : escapeHtml(part).replaceAll(/\b[A-Z]\w+\b/g, (name) => {
          const named = schema.getType(name);
          return named && !isSpecifiedScalarType(named) ? `<a href="#${name}">${name}</a>` : name;
        }),
  );
  return `<div id="${type.name}">${renderBlock(type.name, html.join(''))}</div>`;
}

/** Renders the schema page: all types in groups, linked to each other. */
export function renderSchema(site: Site): Asset {
  const { schema } = site.store;
  const groups = groupTypes(schema).map(([name, types], index) => ({
    name,
    types,
    id: `group-${index}`,
  }));
  const entries = groups.map(({ name, types, id }) => ({
    url: `#${id}`,
    text: name,
    places: types.map((type) => ({ url: `#${type.name}`, text: type.name })),
  }));
  const sections = groups.map(
    ({ name, types, id }) => `<h2 id="${id}">${name}</h2>
${types.map((type) => renderType(type, schema)).join('\n')}`,
  );
  return renderPage(site, {
    path: '/schema',
    title: 'GraphQL schema',
    main: renderIndexed(
      'Types',
      entries,
      `<h1>GraphQL schema</h1>
<p class="lead">All types, fields and arguments. Also available <a href="/schema.graphql">as text</a> for code generators,
including the cost of each field. Release 4.0.0 will no longer have this page: GraphiQL shows the same.</p>
${sections.join('\n')}`,
    ),
  });
}
