/* global SwaggerUIBundle */

/** The operations and their schemas alone: the page has a title and a `main`, and there is one server. */
const plainLayout = ({ React: { createElement } }) => ({
  components: {
    PlainLayout: ({ getComponent, specSelectors }) => {
      const parts = ['SvgAssets', 'errors', 'AuthorizeBtnContainer'];
      if (specSelectors.specJson().size > 0) parts.push('operations', 'Models');
      return createElement(
        'div',
        { className: 'swagger-ui' },
        parts.map((name) => createElement(getComponent(name, true), { key: name })),
      );
    },
  },
});

const operationAt = (system, path, method) =>
  system.specSelectors.specJson().getIn(['paths', path, method]);

/** Shows the lifecycle of each operation as badges, and hides try-out panels as the document says. */
const lifecycle = ({ React: { createElement, Fragment } }) => {
  const badge = (kind, text) => createElement('span', { className: `badge ${kind}` }, text);

  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: (_original, system) => (_state, path, method) =>
            !operationAt(system, path, method).get('x-hideTryItPanel'),
        },
      },
    },
    wrapComponents: {
      OperationSummaryPath: (Original, system) => (props) => {
        const { path, method } = props.operationProps.toObject();
        const operation = operationAt(system, path, method);
        const stability = operation.get('x-stability');
        const sunset = operation.get('x-deprecated-sunset');
        return createElement(
          Fragment,
          null,
          createElement(Original, props),
          stability && badge('unstable', stability),
          sunset && badge('deprecated', 'deprecated'),
          sunset && badge('deprecated', `until ${sunset}`),
        );
      },
    },
  };
};

// Swagger UI 5 declares the table to be a region, so screen readers would not read it as a table.
const showTable = (element) => element?.querySelector('[role=region]')?.removeAttribute('role');

/** Shows responses without what the page has elsewhere: the errors, and the headers of 200 for 304. */
const shortResponses = ({ React: { createElement } }) => ({
  wrapComponents: {
    responses: (Original) => (props) => {
      const responses = props.responses.filterNot((_, status) => Number(status) >= 400);
      const short = { ...props, responses: responses.deleteIn(['304', 'headers']) };
      return createElement('div', { ref: showTable }, createElement(Original, short));
    },
    // As text, since parsing JSON would change ids beyond 2^53.
    responseBody: (Original) => (props) =>
      createElement(Original, { ...props, contentType: 'text' }),
  },
});

/** Gives the dialog for the token and its buttons the names that they show. */
const namedDialog = ({ React: { createElement } }) => ({
  wrapComponents: {
    authorizationPopup: (Original) => (props) =>
      createElement(
        'div',
        { role: 'dialog', 'aria-modal': true, 'aria-label': 'Authorize' },
        createElement(Original, props),
      ),
    Button:
      (Original) =>
      ({ 'aria-label': _other, ...props }) =>
        createElement(Original, props),
    CloseIcon: () => () =>
      createElement('span', { 'aria-label': 'Close the dialog', role: 'img' }, '×'),
  },
});

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  layout: 'PlainLayout',
  defaultModelsExpandDepth: 0,
  // Its colours have too little contrast.
  syntaxHighlight: { activated: false },
  plugins: [plainLayout, lifecycle, shortResponses, namedDialog],
});
