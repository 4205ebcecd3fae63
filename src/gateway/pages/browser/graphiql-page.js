/* global YogaGraphiQL */

self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => `/assets/graphiql/${label}.js`,
};

// GraphiQL 5 stores its history with the headers of requests, which can contain a token.
const HISTORY = new Set(['graphiql:queries', 'graphiql:favorites']);

const withoutHeaders = (text) =>
  JSON.stringify(JSON.parse(text), (name, value) => (name === 'headers' ? null : value));

const TABS = 'graphiql:tabState';

/** The local storage, without headers. */
const storage = {
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, text) => localStorage.setItem(key, HISTORY.has(key) ? withoutHeaders(text) : text),
  removeItem: (key) => localStorage.removeItem(key),
  clear: () => localStorage.clear(),
  get length() {
    return localStorage.length;
  },
};

/** The request of a link to this page. */
function readLink() {
  const parameters = new URLSearchParams(location.search);
  const query = parameters.get('query');
  return query && { query, variables: parameters.get('variables') ?? '' };
}

const readTabs = () => JSON.parse(storage.getItem(TABS)) ?? { tabs: [] };

/** Makes the tab of a link the active one. GraphiQL itself can take another one, and change its variables. */
function storeLink(link) {
  const state = readTabs();
  state.activeTabIndex = state.tabs.findIndex(
    ({ query, variables }) => query === link.query && (variables ?? '') === link.variables,
  );
  if (state.activeTabIndex < 0) {
    const name = /^(?!#).*(?:query|mutation|subscription)\s+(\w+)/m.exec(link.query)?.[1] ?? null;
    state.activeTabIndex =
      state.tabs.push({
        id: `linked-${Date.now()}`,
        hash: null,
        title: name ?? '<untitled>',
        ...link,
        headers: null,
        operationName: name,
        response: null,
      }) - 1;
  }
  storage.setItem(TABS, JSON.stringify(state));
  // Loading the page again would open it again.
  history.replaceState(null, '', location.pathname);
}

/** Lets GraphiQL show the tab with a request. */
function showTab({ query, variables }) {
  options.query = query;
  options.variables = variables ?? '';
  if (variables) options.defaultEditorToolsVisibility = 'variables';
}

/**
 * Turns the tabs into a list of buttons, and shows the one that is active. In GraphiQL 5, a tab contains two
 * buttons: neither can be reached by screen readers.
 */
function mendTabs() {
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
}

const options = JSON.parse(document.querySelector('#options').textContent);
const root = document.querySelector('#root');

const link = readLink();

try {
  if (link) storeLink(link);
  // GraphiQL would open one with the request that it has stored last, which can be in no tab.
  const { tabs, activeTabIndex } = readTabs();
  showTab(tabs[activeTabIndex] ?? {});
  options.storage = storage;
} catch {
  // The browser keeps nothing for this page.
  options.storage = null;
}
if (link) {
  showTab(link);
  // If there are no tabs yet.
  options.defaultTabs = [link];
}

new MutationObserver(mendTabs).observe(root, {
  subtree: true,
  childList: true,
  attributeFilter: ['class'],
});

YogaGraphiQL.renderYogaGraphiQL(root, {
  ...options,
  // Yoga's GraphiQL would send subscriptions by GET, in a URL that can be too long.
  method: 'POST',
  // Those of GraphiQL itself: its history.
  plugins: undefined,
  // Yoga's would write the query into the URL.
  onEditQuery: undefined,
  onEditHeaders(text) {
    document.querySelector('#examples .note').hidden = !text.trim();
  },
});
