/* global YogaGraphiQL */
import { follow } from './graphiql-events.js';
import { watchToken } from './token.js';

self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => `assets/graphiql/${label}.js`,
};

const select = (selector) => document.querySelector(selector);
const root = select('#root');

// GraphiQL 5 stores its history with the request headers, which can contain a token.
const HISTORY = new Set(['graphiql:queries', 'graphiql:favorites']);

const withoutHeaders = (text) =>
  JSON.stringify(JSON.parse(text), (name, value) => (name === 'headers' ? null : value));

/** Local storage, except that GraphiQL's history is stored without headers. */
const storage = {
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, text) => localStorage.setItem(key, HISTORY.has(key) ? withoutHeaders(text) : text),
  removeItem: (key) => localStorage.removeItem(key),
  clear: () => localStorage.clear(),
  get length() {
    return localStorage.length;
  },
};

/** Reads the tabs of the last visit; undefined if they can't be read. */
function readTabs() {
  try {
    return JSON.parse(localStorage.getItem('graphiql:tabState')) ?? { tabs: [] };
  } catch {
    return undefined;
  }
}

const kept = readTabs();
let tabs = kept?.tabs ?? [];

/** Reads the request from a link to this page. */
function readLink(search) {
  const parameters = new URLSearchParams(search);
  return { query: parameters.get('query'), variables: parameters.get('variables') ?? '' };
}

/** Finds a GraphiQL editor by its file name. */
const editorOf = (name) =>
  // oxlint-disable-next-line no-underscore-dangle -- GraphiQL's own name for its editors' module
  globalThis.__MONACO?.editor
    .getEditors()
    .find((editor) => editor.getModel()?.uri.path.endsWith(name));

// In such a window, the panel of the sidebar's pressed button covers the editor.
const narrow = matchMedia('(max-width: 48rem)');

/** Shows a request in the tab that already contains it, otherwise in a new tab. */
function openTab({ query, variables }) {
  if (narrow.matches) root.querySelector('.graphiql-sidebar [aria-label^="Hide"]')?.click();
  const index = tabs.findIndex((tab) => tab.query === query && (tab.variables ?? '') === variables);
  if (index >= 0) {
    root.querySelectorAll('.graphiql-tab-button')[index].click();
  } else {
    root.querySelector('.graphiql-tab-add').click();
    editorOf('operation.graphql').setValue(query);
    editorOf('variables.json').setValue(variables);
  }
  editorOf('operation.graphql').focus();
}

select('#examples').addEventListener('click', (event) => {
  const link = event.target.closest('a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  select('#examples').hidePopover();
  openTab(readLink(link.search));
});

const readToken = watchToken();

/** Sorts the types in an introspection result, because GraphiQL's documentation lists them in the given order. */
function sortTypes(result) {
  // oxlint-disable-next-line no-underscore-dangle -- GraphQL's own name
  result.data?.__schema?.types?.sort((one, other) => (one.name < other.name ? -1 : 1));
  return result;
}

/** Leaves the response pane empty: the events of a subscription have a list of their own. */
// oxlint-disable-next-line require-yield
async function* noResults() {}

/** Sends GraphiQL's requests, with the token. */
async function send({ operationName, ...request }, { headers } = {}) {
  const token = readToken();
  // GraphiQL parses with a delay: right after a tab has opened, the operation's name can be the previous tab's.
  const name = request.query.includes(operationName) ? operationName : undefined;
  const response = await fetch('graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json, text/event-stream',
      ...(token && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ ...request, operationName: name }),
  });
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream'))
    return sortTypes(await response.json());
  void follow(response, name ?? 'Subscription');
  return noResults();
}

/**
 * Makes the tabs a list of buttons, and marks the active one for screen readers. In GraphiQL 5, a tab contains two
 * buttons that screen readers can't reach. Also removes the icons' titles, which are minified function names.
 */
function mend() {
  for (const element of root.querySelectorAll(
    '.graphiql-tabs, .graphiql-tabs > *, #graphiql-session',
  )) {
    element.removeAttribute('role');
    element.removeAttribute('aria-selected');
  }
  for (const tab of root.querySelectorAll('.graphiql-tab')) {
    const button = tab.querySelector('.graphiql-tab-button');
    const isActive = String(tab.classList.contains('graphiql-tab-active'));
    if (button.ariaCurrent === isActive) continue;
    button.ariaCurrent = isActive;
    if (isActive === 'true') tab.scrollIntoView({ block: 'nearest' });
  }
  for (const title of document.querySelectorAll('svg > title')) title.remove();
}

let link = readLink(location.search);
const showsDocs = new URLSearchParams(location.search).has('docs');
// Without this, GraphiQL would also open the request, and would open it again on reload.
history.replaceState(null, '', location.pathname);

/** Opens the request from the page's URL, once there is an editor. */
function begin() {
  const editor = editorOf('operation.graphql');
  if (!link || !editor || !editorOf('variables.json')) return;
  if (link.query) openTab(link);
  link = undefined;
  editor.focus();
}

new MutationObserver(() => {
  mend();
  begin();
}).observe(document.body, { subtree: true, childList: true, attributeFilter: ['class'] });

// By default, GraphiQL starts with the last request that it stored, which may not be in any tab.
const { query, variables } = kept?.tabs[kept.activeTabIndex] ?? {};

YogaGraphiQL.renderYogaGraphiQL(root, {
  ...JSON.parse(select('#options').textContent),
  query,
  variables,
  ...((link.variables || variables) && { defaultEditorToolsVisibility: 'variables' }),
  storage: kept && storage,
  fetcher: send,
  onTabChange: (state) => (tabs = state.tabs),
  // Selects GraphiQL's default, its history plugin.
  plugins: undefined,
  ...(showsDocs && { visiblePlugin: 'Documentation Explorer' }),
  // Yoga's handler would write the query into the URL.
  onEditQuery: undefined,
});
