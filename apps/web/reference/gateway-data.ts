import type { CloseCode, GatewayMessage } from './openapi.ts';
import { reference } from './reference-data.ts';

const listMessages = (): GatewayMessage[] => Object.values(reference.value?.asyncapi.components.messages ?? {});

/** Every event of the gateway, and `READY` and `RESUMED`. */
export const listGatewayEvents = (): GatewayMessage[] => listMessages().filter((one) => one['x-op'] === undefined);

/** The frames of the other opcodes, lowest opcode first. */
export const listOpcodeFrames = (): (GatewayMessage & { 'x-op': number })[] =>
  listMessages()
    .flatMap((one) => (one['x-op'] === undefined ? [] : { ...one, 'x-op': one['x-op'] }))
    .sort((one, other) => one['x-op'] - other['x-op']);

/** Every close code of the gateway. */
export const listCloseCodes = (): readonly CloseCode[] => reference.value?.asyncapi['x-close-codes'] ?? [];

/** A part of the gateway's description with a heading. */
export interface GatewayPart {
  id: string;
  title: string;
  text: string;
}

/** The gateway's description: its introduction, and its parts with headings. */
export function readGatewayDescription(): { intro: string; parts: GatewayPart[] } {
  const [intro = '', ...parts] = (reference.value?.asyncapi.info.description ?? '').split(/^## /m);
  return {
    intro,
    parts: parts.map((part) => {
      const [title = '', ...lines] = part.split('\n');
      return { id: title.toLowerCase().replace(/\W+/g, '-'), title, text: lines.join('\n') };
    }),
  };
}
