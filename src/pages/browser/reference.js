/* global SwaggerUIBundle */

const operationAt = (system, path, method) =>
  system.specSelectors.specJson().getIn(['paths', path, method]);

/** Shows the lifecycle of each operation as badges, and hides try-out panels as the document says. */
const lifecycle = ({ React }) => {
  const badge = (text, kind) =>
    React.createElement('span', { key: text, className: `badge ${kind}` }, text);

  const badges = (operation) => {
    const stability = operation.get('x-stability');
    const since = operation.get('x-deprecated-since');
    const sunset = operation.get('x-deprecated-sunset');
    return [
      stability && badge(stability, 'unstable'),
      since && badge(`deprecated since ${since}`, 'deprecated'),
      sunset && badge(`until ${sunset}`, 'deprecated'),
    ];
  };

  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: (original, system) => (state, path, method) =>
            !operationAt(system, path, method).get('x-hideTryItPanel'),
        },
      },
    },
    wrapComponents: {
      // As text, since parsing JSON would change ids beyond 2^53.
      responseBody: (Original) => (props) =>
        React.createElement(Original, { ...props, contentType: 'text' }),
      OperationSummaryPath: (Original, system) => (props) => {
        const { path, method } = props.operationProps.toObject();
        return React.createElement(
          React.Fragment,
          null,
          React.createElement(Original, props),
          React.createElement(
            'span',
            { className: 'badges' },
            badges(operationAt(system, path, method)),
          ),
        );
      },
    },
  };
};

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  plugins: [lifecycle],
});
