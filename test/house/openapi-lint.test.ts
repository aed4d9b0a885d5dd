import { createConfig, lintFromString } from '@redocly/openapi-core';
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { expect } from 'chai';
import { renderOpenApi } from '../../apps/api/documents/openapi.ts';
import { routes } from '../../apps/api/routes/index.ts';

const source = JSON.stringify(renderOpenApi(routes, 'https://chat.test'));

/** The problems that the recommended rules of Redocly find, one line each. */
async function lintByRedocly(document: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'], telemetry: 'off' });
  const problems = await lintFromString({ source: document, config, absoluteRef: '/openapi.json' });
  return problems.map(
    ({ severity, ruleId, message, location }) => `${severity} ${ruleId} ${location.map(({ pointer }) => pointer).join()}: ${message}`,
  );
}

/** The problems that the recommended rules of Spectral find, one line each. */
async function lintBySpectral(document: string): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[oas as RulesetDefinition, 'recommended']] });
  const problems = await spectral.run(JSON.parse(document) as Record<string, unknown>);
  return problems.map(({ severity, code, message, path }) => `${severity} ${code} ${path.join('/')}: ${message}`);
}

/** A document with faults that both linters find. */
const operation = { operationId: 'getThing', responses: { 200: { description: 'OK.' } } };
const faulty = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Faulty', version: '1' },
  paths: { '/a': { get: operation }, '/b': { get: operation } },
});

describe('OpenAPI document: linters', () => {
  for (const [name, lint] of [
    ['Redocly', lintByRedocly],
    ['Spectral', lintBySpectral],
  ] as const) {
    it(`${name} finds neither errors nor warnings`, async () => expect(await lint(source)).to.deep.equal([]));

    it(`${name} finds a duplicate operationId`, async () => expect((await lint(faulty)).join('\n')).to.match(/unique/i));
  }
});
