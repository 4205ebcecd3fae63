import { getNamedType, getNullableType, isLeafType, isObjectType } from 'graphql';

import type { Config } from '../config/config.ts';
import type { Store } from '../store.ts';
import { renderCode } from './code.ts';
import { linkToGraphiql } from './graphiql-link.ts';
import type { Site } from './page.ts';

/** Whether the start page, which sends neither a token nor a trusted document, can read the changes. */
const canRead = ({ auth, documents }: Config): boolean =>
  (!auth || auth.readIsOpen) && documents !== 'trusted';

type ChangedStore = Pick<Store, 'schema' | 'repositories'>;

const MAX_SHOWN = 8;

/** Returns the names of a type's fields that are columns of its table. */
function columnsOf(type: string, { schema, repositories }: ChangedStore): string {
  const object = schema.getType(type);
  const fields = isObjectType(object) ? object.getFields() : {};
  return Object.keys(repositories.get(type)?.columns ?? {})
    .filter((name) => fields[name] && isLeafType(getNamedType(fields[name].type)))
    .join(' ');
}

/** Selects the name of the first object to which a type's rows refer; empty if none has a name. */
function relatedNameOf(type: string, { schema, repositories }: ChangedStore): string {
  const object = schema.getType(type);
  const fields = isObjectType(object) ? Object.values(object.getFields()) : [];
  const related = fields.find((field) => {
    const target = getNullableType(field.type);
    return (
      isObjectType(target) &&
      repositories.has(target.name) &&
      target.getFields()['name'] !== undefined
    );
  });
  return related ? `related: ${related.name} { name }` : '';
}

/** Returns the query for the latest changes, with their rows. */
export const changesQuery = (store: ChangedStore): string =>
  `{ changes(last: ${MAX_SHOWN}) { nodes { type: __typename cursor kind changedAt ${[
    ...store.repositories.keys(),
  ]
    .map((type) => {
      const row = `{ id ${columnsOf(type, store)} ${relatedNameOf(type, store)} }`;
      // Without aliases, fields of the same name but different types would conflict.
      return `... on ${type}Change { ${type}Before: before ${row} ${type}After: after ${row} }`;
    })
    .join(' ')} } } }`;

/** Returns the scripts of the start page's section with the latest changes. */
export const liveScripts = (config: Config): string[] =>
  canRead(config) ? ['/assets/live.js'] : [];

/** Renders the start page's section with the latest changes; empty if the page can't read them. */
export const renderLiveView = ({ store, config }: Site): string =>
  canRead(config)
    ? `<section aria-labelledby="live">
<h2 id="live">What is happening in the store</h2>
<p>Apps can subscribe to all changes, including those made with SQL, without missing any.</p>
<div class="sides">
<figure class="code live">
<figcaption>Latest changes <span class="live-side"><span id="live-state" role="status"></span>
<button class="copy" id="live-pause" type="button" hidden>Pause</button></span></figcaption>
<ol id="changes" data-query="${changesQuery(store)}"></ol>
<p id="live-note"></p>
<noscript><p>This list requires JavaScript.</p></noscript>
</figure>
${renderCode('Subscription', store.pages.subscription)}
</div>
<p class="actions">${linkToGraphiql(store.pages.subscription, config)}</p>
</section>`
    : '';
