import type { ComponentChildren, JSX } from 'preact';
import { Heading } from './article.tsx';
import { Disclosure } from './disclosure.tsx';
import { listErrors } from './error-list.ts';
import type { Answer, MediaType, Parameter } from './openapi.ts';
import { type Operation, reference } from './reference-data.ts';
import { AnswerExample, SampleView } from './sample-view.tsx';
import { formType, listParameters } from './samples.ts';
import { Field, SchemaView, TypeName } from './schema-view.tsx';
import { hasFields, toShape } from './shape.ts';
import { Line, Text } from './text.tsx';
import { TryIt } from './try-it.tsx';

/** A part of an operation with a small heading. */
function Part({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="ref-part">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

function ParameterList({ parameters, isPath = false }: { parameters: readonly Parameter[]; isPath?: boolean }): JSX.Element {
  return (
    <ul class="ref-fields">
      {parameters.map(({ name, schema, required = false, description }) => (
        <Field
          key={name}
          name={name}
          schema={{ ...schema, ...(description && { description }) }}
          isRequired={required && !isPath}
          isInput
        />
      ))}
    </ul>
  );
}

function Parameters({ operation, kind, title }: { operation: Operation; kind: 'path' | 'query'; title: string }): JSX.Element | null {
  const parameters = listParameters(operation, kind);
  if (parameters.length === 0) return null;
  return (
    <Part title={title}>
      <ParameterList parameters={parameters} isPath={kind === 'path'} />
    </Part>
  );
}

function RequestHeaders({ operation }: { operation: Operation }): JSX.Element | null {
  const parameters = listParameters(operation, 'header');
  if (parameters.length === 0) return null;
  return <Disclosure title="Headers of the request">{() => <ParameterList parameters={parameters} />}</Disclosure>;
}

/** The type of a body and its fields: those that a caller sends are open, those of an answer are shown after a click. */
function Body({ media: { schema }, isInput = false }: { media: MediaType; isInput?: boolean }): JSX.Element | null {
  if (!schema) return null;
  const shape = toShape(schema);
  const isClosed = !isInput && hasFields(shape);
  return (
    <>
      <p class="soft">
        <TypeName shape={shape} />
      </p>
      {isClosed ? (
        <Disclosure title="Show fields">{() => <SchemaView shape={shape} />}</Disclosure>
      ) : (
        <SchemaView shape={shape} isInput={isInput} />
      )}
    </>
  );
}

function RequestBody({ operation }: { operation: Operation }): JSX.Element | null {
  const { requestBody } = operation.object;
  if (!requestBody) return null;
  const types = Object.keys(requestBody.content);
  const json = requestBody.content['application/json'];
  return (
    <Part title="Body">
      {!requestBody.required && <p class="soft">The body can be left out.</p>}
      {requestBody.description && <Text text={requestBody.description} />}
      {types.includes(formType) && (
        <p>
          As JSON, or as <code>{formType}</code> with the same JSON in the part <code>payload_json</code> and files in parts named{' '}
          <code>files</code>.
        </p>
      )}
      {json ? <Body media={json} isInput /> : <p>A file of one of these types: {types.join(', ')}.</p>}
    </Part>
  );
}

function Headers({ answer }: { answer: Answer }): JSX.Element | null {
  const known = reference.value?.openapi.components.headers ?? {};
  const headers = Object.entries(answer.headers ?? {});
  if (headers.length === 0) return null;
  return (
    <Disclosure title="Headers of the answer">
      {() => (
        <ul class="ref-fields">
          {headers.map(([name, header]) => {
            const { description, schema = {} } = header.$ref ? (known[header.$ref.slice(header.$ref.lastIndexOf('/') + 1)] ?? {}) : header;
            return <Field key={name} name={name} schema={{ ...schema, ...(description && { description }) }} />;
          })}
        </ul>
      )}
    </Disclosure>
  );
}

function Answers({ operation }: { operation: Operation }): JSX.Element {
  const answers = Object.entries(operation.object.responses).filter(([status]) => /^[123]/.test(status));
  return (
    <Part title={answers.length === 1 ? 'Answer' : 'Answers'}>
      {answers.map(([status, answer]) => {
        const media = answer.content?.['application/json'];
        return (
          <div key={status} class="ref-answer">
            <p>
              <code class="ref-status">{status}</code> <Line text={answer.description} />
            </p>
            {media ? <Body media={media} /> : answer.content && <p>A file of the type {Object.keys(answer.content).join(', ')}.</p>}
            <Headers answer={answer} />
          </div>
        );
      })}
    </Part>
  );
}

function Errors({ operation }: { operation: Operation }): JSX.Element | null {
  const errors = listErrors(operation);
  if (errors.length === 0) return null;
  return (
    <Disclosure title={errors.length === 1 ? '1 error code' : `${errors.length} error codes`}>
      {() => (
        <dl class="ref-errors">
          {errors.map(({ status, code, cause }) => (
            <div key={code}>
              <dt>
                <span class="soft">{status}</span> <a href={`/developers/reference/errors#${code}`}>{code}</a>
              </dt>
              <dd>
                <Line text={cause} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Disclosure>
  );
}

/** Makes the names of rate limit buckets in a description links to the limits. */
const linkBuckets = (text: string): string => text.replace(/\bbucket `(\w+)`/g, 'bucket [$1](/developers/reference/limits#buckets)');

/**
 * An operation: what it does, takes and answers at the left, and code and a form to send it at the right. In one column the code is above what it takes and
 * answers.
 */
export function OperationView({ operation }: { operation: Operation }): JSX.Element {
  const { id, title, method, path, object } = operation;
  return (
    <section id={id} class="ref-section ref-columns">
      <div class="ref-explained">
        <Heading anchor={id}>{title}</Heading>
        <p class="ref-endpoint">
          <span class={`ref-method ${method.toLowerCase()}`}>{method}</span> <code>{path}</code>
        </p>
        {object.deprecated && <p class="ref-mark ref-deprecated">Deprecated</p>}
        <Text text={linkBuckets(object.description ?? object.summary)} />
        <Parameters operation={operation} kind="path" title="Path" />
        <Parameters operation={operation} kind="query" title="Query" />
        <RequestBody operation={operation} />
        <RequestHeaders operation={operation} />
        <Answers operation={operation} />
        <Errors operation={operation} />
      </div>
      <div class="ref-samples">
        <SampleView operation={operation} />
        <TryIt operation={operation} />
        <AnswerExample operation={operation} />
      </div>
    </section>
  );
}
