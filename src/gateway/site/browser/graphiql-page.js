/* global YogaGraphiQL */
import { follow } from './graphiql-events.js';
import { showExplanation } from './graphiql-explain.js';
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

// The key in local storage for the last operation without a name that a link opened.
const UNNAMED = 'linked';
const hasName = (query) => /^\s*(?:query|mutation|subscription)\s+\w/m.test(query);

/**
 * Shows a request in the tab that already contains it, otherwise in a new tab. An operation without a name replaces the
 * previous one that a link opened, unless that was edited: its tab would have no name either.
 */
function openTab({ query, variables }) {
  if (narrow.matches) root.querySelector('.graphiql-sidebar [aria-label^="Hide"]')?.click();
  const indexOf = (text) => tabs.findIndex((tab) => tab.query === text);
  const same = tabs.findIndex((tab) => tab.query === query && (tab.variables ?? '') === variables);
  const replaced = kept && !hasName(query) ? indexOf(localStorage.getItem(UNNAMED)) : -1;
  const index = same >= 0 ? same : replaced;
  if (index >= 0) root.querySelectorAll('.graphiql-tab-button')[index].click();
  else root.querySelector('.graphiql-tab-add').click();
  if (same >= 0) return;
  editorOf('operation.graphql').setValue(query);
  editorOf('variables.json').setValue(variables);
  if (kept && !hasName(query)) localStorage.setItem(UNNAMED, query);
}

select('#examples').addEventListener('click', (event) => {
  const link = event.target.closest('a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  select('#examples').hidePopover();
  openTab(readLink(link.search));
  editorOf('operation.graphql').focus();
});

/** Copies a link to the request in the shown tab. */
async function copyLink() {
  const [query, variables] = ['operation.graphql', 'variables.json'].map((name) =>
    editorOf(name).getValue(),
  );
  const search = new URLSearchParams({ query, ...(variables && { variables }) });
  await navigator.clipboard.writeText(`${location.origin}${location.pathname}?${search}`);
  select('#share').textContent = 'Copied';
  setTimeout(() => (select('#share').textContent = 'Copy link'), 2000);
}

// Browsers provide the clipboard only on https:// and on localhost.
select('#share').hidden = !navigator.clipboard;
select('#share').addEventListener('click', () => void copyLink());

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

/** Adds what to do about an error that a token would prevent. */
const addHint = (result) =>
  result.errors?.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED') &&
  select('#token')
    ? { hint: 'Enter a token in the field "Token" at the top of the page.', ...result }
    : result;

/** Sends GraphiQL's requests, with the token. */
async function send({ operationName, ...request }, { headers } = {}) {
  const token = readToken();
  // GraphiQL parses with a delay: right after a tab has opened, the operation's name can be the previous tab's.
  const name = request.query.includes(operationName) ? operationName : undefined;
  const explains = select('#explain').open && name !== 'IntrospectionQuery';
  const response = await fetch('graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json, text/event-stream',
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(explains && { 'GraphQL-Explain': 'report' }),
      ...headers,
    },
    body: JSON.stringify({ ...request, operationName: name }),
  });
  const show = explains ? showExplanation : sortTypes;
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream'))
    return addHint(show(await response.json()));
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

/** Opens the request from the page's URL, once there are the editors. None gets the focus: Tab does not leave it. */
function begin() {
  const [editor, variables, response] = [
    'operation.graphql',
    'variables.json',
    'response.json',
  ].map(editorOf);
  if (!link || !editor || !variables || !response) return;
  editor.updateOptions({ wordWrap: 'on' });
  const pane = root.querySelector('.result-window');
  const markEmpty = () => pane.classList.toggle('empty', response.getValue() === '');
  response.onDidChangeModelContent(markEmpty);
  markEmpty();
  pane.after(select('#events'), select('#explain'));
  select('#explain').hidden = false;
  if (link.query) openTab(link);
  link = undefined;
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
