/* global YogaGraphiQL */

self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => `/assets/graphiql/${label}.js`,
};

const TABS = 'graphiql:tabState';
const VARIABLES = 'graphiql:variables';
// What GraphiQL 5 stores with the headers of requests, its history even if it must not keep headers.
const WITH_HEADERS = new Set([TABS, 'graphiql:queries', 'graphiql:favorites']);
const OF_HEADERS = ['graphiql:headers', 'graphiql:persistHeaders'];

const dropHeaders = (name, value) => (name === 'headers' ? null : value);

/** A storage for GraphiQL that keeps no headers, as they can contain a token. */
const storage = {
  getItem: (key) => localStorage.getItem(key),
  setItem(key, text) {
    if (OF_HEADERS.includes(key)) return;
    const kept = WITH_HEADERS.has(key) ? JSON.stringify(JSON.parse(text, dropHeaders)) : text;
    localStorage.setItem(key, kept);
  },
  removeItem: (key) => localStorage.removeItem(key),
  clear() {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith('graphiql:')) localStorage.removeItem(key);
    }
  },
  get length() {
    return Object.keys(localStorage).length;
  },
};

/** Removes the headers that earlier versions of this page have stored. */
function removeStoredHeaders() {
  for (const key of OF_HEADERS) localStorage.removeItem(key);
  for (const key of WITH_HEADERS) {
    const text = localStorage.getItem(key);
    try {
      if (text) storage.setItem(key, text);
    } catch {
      // It is no JSON, so GraphiQL could not read it either.
      localStorage.removeItem(key);
    }
  }
}

/** The request of a link to this page, with the names of GraphQL over HTTP; null if it has none. */
function readLink() {
  const parameters = new URL(location.href).searchParams;
  const query = parameters.get('query');
  if (!query) return null;
  const first = /^(?!#).*(?:query|mutation|subscription)\s+(\w+)/m.exec(query)?.[1] ?? null;
  const operationName = parameters.get('operationName') || first;
  return { query, variables: parameters.get('variables') ?? '', operationName };
}

const createTab = (link) => ({
  id: `linked-${Date.now()}`,
  hash: null,
  title: link.operationName ?? '<untitled>',
  ...link,
  headers: null,
  response: null,
});

function readTabs() {
  const stored = JSON.parse(localStorage.getItem(TABS));
  return Array.isArray(stored?.tabs) ? stored : { tabs: [] };
}

/** Opens the tab of a link, a new one unless it has one. */
function openTab(link) {
  const state = readTabs();
  state.activeTabIndex = state.tabs.findIndex(
    ({ query, variables }) => query === link.query && (variables ?? '') === link.variables,
  );
  if (state.activeTabIndex < 0) state.activeTabIndex = state.tabs.push(createTab(link)) - 1;
  storage.setItem(TABS, JSON.stringify(state));
}

/** Stores the request of the active tab: GraphiQL opens one more tab if it has stored another, newer one. */
function storeActive({ tabs, activeTabIndex }) {
  const tab = tabs[activeTabIndex];
  if (!tab) return;
  const { query, variables } = tab;
  storage.setItem('graphiql:query', query ?? '');
  storage.setItem(VARIABLES, variables ?? '');
  if (variables) options.defaultEditorToolsVisibility = 'variables';
}

/** Shows the request of a link. The URL loses it, or loading the page again would open one more tab. */
function showLink(link) {
  options.query = link.query;
  options.variables = link.variables;
  // Its only tab, if GraphiQL can't read those that it has stored.
  options.defaultTabs = [link];
  history.replaceState(null, '', location.pathname);
  openTab(link);
}

/**
 * Turns the tabs into a list of buttons, and shows the one that is active. In GraphiQL 5, a tab contains two
 * buttons: neither can be reached by screen readers.
 */
function mendTabs(tabs) {
  tabs.removeAttribute('role');
  for (const tab of tabs.children) {
    tab.removeAttribute('role');
    tab.removeAttribute('aria-selected');
    const isActive = tab.classList.contains('graphiql-tab-active');
    tab.querySelector('.graphiql-tab-button').setAttribute('aria-current', isActive);
    if (isActive) tab.scrollIntoView({ block: 'nearest' });
  }
}

/** Mends the tabs whenever they change; returns whether there are any. */
function watchTabs() {
  const tabs = document.querySelector('.graphiql-tabs');
  if (!tabs) return false;
  document.querySelector('#graphiql-session').setAttribute('role', 'group');
  new MutationObserver(() => mendTabs(tabs)).observe(tabs, {
    subtree: true,
    childList: true,
    attributeFilter: ['class'],
  });
  mendTabs(tabs);
  return true;
}

/** Mends what GraphiQL renders: its tabs once, and its history, whose items have all the same label. */
function watch(element) {
  let hasTabs = false;
  new MutationObserver(() => {
    hasTabs ||= watchTabs();
    for (const item of element.querySelectorAll('.graphiql-history-item-label[aria-label]')) {
      item.removeAttribute('aria-label');
    }
  }).observe(element, { subtree: true, childList: true });
}

/** The menu of examples closes like any menu. */
function watchMenu(menu) {
  document.addEventListener('click', ({ target }) => {
    if (!menu.contains(target)) menu.open = false;
  });
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
}

const options = JSON.parse(document.querySelector('#options').textContent);
const root = document.querySelector('#root');
const menu = document.querySelector('.examples');
const link = readLink();

try {
  removeStoredHeaders();
  if (link) showLink(link);
  storeActive(readTabs());
  options.storage = storage;
} catch {
  // The browser keeps nothing for this page.
  options.storage = null;
}

watchMenu(menu);
watch(root);

YogaGraphiQL.renderYogaGraphiQL(root, {
  ...options,
  // Yoga's GraphiQL would send subscriptions by GET, in a URL that can be too long.
  method: 'POST',
  // Those of GraphiQL itself: its history.
  plugins: undefined,
  // Yoga's would write the query into the URL.
  onEditQuery: undefined,
  onEditHeaders(text) {
    menu.querySelector('.note').hidden = !text.trim();
  },
});
