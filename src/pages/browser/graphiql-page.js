/* global YogaGraphiQL */

self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => `/assets/graphiql/${label}.js`,
};

YogaGraphiQL.renderYogaGraphiQL(
  document.querySelector('#root'),
  JSON.parse(document.querySelector('#options').textContent),
);
