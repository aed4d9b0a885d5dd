import type { JSX } from 'preact';
import { Article } from '../article.tsx';
import { Code } from '../code.tsx';
import { listCloseCodes, listOpcodeFrames, readGatewayDescription } from '../gateway-data.ts';
import { SchemaView } from '../schema-view.tsx';
import { toShape } from '../shape.ts';
import { Line, Text } from '../text.tsx';

function Opcodes(): JSX.Element {
  return (
    <div class="ref-frames">
      {listOpcodeFrames().map(({ name, summary = '', payload, examples, 'x-op': op }) => (
        <div key={name} id={`op-${name}`} class="ref-part">
          <h3>
            <span class="soft">op {op}</span> {name}
          </h3>
          <Text text={summary} />
          <SchemaView shape={toShape(payload.properties?.d ?? {})} />
          {examples?.[0] && <Code code={JSON.stringify(examples[0].payload)} what={`an example of ${name}`} head={<span>Frame</span>} />}
        </div>
      ))}
    </div>
  );
}

function CloseCodes(): JSX.Element {
  return (
    <>
      <p>To resume without a session, identify. Where it says stop, another attempt fails in the same way.</p>
      <div class="ref-scroll" tabIndex={0} role="region" aria-label="Close codes">
        <table class="ref-table">
          <thead>
            <tr>
              <th>Code</th>
              <th>Meaning</th>
              <th>What to do</th>
            </tr>
          </thead>
          <tbody>
            {listCloseCodes().map(({ code, cause, advice }) => (
              <tr key={code} id={`close-${code}`}>
                <th scope="row">{code}</th>
                <td>
                  <Line text={cause} />
                </td>
                <td>
                  <Line text={advice} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** How a client connects to the gateway: handshake, resume, opcodes and close codes. */
export function GatewayPage(): JSX.Element {
  const { intro, parts } = readGatewayDescription();
  return (
    <Article
      title="Gateway"
      summary={intro}
      sections={[
        ...parts.filter(({ title }) => !/close codes/i.test(title)).map((part) => ({ ...part, render: () => <Text text={part.text} /> })),
        { id: 'opcodes', title: 'Opcodes', text: '', render: () => <Opcodes /> },
        { id: 'close-codes', title: 'Close codes', text: '', render: () => <CloseCodes /> },
      ]}
    />
  );
}
